// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The driver and pmukit discover must accept the same units of each discovery table. The tables are
// valid, or have changed bits, words and entries.
#include <gtest/gtest.h>

#include <random>

#include "decode/uncore_pmon/uncore_pmon_test_table.hpp"
#include "fuzz/uncore_pmon_compare.hpp"

namespace pmukit::decode::uncore_pmon {
namespace {

std::vector<std::byte> mixed_table()
{
    std::vector<test::Entry> units = test::eight_imcs();
    units.push_back(test::UnitWords{.access = 0, .box_control = 0x2000, .type = 0}.entry());
    units.push_back(test::UnitWords{.access = 2, .box_control = 0xfe11318, .type = 8}.entry());
    units.push_back(
        test::UnitWords{.counters = 8, .control_offset = 72, .box_control = 0xe0000000, .type = 12}
            .entry());
    return test::table_of(units);
}

TEST(UncorePmonTable, DriverAndDecoderAgreeOnAValidTable)
{
    const std::vector<std::byte> bytes = mixed_table();
    EXPECT_EQ(fuzz::compare_table(bytes, bytes.size()), "");
    EXPECT_EQ(parse_table(bytes, bytes.size())->units.size(), 11U);
}

TEST(UncorePmonTable, DriverAndDecoderAgreeOnATableTruncatedAtAnyLength)
{
    const std::vector<std::byte> bytes = mixed_table();
    for (size_t size = 0; size <= bytes.size(); size++)
        EXPECT_EQ(fuzz::compare_table(Bytes(bytes).first(size), size), "") << size;
}

TEST(UncorePmonTable, DriverAndDecoderAgreeWithAnyBitFlipped)
{
    const std::vector<std::byte> bytes = mixed_table();
    for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
        std::vector<std::byte> bad = bytes;
        bad[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_EQ(fuzz::compare_table(bad, bad.size()), "") << bit;
    }
}

// The comparison must find an entry that only the driver or only the decoder accepts.
TEST(UncorePmonTable, ComparisonOfDriverAndDecoderFindsDifferences)
{
    const std::vector<std::byte> bytes = mixed_table();
    Table ours = *parse_table(bytes, bytes.size());
    std::vector<uncore_pmon_entry> kernel(ours.units.size());
    for (size_t i = 0; i < kernel.size(); i++)
        kernel[i].used = true;
    EXPECT_NE(fuzz::compare_entries(kernel, ours), "");
    kernel.clear();
    EXPECT_EQ(fuzz::compare_entries(kernel, ours), "pmukit discover accepts more entries");
    kernel.resize(1);
    kernel[0].used = true;
    kernel[0].wrong = "no reason";
    EXPECT_EQ(fuzz::compare_entries(kernel, ours), "entry 1: the driver refuses: no reason");
}

TEST(UncorePmonTable, DriverAndDecoderAgreeWithAnyWordReplaced)
{
    std::mt19937_64 random(3);
    const std::vector<std::byte> bytes = mixed_table();
    for (int round = 0; round < 5000; round++) {
        std::vector<std::byte> bad = bytes;
        for (int change = 0; change < 3; change++) {
            const size_t to = random() % (bad.size() / 8) * 8;
            const size_t from = random() % (bad.size() / 8) * 8;
            const uint64_t values[] = {0, ~uint64_t{0}, random(), load_le<uint64_t>(&bad[from])};
            store_le<uint64_t>(&bad[to], values[random() % 4]);
        }
        ASSERT_EQ(fuzz::compare_table(bad, bad.size()), "") << round;
    }
}

}  // namespace
}  // namespace pmukit::decode::uncore_pmon
