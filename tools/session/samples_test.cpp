// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/samples.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <string>
#include <vector>

#include "base/test_folder.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

using perfdata::kContextUserDeferred;
using perfdata::kRecordCallchainDeferred;
using perfdata::testing::FileBuilder;

constexpr uint64_t kTimed = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
constexpr auto kKernelMark = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr auto kUserMark = static_cast<uint64_t>(PERF_CONTEXT_USER);

class NoSink final : public DriverSink {
public:
    void aux_begin(const Stream &, uint64_t, uint64_t, uint64_t) override {}
    void aux(const Stream &, Bytes) override {}
    void aux_loss(const Stream &, uint64_t, uint64_t) override {}
    void sample(const Stream &, uint64_t, Bytes) override {}
};

// Thread 5 of process 5.
constexpr uint64_t kTask = uint64_t{5} << 32 | 5;

struct Given {
    size_t event;
    uint64_t time_ns, period;
    std::optional<uint64_t> count;
    std::vector<StackFrame> frames;
};

struct All {
    std::vector<Given> given;
    uint64_t chains_missing = 0, stacks_not_unwound = 0, counts_left_out = 0;
};

All samples_of(const FileBuilder &file)
{
    const TestFolder folder;
    folder.put("perf.data", file.file());
    const std::string path = folder.path("perf.data");
    All all;
    Result<Recording> recording = Recording::open(path, {});
    EXPECT_TRUE(recording) << recording.error().message;
    EXPECT_TRUE(recording->read_front());
    Samples samples(*recording, [&](const EventSample &sample) {
        all.given.push_back({sample.event,
                             sample.sample.sample_id.time_ns.value_or(0),
                             sample.period,
                             sample.count,
                             {sample.frames.begin(), sample.frames.end()}});
    });
    NoSink sink;
    EXPECT_TRUE(recording->walk(sink, [&](const perfdata::Record &record) -> Result<void> {
        samples.note(record);
        return {};
    }));
    samples.finish();
    all.chains_missing = samples.chains_missing();
    all.stacks_not_unwound = samples.stacks_not_unwound();
    all.counts_left_out = samples.counts_left_out();
    return all;
}

std::vector<uint64_t> ips_of(const Given &given)
{
    std::vector<uint64_t> ips;
    for (const StackFrame &frame : given.frames)
        ips.push_back(frame.ip);
    return ips;
}

TEST(Samples, AreSortedByTimeAcrossRings)
{
    FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, kTimed, {7});
    for (const uint64_t time_ns : {10, 30, 20, 40})
        file.record(PERF_RECORD_SAMPLE, {kTask, time_ns, 7});
    file.record(perfdata::kFinishedRound, {});
    std::vector<uint64_t> times;
    for (const Given &given : samples_of(file).given)
        times.push_back(given.time_ns);
    EXPECT_EQ(times, (std::vector<uint64_t>{10, 20, 30, 40}));
}

// Adds a record with a deferred callchain of one address. Its words: cookie, number of addresses,
// address, trailer.
FileBuilder &deferred(FileBuilder &file, uint64_t cookie, uint64_t ip, uint64_t time_ns)
{
    return file.record(kRecordCallchainDeferred, {cookie, 1, ip, kTask, time_ns, 7});
}

TEST(Samples, IncludeTheDeferredUserPartOfTheCallChain)
{
    FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, kTimed | PERF_SAMPLE_CALLCHAIN, {7});
    // The deferred record precedes its samples in the file, because another ring was drained first.
    deferred(file, 99, 0x4000, 20);
    for (const uint64_t ip : {0xb1, 0xb2})
        file.record(PERF_RECORD_SAMPLE,
                    {kTask, 10, 7, 4, kKernelMark, ip, kContextUserDeferred, 99});
    file.record(PERF_RECORD_SAMPLE, {kTask, 30, 7, 2, kContextUserDeferred, 100});
    file.record(perfdata::kFinishedRound, {});
    const All all = samples_of(file);
    ASSERT_EQ(all.given.size(), 3U);
    EXPECT_EQ(all.given[0].frames, (std::vector<StackFrame>{{decode::imc::Mode::kKernel, 0xb1},
                                                            {decode::imc::Mode::kUser, 0x4000}}));
    EXPECT_EQ(ips_of(all.given[1]), (std::vector<uint64_t>{0xb2, 0x4000}));
    EXPECT_EQ(ips_of(all.given[2]), std::vector<uint64_t>()) << "a number is no address";
    EXPECT_EQ(all.chains_missing, 1U);
}

