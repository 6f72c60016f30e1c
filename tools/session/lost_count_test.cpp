// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kTypeOfSamples = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;

class LostCounts : public testing::Test {
protected:
    LostCount::Kind records(uint64_t lost, uint64_t time_ns)
    {
        perfdata::Packer body;
        body.put(uint64_t{7}).put(lost);
        return note(PERF_RECORD_LOST, 0, body, time_ns);
    }
    LostCount::Kind samples(uint64_t lost, uint64_t time_ns, uint16_t misc = 0)
    {
        perfdata::Packer body;
        body.put(lost);
        return note(PERF_RECORD_LOST_SAMPLES, misc, body, time_ns);
    }

    LostCount count;

private:
    LostCount::Kind note(uint32_t type, uint16_t misc, perfdata::Packer &body, uint64_t time_ns)
    {
        body.put(time_ns).put(uint64_t{7});
        perfdata::Record record;
        record.type = type;
        record.misc = misc;
        record.body = body.bytes();
        return count.note(record, *reader_);
    }

    std::vector<std::byte> file_ =
        perfdata::testing::FileBuilder(std::endian::native).event(1, kTypeOfSamples, {7}).file();
    Result<perfdata::Reader> reader_ = perfdata::Reader::open(file_);
};

TEST_F(LostCounts, TakeWhatTheRecorderRepeatsOnce)
{
    EXPECT_EQ(records(3, 1000), LostCount::Kind::kRecords);
    EXPECT_EQ(records(2, 2000), LostCount::Kind::kRecords);
    EXPECT_EQ(samples(4, 0), LostCount::Kind::kRepeated);
    EXPECT_EQ(samples(1, 0), LostCount::Kind::kRepeated);
    EXPECT_EQ(count.samples(), 5U);
    EXPECT_EQ(count.not_repeated(), 0U);
}

TEST_F(LostCounts, HaveWhatTheRecorderAloneSays)
{
    records(3, 1000);
    samples(7, 0);
    EXPECT_EQ(count.samples(), 7U);
    EXPECT_EQ(count.not_repeated(), 4U);
}

TEST_F(LostCounts, AddSamplesThatNeverCameToTheRing)
{
    records(3, 1000);
    EXPECT_EQ(samples(10, 1500), LostCount::Kind::kSamples);
    samples(3, 0);
    EXPECT_EQ(count.samples(), 13U);
}

// Of an AUX area of entries: 9 were counted, 4 of them records that found no room.
TEST_F(LostCounts, EntriesAreWhatTheRingDidNotLose)
{
    records(4, 1000);
    samples(7, 0);
    samples(2, 0);
    EXPECT_EQ(count.take_entries(0), 5U);
    EXPECT_EQ(count.take_entries(0), 0U) << "they are taken";
    EXPECT_EQ(count.samples(), 4U);
    EXPECT_EQ(count.not_repeated(), 0U);
}

TEST_F(LostCounts, NoEntriesAreLostWhereTheRingLostMore)
{
    records(4, 1000);
    samples(3, 0);
    EXPECT_EQ(count.take_entries(0), 0U);
    EXPECT_EQ(count.take_entries(1), 0U);
    EXPECT_EQ(count.samples(), 4U);
}

TEST_F(LostCounts, WhatNeverCameToTheRingIsNoEntry)
{
    samples(10, 1500);
    EXPECT_EQ(count.take_entries(0), 0U);
    EXPECT_EQ(count.samples(), 10U);
}

TEST_F(LostCounts, LeaveOutWhatAFilterDropped)
{
    EXPECT_EQ(samples(10, 0, 1 << 15), LostCount::Kind::kNone);
    EXPECT_EQ(count.samples(), 0U);
}

}  // namespace
}  // namespace pmukit::cli
