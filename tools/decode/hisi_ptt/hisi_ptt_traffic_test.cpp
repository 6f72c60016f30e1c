// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Histograms, latencies, traffic and the records of samples, from short sequences of TLPs.
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <tuple>
#include <unordered_set>

#include "decode/hisi_ptt/hisi_ptt_latency_matcher.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

using testing::completion_tlp;
using testing::read_tlp;
using testing::write_tlp;

TEST(HisiPttHistogram, BucketWidthIsAtMostAnEighthOfTheValue)
{
    std::mt19937_64 random(3);
    for (int i = 0; i < 2000; i++) {
        const uint64_t value = random() >> (random() % 64);
        Histogram histogram;
        histogram.add(value);
        const Histogram::Bucket bucket = histogram.buckets().at(0);
        EXPECT_LE(bucket.first, value);
        EXPECT_GE(bucket.last, value);
        EXPECT_LE(bucket.last - bucket.first, value / 8);
    }
}

TEST(HisiPttHistogram, BucketsCoverEachNumberOnce)
{
    Histogram histogram;
    for (uint64_t value = 0; value < 8; value++)
        histogram.add(value);
    for (unsigned shift = 0; shift <= 60; shift++)
        for (uint64_t step = 8; step < 16; step++)
            histogram.add(step << shift);
    uint64_t next = 0;
    for (const Histogram::Bucket &bucket : histogram.buckets()) {
        EXPECT_EQ(bucket.first, next);
        next = bucket.last + 1;
    }
    EXPECT_EQ(histogram.buckets().back().last, UINT64_MAX);
}

TEST(HisiPttHistogram, ReportsQuantiles)
{
    Histogram histogram;
    EXPECT_EQ(histogram.quantile(0.5), 0U);
    EXPECT_EQ(histogram.min(), 0U);
    for (uint64_t value : {1, 2, 3, 4, 1000})
        histogram.add(value);
    EXPECT_EQ(histogram.quantile(0), 1U);
    EXPECT_EQ(histogram.quantile(0.5), 3U);
    EXPECT_EQ(histogram.quantile(0.8), 4U);
    EXPECT_EQ(histogram.quantile(1), 1000U);
    EXPECT_EQ(histogram.max(), 1000U);
    EXPECT_DOUBLE_EQ(histogram.mean(), 202);
}

class HisiPttLatency : public ::testing::Test {
protected:
    std::optional<uint64_t> note(const TlpHeader &header, uint64_t time)
    {
        return matcher_.note(parse_tlp(header, 0), time);
    }
    LatencyMatcher matcher_;
};

TEST_F(HisiPttLatency, LastCompletionEndsTheRequest)
{
    EXPECT_FALSE(note(read_tlp(0x100, 1, 0x1000, 32), 10));
    EXPECT_FALSE(note(completion_tlp(0x100, 1, 128, 16), 20));
    EXPECT_EQ(matcher_.outstanding(), 1U);
    EXPECT_EQ(note(completion_tlp(0x100, 1, 64, 16), 35), 25U);
    EXPECT_EQ(matcher_.outstanding(), 0U);
    EXPECT_EQ(matcher_.totals().answered, 1U);
}

TEST_F(HisiPttLatency, MatchesByRequesterAndTag)
{
    note(read_tlp(0x100, 1, 0x1000, 1), 10);
    EXPECT_FALSE(note(completion_tlp(0x100, 2, 4, 1), 20));
    EXPECT_FALSE(note(completion_tlp(0x101, 1, 4, 1), 20));
    EXPECT_EQ(matcher_.totals().unmatched, 2U);
    EXPECT_EQ(note(completion_tlp(0x100, 1, 4, 1), 20), 10U);
}

