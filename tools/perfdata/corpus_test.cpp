// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the recordings of the corpus (testdata/corpus: made by stock perf in guests, by `make
// corpus`), and compares the result with the output of the newest perf for the same recordings.
// Each recording is read whole, truncated after every record, and truncated at random offsets.
// Documentation/components/perfdata.rst lists defects of perf itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/test_folder.hpp"
#include "perfdata/aux_file.hpp"
#include "perfdata/cut.hpp"
#include "perfdata/format.hpp"
#include "perfdata/merge.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/recover.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/perf_script.hpp"
#include "perfdata/testing/perf_text.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::Recording;

constexpr unsigned kRandomCuts = 200, kRecoveredCuts = 4;
constexpr unsigned kSeed = 20260722;

// Recordings of perf that the newest perf cannot read. The test fails if perf can read one of them,
// which must then be removed from this list.
constexpr struct {
    std::string_view recording, why;
} kPerfDefects[] = {
    {"6.1/injected_build_ids",
     "stops at a BUILD_ID record of 100 bytes that perf inject 6.1 wrote"},
    {"6.1/killed", "refuses the sample at the end that a killed recorder left"},
    {"7.2/killed", "as 6.1/killed"},
    {"6.1/stat", "refuses COMPRESSED sections without a size, such as perf stat writes"},
    {"6.1/stat_intervals", "as 6.1/stat"},
    {"6.12/stat", "as 6.1/stat"},
    {"6.12/stat_intervals", "as 6.1/stat"},
    {"6.12-arm64/stat", "as 6.1/stat"},
    {"6.12-arm64/stat_intervals", "as 6.1/stat"},
    {"7.2/stat", "as 6.1/stat"},
    {"7.2/stat_intervals", "as 6.1/stat"},
    {"7.2/cycles_and_instructions", "refuses groups whose leader fell back to another event"},
};

bool is_perf_defect(const std::string &name)
{
    return std::any_of(std::begin(kPerfDefects), std::end(kPerfDefects),
                       [&name](const auto &defect) { return defect.recording == name; });
}

std::string first_difference(std::string_view ours, std::string_view perfs)
{
    auto [a, b] = std::mismatch(ours.begin(), ours.end(), perfs.begin(), perfs.end());
    const size_t at = static_cast<size_t>(a - ours.begin());
    const size_t line = at == 0 ? 0 : ours.rfind('\n', at - 1) + 1;
    return "ours: " + std::string(ours.substr(line, 200)) +
           "\nperf: " + std::string(perfs.substr(std::min(line, perfs.size()), 200));
}

class Corpus : public ::testing::TestWithParam<std::string> {
protected:
    std::vector<Recording> recordings() const { return testing::recordings_of(GetParam()); }

    TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(OfPerf, Corpus, ::testing::ValuesIn(testing::corpus_folders()),
                         [](const auto &folder) {
                             std::string name = folder.param;
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                                 '_');
                             return name;
                         });

TEST_P(Corpus, RecordsAndHeaderMatchPerfReport)
{
    size_t defects = 0;
    for (const Recording &recording : recordings()) {
        SCOPED_TRACE(recording.name);
        Result<Reader> reader = Reader::open_path(recording.unpacked(folder_));
        ASSERT_TRUE(reader) << reader.error().message;
        Result<std::string> ours = testing::perf_text(*reader);
        ASSERT_TRUE(ours) << ours.error().message;
        EXPECT_EQ(is_perf_defect(recording.name), recording.perf_fails());
        defects += recording.perf_fails();
        if (recording.perf_stops_early())
            EXPECT_TRUE(ours->starts_with(recording.records))
                << first_difference(*ours, recording.records);
        else
            EXPECT_TRUE(*ours == recording.records) << first_difference(*ours, recording.records);
        EXPECT_FALSE(recording.records.empty());
        EXPECT_FALSE(reader->damage()) << reader->damage()->reason;
        if (!recording.perf_fails()) {
            std::string header = testing::perf_header_text(*reader);
            EXPECT_TRUE(header == recording.header) << first_difference(header, recording.header);
        }
    }
    size_t listed = 0;
    for (const auto &defect : kPerfDefects)
        listed += defect.recording.starts_with(GetParam() + "/");
    EXPECT_EQ(defects, listed);
}

TEST_P(Corpus, SamplesMatchPerfScript)
{
    for (const Recording &recording : recordings()) {
        SCOPED_TRACE(recording.name);
        if (is_perf_defect(recording.name)) {
            EXPECT_TRUE(recording.script.empty());
            continue;
        }
        Result<Reader> reader = Reader::open_path(recording.unpacked(folder_));
        ASSERT_TRUE(reader) << reader.error().message;
        const Result<std::string> ours = testing::perf_script(*reader);
        ASSERT_TRUE(ours) << ours.error().message;
        EXPECT_TRUE(*ours == recording.script) << first_difference(*ours, recording.script);
    }
}

