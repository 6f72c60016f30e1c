// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Builds records word by word, and compares what the decoder finds with the values they were built
// from.
#include "decode/imc/imc_decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pmukit::decode::imc {
namespace {

constexpr uint64_t kLow42 = 0x3ffffffffff;
constexpr uint64_t kFirst = uint64_t{5} << 42 | 1000;  // also has bits that tb2 lacks

using Stream = std::vector<std::byte>;

void put(Stream &to, uint64_t word)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        to.push_back(static_cast<std::byte>(word >> shift));
}

void put_record(Stream &to, uint64_t timebase, uint64_t ip = 0x401000, uint64_t val = 0)
{
    for (uint64_t word : {timebase, ip, val, uint64_t{11}, uint64_t{12}, uint64_t{13}, uint64_t{14},
                          timebase & kLow42})
        put(to, word);
}

// Records with the times kFirst, kFirst + 1 ...
Stream stream_of(size_t records)
{
    Stream stream;
    for (size_t i = 0; i < records; i++)
        put_record(stream, kFirst + i, 0x401000 + 4 * i);
    return stream;
}

class Found final : public Sink {
public:
    void records(uint64_t offset, Records records) override
    {
        EXPECT_GT(records.size(), 0U);
        EXPECT_GE(offset, end);
        for (size_t i = 0; i < records.size(); i++) {
            offsets.push_back(offset + i * kRecordBytes);
            times.push_back(records[i].timebase);
            ips.push_back(records[i].ip);
        }
        end = offset + records.size() * kRecordBytes;
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        EXPECT_GE(offset, end);
        end = offset + bytes;
        skips.emplace_back(offset, bytes);
    }
    uint64_t skipped_bytes() const
    {
        uint64_t bytes = 0;
        for (const auto &skip : skips)
            bytes += skip.second;
        return bytes;
    }
    std::vector<uint64_t> offsets, times, ips;
    std::vector<std::pair<uint64_t, uint64_t>> skips;
    uint64_t end = 0;
};

Found decode(Bytes bytes, size_t step = SIZE_MAX, uint64_t start = 0)
{
    Found found;
    StreamDecoder decoder(found);
    decoder.start(start);
    while (!bytes.empty()) {
        const size_t size = std::min(step, bytes.size());
        decoder.data(bytes.first(size));
        bytes = bytes.subspan(size);
    }
    decoder.end();
    return found;
}

using Skips = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(ImcRecord, IsEightBigEndianWords)
{
    Stream stream;
    put_record(stream, kFirst, 0xc000000000123456, uint64_t{2} << 62 | 77);
    const Record record = Records(stream)[0];
    EXPECT_EQ(record.timebase, kFirst);
    EXPECT_EQ(record.ip, 0xc000000000123456U);
    EXPECT_EQ(record.val, uint64_t{2} << 62 | 77);
    EXPECT_EQ(record.cpmc, (std::array<uint64_t, 4>{11, 12, 13, 14}));
}

TEST(ImcRecord, ModeIsReadFromTheHvAndPrBitsOrFromTheAddress)
{
    const auto mode = [](uint64_t hv_pr, uint64_t ip, ModeRule rule) {
        return mode_of({1, ip, hv_pr << 62 | 1, {}}, rule);
    };
    EXPECT_EQ(mode(0, 0, ModeRule::kHvPr), Mode::kGuestKernel);
    EXPECT_EQ(mode(1, 0, ModeRule::kHvPr), Mode::kGuestUser);
    EXPECT_EQ(mode(2, 0, ModeRule::kHvPr), Mode::kKernel);
    EXPECT_EQ(mode(3, 0xc000000000000000, ModeRule::kHvPr), Mode::kUser);
    EXPECT_EQ(mode(3, 0xc000000000000000, ModeRule::kAddress), Mode::kKernel);
    EXPECT_EQ(mode(2, 0x7fffffffffffffff, ModeRule::kAddress), Mode::kUser);
}

TEST(ImcStream, DeliversEachRecordOnce)
{
    for (size_t records : {0U, 1U, 2U, 3U, 127U, 128U, 129U, 300U}) {
        const Found found = decode(stream_of(records));
        ASSERT_EQ(found.times.size(), records);
        for (size_t i = 0; i < records; i++) {
            EXPECT_EQ(found.offsets[i], i * kRecordBytes);
            EXPECT_EQ(found.times[i], kFirst + i);
            EXPECT_EQ(found.ips[i], 0x401000 + 4 * i);
        }
        EXPECT_TRUE(found.skips.empty());
    }
}

