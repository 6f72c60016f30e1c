// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cxl_hmu_entries.hpp"

#include <gtest/gtest.h>

namespace pmukit::checker {
namespace {

using Entries = std::vector<uint64_t>;

constexpr std::string_view kLog =
    "# pmukit entries log 1\n"
    "# chmu0.0 enabled\n"
    "chmu0.0 0 0000000000050011\n"
    "chmu0.1 0 00000000000f0001\n"
    "chmu0.0 2 0000000000060001\n"
    "chmu0.0 2 0000000000070001 dropped\n"
    "# chmu0.1 enabled\n"
    "# chmu0.0 enabled\n"
    "chmu0.0 0 0000000000050011\n";

TEST(EntriesLog, EachEnableOfTheInstanceBeginsANewRun)
{
    auto runs = read_entries_log(kLog, "chmu0.0");
    ASSERT_TRUE(runs) << runs.error().message;
    ASSERT_EQ(runs->size(), 2u);
    EXPECT_EQ((*runs)[0].entries, (Entries{0x50011, 0x60001}));
    EXPECT_EQ((*runs)[0].epochs, 3u);
    EXPECT_EQ((*runs)[0].dropped, 1u);
    EXPECT_EQ((*runs)[1].entries, Entries{0x50011});
}

TEST(EntriesLog, RefusesMalformedHeadersAndEntryLines)
{
    EXPECT_FALSE(read_entries_log("", "chmu0.0"));
    EXPECT_FALSE(read_entries_log("# pmukit entries log 2\n", "chmu0.0"));
    for (std::string_view line :
         {"chmu0.0 0 0000000000050011\n", "# chmu0.0 enabled\nchmu0.0 0 50011\n",
          "# chmu0.0 enabled\nchmu0.0 x 0000000000050011\n",
          "# chmu0.0 enabled\nchmu0.0 0 0000000000050011 lost\n"})
        EXPECT_FALSE(read_entries_log("# pmukit entries log 1\n" + std::string(line), "chmu0.0"))
            << line;
}

TEST(Dump, ReadsEachLineOfSixteenDigitsAsAnEntry)
{
    auto entries = read_dump(
        ".\n. ... CXL_HMU data: size 72 bytes\nHeader 0: units: 2 counter_width 10\n"
        "Header 1 : deadbeef\nHeader 2 : 12345\n0000000000050011\n0000000000060001\n");
    ASSERT_TRUE(entries);
    EXPECT_EQ(*entries, (Entries{0x50011, 0x60001}));
    EXPECT_FALSE(read_dump("nothing here\n"));
}

TEST(Trace, ReadsEntriesAfterTheHeaderWordsOfARecord)
{
    auto entries = read_trace(
        "# tracer: nop\n"
        " x-1 [000] d..1. 1.0: cxl_hmu_record: pmu=a words={0x100000000100001,0xdeadbeef,0x1,"
        "0x50011}\n");
    ASSERT_TRUE(entries);
    EXPECT_EQ(*entries, Entries{0x50011});
    EXPECT_FALSE(read_trace("# tracer: nop\n"));
    for (const char *words : {"words={0x1", "words={}", "words={0x1}", "words={zz,0x1}",
                              "words={0x200000000100001,0xdeadbeef,0x1}"})
        EXPECT_FALSE(read_trace(std::string("a: ") + words + "\n")) << words;
}

TEST(LossCase, RequiresEveryKey)
{
    auto seen = read_loss_case("enables 2\nhanded 7\nlost 3\noverflow 1\n0000000000050011\n");
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->enables, 2u);
    EXPECT_EQ(seen->handed, 7u);
    EXPECT_EQ(seen->lost, 3u);
    EXPECT_EQ(seen->overflow, 1u);
    EXPECT_EQ(seen->entries, Entries{0x50011});
    for (const char *text : {"", "enables 2\nhanded 7\nlost 3\n", "enables 2\nenables 2\n",
                             "enables two\n", "found 2\n", "enables\n"})
        EXPECT_FALSE(read_loss_case(text)) << text;
}

TEST(Subsequence, MatchesInOrderOnly)
{
    EXPECT_TRUE(is_subsequence({}, {}));
    EXPECT_TRUE(is_subsequence({1, 3}, {1, 2, 3}));
    EXPECT_TRUE(is_subsequence({2, 2}, {2, 1, 2}));
    EXPECT_FALSE(is_subsequence({3, 1}, {1, 2, 3}));
    EXPECT_FALSE(is_subsequence({2, 2}, {1, 2, 3}));
    EXPECT_FALSE(is_subsequence({4}, {1, 2, 3}));
}

TEST(JoinedRuns, ConcatenatesRunsOfTheLog)
{
    auto runs = read_entries_log(kLog, "chmu0.0");
    ASSERT_TRUE(runs);
    auto both = join_runs(*runs, 0, 2);
    ASSERT_TRUE(both);
    EXPECT_EQ(both->entries, (Entries{0x50011, 0x60001, 0x50011}));
    EXPECT_EQ(both->dropped, 1u);
    EXPECT_FALSE(join_runs(*runs, 0, 3));
    EXPECT_FALSE(join_runs(*runs, 3, 0));
    EXPECT_FALSE(join_runs(*runs, 1, SIZE_MAX));
}

}  // namespace
}  // namespace pmukit::checker
