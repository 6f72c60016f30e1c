// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Valid and invalid numbers and CPU lists.
#include "base/number.hpp"

#include <gtest/gtest.h>

namespace pmukit {
namespace {

TEST(Number, ReadsDecimalAndHexadecimal)
{
    EXPECT_EQ(*parse_u64("0"), 0U);
    EXPECT_EQ(*parse_u64("1024"), 1024U);
    EXPECT_EQ(*parse_u64("0xFf"), 255U);
    EXPECT_EQ(*parse_u64("18446744073709551615"), UINT64_MAX);
}

TEST(Number, RefusesEmptyTextSignsOverflowAndTrailingCharacters)
{
    for (const char *bad : {"", "0x", "-1", "+1", " 1", "1 ", "1k", "0x1g", "18446744073709551616"})
        EXPECT_FALSE(parse_u64(bad)) << bad;
}

TEST(Cpulist, ReadsRangesAndSingles)
{
    EXPECT_EQ(*parse_cpulist("0\n"), (std::vector<int>{0}));
    EXPECT_EQ(*parse_cpulist("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
    EXPECT_TRUE(parse_cpulist(" \n")->empty());
}

TEST(Cpulist, RefusesInvalidInput)
{
    for (const char *bad : {"a", "3-1", "1-", "-1", "1,,2", "1,", "0-4294967295"})
        EXPECT_FALSE(parse_cpulist(bad)) << bad;
}

TEST(Split, KeepsEmptyParts)
{
    EXPECT_TRUE(split("", ',').empty());
    EXPECT_EQ(split("a,,b", ',').size(), 3U);
    EXPECT_EQ(split("a,", ',').size(), 2U);
}

TEST(Trim, RemovesBlanksAtBothEnds)
{
    EXPECT_EQ(trim(" a b\n"), "a b");
    EXPECT_EQ(trim("\n"), "");
}

}  // namespace
}  // namespace pmukit
