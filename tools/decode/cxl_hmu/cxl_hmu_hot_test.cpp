// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests that hot units are summed and losses are counted.
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"

#include <gtest/gtest.h>

namespace pmukit::decode::cxl_hmu {
namespace {

// A record that owns its entries.
struct Made {
    explicit Made(std::vector<uint64_t> entries, uint64_t sequence = 0) : bytes(entries.size() * 8)
    {
        for (size_t i = 0; i < entries.size(); i++)
            store_le(bytes.data() + i * 8, entries[i]);
        record.counter_width = 8;
        record.unit_log2 = 12;
        record.downsampling_log2 = 1;
        record.sequence = sequence;
        record.lost = 0;
        record.entries = Words(bytes);
    }
    std::vector<std::byte> bytes;
    Record record;
};

TEST(HotList, MultipliesCountsByTheDownsampling)
{
    HotList list;
    list.record(Made({0x0105, 0x0203}, 0).record);
    list.record(Made({0x0205}, 1).record);
    std::vector<HotUnit> hot = list.hottest(0);
    ASSERT_EQ(hot.size(), 2U);
    EXPECT_EQ(hot[0].dpa, 0x2000U);
    EXPECT_EQ(hot[0].accesses, 16U);
    EXPECT_EQ(hot[0].epochs, 2U);
    EXPECT_EQ(hot[1].accesses, 10U);
    EXPECT_EQ(list.totals().accesses, 26U);
    EXPECT_EQ(list.totals().entries, 3U);
    EXPECT_EQ(list.hottest(1).size(), 1U);
}

// Units 4, 5 and 6 have equal accesses, unit 5 in two epochs; unit 7 has more.
TEST(HotList, OrdersByAccessesThenEpochsThenAddress)
{
    HotList list;
    list.record(Made({0x0604, 0x0502, 0x0709}, 0).record);
    list.record(Made({0x0404, 0x0502}, 1).record);
    std::vector<uint64_t> order;
    for (const HotUnit &unit : list.hottest(100))
        order.push_back(unit.dpa >> 12);
    EXPECT_EQ(order, (std::vector<uint64_t>{7, 5, 4, 6}));
}

TEST(HotList, AccessSumsSaturate)
{
    HotList list;
    Made made({(uint64_t{1} << 63) | 0xff}, 0);
    made.record.counter_width = 63;
    made.record.downsampling_log2 = 60;
    list.record(made.record);
    EXPECT_EQ(list.hottest(0)[0].accesses, UINT64_MAX);
    made.record.sequence = 1;
    list.record(made.record);
    EXPECT_EQ(list.totals().accesses, UINT64_MAX);
}

TEST(HotList, DoesNotTakeRecordsWithoutSequenceNumberAsDuplicates)
{
    HotList list;
    Made made({0x0101}, 0);
    made.record.sequence.reset();
    list.record(made.record);
    list.record(made.record);
    EXPECT_EQ(list.totals().records, 2U);
    EXPECT_EQ(list.totals().duplicates, 0U);
}

TEST(HotList, AddsUpSkippedBytes)
{
    HotList list;
    list.skipped(0, 24);
    list.skipped(100, 8);
    EXPECT_EQ(list.totals().skipped_bytes, 32U);
}

TEST(HotList, CountsMissingAndRepeatedRecords)
{
    HotList list;
    for (uint64_t sequence : {1, 2, 5, 5, 4, 6})
        list.record(Made({0x0101}, sequence).record);
    // The records with sequence numbers 0, 3 and 4 are missing.
    EXPECT_EQ(list.totals().sequence_gaps, 3U);
    EXPECT_EQ(list.totals().duplicates, 2U);
    EXPECT_EQ(list.totals().records, 4U);
    EXPECT_EQ(list.hottest(0)[0].epochs, 4U);
}

TEST(HotList, LossesAddUpIfTheEventIsEnabledAgain)
{
    HotList list;
    Made first({}, 0), second({}, 1), restarted({}, 0);
    second.record.lost = 7;
    restarted.record.lost = 2;
    list.record(first.record);
    list.record(second.record);
    list.record(restarted.record);
    EXPECT_EQ(list.totals().lost, 9U);
    EXPECT_EQ(list.totals().sequence_gaps, 0U);
}

TEST(HotList, RecordsOfADuplicatedFirstBurstAreCountedOnce)
{
    HotList list;
    Made first({{5, 3}}, 0), second({{5, 3}}, 1);
    first.record.time_ns = 10;
    second.record.time_ns = 20;
    for (int i = 0; i < 2; i++) {
        list.record(first.record);
        list.record(second.record);
    }
    EXPECT_EQ(list.totals().records, 2U);
    EXPECT_EQ(list.totals().duplicates, 2U);
}

TEST(HotList, CountsRecordsWithOverflowTruncatedAndResetFlags)
{
    HotList list;
    Made made({}, 0);
    made.record.flags =
        PMUKIT_CXL_HMU_F_OVERFLOW | PMUKIT_CXL_HMU_F_TRUNCATED | PMUKIT_CXL_HMU_F_RESET;
    list.record(made.record);
    EXPECT_EQ(list.totals().overflows, 1U);
    EXPECT_EQ(list.totals().truncated, 1U);
    EXPECT_EQ(list.totals().resets, 1U);
}

TEST(HotList, CountsOfRecordsWithTheAlwaysOnFlagAreNotAddedAsAccesses)
{
    HotList list;
    Made made({0x01ff}, 0);
    made.record.flags = PMUKIT_CXL_HMU_F_ALWAYS_ON;
    list.record(made.record);
    EXPECT_EQ(list.hottest(0)[0].accesses, 0U);
    EXPECT_EQ(list.hottest(0)[0].epochs, 1U);
    EXPECT_EQ(list.totals().saturated, 0U);
    EXPECT_TRUE(list.totals().always_on);
    EXPECT_FALSE(HotList().totals().always_on);
}

TEST(HotList, CountsSaturatedCountersAndImpossibleAddresses)
{
    HotList list;
    list.record(Made({0x01ff, ~uint64_t{0}}, 0).record);
    EXPECT_EQ(list.totals().saturated, 1U);
    EXPECT_EQ(list.totals().invalid, 1U);
}

TEST(HotList, DropsRecordIfNeitherRecordNorCallerGivesAUnitSize)
{
    Made made({0x0105}, 0);
    made.record.unit_log2.reset();
    HotList without, with(8);
    without.record(made.record);
    with.record(made.record);
    EXPECT_EQ(without.totals().without_unit, 1U);
    EXPECT_EQ(without.units(), 0U);
    EXPECT_EQ(with.hottest(0)[0].dpa, 0x100U);
}

}  // namespace
}  // namespace pmukit::decode::cxl_hmu