TEST_F(HisiPttLatency, MatchesTagsWithTenBits)
{
    TlpHeader wide = read_tlp(0x100, 1, 0x1000, 1);
    wide[0] |= 1U << 23;  // T9
    note(wide, 10);
    EXPECT_FALSE(note(completion_tlp(0x100, 1, 4, 1), 20));
    TlpHeader answer = completion_tlp(0x100, 1, 4, 1);
    answer[0] |= 1U << 23;
    EXPECT_EQ(note(answer, 20), 10U);
}

TEST_F(HisiPttLatency, ErrorStatusEndsTheRequestAtOnce)
{
    note(read_tlp(0x100, 1, 0x1000, 32), 10);
    EXPECT_EQ(note(completion_tlp(0x100, 1, 128, 0, 1), 12), 2U);
    EXPECT_EQ(matcher_.totals().failed, 1U);
}

TEST_F(HisiPttLatency, ConfigurationWritesHaveACompletion)
{
    note({0x44000001, 0x0000070f, 0x01000010, 0}, 5);
    EXPECT_EQ(note(completion_tlp(0x000, 7, 4, 0), 9), 4U);
}

TEST_F(HisiPttLatency, PostedRequestsHaveNoCompletion)
{
    note(write_tlp(0x100, 0x1000, 1), 10);
    EXPECT_EQ(matcher_.totals().requests, 0U);
    EXPECT_EQ(matcher_.outstanding(), 0U);
}

TEST_F(HisiPttLatency, CountsTagsReusedBeforeTheirCompletion)
{
    note(read_tlp(0x100, 1, 0x1000, 1), 10);
    note(read_tlp(0x100, 1, 0x1000, 1), 50);
    EXPECT_EQ(matcher_.outstanding(), 1U);
    EXPECT_EQ(matcher_.totals().reused, 1U);
    EXPECT_EQ(note(completion_tlp(0x100, 1, 4, 1), 60), 10U);
}

TEST_F(HisiPttLatency, LossDropsPendingRequests)
{
    note(read_tlp(0x100, 1, 0x1000, 1), 10);
    note(read_tlp(0x101, 1, 0x1000, 1), 10);
    matcher_.forget();
    EXPECT_EQ(matcher_.outstanding(), 0U);
    EXPECT_EQ(matcher_.totals().forgotten, 2U);
    EXPECT_FALSE(note(completion_tlp(0x100, 1, 4, 1), 60));
    note(read_tlp(0x100, 1, 0x1000, 1), 70);
    EXPECT_EQ(note(completion_tlp(0x100, 1, 4, 1), 75), 5U);
}

// Two requests whose tags differ in the upper four bits only.
TEST_F(HisiPttLatency, Distinguishes14BitTagsThatDifferOnlyInTheUpperBits)
{
    constexpr uint32_t kValid = 1U << 21;
    const auto read_with = [](uint32_t upper) {
        TlpHeader header = read_tlp(0x100, 1, 0x1000, 1);
        header[2] |= kValid | upper << 16;
        return header;
    };
    const auto answer_to = [](uint32_t upper) {
        TlpHeader header = completion_tlp(0x100, 1, 4, 1);
        header[3] = 1U << 5 | upper;
        return header;
    };
    matcher_.note(parse_tlp(read_with(3), 0, true), 10);
    matcher_.note(parse_tlp(read_with(12), 0, true), 20);
    EXPECT_EQ(matcher_.totals().reused, 0U);
    EXPECT_EQ(matcher_.note(parse_tlp(answer_to(3), 0, true), 100), 90U);
    EXPECT_EQ(matcher_.note(parse_tlp(answer_to(12), 0, true), 100), 80U);
    EXPECT_FALSE(matcher_.note(parse_tlp(answer_to(0), 0, true), 100));
}

