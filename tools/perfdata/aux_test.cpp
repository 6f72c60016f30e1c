// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the AUX data that the kernel announced with the data in the file, per event.
#include "perfdata/aux.hpp"

#include <gtest/gtest.h>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::perfdata {
namespace {

using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;

// One line per call of the sink: "data event/cpu offset size" or "loss event/cpu offset bytes".
class Lines final : public AuxSink {
public:
    void aux_data(const AuxStream &stream, uint64_t offset, uint64_t, Bytes data) override
    {
        add("data", stream, offset, data.size());
    }
    void aux_loss(const AuxStream &stream, uint64_t offset, uint64_t bytes) override
    {
        add("loss", stream, offset, bytes);
    }
    std::vector<std::string> lines;

private:
    void add(const std::string &what, const AuxStream &stream, uint64_t offset, uint64_t size)
    {
        std::string name = (stream.event == kUnknownEvent ? "?" : std::to_string(stream.event)) +
                           "/" + std::to_string(static_cast<int>(stream.cpu));
        if (stream.tid != UINT32_MAX)
            name += "t" + std::to_string(stream.tid);
        lines.push_back(what + " " + name + " " + std::to_string(offset) + " " +
                        std::to_string(size));
    }
};

std::vector<std::string> merge(const FileBuilder &builder)
{
    std::vector<std::byte> bytes = builder.file();
    Result<Reader> reader = Reader::open(bytes);
    EXPECT_TRUE(reader);
    Lines lines;
    AuxMerge aux(*reader, lines);
    Record record;
    while (reader->next(record))
        aux.record(record);
    aux.finish();
    return lines.lines;
}

FileBuilder one_event()
{
    FileBuilder file;
    file.event(24, kSampleType, {7});
    return file;
}

using Expect = std::vector<std::string>;

TEST(AuxMerge, DeliversDataInOrder)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 16)
        .auxtrace(7, 0, 0, filled(16, 1))
        .aux(7, 0, 16, 8)
        .auxtrace(7, 0, 16, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "data 0/0 16 8"}));
}

// In a hash table without a salt, all these ids would be in one bucket, and each id would be
// compared with all others.
TEST(AuxMerge, EventIdsChosenToCollideCostNoMoreTimeThanOthers)
{
    constexpr uint64_t kRecords = 40, kEntries = 2000;
    constexpr uint64_t kBuckets = 85229;  // a bucket count of libstdc++
    FileBuilder file = one_event();
    for (uint64_t record = 0; record < kRecords; record++) {
        std::vector<uint64_t> words = {kEntries};
        for (uint64_t i = 1; i <= kEntries; i++)
            for (uint64_t word : {uint64_t{7}, (record * kEntries + i) * kBuckets, uint64_t{0},
                                  uint64_t{UINT32_MAX}})
                words.push_back(word);
        file.record(kIdIndex, words);
    }
    file.auxtrace(7, 0, 0, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16"}));
}

TEST(AuxMerge, GapBetweenBuffersIsALoss)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 48).auxtrace(7, 0, 0, filled(16, 1)).auxtrace(7, 0, 32, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "loss 0/0 16 16", "data 0/0 32 16"}));
}

TEST(AuxMerge, DataOfAnAuxRecordWithoutABufferAreReportedLostAtTheEnd)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 48).auxtrace(7, 0, 0, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "loss 0/0 16 32"}));
    FileBuilder nothing = one_event();
    nothing.aux(7, 0, 64, 8);
    EXPECT_EQ(merge(nothing), (Expect{"loss 0/0 64 8"}));
}

TEST(AuxMerge, GapBeforeTheFirstBufferIsALoss)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 32).auxtrace(7, 0, 16, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"loss 0/0 0 16", "data 0/0 16 16"}));
}

TEST(AuxMerge, ReportsTruncationAtTheEndOfItsAuxRecord)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 8, PERF_AUX_FLAG_TRUNCATED).aux(7, 0, 8, 8).auxtrace(7, 0, 0, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 8", "loss 0/0 8 0", "data 0/0 8 8"}));
    FileBuilder late = one_event();
    late.auxtrace(7, 0, 0, filled(16, 1)).aux(7, 0, 0, 16, PERF_AUX_FLAG_TRUNCATED);
    EXPECT_EQ(merge(late), (Expect{"data 0/0 0 16", "loss 0/0 16 0"}));
    FileBuilder last = one_event();
    last.aux(7, 0, 0, 16, PERF_AUX_FLAG_TRUNCATED).auxtrace(7, 0, 0, filled(16, 1));
    EXPECT_EQ(merge(last), (Expect{"data 0/0 0 16", "loss 0/0 16 0"}));
}

