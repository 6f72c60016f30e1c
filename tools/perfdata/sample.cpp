// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples are walked field by field in the order perf_event_open(2) gives; what is not kept is
// skipped.
#include "perfdata/sample.hpp"

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

// Every field of the trailer is one word, in this order.
constexpr uint64_t kTrailerFields[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
                                       PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
                                       PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};

bool read_tid(ByteReader &in, SampleId &who)
{
    who.pid = in.u32();
    who.tid = in.u32();
    return who.tid.has_value();
}

bool read_cpu(ByteReader &in, SampleId &who)
{
    who.cpu = in.u32();
    return in.u32().has_value();  // reserved
}

bool skip_word(ByteReader &in)
{
    return in.skip(kWord);
}

// PERF_SAMPLE_READ: counts whose shape read_format says.
bool skip_read(ByteReader &in, uint64_t format)
{
    size_t times =
        !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    size_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
    if (!(format & PERF_FORMAT_GROUP))
        return in.skip((each + times) * kWord);
    std::optional<uint64_t> count = in.u64();
    if (!count || !in.skip(times * kWord))
        return false;
    return *count <= in.left() / (each * kWord) && in.skip(*count * each * kWord);
}

bool skip_callchain(ByteReader &in)
{
    std::optional<uint64_t> count = in.u64();
    return count && *count <= in.left() / kWord && in.skip(*count * kWord);
}

bool read_raw(ByteReader &in, Sample &sample)
{
    std::optional<uint32_t> size = in.u32();
    if (!size)
        return false;
    sample.raw = in.take(*size);
    return sample.raw.has_value();
}

}  // namespace

std::optional<Sample> parse_sample(Bytes body, const Attr &attr, std::endian order)
{
    ByteReader in(body, order);
    Sample sample;
    SampleId &who = sample.who;
    const uint64_t type = attr.sample_type;
    auto has = [type](uint64_t field) { return (type & field) != 0; };
    auto word = [&in](std::optional<uint64_t> &into) {
        into = in.u64();
        return into.has_value();
    };

    bool whole =
        (!has(PERF_SAMPLE_IDENTIFIER) || word(who.id)) &&
        (!has(PERF_SAMPLE_IP) || word(sample.ip)) && (!has(PERF_SAMPLE_TID) || read_tid(in, who)) &&
        (!has(PERF_SAMPLE_TIME) || word(who.time_ns)) &&
        (!has(PERF_SAMPLE_ADDR) || skip_word(in)) && (!has(PERF_SAMPLE_ID) || word(who.id)) &&
        (!has(PERF_SAMPLE_STREAM_ID) || skip_word(in)) &&
        (!has(PERF_SAMPLE_CPU) || read_cpu(in, who)) &&
        (!has(PERF_SAMPLE_PERIOD) || word(sample.period)) &&
        (!has(PERF_SAMPLE_READ) || skip_read(in, attr.read_format)) &&
        (!has(PERF_SAMPLE_CALLCHAIN) || skip_callchain(in)) &&
        (!has(PERF_SAMPLE_RAW) || read_raw(in, sample));
    if (!whole)
        return std::nullopt;
    return sample;
}

std::optional<SampleId> parse_sample_id(Bytes body, const Attr &attr, std::endian order)
{
    if (!attr.sample_id_all)
        return SampleId{};
    size_t size = 0;
    for (uint64_t field : kTrailerFields)
        size += attr.sample_type & field ? kWord : 0;
    if (size > body.size())
        return std::nullopt;

    ByteReader in(body.last(size), order);
    SampleId who;
    const uint64_t type = attr.sample_type;
    if (type & PERF_SAMPLE_TID)
        read_tid(in, who);
    if (type & PERF_SAMPLE_TIME)
        who.time_ns = in.u64();
    if (type & PERF_SAMPLE_ID)
        who.id = in.u64();
    if (type & PERF_SAMPLE_STREAM_ID)
        skip_word(in);
    if (type & PERF_SAMPLE_CPU)
        read_cpu(in, who);
    if (type & PERF_SAMPLE_IDENTIFIER)
        who.id = in.u64();
    return who;
}

std::optional<size_t> sample_id_position(uint64_t sample_type)
{
    if (sample_type & PERF_SAMPLE_IDENTIFIER)
        return 0;
    if (!(sample_type & PERF_SAMPLE_ID))
        return std::nullopt;
    size_t before = 0;
    for (uint64_t field : {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR})
        before += sample_type & field ? kWord : 0;
    return before;
}

std::optional<size_t> trailer_id_position(uint64_t sample_type)
{
    if (sample_type & PERF_SAMPLE_IDENTIFIER)
        return kWord;
    if (!(sample_type & PERF_SAMPLE_ID))
        return std::nullopt;
    size_t from_end = kWord;
    for (uint64_t field : {PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU})
        from_end += sample_type & field ? kWord : 0;
    return from_end;
}

}  // namespace pmukit::perfdata