TEST(ImcStream, PiecesOfAnySizeGiveTheSameResult)
{
    Stream stream = stream_of(20);
    // A damaged byte in the last word of a record.
    stream[3 * kRecordBytes + 60] ^= std::byte{1};
    // Three extra bytes, so that the following records are at unexpected offsets.
    stream.insert(stream.begin() + 7 * kRecordBytes + 10, 3, std::byte{0xaa});
    // A record whose time is not later than that of the previous record.
    put_record(stream, kFirst + 2);
    const Found whole = decode(stream);
    for (size_t step = 1; step < 200; step++) {
        const Found found = decode(stream, step);
        EXPECT_EQ(found.times, whole.times) << step;
        EXPECT_EQ(found.offsets, whole.offsets) << step;
        EXPECT_EQ(found.skips, whole.skips) << step;
    }
}

TEST(ImcStream, TruncatedStreamGivesAllWholeRecords)
{
    const Stream stream = stream_of(5);
    for (size_t size = 0; size < stream.size(); size++) {
        const Found found = decode(Bytes(stream).first(size));
        EXPECT_EQ(found.times.size(), size / kRecordBytes) << size;
        EXPECT_EQ(found.skipped_bytes(), size % kRecordBytes) << size;
    }
}

// Decodes a stream of six records without the first `from` bytes. first_time: time of the first
// record. start: the offset that is passed to start().
void expect_begin(uint64_t first_time, size_t from, uint64_t start)
{
    constexpr size_t kRecords = 6;
    Stream stream;
    for (size_t i = 0; i < kRecords; i++)
        put_record(stream, first_time + 300 * i);
    const size_t first = (from + kRecordBytes - 1) / kRecordBytes;
    const Found found = decode(Bytes(stream).subspan(from), SIZE_MAX, start);
    ASSERT_EQ(found.times.size(), kRecords - first) << from;
    EXPECT_EQ(found.times[0], first_time + 300 * first);
    EXPECT_EQ(found.offsets[0], start + first * kRecordBytes - from);
    EXPECT_EQ(found.skipped_bytes(), first * kRecordBytes - from);
}

TEST(ImcStream, FindsFirstRecordIfStreamBeginsInsideARecordAtKnownOffset)
{
    for (size_t from = 0; from < 3 * kRecordBytes; from++)
        for (uint64_t time : {uint64_t{1000}, kFirst, kFirst | uint64_t{1} << 40})
            expect_begin(time, from, from);
}

TEST(ImcStream, FindsFirstRecordIfStreamBeginsInsideARecordAtUnknownOffset)
{
    for (size_t from = 0; from < 3 * kRecordBytes; from++)
        expect_begin(kFirst | uint64_t{1} << 40, from, 0);
}

// With counters of 0 and a small timebase, the offset one byte before a record looks like a record,
// too.
TEST(ImcStream, FindsRecordsIfOtherOffsetsLookLikeRecords)
{
    Stream stream(3, std::byte{0x77});
    for (uint64_t i = 0; i < 6; i++)
        for (uint64_t word : {1000 + 70 * i, uint64_t{0}, uint64_t{0}, uint64_t{0}, uint64_t{0},
                              uint64_t{0}, uint64_t{0}, 1000 + 70 * i})
            put(stream, word);
    for (size_t from = 0; from < kRecordBytes; from++) {
        const Found found = decode(Bytes(stream).subspan(from), SIZE_MAX, 1);
        ASSERT_EQ(found.times.size(), from <= 3 ? 6U : 5U) << from;
        EXPECT_EQ(found.times[0], from <= 3 ? 1000U : 1070U);
    }
}

TEST(ImcStream, DamagedByteLosesOnlyTheRecordThatContainsIt)
{
    const Stream good = stream_of(5);
    for (size_t at = 0; at < kRecordBytes; at++) {
        Stream stream = good;
        stream[2 * kRecordBytes + at] ^= std::byte{0x80};
        const Found found = decode(stream);
        // Only damage to the times of a record, which are its first and its last word, can be
        // detected.
        const bool checked = at < 8 || at >= 56;
        EXPECT_EQ(found.times.size(), checked ? 4U : 5U) << at;
        EXPECT_EQ(found.skips, checked ? Skips({{128, 64}}) : Skips()) << at;
    }
}

TEST(ImcStream, DeliversIntactRecordsIfEverySecondRecordIsDamaged)
{
    Stream stream = stream_of(8);
    for (size_t i = 0; i < 8; i += 2)
        stream[i * kRecordBytes + 63] ^= std::byte{1};
    const Found found = decode(stream);
    EXPECT_EQ(found.times, (std::vector<uint64_t>{kFirst + 1, kFirst + 3, kFirst + 5, kFirst + 7}));
    EXPECT_EQ(found.skips, (Skips{{0, 64}, {128, 64}, {256, 64}, {384, 64}}));
}

