// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/copy.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

// Sections that are not copied. AUXTRACE is the index of AUX buffers, which the writer creates for
// the new file. DIR_FORMAT and COMPRESSED describe the layout of the source.
constexpr unsigned kNotCopied[] = {kFeatAuxtrace, kFeatDirFormat, kFeatCompressed};

}  // namespace

std::vector<WriterEvent> events_for_copy(const Reader &reader)
{
    std::vector<WriterEvent> events;
    for (const Event &event : reader.events())
        events.push_back({event.attr_bytes, event.ids, event.name});
    return events;
}

bool is_copied_section(unsigned feature)
{
    return std::ranges::find(kNotCopied, feature) == std::end(kNotCopied);
}

HeaderOfCopy::HeaderOfCopy(const Reader &from) : from_(from)
{
    for (const Event &event : from.events())
        names_.push_back(event.name);
}

bool HeaderOfCopy::has(const Record &record)
{
    if (!is_in_file_header(record, from_.order()))
        return false;
    const auto update =
        record.type == kEventUpdate ? parse_event_update(record.body, from_.order()) : std::nullopt;
    const auto event = update ? from_.event_of_id(update->id) : std::nullopt;
    if (!event || *event >= names_.size() || names_[*event] == update->text)
        return true;
    names_[*event] = update->text;
    return false;
}

RecordCopier::RecordCopier(const Reader &from, Writer &to, RecordFilter filter)
    : from_(from), to_(to), filter_(std::move(filter)), events_(from.events().size()), header_(from)
{
    if (!filter_)
        filter_ = [&to](const Record &record) { return to.copy(record); };
}

Result<void> RecordCopier::record(const Record &record)
{
    if (from_.events().size() != events_)
        return Error{Errc::kUnsupported, "an event is described after the first record",
                     record.offset};
    // The files of a directory are read one after another, so their rounds are not in order. In a
    // file without FINISHED_ROUND, perf sorts all records.
    if (header_.has(record) || (record.type == kFinishedRound && from_.is_directory()))
        return {};
    if (record.type != kHeaderTracingData)
        return filter_(record);
    // A pipe has the tracing data as a record, a file as a section.
    if (record.payload.size() > limits::kTracing - tracing_data_.size())
        return Error{Errc::kUnsupported, "more tracing data than any kernel has", record.offset};
    append(tracing_data_, record.payload);
    return {};
}

void RecordCopier::finish()
{
    for (const FeatureSection &section : from_.features()) {
        const std::optional<Bytes> content = from_.feature(section.feature);
        if (content && is_copied_section(section.feature))
            to_.section(section.feature, {content->begin(), content->end()});
    }
    if (!tracing_data_.empty())
        to_.section(kFeatTracingData, std::move(tracing_data_));
}

Result<void> RecordCopier::run(Reader &from, Writer &to, RecordFilter filter)
{
    RecordCopier copier(from, to, std::move(filter));
    for (Record record;;) {
        if (!from.next(record)) {
            if (from.error())
                return *from.error();
            break;
        }
        if (Result<void> done = copier.record(record); !done)
            return done;
    }
    copier.finish();
    return {};
}

}  // namespace pmukit::perfdata
