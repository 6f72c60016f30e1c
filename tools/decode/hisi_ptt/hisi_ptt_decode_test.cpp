// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Golden entries out of testdata; the same cut anywhere, begun anywhere, in pieces, damaged and
// amid noise.
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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
                       tlp_text(parse_tlp(packet.header, packet.prefix)));
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

// bytes in pieces of `piece` bytes, as a stream that begins at this offset.
Collector decode(Bytes bytes, uint64_t offset = 0, size_t piece = SIZE_MAX)
{
    Collector collector;
    StreamDecoder decoder(collector);
    decoder.start(offset);
    for (size_t at = 0; at < bytes.size();) {
        const size_t part = std::min(piece, bytes.size() - at);
        decoder.data(bytes.subspan(at, part));
        at += part;
    }
    decoder.end();
    return collector;
}

class HisiPttVectors : public ::testing::TestWithParam<const char *> {};

TEST_P(HisiPttVectors, AreReadAsWritten)
{
    const testing::Vectors vectors = testing::read_vectors(GetParam());
    const Collector got = decode(vectors.bytes);
    EXPECT_EQ(got.lines, vectors.lines);
    EXPECT_EQ(got.skipped_bytes, 0U);
    ASSERT_FALSE(vectors.lines.empty());
}

TEST_P(HisiPttVectors, EveryPrefixGivesItsWholeEntriesAndNamesTheRest)
{
    const testing::Vectors vectors = testing::read_vectors(GetParam());
    const Collector whole = decode(vectors.bytes);
    for (size_t size = 0; size < vectors.bytes.size(); size++) {
        const Collector got = decode(Bytes(vectors.bytes).first(size));
        EXPECT_EQ(got.given_bytes + got.skipped_bytes, size);
        ASSERT_LE(got.lines.size(), whole.lines.size());
        EXPECT_TRUE(std::equal(got.lines.begin(), got.lines.end(), whole.lines.begin())) << size;
        EXPECT_LT(got.skipped_bytes, k8dwBytes) << size;
    }
}

TEST_P(HisiPttVectors, PiecesOfAnySizeGiveTheSame)
{
    const testing::Vectors vectors = testing::read_vectors(GetParam());
    for (size_t piece = 1; piece < 100; piece++)
        EXPECT_EQ(decode(vectors.bytes, 0, piece).lines, vectors.lines) << piece;
}

INSTANTIATE_TEST_SUITE_P(Testdata, HisiPttVectors, ::testing::Values("4dw", "8dw", "mixed"));

