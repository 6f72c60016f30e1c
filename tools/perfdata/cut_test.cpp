// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the output of a cut with expected lists, in both byte orders and both layouts.
#include "perfdata/cut.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/limits.hpp"
#include "base/test_folder.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
constexpr uint64_t kCpu1 = 1;

struct Case {
    std::endian order;
    bool pipe;
};

// The recording has two events: one with the ids 7 and 8, and one with the id 9 and AUX data. It
// has samples on CPUs 0 and 1 at times 10, 11, 20, 21 ..., a COMM before and after them, and three
// AUX buffers of 64 bytes, which are announced at times 15, 25 and 35.
class Cut : public ::testing::TestWithParam<Case> {
protected:
    void SetUp() override
    {
        FileBuilder file(GetParam().order);
        file.event(1, kSampleType, {7, 8}).event(24, kSampleType, {9}).pmu(24, "hisi_ptt0_2");
        file.record(PERF_RECORD_COMM, comm(5));
        for (uint64_t round = 0; round < 3; round++) {
            file.record(PERF_RECORD_SAMPLE, {7, 10 + 10 * round, cpu(0)});
            file.record(PERF_RECORD_SAMPLE, {8, 11 + 10 * round, cpu(kCpu1)});
            file.record(PERF_RECORD_AUX,
                        {64 * round, 64, PERF_AUX_FLAG_TRUNCATED, 15 + 10 * round, cpu(0), 9});
            file.auxtrace(9, 0, 64 * round, filled(64, static_cast<int>(0xa0 + round)));
            file.record(kFinishedRound, {});
        }
        file.record(PERF_RECORD_COMM, comm(41));
        folder_.put("perf.data", GetParam().pipe ? file.pipe() : file.file());
    }

    uint64_t cpu(uint32_t number) const
    {
        return GetParam().order == std::endian::little ? number : uint64_t{number} << 32;
    }
    // A COMM body: pid and tid 1, an empty name, the trailer of event 7.
    std::vector<uint64_t> comm(uint64_t time) const
    {
        return {uint64_t{1} << 32 | 1, 0, time, cpu(0), 7};
    }
    Result<CutTotals> cut(const CutSelection &selection)
    {
        Result<Reader> plan = Reader::open_path(folder_.path("perf.data"));
        Result<Reader> copy = Reader::open_path(folder_.path("perf.data"));
        EXPECT_TRUE(plan && copy);
        Result<CutRecording> cut = cut_recording(*plan, *copy, selection, folder_.path("cut"));
        if (!cut)
            return cut.error();
        EXPECT_TRUE(cut->file.finish());
        return cut->totals;
    }
    // Cuts the recording, and returns the records of the output, without FINISHED_ROUND, as a text:
    // "COMM@5 SAMPLE@10 AUX@15[0+64] AUXTRACE(0)" and so on.
    std::string kept(const CutSelection &selection)
    {
        const Result<CutTotals> totals = cut(selection);
        EXPECT_TRUE(totals) << totals.error().message;
        Result<Reader> reader = Reader::open_path(folder_.path("cut"));
        EXPECT_TRUE(reader && reader->warnings().empty() && !reader->is_pipe());
        EXPECT_EQ(reader->order(), GetParam().order);
        std::string text;
        for (Record record; reader->next(record);) {
            if (record.type == kFinishedRound)
                continue;
            text += std::string(text.empty() ? "" : " ") + std::string(record_name(record.type));
            if (record.type == kAuxtrace)
                text += "(" + std::to_string(std::to_integer<int>(record.payload[0]) - 0xa0) + ")";
            else
                text += "@" + std::to_string(reader->time_of(record).value_or(0));
            if (const auto aux = parse_aux(record.body, reader->order());
                record.type == PERF_RECORD_AUX)
                text += "[" + std::to_string(aux->offset) + "+" + std::to_string(aux->size) +
                        (aux->flags ? "!" : "") + "]";
        }
        EXPECT_FALSE(reader->damage());
        return text;
    }

    TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Files, Cut,
                         ::testing::Values(Case{std::endian::little, false},
                                           Case{std::endian::big, false},
                                           Case{std::endian::little, true}),
                         [](const auto &which) {
                             return std::string(which.param.pipe ? "pipe" : "file") +
                                    (which.param.order == std::endian::little ? "_le" : "_be");
                         });

TEST_P(Cut, EmptySelectionKeepsEverything)
{
    EXPECT_EQ(kept({}),
              "COMM@5 SAMPLE@10 SAMPLE@11 AUX@15[0+64!] AUXTRACE(0) SAMPLE@20 SAMPLE@21 "
              "AUX@25[64+64!] AUXTRACE(1) SAMPLE@30 SAMPLE@31 AUX@35[128+64!] AUXTRACE(2) COMM@41");
}

TEST_P(Cut, SelectsByTimeAndKeepsEarlierCommRecords)
{
    CutSelection selection;
    selection.begin_ns = 20;
    selection.end_ns = 30;
    EXPECT_EQ(kept(selection), "COMM@5 SAMPLE@20 SAMPLE@21 AUX@25[64+64!] AUXTRACE(1) SAMPLE@30");
    selection.begin_ns = 21;
    selection.end_ns = 29;
    EXPECT_EQ(kept(selection), "COMM@5 SAMPLE@21 AUX@25[64+64!] AUXTRACE(1)");
    selection.end_ns = UINT64_MAX;
    EXPECT_EQ(kept(selection),
              "COMM@5 SAMPLE@21 AUX@25[64+64!] AUXTRACE(1) SAMPLE@30 SAMPLE@31 AUX@35[128+64!] "
              "AUXTRACE(2) COMM@41");
}

// At the end of a recording, the recorder writes the losses of the whole recording without a time.
TEST_P(Cut, SelectionByTimeOmitsLostSamplesWithoutATime)
{
    FileBuilder file(GetParam().order);
    file.event(24, kSampleType, {9}).pmu(24, "hisi_ptt0_2");
    file.record(PERF_RECORD_AUX, {0, 64, 0, 15, cpu(0), 9});
    file.auxtrace(9, 0, 0, filled(64, 0xa0));
    file.record(PERF_RECORD_AUX, {64, 0, PERF_AUX_FLAG_PARTIAL, 16, cpu(0), 9});
    file.record(PERF_RECORD_LOST_SAMPLES, {3, 17, cpu(0), 9});
    file.record(PERF_RECORD_LOST_SAMPLES, {5, 0, cpu(0), 9});
    folder_.put("perf.data", GetParam().pipe ? file.pipe() : file.file());
    EXPECT_EQ(kept({}), "AUX@15[0+64] AUXTRACE(0) AUX@16[64+0!] LOST_SAMPLES@17 LOST_SAMPLES@0");
    CutSelection selection;
    selection.end_ns = 20;
    EXPECT_EQ(kept(selection), "AUX@15[0+64] AUXTRACE(0) AUX@16[64+0!] LOST_SAMPLES@17");
}

TEST_P(Cut, SelectsByCpu)
{
    CutSelection selection;
    selection.cpus = {1};
    EXPECT_EQ(kept(selection), "COMM@5 SAMPLE@11 SAMPLE@21 SAMPLE@31 COMM@41");
}

TEST_P(Cut, SelectsByEvent)
{
    CutSelection selection;
    selection.events = {false, true};
    EXPECT_EQ(kept(selection),
              "COMM@5 AUX@15[0+64!] AUXTRACE(0) AUX@25[64+64!] AUXTRACE(1) AUX@35[128+64!] "
              "AUXTRACE(2) COMM@41");
    selection.events = {true, false};
    EXPECT_EQ(kept(selection),
              "COMM@5 SAMPLE@10 SAMPLE@11 SAMPLE@20 SAMPLE@21 SAMPLE@30 SAMPLE@31 COMM@41");
}

