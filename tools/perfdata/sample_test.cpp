// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses and composes samples whose fields are in the order of perf_event_open(2).
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

// A raw payload of four bytes: its size, then the bytes.
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
    EXPECT_EQ(sample->sample_id.id, 7U);
    EXPECT_EQ(sample->ip, 0x1000U);
    EXPECT_EQ(sample->sample_id.pid, 5U);
    EXPECT_EQ(sample->sample_id.tid, 6U);
    EXPECT_EQ(sample->sample_id.time_ns, 99U);
    EXPECT_EQ(sample->sample_id.cpu, 3U);
    EXPECT_EQ(sample->period, 20U);
    ASSERT_TRUE(sample->raw);
    EXPECT_EQ(load_le<uint32_t>(sample->raw->data()), 0xddccbbaaU);

    EXPECT_EQ(sample->addr, 0xaddU);
    EXPECT_EQ(sample->sample_id.stream_id, 8U);
    EXPECT_EQ(sample->counts.time_enabled_ns(), 2U);
    EXPECT_EQ(sample->counts[0].id, 7U);
    ASSERT_EQ(sample->callchain.size(), 2U);
    EXPECT_EQ(sample->callchain[1], 0xbU);
    EXPECT_EQ(sample->phys_addr, 0x42U);

    for (size_t size = 0; size < body.size(); size++)
        EXPECT_FALSE(parse_sample(Bytes(body).first(size), attr, std::endian::little)) << size;
}

TEST(Sample, ReadsTheRawPayloadAfterCountsOfAGroup)
{
    Attr attr = attr_of(PERF_SAMPLE_READ | PERF_SAMPLE_RAW,
                        PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_RUNNING);
    std::vector<std::byte> body = words({2, 100, 1, 11, 2, 12, kRawOf4});
    EXPECT_EQ(parse_sample(body, attr, std::endian::little)->raw->size(), 4U);
}

TEST(Sample, RefusesImpossibleCounts)
{
    for (uint64_t count : {uint64_t{3}, UINT64_MAX, UINT64_MAX / 8 + 2}) {
        EXPECT_FALSE(parse_sample(words({count, 1, 2}), attr_of(PERF_SAMPLE_CALLCHAIN),
                                  std::endian::little));
        EXPECT_FALSE(parse_sample(words({count, 1, 2}),
                                  attr_of(PERF_SAMPLE_READ, PERF_FORMAT_GROUP),
                                  std::endian::little));
        EXPECT_FALSE(parse_sample(words({count, 1, 2}), attr_of(PERF_SAMPLE_BRANCH_STACK),
                                  std::endian::little));
    }
    EXPECT_FALSE(parse_sample(words({0xffffffff}), attr_of(PERF_SAMPLE_RAW), std::endian::little));
    for (uint64_t bytes : {uint64_t{17}, UINT64_MAX}) {
        for (uint64_t field : {PERF_SAMPLE_AUX, PERF_SAMPLE_STACK_USER})
            EXPECT_FALSE(parse_sample(words({bytes, 1, 2}), attr_of(field), std::endian::little));
    }
}

TEST(Sample, ReadsEveryFieldAfterTheRawPayload)
{
    Attr attr = attr_of(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                        PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
                        PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
                        PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX);
    attr.branch_sample_type = kBranchHwIndex | kBranchCounters;
    attr.sample_regs_user = 0b1010;
    attr.sample_regs_intr = 0b100;
    std::vector<std::byte> body =
        words({/* branches */ 2, 55,   1,    2,  3,    4,       5, 6, 71, 72,
               /* regs */ 2,     0xa,  0xb,
               /* stack */ 16,   0x51, 0x52, 8,
               /* weight */ 9,   10,   11,
               /* regs */ 1,     0xc,  12,   13, 4096, 2097152,
               /* aux */ 8,      0xaa});
    std::optional<Sample> sample = parse_sample(body, attr, std::endian::little);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->branches.size(), 2U);
    EXPECT_EQ(sample->branches.hw_index(), 55U);
    EXPECT_EQ(sample->branches[1].from, 4U);
    EXPECT_EQ(sample->branches[1].to, 5U);
    EXPECT_EQ(sample->branches[1].flags, 6U);
    EXPECT_EQ(sample->branches.counters()[1], 72U);
    EXPECT_EQ(sample->user_regs.values[1], 0xbU);
    EXPECT_EQ(sample->user_regs.mask, 0b1010U);
    EXPECT_EQ(sample->user_stack.size(), 8U);
    EXPECT_EQ(sample->weight, 9U);
    EXPECT_EQ(sample->data_src, 10U);
    EXPECT_EQ(sample->transaction, 11U);
    EXPECT_EQ(sample->intr_regs.values[0], 0xcU);
    EXPECT_EQ(sample->phys_addr, 12U);
    EXPECT_EQ(sample->cgroup, 13U);
    EXPECT_EQ(sample->data_page_bytes, 4096U);
    EXPECT_EQ(sample->code_page_bytes, 2097152U);
    ASSERT_EQ(sample->aux.size(), 8U);
    EXPECT_EQ(sample->aux[0], std::byte{0xaa});

    for (size_t size = 0; size < body.size(); size++)
        EXPECT_FALSE(parse_sample(Bytes(body).first(size), attr, std::endian::little)) << size;
}