class HisiPttStream : public ::testing::TestWithParam<Format> {
protected:
    size_t size() const { return packet_bytes(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Formats, HisiPttStream, ::testing::Values(Format::k4dw, Format::k8dw),
                         [](const auto &of) { return of.param == Format::k8dw ? "8dw" : "4dw"; });

TEST_P(HisiPttStream, BegunAnywhereLosesOnlyTheCutEntry)
{
    const Buffer all = stream_of(GetParam(), 300);
    for (size_t begin = 1; begin <= 64; begin++) {
        const Collector got = decode(Bytes(all).subspan(begin), begin);
        const size_t first = (begin + size() - 1) / size() * size();
        ASSERT_FALSE(got.packets.empty());
        EXPECT_EQ(got.packets[0].offset, first) << begin;
        EXPECT_EQ(got.packets.size(), 300 - first / size()) << begin;
        EXPECT_EQ(got.skipped_bytes, first - begin) << begin;
    }
}

// Not even the offset tells where entries begin.
TEST_P(HisiPttStream, BegunAnywhereAtAnOffsetThatMeansNothing)
{
    const Buffer all = stream_of(GetParam(), 300);
    for (size_t begin = 1; begin <= 32; begin++) {
        const Collector got = decode(Bytes(all).subspan(begin), 0);
        const size_t first = (begin + size() - 1) / size() * size();
        EXPECT_EQ(got.packets.size(), 300 - first / size()) << begin;
        EXPECT_EQ(got.skipped_bytes, first - begin) << begin;
    }
}

TEST_P(HisiPttStream, PiecesOfAnySizeGiveTheSameAmidDamage)
{
    Buffer all = stream_of(GetParam(), 200);
    all.erase(all.begin() + 1003, all.begin() + 1030);
    std::fill_n(all.begin() + 2000, 150, std::byte{0x5f});
    const Collector whole = decode(all);
    EXPECT_GT(whole.skipped_bytes, 0U);
    for (size_t piece : {1U, 3U, 16U, 31U, 32U, 33U, 1023U, 1024U, 1025U, 2047U}) {
        const Collector got = decode(all, 0, piece);
        EXPECT_EQ(got.lines, whole.lines) << piece;
        EXPECT_EQ(got.gaps, whole.gaps) << piece;
    }
}

TEST_P(HisiPttStream, GoesOnBehindALossOfKnownSize)
{
    const Buffer all = stream_of(GetParam(), 200);
    const size_t cut = 50 * size() + 5, again = 100 * size() + 9;
    Collector got;
    StreamDecoder decoder(got);
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

TEST_P(HisiPttStream, ALossOfUnknownSizeLiesBetweenEntries)
{
    const Buffer all = stream_of(GetParam(), 3);
    Collector got;
    StreamDecoder decoder(got);
    decoder.start(0);
    decoder.data(Bytes(all).first(2 * size()));
    decoder.loss(0);
    decoder.data(Bytes(all).subspan(2 * size()));
    decoder.end();
    EXPECT_EQ(got.packets.size(), 3U);
    EXPECT_EQ(got.losses, (std::vector<Gap>{{2 * size(), 0}}));
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST_P(HisiPttStream, ASecondStartForgetsTheFirst)
{
    const Buffer all = stream_of(GetParam(), 2);
    Collector got;
    StreamDecoder decoder(got);
    decoder.start(0);
    decoder.data(Bytes(all).first(size() + 3));
    decoder.start(0);
    decoder.data(all);
    decoder.end();
    EXPECT_EQ(got.packets.back().time, 107U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST(HisiPttDecode, FindsTheMarkAtAnyByteOfNoise)
{
    Buffer all(777, std::byte{0xa5});
    join(all, stream_of(Format::k8dw, 5));
    const Collector got = decode(all);
    EXPECT_EQ(got.packets.size(), 5U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{0, 777}}));
}

// A stamp or an address of all ones is no mark: no entry follows 32 bytes behind it.
TEST(HisiPttDecode, IsNotMisledByOnesInsideAnEntry)
{
    Buffer all;
    for (uint32_t i = 0; i < 40; i++)
        join(all, testing::entry_8dw({0x60000001, 0x0100000f, 0xffffffff, 0xfffffffc}, 0xffffffff));
    for (size_t begin = 1; begin < 32; begin++) {
        const Collector got = decode(Bytes(all).subspan(begin), begin);
        ASSERT_FALSE(got.packets.empty());
        EXPECT_EQ(got.packets[0].offset, 32U) << begin;
    }
}

// Stamps with high bytes of ones and headers that end in zeros: one byte to the left all looks
// alike.
TEST(HisiPttDecode, IsNotMisledByOnesBeforeAnEntry)
{
    Buffer all;
    for (uint32_t i = 0; i < 40; i++)
        join(all, testing::entry_8dw({0x40000001, 0x0100000f, 0x1000, 0}, 0xff000000 + i));
    for (size_t begin = 1; begin < 32; begin++)
        for (uint64_t offset : {begin, size_t{0}}) {
            const Collector got = decode(Bytes(all).subspan(begin), offset);
            EXPECT_EQ(got.packets.size(), 39U) << begin;
            EXPECT_EQ(got.skipped_bytes, 32 - begin);
        }
}

// Where entries begin, judged by what is around

// Bytes that are no entry of either format, wherever one begins in them.
Buffer nothing(size_t bytes)
{
    return Buffer(bytes, std::byte{0x7e});
}

Buffer joined(std::initializer_list<Buffer> parts)
{
    Buffer all;
    for (const Buffer &part : parts)
        join(all, part);
    return all;
}

TEST(HisiPttDecode, SixEntriesThatAgreeAreEnoughAndFiveAreNot)
{
    for (size_t before : {size_t{101}, size_t{112}}) {
        const Collector six = decode(joined({nothing(before), stream_of(Format::k4dw, 6)}));
        EXPECT_EQ(six.packets.size(), 6U);
        EXPECT_EQ(six.gaps, (std::vector<Gap>{{0, before}}));
        const Collector five = decode(joined({nothing(before), stream_of(Format::k4dw, 5)}));
        EXPECT_EQ(five.packets.size(), 0U);
        EXPECT_EQ(five.skipped_bytes, before + 5 * k4dwBytes);
    }
}

TEST(HisiPttDecode, EntriesBetweenDamageAndAnotherFormatAreFound)
{
    const Collector six =
        decode(joined({nothing(37), stream_of(Format::k4dw, 6), stream_of(Format::k8dw, 3)}));
    EXPECT_EQ(six.packets.size(), 9U);
    EXPECT_EQ(six.gaps, (std::vector<Gap>{{0, 37}}));
    const Collector five =
        decode(joined({nothing(37), stream_of(Format::k4dw, 5), stream_of(Format::k8dw, 3)}));
    EXPECT_EQ(five.packets.size(), 3U);
    EXPECT_EQ(five.gaps, (std::vector<Gap>{{0, 37 + 5 * k4dwBytes}}));
}

TEST(HisiPttDecode, OneThatAgreesByChanceIsNotTheFirst)
{
    for (const Buffer &behind : {Buffer(), stream_of(Format::k8dw, 3)}) {
        const Collector got = decode(joined({nothing(16), stream_of(Format::k4dw, 1), nothing(16),
                                             stream_of(Format::k4dw, 8), behind}));
        EXPECT_EQ(got.packets.size(), 8 + behind.size() / k8dwBytes);
        EXPECT_EQ(got.gaps, (std::vector<Gap>{{0, 48}}));
    }
}

TEST(HisiPttDecode, AMarkIsNoneWhenNoEntryFollowsIt)
{
    const Collector got = decode(
        joined({nothing(40), stream_of(Format::k8dw, 1), nothing(40), stream_of(Format::k8dw, 3)}));
    EXPECT_EQ(got.packets.size(), 3U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{0, 40 + k8dwBytes + 40}}));
}

// A whole dword is there to be seen; less is not.
TEST(HisiPttDecode, WhatFollowsTheLastMarkCountsIfThereIsADwordOfIt)
{
    EXPECT_EQ(decode(joined({nothing(33), stream_of(Format::k8dw, 1), nothing(3)})).packets.size(),
              1U);
    EXPECT_EQ(decode(joined({nothing(33), stream_of(Format::k8dw, 1), nothing(4)})).packets.size(),
              0U);
}

TEST(HisiPttDecode, AnEntryOfTheOtherFormatMayBeTheLast)
{
    const Collector got =
        decode(joined({nothing(33), stream_of(Format::k8dw, 1), stream_of(Format::k4dw, 1)}));
    EXPECT_EQ(got.packets.size(), 2U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{0, 33}}));
}

