// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For each kind of damage, checks which records are kept, which bytes are reported as lost, and
// that the written file is valid.
#include "perfdata/recover.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "base/test_memory.hpp"
#include "perfdata/aux_file.hpp"
#include "perfdata/cut.hpp"
#include "perfdata/format.hpp"
#include "perfdata/merge.hpp"
#include "perfdata/testing/test_file.hpp"

#ifdef PMUKIT_ZSTD
#include <zstd.h>
#endif

namespace pmukit::perfdata {
namespace {

bool finished(Result<Writer> writer)
{
    return writer && writer->finish();
}

namespace fs = std::filesystem;
using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
constexpr size_t kRounds = 10;
// One round: sample, AUX, AUXTRACE with its payload, FINISHED_ROUND.
constexpr uint64_t kSampleBytes = 40, kAuxBytes = 48, kTraceBytes = 48 + 64, kRoundBytes = 8;
constexpr uint64_t kRound = kSampleBytes + kAuxBytes + kTraceBytes + kRoundBytes;

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
        Result<DamagedRecording> recording = DamagedRecording::of(bytes);
        EXPECT_TRUE(recording);
        const Recovery &recovery = recording->parts().front().found;
        expect_covers(recovery);
        expect_written(*recording);
        return recovery;
    }
    // Kept and lost ranges cover the file without gaps.
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
    // The written file is clean and holds everything that was kept.
    void expect_written(const DamagedRecording &recording)
    {
        const Recovery &recovery = recording.parts().front().found;
        const std::string path = folder_.path("written");
        ASSERT_TRUE(finished(recording.write(path)));
        Result<DamagedRecording> again = DamagedRecording::open(path);
        Result<Reader> reader = Reader::open_path(path);
        ASSERT_TRUE(again);
        EXPECT_TRUE(again->clean());
        EXPECT_EQ(again->parts().front().found.records, recovery.records);
        EXPECT_EQ(again->parts().front().found.aux_buffers, recovery.aux_buffers);
        EXPECT_TRUE(reader->warnings().empty());
        Record record;
        uint64_t records = 0;
        while (reader->next(record))
            records++;
        EXPECT_EQ(records, recovery.records);
        EXPECT_FALSE(reader->damage());
    }

    TestFolder folder_;
    FileBuilder builder_;
    std::vector<std::byte> bytes_;
    uint64_t begin_ = 0;
};
INSTANTIATE_TEST_SUITE_P(BothOrders, RecoverOrder,
                         ::testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(RecoverOrder, IntactFileLosesNothing)
{
    Recovery recovery = found(bytes_);
    EXPECT_TRUE(recovery.clean());
    EXPECT_EQ(recovery.records, 4 * kRounds);
    EXPECT_EQ(recovery.aux_buffers, kRounds);
}

#ifdef PMUKIT_ZSTD

// A recorder with -z was killed: the file has no size and no sections, so nothing marks records as
// compressed.
TEST_P(RecoverOrder, CompressedRecordsOfAKilledRecorderCanBeRead)
{
    FileBuilder inner(GetParam());
    for (int i = 0; i < 50; i++)
        inner.raw_sample(7, 0, filled(12, 0x11));
    std::vector<std::byte> packed(ZSTD_compressBound(inner.records().size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), inner.records().data(),
                                inner.records().size(), 1));
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7}).packed(kCompressed2, packed).record(kFinishedRound, {});
    std::vector<std::byte> bytes = file.file();
    bytes.resize(file.data_offset() + file.records().size());
    store<uint64_t>(bytes.data() + 48, 0, GetParam());

    Result<DamagedRecording> recording = DamagedRecording::of(bytes);
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->parts().front().found.packed, 1U);
    EXPECT_FALSE(recording->clean());
    const std::string path = folder_.path("written");
    ASSERT_TRUE(finished(recording->write(path)));
    Result<Reader> reader = Reader::open_path(path);
    ASSERT_TRUE(reader);
    // Version, type 1 (zstd), level, ratio, buffer size for the content of one record.
    const std::optional<Bytes> section = reader->feature(kFeatCompressed);
    ASSERT_TRUE(section);
    ASSERT_EQ(section->size(), 20U);
    EXPECT_EQ(load<uint32_t>(section->data() + 4, GetParam()), 1U);
    EXPECT_GE(load<uint32_t>(section->data() + 16, GetParam()), 512U << 10);
    uint64_t samples = 0;
    for (Record record; reader->next(record);)
        samples += record.type == PERF_RECORD_SAMPLE;
    EXPECT_EQ(samples, 50U);
    EXPECT_FALSE(reader->damage());
    EXPECT_TRUE(reader->warnings().empty());
}