// A group that reads its members, {leader,member}:S, and another event.
TEST(CutRecords, KeepsTheSamplesOfAGroupThatHaveTheSelectedMember)
{
    constexpr uint64_t kGroup = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
    constexpr uint64_t kReads = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    FileBuilder file(std::endian::native);
    for (const uint64_t id : {uint64_t{7}, uint64_t{8}, uint64_t{9}})
        file.event(1, kGroup, {id}).set(kAttrReadFormat, kReads);
    file.record(PERF_RECORD_SAMPLE, {7, 10, /* nr */ 2, 100, 7, 5, 8});
    file.record(PERF_RECORD_SAMPLE, {9, 20, 1, 3, 9});
    file.record(PERF_RECORD_SAMPLE, {7, 30, 2, 200, 7, 5, 8});
    TestFolder folder;
    folder.put("perf.data", file.file());
    const std::pair<std::vector<bool>, uint64_t> kCases[] = {
        {{false, true, false}, 2}, {{true, false, false}, 2}, {{false, false, true}, 1}};
    for (const auto &[events, samples] : kCases) {
        Result<Reader> plan = Reader::open_path(folder.path("perf.data"));
        Result<Reader> copy = Reader::open_path(folder.path("perf.data"));
        CutSelection selection;
        selection.events = events;
        Result<CutRecording> cut = cut_recording(*plan, *copy, selection, folder.path("cut"));
        ASSERT_TRUE(cut && cut->file.finish());
        EXPECT_EQ(cut->totals.samples_kept, samples);
    }
}

TEST(CutRecords, KeepsNamesThatFollowTheFirstSample)
{
    FileBuilder file;
    file.event(1, kSampleType, {7});
    file.record(PERF_RECORD_SAMPLE, {7, 10, 0});
    file.record(kEventUpdate, {EventUpdateRecord::kName, 7, 'x'});
    for (const bool pipe : {false, true}) {
        TestFolder folder;
        folder.put("perf.data", pipe ? file.pipe() : file.file());
        Result<Reader> plan = Reader::open_path(folder.path("perf.data"));
        Result<Reader> copy = Reader::open_path(folder.path("perf.data"));
        Result<CutRecording> cut = cut_recording(*plan, *copy, {}, folder.path("cut"));
        ASSERT_TRUE(cut && cut->file.finish());
        Result<Reader> reader = Reader::open_path(folder.path("cut"));
        for (Record record; reader->next(record);)
            continue;
        EXPECT_EQ(reader->events()[0].name, "x") << pipe;
    }
}

// Units and scales of events are only in records, in no section of the header.
TEST(CutRecords, KeepsScalesOfEvents)
{
    for (const bool pipe : {false, true}) {
        TestFolder folder;
        FileBuilder file;
        file.event(1, kSampleType, {7});
        file.record(kEventUpdate, {EventUpdateRecord::kScale, 7, 0x3ff0000000000000});
        file.record(kEventUpdate, {EventUpdateRecord::kName, 7, 'x'});
        file.record(PERF_RECORD_SAMPLE, {7, 10, 0});
        folder.put("perf.data", pipe ? file.pipe() : file.file());
        Result<Reader> plan = Reader::open_path(folder.path("perf.data"));
        Result<Reader> copy = Reader::open_path(folder.path("perf.data"));
        Result<CutRecording> cut = cut_recording(*plan, *copy, {}, folder.path("cut"));
        ASSERT_TRUE(cut && cut->file.finish());
        Result<Reader> reader = Reader::open_path(folder.path("cut"));
        Record record;
        ASSERT_TRUE(reader->next(record));
        ASSERT_EQ(record.type, kEventUpdate) << pipe;
        EXPECT_EQ(parse_event_update(record.body, reader->order())->type,
                  EventUpdateRecord::kScale);
        while (reader->next(record) && record.type == kEventUpdate)
            continue;
        EXPECT_EQ(record.type, PERF_RECORD_SAMPLE);
        EXPECT_EQ(reader->events()[0].name, "x") << pipe;
    }
}

