// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Golden vectors: the lines that the CXL HMU RFC prints (header words 29c/10 and deadbeef, then
// entries), the same with pmukit's extra words, and truncated, damaged and invalid variants.
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace pmukit::decode::cxl_hmu {
namespace {

// The RFC's example has the header "units: 29c counter_width 10" but prints only eight entries. So
// the number of units is 8 here.
constexpr uint64_t kRfcWord0 = 0x10'0008;
const std::vector<uint64_t> kRfcRecord = {kRfcWord0, 0xdeadbeef, 0x0283,  0x10364, 0x20366,
                                          0x3033c,   0x40343,    0x502ff, 0x6030d, 0x7031a};

// Word 0 in the layout of pmukit 0.1.0. With `extra` 0, it is also the RFC's layout. Its number of
// words does not include the extra words.
uint64_t old_word0(uint64_t entries, uint64_t width, uint64_t extra)
{
    return entries | width << 16 | extra << 56;
}

// Word 0 in the current layout. Its number of words includes the extra words, as bit 24 indicates.
uint64_t word0(uint64_t entries, uint64_t width, uint64_t extra)
{
    return (entries + extra) | width << 16 | uint64_t{1} << 24 | extra << 56;
}

// A record with two entries and all extra words: time 1000 ns, unit size 4 KiB, downsampling factor
// 32, flag OVERFLOW, sequence number 7, 3 lost entries.
const std::vector<uint64_t> kFullRecord = {word0(2, 16, 5), 0xdeadbeef, 1000, 12 | 5 << 8, 1, 7, 3,
                                           0x10010,         0x20020};
const std::vector<uint64_t> kOldRecord = {
    old_word0(2, 16, 5), 0xdeadbeef, 1000, 12 | 5 << 8, 1, 7, 3, 0x10010, 0x20020};

std::vector<std::byte> bytes_of(const std::vector<uint64_t> &words)
{
    std::vector<std::byte> bytes(words.size() * 8);
    for (size_t i = 0; i < words.size(); i++)
        store_le(bytes.data() + i * 8, words[i]);
    return bytes;
}

std::vector<std::byte> join(std::initializer_list<std::vector<uint64_t>> records)
{
    std::vector<std::byte> all;
    for (const auto &record : records) {
        std::vector<std::byte> bytes = bytes_of(record);
        all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
}

struct Seen {
    uint64_t offset;
    std::vector<uint64_t> entries;
    bool operator==(const Seen &) const = default;
};

class Collector final : public Sink {
public:
    void record(const Record &record) override
    {
        Seen seen{record.offset, {}};
        for (size_t i = 0; i < record.entries.size(); i++)
            seen.entries.push_back(record.entries[i]);
        records.push_back(seen);
        last = record;
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes += bytes;
        first_skipped = std::min(first_skipped, offset);
    }

    std::vector<Seen> records;
    // The last record. Its words are not valid after record() has returned.
    Record last;
    uint64_t skipped_bytes = 0, first_skipped = UINT64_MAX;
};

// Passes `bytes` to a decoder in pieces of `piece` bytes.
Collector decode(Bytes bytes, size_t piece = SIZE_MAX)
{
    Collector collector;
    StreamDecoder decoder(collector);
    decoder.start(0);
    for (size_t at = 0; at < bytes.size();) {
        size_t part = std::min(piece, bytes.size() - at);
        decoder.data(bytes.subspan(at, part));
        at += part;
    }
    decoder.end();
    return collector;
}

TEST(CxlHmuDecode, ReadsTheRecordOfTheRfc)
{
    Collector got = decode(bytes_of(kRfcRecord));
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.last.counter_width, 16U);
    EXPECT_EQ(got.records[0].entries,
              std::vector<uint64_t>(kRfcRecord.begin() + 2, kRfcRecord.end()));
    EXPECT_EQ(got.last.unit_of(0x7031a), 7U);
    EXPECT_EQ(got.last.count_of(0x7031a), 0x31aU);
    EXPECT_FALSE(got.last.unit_log2);
    EXPECT_FALSE(got.last.sequence);
}

TEST(CxlHmuDecode, ReadsRfcRecordWith0x29cEntries)
{
    std::vector<uint64_t> record = {0x10029c, 0xdeadbeef};
    record.resize(2 + 0x29c, 0x0283);
    Collector got = decode(bytes_of(record));
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.records[0].entries.size(), 0x29cU);
}

TEST(CxlHmuDecode, ReadsPmukitExtraWords)
{
    Collector got = decode(bytes_of(kFullRecord));
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.last.time_ns, 1000U);
    EXPECT_EQ(got.last.unit_log2, 12U);
    EXPECT_EQ(got.last.downsampling_log2, 5U);
    EXPECT_EQ(got.last.flags, PMUKIT_CXL_HMU_F_OVERFLOW);
    EXPECT_EQ(got.last.sequence, 7U);
    EXPECT_EQ(got.last.lost, 3U);
    EXPECT_EQ(got.records[0].entries, (std::vector<uint64_t>{0x10010, 0x20020}));
}