TEST(HisiPttDecode, AShortRunIsNotPassedOverForALongerOneBehindIt)
{
    const Collector got = decode(joined({nothing(33), stream_of(Format::k8dw, 1),
                                         stream_of(Format::k4dw, 1), stream_of(Format::k8dw, 10)}));
    EXPECT_EQ(got.packets.size(), 12U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{0, 33}}));
}

// A prefix that ends in ones and a time that ends in zeros: one byte to the right all looks alike,
// but entries begin where the offset says.
TEST(HisiPttDecode, IsNotMisledByOnesBehindAMark)
{
    Buffer all;
    for (uint32_t i = 0; i < 40; i++)
        join(all,
             testing::entry_8dw({0x40000001, 0x0100000f, 0x1000, 0x12345678}, i << 8, 0x910abcff));
    for (size_t begin = 2; begin < 32; begin++) {
        const Collector got = decode(Bytes(all).subspan(begin), begin);
        ASSERT_EQ(got.packets.size(), 39U) << begin;
        EXPECT_EQ(got.packets[0].prefix, 0x910abcffU);
        EXPECT_EQ(got.skipped_bytes, 32 - begin);
    }
}

// A byte of ones in front, which is where the offset would have the entry: but there only one looks
// like an entry.
TEST(HisiPttDecode, TheLongerChainIsRight)
{
    Buffer all = nothing(31);
    all.push_back(std::byte{0xff});
    for (uint32_t i = 0; i < 5; i++)
        join(all, testing::entry_8dw({0x40000001, 0x0100000f, 0x1000, 0}, i));
    const Collector got = decode(all, 1);
    EXPECT_EQ(got.packets.size(), 5U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{1, 32}}));
}

