// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes golden entries from testdata: whole, truncated, from any offset, in pieces, and damaged.
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "decode/hisi_ptt/hisi_ptt_scan.hpp"
#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

using testing::Buffer;
using testing::join;
using testing::stream_of;

std::string line_of(const Packet &packet)
{
    return fmt::format("{} time {} {}{}", packet.format == Format::k8dw ? "8dw" : "4dw",
                       packet.time, packet.strongly_ordered ? "so " : "",
                       tlp_text(parse_tlp(packet)));
}

struct Gap {
    uint64_t offset, bytes;
    bool operator==(const Gap &) const = default;
};

class Collector final : public Sink {
public:
    void packet(const Packet &packet) override
    {
        packets.push_back(packet);
        lines.push_back(line_of(packet));
        given_bytes += packet_bytes(packet.format);
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        gaps.push_back({offset, bytes});
        skipped_bytes += bytes;
    }
    void lost(uint64_t offset, uint64_t bytes) override { losses.push_back({offset, bytes}); }

    std::vector<Packet> packets;
    std::vector<std::string> lines;
    std::vector<Gap> gaps, losses;
    uint64_t skipped_bytes = 0, given_bytes = 0;
};

// Decodes bytes in pieces of `piece` bytes, as a stream that begins at this offset.
Collector decode(Format format, Bytes bytes, uint64_t offset = 0, size_t piece = SIZE_MAX)
{
    Collector collector;
    StreamDecoder decoder(collector, {format});
    decoder.start(offset);
    for (size_t at = 0; at < bytes.size();) {
        const size_t part = std::min(piece, bytes.size() - at);
        decoder.data(bytes.subspan(at, part));
        at += part;
    }
    decoder.end();
    return collector;
}

class HisiPttVectors : public ::testing::TestWithParam<Format> {
protected:
    HisiPttVectors() : vectors_(testing::read_vectors(GetParam() == Format::k8dw ? "8dw" : "4dw"))
    {
    }
    testing::Vectors vectors_;
};

TEST_P(HisiPttVectors, DecodeToTheExpectedText)
{
    const Collector got = decode(GetParam(), vectors_.bytes);
    EXPECT_EQ(got.lines, vectors_.lines);
    EXPECT_EQ(got.skipped_bytes, 0U);
    ASSERT_FALSE(vectors_.lines.empty());
}

TEST_P(HisiPttVectors, TruncatedDataGivesWholeEntriesAndReportsTheRest)
{
    for (size_t size = 0; size < vectors_.bytes.size(); size++) {
        const Collector got = decode(GetParam(), Bytes(vectors_.bytes).first(size));
        EXPECT_EQ(got.given_bytes + got.skipped_bytes, size);
        EXPECT_EQ(got.lines.size(), size / packet_bytes(GetParam()));
        EXPECT_TRUE(std::equal(got.lines.begin(), got.lines.end(), vectors_.lines.begin())) << size;
    }
}

TEST_P(HisiPttVectors, PiecesOfAnySizeGiveTheSameResult)
{
    for (size_t piece = 1; piece < 100; piece++)
        EXPECT_EQ(decode(GetParam(), vectors_.bytes, 0, piece).lines, vectors_.lines) << piece;
}

INSTANTIATE_TEST_SUITE_P(Testdata, HisiPttVectors, ::testing::Values(Format::k4dw, Format::k8dw));