TEST(AuxMerge, RepeatedBytesAreDeliveredOnce)
{
    FileBuilder file = one_event();
    file.auxtrace(7, 0, 0, filled(16, 1))
        .auxtrace(7, 0, 8, filled(16, 1))
        .auxtrace(7, 0, 0, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "data 0/0 16 8"}));
}

TEST(AuxMerge, AcceptsAnyFirstOffsetOfAnAuxAreaInOverwriteMode)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 4096, PERF_AUX_FLAG_OVERWRITE).auxtrace(7, 0, 1024, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 1024 16"}));
}

TEST(AuxMerge, ReferenceFieldOfABufferDistinguishesEventsOnOneCpu)
{
    FileBuilder file;
    file.event(24, kSampleType, {7}).event(25, kSampleType, {8});
    file.aux(7, 0, 0, 8)
        .aux(8, 0, 0, 16)
        .auxtrace(8, 0, 0, filled(16, 1))
        .auxtrace(7, 0, 0, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 1/0 0 16", "data 0/0 0 8"}));
}

TEST(AuxMerge, FindsTheEventByCpuOrAsTheOnlyDeviceEvent)
{
    FileBuilder by_cpu;
    by_cpu.event(24, kSampleType, {7, 17})
        .event(25, kSampleType, {8})
        .aux(8, 3, 0, 8)
        .auxtrace(12345, 3, 0, filled(8, 1));
    EXPECT_EQ(merge(by_cpu), (Expect{"data 1/3 0 8"}));
    FileBuilder only;
    only.event(1, kSampleType, {7}).event(24, kSampleType, {8}).auxtrace(12345, 3, 0, filled(8, 1));
    EXPECT_EQ(merge(only), (Expect{"data 1/3 0 8"}));
    FileBuilder without_ids;
    without_ids.event(24, kSampleType, {7})
        .event(25, kSampleType, {8})
        .auxtrace(12345, 3, 0, filled(8, 1));
    EXPECT_EQ(merge(without_ids), (Expect{"data ?/3 0 8"}));
}

std::vector<std::string> merge_pipe(const FileBuilder &builder)
{
    std::vector<std::byte> bytes = builder.pipe();
    Result<Reader> reader = Reader::open(bytes);
    Lines lines;
    AuxMerge aux(*reader, lines);
    for (Record record; reader->next(record);)
        aux.record(record);
    aux.finish();
    return lines.lines;
}

// Adds an event that arrives between the records: a HEADER_ATTR with an attribute of 64 bytes.
FileBuilder &late_event(FileBuilder &file, uint32_t type, uint64_t id)
{
    return file.record(kHeaderAttr, {uint64_t{64} << 32 | type, 0, 0, kSampleType, 0, 0, 0, 0, id});
}

// In a pipe, further events may arrive between buffers, so that one device event is no longer the
// only event that can have an AUX area.
TEST(AuxMerge, BufferWithAnUnknownIdBelongsToTheDeviceEventWhileThereIsOnlyOne)
{
    FileBuilder file;
    file.event(1, kSampleType, {7}).auxtrace(12345, 3, 0, filled(8, 1));
    late_event(file, 24, 8).auxtrace(12345, 3, 0, filled(8, 1));
    late_event(file, 1, 9).auxtrace(12345, 3, 8, filled(8, 1));
    late_event(file, 25, 10).auxtrace(12345, 3, 8, filled(8, 1));
    EXPECT_EQ(merge_pipe(file),
              (Expect{"data ?/3 0 8", "data 1/3 0 8", "data 1/3 8 8", "data ?/3 8 8"}));
}

// With this many events and buffers, a search of all events for each buffer would take minutes.
TEST(AuxMerge, BuffersOfUnknownEventsCostNoMoreTimeThanOthers)
{
    constexpr uint32_t kEvents = 32768;
    constexpr uint64_t kBuffers = 200000;
    FileBuilder file;
    for (uint32_t i = 0; i < kEvents; i++)
        file.event(1, kSampleType, {});
    for (uint64_t i = 0; i < kBuffers; i++)
        file.auxtrace(12345, 3, 8 * i, filled(8, 1));
    EXPECT_EQ(merge(file).size(), kBuffers);
}

// Each record of 56 bytes can name another stream.
TEST(AuxMerge, LimitsTheNumberOfStreams)
{
    constexpr uint32_t kMost = limits::kStreams / (sizeof(AuxStream) + kNodeBytes);
    FileBuilder file;
    file.event(24, kSampleType, {7});
    for (uint32_t cpu = 0; cpu <= kMost; cpu++)
        file.auxtrace(7, cpu, 0, filled(8, 1));
    const std::vector<std::string> lines = merge(file);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.front(), "data 0/0 0 8");
    EXPECT_TRUE(lines.back().starts_with("data ?")) << lines.back();
}