TEST(Sample, RefusesMoreBranchesThanTheBodyHolds)
{
    const Attr attr = attr_of(PERF_SAMPLE_BRANCH_STACK);
    for (uint64_t count : {uint64_t{1}, uint64_t{5}, uint64_t{1} << 60, UINT64_MAX}) {
        EXPECT_FALSE(parse_sample(words({count}), attr, std::endian::little)) << count;
        EXPECT_FALSE(parse_sample(words({count, 1, 2}), attr, std::endian::little)) << count;
    }
    std::optional<Sample> none = parse_sample(words({0}), attr, std::endian::little);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->branches.size(), 0U);
}

TEST(Sample, UnsampledRegistersAndStackAreEmpty)
{
    Attr attr = attr_of(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT);
    attr.sample_regs_user = 0xff;
    std::optional<Sample> sample =
        parse_sample(words({/* abi */ 0, /* size */ 0, 7}), attr, std::endian::little);
    ASSERT_TRUE(sample);
    EXPECT_TRUE(sample->user_regs.values.empty());
    EXPECT_TRUE(sample->user_stack.empty());
    EXPECT_EQ(sample->weight, 7U);
}

TEST(Sample, LimitsTheUserStackToItsField)
{
    std::optional<Sample> sample = parse_sample(
        words({8, 0x51, UINT64_MAX}), attr_of(PERF_SAMPLE_STACK_USER), std::endian::little);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->user_stack.size(), 8U);
}

TEST(Sample, ReadsTheCountsOfAGroup)
{
    Attr attr = attr_of(PERF_SAMPLE_READ, PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
                                              PERF_FORMAT_TOTAL_TIME_RUNNING);
    std::vector<std::byte> body = words({2, 100, 1, 11, 0, 2, 12, 5});
    std::optional<Sample> sample = parse_sample(body, attr, std::endian::little);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->counts.size(), 2U);
    EXPECT_EQ(sample->counts[1].value, 2U);
    EXPECT_EQ(sample->counts[1].id, 12U);
    EXPECT_EQ(sample->counts[1].lost, 5U);
    EXPECT_EQ(sample->counts.time_running_ns(), 100U);
    EXPECT_FALSE(sample->counts.time_enabled_ns());
    for (size_t size = 0; size < body.size(); size++)
        EXPECT_FALSE(parse_sample(Bytes(body).first(size), attr, std::endian::little)) << size;
}

TEST(Sample, ReadsBigEndianSamples)
{
    std::vector<std::byte> body(24);
    store<uint32_t>(body.data(), 5, std::endian::big);
    store<uint32_t>(body.data() + 4, 6, std::endian::big);
    store<uint64_t>(body.data() + 8, 1, std::endian::big);
    store<uint64_t>(body.data() + 16, 0xabc, std::endian::big);
    std::optional<Sample> sample =
        parse_sample(body, attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN), std::endian::big);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->sample_id.pid, 5U);
    EXPECT_EQ(sample->sample_id.tid, 6U);
    EXPECT_EQ(sample->callchain[0], 0xabcU);
}

TEST(SampleParser, ClearsFieldsOfThePreviousSample)
{
    SampleParser parser;
    Attr all = attr_of(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_PHYS_ADDR);
    all.sample_regs_user = 1;
    const Sample *sample =
        parser.parse(words({0x10, 1, 0xa, /* regs */ 2, 5, /* stack */ 8, 1, 8, 0x42}), all,
                     std::endian::little);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->user_stack.size(), 8U);
    sample =
        parser.parse(words({0x10, 0, /* regs */ 0, /* stack */ 0, 0x43}), all, std::endian::little);
    ASSERT_TRUE(sample);
    EXPECT_TRUE(sample->callchain.empty());
    EXPECT_TRUE(sample->user_regs.values.empty());
    EXPECT_TRUE(sample->user_stack.empty());
    EXPECT_EQ(sample->phys_addr, 0x43U);
    sample = parser.parse(words({9}), attr_of(PERF_SAMPLE_TIME), std::endian::little);
    ASSERT_TRUE(sample);
    EXPECT_FALSE(sample->ip);
    EXPECT_FALSE(sample->phys_addr);
    EXPECT_FALSE(parser.parse({}, all, std::endian::little));
    EXPECT_TRUE(parser.parse(words({9}), attr_of(PERF_SAMPLE_TIME), std::endian::little));
}