class HisiPttStream : public ::testing::TestWithParam<Format> {
protected:
    size_t size() const { return packet_bytes(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Formats, HisiPttStream, ::testing::Values(Format::k4dw, Format::k8dw),
                         [](const auto &of) { return of.param == Format::k8dw ? "8dw" : "4dw"; });

TEST_P(HisiPttStream, StreamThatStartsInsideAnEntryLosesOnlyThatEntry)
{
    const Buffer all = stream_of(GetParam(), 300);
    for (size_t begin = 1; begin <= 64; begin++) {
        const Collector got = decode(GetParam(), Bytes(all).subspan(begin), begin);
        const size_t first = (begin + size() - 1) / size() * size();
        ASSERT_FALSE(got.packets.empty());
        EXPECT_EQ(got.packets[0].offset, first) << begin;
        EXPECT_EQ(got.packets.size(), 300 - first / size()) << begin;
        EXPECT_EQ(got.skipped_bytes, first - begin) << begin;
    }
}

TEST_P(HisiPttStream, PiecesOfAnySizeGiveTheSameResultWithDamage)
{
    Buffer all = stream_of(GetParam(), 200);
    std::fill_n(all.begin() + 1003, 150, std::byte{0x5f});
    const Collector whole = decode(GetParam(), all);
    for (size_t piece : {1U, 3U, 16U, 31U, 32U, 33U, 1023U, 1024U, 1025U, 2047U}) {
        const Collector got = decode(GetParam(), all, 0, piece);
        EXPECT_EQ(got.lines, whole.lines) << piece;
        EXPECT_EQ(got.gaps, whole.gaps) << piece;
    }
}

TEST_P(HisiPttStream, DecoderThatIsMovedInsideAnEntryContinuesIt)
{
    const Buffer all = stream_of(GetParam(), 3);
    const size_t cut = size() + 5;
    Collector got;
    StreamDecoder first(got, {GetParam()});
    first.start(0);
    first.data(Bytes(all).first(cut));
    StreamDecoder moved(std::move(first));
    first = StreamDecoder(got, {GetParam()});
    moved.data(Bytes(all).subspan(cut));
    moved.end();
    EXPECT_EQ(got.lines, decode(GetParam(), all).lines);
}

TEST_P(HisiPttStream, ResumesAfterLossOfKnownSize)
{
    const Buffer all = stream_of(GetParam(), 200);
    const size_t cut = 50 * size() + 5, again = 100 * size() + 9;
    Collector got;
    StreamDecoder decoder(got, {GetParam()});
    decoder.start(0);
    decoder.data(Bytes(all).first(cut));
    decoder.loss(again - cut);
    decoder.data(Bytes(all).subspan(again));
    decoder.end();
    EXPECT_EQ(got.packets.size(), 50U + 99U);
    EXPECT_EQ(got.losses, (std::vector<Gap>{{cut, again - cut}}));
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{cut - 5, 5}, {again, size() - 9}}));
    EXPECT_EQ(got.packets[50].offset, 101 * size());
}

