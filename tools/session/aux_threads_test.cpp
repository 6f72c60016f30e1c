// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/aux_threads.hpp"

#include <gtest/gtest.h>

#include "base/budget.hpp"
#include "base/limits.hpp"

namespace pmukit::cli {
namespace {

constexpr Stream kStream{0, 0};
constexpr uint64_t kBytes = 8;  // size of a range

perfdata::AuxRecord announced(uint64_t offset, uint64_t bytes = kBytes)
{
    perfdata::AuxRecord aux{};
    aux.offset = offset;
    aux.size = bytes;
    return aux;
}

perfdata::SampleId of_thread(uint32_t tid, uint64_t time_ns = 0)
{
    perfdata::SampleId who{};
    who.tid = tid;
    who.time_ns = time_ns;
    return who;
}

TEST(AuxThreads, FindsTheThreadOfTheAuxRangeThatContainsAByte)
{
    AuxThreads threads;
    EXPECT_EQ(threads.find(kStream, 0), nullptr);
    threads.note(kStream, announced(0), of_thread(1, 10));
    threads.note(kStream, announced(16), of_thread(2, 20));
    threads.note(kStream, announced(20), of_thread(3));     // overlaps the range before
    threads.note(kStream, announced(24, 0), of_thread(4));  // an empty range
    EXPECT_EQ(threads.find(kStream, 7)->sample_id.tid, 1U);
    EXPECT_EQ(threads.find(kStream, 8), nullptr);
    EXPECT_EQ(threads.find(kStream, 16)->sample_id.tid, 2U);
    EXPECT_EQ(threads.find(kStream, 16)->before_ns, 10U);
    EXPECT_EQ(threads.find(kStream, 24), nullptr);
    EXPECT_EQ(threads.find({0, 1}, 0), nullptr);
    EXPECT_TRUE(threads.knows(0));
    EXPECT_FALSE(threads.knows(1));
    EXPECT_EQ(threads.left_out("perf.data"), "");
}

// A vector grows by a quarter, so its last growth may already exceed the budget.
TEST(AuxThreads, RangesBeyondTheMemoryLimitAreDroppedAndCounted)
{
    constexpr uint64_t kMost = limits::kAnnounced / sizeof(AuxThreads::Range);
    AuxThreads threads;
    uint64_t kept = 0;
    for (; threads.left_out("perf.data").empty(); kept++) {
        ASSERT_LE(kept, kMost);
        threads.note(kStream, announced(kept * kBytes), of_thread(1));
    }
    kept--;
    EXPECT_GT(kept, kMost / 2);
    EXPECT_NE(threads.find(kStream, (kept - 1) * kBytes), nullptr);
    EXPECT_EQ(threads.find(kStream, kept * kBytes), nullptr);
    threads.note(kStream, announced((kept + 1) * kBytes), of_thread(1));
    EXPECT_NE(threads.left_out("perf.data").find("perf.data: 2 ranges"), std::string::npos)
        << threads.left_out("perf.data");
}

// In this test, each stream has only one range. The memory of a stream itself counts, too.
TEST(AuxThreads, MemoryOfStreamsIsIncludedInTheLimit)
{
    constexpr uint64_t kMost = limits::kAnnounced / (2 * sizeof(AuxThreads::Range) + kNodeBytes);
    AuxThreads threads;
    uint32_t kept = 0;
    for (; threads.left_out("perf.data").empty(); kept++) {
        ASSERT_LE(kept, kMost);
        threads.note({0, kept}, announced(0), of_thread(1));
    }
    kept--;
    EXPECT_GT(kept, kMost / 4);
    EXPECT_NE(threads.find({0, kept - 1}, 0), nullptr);
    EXPECT_EQ(threads.find({0, kept}, 0), nullptr);
}

}  // namespace
}  // namespace pmukit::cli