TEST(AuxMerge, StreamOfAThreadHasNoCpu)
{
    FileBuilder file = one_event();
    file.aux(7, 2, 0, 8)
        .auxtrace(7, UINT32_MAX, 0, filled(8, 1))
        .aux(7, 1, 8, 8)
        .auxtrace(7, UINT32_MAX, 8, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/-1 0 8", "data 0/-1 8 8"}));
}

// Adds an ID_INDEX record with one entry: event id, ring, CPU and tid.
FileBuilder &ring(FileBuilder &file, uint64_t id, uint64_t index, uint64_t cpu, uint64_t tid)
{
    return file.record(kIdIndex, {1, id, index, cpu, tid});
}

TEST(AuxMerge, IdIndexIdentifiesTheEventOfARing)
{
    FileBuilder file;
    file.event(24, kSampleType, {7}).event(25, kSampleType, {8}).event(1, kSampleType, {9});
    ring(file, 7, 0, 0, UINT64_MAX);
    ring(file, 8, 1, 1, UINT64_MAX);
    ring(file, 9, 1, 1, UINT64_MAX);  // a software event on the same ring
    file.auxtrace(12345, 1, 0, filled(8, 1), 1).auxtrace(12345, 0, 0, filled(8, 1), 0);
    EXPECT_EQ(merge(file), (Expect{"data 1/1 0 8", "data 0/0 0 8"}));
}

// ID_INDEX assigns one id to more rings than the limit; further rings are not stored.
TEST(AuxMerge, LimitsTheNumberOfRingsOfTheIdIndex)
{
    constexpr uint64_t kMost = limits::kStreams / kNodeBytes, kEntries = 2047;
    FileBuilder file;
    file.event(24, kSampleType, {7}).event(25, kSampleType, {8});
    file.auxtrace(7, 1, 0, filled(8, 1));
    for (uint64_t index = 0; index < kMost;) {
        std::vector<uint64_t> words = {kEntries};
        for (uint64_t i = 0; i < kEntries; i++, index++)
            for (uint64_t word : {uint64_t{7}, index, uint64_t{0}, uint64_t{UINT32_MAX}})
                words.push_back(word);
        file.record(kIdIndex, words);
    }
    file.auxtrace(12345, 1, 8, filled(8, 1), 0).auxtrace(12345, 1, 0, filled(8, 1), kMost);
    EXPECT_EQ(merge(file), (Expect{"data 0/1 0 8", "data 0/1 8 8", "data ?/-1 0 8"}));
}

TEST(AuxMerge, IdIndexDistinguishesThreads)
{
    FileBuilder file;
    file.event(24, kSampleType, {7, 8});
    ring(file, 7, 0, UINT64_MAX, 100);
    ring(file, 8, 1, UINT64_MAX, 200);
    // The event ids in these AUX records identify the streams; the CPU is ignored.
    file.aux(7, 3, 0, 16).aux(8, 3, 0, 8);
    file.auxtrace(0, UINT32_MAX, 0, filled(8, 1), 0, 100);
    file.auxtrace(0, UINT32_MAX, 0, filled(8, 1), 1, 200);
    EXPECT_EQ(merge(file), (Expect{"data 0/-1t100 0 8", "data 0/-1t200 0 8", "loss 0/-1t100 8 8"}));
}

// Logs aux_start(), aux_end() and AUX records as well as data and losses.
class Marks final : public AuxSink {
public:
    void aux_start(const AuxStream &stream, uint64_t offset) override
    {
        lines.push_back("start " + std::to_string(stream.cpu) + " " + std::to_string(offset));
    }
    void aux_end(const AuxStream &stream, uint64_t offset) override
    {
        lines.push_back("end " + std::to_string(stream.cpu) + " " + std::to_string(offset));
    }
    void aux_record(const AuxStream &, const AuxRecord &aux) override
    {
        lines.push_back("aux " + std::to_string(aux.flags));
    }
    void aux_data(const AuxStream &, uint64_t, uint64_t, Bytes data) override
    {
        lines.push_back("data " + std::to_string(data.size()));
    }
    void aux_loss(const AuxStream &, uint64_t, uint64_t bytes) override
    {
        lines.push_back("loss " + std::to_string(bytes));
    }
    Expect lines;
};

// perf pads a buffer with zeros, and the next buffer begins where the data ended.
TEST(AuxMerge, IgnoresPaddingOfABuffer)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 13).auxtrace(7, 0, 0, filled(16, 0));
    file.aux(7, 0, 13, 11).auxtrace(7, 0, 13, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 13", "data 0/0 13 11"}));
}