// A requester with one pending request takes little more than 4 KiB of tags and tables.
TEST_F(HisiPttLatency, TracksRequestersUpToTheMemoryLimit)
{
    constexpr uint32_t kFollowed = limits::kRequesters / 4800, kAll = limits::kRequesters / 4096;
    for (uint32_t id = 0; id <= kAll; id++)
        note(read_tlp(static_cast<uint16_t>(id), 1, 0x1000, 1), 10);
    EXPECT_GE(matcher_.outstanding(), kFollowed);
    EXPECT_GE(matcher_.totals().untracked, 1U);
    EXPECT_EQ(matcher_.outstanding() + matcher_.totals().untracked, kAll + 1);
    // The requesters that occurred first are still tracked.
    EXPECT_EQ(note(completion_tlp(0, 1, 4, 1), 12), 2U);
}

TEST_F(HisiPttLatency, RequestsAreCountedAsUntrackedIfTheMemoryLimitIsZero)
{
    const auto none = std::make_shared<Budget>(0);
    LatencyMatcher empty(none);
    EXPECT_LE(sizeof empty, 4096U);
    empty.note(parse_tlp(read_tlp(0x100, 1, 0x1000, 1), 0), 10);
    EXPECT_EQ(empty.totals().untracked, 1U);
    EXPECT_EQ(empty.outstanding(), 0U);
}

TEST(HisiPttTimeStrip, DoublesColumnWidthAsTimeAdvances)
{
    TimeStrip strip;
    EXPECT_TRUE(strip.empty());
    EXPECT_EQ(strip.columns(), 0U);
    uint64_t tlps = 0, bytes = 0;
    for (uint64_t time = 1000; time < 1000 + 640; time++)
        strip.add(time, 3);
    // This time is before the first time.
    strip.add(5, 1);
    EXPECT_EQ(strip.column_ticks(), 16U);
    EXPECT_EQ(strip.columns(), 40U);
    EXPECT_EQ(strip.tlps(0), 17U);
    for (size_t i = 0; i < strip.columns(); i++) {
        tlps += strip.tlps(i);
        bytes += strip.bytes(i);
    }
    EXPECT_EQ(tlps, 641U);
    EXPECT_EQ(bytes, 1921U);
    EXPECT_EQ(strip.first(), 1000U);
    EXPECT_EQ(strip.last(), 1639U);
    strip.add(UINT64_MAX, 0);
    EXPECT_LE(strip.columns(), TimeStrip::kColumns);
}

Packet packet_of(const TlpHeader &header, uint64_t time)
{
    Packet packet;
    packet.header = header;
    packet.time = time;
    packet.format = Format::k8dw;
    return packet;
}

TEST(HisiPttTraffic, AddsUpByRange)
{
    Traffic traffic(12);
    traffic.packet(packet_of(write_tlp(0x100, 0x1fc0, 16), 1));
    traffic.packet(packet_of(write_tlp(0x100, 0x2000, 16), 1));
    traffic.packet(packet_of(read_tlp(0x100, 1, 0x2040, 16), 1));
    const std::vector<RangeTraffic> ranges = traffic.ranges();
    ASSERT_EQ(ranges.size(), 2U);
    EXPECT_EQ(ranges[0].address, 0x2000U);
    EXPECT_EQ(ranges[0].writes.bytes, 64U);
    EXPECT_EQ(ranges[0].reads.requested, 64U);
    EXPECT_EQ(ranges[1].address, 0x1000U);
}

constexpr uint64_t kMostRanges = limits::kRanges / (sizeof(RangeTraffic) + kNodeBytes);

TEST(HisiPttTraffic, TrafficOfRangesBeyondTheLimitIsCountedAsElsewhere)
{
    Traffic traffic(12);
    for (uint64_t i = 0; i <= kMostRanges; i++)
        traffic.packet(packet_of(write_tlp(0x100, i << 12, 1), 1));
    EXPECT_EQ(traffic.ranges().size(), kMostRanges);
    EXPECT_EQ(traffic.elsewhere().tlps, 1U);
    EXPECT_EQ(traffic.elsewhere().bytes, 4U);
}