TEST(ImcStream, FindsNextRecordAfterMissingOrExtraBytes)
{
    Stream stream = stream_of(10);
    stream.erase(stream.begin() + 3 * kRecordBytes + 5, stream.begin() + 3 * kRecordBytes + 25);
    const Found fewer = decode(stream);
    EXPECT_EQ(fewer.times.size(), 9U);
    EXPECT_EQ(fewer.skips, (Skips{{3 * 64, 44}}));
    stream = stream_of(10);
    stream.insert(stream.begin() + 3 * kRecordBytes, 7, std::byte{0x55});
    const Found more = decode(stream);
    EXPECT_EQ(more.times.size(), 10U);
    EXPECT_EQ(more.skips, (Skips{{3 * 64, 7}}));
}

TEST(ImcStream, AcceptsSingleRecordOnlyAtAnExpectedOffset)
{
    Stream stream(kRecordBytes);
    put_record(stream, kFirst);
    stream.resize(3 * kRecordBytes);
    EXPECT_EQ(decode(stream).offsets, (std::vector<uint64_t>{64}));
    stream.insert(stream.begin(), std::byte{0});
    EXPECT_EQ(decode(stream).times.size(), 0U);
    EXPECT_EQ(decode(stream).skipped_bytes(), stream.size());
    // A record that ends the data needs no successor.
    EXPECT_EQ(decode(Bytes(stream).first(1 + 2 * kRecordBytes)).offsets,
              (std::vector<uint64_t>{65}));
}

TEST(ImcStream, SkipsZeros)
{
    const Stream zeros(1000);
    const Found found = decode(zeros);
    EXPECT_TRUE(found.times.empty());
    EXPECT_EQ(found.skips, (Skips{{0, 1000}}));
}

TEST(ImcStream, SkipsRecordsWhoseTimeDoesNotIncrease)
{
    // The engine's buffer has wrapped: records of the previous round follow the newest ones.
    Stream stream;
    for (uint64_t time : {50, 51, 52, 40, 41, 52, 42, 53})
        put_record(stream, kFirst + time);
    const Found found = decode(stream);
    EXPECT_EQ(found.times,
              (std::vector<uint64_t>{kFirst + 50, kFirst + 51, kFirst + 52, kFirst + 53}));
    EXPECT_EQ(found.skips, (Skips{{3 * 64, 4 * 64}}));
}

TEST(ImcStream, RecordsAfterOneWithADamagedTimeAreNotSkipped)
{
    for (size_t bad : {0U, 2U}) {
        Stream stream = stream_of(5);
        // This bit of tb1 is above those that tb2 has.
        stream[bad * kRecordBytes] ^= std::byte{0x80};
        const Found found = decode(stream);
        EXPECT_EQ(found.times.size(), 4U);
        EXPECT_EQ(found.skips, (Skips{{bad * 64, 64}}));
    }
}

TEST(ImcStream, FindsRecordAtExpectedOffsetAfterLossOfKnownSize)
{
    const Stream stream = stream_of(4);
    Found found;
    StreamDecoder decoder(found);
    decoder.start(0);
    decoder.data(Bytes(stream).first(100));
    // The rest of the second record and the whole third record.
    decoder.loss(28 + 64);
    decoder.data(Bytes(stream).subspan(192));
    decoder.end();
    EXPECT_EQ(found.offsets, (std::vector<uint64_t>{0, 192}));
    EXPECT_EQ(found.skips, (Skips{{64, 36}}));
}

TEST(ImcStream, SingleRecordAfterALossOfUnknownSizeIsDecoded)
{
    const Stream stream = stream_of(4);
    Found found;
    StreamDecoder decoder(found);
    decoder.start(0);
    decoder.data(Bytes(stream).first(100));
    decoder.loss(0);
    // Only one record follows, without another one that would confirm it.
    Stream rest(Bytes(stream).begin() + 128, Bytes(stream).begin() + 192);
    rest.resize(rest.size() + 200);
    decoder.data(rest);
    decoder.end();
    EXPECT_EQ(found.offsets, (std::vector<uint64_t>{0, 100}));
    EXPECT_EQ(found.skips, (Skips{{64, 36}, {164, 200}}));
}

TEST(ImcStream, FindsRecordsAfterLossThatChangesTheirAlignment)
{
    const Stream stream = stream_of(4);
    Found found;
    StreamDecoder decoder(found);
    decoder.start(0);
    decoder.data(Bytes(stream).first(64));
    decoder.loss(10);
    decoder.data(Bytes(stream).subspan(64));
    decoder.end();
    EXPECT_EQ(found.offsets, (std::vector<uint64_t>{0, 74, 138, 202}));
    EXPECT_TRUE(found.skips.empty());
}