#endif

TEST_P(RecoverOrder, TruncatedFileKeepsEveryWholeRecord)
{
    for (uint64_t cut = 0; cut <= 2 * kRound; cut++) {
        std::vector<std::byte> bytes = bytes_;
        bytes.resize(begin_ + kRounds * kRound - cut);
        Recovery recovery = found(bytes);
        const uint64_t in_round = cut % kRound,
                       whole_rounds = kRounds - (cut + kRound - 1) / kRound;
        uint64_t records = 4 * whole_rounds;
        if (in_round != 0) {
            const uint64_t left = kRound - in_round;
            records += left >= kSampleBytes;
            records += left >= kSampleBytes + kAuxBytes;
            records += left >= kSampleBytes + kAuxBytes + kTraceBytes;
        }
        EXPECT_EQ(recovery.records, records) << cut;
        EXPECT_FALSE(recovery.header_whole) << cut;
    }
}

TEST_P(RecoverOrder, KeepsAllRecordsIfTheHeaderHasNoSize)
{
    std::vector<std::byte> bytes = bytes_;
    bytes.resize(begin_ + kRounds * kRound);
    store<uint64_t>(bytes.data() + 48, 0, GetParam());
    Recovery recovery = found(bytes);
    EXPECT_EQ(recovery.records, 4 * kRounds);
    EXPECT_TRUE(recovery.lost.empty());
    EXPECT_FALSE(recovery.clean());
}

TEST_P(RecoverOrder, ReportsAGapAndKeepsLaterRecords)
{
    std::vector<std::byte> bytes = bytes_;
    const uint64_t hole = begin_ + 3 * kRound + kSampleBytes;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(hole), kRound, std::byte{0});
    Recovery recovery = found(bytes);
    ASSERT_EQ(recovery.lost.size(), 1U);
    EXPECT_EQ(recovery.lost[0].begin, hole);
    EXPECT_EQ(recovery.lost[0].end, hole + kRound);
    EXPECT_EQ(recovery.records, 4 * kRounds - 4);
}

// The gap includes the sample of the last round, and FINISHED_ROUND is truncated to 5 bytes. Only
// AUX and AUXTRACE of that round are left.
TEST_P(RecoverOrder, KeepsABufferBetweenAGapAndTruncation)
{
    std::vector<std::byte> bytes = bytes_;
    const uint64_t hole = begin_ + 3 * kRound, again = begin_ + 9 * kRound + kSampleBytes;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(hole), again - hole, std::byte{0});
    bytes.resize(begin_ + kRounds * kRound - 3);
    const Recovery recovery = found(bytes);
    EXPECT_EQ(recovery.records, 3 * 4U + 2);
    EXPECT_EQ(recovery.aux_buffers, 4U);
    ASSERT_EQ(recovery.lost.size(), 2U);
    EXPECT_EQ(recovery.lost[0].end, again);
}

