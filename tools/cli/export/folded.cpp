// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/folded.hpp"

#include <algorithm>

#include "base/escape.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {
namespace {

// Replaces semicolons, which separate frames, and characters that would break lines or that a
// terminal must not get.
std::string as_frame(std::string_view name)
{
    std::string frame = replace_unsafe(shortened(name, kMostFrameName), ':');
    std::ranges::replace(frame, ';', ':');
    return frame;
}

}  // namespace

Result<std::unique_ptr<StackWriter>> Folded::make(const ExportOptions &options,
                                                  const Recording &recording, Names &names)
{
    Result<exporter::TextFile> file = exporter::TextFile::create(options.output);
    if (!file)
        return file.error();
    return std::unique_ptr<StackWriter>(
        std::make_unique<Folded>(std::move(*file), recording, names));
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

const std::string &Folded::outermost(size_t event)
{
    const auto [at, fresh] = outermost_.try_emplace(event);
    if (!fresh)
        return at->second;
    if (event_names_.empty())
        look_at_events();
    if (const std::optional<std::string> source = recording().source(event))
        at->second = "source=" + *source + ';';
    const perfdata::Reader &reader = recording().reader();
    const std::string name = event < reader.events().size()
                                 ? perfdata::name_of(reader, reader.events()[event])
                                 : "unknown";
    if (event_names_.size() > 1 || (event_names_.size() == 1 && !event_names_.contains(name)))
        at->second += as_frame(name) + ';';
    return at->second;
}

void Folded::look_at_events()
{
    const perfdata::Reader &reader = recording().reader();
    for (const perfdata::Event &event : reader.events())
        if (event_names_.size() < 2 && !perfdata::is_dummy(event.attr))
            event_names_.insert(perfdata::name_of(reader, event));
}

void Folded::put_frame(const Stack &stack, const StackFrame &at, const Seen &seen,
                       Explainer &explainer, std::string &line)
{
    const NamedFrames &found = explain(stack, at, seen, explainer);
    const std::vector<NamedFrame> &frames = found.frames;
    const std::string &symbol = frames.back().symbol;
    line += ';' + as_frame(symbol.empty() ? nameless_frame(at.mode, found.object) : symbol);
    if (at.mode == decode::imc::Mode::kKernel)
        line += "_[k]";
    for (size_t i = frames.size() - 1; i-- > 0;)
        line += ';' + as_frame(frames[i].symbol) + "_[i]";
}

std::string Folded::line_of(const Stack &stack, const Seen &seen, Explainer &explainer)
{
    std::string line = outermost(stack.event) + as_frame(command(stack, seen));
    for (size_t i = stack.frames.size(); i-- > 0;)
        put_frame(stack, stack.frames[i], seen, explainer, line);
    return line;
}

void Folded::write(const Stack &stack, const Seen &seen, Explainer &explainer)
{
    const auto [at, fresh] = lines_.try_emplace(line_of(stack, seen, explainer));
    at->second += seen.samples;
    if (fresh)
        line_bytes_ += sizeof(*at) + kNodeBytes + at->first.size();
    if (line_bytes_ > kMostBytes)
        write_lines();
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
    write_stacks();
    write_lines();
    return file_.finish();
}

}  // namespace pmukit::cli
