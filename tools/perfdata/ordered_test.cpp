// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records written ring by ring are returned in time order, as far as rounds and memory allow.
#include "perfdata/ordered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "perfdata/testing/test_file.hpp"

namespace pmukit::perfdata {
namespace {

using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;

FileBuilder one_event()
{
    FileBuilder file;
    file.event(1, kSampleType, {7});
    return file;
}

void sample(FileBuilder &file, uint64_t time_ns, size_t padding_words = 0)
{
    std::vector<uint64_t> words = {7, time_ns};
    words.resize(2 + padding_words);
    file.record(PERF_RECORD_SAMPLE, words);
}

void round(FileBuilder &file)
{
    file.record(kFinishedRound, {});
}

struct Order {
    std::vector<uint64_t> times;  // 0: FINISHED_ROUND, 1: AUXTRACE
    uint64_t late = 0;
};

Order order_of(const FileBuilder &builder, size_t max_bytes = OrderedReader::kDefaultBytes)
{
    std::vector<std::byte> bytes = builder.file();
    Result<Reader> reader = Reader::open(bytes);
    OrderedReader ordered(*reader, max_bytes);
    Order order;
    for (Record record;;) {
        if (!ordered.next(record))
            break;
        uint64_t time = record.type == kAuxtrace ? 1 : 0;
        order.times.push_back(reader->time_of(record).value_or(time));
    }
    order.late = ordered.late_records();
    return order;
}

using Times = std::vector<uint64_t>;

TEST(OrderedReader, SortsRecordsOfSeveralRings)
{
    FileBuilder file = one_event();
    for (uint64_t time : {10, 50, 90, 20, 30, 80})
        sample(file, time);
    EXPECT_EQ(order_of(file).times, (Times{10, 20, 30, 50, 80, 90}));
}

TEST(OrderedReader, ReturnsARoundWhenTheNextHasEnded)
{
    FileBuilder file = one_event();
    for (uint64_t time : {10, 90, 20})
        sample(file, time);
    round(file);
    for (uint64_t time : {100, 95})
        sample(file, time);
    round(file);
    sample(file, 200);
    Order order = order_of(file);
    EXPECT_EQ(order.times, (Times{0, 0, 10, 20, 90, 95, 100, 200}));
    EXPECT_EQ(order.late, 0U);
}

TEST(OrderedReader, EqualTimesKeepTheOrderOfTheFile)
{
    FileBuilder file = one_event();
    for (size_t words : {5, 1, 3}) {
        sample(file, 10, words);
    }
    std::vector<std::byte> bytes = file.file();
    Result<Reader> reader = Reader::open(bytes);
    OrderedReader ordered(*reader);
    Record record;
    std::vector<size_t> sizes;
    while (ordered.next(record))
        sizes.push_back(record.body.size());
    EXPECT_EQ(sizes, (std::vector<size_t>{56, 24, 40}));
}

TEST(OrderedReader, RecordsWithoutATimeAreReturnedAtOnce)
{
    FileBuilder file = one_event();
    sample(file, 50);
    file.auxtrace(7, 0, 0, filled(8, 1));
    sample(file, 10);
    sample(file, UINT64_MAX);
    EXPECT_EQ(order_of(file).times, (Times{1, UINT64_MAX, 10, 50}));
}

TEST(OrderedReader, FullQueueReturnsItsOldestRecordEarlyAndCountsLateRecords)
{
    FileBuilder file = one_event();
    const size_t count = 600;
    for (size_t i = 0; i < count; i++)
        sample(file, 1000 + i, 8000);  // 64 kB each
    sample(file, 5);
    Order order = order_of(file, size_t{4} << 20);
    EXPECT_EQ(order.times.size(), count + 1);
    EXPECT_EQ(order.late, 1U);
    EXPECT_TRUE(order_of(file, size_t{64} << 20).late == 0);
}

// Records of 64 kB precede a record that is older than all of them. The oldest is returned first if
// all of them fit within the limit.
TEST(OrderedReader, QueueHoldsRecordsUpToItsMemoryLimit)
{
    constexpr size_t kRecordBytes = 64000, kFits = limits::kQueue / kRecordBytes;
    for (const size_t count : {kFits * 9 / 10, kFits + 2}) {
        FileBuilder file = one_event();
        for (size_t i = 0; i < count; i++)
            sample(file, 1000 + i, kRecordBytes / 8);
        sample(file, 5);
        EXPECT_EQ(order_of(file).late, count > kFits ? 1U : 0U) << count;
    }
}

TEST(OrderedReader, SortsRandomRounds)
{
    std::mt19937 random(7);
    FileBuilder file = one_event();
    uint64_t begin = 1000;
    size_t count = 0;
    for (int rounds = 0; rounds < 50; rounds++) {
        for (size_t i = 0; i < 40; i++, count++)
            sample(file, begin + random() % 500, random() % 300);
        begin += 500;
        round(file);
    }
    Times times = order_of(file).times;
    std::erase(times, 0U);
    EXPECT_EQ(times.size(), count);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

// Two rings of ten records, with the least possible memory.
TEST(OrderedReader, SortsSmallRecordsEvenIfItsMemoryLimitIsZero)
{
    FileBuilder file = one_event();
    Times expected;
    for (uint64_t ring : {0, 1})
        for (uint64_t i = 0; i < 10; i++)
            sample(file, 100 + 2 * i + ring);
    for (uint64_t i = 0; i < 20; i++)
        expected.push_back(100 + i);
    for (size_t max_bytes : {size_t{0}, size_t{256} << 10, size_t{800} << 10}) {
        Order order = order_of(file, max_bytes);
        EXPECT_EQ(order.times, expected) << max_bytes;
        EXPECT_EQ(order.late, 0U) << max_bytes;
    }
}

}  // namespace
}  // namespace pmukit::perfdata