TEST(CxlHmuDecode, ReadsRecordLayoutOfPmukit0_1_0)
{
    Collector old = decode(bytes_of(kOldRecord)), now = decode(bytes_of(kFullRecord));
    EXPECT_EQ(old.records, now.records);
    EXPECT_EQ(old.last.sequence, 7U);
    EXPECT_EQ(old.last.lost, 3U);
    EXPECT_EQ(old.skipped_bytes, 0U);
}

TEST(CxlHmuDecode, DecodesStreamThatMixesAllRecordLayouts)
{
    Collector got = decode(join({kRfcRecord, kOldRecord, kFullRecord, kRfcRecord, kFullRecord}));
    EXPECT_EQ(got.records.size(), 5U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

// A reader that knows only the RFC takes the low bits of word 0 as the number of words after word
// 1. It must find each record of the current layout.
TEST(CxlHmuDecode, ReaderThatKnowsOnlyTheRfcFindsEachRecordOfTheCurrentLayout)
{
    std::vector<uint64_t> words;
    for (uint64_t entries : {0, 1, 57, 2, 300, 0}) {
        words.push_back(word0(entries, 16, 5));
        words.push_back(0xdeadbeef);
        words.resize(words.size() + 5 + entries, 0x10001);
    }
    const Collector ours = decode(bytes_of(words));
    std::vector<uint64_t> starts;
    for (size_t at = 0; at < words.size(); at += 2 + (words[at] & 0xffff)) {
        ASSERT_LT(at + 1, words.size());
        ASSERT_EQ(words[at + 1], 0xdeadbeef);
        ASSERT_EQ(words[at] >> 16 & 0xff, 16U);
        starts.push_back(at * 8);
    }
    ASSERT_EQ(starts.size(), 6U);
    ASSERT_EQ(ours.records.size(), 6U);
    for (size_t i = 0; i < starts.size(); i++)
        EXPECT_EQ(ours.records[i].offset, starts[i]);
    EXPECT_EQ(ours.records[4].entries.size(), 300U) << "the entries, not the words";
}

TEST(CxlHmuDecode, RejectsMoreExtraWordsThanTheRecordHas)
{
    std::vector<uint64_t> words = {word0(0, 16, 5) - 1, 0xdeadbeef, 0, 12, 0, 0, 0};
    Collector got = decode(bytes_of(words));
    EXPECT_TRUE(got.records.empty());
    EXPECT_EQ(got.skipped_bytes, 56U);
}

TEST(CxlHmuDecode, ReadsRecordOfMaximumLength)
{
    std::vector<uint64_t> words = {word0(0xffff - 5, 16, 5), 0xdeadbeef};
    words.resize(2 + 0xffff, 0x10001);
    Collector got = decode(bytes_of(words));
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.records[0].entries.size(), 65530U);
    EXPECT_EQ(got.records[0].entries.size(), size_t{PMUKIT_CXL_HMU_RECORD_ENTRIES_MAX});
    EXPECT_EQ(PMUKIT_CXL_HMU_W0(65530, 16), words[0]);
}

// The extra words have a fixed order, and a record may have only the first few.
TEST(CxlHmuDecode, FieldIsAbsentIfItsExtraWordIsAbsent)
{
    for (uint64_t extra = 0; extra <= 5; extra++) {
        std::vector<uint64_t> words(kFullRecord.begin(), kFullRecord.begin() + 2 + extra);
        words[0] = word0(0, 16, extra);
        const Collector collector = decode(bytes_of(words));
        ASSERT_EQ(collector.records.size(), 1U) << extra;
        const Record &record = collector.last;
        EXPECT_EQ(record.time_ns.has_value(), extra > 0);
        EXPECT_EQ(record.unit_log2.has_value(), extra > 1);
        EXPECT_EQ(record.flags, extra > 2 ? 1U : 0U);
        EXPECT_EQ(record.sequence.has_value(), extra > 3);
        EXPECT_EQ(record.lost.has_value(), extra > 4);
    }
}

TEST(CxlHmuDecode, RejectsInvalidUnitSizesAndDownsamplingFactors)
{
    std::vector<uint64_t> words = {word0(0, 16, 2), 0xdeadbeef, 0, 63 | 63 << 8};
    EXPECT_EQ(decode(bytes_of(words)).last.unit_log2, 63U);
    EXPECT_EQ(decode(bytes_of(words)).last.downsampling_log2, 63U);
    words[3] = 64 | 64 << 8;
    EXPECT_EQ(decode(bytes_of(words)).last.unit_log2, std::nullopt);
    EXPECT_EQ(decode(bytes_of(words)).last.downsampling_log2, std::nullopt);
}

TEST(CxlHmuDecode, IgnoresUnknownExtraWords)
{
    std::vector<uint64_t> record = {word0(1, 16, 255), 0xdeadbeef};
    record.resize(2 + 255, 9);
    record.push_back(0x30001);
    Collector got = decode(bytes_of(record));
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.records[0].entries, std::vector<uint64_t>{0x30001});
    EXPECT_EQ(got.last.sequence, 9U);
}

