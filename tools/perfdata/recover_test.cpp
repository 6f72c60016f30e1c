// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Damage of each kind: what is kept, which bytes are named as lost, and that the file written from
// it is whole.
#include "perfdata/recover.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "perfdata/format.hpp"
#include "perfdata/test_file.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
constexpr size_t kRounds = 10;
// One round: sample, AUX, AUXTRACE with its payload, FINISHED_ROUND.
constexpr uint64_t kSampleBytes = 40, kAuxBytes = 48, kTraceBytes = 48 + 64, kRoundBytes = 8;
constexpr uint64_t kTurn = kSampleBytes + kAuxBytes + kTraceBytes + kRoundBytes;

FileBuilder recording(std::endian order = std::endian::little)
{
    FileBuilder file(order);
    file.event(24, kSampleType, {7}).pmu(24, "hisi_ptt0_2");
    for (uint64_t i = 0; i < kRounds; i++)
        file.raw_sample(7, 0, filled(12, 0x11))
            .aux(7, 0, 64 * i, 64)
            .auxtrace(7, 0, 64 * i, filled(64, 0xee))
            .record(kFinishedRound, {});
    return file;
}

class RecoverOrder : public ::testing::TestWithParam<std::endian> {
protected:
    void SetUp() override
    {
        builder_ = recording(GetParam());
        bytes_ = builder_.file();
        begin_ = builder_.data_offset();
    }
    Recovery found(const std::vector<std::byte> &bytes)
    {
        Result<Recovery> recovery = find_records(bytes);
        EXPECT_TRUE(recovery);
        expect_covers(*recovery);
        expect_written(bytes, *recovery);
        return *recovery;
    }
    // Kept and lost ranges follow each other without a hole.
    void expect_covers(const Recovery &recovery)
    {
        std::vector<ByteRange> all = recovery.kept;
        all.insert(all.end(), recovery.lost.begin(), recovery.lost.end());
        std::ranges::sort(all, {}, &ByteRange::begin);
        uint64_t at = begin_;
        for (const ByteRange &range : all) {
            EXPECT_EQ(range.begin, at);
            at = range.end;
        }
    }
    // What is written is clean and holds all that was kept.
    void expect_written(const std::vector<std::byte> &bytes, const Recovery &recovery)
    {
        fs::path path =
            fs::temp_directory_path() / ("pmukit-recover-" + std::to_string(::getpid()));
        ASSERT_TRUE(write_recovered(bytes, recovery, path));
        Result<MappedFile> file = MappedFile::open(path);
        Result<Recovery> again = find_records(file->bytes());
        fs::remove(path);
        ASSERT_TRUE(again);
        EXPECT_TRUE(again->clean());
        EXPECT_EQ(again->records, recovery.records);
        EXPECT_EQ(again->aux_buffers, recovery.aux_buffers);
        Result<Reader> reader = Reader::open(file->bytes());
        EXPECT_TRUE(reader->complaints().empty());
        Record record;
        uint64_t records = 0;
        while (*reader->next(record))
            records++;
        EXPECT_EQ(records, recovery.records);
        EXPECT_FALSE(reader->damage());
    }

