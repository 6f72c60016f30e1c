// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Builds records word by word, and compares what the decoder finds with the values they were built
// from.
#include "decode/cache_qos/cache_qos_decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "decode/cache_qos/cache_qos_levels.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"

namespace pmukit::decode::cache_qos {
namespace {

using Stream = std::vector<std::byte>;

void put(Stream &to, std::initializer_list<uint64_t> words)
{
    for (uint64_t word : words)
        for (int shift = 0; shift < 64; shift += 8)
            to.push_back(static_cast<std::byte>(word >> shift));
}

void put_header(Stream &to, uint64_t sequence, uint64_t lost = 0)
{
    put(to, {0xf1534f5148434143, sequence, uint64_t{2} << 48 | uint64_t{3} << 32 | 64 << 16 | 1,
             65536, 1000, uint64_t{32} << 32 | 256, 1 << 24, lost});
}

void put_reading(Stream &to, uint64_t sequence, uint64_t time, uint64_t bytes, uint64_t event = 1,
                 uint64_t status = 0)
{
    put(to, {time, sequence, uint64_t{1} << 56 | event << 48 | uint64_t{3} << 32 | 7,
             status << 32 | 5, bytes / 65536, bytes, 4096, 250});
}

// Appends a name record of monitor 7 (a task unless kind is set) of the L3 with id 3.
void put_name(Stream &to, uint64_t sequence, uint64_t life, std::string_view text,
              uint64_t part = 0, uint64_t parts = 1, uint64_t kind = 2)
{
    put(to, {0xf14d414e48434143, sequence, kind << 56 | uint64_t{3} << 32 | 7, 1234,
             parts << 40 | part << 32 | life});
    for (size_t i = 0; i < 24; i++)
        to.push_back(static_cast<std::byte>(i < text.size() ? text[i] : '\0'));
}

class Found final : public Sink {
public:
    void header(uint64_t offset, const Header &header) override
    {
        offsets.push_back(offset);
        headers.push_back(header);
    }
    void reading(uint64_t offset, const Reading &reading) override
    {
        offsets.push_back(offset);
        readings.push_back(reading);
    }
    void name(uint64_t offset, const NamePart &part) override
    {
        offsets.push_back(offset);
        parts.push_back(part);
        names.note(part);
    }
    void skipped(uint64_t offset, uint64_t bytes) override { skips.emplace_back(offset, bytes); }

