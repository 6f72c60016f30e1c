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

    LostCount::Kind throttle(uint32_t type, uint64_t id, uint64_t time_ns)
    {
        perfdata::Packer body;
        body.put(time_ns).put(id).put(id);
        return note(type, 0, body, time_ns);
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

TEST_F(LostCounts, LossInALostRecordAndInTheRecordersCountIsCountedOnce)
{
    EXPECT_EQ(records(3, 1000), LostCount::Kind::kRecords);
    EXPECT_EQ(records(2, 2000), LostCount::Kind::kRecords);
    EXPECT_EQ(samples(4, 0), LostCount::Kind::kRepeated);
    EXPECT_EQ(samples(1, 0), LostCount::Kind::kRepeated);
    EXPECT_EQ(count.samples(), 5U);
    EXPECT_TRUE(count.not_repeated().empty());
}

TEST_F(LostCounts, LossesThatOnlyTheRecorderCountedAreIncluded)
{
    records(3, 1000);
    samples(7, 0);
    EXPECT_EQ(count.samples(), 7U);
    EXPECT_EQ(count.not_repeated(), (std::map<size_t, uint64_t>{{0, 4}}));
}

TEST_F(LostCounts, SamplesLostByHardwareAreAdded)
{
    records(3, 1000);
    EXPECT_EQ(samples(10, 1500), LostCount::Kind::kSamples);
    samples(3, 0);
    EXPECT_EQ(count.samples(), 13U);
}

TEST_F(LostCounts, LossesThatOnlyTheRecorderCountedAreReportedPerEvent)
{
    samples(7, 0);
    EXPECT_EQ(count.not_repeated(), (std::map<size_t, uint64_t>{{0, 7}}));
}

TEST_F(LostCounts, SamplesDroppedByAFilterAreNotCounted)
{
    EXPECT_EQ(samples(10, 0, 1 << 15), LostCount::Kind::kNone);
    EXPECT_EQ(count.samples(), 0U);
}

TEST_F(LostCounts, ThrottlesAreCountedByEventAndAreNoNumberOfSamples)
{
    EXPECT_EQ(throttle(PERF_RECORD_THROTTLE, 7, 1000), LostCount::Kind::kThrottled);
    EXPECT_EQ(throttle(PERF_RECORD_UNTHROTTLE, 7, 2000), LostCount::Kind::kNone);
    throttle(PERF_RECORD_THROTTLE, 7, 3000);
    EXPECT_EQ(count.throttles(), (std::map<size_t, uint64_t>{{0, 2}}));
    EXPECT_EQ(count.samples(), 0U);
}

TEST_F(LostCounts, CountsOfAFileDoNotWrapAround)
{
    records(UINT64_MAX, 1000);
    records(2, 2000);
    EXPECT_EQ(count.samples(), UINT64_MAX);
    samples(UINT64_MAX - 1, 1500);
    EXPECT_EQ(count.samples(), UINT64_MAX);
    samples(UINT64_MAX, 0);
    samples(5, 0);
    EXPECT_EQ(count.samples(), UINT64_MAX);
    EXPECT_TRUE(count.not_repeated().empty());
}

// The records of a recording with one event have no id. perf writes one LOST_SAMPLES per CPU; each
// CPU has its own ring.
class LostCountsWithoutId : public testing::Test {
protected:
    LostCountsWithoutId()
    {
        file_.event(1, PERF_SAMPLE_TIME, {8, 18});
        file_.record(perfdata::kIdIndex, {2, 8, 0, 0, UINT64_MAX, 18, 1, 1, UINT64_MAX});
    }
    void lost(uint64_t id, uint64_t records)
    {
        file_.record(PERF_RECORD_LOST, {id, records, 1000});
    }
    void counted(uint64_t count) { file_.record(PERF_RECORD_LOST_SAMPLES, {count, 0}); }
    LostCount count() const
    {
        LostCount count;
        const std::vector<std::byte> bytes = file_.file();
        Result<perfdata::Reader> reader = perfdata::Reader::open(bytes);
        for (perfdata::Record record; reader->next(record);)
            count.note(record, *reader);
        return count;
    }

private:
    perfdata::testing::FileBuilder file_{std::endian::native};
};

TEST_F(LostCountsWithoutId, LossesOfAllRingsAreCountedOnce)
{
    lost(8, 3);
    lost(18, 2);
    counted(3);
    counted(2);
    EXPECT_EQ(count().samples(), 5U);
    EXPECT_TRUE(count().not_repeated().empty());
}

TEST_F(LostCountsWithoutId, LossesThatOnlyTheRecorderCountedAreIncluded)
{
    lost(8, 3);
    counted(3);
    counted(2);
    EXPECT_EQ(count().samples(), 5U);
    EXPECT_EQ(count().not_repeated(), (std::map<size_t, uint64_t>{{0, 2}}));
}

// Event 0, whose driver counts entries, has id 8 on one CPU. Event 1 has id 9 on that CPU and id 19
// on another one.
class LostEntriesOf : public testing::Test {
protected:
    LostEntriesOf() { file_.event(24, kTypeOfSamples, {8}).event(1, kTypeOfSamples, {9, 19}); }
    void lost(uint64_t id, uint64_t records)
    {
        file_.record(PERF_RECORD_LOST, {id, records, 1000, id});
    }
    void counted(uint64_t id, uint64_t count)
    {
        file_.record(PERF_RECORD_LOST_SAMPLES, {count, 0, id});
    }
    // perf's ID_INDEX: ids 8 and 9 use ring 0, id 19 uses ring 1.
    void say_rings()
    {
        std::vector<uint64_t> words = {3};
        for (const uint64_t id : {8, 9, 19})
            words.insert(words.end(), {id, id == 19, id == 19, UINT64_MAX});
        file_.record(perfdata::kIdIndex, words);
    }
    // Entries that event 0 lost: "7" or "at least 7".
    std::string entries(uint64_t gap_flags)
    {
        count_ = LostCount();
        const std::vector<std::byte> bytes = file_.file();
        Result<perfdata::Reader> reader = perfdata::Reader::open(bytes);
        for (perfdata::Record record; reader->next(record);)
            count_.note(record, *reader);
        if (gap_flags != 0)
            count_.gap(0, gap_flags);
        const perfdata::LostEntries lost = count_.take_entries({0}).at(0);
        return (lost.at_least() ? "at least " : "") + std::to_string(lost.count());
    }

    static constexpr uint64_t kGap = PERF_AUX_FLAG_PARTIAL;
    perfdata::testing::FileBuilder file_{std::endian::native};
    LostCount count_;
};

TEST_F(LostEntriesOf, GapIsReportedWithTheRecordersLostCount)
{
    counted(8, 5);
    counted(8, 2);
    EXPECT_EQ(entries(kGap), "7");
    EXPECT_EQ(count_.samples(), 0U);
    EXPECT_EQ(entries(kGap | PERF_AUX_FLAG_COLLISION), "at least 7");
}

TEST_F(LostEntriesOf, GapWithoutALostCountIsReportedAsAtLeast0LostEntries)
{
    EXPECT_EQ(entries(kGap), "at least 0");
    EXPECT_EQ(entries(0), "0");
}

// Without a gap, the recorder's count may be of lost perf records, although the file has no LOST
// record about them. So it counts as lost samples, and the number of lost entries is a lower bound.
TEST_F(LostEntriesOf, LostCountWithoutAGapIsReportedAsAtLeast0LostEntries)
{
    counted(8, 7);
    EXPECT_EQ(entries(0), "at least 0");
    EXPECT_EQ(count_.samples(), 7U);
    EXPECT_EQ(count_.not_repeated(), (std::map<size_t, uint64_t>{{0, 7}}));
}

TEST_F(LostEntriesOf, LossOfRecordsInTheRingMakesTheEntryCountALowerBound)
{
    lost(8, 1);
    EXPECT_EQ(entries(0), "at least 0");
    counted(8, 8);
    EXPECT_EQ(entries(kGap), "at least 7");
    EXPECT_EQ(count_.samples(), 1U);
    EXPECT_TRUE(count_.not_repeated().empty());
}

// A LOST record names the event that wrote to the ring next, not the event that lost the records.
TEST_F(LostEntriesOf, LossesOfASharedRingBeyondItsLostRecordsAreEntries)
{
    lost(8, 1000);
    counted(9, 1000);
    counted(8, 500);
    EXPECT_EQ(entries(kGap), "at least 500");
    EXPECT_EQ(count_.samples(), 1000U);
}

TEST_F(LostEntriesOf, LossesThatLostRecordsOfASharedRingReportAreNotEntries)
{
    lost(9, 3);
    counted(8, 3);
    EXPECT_EQ(entries(kGap), "at least 0");
    EXPECT_EQ(count_.samples(), 3U);
}

TEST_F(LostEntriesOf, LostEntriesNeverExceedTheLostCountOfTheirEvent)
{
    counted(8, 5);
    counted(9, 100);
    EXPECT_EQ(entries(kGap), "5");
    EXPECT_EQ(count_.samples(), 100U);
}

TEST_F(LostEntriesOf, LossesInOtherRingsAreIgnoredIfAnIdIndexRecordNamesTheRings)
{
    say_rings();
    lost(19, 50);
    counted(19, 40);
    counted(8, 7);
    EXPECT_EQ(entries(kGap), "7");
    EXPECT_EQ(count_.samples(), 50U);
    lost(9, 1);
    EXPECT_EQ(entries(kGap), "at least 6");
}

// In files of pmukit record, an event with an AUX area shares its ring with no other event.
TEST_F(LostEntriesOf, LossesInOtherRingsAreIgnoredForAnAuxEventRecordedByPmukit)
{
    lost(9, 50);
    counted(8, 7);
    file_.auxtrace(8, 0, 0, perfdata::testing::filled(8, 0));
    EXPECT_EQ(entries(kGap), "at least 0") << "the recorder is not known";
    file_.version("pmukit 1.0");
    EXPECT_EQ(entries(kGap), "7");
    EXPECT_EQ(count_.samples(), 50U);
    lost(8, 1);
    EXPECT_EQ(entries(kGap), "at least 6");
}

TEST_F(LostEntriesOf, SamplesLostByHardwareAreNotEntries)
{
    file_.record(PERF_RECORD_LOST_SAMPLES, {10, 1500, 8});
    EXPECT_EQ(entries(0), "0");
    EXPECT_EQ(count_.samples(), 10U);
}

}  // namespace
}  // namespace pmukit::cli