// The end of a window is not that of the data.
TEST(HisiPttDecode, EntriesThatBeginAtTheEndOfAWindowAreKept)
{
    const Collector got =
        decode(joined({nothing(1000), stream_of(Format::k4dw, 20)}), 0, /*piece=*/1024);
    EXPECT_EQ(got.packets.size(), 20U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{0, 1000}}));
}

// The first ten of twenty entries, a loss, and what is behind it.
Collector decode_around_loss(uint64_t offset, uint64_t loss, size_t again_at)
{
    const Buffer all = stream_of(Format::k4dw, 20);
    Collector collector;
    StreamDecoder decoder(collector);
    decoder.start(offset);
    decoder.data(Bytes(all).first(10 * k4dwBytes));
    decoder.loss(loss);
    decoder.data(Bytes(all).subspan(again_at));
    decoder.end();
    return collector;
}

TEST(HisiPttDecode, BehindALossOfKnownSizeAnEntryMayBeCut)
{
    const Collector got = decode_around_loss(0, 40, 10 * k4dwBytes + 40);
    EXPECT_EQ(got.packets.size(), 17U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{10 * k4dwBytes + 40, 8}}));
}

// Where three could not be told from noise, and the offset means nothing.
TEST(HisiPttDecode, BehindALossOfUnknownSizeTheNextEntryBeginsAtOnce)
{
    const Collector got = decode_around_loss(5, 0, 17 * k4dwBytes);
    EXPECT_EQ(got.packets.size(), 13U);
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST_P(HisiPttStream, OffsetsGoOnBeyondFourGiB)
{
    const uint64_t begin = (uint64_t{1} << 32) - 4 * size();
    const Collector got = decode(stream_of(GetParam(), 300), begin, /*piece=*/333);
    ASSERT_EQ(got.packets.size(), 300U);
    EXPECT_EQ(got.packets[299].offset, begin + 299 * size());
    EXPECT_EQ(got.skipped_bytes, 0U);
}

TEST_P(HisiPttStream, EntriesOfSamplesFollowEachOther)
{
    const Buffer all = stream_of(GetParam(), 5);
    Collector collector;
    StreamDecoder decoder(collector);
    decoder.start(1000);
    decoder.entries(GetParam(), Bytes(all).first(2 * size()));
    decoder.entries(GetParam(), Bytes(all).subspan(2 * size()));
    decoder.end();
    ASSERT_EQ(collector.packets.size(), 5U);
    EXPECT_EQ(collector.packets[4].offset, 1000 + 4 * size());
}

TEST(HisiPttDecode, EightEntriesOfNoTypeAreNoEntries)
{
    Buffer all = stream_of(Format::k4dw, 20);
    all.resize(all.size() + 100 * k4dwBytes, std::byte{0x7e});  // Fmt 1, Type 0x1f
    const Collector got = decode(all);
    EXPECT_EQ(got.packets.size(), 28U);
    EXPECT_EQ(got.gaps, (std::vector<Gap>{{28 * k4dwBytes, 92 * k4dwBytes}}));
}

TEST(HisiPttDecode, NoiseIsAccountedForToTheByte)
{
    std::mt19937 random(20240);
    for (int round = 0; round < 200; round++) {
        Buffer noise(random() % 5000);
        for (std::byte &byte : noise)
            byte = static_cast<std::byte>(random());
        for (int mark = 0; mark < 4 && noise.size() > 64; mark++)
            std::fill_n(noise.begin() + static_cast<ptrdiff_t>(random() % (noise.size() - 64)), 4,
                        std::byte{0xff});
        const Collector got = decode(noise, random() % 100, 1 + random() % 3000);
        EXPECT_EQ(got.given_bytes + got.skipped_bytes, noise.size());
    }
}

// Flipped bytes amid good data: what is read again behind them is what stands there.
TEST_P(HisiPttStream, DamageDoesNotSpread)
{
    const Buffer good = stream_of(GetParam(), 400);
    std::mt19937 random(7);
    for (int round = 0; round < 50; round++) {
        Buffer bad = good;
        const size_t at = 1000 + random() % 2000;
        std::generate_n(bad.begin() + static_cast<ptrdiff_t>(at), random() % 200,
                        [&] { return static_cast<std::byte>(random()); });
        const Collector got = decode(bad);
        const std::vector<std::string> whole = decode(good).lines;
        ASSERT_GE(got.packets.size(), 30U);
        const size_t tail = 400 - (at + 200 + 1024) / size() - 1;
        for (size_t i = 0; i < tail; i++)
            EXPECT_EQ(got.packets[got.packets.size() - 1 - i].offset, (399 - i) * size());
    }
}

TEST(HisiPttClock, UnwrapsElevenBits)
{
    Clock clock;
    EXPECT_EQ(clock.unwrap(Format::k4dw, 2000), 2000U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 2047), 2047U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 0), 2048U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 0), 2048U);
    EXPECT_EQ(clock.unwrap(Format::k4dw, 2047), 4095U);
}

