// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares table words with words assembled by hand.
#include "models/uncore_pmon/discovery_table.hpp"

#include <gtest/gtest.h>

namespace pmukit::models::uncore_pmon {
namespace {

// A memory controller's unit as in a Sapphire Rapids: width 48, 4 counters, controls at 64,
// counters at 8, MMIO, box control 0xc8aa2800, type 6.
UnitEntry imc_unit(uint16_t id)
{
    return {.counters = 4,
            .control0 = 64,
            .width = 48,
            .counter0 = 8,
            .status = 0x5c,
            .access = Access::kMmio,
            .control = 0xc8aa2800,
            .type = 6,
            .id = id};
}

TEST(UncoreTable, UnitEntryHasThreeWords)
{
    const UnitEntry units[] = {imc_unit(0), imc_unit(7)};
    const std::vector<uint64_t> words = table_words({.stride = 3, .max_units = 2}, units);
    ASSERT_EQ(words.size(), 9u);
    EXPECT_EQ(words[3], 0x4000005c08304004u);
    EXPECT_EQ(words[4], 0xc8aa2800u);
    EXPECT_EQ(words[5], 0x00000006u);
    EXPECT_EQ(words[6], words[3]);
    EXPECT_EQ(words[8], 0x00070006u);
}

TEST(UncoreTable, GlobalEntryIsFirst)
{
    const std::vector<uint64_t> words = table_words({.stride = 8,
                                                     .max_units = 0x201,
                                                     .access = Access::kMsr,
                                                     .control = 0x2ff0,
                                                     .status = 2,
                                                     .statuses = 0x102},
                                                    {});
    ASSERT_EQ(words.size(), (1u + 0x201) * 8);
    EXPECT_EQ(words[0], 0x0000000002010800u);
    EXPECT_EQ(words[1], 0x2ff0u);
    EXPECT_EQ(words[2], 0x0000000000010202u);
    EXPECT_EQ(table_words({.max_units = 1, .access = Access::kPci}, {})[0], 0x8000000000010300u);
}

TEST(UncoreTable, EntriesAreAStrideApartAndTheRestIsZero)
{
    const UnitEntry units[] = {imc_unit(1), imc_unit(2)};
    const std::vector<uint64_t> words = table_words({.stride = 5, .max_units = 4}, units);
    ASSERT_EQ(words.size(), 25u);
    EXPECT_EQ(words[7], 0x00010006u);
    EXPECT_EQ(words[12], 0x00020006u);
    for (const size_t zero : {3u, 4u, 8u, 9u, 13u, 14u, 15u, 20u, 24u})
        EXPECT_EQ(words[zero], 0u) << zero;
}

TEST(UncoreTable, FieldsDoNotOverflowIntoOthers)
{
    const UnitEntry full = {.counters = 0x1ff,
                            .control0 = 0x100,
                            .width = 0x1ff,
                            .counter0 = 0x100,
                            .status = 0x1ff,
                            .access = Access::kMsr,
                            .control = ~uint64_t{0},
                            .type = 0xffff,
                            .id = 0xffff};
    const std::vector<uint64_t> words = table_words({.max_units = 1}, {&full, 1});
    EXPECT_EQ(words[3], 0x000000ff00ff00ffu);
    EXPECT_EQ(words[5], 0x00000000ffffffffu);
}

TEST(UncoreTable, PciControlEncodesBusDeviceFunctionAndOffset)
{
    EXPECT_EQ(pci_control(0xfe, 0x0c << 3 | 1, 0x438), 0x0fe61438u);
}

TEST(UncoreTable, ReadsBytesInAnyWidth)
{
    const uint64_t words[] = {0x8877665544332211, 0x00ffeeddccbbaa99};
    EXPECT_EQ(read_words(words, 0, 8), words[0]);
    EXPECT_EQ(read_words(words, 4, 4), 0x88776655u);
    EXPECT_EQ(read_words(words, 6, 4), 0xaa998877u);
    EXPECT_EQ(read_words(words, 7, 1), 0x88u);
    EXPECT_EQ(read_words(words, 14, 2), 0x00ffu);
    EXPECT_EQ(read_words(words, 12, 8), 0x00ffeeddu);
    EXPECT_EQ(read_words(words, 16, 8), 0u);
    EXPECT_EQ(read_words(words, ~uint64_t{7}, 8), 0u);
}

}  // namespace
}  // namespace pmukit::models::uncore_pmon
