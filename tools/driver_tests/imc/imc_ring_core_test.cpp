// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the reader of a trace buffer. The engine, which writes the buffer, writes at any time,
// wraps, and does not wait for the reader.
extern "C" {
#include "imc/imc_core.h"
}

#include <endian.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace {

constexpr u32 kRecords = 16;
constexpr u32 kWords = IMC_RECORD_WORDS;
constexpr u32 kBytes = kRecords * kWords * sizeof(u64);
constexpr u64 kTb2Mask = (1ULL << 42) - 1;

// A model of the engine. It was written from the documentation of the hardware, independently of
// the reader.
class Engine {
public:
    explicit Engine(u32 records = kRecords) : memory_(records * kWords) {}

    // Writes one record. The program counter in the record is the number of the record.
    void write()
    {
        tb_ += step_;
        u64 *record = &memory_[at_ * kWords];
        const std::array<u64, kWords> words = {tb_, written_, 1ULL << 63, 3,
                                               4,   5,        6,          tb_ & kTb2Mask};
        for (u32 i = 0; i < kWords; i++)
            record[i] = htobe64(words[i]);
        at_ = (at_ + 1) % (memory_.size() / kWords);
        written_++;
    }
    void write(u64 records)
    {
        for (u64 i = 0; i < records; i++)
            write();
    }
    void begin_again() { at_ = 0; }
    void step(u64 tb) { step_ = tb; }
    u64 &word(u64 record, u32 word) { return memory_[record * kWords + word]; }
    [[nodiscard]] u64 written() const { return written_; }
    [[nodiscard]] const u64 *memory() const { return memory_.data(); }

private:
    std::vector<u64> memory_;
    u64 at_ = 0, tb_ = 1000, step_ = 16, written_ = 0;
};

class ImcRing : public testing::Test {
protected:
    ImcRing() { imc_ring_init(&ring, engine.memory(), kBytes); }

    void look() { imc_ring_look(&ring, &tally); }

    // Reads the available records and returns their numbers.
    std::vector<u64> take(size_t most = SIZE_MAX)
    {
        std::vector<u64> numbers;
        while (numbers.size() < most) {
            const imc_ring_state state = imc_ring_take(&ring, record.data(), &tally);
            if (state == IMC_RING_EMPTY)
                break;
            if (state == IMC_RING_RECORD)
                numbers.push_back(record[IMC_RECORD_IP]);
        }
        return numbers;
    }

    Engine engine;
    imc_ring ring;
    imc_ring_tally tally = {};
    std::array<u64, kWords> record;
};

std::vector<u64> numbers(u64 from, u64 to)
{
    std::vector<u64> all;
    for (u64 number = from; number < to; number++)
        all.push_back(number);
    return all;
}

TEST_F(ImcRing, EmptyBufferHasNoRecord)
{
    look();
    EXPECT_EQ(take(), numbers(0, 0));
    EXPECT_EQ(tally.lost + tally.rejected, 0U);
}

TEST_F(ImcRing, ReadsEachRecordOnceInOrder)
{
    engine.write(5);
    look();
    EXPECT_EQ(take(), numbers(0, 5));
    look();
    EXPECT_EQ(take(), numbers(0, 0));
    engine.write(3);
    look();
    EXPECT_EQ(take(), numbers(5, 8));
}

TEST_F(ImcRing, ConvertsAllWordsToCpuByteOrder)
{
    engine.write();
    look();
    ASSERT_EQ(take().size(), 1U);
    EXPECT_EQ(record, (std::array<u64, kWords>{1016, 0, 1ULL << 63, 3, 4, 5, 6, 1016}));
}

TEST_F(ImcRing, ReadsAllRecordsAcrossWraps)
{
    u64 next = 0;
    for (u32 round = 0; round < 50; round++) {
        engine.write(7);
        look();
        EXPECT_EQ(take(), numbers(next, next + 7));
        next += 7;
    }
    EXPECT_EQ(tally.lost, 0U);
    EXPECT_FALSE(tally.lapped);
}

TEST_F(ImcRing, ReadsOnlyRecordsWrittenBeforeThePoll)
{
    engine.write(2);
    look();
    engine.write(2);
    EXPECT_EQ(take(), numbers(0, 2));
}

