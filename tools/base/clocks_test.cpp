// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/clocks.hpp"

#include <gtest/gtest.h>

namespace pmukit {
namespace {

TEST(Clocks, AcceptTheClockNamesThatPerfAccepts)
{
    EXPECT_EQ(clock_words(),
              (std::vector<std::string>{"monotonic", "mono", "monotonic_raw", "raw", "realtime",
                                        "real", "boottime", "boot", "tai"}));
    for (const char *word : {"mono", "monotonic", "Monotonic", "CLOCK_MONOTONIC", "clock_mono"})
        EXPECT_EQ(clock_of_word(word), CLOCK_MONOTONIC) << word;
    EXPECT_EQ(clock_of_word("raw"), CLOCK_MONOTONIC_RAW);
    EXPECT_EQ(clock_of_word("real"), CLOCK_REALTIME);
    EXPECT_EQ(clock_of_word("boot"), CLOCK_BOOTTIME);
    EXPECT_EQ(clock_of_word("tai"), CLOCK_TAI);
}

TEST(Clocks, RejectOtherNames)
{
    for (const char *word : {"", "wall", "mon", "monotonic_", "clock_", "clock_clock_mono", "1"})
        EXPECT_FALSE(clock_of_word(word)) << word;
}

TEST(Clocks, PrintedNameIsTheClockConstantAndIsAccepted)
{
    for (const std::string &word : clock_words()) {
        const std::string name = clock_name(*clock_of_word(word));
        EXPECT_TRUE(name.starts_with("CLOCK_")) << name;
        EXPECT_EQ(clock_of_word(name), clock_of_word(word));
    }
    EXPECT_EQ(clock_name(CLOCK_MONOTONIC_RAW), "CLOCK_MONOTONIC_RAW");
    EXPECT_EQ(clock_name(77), "clock 77");
}

}  // namespace
}  // namespace pmukit
