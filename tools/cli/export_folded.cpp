// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export_folded.hpp"

#include <algorithm>

namespace pmukit::cli {
namespace {

// Semicolons are between frames, a blank before the count, and lines are lines.
std::string as_frame(std::string_view name)
{
    std::string frame(name);
    for (char &c : frame)
        if (c == ';' || static_cast<uint8_t>(c) < 0x20)
            c = ':';
    return frame;
}

}  // namespace

Result<std::unique_ptr<Folded>> Folded::make(const ExportOptions &options,
                                             const Recording &recording)
{
    Result<std::optional<SymbolTable>> kernel = read_kallsyms(options.kallsyms);
    if (!kernel)
        return kernel.error();
    Result<exporter::TextFile> file = exporter::TextFile::create(options.output);
    if (!file)
        return file.error();
    auto folded =
        std::make_unique<Folded>(std::move(*file), recording, options.symfs, std::move(*kernel));
    if (const auto source = options.source ? options.source : recording.source())
        folded->root_ = "source=" + *source + ';';
    return folded;
}

void Folded::stack(const StackSample &sample)
{
    const auto [at, fresh] = stacks_.try_emplace(
        Stack{sample.pid, sample.tid, {sample.frames.begin(), sample.frames.end()}});
    Seen &seen = at->second;
    seen.samples++;
    seen.first_ns = fresh ? sample.time_ns : std::min(seen.first_ns, sample.time_ns);
}

Result<void> Folded::finish()
{
    Programs programs(*threads_, symfs_, recording_.reader());
    Explainer explainer(*threads_, programs, kernel_ ? &*kernel_ : nullptr);
    for (const auto &[stack, seen] : stacks_) {
        const std::string_view command = threads_->command(stack.tid, seen.first_ns);
        std::string line = root_ + as_frame(command.empty() ? "[unknown]" : command);
        for (size_t i = stack.frames.size(); i-- > 0;) {
            const StackFrame &frame = stack.frames[i];
            const Function function =
                explainer.function_at(stack.pid, frame.mode, frame.ip, seen.first_ns);
            line += ';' + as_frame(function.name);
            if (frame.mode == decode::imc::Mode::kKernel)
                line += "_[k]";
        }
        lines_[line] += seen.samples;
        samples_ += seen.samples;
    }
    changed_ = programs.changed();
    for (const auto &[line, samples] : lines_)
        file_.text(line + ' ' + std::to_string(samples) + '\n');
    return file_.finish();
}

}  // namespace pmukit::cli