// The tests start at every position of the buffer. They write one record less than the buffer can
// hold, exactly as many as it can hold, and more.
class ImcRingFull : public testing::TestWithParam<u64> {};

TEST_P(ImcRingFull, FindsEnginePositionAndReadsNewestRecords)
{
    for (u64 place = 0; place < kRecords; place++) {
        Engine engine;
        imc_ring ring;
        imc_ring_tally tally = {};
        std::array<u64, kWords> record;
        imc_ring_init(&ring, engine.memory(), kBytes);
        engine.write(place);
        imc_ring_look(&ring, &tally);
        while (imc_ring_take(&ring, record.data(), &tally) == IMC_RING_RECORD)
            ;

        engine.write(GetParam());
        imc_ring_look(&ring, &tally);
        const u64 lost = GetParam() > kRecords ? GetParam() - kRecords : 0;
        EXPECT_EQ(tally.lost, lost) << "from " << place;
        EXPECT_EQ(tally.lapped, GetParam() >= kRecords);
        for (u64 number = place + lost; number < engine.written(); number++) {
            ASSERT_EQ(imc_ring_take(&ring, record.data(), &tally), IMC_RING_RECORD);
            EXPECT_EQ(record[IMC_RECORD_IP], number);
        }
        EXPECT_EQ(imc_ring_take(&ring, record.data(), &tally), IMC_RING_EMPTY);
        EXPECT_EQ(tally.lost, lost);
    }
}

INSTANTIATE_TEST_SUITE_P(Counts, ImcRingFull,
                         testing::Values(kRecords - 1, kRecords, kRecords + 1, kRecords + 5,
                                         2 * kRecords - 1));

// The test polls the buffer but does not read records, as when the reader of an AUX area is slow.
TEST_F(ImcRing, CountsLostRecordsExactlyIfTheBufferIsPolledInEachRound)
{
    u64 taken = 0;
    for (u32 i = 0; i < 40; i++) {
        engine.write(11);
        look();
    }
    taken += take().size();
    EXPECT_EQ(tally.lost, engine.written() - kRecords);
    EXPECT_EQ(tally.lost + taken, engine.written());
    EXPECT_FALSE(tally.lapped);
}

TEST_F(ImcRing, RecordOverwrittenAfterItsPollIsCountedAsLostOnce)
{
    engine.write(4);
    look();
    // These records overwrite the first two records.
    engine.write(kRecords - 2);
    EXPECT_EQ(take(), numbers(2, 4));
    EXPECT_EQ(tally.lost, 2U);
    look();
    EXPECT_EQ(take(), numbers(4, 4 + kRecords - 2));
    EXPECT_EQ(tally.lost, 2U);
}

TEST_F(ImcRing, ReadsHalfWrittenRecordAtTheNextPollIfItIsComplete)
{
    engine.write(3);
    const u64 whole = engine.word(2, IMC_RECORD_TB2);
    engine.word(2, IMC_RECORD_TB2) = 0;
    look();
    EXPECT_EQ(take(), numbers(0, 2));
    engine.word(2, IMC_RECORD_TB2) = whole;
    look();
    EXPECT_EQ(take(), numbers(2, 3));
    EXPECT_EQ(tally.rejected, 0U);
}

TEST_F(ImcRing, RejectsRecordThatIsStillHalfWrittenAtTheNextPoll)
{
    engine.write(3);
    engine.word(2, IMC_RECORD_TB2) = 0;
    look();
    EXPECT_EQ(take(), numbers(0, 2));
    look();
    EXPECT_EQ(take(), numbers(0, 0));
    EXPECT_EQ(tally.rejected, 1U);
    engine.write(1);
    look();
    EXPECT_EQ(take(), numbers(3, 4));
}

TEST_F(ImcRing, RejectsIncompleteRecordAtOnceIfARecordFollowsIt)
{
    engine.write(4);
    engine.word(1, IMC_RECORD_TB2) = htobe64(77);
    look();
    EXPECT_EQ(take(), (std::vector<u64>{0, 2, 3}));
    EXPECT_EQ(tally.rejected, 1U);
}