TEST(HisiPttTraffic, TrafficObjectsCanShareOneMemoryLimit)
{
    const TrafficRoom room{std::make_shared<Budget>(sizeof(RangeTraffic) + kNodeBytes),
                           std::make_shared<Budget>(sizeof(RequesterTraffic) + kNodeBytes)};
    Traffic first(12, room), second(12, room);
    for (Traffic *traffic : {&first, &second})
        traffic->packet(packet_of(write_tlp(0x100, 0x1000, 16), 1));
    EXPECT_EQ(first.ranges().size(), 1U);
    EXPECT_EQ(first.requesters().size(), 1U);
    EXPECT_EQ(first.other_requesters().tlps(), 0U);
    EXPECT_TRUE(second.ranges().empty());
    EXPECT_TRUE(second.requesters().empty());
    EXPECT_EQ(second.elsewhere().bytes, 64U);
    EXPECT_EQ(second.other_requesters().bytes(), 64U);
    EXPECT_EQ(second.packets(), 1U);
}

// With the identity as the hash, all these addresses would be in one bucket of a hash table.
TEST(HisiPttTraffic, TakesLinearTimeForAddressesThatCollideInAPlainHashTable)
{
    std::unordered_set<uint64_t> plain;
    for (uint64_t i = 0; i < kMostRanges; i++)
        plain.insert(i);
    const auto seconds_of = [](uint64_t step) {
        const std::clock_t begun = std::clock();
        Traffic traffic(12);
        for (uint64_t i = 0; i < kMostRanges; i++)
            traffic.packet(packet_of(write_tlp(0x100, (i * step) << 12, 1), 1));
        EXPECT_EQ(traffic.ranges().size(), kMostRanges);
        return static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    };
    const double benign = seconds_of(1);
    EXPECT_LT(seconds_of(plain.bucket_count()), 10 * benign + 0.5);
}

TEST(HisiPttTraffic, AlignmentIsThatOfTheFirstEnabledByte)
{
    Traffic traffic;
    TlpHeader odd = write_tlp(0x100, 0x1000, 1);
    odd[1] = (odd[1] & ~0xfU) | 0xe;
    traffic.packet(packet_of(odd, 1));
    traffic.packet(packet_of(write_tlp(0x100, 0x1000, 1), 1));
    traffic.packet(packet_of(write_tlp(0x100, 0x100000, 1), 1));
    traffic.packet(packet_of(write_tlp(0x100, 0x1004, 1), 1));
    EXPECT_EQ(traffic.aligned(0), 1U);
    EXPECT_EQ(traffic.aligned(2), 1U);
    EXPECT_EQ(traffic.aligned(12), 2U);
}

TEST(HisiPttTraffic, TlpOfUnknownTypeIsCountedForNoRequester)
{
    Traffic traffic;
    traffic.packet(packet_of({0x7f000000, 0x01000000, 0, 0}, 1));
    EXPECT_EQ(traffic.packets(), 1U);
    EXPECT_EQ(traffic.of(TlpType::kUnknown).tlps, 1U);
    EXPECT_TRUE(traffic.requesters().empty());
}

TEST(HisiPttTraffic, CompletionIsCountedForItsRequester)
{
    Traffic traffic;
    traffic.packet(packet_of(write_tlp(0x100, 0x1000, 16), 5));
    traffic.packet(packet_of(read_tlp(0x200, 1, 0x2000, 16), 10));
    traffic.packet(packet_of(completion_tlp(0x200, 1, 64, 16), 30));
    const std::vector<const RequesterTraffic *> requesters = traffic.requesters();
    ASSERT_EQ(requesters.size(), 2U);
    EXPECT_EQ(requesters[0]->id, 0x200U);
    EXPECT_EQ(requesters[0]->non_posted.requested, 64U);
    EXPECT_EQ(requesters[0]->completions.bytes, 64U);
    EXPECT_EQ(requesters[0]->latency.requests, 1U);
    EXPECT_EQ(requesters[0]->latency.max, 20U);
    EXPECT_DOUBLE_EQ(requesters[0]->latency.mean(), 20);
    EXPECT_EQ(requesters[1]->posted.bytes, 64U);
    EXPECT_EQ(requesters[1]->latency.requests, 0U);
    EXPECT_EQ(traffic.latency().max(), 20U);
}