TEST(HisiPttClock, UnwrapsThirtyTwoBitsAndTakesSmallStepsBack)
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

TEST_P(HisiPttStream, ScanCountsByTypeAndRequester)
{
    Buffer all = stream_of(GetParam(), 301);
    join(all, testing::entry(GetParam(), testing::completion_tlp(0x345, 1, 4, 1), 0));
    join(all, testing::entry(GetParam(), {0x7f000000, 0x01000000, 0, 0}, 0));
    Scan scan;
    Framer framer(scan);
    framer.start(0);
    framer.data(all);
    framer.loss(64);
    framer.end();
    EXPECT_EQ(scan.packets(), 303U);
    EXPECT_EQ(scan.losses(), 1U);
    EXPECT_EQ(scan.skipped_bytes(), 0U);
    // Entry i is a read if i is even, and of requester 0x100 + i % 3.
    EXPECT_EQ(scan.count(0x100, TlpType::kMRd), 51U);
    EXPECT_EQ(scan.count(0x101, TlpType::kMRd), 50U);
    EXPECT_EQ(scan.count(0x102, TlpType::kMWr), 50U);
    EXPECT_EQ(scan.count(0x345, TlpType::kCplD), 1U);
    EXPECT_EQ(scan.count(0x100, TlpType::kUnknown), 1U);
}

TEST(HisiPttDecode, TellsItsDataFromOthers)
{
    EXPECT_TRUE(looks_like_entries(stream_of(Format::k8dw, 2)));
    EXPECT_FALSE(looks_like_entries(Bytes(stream_of(Format::k8dw, 2)).first(63)));
    EXPECT_FALSE(looks_like_entries(stream_of(Format::k4dw, 100)));
}

}  // namespace
}  // namespace pmukit::decode::hisi_ptt
