// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares `pmukit report` with `perf report --stats` of the newest stock perf, for every recording
// of the corpus and for recordings with losses, which are made here: the number of records of each
// kind, of samples of each event, and of lost samples of all events.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/test_file.hpp"
#include "session/recording.hpp"
#include "session/samples.hpp"

namespace pmukit::cli {
namespace {

using nlohmann::json;
using perfdata::testing::Recording;
using Counts = std::map<std::string, uint64_t>;

struct Stats {
    Counts kinds;          // records of each kind
    uint64_t records = 0;  // of all kinds
    Counts samples;        // by event; members of a group count alone
    uint64_t lost = 0;     // samples of all events
};

std::string without(std::string text, std::string_view prefix)
{
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// perf report --stats

std::string said_by_perf(const std::string &perf, const std::string &command,
                         const std::string &path, const std::string &errors_to = {})
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    const std::string input = reader->is_pipe() ? " -i - <" + path : " -i " + path;
    return stock::run("(" + perf + command + input + errors_to + ")").text;
}

// Parses "  COMM events:   4  ( 5.3%)" of all events, then of each event after "NAME stats:".
Stats parse_stats(const std::string &said)
{
    constexpr std::string_view kCount = " events:", kEvent = " stats:", kAll = "Aggregated stats:";
    Stats stats;
    std::string event;
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
        const size_t end = line.rfind(kCount);
        if (line.starts_with(kAll)) {
            event.clear();
        } else if (end != line.npos) {
            const size_t begin = line.find_first_not_of(' ');
            const std::string name = line.substr(begin, end - begin);
            const uint64_t count = std::stoull(line.substr(end + kCount.size()));
            if (event.empty() && name == "TOTAL")
                stats.records = count;
            else if (event.empty())
                stats.kinds[name] = count;
            else if (name == "SAMPLE")
                stats.samples[event] += count;
            else if (name == "LOST_SAMPLES")
                stats.lost += count;
        } else if (line.ends_with(kEvent)) {
            event = line.substr(0, line.size() - kEvent.size());
        }
    }
    return stats;
}

// Removes the records that are not records of the stream for pmukit: a record that contains others
// in compressed form, and the header of a recording in pipe layout.
void remove_containers(Stats &stats, bool is_pipe)
{
    for (const char *kind : {"COMPRESSED", "COMPRESSED2", "ATTR", "FEATURE", "EVENT_UPDATE"}) {
        const bool is_container = std::string_view(kind).starts_with("COMPRESSED");
        const auto found = stats.kinds.find(kind);
        if (found == stats.kinds.end() || !(is_container || is_pipe))
            continue;
        stats.records -= found->second;
        stats.kinds.erase(found);
    }
}

// pmukit

class NoSink final : public DriverSink {
    void aux_begin(const Stream &, uint64_t, uint64_t, uint64_t) override {}
    void aux(const Stream &, Bytes) override {}
    void aux_loss(const Stream &, uint64_t, uint64_t) override {}
    void sample(const Stream &, uint64_t, Bytes) override {}
};

// What report counts from, by kind and event.
Stats stats_of_walk(const std::string &path)
{
    Stats stats;
    Result<cli::Recording> recording = cli::Recording::open(path, recorded_drivers());
    EXPECT_TRUE(recording && recording->read_front());
    const auto name_of = [&](size_t event) {
        return perfdata::name_of(recording->reader().events()[event]);
    };
    Samples samples(*recording,
                    [&](const EventSample &sample) { stats.samples[name_of(sample.event)]++; });
    NoSink sink;
    const Result<RecordingTotals> totals =
        recording->walk(sink, [&](const perfdata::Record &record) -> Result<void> {
            if (record.payload_at == 0)
                stats.kinds[without(std::string(perfdata::record_name(record.type)), "HEADER_")]++;
            samples.note(record);
            return {};
        });
    EXPECT_TRUE(totals) << totals.error().message;
    samples.finish();
    for (size_t event = 0; event < totals->samples.size(); event++)
        if (recording->driver(event) && totals->samples[event])
            stats.samples[name_of(event)] += totals->samples[event];
    stats.records = totals->records;
    stats.lost = totals->lost_samples;
    return stats;
}

std::string content_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Runs report and returns its JSON object.
json report_of(const std::string &path, const TestFolder &folder)
{
    folder.put("report.json", "");
    const Fd file(::open(folder.path("report.json").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    Output out(file.get(), "report.json");
    ReportOptions options;
    options.input = path;
    options.json = true;
    EXPECT_TRUE(run_report(options, out));
    EXPECT_TRUE(out.finish());
    return json::parse(content_of(folder.path("report.json")));
}

std::string page_of_report(const std::string &path, const TestFolder &folder)
{
    ReportOptions options;
    options.input = path;
    options.html = folder.path("report.html");
    Output out(1, "standard output");
    EXPECT_TRUE(run_report(options, out));
    return content_of(options.html);
}

void expect_same_stats(Stats perfs, const std::string &path, const TestFolder &folder)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    remove_containers(perfs, reader->is_pipe());
    Stats ours = stats_of_walk(path);
    const uint64_t records = ours.records;
    remove_containers(ours, reader->is_pipe());
    EXPECT_EQ(ours.kinds, perfs.kinds);
    EXPECT_EQ(ours.records, perfs.records);
    EXPECT_EQ(ours.samples, perfs.samples);
    EXPECT_EQ(ours.lost, perfs.lost);
    testing::internal::CaptureStderr();  // "no PMU of the suite was recorded here"
    const json report = report_of(path, folder);
    const std::string page = page_of_report(path, folder);
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(report["lost_samples"], perfs.lost);
    for (const json &pmu : report["pmus"])
        if (pmu["driver"] == "imc" && perfs.kinds.contains("SAMPLE")) {
            EXPECT_EQ(pmu["samples"], perfs.kinds.at("SAMPLE"));
        }
    EXPECT_NE(page.find(fmt::format("<p>{} records of ", records)), page.npos);
}

// perf 7.2 does not count the records of these files, which its own perf script prints. It handles
// neither the payload of TRACING_DATA nor the feature that COMPRESSED needs, in pipe layout.
constexpr std::string_view kDefects[] = {
    "piped event processing failed for event of type: INVALID",
    "Compressed events found but HEADER_COMPRESSED not set",
};

bool has_defect(const std::string &said)
{
    return std::ranges::any_of(kDefects,
                               [&](std::string_view text) { return said.find(text) != said.npos; });
}

uint64_t sum_of(const Counts &counts)
{
    return std::accumulate(counts.begin(), counts.end(), uint64_t{0},
                           [](uint64_t sum, const auto &count) { return sum + count.second; });
}

class ReportAgrees : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OfPerf, ReportAgrees,
                         testing::ValuesIn(perfdata::testing::corpus_folders()),
                         [](const auto &folder) {
                             std::string name = folder.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return !std::isalnum(c); }, '_');
                             return name;
                         });