TEST_P(RecoverOrder, KeepsABufferBetweenTwoGaps)
{
    std::vector<std::byte> bytes = bytes_;
    const auto zero = [&bytes](uint64_t from, uint64_t to) {
        std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(from), to - from, std::byte{0});
    };
    const uint64_t again = begin_ + 5 * kRound + kSampleBytes, second = begin_ + 6 * kRound;
    zero(begin_ + 3 * kRound, again);
    zero(second, second + kRound);
    const Recovery recovery = found(bytes);
    EXPECT_EQ(recovery.records, 4 * kRounds - 3 * 4 - 1);
    EXPECT_EQ(recovery.aux_buffers, kRounds - 3);
    ASSERT_EQ(recovery.lost.size(), 2U);
    EXPECT_EQ(recovery.lost[0].end, again);
    EXPECT_EQ(recovery.lost[1].begin, second);
}

// The data of a truncated buffer looks like an AUXTRACE record with one wrong word, or like a valid
// one that is followed by invalid data.
TEST_P(RecoverOrder, IgnoresDataThatLookLikeABuffer)
{
    struct Word {
        size_t at;
        uint32_t value;
    };
    for (const Word &wrong : {Word{4, 0x00300001}, Word{4, 0x00010030}, Word{44, 1}}) {
        FileBuilder looks(GetParam());
        looks.auxtrace(7, 0, 0, filled(64, 0xee)).record(kFinishedRound, {});
        std::vector<std::byte> data = looks.records();
        store<uint32_t>(data.data() + wrong.at, wrong.value, GetParam());
        data.resize(data.size() + 64, std::byte{0xee});
        FileBuilder file = recording(GetParam());
        const size_t whole = file.records().size();
        file.auxtrace(7, 0, 0, data);
        std::vector<std::byte> bytes = file.file();
        bytes.resize(begin_ + whole + 48 + data.size() - 16);
        const Recovery recovery = found(bytes);
        EXPECT_EQ(recovery.aux_buffers, kRounds) << wrong.at;
        ASSERT_EQ(recovery.lost.size(), 1U) << wrong.at;
    }
    FileBuilder alone(GetParam());
    std::vector<std::byte> data = alone.auxtrace(7, 0, 0, filled(128, 0xee)).records();
    data.resize(data.size() + 64, std::byte{0xee});
    FileBuilder file = recording(GetParam());
    const size_t whole = file.records().size();
    std::vector<std::byte> bytes = file.auxtrace(7, 0, 0, data).file();
    bytes.resize(begin_ + whole + 48 + data.size() - 16);
    EXPECT_EQ(found(bytes).aux_buffers, kRounds);
}

TEST_P(RecoverOrder, InvalidRecordSizeLosesAtMostTwoRecords)
{
    for (uint16_t size : {uint16_t{0}, uint16_t{4}, uint16_t{65535}, uint16_t{48}, uint16_t{24}}) {
        std::vector<std::byte> bytes = bytes_;
        const uint64_t at = begin_ + 3 * kRound;  // a sample
        store<uint16_t>(bytes.data() + at + 6, size, GetParam());
        Recovery recovery = found(bytes);
        EXPECT_GE(recovery.records, 4 * kRounds - 2) << size;
        ASSERT_EQ(recovery.lost.size(), 1U) << size;
        EXPECT_GE(recovery.lost[0].begin, at) << size;
        EXPECT_LE(recovery.lost[0].end, at + kSampleBytes + kAuxBytes) << size;
    }
}

// A record of a type that this version does not know follows each sample, as a newer kernel may
// write it: nothing is damaged.
TEST_P(RecoverOrder, KeepsRecordsOfUnknownTypes)
{
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7});
    for (uint64_t i = 0; i < 50; i++)
        file.raw_sample(7, 0, filled(12, 0x11)).record(120, {i});
    begin_ = file.data_offset();
    const Recovery recovery = found(file.file());
    EXPECT_TRUE(recovery.clean());
    EXPECT_EQ(recovery.records, 100U);
}