TEST_P(HisiPttStream, EntryAfterALossOfUnknownSizeBetweenEntriesIsDecoded)
{
    const Buffer all = stream_of(GetParam(), 3);
    Collector got;
    StreamDecoder decoder(got, {GetParam()});
    decoder.start(0);
    decoder.data(Bytes(all).first(2 * size()));
    decoder.loss(0);
    decoder.data(Bytes(all).subspan(2 * size()));
    decoder.end();
    EXPECT_EQ(got.packets.size(), 3U);
    EXPECT_EQ(got.losses, (std::vector<Gap>{{2 * size(), 0}}));
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST_P(HisiPttStream, StartDiscardsDataAndAlignmentOfThePreviousStream)
{
    const Buffer all = stream_of(GetParam(), 2);
    Collector got;
    StreamDecoder decoder(got, {GetParam()});
    decoder.start(0);
    decoder.data(Bytes(all).first(size() + 3));
    decoder.align(size() + 1);
    decoder.start(0);
    decoder.data(all);
    decoder.end();
    EXPECT_EQ(got.packets.back().time, 107U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

// Up to 30 % of the entries are filled with random bytes, and some of these 8DW entries also lose
// their mark. The decoder must deliver exactly the entries that have a mark (4DW: all entries).
TEST_P(HisiPttStream, SkipsOnlyEntriesThatLostTheirMark)
{
    for (unsigned trace = 0; trace < 1000; trace++) {
        std::mt19937 random(trace);
        const Buffer good = stream_of(GetParam(), 200);
        Buffer bad = good;
        std::vector<bool> marked(200, true);
        const unsigned percent = trace % 31;
        for (size_t i = 0; i < marked.size(); i++) {
            if (random() % 100 >= percent)
                continue;
            const auto at = bad.begin() + static_cast<ptrdiff_t>(i * size());
            const bool lose_mark = GetParam() == Format::k8dw && random() % 4 == 0;
            const size_t keep = GetParam() == Format::k8dw && !lose_mark ? 4 : 0;
            std::generate(at + static_cast<ptrdiff_t>(keep), at + static_cast<ptrdiff_t>(size()),
                          [&] { return static_cast<std::byte>(random()); });
            if (lose_mark)
                at[1] = std::byte{0x7f};
            marked[i] = !lose_mark;
        }
        const Collector got = decode(GetParam(), bad, 0, 1 + random() % 5000);
        ASSERT_EQ(got.packets.size(), static_cast<size_t>(std::ranges::count(marked, true)));
        size_t next = 0;
        for (size_t i = 0; i < marked.size(); i++)
            if (marked[i]) {
                Clock clock;
                const Packet wanted =
                    unpack({GetParam()}, i * size(), bad.data() + i * size(), clock);
                ASSERT_EQ(got.packets[next].offset, wanted.offset);
                ASSERT_EQ(got.packets[next].header, wanted.header);
                ASSERT_EQ(got.packets[next++].stamp, wanted.stamp);
            }
        ASSERT_EQ(got.given_bytes + got.skipped_bytes, bad.size());
    }
}

// Data of a device that was started several times. A run is the data from one start to the next.
// Each run except the last ends inside an entry.
struct Runs {
    Buffer bytes;
    std::vector<uint64_t> begins;  // stream offset of the first byte of each run
    std::vector<uint64_t> whole;   // stream offsets of the whole entries
};

Runs runs_of(Format format, std::mt19937 &random, size_t unit)
{
    const size_t size = packet_bytes(format);
    Runs runs;
    const size_t count = 2 + random() % 4;
    for (size_t i = 0; i < count; i++) {
        const size_t entries = 3 + random() % 20, begin = runs.bytes.size();
        const size_t part = i + 1 == count ? 0 : unit * (1 + random() % (size / unit - 1));
        runs.begins.push_back(begin);
        for (size_t k = 0; k < entries; k++)
            runs.whole.push_back(begin + k * size);
        append(runs.bytes, Bytes(stream_of(format, entries + 1)).first(entries * size + part));
    }
    return runs;
}

std::vector<uint64_t> offsets_of(const Collector &got)
{
    std::vector<uint64_t> offsets;
    for (const Packet &packet : got.packets)
        offsets.push_back(packet.offset);
    return offsets;
}

// Passes pieces of random size to the decoder. A piece also ends where the next run begins, and
// align() is called with that offset.
Collector decode_runs(Format format, const Runs &runs, std::mt19937 &random)
{
    Collector got;
    StreamDecoder decoder(got, {format});
    decoder.start(0);
    for (size_t i = 0; i < runs.begins.size(); i++) {
        const size_t end = i + 1 < runs.begins.size() ? runs.begins[i + 1] : runs.bytes.size();
        decoder.align(runs.begins[i]);
        for (size_t at = runs.begins[i]; at < end;) {
            const size_t part = std::min<size_t>(1 + random() % 200, end - at);
            decoder.data(Bytes(runs.bytes).subspan(at, part));
            at += part;
        }
    }
    decoder.end();
    return got;
}

TEST_P(HisiPttStream, AlignAtEachDeviceStartDeliversAllWholeEntries)
{
    std::mt19937 random(35);
    for (unsigned trace = 0; trace < 1000; trace++) {
        const Runs runs = runs_of(GetParam(), random, 1);
        const Collector got = decode_runs(GetParam(), runs, random);
        ASSERT_EQ(offsets_of(got), runs.whole) << trace;
        ASSERT_EQ(got.given_bytes + got.skipped_bytes, runs.bytes.size());
        ASSERT_EQ(got.gaps.size(), runs.begins.size() - 1);
    }
}

// Without align(), only the marks of the entries show where the data of the next device start
// begins.
TEST(HisiPttDecode, MarksShowWhereEntriesBeginAfterADeviceRestart)
{
    std::mt19937 random(38);
    for (unsigned trace = 0; trace < 1000; trace++) {
        const Runs runs = runs_of(Format::k8dw, random, 4);
        const Collector got = decode(Format::k8dw, runs.bytes, 0, 1 + random() % 300);
        ASSERT_EQ(offsets_of(got), runs.whole) << trace;
        ASSERT_EQ(got.given_bytes + got.skipped_bytes, runs.bytes.size());
    }
}

// The data after the last device start may be a single entry, or may end inside its second entry.
TEST(HisiPttDecode, FindsFewEntriesAfterLastDeviceRestartByMarks)
{
    const Buffer all = stream_of(Format::k8dw, 4);
    for (size_t part = 4; part < k8dwBytes; part += 4)
        for (size_t rest : {size_t{32}, size_t{64}, size_t{96}, size_t{44}}) {
            Buffer bytes(all.begin(), all.begin() + static_cast<ptrdiff_t>(64 + part));
            append(bytes, Bytes(all).first(rest));
            const Collector got = decode(Format::k8dw, bytes);
            std::vector<uint64_t> wanted = {0, 32};
            for (size_t at = 0; at + k8dwBytes <= rest; at += k8dwBytes)
                wanted.push_back(64 + part + at);
            EXPECT_EQ(offsets_of(got), wanted) << part << " " << rest;
        }
}

TEST(HisiPttDecode, FindsEntriesAfterDeviceRestartIfPreviousEntryIsDamaged)
{
    Buffer bytes = stream_of(Format::k8dw, 5);
    bytes.resize(4 * k8dwBytes + 12);
    std::fill_n(bytes.begin() + 4 * k8dwBytes, 4, std::byte{0x11});
    append(bytes, stream_of(Format::k8dw, 5));
    const Collector got = decode(Format::k8dw, bytes);
    EXPECT_EQ(got.packets.size(), 9U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{4 * k8dwBytes, 12}}));
}

TEST_P(HisiPttStream, SkipsDataOfUnknownAlignment)
{
    const Buffer all = stream_of(GetParam(), 20);
    Collector got;
    StreamDecoder decoder(got, {GetParam()});
    decoder.start(0);
    decoder.data(Bytes(all).first(5 * size()));
    decoder.align(std::nullopt);
    decoder.data(Bytes(all).subspan(5 * size(), 10 * size() + 3));
    decoder.align(15 * size() + 3);
    decoder.data(Bytes(all).first(2 * size()));
    decoder.end();
    EXPECT_EQ(got.packets.size(), 7U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{5 * size(), 10 * size() + 3}}));
}