// Copies

// Each of these functions copies a recording as one command of pmukit does, with options that keep
// every record.
Result<void> cut_nothing(const std::string &from, const std::string &to)
{
    Result<Reader> plan = Reader::open_path(from), copy = Reader::open_path(from);
    if (!plan || !copy)
        return plan ? copy.error() : plan.error();
    Result<CutRecording> cut = cut_recording(*plan, *copy, {}, to);
    return cut ? cut->file.finish() : cut.error();
}

Result<void> merge_alone(const std::string &from, const std::string &to)
{
    std::vector<Reader> inputs;
    Result<Reader> reader = Reader::open_path(from);
    if (!reader)
        return reader.error();
    inputs.push_back(std::move(*reader));
    Result<Merged> merged = merge_recordings(inputs, to);
    return merged ? merged->file.finish() : merged.error();
}

Result<void> recover_all(const std::string &from, const std::string &to)
{
    const Result<DamagedRecording> damaged = DamagedRecording::open(from);
    if (!damaged)
        return damaged.error();
    Result<Writer> written = damaged->write(to);
    return written ? written->finish() : written.error();
}

struct Copy {
    std::string_view name;
    Result<void> (*make)(const std::string &from, const std::string &to);
    // The command may refuse a recording, for example without event ids or with trace events.
    bool may_refuse = false;
};
constexpr Copy kCopies[] = {
    {"cut", cut_nothing},
    {"merge", merge_alone, true},
    {"recover", recover_all, true},
};

Result<std::string> script_of(const std::string &path, bool piped)
{
    Result<Reader> reader = Reader::open_path(path);
    return reader ? testing::perf_script(*reader, piped) : reader.error();
}

// All bytes of all AUX buffers, in order.
Result<std::vector<std::byte>> aux_of(const std::string &path)
{
    Result<Reader> reader = Reader::open_path(path);
    if (!reader)
        return reader.error();
    std::vector<std::byte> bytes;
    for (Record record;;) {
        if (!reader->next(record)) {
            if (reader->error())
                return *reader->error();
            return bytes;
        }
        if (record.type == kAuxtrace)
            append(bytes, record.payload);
    }
}

// The copy of a recording is one uncompressed file with the same contents, also if the recording is
// compressed, is a pipe or a directory, or has AUX data.
TEST_P(Corpus, CopiesHaveTheSameContents)
{
    const std::string to = folder_.path("copy");
    std::map<std::string_view, size_t> copied;
    for (const Recording &recording : recordings()) {
        const std::string from = recording.unpacked(folder_);
        const bool piped = Reader::open_path(from)->is_pipe();
        const Result<std::string> before = script_of(from, piped);
        ASSERT_TRUE(before) << before.error().message;
        const auto aux = aux_of(from);
        ASSERT_TRUE(aux) << aux.error().message;
        for (const Copy &copy : kCopies) {
            SCOPED_TRACE(recording.name + ", " + std::string(copy.name));
            const Result<void> made = copy.make(from, to);
            if (!made) {
                EXPECT_TRUE(copy.may_refuse && made.error().code == Errc::kUnsupported)
                    << made.error().message;
                continue;
            }
            copied[copy.name]++;
            const Result<std::string> after = script_of(to, piped);
            ASSERT_TRUE(after) << after.error().message;
            EXPECT_TRUE(*after == *before) << first_difference(*after, *before);
            EXPECT_TRUE(*aux_of(to) == *aux);
            const Result<AuxFile> file = AuxFile::open(to);
            ASSERT_TRUE(file) << file.error().message;
            EXPECT_EQ(file->from_index(), !aux->empty());
        }
    }
    for (const Copy &copy : kCopies)
        EXPECT_NE(copied[copy.name], 0U) << copy.name;
}

// The samples of a recording, each with its time and bytes, sorted.
using Samples = std::vector<std::pair<uint64_t, std::vector<std::byte>>>;

Result<Samples> samples_of(const std::string &path)
{
    Result<Reader> reader = Reader::open_path(path);
    if (!reader)
        return reader.error();
    Samples samples;
    for (Record record;;) {
        if (!reader->next(record)) {
            if (reader->error())
                return *reader->error();
            break;
        }
        if (record.type == PERF_RECORD_SAMPLE)
            samples.emplace_back(reader->time_of(record).value_or(0),
                                 std::vector<std::byte>(record.body.begin(), record.body.end()));
    }
    std::ranges::sort(samples);
    return samples;
}