TEST_F(ImcRing, RejectsDecreasingTimebase)
{
    engine.write(6);
    for (u32 word : {IMC_RECORD_TB1, IMC_RECORD_TB2})
        engine.word(3, word) = engine.word(1, word);
    look();
    EXPECT_EQ(take(), (std::vector<u64>{0, 1, 2, 4, 5}));
    EXPECT_EQ(tally.rejected, 1U);
}

// The last record of a poll has a timebase above that of all later records. The reader must reject
// this record and must still read the records after it.
TEST_F(ImcRing, InvalidRecordDoesNotHideLaterRecords)
{
    for (u64 next = 0; next < 2 * kRecords; next += 5) {
        engine.write(3);
        engine.word((next + 2) % kRecords, IMC_RECORD_TB1) = htobe64(1ULL << 63);
        look();
        EXPECT_EQ(take(), numbers(next, next + 2));
        look();
        EXPECT_EQ(take(), numbers(0, 0));
        engine.write(2);
        look();
        EXPECT_EQ(take(), numbers(next + 3, next + 5));
        EXPECT_EQ(tally.rejected, next / 5 + 1);
    }
    EXPECT_EQ(tally.lost, 0U);
}

TEST_F(ImcRing, DroppedInvalidRecordDoesNotHideLaterRecords)
{
    engine.write(3);
    engine.word(2, IMC_RECORD_TB1) = htobe64(1ULL << 63);
    look();
    imc_ring_drop(&ring, &tally);
    engine.write(2);
    look();
    EXPECT_EQ(take(), numbers(3, 5));
    engine.word(4, IMC_RECORD_TB1) = htobe64(1ULL << 63);
    imc_ring_restart(&ring);
    engine.begin_again();
    engine.write(4);
    look();
    EXPECT_EQ(take(), numbers(5, 9));
}

// The half-written record is at the beginning of the buffer. An engine that restarts also begins to
// write there.
TEST_F(ImcRing, DoesNotMistakeHalfWrittenRecordForARestart)
{
    engine.write(kRecords);
    look();
    EXPECT_EQ(take(), numbers(0, kRecords));
    engine.write(1);
    engine.word(0, IMC_RECORD_TB2) = 0;
    imc_ring_restart(&ring);
    look();
    EXPECT_EQ(take(), numbers(0, 0));
    engine.write(2);
    look();
    EXPECT_EQ(take(), numbers(kRecords + 1, kRecords + 3));
}

// The last word of a record has only the lower 42 bits of the timebase.
TEST_F(ImcRing, LastWordOfARecordMustHaveTheLower42BitsOfTheTimebase)
{
    engine.step(1ULL << 41);
    engine.write(4);
    look();
    EXPECT_EQ(take(), numbers(0, 4));
    engine.write(1);
    engine.word(4, IMC_RECORD_TB2) = engine.word(4, IMC_RECORD_TB1);
    look();
    EXPECT_EQ(take(), numbers(0, 0));
}

TEST_F(ImcRing, CountsDroppedRecordsAsLost)
{
    engine.write(5);
    look();
    EXPECT_EQ(take(2), numbers(0, 2));
    imc_ring_drop(&ring, &tally);
    EXPECT_EQ(tally.lost, 3U);
    EXPECT_EQ(take(), numbers(0, 0));
    engine.write(1);
    look();
    EXPECT_EQ(take(), numbers(5, 6));
}

TEST_F(ImcRing, ReadsAllRecordsIfEngineRestartsAtBeginning)
{
    engine.write(5);
    look();
    EXPECT_EQ(take(), numbers(0, 5));
    for (u32 again = 0; again < 3; again++) {
        imc_ring_restart(&ring);
        look();
        EXPECT_EQ(take(), numbers(0, 0));
        engine.begin_again();
        const u64 first = engine.written();
        engine.write(kRecords - 3);
        look();
        EXPECT_EQ(take(), numbers(first, first + kRecords - 3));
    }
    EXPECT_EQ(tally.lost + tally.rejected, 0U);
}