TEST_P(HisiPttStream, SecondAlignCallWithTheSameOffsetDoesNotSplitAnEntry)
{
    const Buffer all = stream_of(GetParam(), 20);
    Collector got;
    StreamDecoder decoder(got, {GetParam()});
    decoder.start(0);
    decoder.align(0);
    decoder.data(Bytes(all).first(5 * size() + 7));
    decoder.align(0);
    decoder.data(Bytes(all).subspan(5 * size() + 7));
    decoder.end();
    EXPECT_EQ(got.packets.size(), 20U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST(HisiPttDecode, DamagedEntriesAreReportedAsOneGap)
{
    Buffer all = stream_of(Format::k8dw, 1000);
    std::fill_n(all.begin() + 32 * 100, 32 * 700, std::byte{0x7e});
    const Collector got = decode(Format::k8dw, all, 0, 777);
    EXPECT_EQ(got.packets.size(), 300U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{32 * 100, 32 * 700}}));
    EXPECT_EQ(got.packets[100].offset, 32U * 800);
}

TEST(HisiPttDecode, AllOnesDwordsInsideAnEntryAreNotTakenAsMarks)
{
    Buffer all;
    for (uint32_t i = 0; i < 40; i++)
        join(all, testing::entry_8dw({0x60000001, 0xffffffff, 0xffffffff, 0xfffffffc}, 0xffffffff,
                                     0xffffffff));
    EXPECT_EQ(decode(Format::k8dw, all).packets.size(), 40U);
    EXPECT_EQ(decode(Format::k8dw, Bytes(all).subspan(4), 4).packets.size(), 39U);
}

