// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/folded.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace pmukit::cli {
namespace {

constexpr const char *kEmulated = "source=model;";
constexpr size_t kNodeBytes = 64;  // what a map and its allocations add to what is in it

// Semicolons are between frames, a blank before the count, and lines are lines.
std::string as_frame(std::string_view name)
{
    std::string frame = valid_utf8(name);
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
    return std::make_unique<Folded>(std::move(*file), recording, options.symfs, std::move(*kernel));
}

void Folded::stack(const StackSample &sample)
{
    const auto [device, is_new] = emulated_.try_emplace(sample.event);
    if (is_new)
        device->second = recording_.source(sample.event).has_value();
    const auto [at, fresh] =
        stacks_.try_emplace(Stack{device->second,
                                  sample.pid,
                                  sample.tid,
                                  threads_->since_ns(sample.pid, sample.tid, sample.time_ns),
                                  {sample.frames.begin(), sample.frames.end()}});
    Seen &seen = at->second;
    seen.samples++;
    seen.first_ns = fresh ? sample.time_ns : std::min(seen.first_ns, sample.time_ns);
    samples_++;
    if (fresh)
        stack_bytes_ += sizeof(*at) + kNodeBytes + sample.frames.size_bytes();
    if (stack_bytes_ > kMostBytes)
        name_stacks();
}

std::string Folded::line_of(const Stack &stack, uint64_t time_ns, Explainer &explainer) const
{
    const std::string_view command = threads_->command(stack.tid, time_ns);
    std::string line =
        (stack.emulated ? kEmulated : "") + as_frame(command.empty() ? "[unknown]" : command);
    for (size_t i = stack.frames.size(); i-- > 0;) {
        const StackFrame &frame = stack.frames[i];
        line +=
            ';' + as_frame(explainer.function_at(stack.pid, frame.mode, frame.ip, time_ns).name);
        if (frame.mode == decode::imc::Mode::kKernel)
            line += "_[k]";
    }
    return line;
}

void Folded::name_stacks()
{
    Explainer explainer = names_.explainer(*threads_);
    for (const auto &[stack, seen] : stacks_) {
        const auto [at, fresh] = lines_.try_emplace(line_of(stack, seen.first_ns, explainer));
        at->second += seen.samples;
        if (fresh)
            line_bytes_ += sizeof(*at) + kNodeBytes + at->first.size();
        if (line_bytes_ > kMostBytes)
            write_lines();
    }
    stacks_.clear();
    stack_bytes_ = 0;
}

void Folded::write_lines()
{
    for (const auto &[line, samples] : lines_)
        file_.text(line + ' ' + std::to_string(samples) + '\n');
    written_ += lines_.size();
    lines_.clear();
    line_bytes_ = 0;
}

Result<void> Folded::finish()
{
    name_stacks();
    write_lines();
    return file_.finish();
}

}  // namespace pmukit::cli