TEST(HisiPttTraffic, RequestsPendingAtALossHaveNoLatency)
{
    Traffic traffic;
    traffic.packet(packet_of(read_tlp(0x200, 1, 0x2000, 16), 10));
    traffic.lost(32, 4096);
    traffic.packet(packet_of(completion_tlp(0x200, 1, 64, 16), 30));
    traffic.packet(packet_of(read_tlp(0x200, 1, 0x2000, 16), 40));
    traffic.skipped(64, 7);
    traffic.packet(packet_of(completion_tlp(0x200, 1, 64, 16), 50));
    EXPECT_EQ(traffic.losses(), 1U);
    EXPECT_EQ(traffic.lost_bytes(), 4096U);
    EXPECT_EQ(traffic.skipped_bytes(), 7U);
    EXPECT_EQ(traffic.latency_totals().forgotten, 2U);
    EXPECT_EQ(traffic.latency_totals().unmatched, 2U);
    EXPECT_EQ(traffic.requesters().at(0)->latency.requests, 0U);
}

TEST(HisiPttTraffic, WatchCallbackIsCalledOnlyForMemoryRequests)
{
    Traffic traffic;
    std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> seen;
    traffic.watch([&seen](uint64_t offset, const Tlp &tlp, const TlpCount &count) {
        seen.emplace_back(offset, tlp.address, count.bytes + count.requested);
    });
    Packet write = packet_of(write_tlp(0x100, 0x1000, 16), 5);
    write.offset = 320;
    traffic.packet(write);
    traffic.packet(packet_of(completion_tlp(0x200, 1, 64, 16), 30));
    // A configuration request, which must not be reported.
    traffic.packet(packet_of({0x44000001, 0x0000070f, 0x01000010, 0}, 31));
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0], std::tuple(320U, 0x1000U, 64U));
}

// Records

testing::Buffer words_of(std::initializer_list<uint64_t> words)
{
    testing::Buffer bytes(words.size() * 8);
    size_t at = 0;
    for (uint64_t word : words) {
        store_le(bytes.data() + at, word);
        at += 8;
    }
    return bytes;
}

TEST(HisiPttRecord, TruncatedRecordIsRejected)
{
    testing::Buffer words =
        words_of({2 | 16 << 16 | uint64_t{5} << 56, PMUKIT_HISI_PTT_MARK, 11, 12, 13, 14, 15});
    append(words, testing::stream_of(Format::k4dw, 2));
    const std::optional<Record> record = parse_record(words);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->format, Format::k4dw);
    EXPECT_EQ(record->entries.size(), 32U);
    EXPECT_EQ(record->time_ns, 11U);
    EXPECT_EQ(record->flags, 12U);
    EXPECT_EQ(record->sequence, 13U);
    EXPECT_EQ(record->lost, 14U);
    for (size_t size = 0; size < words.size(); size++)
        EXPECT_FALSE(parse_record(Bytes(words).first(size))) << size;
}

TEST(HisiPttRecord, AcceptsFewerExtraWords)
{
    const std::optional<Record> record =
        parse_record(words_of({32 << 16 | uint64_t{1} << 56, PMUKIT_HISI_PTT_MARK, 11}));
    ASSERT_TRUE(record);
    EXPECT_TRUE(record->entries.empty());
    EXPECT_EQ(record->time_ns, 11U);
    EXPECT_FALSE(record->sequence);
    EXPECT_EQ(record->flags, 0U);
}

