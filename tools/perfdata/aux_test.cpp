// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the kernel announced against what the file holds, event by event.
#include "perfdata/aux.hpp"

#include <gtest/gtest.h>

#include "perfdata/test_file.hpp"

namespace pmukit::perfdata {
namespace {

using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;

// One line per event of the merge: "data event/cpu offset size" or "loss event/cpu offset bytes".
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
        std::string who = (stream.event == kUnknownEvent ? "?" : std::to_string(stream.event)) +
                          "/" + std::to_string(static_cast<int>(stream.cpu));
        lines.push_back(what + " " + who + " " + std::to_string(offset) + " " +
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
    for (Result<bool> more = reader->next(record); more && *more; more = reader->next(record))
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

TEST(AuxMerge, GivesDataInOrder)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 16)
        .auxtrace(7, 0, 0, filled(16, 1))
        .aux(7, 0, 16, 8)
        .auxtrace(7, 0, 16, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "data 0/0 16 8"}));
}

TEST(AuxMerge, AGapBetweenBuffersIsALoss)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 48).auxtrace(7, 0, 0, filled(16, 1)).auxtrace(7, 0, 32, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "loss 0/0 16 16", "data 0/0 32 16"}));
}

TEST(AuxMerge, WhatNeverCameIsLostAtTheEnd)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 48).auxtrace(7, 0, 0, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "loss 0/0 16 32"}));
    FileBuilder nothing = one_event();
    nothing.aux(7, 0, 64, 8);
    EXPECT_EQ(merge(nothing), (Expect{"loss 0/0 64 8"}));
}

TEST(AuxMerge, AFirstBufferBehindWhatWasAnnouncedIsALoss)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 32).auxtrace(7, 0, 16, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"loss 0/0 0 16", "data 0/0 16 16"}));
}

TEST(AuxMerge, TruncationStandsWhereTheKernelCut)
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

TEST(AuxMerge, RepeatedBytesAreGivenOnce)
{
    FileBuilder file = one_event();
    file.auxtrace(7, 0, 0, filled(16, 1))
        .auxtrace(7, 0, 8, filled(16, 1))
        .auxtrace(7, 0, 0, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 0 16", "data 0/0 16 8"}));
}

TEST(AuxMerge, OverwrittenAreasBeginAnywhere)
{
    FileBuilder file = one_event();
    file.aux(7, 0, 0, 4096, PERF_AUX_FLAG_OVERWRITE).auxtrace(7, 0, 1024, filled(16, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/0 1024 16"}));
}

TEST(AuxMerge, TwoEventsOnOneCpuAreKeptApartByTheReference)
{
    FileBuilder file;
    file.event(24, kSampleType, {7}).event(25, kSampleType, {8});
    file.aux(7, 0, 0, 8)
        .aux(8, 0, 0, 16)
        .auxtrace(8, 0, 0, filled(16, 1))
        .auxtrace(7, 0, 0, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 1/0 0 16", "data 0/0 0 8"}));
}

TEST(AuxMerge, WithoutAReferenceTheCpuOrTheOnlyDeviceEventServes)
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
    FileBuilder nobody;
    nobody.event(24, kSampleType, {7})
        .event(25, kSampleType, {8})
        .auxtrace(12345, 3, 0, filled(8, 1));
    EXPECT_EQ(merge(nobody), (Expect{"data ?/3 0 8"}));
}

TEST(AuxMerge, ThreadsHaveNoCpu)
{
    FileBuilder file = one_event();
    file.aux(7, 2, 0, 8)
        .auxtrace(7, UINT32_MAX, 0, filled(8, 1))
        .aux(7, 1, 8, 8)
        .auxtrace(7, UINT32_MAX, 8, filled(8, 1));
    EXPECT_EQ(merge(file), (Expect{"data 0/-1 0 8", "data 0/-1 8 8"}));
}

TEST(AuxMerge, NumbersThatWrapAreIgnored)
{
    FileBuilder file = one_event();
    file.aux(7, 0, UINT64_MAX, 8).auxtrace(7, 0, UINT64_MAX - 7, filled(16, 1));
    EXPECT_TRUE(merge(file).empty());
}

}  // namespace
}  // namespace pmukit::perfdata