TEST_F(ImcRing, ReadsAllRecordsIfEngineRestartsAtOldPosition)
{
    engine.write(5);
    look();
    EXPECT_EQ(take(), numbers(0, 5));
    imc_ring_restart(&ring);
    // The engine continues at its old position and passes the beginning of the buffer. So there are
    // new records at both positions.
    engine.write(14);
    look();
    EXPECT_EQ(take(), numbers(5, 19));
    EXPECT_EQ(tally.lost + tally.rejected, 0U);
}

TEST_F(ImcRing, ReadsAllRecordsIfRestartedEnginePassesOldPosition)
{
    engine.write(5);
    look();
    EXPECT_EQ(take(), numbers(0, 5));
    imc_ring_restart(&ring);
    engine.begin_again();
    // The engine starts at the beginning and passes its old position. So the record there is newer
    // than the record at the beginning.
    engine.write(8);
    look();
    EXPECT_EQ(take(), numbers(5, 13));
    EXPECT_EQ(tally.lost + tally.rejected, 0U);
}

TEST_F(ImcRing, SkipsRecordsNotPolledBeforeTheRestart)
{
    engine.write(5);
    look();
    EXPECT_EQ(take(2), numbers(0, 2));
    // No poll finds these records before the restart.
    engine.write(3);
    imc_ring_restart(&ring);
    look();
    EXPECT_EQ(take(), numbers(0, 0));
    engine.begin_again();
    engine.write(2);
    look();
    EXPECT_EQ(take(), numbers(8, 10));
    engine.write(9);
    look();
    EXPECT_EQ(take(), numbers(10, 19));
    EXPECT_EQ(tally.lost + tally.rejected, 0U);
}

TEST_F(ImcRing, ReadsNoStaleRecordAfterManyRestarts)
{
    std::mt19937 random(1);
    u64 next = 0;
    for (u32 run = 0; run < 500; run++) {
        imc_ring_restart(&ring);
        if (random() % 2)
            engine.begin_again();
        for (u32 looks = random() % 4; looks; looks--) {
            const u64 count = random() % kRecords;
            engine.write(count);
            look();
            EXPECT_EQ(take(), numbers(next, next + count)) << "run " << run;
            next += count;
        }
    }
    EXPECT_EQ(tally.lost + tally.rejected, 0U);
}

// With any content of the buffer, the reader stays inside the buffer (checked by AddressSanitizer)
// and delivers or counts every record.
TEST_F(ImcRing, DeliversOrCountsEveryRecordForAnyBufferContent)
{
    std::mt19937_64 random(7);
    for (u32 run = 0; run < 3000; run++) {
        for (u32 changes = 0; changes < 8; changes++)
            engine.word(random() % kRecords, random() % kWords) =
                random() % 3 ? htobe64(random() % 4096) : random();
        if (random() % 8 == 0) {
            imc_ring_drop(&ring, &tally);
            imc_ring_restart(&ring);
        }
        look();
        ASSERT_LE(ring.written - ring.taken, kRecords);
        const u64 before = ring.taken;
        const imc_ring_tally tally_before = tally;
        const u64 got = take().size();
        EXPECT_EQ(ring.taken - before, got + (tally.lost - tally_before.lost) +
                                           (tally.rejected - tally_before.rejected));
    }
}

// Timer interval

TEST(ImcPoll, PollIntervalIsTheTimeOfHalfTheRecordsThatOneDrainReads)
{
    EXPECT_EQ(imc_poll_ns(1000000, 128, 128), 500000U);
    EXPECT_EQ(imc_poll_ns(1000000, 64, 128), 1000000U);
    EXPECT_EQ(imc_poll_ns(1000000, 32, 128), 2000000U);
}

TEST(ImcPoll, IntervalStaysBetween250MicrosecondsAnd10Milliseconds)
{
    EXPECT_EQ(imc_poll_ns(1000000, 0, 128), 10000000U);
    EXPECT_EQ(imc_poll_ns(1000000, 1, 128), 10000000U);
    EXPECT_EQ(imc_poll_ns(1000, 4096, 128), 250000U);
    EXPECT_EQ(imc_poll_ns(~0ULL, 1, 128), 10000000U);
    // The product 2^58 * 64 would wrap to 0.
    EXPECT_EQ(imc_poll_ns(1ULL << 58, 1, 128), 10000000U);
}

}  // namespace