TEST(HisiPttDecode, DeliversEntriesOfUnknownType)
{
    Buffer all = stream_of(Format::k4dw, 20);
    all.resize(all.size() + 100 * k4dwBytes, std::byte{0x7e});  // Fmt 1, Type 0x1f
    const Collector got = decode(Format::k4dw, all);
    EXPECT_EQ(got.packets.size(), 120U);
    EXPECT_EQ(got.lines.back(), "4dw time 1662 so unknown");
}

// Decodes ten of twenty entries, then a loss of `loss` bytes, then the bytes from `again_at` on.
Collector decode_around_loss(uint64_t loss, size_t again_at)
{
    const Buffer all = stream_of(Format::k4dw, 20);
    Collector collector;
    StreamDecoder decoder(collector, {Format::k4dw});
    decoder.start(0);
    decoder.data(Bytes(all).first(10 * k4dwBytes));
    decoder.loss(loss);
    decoder.data(Bytes(all).subspan(again_at));
    decoder.end();
    return collector;
}

TEST(HisiPttDecode, SkipsIncompleteEntryAfterLossOfKnownSize)
{
    const Collector got = decode_around_loss(40, 10 * k4dwBytes + 40);
    EXPECT_EQ(got.packets.size(), 17U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{10 * k4dwBytes + 40, 8}}));
}

TEST(HisiPttDecode, DecodesEntryDirectlyAfterLossOfUnknownSize)
{
    const Collector got = decode_around_loss(0, 17 * k4dwBytes);
    EXPECT_EQ(got.packets.size(), 13U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST(HisiPttDecode, FormatIsThatOfTheEventConfig)
{
    EXPECT_EQ(format_of(0x0'0110'0001), Format::k4dw);
    EXPECT_EQ(format_of(0x1'0110'0001), Format::k8dw);
}

TEST(HisiPttDecode, DecoderVersionIsReadFromAuxtraceInfoWithVersionOrPattern)
{
    EXPECT_EQ(decoder_version(0), 1U);
    EXPECT_EQ(decoder_version(1), 2U);
    EXPECT_EQ(decoder_version(2), 2U);
    EXPECT_EQ(decoder_version(3), 3U);
    EXPECT_EQ(auxtrace_word(0xf'0110'0001, true), 0U);
    EXPECT_EQ(auxtrace_word(0x11'0110'0001, true), 1U);
    EXPECT_EQ(auxtrace_word(0x1'0110'0001, false), 1U);
}

TEST(HisiPttDecode, Reads14BitTagsExceptInDecoderVersion1)
{
    EXPECT_FALSE(has_wide_tags(1));
    EXPECT_TRUE(has_wide_tags(kDecoderVersion));
    EXPECT_TRUE(has_wide_tags(kDecoderVersion + 1));
    Collector got;
    StreamDecoder decoder(got, {Format::k8dw, true});
    decoder.start(0);
    decoder.data(testing::entry_8dw({0x00000001, 0x0100170f, 0x1000, 1U << 5 | 0xb}, 0));
    EXPECT_EQ(parse_tlp(got.packets.at(0)).tag, 0x2c17);
}

TEST_P(HisiPttStream, OffsetsCanExceedFourGiB)
{
    const uint64_t begin = (uint64_t{1} << 32) - 4 * size();
    const Collector got = decode(GetParam(), stream_of(GetParam(), 300), begin, /*piece=*/333);
    ASSERT_EQ(got.packets.size(), 300U);
    EXPECT_EQ(got.packets[299].offset, begin + 299 * size());
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST_P(HisiPttStream, EntriesOfSamplesHaveConsecutiveOffsets)
{
    const Buffer all = stream_of(GetParam(), 5);
    Collector collector;
    StreamDecoder decoder(collector, {Format::k4dw});
    decoder.start(1000);
    decoder.entries(GetParam(), Bytes(all).first(2 * size()));
    decoder.entries(GetParam(), Bytes(all).subspan(2 * size()));
    decoder.end();
    ASSERT_EQ(collector.packets.size(), 5U);
    EXPECT_EQ(collector.packets[4].offset, 1000 + 4 * size());
}

TEST(HisiPttClock, UnwrapsThe11BitTimeOf4dwEntries)
{
    Clock clock;
    EXPECT_EQ(clock.unwrap(Format::k4dw, 2000), 2000U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 2047), 2047U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 0), 2048U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 0), 2048U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 2047), 4095U);
}