// The deferred part of the first sample follows all other samples.
TEST(Samples, LimitTheMemoryOfSamplesThatWaitForDeferredCallChains)
{
    constexpr uint64_t kFew = 10000, kMany = limits::kWaiting / 64;
    for (const uint64_t samples : {kFew, kMany}) {
        FileBuilder file;
        file.event(PERF_TYPE_SOFTWARE, kTimed | PERF_SAMPLE_CALLCHAIN, {7});
        for (uint64_t i = 1; i <= samples; i++)
            file.record(PERF_RECORD_SAMPLE, {kTask, i, 7, 2, kContextUserDeferred, i});
        deferred(file, 1, 0x4000, samples + 1);
        const All all = samples_of(file);
        EXPECT_EQ(all.given.size(), samples);
        EXPECT_EQ(all.chains_missing, samples == kFew ? kFew - 1 : kMany);
    }
}

// Each sample is completed before the next one waits.
TEST(Samples, MemoryOfCompletedSamplesIsAvailableAgain)
{
    constexpr uint64_t kMany = limits::kWaiting / 64;
    FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, kTimed | PERF_SAMPLE_CALLCHAIN, {7});
    for (uint64_t i = 1; i <= kMany; i++) {
        file.record(PERF_RECORD_SAMPLE, {kTask, 2 * i, 7, 2, kContextUserDeferred, i});
        deferred(file, i, 0x4000, 2 * i + 1);
    }
    EXPECT_EQ(samples_of(file).chains_missing, 0U);
}

// The newest branch goes to the function at 0x1000, where the thread is at 0x1005.
TEST(Samples, TakeUserFramesFromLbrCallStacks)
{
    struct Row {
        uint16_t misc;
        std::vector<uint64_t> ip_and_chain, expected;
    };
    const Row rows[] = {
        {PERF_RECORD_MISC_KERNEL,
         {0xb1, 4, kKernelMark, 0xb1, kUserMark, 0x1005},
         {0xb1, 0x1005, 0x2001, 0x3001}},
        {PERF_RECORD_MISC_KERNEL,
         {0xb1, 3, kKernelMark, 0xb1, kUserMark},
         {0xb1, 0x1000, 0x2001, 0x3001}},
        {PERF_RECORD_MISC_KERNEL, {0xb1, 2, kKernelMark, 0xb1}, {0xb1}},
        // An event can be more precise than the call chain, which is of the interrupt.
        {PERF_RECORD_MISC_USER, {0x1005, 2, kUserMark, 0x1006}, {0x1005, 0x2001, 0x3001}},
    };
    FileBuilder file;
    file.event(PERF_TYPE_HARDWARE,
               PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK, {})
        .set(perfdata::kAttrBranchSampleType, PERF_SAMPLE_BRANCH_CALL_STACK);
    for (const Row &row : rows) {
        std::vector<uint64_t> words = row.ip_and_chain;
        words.insert(words.end(), {2, 0x2001, 0x1000, 0, 0x3001, 0x2000, 0});
        file.record(PERF_RECORD_SAMPLE, words).misc(row.misc);
    }
    const All all = samples_of(file);
    ASSERT_EQ(all.given.size(), std::size(rows));
    for (size_t i = 0; i < std::size(rows); i++)
        EXPECT_EQ(ips_of(all.given[i]), rows[i].expected) << i;
}

TEST(Samples, GroupYieldsOneSamplePerMemberThatCounted)
{
    constexpr uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    FileBuilder file;
    for (const uint64_t id : {7, 8})
        file.event(PERF_TYPE_SOFTWARE, kTimed | PERF_SAMPLE_READ, {id})
            .set(perfdata::kAttrReadFormat, kFormat);
    file.record(PERF_RECORD_SAMPLE, {kTask, 10, 7, 2, 1000, 7, 0, 8});
    file.record(PERF_RECORD_SAMPLE, {kTask, 20, 7, 2, 1500, 7, 3, 8});
    const All all = samples_of(file);
    ASSERT_EQ(all.given.size(), 3U);
    const std::array<uint64_t, 3> expected[] = {{0, 1000, 1000}, {0, 500, 1500}, {1, 3, 3}};
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(all.given[i].event, expected[i][0]);
        EXPECT_EQ(all.given[i].period, expected[i][1]);
        EXPECT_EQ(all.given[i].count, expected[i][2]);
    }
}