TEST(CxlHmuDecode, ReadsARecordWithoutEntries)
{
    for (uint64_t width : {1, 63})
        EXPECT_EQ(decode(bytes_of({word0(0, width, 0), 0xdeadbeef})).records.size(), 1U) << width;
}

TEST(CxlHmuDecode, RejectsCounterWidthThatLeavesNoBitsForUnitOrCount)
{
    for (uint64_t width : {0, 64, 255}) {
        Collector got = decode(bytes_of({word0(1, width, 0), 0xdeadbeef, 1}));
        EXPECT_TRUE(got.records.empty()) << width;
        EXPECT_EQ(got.skipped_bytes, 24U) << width;
    }
}

TEST(CxlHmuDecode, PiecesOfAnySizeGiveTheSameResult)
{
    std::vector<std::byte> bytes = join({kRfcRecord, kFullRecord, kRfcRecord});
    Collector whole = decode(bytes);
    ASSERT_EQ(whole.records.size(), 3U);
    for (size_t piece = 1; piece <= bytes.size(); piece++) {
        Collector got = decode(bytes, piece);
        EXPECT_EQ(got.records, whole.records) << piece;
        EXPECT_EQ(got.skipped_bytes, 0U) << piece;
    }
}

TEST(CxlHmuDecode, TruncatedDataGivesWholeRecordsAndReportsTheRest)
{
    std::vector<std::byte> bytes = join({kRfcRecord, kFullRecord, kRfcRecord});
    const size_t ends[] = {kRfcRecord.size() * 8, (kRfcRecord.size() + kFullRecord.size()) * 8,
                           bytes.size()};
    for (size_t size = 0; size <= bytes.size(); size++) {
        Collector got = decode(Bytes(bytes).first(size));
        size_t whole = 0, used = 0;
        for (size_t end : ends)
            if (end <= size) {
                whole++;
                used = end;
            }
        EXPECT_EQ(got.records.size(), whole) << size;
        EXPECT_EQ(got.skipped_bytes, size - used) << size;
    }
}

TEST(CxlHmuDecode, FindsTheNextRecordAfterDamage)
{
    std::vector<std::byte> bytes = join({kFullRecord, {1, 2, 3, 4, 5}, kRfcRecord, kFullRecord});
    for (size_t piece : {size_t{1}, size_t{8}, size_t{24}, bytes.size()}) {
        Collector got = decode(bytes, piece);
        ASSERT_EQ(got.records.size(), 3U) << piece;
        EXPECT_EQ(got.skipped_bytes, 40U) << piece;
        EXPECT_EQ(got.first_skipped, kFullRecord.size() * 8) << piece;
        EXPECT_EQ(got.records[1].offset, (kFullRecord.size() + 5) * 8) << piece;
    }
}

TEST(CxlHmuDecode, EntryWithTheValueOfTheMarkStartsNoRecord)
{
    // During the search, word 0 and word 1 look like a header, but no record follows it.
    std::vector<std::byte> bytes =
        join({{7, word0(1, 16, 0), 0xdeadbeef, 5, 6}, kRfcRecord, kRfcRecord});
    Collector got = decode(bytes);
    ASSERT_EQ(got.records.size(), 2U);
    EXPECT_EQ(got.skipped_bytes, 40U);
}