TEST(HisiPttClock, UnwrapsThe32BitTimeOf8dwEntriesWhichMayDecrease)
{
    Clock clock;
    EXPECT_EQ(clock.unwrap(Format::k8dw, 0xffffff00), 0xffffff00U);
    EXPECT_EQ(clock.unwrap(Format::k8dw, 0x10), 0x1'0000'0010U);
    EXPECT_EQ(clock.unwrap(Format::k8dw, 0x08), 0x1'0000'0008U);
    EXPECT_EQ(clock.unwrap(Format::k8dw, 0xffffffff), 0xffffffffU);
}

TEST(HisiPttClock, NeverGoesBelowZero)
{
    Clock clock;
    clock.unwrap(Format::k8dw, 5);
    EXPECT_EQ(clock.unwrap(Format::k8dw, 0xfffffff0), 0U);
}

TEST_P(HisiPttStream, ScanCountsTlpsByTypeAndRequester)
{
    Buffer all = stream_of(GetParam(), 301);
    join(all, testing::entry(GetParam(), testing::completion_tlp(0x345, 1, 4, 1), 0));
    join(all, testing::entry(GetParam(), {0x7f000000, 0x01000000, 0, 0}, 0));
    Scan scan;
    Framer framer(scan, GetParam());
    framer.start(0);
    framer.data(all);
    framer.loss(64);
    framer.end();
    EXPECT_EQ(scan.packets(), 303U);
    EXPECT_EQ(scan.losses(), 1U);
    EXPECT_EQ(scan.skipped_bytes(), 0U);
    // Entry i is a read if i is even; its requester is 0x100 + i % 3.
    EXPECT_EQ(scan.count(0x100, TlpType::kMRd), 51U);
    EXPECT_EQ(scan.count(0x101, TlpType::kMRd), 50U);
    EXPECT_EQ(scan.count(0x102, TlpType::kMWr), 50U);
    EXPECT_EQ(scan.count(0x345, TlpType::kCplD), 1U);
    EXPECT_EQ(scan.count(0x100, TlpType::kUnknown), 1U);
}

TEST(HisiPttDecode, RecognizesTraceDataOnlyInThe8dwFormat)
{
    EXPECT_TRUE(looks_like_entries(stream_of(Format::k8dw, 2)));
    EXPECT_FALSE(looks_like_entries(Bytes(stream_of(Format::k8dw, 2)).first(63)));
    EXPECT_FALSE(looks_like_entries(stream_of(Format::k4dw, 100)));
}

}  // namespace
}  // namespace pmukit::decode::hisi_ptt
