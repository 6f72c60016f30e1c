// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fields in the order of perf_event_open(2), with everything before the payload that can be there.
#include "perfdata/sample.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

std::vector<std::byte> words(std::initializer_list<uint64_t> list)
{
    std::vector<std::byte> bytes(list.size() * 8);
    size_t at = 0;
    for (uint64_t word : list) {
        store_le(bytes.data() + at, word);
        at += 8;
    }
    return bytes;
}

Attr attr_of(uint64_t sample_type, uint64_t read_format = 0)
{
    Attr attr;
    attr.sample_type = sample_type;
    attr.read_format = read_format;
    attr.sample_id_all = true;
    return attr;
}

// A raw payload of four bytes: their number, then they.
constexpr uint64_t kRawOf4 = 0xddccbbaa'00000004ULL;

TEST(Sample, ReadsEveryFieldUpToTheRawPayload)
{
    Attr attr =
        attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                    PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
                    PERF_SAMPLE_RAW | PERF_SAMPLE_PHYS_ADDR,
                PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID | PERF_FORMAT_LOST);
    std::vector<std::byte> body =
        words({7, 0x1000, 5 | uint64_t{6} << 32, 99, 0xadd, 7, 8, 3, 20,
               /* read */ 1, 2, 7, 0, /* chain */ 2, 0xa, 0xb, kRawOf4, /* phys */ 0x42});
    std::optional<Sample> sample = parse_sample(body, attr, std::endian::little);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->who.id, 7U);
    EXPECT_EQ(sample->ip, 0x1000U);
    EXPECT_EQ(sample->who.pid, 5U);
    EXPECT_EQ(sample->who.tid, 6U);
    EXPECT_EQ(sample->who.time_ns, 99U);
    EXPECT_EQ(sample->who.cpu, 3U);
    EXPECT_EQ(sample->period, 20U);
    ASSERT_TRUE(sample->raw);
    EXPECT_EQ(load_le<uint32_t>(sample->raw->data()), 0xddccbbaaU);

    for (size_t size = 0; size < body.size() - 8; size++)
        EXPECT_FALSE(parse_sample(Bytes(body).first(size), attr, std::endian::little)) << size;
}

TEST(Sample, SkipsGroupReads)
{
    Attr attr = attr_of(PERF_SAMPLE_READ | PERF_SAMPLE_RAW,
                        PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_RUNNING);
    std::vector<std::byte> body = words({2, 100, 1, 11, 2, 12, kRawOf4});
    EXPECT_EQ(parse_sample(body, attr, std::endian::little)->raw->size(), 4U);
}

TEST(Sample, CountsThatCannotBeAreRefused)
{
    for (uint64_t count : {uint64_t{3}, UINT64_MAX, UINT64_MAX / 8 + 2}) {
        EXPECT_FALSE(parse_sample(words({count, 1, 2}), attr_of(PERF_SAMPLE_CALLCHAIN),
                                  std::endian::little));
        EXPECT_FALSE(parse_sample(words({count, 1, 2}),
                                  attr_of(PERF_SAMPLE_READ, PERF_FORMAT_GROUP),
                                  std::endian::little));
    }
    EXPECT_FALSE(parse_sample(words({0xffffffff}), attr_of(PERF_SAMPLE_RAW), std::endian::little));
}

TEST(SampleId, StandsAtTheEnd)
{
    Attr attr = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                        PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
    std::vector<std::byte> body = words({111, 222, 5 | uint64_t{6} << 32, 99, 7, 8, 3, 7});
    std::optional<SampleId> who = parse_sample_id(body, attr, std::endian::little);
    ASSERT_TRUE(who);
    EXPECT_EQ(who->tid, 6U);
    EXPECT_EQ(who->time_ns, 99U);
    EXPECT_EQ(who->id, 7U);
    EXPECT_EQ(who->cpu, 3U);
    EXPECT_FALSE(parse_sample_id(Bytes(body).first(40), attr, std::endian::little));
    attr.sample_id_all = false;
    EXPECT_FALSE(parse_sample_id(body, attr, std::endian::little)->id);
}

TEST(SampleIdPosition, FollowsTheFieldsAroundIt)
{
    EXPECT_EQ(sample_id_position(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP), 0U);
    EXPECT_EQ(sample_id_position(PERF_SAMPLE_ID | PERF_SAMPLE_IP | PERF_SAMPLE_TIME), 16U);
    EXPECT_FALSE(sample_id_position(PERF_SAMPLE_IP));
    EXPECT_EQ(trailer_id_position(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU), 8U);
    EXPECT_EQ(trailer_id_position(PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID), 24U);
}

}  // namespace
}  // namespace pmukit::perfdata