TEST(Samples, CountsOfAnInheritedGroupAreKeptPerThreadUntilItsExit)
{
    constexpr uint64_t kInherit = 1 << 1, kSampleIdAll = 1 << 18;
    FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, kTimed | PERF_SAMPLE_READ, {7})
        .set(perfdata::kAttrReadFormat, PERF_FORMAT_GROUP | PERF_FORMAT_ID)
        .set(perfdata::kAttrFlags, kInherit | kSampleIdAll);
    const auto sample = [&](uint64_t time_ns, uint64_t count) {
        file.record(PERF_RECORD_SAMPLE, {kTask, time_ns, 7, 1, count, 7});
    };
    sample(10, 1000);
    sample(20, 1500);
    file.record(PERF_RECORD_EXIT, {kTask, kTask, 25, kTask, 25, 7});
    sample(30, 40);  // a new thread with the same tid
    std::vector<uint64_t> periods;
    for (const Given &given : samples_of(file).given)
        periods.push_back(given.period);
    EXPECT_EQ(periods, (std::vector<uint64_t>{1000, 500, 40}));
}

TEST(Samples, UserPartOfACallchainIsNotAwaitedAfterTheExitOfTheThread)
{
    constexpr uint64_t kCookie = 77;
    FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP | kTimed | PERF_SAMPLE_CALLCHAIN, {7});
    file.record(PERF_RECORD_SAMPLE, {0x1234, kTask, 10, 7, 2, kContextUserDeferred, kCookie});
    file.record(PERF_RECORD_EXIT, {kTask, kTask, 25, kTask, 25, 7});
    const All all = samples_of(deferred(file, kCookie, 0x5555, 30));
    ASSERT_EQ(all.given.size(), 1U);
    EXPECT_EQ(all.chains_missing, 1U);
    EXPECT_EQ(ips_of(all.given[0]), std::vector<uint64_t>{0x1234})
        << "the later part is of another thread with this TID";
}

TEST(Samples, LimitTheThreadsWhoseGroupCountsAreKept)
{
    constexpr uint64_t kInherit = 1 << 1, kSampleIdAll = 1 << 18;
    constexpr uint64_t kFew = 10000, kMany = limits::kCounts / 64;
    for (const uint64_t threads : {kFew, kMany}) {
        FileBuilder file;
        file.event(PERF_TYPE_SOFTWARE, kTimed | PERF_SAMPLE_READ, {7})
            .set(perfdata::kAttrReadFormat, PERF_FORMAT_GROUP | PERF_FORMAT_ID)
            .set(perfdata::kAttrFlags, kInherit | kSampleIdAll);
        for (uint64_t i = 1; i <= threads; i++)
            file.record(PERF_RECORD_SAMPLE, {i << 32 | i, i, 7, 1, 1000, 7});
        file.record(PERF_RECORD_SAMPLE, {uint64_t{1} << 32 | 1, threads + 1, 7, 1, 1001, 7});
        const All all = samples_of(file);
        EXPECT_EQ(all.given.size() + all.counts_left_out, threads + 1);
        EXPECT_GT(all.given.size(), kFew);
        EXPECT_EQ(all.counts_left_out != 0, threads == kMany);
        EXPECT_EQ(all.given.back().period, 1U) << "a known thread continues";
    }
}

TEST(Samples, StackDumpsAreCountedAsNotUnwoundWithoutAnUnwinder)
{
    FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP | kTimed | PERF_SAMPLE_STACK_USER, {7});
    file.record(PERF_RECORD_SAMPLE, {0x1234, kTask, 10, 7, 8, 0x55, 8});
    file.record(PERF_RECORD_SAMPLE, {0x1234, kTask, 20, 7, 0});
    const All all = samples_of(file);
    EXPECT_EQ(all.given.size(), 2U);
    EXPECT_EQ(all.stacks_not_unwound, 1U);
    EXPECT_EQ(ips_of(all.given[0]), std::vector<uint64_t>{0x1234});
}

}  // namespace
}  // namespace pmukit::cli