TEST(CxlHmuDecode, SkipsRecordsTruncatedByALossAndDecodesTheNext)
{
    std::vector<std::byte> bytes = join({kRfcRecord, kRfcRecord, kFullRecord});
    Collector got;
    StreamDecoder decoder(got);
    decoder.start(0);
    // Half of the first record.
    decoder.data(Bytes(bytes).first(40));
    // The second half of the first record and the first half of the second are lost.
    decoder.loss(kRfcRecord.size() * 8);
    decoder.data(Bytes(bytes).subspan(40 + kRfcRecord.size() * 8));
    decoder.end();
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.records[0].offset, 2 * kRfcRecord.size() * 8);
    EXPECT_EQ(got.skipped_bytes, kRfcRecord.size() * 8);
}

TEST(CxlHmuDecode, FindsRecordAfterLossThatEndsInsideAWord)
{
    std::vector<std::byte> bytes = bytes_of(kRfcRecord);
    Collector got;
    StreamDecoder decoder(got);
    decoder.start(0);
    decoder.loss(3);
    // Five bytes, up to the next word boundary.
    decoder.data(Bytes(bytes).first(5));
    decoder.data(bytes);
    decoder.end();
    ASSERT_EQ(got.records.size(), 1U);
    EXPECT_EQ(got.records[0].offset, 8U);
    EXPECT_EQ(got.skipped_bytes, 5U);
}

TEST(CxlHmuDecode, RecordAfterALossOfUnknownSizeBetweenRecordsIsDecoded)
{
    std::vector<std::byte> bytes = bytes_of(kRfcRecord);
    Collector got;
    StreamDecoder decoder(got);
    decoder.start(0);
    decoder.data(bytes);
    decoder.loss(0);
    decoder.data(bytes);
    decoder.end();
    EXPECT_EQ(got.records.size(), 2U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST(CxlHmuDecode, EveryByteIsInARecordOrSkipped)
{
    std::mt19937_64 random(2026);
    for (int round = 0; round < 300; round++) {
        std::vector<uint64_t> words(random() % 200);
        for (uint64_t &word : words) {
            const uint64_t kinds[] = {random(), 0xdeadbeef,
                                      word0(random() % 40, random() % 70, random() % 9), 5,
                                      old_word0(random() % 40, random() % 70, random() % 9)};
            word = kinds[random() % 5];
        }
        std::vector<std::byte> bytes = bytes_of(words);
        bytes.resize(bytes.size() - (bytes.empty() ? 0 : random() % 8));

        class Counter final : public Sink {
        public:
            void record(const Record &record) override
            {
                bytes += (2 + record.extra.size() + record.entries.size()) * 8;
            }
            void skipped(uint64_t, uint64_t count) override { bytes += count; }
            uint64_t bytes = 0;
        } counter;
        StreamDecoder decoder(counter);
        decoder.start(0);
        for (size_t at = 0; at < bytes.size();) {
            size_t part = std::min<size_t>(1 + random() % 64, bytes.size() - at);
            decoder.data(Bytes(bytes).subspan(at, part));
            at += part;
        }
        decoder.end();
        EXPECT_EQ(counter.bytes, bytes.size()) << "round " << round;
    }
}

TEST(CxlHmuRaw, FindsTheRecordAfterTheTagOfARawSample)
{
    std::vector<std::byte> raw(12);
    store_le<uint32_t>(raw.data() + 8, PMUKIT_RAW_TAG_CXL_HMU);
    std::vector<std::byte> words = bytes_of(kRfcRecord);
    raw.insert(raw.end(), words.begin(), words.end());
    std::optional<Bytes> got = words_of_raw(raw);
    ASSERT_TRUE(got);
    EXPECT_TRUE(std::ranges::equal(*got, words));
    EXPECT_TRUE(looks_like_record(*got));
}

TEST(CxlHmuRaw, RejectsOtherTagAndTruncatedPayload)
{
    std::vector<std::byte> raw(12);
    EXPECT_FALSE(words_of_raw(raw));
    store_le<uint32_t>(raw.data() + 8, PMUKIT_RAW_TAG_CXL_HMU);
    for (size_t size = 0; size < raw.size(); size++)
        EXPECT_FALSE(words_of_raw(Bytes(raw).first(size))) << size;
    EXPECT_TRUE(words_of_raw(raw)->empty());
}

}  // namespace
}  // namespace pmukit::decode::cxl_hmu