// Cuts a recording in two by time, at a sample in the middle. Each sample must be in one of the
// halves, even if it was compressed.
TEST_P(Corpus, RecordingCutInTwoByTimeHasAllItsSamplesInTheTwoHalves)
{
    const std::string to = folder_.path("half");
    size_t halved = 0;
    for (const Recording &recording : recordings()) {
        SCOPED_TRACE(recording.name);
        const std::string from = recording.unpacked(folder_);
        const Result<Samples> whole = samples_of(from);
        ASSERT_TRUE(whole) << whole.error().message;
        if (whole->empty() || whole->back().first == 0)
            continue;
        const uint64_t middle_ns = (*whole)[whole->size() / 2].first;
        Samples found;
        size_t parts = 0;
        for (const auto &[begin_ns, end_ns] :
             {std::pair(uint64_t{0}, middle_ns - 1), std::pair(middle_ns, UINT64_MAX)}) {
            Result<Reader> plan = Reader::open_path(from), copy = Reader::open_path(from);
            CutSelection selection;
            selection.begin_ns = begin_ns;
            selection.end_ns = end_ns;
            Result<CutRecording> cut = cut_recording(*plan, *copy, selection, to);
            if (!cut) {
                EXPECT_EQ(cut.error().code, Errc::kUsage) << cut.error().message;
                break;
            }
            ASSERT_TRUE(cut->file.finish());
            const Result<Samples> half = samples_of(to);
            ASSERT_TRUE(half) << half.error().message;
            EXPECT_EQ(half->size(), cut->totals.samples_kept);
            EXPECT_TRUE(std::ranges::all_of(*half, [&selection](const auto &sample) {
                return sample.first >= selection.begin_ns && sample.first <= selection.end_ns;
            }));
            found.insert(found.end(), half->begin(), half->end());
            parts++;
        }
        if (parts != 2)
            continue;
        EXPECT_TRUE(found == *whole) << found.size() << " of " << whole->size();
        halved++;
    }
    EXPECT_GE(halved, 2U);
}

// Truncation

struct Whole {
    // Range of the record in the file; for a decompressed record, the range of its COMPRESSED
    // record.
    uint64_t offset, end;
    uint32_t type;
    const std::byte *body;
    size_t body_bytes;
};

// End of the record at this offset, with its payload.
uint64_t end_of(Bytes file, const Record &record, std::endian order)
{
    const uint64_t size = load<uint16_t>(file.data() + record.offset + 6, order);
    return record.offset + size + record.payload_bytes;
}

std::vector<Whole> walk(Bytes file)
{
    std::vector<Whole> records;
    Result<Reader> reader = Reader::open(file);
    EXPECT_TRUE(reader);
    if (!reader)
        return records;
    for (Record record; reader->next(record);)
        records.push_back({record.offset, end_of(file, record, reader->order()), record.type,
                           record.body.data(), record.body.size()});
    EXPECT_FALSE(reader->damage());
    return records;
}

// False for a decompressed record, which is in the reader's memory, not in the file.
bool lies_in(Bytes file, const std::byte *at)
{
    return std::greater_equal<>()(at, file.data()) && std::less<>()(at, file.data() + file.size());
}

class Cutter {
public:
    explicit Cutter(Bytes file) : file_(file), records_(walk(file))
    {
        Result<Reader> reader = Reader::open(file);
        if (!reader)
            return;
        pipe_ = reader->is_pipe();
        data_begin_ = reader->data_begin();
        data_end_ = reader->data_end();
        killed_ = !reader->warnings().empty();
        for (const Whole &record : records_)
            borders_.insert(record.end);
    }
    const std::set<uint64_t> &borders() const { return borders_; }

    void check(uint64_t cut) const
    {
        Result<Reader> reader = Reader::open(file_.first(cut));
        if (!reader) {
            ASSERT_LT(cut, data_begin_) << "the header is whole: " << reader.error().message;
            return;
        }
        size_t given = 0;
        for (Record record;; given++) {
            if (!reader->next(record)) {
                ASSERT_FALSE(reader->error()) << reader->error()->message;
                break;
            }
            ASSERT_LT(given, records_.size());
            const Whole &expected = records_[given];
            ASSERT_EQ(record.offset, expected.offset);
            ASSERT_EQ(record.type, expected.type);
            ASSERT_EQ(record.body.size(), expected.body_bytes);
            ASSERT_TRUE(record.body.data() == expected.body || !lies_in(file_, record.body.data()));
        }
        size_t whole = 0;
        while (whole < records_.size() && records_[whole].end <= cut)
            whole++;
        ASSERT_GE(given, whole) << "whole records are missing";
        // A pipe has no end mark: it is complete if it ends between records.
        const bool silent = !reader->damage() && reader->warnings().empty();
        const bool may_be_silent =
            cut == file_.size() || (pipe_ && (borders_.contains(cut) || cut == data_begin_));
        ASSERT_TRUE(!silent || may_be_silent) << "nothing said of the cut";
        // Only a reader that reports damage, or that reads the file of a killed recorder (whose end
        // is unknown), may return more than the records that end before the cut.
        ASSERT_TRUE(given == whole || reader->damage() || killed_) << "more than there is";
    }