TEST_P(ReportAgrees, WithStatsOfPerfReport)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    uint64_t records = 0;
    for (const Recording &recording : perfdata::testing::recordings_of(GetParam())) {
        if (recording.perf_fails())
            continue;
        SCOPED_TRACE(recording.name);
        const TestFolder folder;
        const std::string path = recording.unpacked(folder);
        const std::string said = said_by_perf(perf, "report --no-itrace --stats", path);
        if (has_defect(said)) {
            const std::string rows = said_by_perf(perf, "script -G -F event", path, " 2>/dev/null");
            EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(rows, '\n')),
                      sum_of(stats_of_walk(path).samples));
        } else {
            expect_same_stats(parse_stats(said), path, folder);
        }
        records += stats_of_walk(path).records;
        if (HasFailure())
            return;
    }
    EXPECT_GT(records, 0U);
    RecordProperty("records", static_cast<int>(records));
}

// The reader delivers a payload above 4 MiB in pieces.
TEST(ReportAgreesOnAuxData, CountsARecordWithALongPayloadOnce)
{
    constexpr size_t kPayloadBytes = size_t{9} << 20;
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    folder.put("perf.data", perfdata::testing::FileBuilder(std::endian::native)
                                .event(24, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, {8})
                                .auxtrace(8, 0, 0, perfdata::testing::filled(kPayloadBytes, 0))
                                .record(perfdata::kFinishedRound, {})
                                .file());
    const std::string path = folder.path("perf.data");
    const Stats perfs = parse_stats(said_by_perf(perf, "report --stats", path));
    EXPECT_EQ(perfs.kinds, (Counts{{"AUXTRACE", 1}, {"FINISHED_ROUND", 1}}));
    expect_same_stats(perfs, path, folder);
}

// Recordings of this machine

struct Way {
    const char *name, *options;
    bool loses;
};
// A stack copy does not fit into a ring of one page.
constexpr Way kWays[] = {
    {"whole", "-F 1999 -e cpu-clock:u -g", false},
    {"lost", "-F 1999 -e cpu-clock:u --call-graph dwarf,16384 -m 1", true},
    {"lost_of_all_cpus", "-a -F 1999 -e cpu-clock:u --call-graph dwarf,16384 -m 1", true},
    {"lost_of_two", "-c 100000 -e cpu-clock:u,task-clock:u --call-graph dwarf,16384 -m 1", true},
    {"group", "-F 1999 -e '{cpu-clock,page-faults}:S'", false},
    {"compressed", "-F 1999 -e cpu-clock:u -z", false},
    {"threads", "-F 1999 -e cpu-clock:u --threads", false},
};

class ReportAgreesOn : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OurProgram, ReportAgreesOn, testing::ValuesIn(kWays),
                         [](const auto &way) { return way.param.name; });

TEST_P(ReportAgreesOn, CountsRecordsSamplesAndLossesOfPerfReport)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    const std::string path = folder.path("perf.data");
    const stock::Said said = stock::run(perf + "record -N " + GetParam().options + " -o " + path +
                                        " -- " UNWOUND_PROGRAM " 3000");
    if (said.status != 0)
        GTEST_SKIP() << "perf cannot record here: " << said.text;
    const Stats perfs = parse_stats(said_by_perf(perf, "report --stats", path));
    ASSERT_GT(perfs.records, 0U);
    EXPECT_EQ(perfs.lost != 0, GetParam().loses);
    expect_same_stats(perfs, path, folder);
}

}  // namespace
}  // namespace pmukit::cli
