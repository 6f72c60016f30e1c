// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/pprof.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "perfdata/generic_events.hpp"
#include "session/event_choice.hpp"

namespace pmukit::cli {
namespace {

using exporter::Message;

// Numbers of the fields in profile.proto.
enum ProfileField : uint32_t {
    kSampleType = 1,
    kSample = 2,
    kMapping = 3,
    kLocation = 4,
    kFunction = 5,
    kStringTable = 6,
    kTimeNanos = 9,
    kComment = 13,
    kDefaultSampleType = 14
};
enum ValueTypeField : uint32_t { kType = 1, kUnit = 2 };
enum SampleField : uint32_t { kLocationIds = 1, kValues = 2, kLabels = 3 };
enum LabelField : uint32_t { kKey = 1, kText = 2, kNumber = 3 };
enum MappingField : uint32_t { kMappingId = 1, kFilename = 5, kHasFunctions = 7 };
enum LocationField : uint32_t { kLocationId = 1, kOfMapping = 2, kAddress = 3, kLine = 4 };
enum LineField : uint32_t { kFunctionOfLine = 1 };
enum FunctionField : uint32_t { kFunctionId = 1, kName = 2, kSystemName = 3 };

// The file begins with the empty string, which each profile has, and this text.
constexpr std::string_view kWriter = "pmukit";
// Each sample has a value for each event.
constexpr size_t kMostEvents = 64;

}  // namespace

bool Pprof::is_one(std::string_view front)
{
    Message begin;
    begin.text(kStringTable, "");
    begin.text(kStringTable, kWriter);
    return front.starts_with(begin.bytes());
}

Result<std::unique_ptr<StackWriter>> Pprof::make(const ExportOptions &options,
                                                 const Recording &recording, Names &names)
{
    Result<std::vector<bool>> wanted = choose_events(recording.reader(), options.events);
    if (!wanted)
        return wanted.error();
    Result<exporter::TextFile> file = exporter::TextFile::create(options.output);
    if (!file)
        return file.error();
    auto pprof = std::make_unique<Pprof>(std::move(*file), recording, names);
    pprof->begin(*wanted);
    if (pprof->values_.size() > 1 + kMostEvents)
        return Error{Errc::kUsage,
                     fmt::format("{}: {} events, but pprof has at most {}: select some by --event",
                                 recording.path(), pprof->values_.size() - 1, kMostEvents)};
    return std::unique_ptr<StackWriter>(std::move(pprof));
}

void Pprof::put(uint32_t field, const Message &message)
{
    Message whole;
    whole.message(field, message);
    file_.text(whole.bytes());
}

// The types of the values, which must be known before the first sample.
void Pprof::begin(const std::vector<bool> &wanted)
{
    Message empty, comment;
    empty.text(kStringTable, "");
    file_.text(empty.bytes());
    comment.number(kComment, text_id(kWriter));
    if (const std::optional<std::string> source = recording().common_source())
        comment.number(kComment, text_id("source=" + *source));
    if (const std::optional<perfdata::ClockData> clock = clock_data(recording()))
        comment.number(kTimeNanos, clock->wall_ns);
    comment.number(kDefaultSampleType, text_id("samples"));
    file_.text(comment.bytes());
    const auto put_type = [this](std::string_view name) {
        Message type;
        type.number(kType, text_id(name));
        type.number(kUnit, text_id("count"));
        put(kSampleType, type);
        values_.push_back(0);
    };
    put_type("samples");
    std::map<std::string, size_t> value_by_name;
    const std::vector<perfdata::Event> &events = recording().reader().events();
    for (size_t event = 0; event < events.size(); event++) {
        if ((!wanted.empty() && !wanted[event]) || perfdata::is_dummy(events[event].attr))
            continue;
        const std::string name = shortened(
            valid_utf8(perfdata::name_of(recording().reader(), events[event])), kMostRowName);
        const auto [at, fresh] = value_by_name.try_emplace(name, values_.size());
        if (fresh)
            put_type(name);
        value_of_event_[event] = at->second;
    }
}

std::pair<uint64_t, bool> Pprof::id_of(Ids &ids, std::string_view content)
{
    if (const auto known = ids.of.find(content); known != ids.of.end())
        return {known->second, false};
    id_bytes_ += content.size() + kNodeBytes + sizeof(*ids.of.begin());
    ids.of.emplace(content, ++ids.last);
    return {ids.last, true};
}

uint64_t Pprof::text_id(std::string_view text)
{
    if (text.empty())
        return 0;
    const auto [id, fresh] = id_of(texts_, text);
    if (fresh) {
        Message entry;
        entry.text(kStringTable, text);
        file_.text(entry.bytes());
    }
    return id;
}

uint64_t Pprof::function_id(std::string_view name)
{
    const auto [id, fresh] = id_of(functions_, name);
    if (fresh) {
        const uint64_t text = text_id(name);
        Message function;
        function.number(kFunctionId, id);
        function.number(kName, text);
        function.number(kSystemName, text);
        put(kFunction, function);
    }
    return id;
}

// has_functions: pprof need not look for symbols in the file.
uint64_t Pprof::mapping_id(const std::string &object)
{
    if (object.empty())
        return 0;
    const auto [id, fresh] = id_of(mappings_, object);
    if (fresh) {
        Message mapping;
        mapping.number(kMappingId, id);
        mapping.number(kFilename, text_id(object));
        mapping.number(kHasFunctions, 1);
        put(kMapping, mapping);
    }
    return id;
}

uint64_t Pprof::location_id(const Stack &stack, const StackFrame &at, const Seen &seen,
                            Explainer &explainer)
{
    const NamedFrames &found = explain(stack, at, seen, explainer);
    const std::string object = shortened(valid_utf8(found.object), kMostFrameName);
    std::string key = fmt::format("{:x} {}", at.ip, object);
    std::vector<std::string> names;
    for (const NamedFrame &frame : found.frames) {
        names.push_back(frame.symbol.empty() ? nameless_frame(at.mode, object)
                                             : shortened(valid_utf8(frame.symbol), kMostFrameName));
        key += '\0' + names.back();
    }
    const auto [id, fresh] = id_of(locations_, key);
    if (!fresh)
        return id;
    Message location;
    location.number(kLocationId, id);
    location.number(kOfMapping, mapping_id(object));
    location.number(kAddress, at.ip);
    for (const std::string &name : names) {
        Message line;
        line.number(kFunctionOfLine, function_id(name));
        location.message(kLine, line);
    }
    put(kLocation, location);
    return id;
}

void Pprof::put_label(std::string_view key, std::string_view text, uint64_t number, Message &sample)
{
    Message label;
    label.number(kKey, text_id(key));
    if (text.empty())
        label.number(kNumber, number);
    else
        label.number(kText, text_id(text));
    sample.message(kLabels, label);
}

void Pprof::forget()
{
    for (Ids *ids : {&texts_, &functions_, &mappings_, &locations_})
        ids->of.clear();
    id_bytes_ = 0;
}

void Pprof::write(const Stack &stack, const Seen &seen, Explainer &explainer)
{
    const auto value = value_of_event_.find(stack.event);
    if (value == value_of_event_.end())
        return;
    locations_of_stack_.clear();
    for (const StackFrame &at : stack.frames)
        locations_of_stack_.push_back(location_id(stack, at, seen, explainer));
    Message sample;
    sample.numbers(kLocationIds, locations_of_stack_);
    std::ranges::fill(values_, 0);
    values_[0] = seen.samples;
    values_[value->second] = seen.period;
    sample.numbers(kValues, values_);
    put_label("comm", shortened(valid_utf8(command(stack, seen)), kMostRowName), 0, sample);
    if (stack.pid != UINT32_MAX)
        put_label("pid", {}, stack.pid, sample);
    if (stack.tid != UINT32_MAX)
        put_label("tid", {}, stack.tid, sample);
    put(kSample, sample);
    written_++;
    if (id_bytes_ > kMostBytes)
        forget();
}

Result<void> Pprof::finish()
{
    write_stacks();
    return file_.finish();
}

}  // namespace pmukit::cli
