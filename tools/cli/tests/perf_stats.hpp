// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: compares the numbers of `perf report --stats` with those of `pmukit report`.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/counted.hpp"
#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/generic_events.hpp"
#include "session/recording.hpp"
#include "session/samples.hpp"

namespace pmukit::cli {

using nlohmann::json;
using Counts = std::map<std::string, uint64_t>;

struct Stats {
    Counts kinds;          // records of each kind
    uint64_t records = 0;  // of all kinds
    Counts samples;        // by event; members of a group count alone
    uint64_t lost = 0;     // samples of all events
};

inline std::string without(std::string text, std::string_view prefix)
{
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// perf report --stats

inline std::string said_by_perf(const std::string &perf, const std::string &command,
                                const std::string &path, const std::string &errors_to = {})
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    const std::string input = reader->is_pipe() ? " -i - <" + path : " -i " + path;
    return stock::run("(" + perf + command + input + errors_to + ")").text;
}

// Parses "  COMM events:   4  ( 5.3%)" of all events, then of each event after "NAME stats:".
inline Stats parse_stats(const std::string &said)
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
inline void remove_containers(Stats &stats, bool is_pipe)
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
inline Stats stats_of_walk(const std::string &path)
{
    Stats stats;
    Result<cli::Recording> recording = cli::Recording::open(path, recorded_drivers());
    EXPECT_TRUE(recording && recording->read_front());
    const auto name_of = [&](size_t event) {
        return perfdata::name_of(recording->reader(), recording->reader().events()[event]);
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

inline std::string content_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Runs report and returns its JSON object.
inline json report_of(const std::string &path, const TestFolder &folder)
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

inline std::string page_of_report(const std::string &path, const TestFolder &folder)
{
    ReportOptions options;
    options.input = path;
    options.html = folder.path("report.html");
    Output out(1, "standard output");
    EXPECT_TRUE(run_report(options, out));
    return content_of(options.html);
}

inline void expect_same_stats(Stats perfs, const std::string &path, const TestFolder &folder)
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
    Counts of_events;
    for (const json &event : report["events"])
        if (event["samples"] != 0)
            of_events[event["event"].get<std::string>()] += event["samples"].get<uint64_t>();
    for (const auto &[event, samples] : of_events)
        EXPECT_EQ(samples, perfs.samples[event]) << event;
    if (report["pmus"].empty()) {
        EXPECT_EQ(of_events.size(), perfs.samples.size());
    }
    for (const json &pmu : report["pmus"])
        if (pmu["driver"] == "imc" && perfs.kinds.contains("SAMPLE")) {
            EXPECT_EQ(pmu["samples"], perfs.kinds.at("SAMPLE"));
        }
    EXPECT_NE(page.find(fmt::format("<p>{} in the file", counted(records, "records"))), page.npos);
}

}  // namespace pmukit::cli