TEST(AuxMerge, ReportsStartAndEndOfAStream)
{
    FileBuilder file = one_event();
    file.aux(7, 2, 0, 16, PERF_AUX_FLAG_COLLISION).auxtrace(7, 2, 0, filled(8, 1));
    std::vector<std::byte> bytes = file.file();
    Result<Reader> reader = Reader::open(bytes);
    Marks marks;
    AuxMerge aux(*reader, marks);
    Record record;
    while (reader->next(record))
        aux.record(record);
    aux.finish();
    EXPECT_EQ(marks.lines,
              (Expect{"aux 8", "start 2 0", "data 8", "loss 8", "loss 0", "end 2 16"}));
}

TEST(AuxMerge, DeliversOnlyAuxRecordsIfRequested)
{
    FileBuilder file = one_event();
    file.aux(7, 2, 0, 16, PERF_AUX_FLAG_COLLISION)
        .auxtrace(7, 2, 0, filled(8, 1))
        .auxtrace(7, 2, 64, filled(8, 1))
        .aux(7, 3, 0, 8);
    std::vector<std::byte> bytes = file.file();
    Result<Reader> reader = Reader::open(bytes);
    Marks marks;
    AuxMerge aux(*reader, marks, AuxMerge::Gives::kAuxRecords);
    Record record;
    while (reader->next(record))
        aux.record(record);
    aux.finish();
    EXPECT_EQ(marks.lines, (Expect{"aux 8", "aux 0"}));
}

TEST(AuxMerge, EachLossFlagReportsALoss)
{
    for (const uint64_t flag :
         {PERF_AUX_FLAG_TRUNCATED, PERF_AUX_FLAG_PARTIAL, PERF_AUX_FLAG_COLLISION}) {
        FileBuilder file = one_event();
        file.aux(7, 0, 0, 16, flag).auxtrace(7, 0, 0, filled(16, 1));
        EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "loss 0/0 16 0"})) << flag;
    }
}

TEST(AuxMerge, DeliversEachPieceOfAPayloadAtItsOffset)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 64, (1 << 20) + 8).auxtrace(7, 0, 64, filled((1 << 20) + 8, 1));
    std::vector<std::byte> bytes = file.pipe();
    Result<Reader> reader = Reader::pushed();
    Lines lines;
    AuxMerge aux(*reader, lines);
    size_t fed = 0;
    for (Record record;;) {
        Result<Reader::Step> step = reader->step(record);
        ASSERT_TRUE(step);
        if (*step == Reader::Step::kEnd)
            break;
        if (*step == Reader::Step::kRecord)
            aux.record(record);
        else if (fed < bytes.size())
            fed += reader->feed(Bytes(bytes).subspan(fed));
        else
            reader->end_feed();
    }
    aux.finish();
    EXPECT_EQ(lines.lines,
              (Expect{"data 0/0 64 524288", "data 0/0 524352 524288", "data 0/0 1048640 8"}));
}

TEST(AuxMerge, StreamsAboveTheLimitShareOneStream)
{
    FileBuilder file = one_event();
    for (uint32_t tid = 0; tid < 65537; tid++)
        file.auxtrace(7, UINT32_MAX, 0, filled(8, 1), 0, tid);
    std::vector<std::string> lines = merge(file);
    EXPECT_EQ(lines[0], "data 0/-1t0 0 8");
    EXPECT_EQ(lines.back(), "data ?/-1 0 8");
}

TEST(AuxMerge, IgnoresOffsetsThatOverflow)
{
    FileBuilder file = one_event();
    file.aux(7, 0, UINT64_MAX, 8).auxtrace(7, 0, UINT64_MAX - 7, filled(16, 1));
    EXPECT_TRUE(merge(file).empty());
}

}  // namespace
}  // namespace pmukit::perfdata