TEST(ImcStream, StartDiscardsEarlierData)
{
    const Stream stream = stream_of(3);
    Found found;
    StreamDecoder decoder(found);
    decoder.start(0);
    decoder.data(Bytes(stream).first(150));
    decoder.start(0);
    found.end = 0;
    decoder.data(stream);
    decoder.end();
    EXPECT_EQ(found.times.size(), 1U + 3U) << "the second record waited for its successor";
    EXPECT_TRUE(found.skips.empty());
}

TEST(ImcStream, SettleDeliversTheLastRecordWithoutWaitingForTheNextOne)
{
    const Stream stream = stream_of(2);
    Found found;
    StreamDecoder decoder(found);
    decoder.start(0);
    decoder.data(Bytes(stream).first(64));
    EXPECT_EQ(found.times.size(), 0U);
    decoder.settle();
    EXPECT_EQ(found.times.size(), 1U);
    decoder.data(Bytes(stream).subspan(64));
    decoder.end();
    EXPECT_EQ(found.times.size(), 2U);
}

TEST(ImcStream, RecognizesAStreamOfRecords)
{
    Stream stream = stream_of(2);
    EXPECT_TRUE(looks_like_records(stream));
    EXPECT_TRUE(looks_like_records(Bytes(stream).first(64)));
    EXPECT_FALSE(looks_like_records(Bytes(stream).first(63)));
    EXPECT_FALSE(looks_like_records(Stream(128)));
    Stream twice = stream_of(1);
    put_record(twice, kFirst);
    EXPECT_FALSE(looks_like_records(twice)) << "the same time";
}

// Samples

Stream raw_of(uint64_t sequence, uint64_t lost, uint64_t timebase)
{
    Stream raw(sizeof(pmukit_raw_header) + 16);
    store_le<uint32_t>(raw.data() + 8, 0x20434d49);
    store_le<uint64_t>(raw.data() + 12, sequence);
    store_le<uint64_t>(raw.data() + 20, lost);
    put_record(raw, timebase, 0x1234);
    return raw;
}

TEST(ImcSample, DecodesSequenceNumberLossCountAndRecord)
{
    const Stream raw = raw_of(7, 3, kFirst);
    const std::optional<Bytes> words = words_of_raw(raw);
    ASSERT_TRUE(words);
    const std::optional<SampleRecord> sample = parse_sample_record(*words);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->sequence, 7U);
    EXPECT_EQ(sample->lost, 3U);
    EXPECT_EQ(sample->record.timebase, kFirst);
    EXPECT_EQ(sample->record.ip, 0x1234U);
    for (size_t size = 0; size < words->size(); size++)
        EXPECT_FALSE(parse_sample_record(words->first(size))) << size;
}

TEST(ImcSample, RejectsPayloadsWithAnotherOrATruncatedTag)
{
    Stream raw = raw_of(7, 3, kFirst);
    raw[8] ^= std::byte{1};
    EXPECT_FALSE(words_of_raw(raw));
    for (size_t size = 0; size < sizeof(pmukit_raw_header); size++)
        EXPECT_FALSE(words_of_raw(Bytes(raw_of(7, 3, kFirst)).first(size))) << size;
}

TEST(ImcSample, RejectsARecordWithDifferingOrZeroTimebases)
{
    Stream raw = raw_of(7, 3, kFirst);
    raw.back() ^= std::byte{1};
    EXPECT_FALSE(parse_sample_record(*words_of_raw(raw)));
    EXPECT_FALSE(parse_sample_record(*words_of_raw(raw_of(7, 3, 0))));
}

TEST(ImcSample, CountsMissingLostAndDuplicateSamples)
{
    SampleAccount account;
    const auto note = [&account](uint64_t sequence, uint64_t lost) {
        return account.note({sequence, lost, {}});
    };
    EXPECT_TRUE(note(5, 2)) << "a recording may begin anywhere";
    EXPECT_TRUE(note(6, 2));
    EXPECT_TRUE(note(9, 4));
    EXPECT_FALSE(note(9, 4));
    EXPECT_FALSE(note(6, 2));
    EXPECT_TRUE(note(10, 4));
    EXPECT_EQ(account.missing(), 2U);
    EXPECT_EQ(account.lost(), 4U);
    EXPECT_EQ(account.duplicates(), 2U);
}

}  // namespace
}  // namespace pmukit::decode::imc