    std::vector<NamePart> parts;
    Names names;
    std::vector<uint64_t> offsets;
    std::vector<Header> headers;
    std::vector<Reading> readings;
    std::vector<std::pair<uint64_t, uint64_t>> skips;
};

using Skips = std::vector<std::pair<uint64_t, uint64_t>>;

Found decoded(const Stream &stream, size_t piece = SIZE_MAX, uint64_t start = 0)
{
    Found found;
    StreamDecoder decoder(found);
    decoder.start(start);
    for (Bytes rest(stream); !rest.empty();) {
        const size_t size = std::min(piece, rest.size());
        decoder.data(rest.first(size));
        rest = rest.subspan(size);
    }
    decoder.end();
    return found;
}

TEST(CacheQosDecode, DecodesEachFieldOfAHeader)
{
    Stream stream;
    put_header(stream, 9, 4);
    const Found found = decoded(stream);
    ASSERT_EQ(found.headers.size(), 1U);
    const Header &header = found.headers[0];
    EXPECT_EQ(header.sequence, 9U);
    EXPECT_EQ(header.domain, 3U);
    EXPECT_EQ(header.backend, PMUKIT_CACHE_QOS_BACKEND_SIM);
    EXPECT_EQ(header.scale, 65536U);
    EXPECT_EQ(header.start_ns, 1000U);
    EXPECT_EQ(header.rmids, 256U);
    EXPECT_EQ(header.width, 32U);
    EXPECT_EQ(header.cache_bytes, 1U << 24);
    EXPECT_EQ(header.lost, 4U);
}

TEST(CacheQosDecode, DecodesEachFieldOfANameRecord)
{
    Stream stream;
    put_name(stream, 10, 3, "gz\x1b\x7fip", 0, 1);
    const Found found = decoded(stream);
    ASSERT_EQ(found.parts.size(), 1U);
    const NamePart &name = found.parts[0];
    EXPECT_EQ(name.sequence, 10U);
    EXPECT_EQ(name.monitor, 7U);
    EXPECT_EQ(name.domain, 3U);
    EXPECT_EQ(name.kind, PMUKIT_CACHE_QOS_KIND_TASK);
    EXPECT_EQ(name.id, 1234U);
    EXPECT_EQ(name.life, 3U);
    EXPECT_EQ(name.part, 0U);
    EXPECT_EQ(name.parts, 1U);
    EXPECT_EQ(name.text, "gz??ip");
    ASSERT_TRUE(found.names.find(7, 3));
    EXPECT_EQ(found.names.find(7, 3)->label(), "gz??ip-1234");
    EXPECT_EQ(found.names.find(7, 2), nullptr);
}

TEST(CacheQosDecode, R67_AssemblesALongNameOnlyIfNoPartIsMissing)
{
    const std::string path = "/kubepods.slice/kubepods-burstable.slice/pod-0123456789abcdef";
    Stream stream;
    for (uint64_t part = 0; part < 3; part++)
        put_name(stream, part, 1, std::string_view(path).substr(part * 24, 24), part, 3, 4);
    EXPECT_EQ(decoded(stream).names.find(7, 3)->label(), path);
    // A name that lacks a part is dropped; the old name stays.
    put_name(stream, 3, 2, "/a", 0, 2, 4);
    put_name(stream, 4, 2, "/b", 0, 3, 4);
    put_name(stream, 6, 2, "/c", 2, 3, 4);
    EXPECT_EQ(decoded(stream).names.find(7, 3)->label(), path);
    EXPECT_TRUE(decoded(stream, 7).skips.empty());
}

TEST(CacheQosDecode, RejectsImpossibleNameParts)
{
    for (const auto &[part, parts, kind] :
         {std::array<uint64_t, 3>{1, 1, 2}, {0, 0, 2}, {0, 11, 2}, {0, 1, 5}}) {
        Stream stream;
        put_name(stream, 0, 1, "x", part, parts, kind);
        EXPECT_EQ(decoded(stream).skips, (Skips{{0, 64}}));
    }
}

TEST(CacheQosDecode, DecodesEachFieldOfAReading)
{
    Stream stream;
    put_reading(stream, 10, 2000, 655360, 2, 0x101);
    const Found found = decoded(stream);
    ASSERT_EQ(found.readings.size(), 1U);
    const Reading &reading = found.readings[0];
    EXPECT_EQ(reading.time_ns, 2000U);
    EXPECT_EQ(reading.sequence, 10U);
    EXPECT_EQ(reading.monitor, 7U);
    EXPECT_EQ(reading.domain, 3U);
    EXPECT_EQ(reading.event, PMUKIT_CACHE_QOS_EVENT_TOTAL);
    EXPECT_EQ(reading.kind, PMUKIT_CACHE_QOS_KIND_GROUP);
    EXPECT_EQ(reading.generation, 5U);
    EXPECT_EQ(reading.status, 0x101U);
    EXPECT_EQ(reading.raw, 10U);
    EXPECT_EQ(reading.bytes, 655360U);
    EXPECT_EQ(reading.bound, 4096U);
    EXPECT_EQ(reading.age_ns, 250U);
}

TEST(CacheQosDecode, DecodesTheWholeRecordsOfTruncatedData)
{
    Stream stream;
    put_header(stream, 0);
    put_reading(stream, 1, 100, 65536);
    put_reading(stream, 2, 200, 65536);
    for (size_t size = 0; size <= stream.size(); size++) {
        const Found found = decoded(Stream(stream.begin(), stream.begin() + long(size)));
        EXPECT_EQ(found.offsets.size(), size / kRecordBytes);
        const size_t rest = size % kRecordBytes;
        EXPECT_EQ(found.skips, rest ? Skips({{size - rest, rest}}) : Skips()) << size;
    }
}

TEST(CacheQosDecode, PiecesOfAnySizeGiveTheSameResult)
{
    Stream stream;
    put_header(stream, 0);
    for (uint64_t i = 1; i < 20; i++)
        put_reading(stream, i, 100 * i, 65536 * i);
    stream[5 * kRecordBytes + 22] = std::byte{0x77};  // no such event
    const Found whole = decoded(stream);
    EXPECT_EQ(whole.skips, Skips({{5 * kRecordBytes, kRecordBytes}}));
    for (size_t piece : {1, 7, 63, 64, 65, 128, 200}) {
        const Found found = decoded(stream, piece);
        EXPECT_EQ(found.offsets, whole.offsets) << piece;
        EXPECT_EQ(found.skips, whole.skips) << piece;
    }
}

TEST(CacheQosDecode, StreamThatStartsInsideARecordIsDecodedFromTheNextRecord)
{
    Stream stream(40);
    put_reading(stream, 1, 100, 65536);
    for (size_t piece : {SIZE_MAX, size_t{1}, size_t{33}}) {
        const Found found = decoded(stream, piece, 6 * kRecordBytes + 24);
        EXPECT_EQ(found.skips, Skips({{6 * kRecordBytes + 24, 40}}));
        EXPECT_EQ(found.offsets, std::vector<uint64_t>{7 * kRecordBytes});
    }
}

TEST(CacheQosDecode, SkipsARecordCutShortByALoss)
{
    Stream stream;
    put_reading(stream, 1, 100, 65536);
    Found found;
    StreamDecoder decoder(found);
    decoder.start(0);
    decoder.data(Bytes(stream).first(20));
    decoder.loss(3 * kRecordBytes - 20);
    decoder.data(stream);
    decoder.end();
    EXPECT_EQ(found.skips, Skips({{0, 20}}));
    EXPECT_EQ(found.offsets, std::vector<uint64_t>{3 * kRecordBytes});
}

TEST(CacheQosDecode, RejectsZerosAndNoise)
{
    for (size_t at : {0, 1, 2, 3}) {
        Stream stream;
        put_reading(stream, 1, 100, 65536);
        const size_t byte[] = {7, 22, 23, 30};  // time, event, kind, status
        stream[byte[at]] = std::byte{0xff};
        EXPECT_EQ(decoded(stream).readings.size(), 0U) << at;
    }
    EXPECT_EQ(decoded(Stream(kRecordBytes)).skips, Skips({{0, kRecordBytes}}));
    Stream newer;
    put_header(newer, 1);
    newer[16] = std::byte{2};
    EXPECT_EQ(decoded(newer).headers.size(), 0U);
    Stream larger;
    put_header(larger, 1);
    larger[18] = std::byte{128};
    EXPECT_EQ(decoded(larger).headers.size(), 0U);
}

TEST(CacheQosDecode, RecognizesAStreamOfRecords)
{
    Stream header, readings, apart;
    put_header(header, 5);
    put_reading(readings, 5, 100, 1);
    put_reading(readings, 6, 100, 1);
    put_reading(apart, 5, 100, 1);
    put_reading(apart, 7, 100, 1);
    EXPECT_TRUE(looks_like_records(header));
    EXPECT_TRUE(looks_like_records(readings));
    EXPECT_FALSE(looks_like_records(apart));
    EXPECT_FALSE(looks_like_records(Bytes(readings).first(100)));
    EXPECT_FALSE(looks_like_records(Bytes(header).first(63)));
    EXPECT_FALSE(looks_like_records({}));
}

TEST(CacheQosDecode, FindsTheRecordAfterTheTagOfARawSample)
{
    Stream raw(8);
    for (char c : {'C', 'Q', 'O', 'S'})
        raw.push_back(static_cast<std::byte>(c));
    put_header(raw, 1);
    const std::optional<Bytes> words = words_of_raw(raw);
    ASSERT_TRUE(words);
    EXPECT_TRUE(parse_record(*words));
    raw[8] = std::byte{'c'};
    EXPECT_FALSE(words_of_raw(raw));
    EXPECT_FALSE(words_of_raw(Bytes(raw).first(11)));
}

TEST(CacheQosDecode, ReturnsTheNamesOfEventsMonitorKindsAndStatuses)
{
    EXPECT_EQ(event_name(1), "llc_occupancy");
    EXPECT_EQ(event_name(4), "remote_bytes");
    EXPECT_EQ(event_name(5), "?");
    EXPECT_EQ(kind_name(0), "machine");
    EXPECT_EQ(kind_name(4), "cgroup");
    EXPECT_EQ(backend_name(2), "sim");
    EXPECT_EQ(backend_name(9), "?");
    EXPECT_EQ(status_name(PMUKIT_CACHE_QOS_S_PARTIAL | PMUKIT_CACHE_QOS_S_GAP), "partial");
    EXPECT_EQ(status_name(PMUKIT_CACHE_QOS_S_SUSPECT), "suspect");
    EXPECT_EQ(status_name(PMUKIT_CACHE_QOS_S_UNSETTLED), "unsettled");
    EXPECT_EQ(status_name(0), "?");
}

TEST(CacheQosSequence, CountsMissingAndDuplicateRecords)
{
    SequenceAccount account;
    for (uint64_t sequence : {100, 101, 105, 106})
        EXPECT_TRUE(account.note(sequence));
    for (uint64_t sequence : {106, 101})
        EXPECT_FALSE(account.note(sequence));
    EXPECT_EQ(account.missing(), 3U);
    EXPECT_EQ(account.duplicates(), 2U);
}

Reading reading_of(uint8_t event, uint64_t time, uint64_t bytes, uint32_t generation = 1)
{
    Reading reading;
    reading.event = event;
    reading.time_ns = time;
    reading.bytes = bytes;
    reading.generation = generation;
    reading.kind = PMUKIT_CACHE_QOS_KIND_TASK;
    reading.bound = bytes / 2;
    reading.age_ns = time / 10;
    reading.status = event;
    return reading;
}

TEST(CacheQosSeries, GaugeReportsMinimumMedianMaximumAndLastValue)
{
    Series series;
    EXPECT_EQ(series.summary().max, 0U);
    for (uint64_t bytes : {50, 10, 40, 20})
        series.add(reading_of(1, bytes, bytes, bytes == 40 ? 2 : 1));
    EXPECT_EQ(series.summary().min, 10U);
    EXPECT_EQ(series.summary().median, 20U);
    EXPECT_EQ(series.summary().max, 50U);
    EXPECT_EQ(series.last_bytes(), 20U);
    EXPECT_EQ(series.max_bound(), 25U);
    EXPECT_EQ(series.max_age_ns(), 5U);
    EXPECT_EQ(series.generations(), 2U);
    EXPECT_EQ(series.kind(), PMUKIT_CACHE_QOS_KIND_TASK);
    EXPECT_EQ(series.status(), 1U);
    EXPECT_FALSE(series.is_count());
    EXPECT_EQ(series.grown(), 0U);
}

TEST(CacheQosSeries, CountIsReportedPerSecond)
{
    Series series;
    constexpr uint64_t kMs = 1'000'000;
    for (auto [time, bytes] : {std::pair<uint64_t, uint64_t>{0, 5},
                               {500, 105},
                               {1500, 1105},
                               {1500, 1200},
                               {1600, 1100},
                               {1700, 1000}})
        series.add(reading_of(2, time * kMs, bytes));
    EXPECT_EQ(series.highest(), (std::vector<uint64_t>{200, 1000, 0, 0}));
    EXPECT_EQ(series.readings(), 6U);
    EXPECT_EQ(series.summary().median, 0U);
    EXPECT_EQ(series.summary().max, 1000U);
    EXPECT_EQ(series.grown(), 995U);
    EXPECT_TRUE(series.is_count());
    Series large;
    large.add(reading_of(2, 0, 0));
    large.add(reading_of(2, 1'000'000'000, uint64_t{1} << 62));
    EXPECT_EQ(large.summary().max, uint64_t{1} << 62);
}

TEST(CacheQosSeries, ReadingWithoutAValueIsNoLevelOfZero)
{
    for (const uint8_t event : {PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, PMUKIT_CACHE_QOS_EVENT_TOTAL}) {
        Series series;
        const auto add = [&](uint64_t seconds, uint64_t bytes, uint32_t status) {
            Reading reading = reading_of(event, seconds * 1'000'000'000, bytes);
            reading.status = status;
            series.add(reading);
        };
        add(1, 0, PMUKIT_CACHE_QOS_S_UNREAD);
        EXPECT_FALSE(series.has_value());
        EXPECT_TRUE(series.columns().empty());
        add(2, 100, 0);
        add(3, 0, PMUKIT_CACHE_QOS_S_UNAVAILABLE);
        add(4, 300, 0);
        add(5, 0, PMUKIT_CACHE_QOS_S_ERROR);
        EXPECT_TRUE(series.has_value());
        EXPECT_EQ(series.summary().min, 100U);
        EXPECT_EQ(series.last_bytes(), 300U);
        EXPECT_EQ(series.first_ns(), 2'000'000'000U);
        EXPECT_EQ(series.last_ns(), 4'000'000'000U);
        EXPECT_EQ(series.readings(), 5U);
        EXPECT_EQ(series.grown(), 200U);
        EXPECT_EQ(series.status(), PMUKIT_CACHE_QOS_S_UNREAD | PMUKIT_CACHE_QOS_S_UNAVAILABLE |
                                       PMUKIT_CACHE_QOS_S_ERROR);
        Reading later = reading_of(event, 6'000'000'000, 0);
        later.status = PMUKIT_CACHE_QOS_S_ERROR;
        EXPECT_TRUE(series.continues(later, nullptr)) << "it has not fallen";
    }
}

TEST(CacheQosSeries, MergedTimeColumnsKeepTheMaximumOfALongRecording)
{
    Series series;
    constexpr uint64_t kReadings = 100'000;
    for (uint64_t i = 0; i < kReadings; i++)
        series.add(reading_of(1, 1'000'000 * i, i == 70'000 ? 900'000 : i));
    EXPECT_LE(series.columns().size(), Series::kColumns);
    EXPECT_GT(series.columns().size(), Series::kColumns / 2 - 1);
    uint64_t levels = 0;
    for (const Column &column : series.columns())
        levels += column.levels;
    EXPECT_EQ(levels, kReadings);
    EXPECT_EQ(series.readings(), kReadings);
    EXPECT_EQ(series.last_bytes(), kReadings - 1);
    const auto column = std::ranges::max_element(series.columns(), {}, &Column::highest);
    EXPECT_EQ(column->highest, 900'000U);
    EXPECT_EQ(column->highest_ns, 70'000'000'000U);
    EXPECT_EQ(column->number, 70'000'000'000U >> series.width_log2());
}

TEST(CacheQosSeries, ColumnGrowthAddsUpToTheTotal)
{
    Series series;
    for (uint64_t i = 0; i < 10'000; i++)
        series.add(reading_of(2, 1'000'000 * i, 7 * i));
    uint64_t grown = 0;
    for (const Column &column : series.columns())
        grown += column.grown;
    EXPECT_EQ(grown, series.grown());
    EXPECT_EQ(grown, 7U * 9'999);
}

TEST(CacheQosSeries, MedianIsExactForFewValuesAndCloseForMany)
{
    for (uint64_t readings : {uint64_t{Levels::kExact}, uint64_t{50'001}}) {
        Levels levels;
        for (uint64_t i = 0; i < readings; i++)
            levels.add(1000 + i * 7919 % readings * 1000);  // each value once, unsorted
        const uint64_t median = 1000 + (readings - 1) / 2 * 1000;
        const uint64_t off = readings > Levels::kExact ? median / 32 : 0;
        EXPECT_NEAR(double(levels.summary().median), double(median), double(off));
        EXPECT_EQ(levels.summary().min, 1000U);
        EXPECT_EQ(levels.summary().max, readings * 1000);
    }
}

TEST(CacheQosSeries, MedianOfEqualNumbersIsExact)
{
    for (uint64_t level : {uint64_t{0}, uint64_t{15}, uint64_t{16}, uint64_t{31}, UINT64_MAX}) {
        Levels levels;
        for (size_t i = 0; i <= Levels::kExact; i++)
            levels.add(level);
        EXPECT_EQ(levels.summary().median, level);
    }
}

Reading of_monitor(uint32_t monitor, uint8_t kind, uint64_t time, uint64_t bytes)
{
    Reading reading = reading_of(2, time, bytes);
    reading.monitor = monitor;
    reading.kind = kind;
    return reading;
}

TEST(CacheQosSeries, MonitorNumberWithAnotherKindStartsANewSeries)
{
    SeriesTable table;
    table.add(of_monitor(1, PMUKIT_CACHE_QOS_KIND_TASK, 1, 0));
    table.add(of_monitor(1, PMUKIT_CACHE_QOS_KIND_TASK, 2, 100));
    table.add(of_monitor(1, PMUKIT_CACHE_QOS_KIND_GROUP, 3, 200));
    table.add(of_monitor(1, PMUKIT_CACHE_QOS_KIND_GROUP, 4, 210));
    ASSERT_EQ(table.all().size(), 2U);
    EXPECT_EQ(table.all().at({1, 0, 2, 0}).kind(), PMUKIT_CACHE_QOS_KIND_TASK);
    EXPECT_EQ(table.all().at({1, 0, 2, 0}).grown(), 100U);
    EXPECT_EQ(table.all().at({1, 0, 2, 1}).kind(), PMUKIT_CACHE_QOS_KIND_GROUP);
    EXPECT_EQ(table.all().at({1, 0, 2, 1}).grown(), 10U);
    EXPECT_EQ(table.grown(1, 0, 2), 110U);
    EXPECT_EQ(monitor_name({1, 0, 2, 0}), "1");
    EXPECT_EQ(monitor_name({1, 0, 2, 1}), "1#2");
}

TEST(CacheQosSeries, FallingCountStartsANewSeries)
{
    SeriesTable table;
    for (uint64_t bytes : {50, 100, 5, 9})
        table.add(
            of_monitor(1, PMUKIT_CACHE_QOS_KIND_TASK, 10 + table.all().size() + bytes, bytes));
    EXPECT_EQ(table.all().size(), 1U);  // smaller counts with earlier times start no series
    table.add(of_monitor(1, PMUKIT_CACHE_QOS_KIND_TASK, 1000, 3));
    table.add(of_monitor(2, PMUKIT_CACHE_QOS_KIND_TASK, 1001, 1));
    ASSERT_EQ(table.all().size(), 3U);
    EXPECT_EQ(table.all().at({1, 0, 2, 1}).last_bytes(), 3U);
    EXPECT_EQ(table.all().at({2, 0, 2, 0}).last_bytes(), 1U);
}

TEST(CacheQosSeries, LimitsTheNumberOfSeries)
{
    constexpr uint32_t kLeast = 4096, kMost = limits::kMonitors / 256;
    SeriesTable table;
    uint32_t kept = 0;
    while (kept <= kMost && table.add(of_monitor(kept, PMUKIT_CACHE_QOS_KIND_TASK, 1, 0)))
        kept++;
    EXPECT_GT(kept, kLeast);
    EXPECT_LT(kept, kMost);
    EXPECT_EQ(table.all().size(), kept);
    EXPECT_FALSE(table.add(of_monitor(kept, PMUKIT_CACHE_QOS_KIND_TASK, 1, 0)));
}

// Each series has the most that it can have: columns, levels and a name.
TEST(CacheQosSeries, SeveralSeriesTablesShareOneMemoryLimit)
{
    constexpr size_t kBytes = size_t{1} << 20, kLargest = 24 << 10;
    constexpr uint64_t kReadings = 4000;
    const auto left = std::make_shared<Budget>(kBytes);
    SeriesTable tables[2] = {SeriesTable(left), SeriesTable(left)};
    bool fit = true;
    for (uint32_t monitor = 0; fit && monitor < kBytes; monitor++)
        for (uint64_t i = 0; fit && i < kReadings; i++) {
            Reading reading = of_monitor(monitor, PMUKIT_CACHE_QOS_KIND_TASK, i, 0);
            reading.event = PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
            reading.bytes = uint64_t{1} << i % 64 | (i / 64 % 16) << i % 60;
            fit = tables[monitor % 2].add(reading);
        }
    EXPECT_FALSE(fit);
    size_t bytes = 0;
    for (const SeriesTable &table : tables)
        for (const auto &[key, series] : table.all()) {
            EXPECT_LT(series.bytes(), kLargest);
            bytes += series.bytes();
        }
    EXPECT_GT(bytes, kBytes / 2);
    EXPECT_LE(bytes, kBytes);
    EXPECT_GT(tables[1].all().size(), kBytes / kLargest / 4);
}

TEST(CacheQosSeries, NamesAreKeptUpToTheLimit)
{
    const auto left = std::make_shared<Budget>(size_t{1} << 16);
    Names names(left);
    uint32_t known = 0;
    for (uint32_t monitor = 0; monitor < 10000; monitor++) {
        names.note({.monitor = monitor, .parts = 1, .text = "a"});
        known += names.find(monitor, 0) != nullptr;
    }
    EXPECT_GT(known, 100U);
    EXPECT_LT(known, 1000U);
    names.note({.monitor = 0, .parts = 1, .text = "b"});
    EXPECT_EQ(names.find(0, 0)->text, "b") << "one that is known may change";
}

NamePart named(uint32_t life, std::string text, uint64_t id = 1234)
{
    return {.monitor = 7,
            .domain = 3,
            .kind = 1,
            .id = id,
            .life = life,
            .parts = 1,
            .text = std::move(text)};
}

// A process that executes another program continues its series; a monitor number that is assigned
// again starts a new one.
TEST(CacheQosSeries, R67_ReusedMonitorNumberStartsASeriesWithANewName)
{
    SeriesTable table;
    Reading reading{.time_ns = 1, .monitor = 7, .domain = 3, .event = 1, .kind = 1, .bytes = 5};
    ASSERT_TRUE(table.add(reading));
    EXPECT_FALSE(table.has_names());
    for (const NamePart &name : {named(1, "/perf"), named(1, "/gzip"), named(2, "/b")}) {
        table.name(name);
        reading.time_ns++;
        ASSERT_TRUE(table.add(reading));
    }
    EXPECT_TRUE(table.has_names());
    ASSERT_EQ(table.all().size(), 2U);
    const auto &[first, old] = *table.all().begin();
    EXPECT_EQ(monitor_name(first), "7");
    EXPECT_EQ(old.readings(), 3U);
    ASSERT_TRUE(old.named());
    EXPECT_EQ(old.named()->label(), "/gzip");
    const auto &[second, young] = *std::next(table.all().begin());
    EXPECT_EQ(monitor_name(second), "7#2");
    EXPECT_EQ(young.readings(), 1U);
    EXPECT_EQ(young.named()->label(), "/b");
}

// The name record of the new monitor is lost, so the old name must not be used.
TEST(CacheQosSeries, IgnoresANameThatIsOfAnotherKindThanTheReading)
{
    SeriesTable table;
    table.name(named(1, "/a"));
    ASSERT_TRUE(table.add({.time_ns = 1, .monitor = 7, .domain = 3, .event = 1, .kind = 2}));
    EXPECT_FALSE(table.all().begin()->second.named());
}

}  // namespace
}  // namespace pmukit::decode::cache_qos
