// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fuzz targets of recordings: each record and section is parsed as its own type and as every other
// type.
#include <algorithm>

#include "fuzz/targets.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/features.hpp"
#include "perfdata/ordered.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/recover.hpp"
#include "perfdata/testing/perf_text.hpp"

namespace pmukit::fuzz {
namespace {

using namespace perfdata;

// Calls every parser of records. A parser must not rely on the type of the record whose body it
// gets.
void parse_as_anything(const Record &record, std::endian order)
{
    const Bytes body = record.body;
    parse_mmap(body, order);
    parse_mmap2(body, record.misc, order);
    parse_namespaces(body, order);
    parse_text_poke(body, order);
    parse_callchain_deferred(body, order);
    parse_ksymbol(body, order);
    parse_bpf(body, order);
    parse_auxtrace_info(body, order);
    parse_auxtrace_error(body, order);
    parse_id_index(body, order);
    parse_build_id(body, record.misc, order);
    parse_event_update(body, order);
    parse_thread_map(body, order);
    parse_stat_config(body, order);
    parse_time_conv(body, order);
    parse_schedstat_domain(body, order);
    parse_bpf_metadata(body, order);
    if (auto map = parse_cpu_map(body, order))
        cpus_of(*map, order);
}

void parse_sections(const Reader &reader)
{
    for (const FeatureSection &section : reader.features())
        if (std::optional<Bytes> content = reader.feature(section.feature)) {
            parse_build_ids(*content, reader.order());
            parse_event_descriptions(*content, reader.order());
            parse_auxtrace_index(*content, reader.order());
            parse_hybrid_topology(*content, reader.order());
            parse_clock_data(*content, reader.order());
        }
    perfdata::testing::perf_header_text(reader);
}

// Checks that each record starts at or after the previous one.
void walk(Reader &reader)
{
    uint64_t last = 0;
    for (Record record;;) {
        if (!reader.next(record))
            break;
        hold(record.offset >= last);
        last = record.offset;
        hold(record.payload.size() <= record.payload_bytes - record.payload_at);
        parse_as_anything(record, reader.order());
        reader.event_of(record);
        reader.time_of(record);
    }
    parse_sections(reader);
}

}  // namespace

void perfdata_file(Bytes bytes)
{
    if (Result<Reader> reader = Reader::open(bytes))
        walk(*reader);
    if (Result<Reader> reader = Reader::open(bytes))
        (void)perfdata::testing::perf_text(*reader);
}

// The first input byte is the number of bytes that are passed at a time, minus 1.
void perfdata_pipe(Bytes bytes)
{
    if (bytes.empty())
        return;
    const size_t step = std::to_integer<size_t>(bytes[0]) + 1;
    Bytes left = bytes.subspan(1);
    Result<Reader> reader = Reader::pushed();
    hold(static_cast<bool>(reader));
    Record record;
    Result<Reader::Step> found = Reader::Step::kMore;
    while ((found = reader->step(record)) && *found != Reader::Step::kEnd) {
        if (*found == Reader::Step::kRecord) {
            parse_as_anything(record, reader->order());
            continue;
        }
        const size_t taken = reader->feed(left.first(std::min(step, left.size())));
        left = left.subspan(taken);
        if (left.empty())
            reader->end_feed();
    }
    // Bytes after the end of the recording must not be parsed.
    if (found && reader->feed(left) != 0) {
        found = reader->step(record);
        hold(found && *found == Reader::Step::kEnd);
    }
    parse_sections(*reader);
}

// Checks that the kept and lost ranges are within the file and do not overlap.
void recover(Bytes bytes)
{
    Result<DamagedRecording> damaged = DamagedRecording::of(bytes);
    if (!damaged)
        return;
    for (const DamagedRecording::Part &part : damaged->parts()) {
        std::vector<ByteRange> ranges = part.found.kept;
        ranges.insert(ranges.end(), part.found.lost.begin(), part.found.lost.end());
        std::sort(ranges.begin(), ranges.end(), [](const ByteRange &a, const ByteRange &b) {
            return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
        });
        uint64_t end = 0;
        for (const ByteRange &range : ranges) {
            hold(range.begin >= end && range.end >= range.begin && range.end <= bytes.size());
            end = range.end;
        }
    }
}

}  // namespace pmukit::fuzz