// The kernel writes the deferred callchain after the sample, and perf records it with another
// event.
TEST(CutRecords, KeepsDeferredCallchains)
{
    TestFolder folder;
    FileBuilder file;
    file.event(1, kSampleType, {7}).event(1, kSampleType, {8});
    for (const uint64_t time : {uint64_t{10}, uint64_t{20}, uint64_t{30}}) {
        file.record(PERF_RECORD_SAMPLE, {7, time, 0});
        file.record(kRecordCallchainDeferred, {/* cookie */ time, /* nr */ 0, time + 1, 0, 8});
    }
    folder.put("perf.data", file.file());
    Result<Reader> plan = Reader::open_path(folder.path("perf.data"));
    Result<Reader> copy = Reader::open_path(folder.path("perf.data"));
    CutSelection selection;
    selection.events = {true, false};
    selection.begin_ns = 20;
    selection.end_ns = 20;
    Result<CutRecording> cut = cut_recording(*plan, *copy, selection, folder.path("cut"));
    ASSERT_TRUE(cut && cut->file.finish());
    Result<Reader> reader = Reader::open_path(folder.path("cut"));
    std::vector<std::pair<uint32_t, uint64_t>> kept;
    for (Record record; reader->next(record);)
        kept.emplace_back(record.type, *reader->time_of(record));
    EXPECT_EQ(kept, (std::vector<std::pair<uint32_t, uint64_t>>{{PERF_RECORD_SAMPLE, 20},
                                                                {kRecordCallchainDeferred, 21},
                                                                {kRecordCallchainDeferred, 31}}));
}

TEST_P(Cut, SelectsAuxBuffersByNumber)
{
    CutSelection selection;
    selection.events = {false, true};
    selection.buffers = {0, 2};
    EXPECT_EQ(kept(selection),
              "COMM@5 AUX@15[0+64!] AUXTRACE(0) AUX@35[128+64!] AUXTRACE(2) COMM@41");
    selection.buffers = {3};
    EXPECT_EQ(kept(selection), "COMM@5 COMM@41");
}

TEST_P(Cut, WritesANewAuxtraceIndexAndKeepsPmuNamesAndEventIds)
{
    CutSelection selection;
    selection.buffers = {1};
    const Result<CutTotals> totals = cut(selection);
    ASSERT_TRUE(totals);
    EXPECT_EQ(totals->samples, 6U);
    EXPECT_EQ(totals->samples_kept, 6U);
    EXPECT_EQ(totals->buffers, 3U);
    EXPECT_EQ(totals->buffers_kept, 1U);
    EXPECT_EQ(totals->aux_bytes_kept, 64U);
    Result<Reader> reader = Reader::open_path(folder_.path("cut"));
    ASSERT_TRUE(reader);
    EXPECT_TRUE(reader->feature(kFeatAuxtrace));
    EXPECT_EQ(reader->pmu_name(24), "hisi_ptt0_2");
    ASSERT_EQ(reader->events().size(), 2U);
    EXPECT_EQ(reader->events()[0].ids, (std::vector<uint64_t>{7, 8}));
}

TEST_P(Cut, CuttingTwiceGivesTheSameResult)
{
    CutSelection selection;
    selection.begin_ns = 20;
    selection.end_ns = 31;
    const std::string once = kept(selection);
    fs::rename(folder_.path("cut"), folder_.path("perf.data"));
    EXPECT_EQ(kept(selection), once);
}

TEST_P(Cut, WriteErrorsAreReported)
{
    folder_.folder("cut");
    EXPECT_FALSE(cut({}));
    EXPECT_TRUE(fs::is_empty(folder_.path("cut")));
}