TEST(HisiPttRecord, RejectsOtherEntrySizesAndMarks)
{
    EXPECT_FALSE(parse_record(words_of({1 | 8 << 16, PMUKIT_HISI_PTT_MARK, 0})));
    EXPECT_FALSE(parse_record(words_of({16 << 16, 0xdeadbeef})));
}

TEST(HisiPttRecord, FindsTheRecordAfterTheTagOfARawSample)
{
    testing::Buffer raw(8);
    testing::put_dword(raw, PMUKIT_RAW_TAG_HISI_PTT);
    append(raw, words_of({16 << 16, PMUKIT_HISI_PTT_MARK}));
    const std::optional<Bytes> words = words_of_raw(raw);
    ASSERT_TRUE(words);
    EXPECT_TRUE(parse_record(*words));
    raw[8] = std::byte{0};
    EXPECT_FALSE(words_of_raw(raw));
    EXPECT_FALSE(words_of_raw(Bytes(raw).first(11)));
}

TEST(HisiPttRecord, RawSampleWithOnlyTheTagHoldsNoRecord)
{
    testing::Buffer raw(8);
    testing::put_dword(raw, PMUKIT_RAW_TAG_HISI_PTT);
    const std::optional<Bytes> words = words_of_raw(raw);
    ASSERT_TRUE(words);
    EXPECT_TRUE(words->empty());
    EXPECT_FALSE(parse_record(*words));
}

TEST(HisiPttRecord, CountsMissingRecordsAndLostEntries)
{
    RecordAccount account;
    Record record;
    const auto note = [&](uint64_t sequence, uint64_t lost) {
        record.sequence = sequence;
        record.lost = lost;
        return account.note(record);
    };
    EXPECT_TRUE(note(0, 0));
    EXPECT_TRUE(note(1, 5));
    EXPECT_FALSE(note(1, 5));
    EXPECT_TRUE(note(4, 6));
    EXPECT_EQ(account.missing_records(), 2U);
    EXPECT_EQ(account.duplicates(), 1U);
    EXPECT_EQ(account.lost_entries(), 6U);
    // Sequence number 0 again: the event was re-enabled.
    EXPECT_TRUE(note(0, 1));
    EXPECT_EQ(account.lost_entries(), 7U);
    EXPECT_EQ(account.missing_records(), 2U);
    EXPECT_EQ(account.records(), 4U);
}

TEST(HisiPttRecord, RecordsOfADuplicatedFirstBurstAreCountedOnce)
{
    RecordAccount account;
    Record first, second;
    first.sequence = 0;
    first.time_ns = 10;
    second.sequence = 1;
    second.time_ns = 20;
    EXPECT_TRUE(account.note(first));
    EXPECT_TRUE(account.note(second));
    EXPECT_FALSE(account.note(first));
    EXPECT_FALSE(account.note(second));
    EXPECT_EQ(account.duplicates(), 2U);
}

TEST(HisiPttRecord, EachFlagIsCountedSeparately)
{
    const auto counted = [](uint64_t flags) {
        RecordAccount account;
        Record record;
        record.flags = flags;
        account.note(record);
        account.note(Record());
        account.note(record);
        return std::tuple(account.overruns(), account.resets(), account.filter_gone());
    };
    EXPECT_EQ(counted(0), std::tuple(0U, 0U, false));
    EXPECT_EQ(counted(PMUKIT_HISI_PTT_F_TRUNCATED), std::tuple(0U, 0U, false));
    EXPECT_EQ(counted(PMUKIT_HISI_PTT_F_OVERRUN), std::tuple(2U, 0U, false));
    EXPECT_EQ(counted(PMUKIT_HISI_PTT_F_RESET), std::tuple(0U, 2U, false));
    EXPECT_EQ(counted(PMUKIT_HISI_PTT_F_FILTER_GONE), std::tuple(0U, 0U, true));
}

}  // namespace
}  // namespace pmukit::decode::hisi_ptt