TEST(SampleId, IsReadFromTheEndOfTheRecord)
{
    Attr attr = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                        PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
    std::vector<std::byte> body = words({111, 222, 5 | uint64_t{6} << 32, 99, 7, 8, 3, 7});
    std::optional<SampleId> sample_id = parse_sample_id(body, attr, std::endian::little);
    ASSERT_TRUE(sample_id);
    EXPECT_EQ(sample_id->tid, 6U);
    EXPECT_EQ(sample_id->time_ns, 99U);
    EXPECT_EQ(sample_id->id, 7U);
    EXPECT_EQ(sample_id->cpu, 3U);
    EXPECT_FALSE(parse_sample_id(Bytes(body).first(40), attr, std::endian::little));
    attr.sample_id_all = false;
    EXPECT_FALSE(parse_sample_id(body, attr, std::endian::little)->id);
}

TEST(SampleIdPosition, DependsOnTheOtherFields)
{
    EXPECT_EQ(sample_id_position(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP), 0U);
    EXPECT_EQ(sample_id_position(PERF_SAMPLE_ID | PERF_SAMPLE_IP | PERF_SAMPLE_TIME), 16U);
    EXPECT_FALSE(sample_id_position(PERF_SAMPLE_IP));
    EXPECT_EQ(trailer_id_position(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU), 8U);
    EXPECT_EQ(trailer_id_position(PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID), 24U);
}

TEST(SampleTimePosition, DependsOnTheOtherFields)
{
    EXPECT_EQ(sample_time_position(PERF_SAMPLE_TIME), 0U);
    EXPECT_EQ(sample_time_position(PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
                                   PERF_SAMPLE_CPU),
              16U);
    EXPECT_FALSE(sample_time_position(PERF_SAMPLE_TID));
    EXPECT_EQ(trailer_time_position(PERF_SAMPLE_TIME | PERF_SAMPLE_TID), 8U);
    EXPECT_EQ(trailer_time_position(PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER),
              24U);
    EXPECT_FALSE(trailer_time_position(PERF_SAMPLE_CPU));
}

TEST(ComposeSample, WritesFieldsInTheOrderOfPerfEventOpen)
{
    const SampleId sample_id = {
        .id = 7, .time_ns = 99, .pid = 5, .tid = 6, .cpu = 3, .stream_id = 8};
    const std::vector<std::byte> raw = {std::byte{0xbb}, std::byte{0xcc}, std::byte{0xdd}};
    std::optional<std::vector<std::byte>> body =
        compose_sample(kComposable, sample_id, raw, std::endian::little);
    ASSERT_TRUE(body);
    // Size and bytes together fill words: one byte of padding.
    EXPECT_EQ(*body, words({7, 0, 5 | uint64_t{6} << 32, 99, 0, 7, 8, 3, 1, 0x00ddccbb'00000004}));

    SampleId some;
    some.id = 7;
    some.tid = 6;
    std::optional<std::vector<std::byte>> big =
        compose_sample(PERF_SAMPLE_TID | PERF_SAMPLE_STREAM_ID, some, {}, std::endian::big);
    ASSERT_TRUE(big);
    std::vector<std::byte> wanted(16);
    wanted[7] = std::byte{6};
    // Without a stream id, the event id is written.
    wanted[15] = std::byte{7};
    EXPECT_EQ(*big, wanted);
}

TEST(ComposeSample, RefusesBodiesThatAreTooLongForARecord)
{
    // A header of 8 bytes, 4 bytes of payload size; the payload fills the last word.
    const std::vector<std::byte> most(65528 - 8 - 4);
    EXPECT_TRUE(compose_sample(PERF_SAMPLE_RAW, {}, most, std::endian::little));
    EXPECT_FALSE(compose_sample(PERF_SAMPLE_RAW | PERF_SAMPLE_TIME, {}, most, std::endian::little));
    const std::vector<std::byte> more(most.size() + 1);
    EXPECT_FALSE(compose_sample(PERF_SAMPLE_RAW, {}, more, std::endian::little));
    const std::vector<std::byte> far_more(1 << 20);
    EXPECT_FALSE(compose_sample(PERF_SAMPLE_RAW, {}, far_more, std::endian::little));
}

}  // namespace
}  // namespace pmukit::perfdata
