// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/stacks.hpp"

#include <algorithm>

#include "base/saturate.hpp"
#include "base/text.hpp"
#include "cli/export/folded.hpp"
#include "cli/export/pprof.hpp"

namespace pmukit::cli {
namespace {

constexpr StackFormat kFormats[] = {
    {kFoldedFormat,
     "folded stacks of imc and other samples, for flame graphs; the first frame is the event if "
     "several were recorded (--event exports one)",
     Folded::make, Folded::is_one},
    {"pprof", "profile.proto of the same stacks, for go tool pprof, Pyroscope and Parca",
     Pprof::make, Pprof::is_one},
};

}  // namespace

std::span<const StackFormat> stack_formats()
{
    return kFormats;
}

const StackFormat *find_stack_format(std::string_view name)
{
    const auto found = std::ranges::find(kFormats, name, &StackFormat::name);
    return found == std::end(kFormats) ? nullptr : found;
}

std::string nameless_frame(decode::imc::Mode mode, const std::string &object)
{
    if (mode != decode::imc::Mode::kKernel && mode != decode::imc::Mode::kUser)
        return "[guest]";
    if (object.empty())
        return "[unknown]";
    return object.starts_with('[') ? object : '[' + std::string(base_name(object)) + ']';
}

void StackWriter::stack(const StackSample &sample)
{
    const auto [at, fresh] =
        stacks_.try_emplace(Stack{sample.event,
                                  sample.pid,
                                  sample.tid,
                                  threads_->since_ns(sample.pid, sample.tid, sample.time_ns),
                                  {sample.frames.begin(), sample.frames.end()}});
    Seen &seen = at->second;
    seen.samples++;
    add_to(seen.period, sample.period);
    seen.first_ns = fresh ? sample.time_ns : std::min(seen.first_ns, sample.time_ns);
    samples_++;
    if (fresh)
        stack_bytes_ += sizeof(*at) + kNodeBytes + sample.frames.size_bytes();
    if (stack_bytes_ > kMostBytes)
        write_stacks();
}

void StackWriter::write_stacks()
{
    Explainer explainer = names_.explainer(*threads_);
    for (const auto &[stack, seen] : stacks_)
        write(stack, seen, explainer);
    stacks_.clear();
    stack_bytes_ = 0;
}

std::string_view StackWriter::command(const Stack &stack, const Seen &seen) const
{
    const std::string_view command = threads_->command(stack.tid, seen.first_ns);
    return command.empty() ? "[unknown]" : command;
}

const NamedFrames &StackWriter::explain(const Stack &stack, const StackFrame &at, const Seen &seen,
                                        Explainer &explainer)
{
    const NamedFrames &found =
        explainer.frames_at(stack.pid, at.mode, at.ip, seen.first_ns, is_in_kernel(stack.frames));
    names_.count(at.mode, found, seen.samples);
    return found;
}

}  // namespace pmukit::cli