TEST_P(RecoverOrder, FindsRecordsOfUnknownTypesAfterAHole)
{
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7});
    for (uint64_t i = 0; i < 50; i++)
        file.raw_sample(7, 0, filled(12, 0x11)).record(120, {i});
    std::vector<std::byte> bytes = file.file();
    begin_ = file.data_offset();
    constexpr uint64_t kPairBytes = kSampleBytes + 16;
    std::ranges::fill_n(bytes.begin() + static_cast<ptrdiff_t>(begin_ + 10 * kPairBytes),
                        kPairBytes, std::byte{0xff});
    const Recovery recovery = found(bytes);
    // The unknown record before the hole leads to no other record.
    EXPECT_EQ(recovery.records, 97U);
    ASSERT_EQ(recovery.lost.size(), 1U);
    EXPECT_EQ(recovery.lost[0].begin, begin_ + 10 * kPairBytes - 16);
    EXPECT_EQ(recovery.lost[0].end, begin_ + 11 * kPairBytes);
}

// Bytes that look like an unknown record but do not lead to other records are damage.
TEST_P(RecoverOrder, AnUnknownRecordThatLeadsNowhereIsLost)
{
    std::vector<std::byte> bytes = bytes_;
    const uint64_t at = begin_ + 3 * kRound;  // a sample
    store<uint32_t>(bytes.data() + at, 120, GetParam());
    store<uint16_t>(bytes.data() + at + 6, 24, GetParam());
    const Recovery recovery = found(bytes);
    EXPECT_EQ(recovery.records, 4 * kRounds - 1);
    ASSERT_EQ(recovery.lost.size(), 1U);
    EXPECT_EQ(recovery.lost[0].begin, at);
    EXPECT_EQ(recovery.lost[0].end, at + kSampleBytes);
}

// The size of a COMM record is that of the 50 records behind it.
TEST_P(RecoverOrder, ARecordLargerThanItsTypeCanBeDoesNotHideOthers)
{
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7}).record(PERF_RECORD_COMM, {0, 0});
    for (uint64_t i = 0; i < 51; i++)
        file.raw_sample(7, 0, filled(12, 0x11));
    std::vector<std::byte> bytes = file.file();
    begin_ = file.data_offset();
    constexpr uint64_t kBytes = 24;
    EXPECT_EQ(found(bytes).records, 52U);
    store<uint16_t>(bytes.data() + begin_ + 6, kBytes + 50 * kSampleBytes, GetParam());
    const Recovery recovery = found(bytes);
    EXPECT_EQ(recovery.records, 51U);
    ASSERT_EQ(recovery.lost.size(), 1U);
    EXPECT_EQ(recovery.lost[0].begin, begin_);
    EXPECT_EQ(recovery.lost[0].end, begin_ + kBytes);
}

// perf does not pad features to a multiple of 8 bytes.
TEST_P(RecoverOrder, KeepsAPipeWithAnInvalidLastFeature)
{
    std::vector<std::byte> bytes = builder_.pipe();
    constexpr size_t kFeatureBytes = 16 + 4 + 8 + 64, kEndBytes = 16;
    static_assert(kFeatureBytes % 8 == 4);
    begin_ = kPipeHeaderBytes;
    const size_t feature = bytes.size() - builder_.records().size() - kEndBytes - kFeatureBytes;
    store<uint16_t>(bytes.data() + feature + 6, 0, GetParam());
    const Recovery recovery = DamagedRecording::of(bytes)->parts().front().found;
    EXPECT_EQ(recovery.aux_buffers, kRounds);
    ASSERT_EQ(recovery.lost.size(), 1U);
    EXPECT_EQ(recovery.lost.front().begin, feature);
    EXPECT_EQ(recovery.lost.front().end, feature + kFeatureBytes);
}

TEST_P(RecoverOrder, OversizedAuxtraceLosesOnlyItsBuffer)
{
    for (uint64_t size : {uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 7}) {
        std::vector<std::byte> bytes = bytes_;
        const uint64_t at = begin_ + 3 * kRound + kSampleBytes + kAuxBytes;
        store<uint64_t>(bytes.data() + at + 8, size, GetParam());
        Recovery recovery = found(bytes);
        EXPECT_EQ(recovery.records, 4 * kRounds - 1);
        EXPECT_EQ(recovery.aux_buffers, kRounds - 1);
        ASSERT_EQ(recovery.lost.size(), 1U);
        EXPECT_EQ(recovery.lost[0].begin, at);
        EXPECT_EQ(recovery.lost[0].end, at + kTraceBytes);
    }
}