    // DamagedRecording has its own parser, which must not lose a whole record either.
    void check_recovery(uint64_t cut) const
    {
        Result<DamagedRecording> damaged = DamagedRecording::of(file_.first(cut));
        if (!damaged) {
            ASSERT_LT(cut, data_begin_);
            return;
        }
        const Recovery *recovery = &damaged->parts().front().found;
        uint64_t outer = 0;
        for (uint64_t border : borders_)
            outer += border <= cut;
        ASSERT_GE(recovery->records, outer) << "recover lost whole records";
        ASSERT_FALSE(recovery->clean() && cut < data_end_ && !borders_.contains(cut));
    }

private:
    Bytes file_;
    std::vector<Whole> records_;
    std::set<uint64_t> borders_;
    bool pipe_ = false, killed_ = false;
    uint64_t data_begin_ = 0, data_end_ = 0;
};

// Truncates one file of a directory. This file has only records. The other files are complete.
class DirectoryCutter {
public:
    DirectoryCutter(std::string folder, const testing::RecordedFile &part)
        : folder_(std::move(folder)), path_(folder_ + "/" + part.name), part_(part)
    {
        size_t number = 0;
        Result<Reader> reader = Reader::open_path(folder_);
        for (Record record; reader && reader->next(record); number++)
            if (fs::path(reader->part()).filename() == part.name)
                ends_.push_back(end_of(part.bytes, record, reader->order()));
        others_ = number - ends_.size();
    }
    std::set<uint64_t> borders() const { return {ends_.begin(), ends_.end()}; }

    void check(uint64_t cut) const
    {
        fs::resize_file(path_, cut);
        Result<Reader> reader = Reader::open_path(folder_);
        ASSERT_TRUE(reader) << reader.error().message;
        size_t given = 0, others = 0;
        for (Record record; reader->next(record);)
            (fs::path(reader->part()).filename() == part_.name ? given : others)++;
        size_t whole = 0;
        while (whole < ends_.size() && ends_[whole] <= cut)
            whole++;
        ASSERT_EQ(others, others_) << "of the other files";
        ASSERT_GE(given, whole) << "whole records are missing";
        const bool silent = !reader->damage() && reader->warnings().empty();
        ASSERT_TRUE(!silent || cut == 0 || borders().contains(cut)) << "nothing said of the cut";
    }

private:
    std::string folder_, path_;
    const testing::RecordedFile &part_;
    std::vector<uint64_t> ends_;  // end of each record, or of the compressed record that holds it
    size_t others_ = 0;
};

TEST_P(Corpus, TruncatedFilesOfADirectoryKeepWholeRecords)
{
    std::mt19937_64 random(kSeed);
    for (const Recording &recording : recordings())
        for (const testing::RecordedFile &part : recording.parts) {
            if (!part.is_only_records)
                continue;
            const DirectoryCutter cutter(recording.unpacked(folder_), part);
            // In descending order, because each cut truncates the file in place.
            std::set<uint64_t, std::greater<>> cuts;
            for (uint64_t border : cutter.borders())
                cuts.insert(border);
            for (unsigned i = 0; i < kRandomCuts; i++)
                cuts.insert(random() % part.bytes.size());
            for (uint64_t cut : cuts) {
                SCOPED_TRACE(recording.name + "/" + part.name + " cut at " + std::to_string(cut));
                cutter.check(cut);
                if (HasFatalFailure())
                    return;
            }
        }
}

TEST_P(Corpus, TruncatedRecordingsKeepWholeRecords)
{
    std::mt19937_64 random(kSeed);
    for (const Recording &recording : recordings()) {
        for (const testing::RecordedFile &part : recording.parts) {
            if (part.is_only_records)
                continue;
            const Cutter cutter(part.bytes);
            for (uint64_t border : cutter.borders()) {
                SCOPED_TRACE(recording.name + " cut at the border " + std::to_string(border));
                cutter.check(border);
                if (HasFatalFailure())
                    return;
            }
            for (unsigned i = 0; i < kRandomCuts; i++) {
                const uint64_t cut = random() % part.bytes.size();
                SCOPED_TRACE(recording.name + " cut at " + std::to_string(cut));
                cutter.check(cut);
                if (i < kRecoveredCuts)
                    cutter.check_recovery(cut);
                if (HasFatalFailure())
                    return;
            }
        }
    }
}

}  // namespace
}  // namespace pmukit::perfdata
