// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/folded.hpp"

#include <algorithm>

#include "base/escape.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {
namespace {

constexpr size_t kNodeBytes = 64;  // estimated overhead of a map node, in bytes

// Replaces semicolons, which separate frames, and characters that would break lines or that a
// terminal must not get.
std::string as_frame(std::string_view name)
{
    std::string frame = replace_unsafe(shortened(name, kMostFrameName), ':');
    std::ranges::replace(frame, ';', ':');
    return frame;
}

// Name of a frame without a symbol, as in stackcollapse-perf.pl: [libc.so.6], [unknown]. It has no
// address, so that such frames of a flame graph are one.
std::string nameless_frame(decode::imc::Mode mode, const std::string &object)
{
    if (mode != decode::imc::Mode::kKernel && mode != decode::imc::Mode::kUser)
        return "[guest]";
    if (object.empty())
        return "[unknown]";
    return object.starts_with('[') ? object : '[' + std::string(base_name(object)) + ']';
}

}  // namespace

Result<std::unique_ptr<Folded>> Folded::make(const ExportOptions &options,
                                             const Recording &recording, Names &names)
{
    Result<exporter::TextFile> file = exporter::TextFile::create(options.output);
    if (!file)
        return file.error();
    return std::make_unique<Folded>(std::move(*file), recording, names);
}

bool Folded::is_one(std::string_view front)
{
    const size_t end = front.rfind('\n');  // the last line may be cut off
    if (end == front.npos)
        return false;
    return std::ranges::all_of(split(front.substr(0, end), '\n'), [](std::string_view line) {
        const size_t blank = line.rfind(' ');
        return blank != line.npos && parse_u64(line.substr(blank + 1));
    });
}

void Folded::stack(const StackSample &sample)
{
    const auto [at, fresh] =
        stacks_.try_emplace(Stack{sample.event,
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

const std::string &Folded::outermost(size_t event)
{
    const auto [at, fresh] = outermost_.try_emplace(event);
    if (!fresh)
        return at->second;
    if (const std::optional<std::string> source = recording_.source(event))
        at->second = "source=" + *source + ';';
    const std::vector<perfdata::Event> &events = recording_.reader().events();
    const std::string name = event < events.size() ? perfdata::name_of(events[event]) : "unknown";
    if (event_names_.size() > 1 || (event_names_.size() == 1 && !event_names_.contains(name)))
        at->second += as_frame(name) + ';';
    return at->second;
}

void Folded::look_at_events()
{
    for (const perfdata::Event &event : recording_.reader().events())
        if (event_names_.size() < 2 && !perfdata::is_dummy(event.attr))
            event_names_.insert(perfdata::name_of(event));
}

void Folded::put_frame(const Stack &stack, const StackFrame &at, const Seen &seen,
                       Explainer &explainer, std::string &line)
{
    const NamedFrames &found =
        explainer.frames_at(stack.pid, at.mode, at.ip, seen.first_ns, is_in_kernel(stack.frames));
    const std::vector<NamedFrame> &frames = found.frames;
    const std::string &symbol = frames.back().symbol;
    names_.count(at.mode, found, seen.samples);
    line += ';' + as_frame(symbol.empty() ? nameless_frame(at.mode, found.object) : symbol);
    if (at.mode == decode::imc::Mode::kKernel)
        line += "_[k]";
    for (size_t i = frames.size() - 1; i-- > 0;)
        line += ';' + as_frame(frames[i].symbol) + "_[i]";
}

std::string Folded::line_of(const Stack &stack, const Seen &seen, Explainer &explainer)
{
    const std::string_view command = threads_->command(stack.tid, seen.first_ns);
    std::string line = outermost(stack.event) + as_frame(command.empty() ? "[unknown]" : command);
    for (size_t i = stack.frames.size(); i-- > 0;)
        put_frame(stack, stack.frames[i], seen, explainer, line);
    return line;
}

void Folded::name_stacks()
{
    Explainer explainer = names_.explainer(*threads_);
    look_at_events();
    for (const auto &[stack, seen] : stacks_) {
        const auto [at, fresh] = lines_.try_emplace(line_of(stack, seen, explainer));
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