TEST(Recover, FileWithoutEventsIsAnError)
{
    EXPECT_FALSE(DamagedRecording::of(filled(200, 0)));
    EXPECT_FALSE(DamagedRecording::of(Bytes()));
}

TEST(Recover, WritesNoFileWithoutARecord)
{
    const TestFolder folder;
    std::vector<std::byte> bytes = recording().file();
    const uint64_t begin = recording().data_offset();
    bytes.resize(begin);
    bytes.resize(begin + 4096, std::byte{0xff});
    Result<DamagedRecording> recording = DamagedRecording::of(bytes);
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->parts().front().found.records, 0U);
    EXPECT_FALSE(finished(recording->write(folder.path("written"), {})));
    EXPECT_FALSE(fs::exists(folder.path("written")));
}

class RecoverFiles : public ::testing::Test {
protected:
    // Types of the records of a file.
    std::vector<uint32_t> types(const std::string &path)
    {
        std::vector<uint32_t> types;
        Result<Reader> reader = Reader::open_path(path);
        EXPECT_TRUE(reader);
        Record record;
        while (reader && reader->next(record))
            types.push_back(record.type);
        EXPECT_FALSE(reader->damage());
        EXPECT_FALSE(reader->is_pipe());
        return types;
    }

    TestFolder folder_;
    const std::string written_ = folder_.path("written");
};

TEST_F(RecoverFiles, WritesADamagedRecordingInPipeLayoutInFileLayout)
{
    std::vector<std::byte> bytes = recording().pipe();
    bytes.resize(bytes.size() - 3);
    folder_.put("pipe", bytes);
    Result<DamagedRecording> damaged = DamagedRecording::open(folder_.path("pipe"));
    ASSERT_TRUE(damaged);
    ASSERT_EQ(damaged->parts().size(), 1U);
    const Recovery &found = damaged->parts()[0].found;
    ASSERT_EQ(found.lost.size(), 1U);
    EXPECT_EQ(found.lost[0].begin, bytes.size() - (kRoundBytes - 3));
    EXPECT_EQ(found.lost[0].end, bytes.size());
    ASSERT_TRUE(finished(damaged->write(written_)));
    EXPECT_EQ(types(written_).size(), 4 * kRounds - 1) << "without the last FINISHED_ROUND";
    EXPECT_EQ(Reader::open_path(written_)->pmu_name(24), "hisi_ptt0_2");
}

TEST_F(RecoverFiles, RecoversRecordsFromEachFileOfADirectory)
{
    FileBuilder first = recording(), rest = recording();
    std::vector<std::byte> hole = rest.records();
    std::fill_n(hole.begin() + kRound, kSampleBytes, std::byte{0});
    std::vector<std::byte> cut = rest.records();
    cut.resize(cut.size() - kRoundBytes - 1);
    folder_.put("dir/data", first.file());
    folder_.put("dir/data.0", hole);
    folder_.put("dir/data.1", cut);
    Result<DamagedRecording> damaged = DamagedRecording::open(folder_.path("dir"));
    ASSERT_TRUE(damaged);
    ASSERT_EQ(damaged->parts().size(), 3U);
    EXPECT_TRUE(damaged->parts()[0].found.clean());
    EXPECT_EQ(damaged->parts()[1].path, folder_.path("dir/data.0"));
    ASSERT_EQ(damaged->parts()[1].found.lost.size(), 1U);
    EXPECT_EQ(damaged->parts()[1].found.lost[0].begin, kRound);
    EXPECT_EQ(damaged->parts()[1].found.lost[0].end, kRound + kSampleBytes);
    ASSERT_EQ(damaged->parts()[2].found.lost.size(), 1U);
    EXPECT_EQ(damaged->parts()[2].found.lost[0].begin,
              (kRounds - 1) * kRound + kSampleBytes + kAuxBytes);
    EXPECT_FALSE(damaged->clean());
    ASSERT_TRUE(finished(damaged->write(written_)));
    const std::vector<uint32_t> all = types(written_);
    EXPECT_EQ(std::ranges::count(all, uint32_t{PERF_RECORD_SAMPLE}), 3 * kRounds - 1);
    EXPECT_EQ(std::ranges::count(all, uint32_t{kAuxtrace}), 3 * kRounds - 1);
    EXPECT_EQ(std::ranges::count(all, uint32_t{kFinishedRound}), 0)
        << "the rounds of several files are none of one";
    EXPECT_TRUE(AuxFile::open(written_)->from_index());
}