    FileBuilder builder_;
    std::vector<std::byte> bytes_;
    uint64_t begin_ = 0;
};
INSTANTIATE_TEST_SUITE_P(BothOrders, RecoverOrder,
                         ::testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(RecoverOrder, AGoodFileLosesNothing)
{
    Recovery recovery = found(bytes_);
    EXPECT_TRUE(recovery.clean());
    EXPECT_EQ(recovery.records, 4 * kRounds);
    EXPECT_EQ(recovery.aux_buffers, kRounds);
}

TEST_P(RecoverOrder, ACutTailKeepsEveryWholeRecord)
{
    for (uint64_t cut = 0; cut <= 2 * kTurn; cut++) {
        std::vector<std::byte> bytes = bytes_;
        bytes.resize(begin_ + kRounds * kTurn - cut);
        Recovery recovery = found(bytes);
        const uint64_t in_turn = cut % kTurn, whole_turns = kRounds - (cut + kTurn - 1) / kTurn;
        uint64_t records = 4 * whole_turns;
        if (in_turn != 0) {
            const uint64_t left = kTurn - in_turn;
            records += left >= kSampleBytes;
            records += left >= kSampleBytes + kAuxBytes;
            records += left >= kSampleBytes + kAuxBytes + kTraceBytes;
        }
        EXPECT_EQ(recovery.records, records) << cut;
        EXPECT_FALSE(recovery.header_whole) << cut;
    }
}

TEST_P(RecoverOrder, AKilledRecorderLeftNoSize)
{
    std::vector<std::byte> bytes = bytes_;
    bytes.resize(begin_ + kRounds * kTurn);
    store<uint64_t>(bytes.data() + 48, 0, GetParam());
    Recovery recovery = found(bytes);
    EXPECT_EQ(recovery.records, 4 * kRounds);
    EXPECT_TRUE(recovery.lost.empty());
    EXPECT_FALSE(recovery.clean());
}

TEST_P(RecoverOrder, AHoleIsNamedAndWhatIsBehindItKept)
{
    std::vector<std::byte> bytes = bytes_;
    const uint64_t hole = begin_ + 3 * kTurn + kSampleBytes;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(hole), kTurn, std::byte{0});
    Recovery recovery = found(bytes);
    ASSERT_EQ(recovery.lost.size(), 1U);
    EXPECT_EQ(recovery.lost[0].begin, hole);
    EXPECT_EQ(recovery.lost[0].end, hole + kTurn);
    EXPECT_EQ(recovery.records, 4 * kRounds - 4);
}

TEST_P(RecoverOrder, SizesThatLieCostTheirRecordAlone)
{
    for (uint16_t size : {uint16_t{0}, uint16_t{4}, uint16_t{65535}, uint16_t{48}, uint16_t{24}}) {
        std::vector<std::byte> bytes = bytes_;
        const uint64_t at = begin_ + 3 * kTurn;  // a sample
        store<uint16_t>(bytes.data() + at + 6, size, GetParam());
        Recovery recovery = found(bytes);
        EXPECT_GE(recovery.records, 4 * kRounds - 2) << size;
        ASSERT_EQ(recovery.lost.size(), 1U) << size;
        EXPECT_GE(recovery.lost[0].begin, at) << size;
        EXPECT_LE(recovery.lost[0].end, at + kSampleBytes + kAuxBytes) << size;
    }
}

TEST_P(RecoverOrder, AnAuxtraceThatClaimsEverythingLosesItsOwnBuffer)
{
    for (uint64_t size : {uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 7}) {
        std::vector<std::byte> bytes = bytes_;
        const uint64_t at = begin_ + 3 * kTurn + kSampleBytes + kAuxBytes;
        store<uint64_t>(bytes.data() + at + 8, size, GetParam());
        Recovery recovery = found(bytes);
        EXPECT_EQ(recovery.records, 4 * kRounds - 1);
        EXPECT_EQ(recovery.aux_buffers, kRounds - 1);
        ASSERT_EQ(recovery.lost.size(), 1U);
        EXPECT_EQ(recovery.lost[0].begin, at);
        EXPECT_EQ(recovery.lost[0].end, at + kTraceBytes);
    }
}

TEST(Recover, WhatHasNoEventsIsAnError)
{
    EXPECT_FALSE(find_records(filled(200, 0)));
    EXPECT_FALSE(find_records(Bytes()));
}

TEST(Recover, APipeIsWrittenAsAPipe)
{
    std::vector<std::byte> bytes = recording().pipe();
    bytes.resize(bytes.size() - 3);
    Result<Recovery> recovery = find_records(bytes);
    ASSERT_TRUE(recovery);
    EXPECT_EQ(recovery->lost.size(), 1U);
    fs::path path = fs::temp_directory_path() / ("pmukit-recover-" + std::to_string(::getpid()));
    ASSERT_TRUE(write_recovered(bytes, *recovery, path));
    Result<MappedFile> file = MappedFile::open(path);
    fs::remove(path);
    EXPECT_TRUE(find_records(file->bytes())->clean());
    EXPECT_EQ(find_records(file->bytes())->records, recovery->records);
}

}  // namespace
}  // namespace pmukit::perfdata
