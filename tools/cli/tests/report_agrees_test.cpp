// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares `pmukit report` with `perf report --stats` of the newest stock perf, for every recording
// of the corpus and for recordings with losses, which are made here: the number of records of each
// kind, of samples of each event, and of lost samples of all events.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/test_folder.hpp"
#include "cli/tests/perf_stats.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

using perfdata::testing::Recording;

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