TEST_F(RecoverFiles, ReportsAMissingFileOfADirectory)
{
    FileBuilder first = recording(), rest = recording();
    folder_.put("dir/data", first.file());
    folder_.put("dir/data.1", rest.records());
    Result<DamagedRecording> damaged = DamagedRecording::open(folder_.path("dir"));
    ASSERT_TRUE(damaged);
    ASSERT_EQ(damaged->parts().size(), 3U);
    EXPECT_TRUE(damaged->parts()[0].found.clean()) << "the header is whole";
    EXPECT_EQ(damaged->parts()[1].path, folder_.path("dir/data.1"));
    EXPECT_TRUE(damaged->parts()[1].found.clean());
    EXPECT_EQ(damaged->parts()[2].path, folder_.path("dir/data.0"));
    EXPECT_TRUE(damaged->parts()[2].found.missing);
    EXPECT_FALSE(damaged->clean());
    ASSERT_TRUE(finished(damaged->write(written_)));
    const std::vector<uint32_t> all = types(written_);
    EXPECT_EQ(std::ranges::count(all, uint32_t{PERF_RECORD_SAMPLE}), 2 * kRounds);
}

// In pipe layout the events arrive with the records. While the reader looks for events, it may
// already read the other files of the directory.
TEST_F(RecoverFiles, FindsRecordsOfADirectoryWhoseFirstFileIsInPipeLayout)
{
    FileBuilder rest;
    for (int i = 0; i < 1000; i++)
        rest.raw_sample(7, 0, filled(12, 0x11));
    const std::vector<std::byte> first = recording().pipe();
    folder_.put("dir/data", first);
    folder_.put("dir/data.0", rest.records());
    Result<DamagedRecording> damaged = DamagedRecording::open(folder_.path("dir"));
    ASSERT_TRUE(damaged);
    ASSERT_EQ(damaged->parts().size(), 2U);
    EXPECT_EQ(damaged->parts()[0].path, folder_.path("dir/data"));
    ASSERT_EQ(damaged->parts()[0].found.kept.size(), 1U);
    EXPECT_EQ(damaged->parts()[0].found.kept[0].begin, kPipeHeaderBytes);
    EXPECT_EQ(damaged->parts()[0].found.kept[0].end, first.size());
    EXPECT_EQ(damaged->parts()[1].found.records, 1000U);
    EXPECT_TRUE(damaged->clean());
}