// One record announces two buffers and is trimmed to the kept buffer. Loss flags apply to the end
// of a record, so they are dropped if that end is removed.
TEST(CutAux, AuxRecordIsTrimmedToTheSelectedBuffers)
{
    const TestFolder folder;
    FileBuilder file;
    file.event(24, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, {9});
    constexpr uint64_t kFlags =
        PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;
    file.aux(9, 0, 0, 128, kFlags);
    file.auxtrace(9, 0, 0, filled(64, 1)).auxtrace(9, 0, 64, filled(64, 2));
    for (int number : {0, 1}) {
        const std::vector<std::byte> bytes = file.file();
        Result<Reader> plan = Reader::open(bytes), copy = Reader::open(bytes);
        CutSelection selection;
        selection.buffers = {number};
        Result<CutRecording> cut = cut_recording(*plan, *copy, selection, folder.path("cut"));
        ASSERT_TRUE(cut && cut->file.finish());
        Result<Reader> reader = Reader::open_path(folder.path("cut"));
        Record record;
        ASSERT_TRUE(reader->next(record));
        const AuxRecord aux = *parse_aux(record.body, reader->order());
        EXPECT_EQ(aux.offset, number * 64U);
        EXPECT_EQ(aux.size, 64U);
        EXPECT_EQ(aux.flags, number == 1 ? kFlags : 0U);
    }
    Result<Reader> plan = Reader::open_path(folder.path("cut")),
                   copy = Reader::open_path(folder.path("cut"));
    CutSelection by_time;
    by_time.begin_ns = 5;
    const Result<CutRecording> none = cut_recording(*plan, *copy, by_time, folder.path("none"));
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("without times"), std::string::npos);
}

class CutAuxFolder : public ::testing::Test {
protected:
    Result<CutTotals> cut(const FileBuilder &file, const CutSelection &selection)
    {
        const std::vector<std::byte> bytes = file.file();
        Result<Reader> plan = Reader::open(bytes), copy = Reader::open(bytes);
        Result<CutRecording> cut = cut_recording(*plan, *copy, selection, folder_.path("cut"));
        if (!cut)
            return cut.error();
        EXPECT_TRUE(cut->file.finish());
        return cut->totals;
    }
    // Cuts the file, and returns "offset+size" of each AUX record of the output.
    std::vector<std::string> announced(const FileBuilder &file, const CutSelection &selection)
    {
        EXPECT_TRUE(cut(file, selection));
        Result<Reader> reader = Reader::open_path(folder_.path("cut"));
        std::vector<std::string> all;
        for (Record record; reader->next(record);)
            if (const auto aux = parse_aux(record.body, reader->order());
                record.type == PERF_RECORD_AUX && aux)
                all.push_back(std::to_string(aux->offset) + "+" + std::to_string(aux->size));
        return all;
    }

    TestFolder folder_;
};
using Expect = std::vector<std::string>;
constexpr uint64_t kAuxSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;

// Many records announce the same small buffers. The output has one record per buffer, not one per
// record and buffer.
TEST_F(CutAuxFolder, WritesOneAuxRecordPerBufferThatManyAuxRecordsAnnounce)
{
    constexpr uint64_t kBuffers = 200, kApart = 16;
    FileBuilder file;
    file.event(24, kAuxSampleType, {9});
    for (uint64_t i = 0; i < kBuffers; i++)
        file.auxtrace(9, 0, kApart * i, filled(8, 1));
    for (int i = 0; i < 50; i++)
        file.aux(9, 0, 0, kApart * kBuffers);
    file.aux(9, 0, kApart * kBuffers - 12, 20).auxtrace(9, 0, kApart * kBuffers, filled(8, 1));
    Expect expected;
    for (uint64_t i = 0; i <= kBuffers; i++)
        expected.push_back(std::to_string(kApart * i) + "+8");
    EXPECT_EQ(announced(file, {}), expected);
}

