// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the arithmetic of ring positions at its limits, and the counts of records that may be
// invalid.
#include "record/ring.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <vector>

namespace pmukit::record {
namespace {

constexpr size_t kRing = 64;

TEST(RingPieces, SplitsAtTheWrap)
{
    std::vector<std::byte> ring(kRing);
    auto pieces = ring_pieces(ring, 56, 72);
    ASSERT_TRUE(pieces);
    EXPECT_EQ(pieces->first.data(), ring.data() + 56);
    EXPECT_EQ(pieces->first.size(), 8U);
    EXPECT_EQ(pieces->second.data(), ring.data());
    EXPECT_EQ(pieces->second.size(), 8U);
}

TEST(RingPieces, RangeUpToTheWrapIsOnePiece)
{
    std::vector<std::byte> ring(kRing);
    EXPECT_EQ(ring_pieces(ring, 64, 64)->size(), 0U);
    EXPECT_EQ(ring_pieces(ring, 0, 64)->first.size(), 64U);
    EXPECT_TRUE(ring_pieces(ring, 0, 64)->second.empty());
    EXPECT_EQ(ring_pieces(ring, 63, 64)->first.size(), 1U);
    EXPECT_EQ(ring_pieces(ring, UINT64_MAX - 7, 8)->size(), 16U) << "positions themselves may wrap";
}

TEST(RingPieces, RefusesTooLongAndReversedRanges)
{
    std::vector<std::byte> ring(kRing);
    EXPECT_FALSE(ring_pieces(ring, 0, 65));
    EXPECT_FALSE(ring_pieces(ring, 8, 0));
    EXPECT_FALSE(ring_pieces({}, 0, 1));
    EXPECT_EQ(ring_pieces({}, 0, 0)->size(), 0U);
}

// A ring into which records are written at growing positions.
class NoteRecords : public testing::Test {
protected:
    void put(uint32_t type, std::vector<uint64_t> words, uint16_t size = 0)
    {
        put_word(type | uint64_t{size ? size : static_cast<uint16_t>(8 + words.size() * 8)} << 48);
        for (uint64_t word : words)
            put_word(word);
    }
    void put_word(uint64_t word)
    {
        store(ring_.data() + head_ % kRing, word, std::endian::native);
        head_ += 8;
    }
    std::vector<std::byte> ring_ = std::vector<std::byte>(kRing);
    uint64_t tail_ = 48, head_ = 48;  // not 0, so that records wrap
    RingNotes notes_;
};

TEST_F(NoteRecords, CountsLostRecordsAndLostSamplesAcrossTheWrap)
{
    put(PERF_RECORD_LOST, {7, 5});
    put(PERF_RECORD_LOST_SAMPLES, {3});
    put(PERF_RECORD_SAMPLE, {});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    EXPECT_EQ(notes_.throttled, 0U);
    EXPECT_EQ(notes_.lost_records, 5U);
    EXPECT_EQ(notes_.lost_samples, 3U);
    EXPECT_EQ(notes_.samples, 1U);
}

TEST_F(NoteRecords, CountsEachThrottleOnce)
{
    put(PERF_RECORD_THROTTLE, {100, 7, 7});
    put(PERF_RECORD_UNTHROTTLE, {200, 7, 7});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    RingNotes sum;
    sum.add(notes_);
    EXPECT_EQ(sum.throttled, 1U);
}

TEST_F(NoteRecords, NotesTheEarliestAndTheLatestTimeOfSamples)
{
    RingNotes sum;
    // Notes one record, which ends with the time.
    const auto note = [&](uint32_t type, std::vector<uint64_t> words) {
        tail_ = head_;
        put(type, std::move(words));
        notes_ = {};
        ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
        sum.add(notes_);
    };
    note(PERF_RECORD_COMM, {1, 2, 3, 10});
    note(PERF_RECORD_SAMPLE, {1, 2, 3});
    EXPECT_FALSE(sum.sample_times) << "too short for a time";
    for (const uint64_t time_ns : {70, 30, 50})
        note(PERF_RECORD_SAMPLE, {1, 2, 3, time_ns});
    ASSERT_TRUE(sum.sample_times);
    EXPECT_EQ(sum.sample_times->first_ns, 30U);
    EXPECT_EQ(sum.sample_times->last_ns, 70U);
}

TEST_F(NoteRecords, CountsAuxRecordsWithTheTruncatedFlag)
{
    put(PERF_RECORD_AUX, {0, 16, PERF_AUX_FLAG_TRUNCATED});
    put(PERF_RECORD_AUX, {16, 16, 0});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    EXPECT_EQ(notes_.aux_truncated, 1U);
}

TEST_F(NoteRecords, PartialFlagIsCountedOnlyWithoutTheTruncatedFlag)
{
    put(PERF_RECORD_AUX, {0, 16, PERF_AUX_FLAG_PARTIAL});
    put(PERF_RECORD_AUX, {16, 0, PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_TRUNCATED});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    EXPECT_EQ(notes_.aux_partial, 1U);
    EXPECT_EQ(notes_.aux_truncated, 1U);
}

TEST_F(NoteRecords, CountsCollisionFlagAsALossOfUnknownSize)
{
    put(PERF_RECORD_AUX, {0, 0, PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION});
    put(PERF_RECORD_AUX, {0, 16, PERF_AUX_FLAG_COLLISION});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    EXPECT_EQ(notes_.aux_unknown_losses, 2U) << "a collision alone is a loss";
    EXPECT_EQ(notes_.aux_gap_flags, uint64_t{PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION});
    EXPECT_FALSE(notes_.aux_ended);
    put(PERF_RECORD_AUX, {16, 0, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    EXPECT_TRUE(notes_.aux_ended) << "it disabled the event all the same";
    EXPECT_EQ(notes_.aux_partial, 0U);
    EXPECT_EQ(notes_.aux_truncated, 0U);
}

TEST_F(NoteRecords, ReturnsTheEndOfTheDataThatTheLastAuxRecordAnnounces)
{
    put(PERF_RECORD_AUX, {16, 8, 0});
    put(PERF_RECORD_SAMPLE, {});
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    EXPECT_EQ(notes_.aux_end, 24U);
}

TEST_F(NoteRecords, AddSumsAllCountsAndKeepsTheLatestAuxEnd)
{
    RingNotes sum{1, {}, 2, 3, 8, 4, 5, 7, 6};
    sum.add({10, {}, 20, 30, 80, 40, 50, 70, 60});
    EXPECT_EQ(sum.samples, 11U);
    EXPECT_EQ(sum.lost_records, 22U);
    EXPECT_EQ(sum.lost_samples, 33U);
    EXPECT_EQ(sum.throttled, 88U);
    EXPECT_EQ(sum.aux_truncated, 44U);
    EXPECT_EQ(sum.aux_partial, 55U);
    EXPECT_EQ(sum.aux_unknown_losses, 77U);
    EXPECT_EQ(sum.aux_end, 60U) << "a place, not a sum";
    sum.add({});
    EXPECT_EQ(sum.aux_end, 60U);
}

TEST_F(NoteRecords, RefusesRecordsOfInvalidSize)
{
    for (uint16_t size : std::initializer_list<uint16_t>{4, 12, 24, 65528}) {
        head_ = tail_;
        put(PERF_RECORD_SAMPLE, {0}, size);
        EXPECT_FALSE(note_records(ring_, tail_, head_, notes_)) << size;
    }
    EXPECT_FALSE(note_records(ring_, tail_, tail_ + 4, notes_));
}

TEST(AuxUntil, IncludesDataWrittenBeforeTheRecordsWereRead)
{
    EXPECT_EQ(aux_until(64, 64, 64), 64U);
    EXPECT_EQ(aux_until(64, 64, 0), 64U) << "its record was lost, or read in an earlier round";
    EXPECT_EQ(aux_until(64, 64, 32), 64U) << "likewise that of the last part";
}

TEST(AuxUntil, ExcludesLaterDataThatNoRecordAnnounces)
{
    EXPECT_EQ(aux_until(64, 128, 0), 64U);
    EXPECT_EQ(aux_until(64, 128, 64), 64U);
    EXPECT_EQ(aux_until(0, 128, 96), 96U) << "the record of the last part came behind those read";
}

TEST(AuxUntil, IncludesLaterDataThatARecordAnnounces)
{
    EXPECT_EQ(aux_until(64, 128, 128), 128U);
}

TEST(AuxUntil, NeverExceedsTheHead)
{
    EXPECT_EQ(aux_until(64, 64, 128), 64U);
    EXPECT_EQ(aux_until(64, 64, UINT64_MAX), 64U);
}

TEST(AuxUntil, RoundsDownToAMultipleOf8Bytes)
{
    EXPECT_EQ(aux_until(64, 80, 77), 72U);
}

TEST(AuxWasFull, IsTrueIfAtMostOneByteIsFree)
{
    constexpr size_t kArea = 4096;
    EXPECT_TRUE(aux_was_full(64, 64 + kArea, kArea));
    EXPECT_TRUE(aux_was_full(64, 64 + kArea - 1, kArea)) << "CIRC_SPACE() keeps one byte back";
    EXPECT_FALSE(aux_was_full(64, 64 + kArea - 8, kArea)) << "drivers that count words stop here";
    EXPECT_FALSE(aux_was_full(64, 64 + kArea + 8, kArea)) << "it was emptied and goes on";
    EXPECT_FALSE(aux_was_full(64, 64, kArea));
    EXPECT_TRUE(aux_was_full(UINT64_MAX - 7, kArea - 8, kArea)) << "positions themselves may wrap";
}

TEST_F(NoteRecords, GapRecordHasTheEventAndTimeOfTheLastAuxRecord)
{
    constexpr uint64_t kWhen = 12345, kEvent = 77;
    put(PERF_RECORD_AUX, {0, 16, 0, kWhen, kEvent});  // the record wraps
    ASSERT_TRUE(note_records(ring_, tail_, head_, notes_));
    ASSERT_EQ(notes_.aux_record, tail_);
    const std::vector<std::byte> record =
        aux_gap_record(ring_record(ring_, *notes_.aux_record), 4096, PERF_AUX_FLAG_TRUNCATED);
    ring_ = record;
    ring_.resize(kRing);
    EXPECT_EQ(record.size(), 48U);
    const uint64_t expected[] = {4096, 0, PERF_AUX_FLAG_TRUNCATED, kWhen, kEvent};
    for (size_t i = 0; i < std::size(expected); i++)
        EXPECT_EQ(ring_word(ring_, 8 + 8 * i), expected[i]) << i;
    RingNotes again;
    EXPECT_TRUE(note_records(ring_, 0, record.size(), again));
    EXPECT_EQ(again.aux_truncated, 1U);
}

using Act = AuxRevival::Act;
using End = AuxRevival::End;

TEST(AuxRevival, EnablesTheEventWhenSpaceIsFreedAndAgainAtTheNextTick)
{
    AuxRevival revival;
    EXPECT_EQ(revival.after_round(4096, End::kOpen, false), Act::kEnable)
        << "a full area says nothing of itself";
    EXPECT_EQ(revival.after_round(0, End::kOpen, false), Act::kNone);
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kEnable)
        << "the kernel may have been slower";
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone);
}

TEST(AuxRevival, EnablesTheEventOncePerTickIfTruncatedRecordsArriveWithoutData)
{
    AuxRevival revival;
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(revival.after_round(0, End::kCut, false), Act::kNone)
            << "rounds may follow at once";
    EXPECT_EQ(revival.after_round(0, End::kOpen, false), Act::kNone);
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(revival.after_round(0, End::kCut, true), Act::kEnable);
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kEnable)
        << "the kernel may have been slower";
}

TEST(AuxRevival, RestartsTheEventOnceIfNoDataFollowsATruncatedRecord)
{
    AuxRevival revival;
    EXPECT_EQ(revival.after_round(4096, End::kCut, false), Act::kEnable);
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kEnable);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(revival.after_round(0, End::kOpen, false), Act::kNone) << "rounds are no time";
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone);
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kRestart);
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone);
    EXPECT_EQ(revival.after_round(4096, End::kOpen, false), Act::kEnable);
}

TEST(AuxRevival, DoesNotRestartTheEventIfDataFollowsATruncatedRecord)
{
    AuxRevival revival;
    EXPECT_EQ(revival.after_round(4096, End::kCut, false), Act::kEnable);
    EXPECT_EQ(revival.after_round(4096, End::kOpen, false), Act::kEnable);
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kEnable);
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone);
}

TEST(AuxRevival, RestartsTheEventImmediatelyAfterAFullAuxArea)
{
    AuxRevival revival;
    EXPECT_EQ(revival.after_round(4096, End::kFull, false), Act::kRestart);
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kEnable)
        << "the kernel may have been slower";
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone) << "its device is quiet";
}

TEST(AuxRevival, DoesNotEnableAnEventThatNeverDeliveredData)
{
    AuxRevival revival;
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone)
        << "it may wait for the exec of its task";
    EXPECT_EQ(revival.after_round(0, End::kOpen, true), Act::kNone);
}

}  // namespace
}  // namespace pmukit::record