// The file is opened once for its events and once for its bytes. The test makes the two differ
// through the path "-": the reader takes it as standard input, the mapping as a file name.
TEST_F(RecoverFiles, HandlesAFileThatShrinksWhileItIsRead)
{
    const FileBuilder builder = recording();
    const std::vector<std::byte> whole = builder.file();
    const Bytes cut = Bytes(whole).first(builder.data_offset() + 3 * kRound + 5);
    folder_.put("whole", whole);
    folder_.put("-", cut);
    const fs::path before = fs::current_path();
    const Fd input(::dup(STDIN_FILENO));
    const Fd longer(::open(folder_.path("whole").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_GE(::dup2(longer.get(), STDIN_FILENO), 0);
    fs::current_path(folder_.dir());
    Result<DamagedRecording> damaged = DamagedRecording::open("-");
    fs::current_path(before);
    ::dup2(input.get(), STDIN_FILENO);
    ASSERT_TRUE(damaged);
    const Recovery &found = damaged->parts()[0].found;
    EXPECT_FALSE(found.header_whole);
    EXPECT_EQ(found.records, 12U);
    ASSERT_EQ(found.lost.size(), 1U);
    EXPECT_EQ(found.lost[0].end, cut.size());
}

constexpr uint64_t kLongBufferBytes = uint64_t{100} << 20;

// Writes a recording of 400 MiB of AUX buffers with a gap of 100 MiB; the file is mostly sparse.
void put_long_recording(const std::string &path)
{
    FileBuilder builder;
    builder.event(24, kSampleType, {7}).pmu(24, "hisi_ptt0_2");
    const std::vector<std::byte> file = builder.file();
    std::vector<std::byte> front(file.begin(),
                                 file.begin() + static_cast<ptrdiff_t>(builder.data_offset()));
    store<uint64_t>(front.data() + 48, 0, std::endian::little);
    FileBuilder one;
    one.auxtrace(7, 0, 0, {});
    std::vector<std::byte> header = one.records();
    store<uint64_t>(header.data() + 8, kLongBufferBytes, std::endian::little);
    Fd fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(write_all(fd.get(), front, path));
    for (int i = 0; i < 5; i++) {  // the second buffer has no header: a gap
        ASSERT_TRUE(write_all(fd.get(), i == 1 ? filled(header.size(), 0) : header, path));
        ASSERT_EQ(::ftruncate(fd.get(), ::lseek(fd.get(), 0, SEEK_END) + kLongBufferBytes), 0);
    }
}

// Resident memory does not grow with the file, in recover, cut and merge.
TEST_F(RecoverFiles, MemoryDoesNotGrowWithTheFile)
{
    constexpr long kMostKib = 64 * 1024;
    const std::string path = folder_.path("long"), cut = folder_.path("cut"),
                      merged = folder_.path("merged");
    put_long_recording(path);
    const long before_kib = peak_kib();
    Result<DamagedRecording> damaged = DamagedRecording::open(path);
    ASSERT_TRUE(damaged);
    EXPECT_EQ(damaged->parts()[0].found.aux_buffers, 4U);
    ASSERT_EQ(damaged->parts()[0].found.lost.size(), 1U);
    EXPECT_EQ(damaged->parts()[0].found.lost[0].end - damaged->parts()[0].found.lost[0].begin,
              kLongBufferBytes + 48);
    ASSERT_TRUE(finished(damaged->write(written_)));
    EXPECT_LT(peak_kib() - before_kib, kMostKib);
    EXPECT_EQ(fs::file_size(written_) / kLongBufferBytes, 4U);

    Result<Reader> plan = Reader::open_path(written_), copy = Reader::open_path(written_);
    CutSelection selection;
    selection.buffers = {2};
    Result<CutRecording> made = cut_recording(*plan, *copy, selection, cut);
    ASSERT_TRUE(made && made->file.finish());
    EXPECT_LT(peak_kib() - before_kib, kMostKib);
    EXPECT_EQ(fs::file_size(cut) / kLongBufferBytes, 1U);

    std::vector<Reader> inputs;
    for (const std::string &input : {cut, cut}) {
        Result<Reader> reader = Reader::open_path(input);
        ASSERT_TRUE(reader);
        inputs.push_back(std::move(*reader));
    }
    Result<Merged> both = merge_recordings(inputs, merged);
    ASSERT_TRUE(both && both->file.finish());
    EXPECT_LT(peak_kib() - before_kib, kMostKib);
    EXPECT_EQ(fs::file_size(merged) / kLongBufferBytes, 2U);
}

}  // namespace
}  // namespace pmukit::perfdata