// Two CPUs have the same AUX offsets; each CPU's record is written.
TEST_F(CutAuxFolder, WritesAuxRecordsOfTwoCpusWithTheSameOffsets)
{
    FileBuilder file;
    file.event(24, kAuxSampleType, {9});
    file.aux(9, 0, 0, 64).aux(9, 1, 0, 64);
    file.auxtrace(9, 0, 0, filled(64, 1)).auxtrace(9, 1, 0, filled(64, 1));
    EXPECT_EQ(announced(file, {}), (Expect{"0+64", "0+64"}));
}

// Each snapshot covers the whole area.
TEST_F(CutAuxFolder, WritesEachAuxRecordOfAnAuxAreaInOverwriteMode)
{
    FileBuilder file;
    file.event(24, kAuxSampleType, {9});
    for (uint64_t offset : {0, 16, 8}) {
        file.aux(9, 0, offset, 64, PERF_AUX_FLAG_OVERWRITE);
        file.auxtrace(9, 0, offset, filled(32, 1));
    }
    EXPECT_EQ(announced(file, {}), (Expect{"0+64", "16+64", "8+64"}));
    CutSelection none;
    none.buffers = {3};
    EXPECT_TRUE(announced(file, none).empty());
}

// There are 200 events. The list of the selection is shorter, and events past its end are not
// selected.
TEST_F(CutAuxFolder, EventsPastTheEndOfTheListAreNotSelected)
{
    FileBuilder file;
    for (uint64_t id = 1; id <= 200; id++)
        file.event(1, kAuxSampleType, {id});
    for (uint64_t id = 1; id <= 200; id++)
        file.record(PERF_RECORD_SAMPLE, {id, 0});
    CutSelection selection;
    selection.events = {true, true};
    const Result<CutTotals> totals = cut(file, selection);
    ASSERT_TRUE(totals);
    EXPECT_EQ(totals->samples, 200U);
    EXPECT_EQ(totals->samples_kept, 2U);
    // Events that are not selected are not checked.
    selection.events = {false};
    selection.begin_ns = 5;
    EXPECT_TRUE(cut(file, selection));
}

// Adds `bytes` bytes of tracing data, a multiple of 8. The bytes after the first word look like a
// record.
void tracing_data(FileBuilder &file, size_t bytes)
{
    file.record(kHeaderTracingData, {bytes});
    file.record(PERF_RECORD_LOST, std::vector<uint64_t>(bytes / 8 - 1), 8);
}

TEST(RecordCopier, CopiesTracingDataUpToItsLimit)
{
    const TestFolder folder;
    const std::string path = folder.path("copy");
    for (const bool more : {false, true}) {
        FileBuilder file;
        file.event(1, PERF_SAMPLE_IDENTIFIER, {7});
        tracing_data(file, limits::kTracing - 64);
        tracing_data(file, more ? 72 : 64);
        file.record(kFinishedRound, {});
        const std::vector<std::byte> bytes = file.pipe();
        Result<Reader> reader = Reader::open(bytes);
        ASSERT_TRUE(reader && reader->read_front());
        Result<Writer> writer =
            Writer::create_copy(path, reader->order(), events_for_copy(*reader));
        ASSERT_TRUE(writer);
        const Result<void> copied = RecordCopier::run(*reader, *writer);
        if (more) {
            ASSERT_FALSE(copied);
            EXPECT_EQ(copied.error().code, Errc::kUnsupported);
            continue;
        }
        ASSERT_TRUE(copied) << copied.error().message;
        ASSERT_TRUE(writer->finish());
        Result<Reader> copy = Reader::open_path(path);
        ASSERT_TRUE(copy && copy->feature(kFeatTracingData));
        EXPECT_EQ(copy->feature(kFeatTracingData)->size(), limits::kTracing);
    }
}

}  // namespace
}  // namespace pmukit::perfdata
