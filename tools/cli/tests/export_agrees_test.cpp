// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares `pmukit export` with `perf script` of the newest stock perf, for every recording of the
// corpus: task, CPU, time, event, period, address, call chain and symbols, row by row, ordered by
// time. export_roundtrip_test checks that all formats have the same rows.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "base/test_folder.hpp"
#include "cli/drivers.hpp"
#include "cli/export/export.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/perf_script.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {
namespace {

using nlohmann::json;
using perfdata::testing::Recording;

// A sample in the text of perf script: a line, and the addresses of its call chain.
struct Row {
    std::string line;
    std::vector<std::string> chain;
    bool operator==(const Row &) const = default;
};

// The sample fields of a recording; the names of its events that belong to drivers of pmukit (their
// rows are in other tables); and the exit times of its threads.
struct Contents {
    std::vector<std::string> fields;
    std::set<std::string> of_drivers;
    std::map<uint64_t, uint64_t> exits_ns;  // by TID
    bool has(std::string_view field) const
    {
        return std::ranges::find(fields, field) != fields.end();
    }
};

Contents contents_of(const std::string &path)
{
    Contents contents;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    EXPECT_TRUE(reader) << reader.error().message;
    for (perfdata::Record record;;) {
        if (!reader->next(record))
            break;
        const auto task = record.type == PERF_RECORD_EXIT
                              ? perfdata::parse_task(record.body, reader->order())
                              : std::nullopt;
        if (task)
            contents.exits_ns.emplace(task->tid, task->time_ns);
    }
    for (const perfdata::Event &event : reader->events())
        if (driver_of_pmu(recorded_drivers(), reader->pmu_name(event.attr.type)))
            contents.of_drivers.insert(perfdata::name_of(event) + ":");
    Result<perfdata::Reader> again = perfdata::Reader::open_path(path);
    const Result<std::string> fields = perfdata::testing::script_fields(*again);
    EXPECT_TRUE(fields);
    contents.fields = {"comm"};
    std::istringstream names(fields ? *fields : "");
    constexpr std::string_view kCompared[] = {"pid",    "tid",   "cpu",  "time",
                                              "period", "event", "addr", "ip"};
    for (std::string name; std::getline(names, name, ',');)
        if (std::ranges::find(kCompared, name) != std::end(kCompared))
            contents.fields.push_back(name);
    return contents;
}

std::string squeezed(const std::string &line)
{
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

// Parses the output of perf script. Frames follow the line of their sample, after a tab.
// "[unknown]" after an address is dropped.
std::vector<Row> rows_of_perf(const std::string &said, const Contents &contents)
{
    std::vector<Row> rows;
    std::istringstream lines(said);
    bool is_of_driver = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty())
            continue;
        const std::string words = squeezed(line);
        if (line[0] == '\t') {
            if (!is_of_driver && !rows.empty())
                rows.back().chain.push_back(words.substr(0, words.find(' ')));
            continue;
        }
        is_of_driver = std::ranges::any_of(contents.of_drivers, [&](const std::string &name) {
            return words.find(name) != words.npos;
        });
        if (!is_of_driver)
            rows.push_back({words, {}});
    }
    return rows;
}

std::string said_by_perf(const std::string &perf, const std::string &path, const Contents &contents,
                         const std::string &options, const std::string &no_programs)
{
    std::string fields;
    for (const std::string &field : contents.fields)
        fields += (fields.empty() ? "" : ",") + field;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    const std::string input = reader->is_pipe() ? "-i - <" + path : "-i " + path;
    return stock::run("(" + perf + "script --ns " + options + " --symfs " + no_programs + " -F " +
                      fields + " " + input + " 2>/dev/null)")
        .text;
}

uint64_t number(const json &row, const char *name, uint64_t otherwise = 0)
{
    if (!row.contains(name))
        return otherwise;
    const json &value = row[name];
    return value.is_string() ? std::stoull(value.get<std::string>(), nullptr, 16)
                             : value.get<uint64_t>();
}

// Returns all lines that perf script may print for a row. perf forgets the name of a thread when
// the thread exits, and prints the TID in place of the name for samples after the exit.
std::vector<std::string> words_of(const json &row, const Contents &contents, bool with_ip)
{
    constexpr uint64_t kSecond = 1000000000;
    const auto tid = static_cast<int32_t>(number(row, "tid", UINT32_MAX));
    const auto pid = static_cast<int32_t>(number(row, "pid", UINT32_MAX));
    const uint64_t time_ns = number(row, "time_ns");
    std::vector<std::string> lines;
    const auto add = [&](const std::string &comm) {
        std::string line = comm + ' ';
        if (contents.has("tid"))
            line += fmt::format("{}/{} ", pid, tid);
        if (contents.has("cpu"))
            line += fmt::format("[{:03}] ", static_cast<int>(number(row, "cpu", UINT32_MAX)));
        if (contents.has("time"))
            line += fmt::format("{}.{:09}: ", time_ns / kSecond, time_ns % kSecond);
        if (contents.has("period"))
            line += fmt::format("{} ", number(row, "period"));
        if (contents.has("event"))
            line += row["event"].get<std::string>() + ": ";
        if (contents.has("addr"))
            line += fmt::format("{:x} ", number(row, "addr"));
        if (with_ip)
            line += fmt::format("{:x}", number(row, "ip"));
        lines.push_back(squeezed(line));
    };
    const std::string by_number = ":" + std::to_string(tid);
    add(row.contains("comm") ? row["comm"].get<std::string>() : by_number);
    const auto exit = contents.exits_ns.find(static_cast<uint32_t>(tid));
    if (exit != contents.exits_ns.end() && time_ns >= exit->second)
        add(by_number);
    return lines;
}

std::vector<json> rows_of_export(const std::string &path, const TestFolder &folder,
                                 const std::string &symfs = {})
{
    ExportOptions options;
    options.input = path;
    options.output = folder.path("rows.jsonl");
    options.format = "jsonl";
    options.driver = "samples";
    options.symfs = symfs;
    Output out(1, "standard output");
    const Result<int> status = run_export(options, out);
    EXPECT_TRUE(status) << status.error().message;
    std::ifstream file(options.output);
    std::vector<json> rows;
    for (std::string line; std::getline(file, line);)
        rows.push_back(json::parse(line));
    std::ranges::stable_sort(rows, {}, [](const json &row) { return number(row, "time_ns"); });
    return rows;
}

// Symbols

// Each element is "ip sym+0xoff (dso)" of a frame. For a sample without a call chain, the only
// element is that of the ip of the sample.
using Frames = std::vector<std::string>;

Frames split_frames(const std::string &text)
{
    Frames frames;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ';');)
        frames.push_back(part);
    return frames;
}

bool is_inlined(const std::string &frame)
{
    return frame.ends_with(" (inlined)");
}

Frames frames_of(const json &row)
{
    const Frames ips = split_frames(row.value("callchain", ""));
    Frames frames = split_frames(row.value("frames", ""));
    size_t at = 0;
    for (std::string &frame : frames) {
        const bool inlined = is_inlined(frame);
        frame = (at < ips.size() ? ips[at].substr(2) : "no ip") + ' ' + frame;
        at += !inlined;
    }
    if (frames.empty() && row.contains("ip"))
        frames.push_back(
            fmt::format("{:x} {}{} ({})", number(row, "ip"), row.value("sym", "[unknown]"),
                        row.contains("sym") ? fmt::format("+{:#x}", number(row, "symoff")) : "",
                        row.value("dso", "[unknown]")));
    return frames;
}

// If a function is inlined into a function of the same name, perf prints it like the outer
// function: with the object in place of "(inlined)". The reason is that new_inline_sym() of perf
// uses the outer symbol if the names are equal.
Frames as_perf_shows(Frames frames)
{
    const auto name = [](const std::string &frame) { return frame.substr(0, frame.rfind(" (")); };
    for (size_t i = frames.size(); i-- > 1;)
        if (is_inlined(frames[i - 1]) && name(frames[i - 1]) == name(frames[i]))
            frames[i - 1] = frames[i];
    return frames;
}

// Returns the environment in which perf finds inlined functions by libdw, and not by the command
// addr2line, which differs between hosts.
std::string environment(const TestFolder &folder)
{
    std::ofstream(folder.path("perfconfig")) << "[addr2line]\n\tstyle = libdw\n";
    return "PERF_CONFIG=" + folder.path("perfconfig") + " HOME=" + folder.path("") + ' ';
}

std::vector<Frames> frames_of_perf(const std::string &perf, const std::string &path,
                                   const Contents &contents, const std::string &options,
                                   const TestFolder &folder)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    const std::string input = reader->is_pipe() ? "-i - <" + path : "-i " + path;
    const std::string said = stock::run("(" + environment(folder) + perf + "script " + options +
                                        " -F " + (contents.has("event") ? "event," : "") +
                                        "time,ip,sym,symoff,dso " + input + " 2>/dev/null)")
                                 .text;
    std::vector<Frames> rows;
    std::istringstream lines(said);
    bool is_of_driver = false;
    for (std::string line; std::getline(lines, line);) {
        const std::string words = squeezed(line);
        if (words.empty())
            continue;
        if (line[0] == '\t') {
            if (!is_of_driver && !rows.empty())
                rows.back().push_back(words);
            continue;
        }
        is_of_driver = std::ranges::any_of(contents.of_drivers, [&](const std::string &name) {
            return words.find(name) != words.npos;
        });
        if (is_of_driver)
            continue;
        // Without a call chain, the address follows time and event: "1.000000: cpu-clock: 1234 ..."
        const size_t colon = words.rfind(": ");
        rows.emplace_back();
        if (colon != words.npos && !words.ends_with(':'))
            rows.back().push_back(words.substr(colon + 2));
    }
    return rows;
}

// Returns true if perf printed no address for a sample, because it could not unwind the copy of the
// stack. The sample does have an address: perf rejects "-F ip" for samples without one.
bool is_not_unwound(const Frames &perfs)
{
    return perfs.empty();
}

class ExportAgrees : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OfPerf, ExportAgrees,
                         testing::ValuesIn(perfdata::testing::corpus_folders()),
                         [](const auto &folder) {
                             std::string name = folder.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return !std::isalnum(c); }, '_');
                             return name;
                         });

TEST_P(ExportAgrees, RowsAreThoseOfPerfScript)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const bool is_encoded = GetParam() == "encoded";
    size_t compared = 0;
    for (const Recording &recording : perfdata::testing::recordings_of(GetParam())) {
        if (recording.perf_fails())
            continue;
        SCOPED_TRACE(recording.name);
        const TestFolder folder;
        folder.folder("no_programs");
        const std::string path = recording.unpacked(folder);
        const Contents contents = contents_of(path);
        if (!contents.of_drivers.empty() && !contents.has("event"))
            continue;
        const std::vector<Row> perfs =
            rows_of_perf(said_by_perf(perf, path, contents, is_encoded ? "--no-itrace" : "",
                                      folder.path("no_programs")),
                         contents);
        const std::vector<json> ours = rows_of_export(path, folder);
        ASSERT_EQ(ours.size(), perfs.size());
        for (size_t i = 0; i < ours.size(); i++) {
            const bool with_chain = !perfs[i].chain.empty();
            const auto words = words_of(ours[i], contents, contents.has("ip") && !with_chain);
            EXPECT_NE(std::ranges::find(words, perfs[i].line), words.end())
                << "ours: " << words[0] << "\nperf: " << perfs[i].line;
            std::string chain;
            for (const std::string &ip : perfs[i].chain)
                chain += (chain.empty() ? "0x" : ";0x") + ip;
            if (with_chain) {
                EXPECT_EQ(ours[i].value("callchain", ""), chain) << words[0];
            }
            if (HasFailure())
                return;
        }
        if (contents.has("ip") && contents.has("time")) {
            const std::vector<Frames> frames = frames_of_perf(
                perf, path, contents,
                (is_encoded ? "--no-itrace --symfs " : "--symfs ") + folder.path("no_programs"),
                folder);
            const std::vector<json> named =
                rows_of_export(path, folder, folder.path("no_programs"));
            ASSERT_EQ(frames.size(), named.size());
            for (size_t i = 0; i < named.size() && !HasFailure(); i++)
                if (!is_not_unwound(frames[i])) {
                    EXPECT_EQ(as_perf_shows(frames_of(named[i])), frames[i]) << "row " << i;
                }
            if (HasFailure())
                return;
        }
        compared += ours.size();
    }
    EXPECT_TRUE(compared != 0 || is_encoded) << "the encoder's are of drivers";
}

// Test programs, which the test records

struct Program {
    const char *name, *path;
};
constexpr Program kPrograms[] = {{"program", UNWOUND_PROGRAM}, {"pie", UNWOUND_PIE}};

// The threads of a recording and their maps.
Threads threads_of(const std::string &path)
{
    Threads threads;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    for (perfdata::Record record; reader->next(record);)
        threads.note(record, *reader);
    return threads;
}

// Removes inlined functions below address 0x10000 of a position-independent file, because perf 7.2
// does not find them: perf passes the address in the file to libdwfl, which places such a file at
// 0x10000. In the program with fixed addresses, perf finds all inlined functions.
Frames without_low_inlined(const Frames &frames, const json &row, const Threads &threads)
{
    constexpr uint64_t kLow = 0x10000;
    Frames seen;
    for (const std::string &frame : frames) {
        const auto place = threads.find(static_cast<uint32_t>(number(row, "pid")),
                                        std::stoull(frame.substr(0, frame.find(' ')), nullptr, 16),
                                        number(row, "time_ns"));
        const bool is_low = place && place->file_offset < kLow &&
                            threads.objects()[place->object].path != UNWOUND_PROGRAM;
        if (!is_inlined(frame) || !is_low)
            seen.push_back(frame);
    }
    return seen;
}

// The function of a frame: "main_inner" of "401234 main_inner+0x12 (/a/program)"
std::string folded_name(const std::string &frame)
{
    const size_t begin = frame.find(' ') + 1, end = frame.rfind('+');
    return frame.substr(begin, end - begin) + (is_inlined(frame) ? "_[i]" : "");
}

class ExportAgreesOn : public testing::TestWithParam<std::tuple<Program, std::string>> {
protected:
    // Returns false if perf cannot record on this machine; said_ then has its message.
    bool record(const std::string &perf, const TestFolder &folder)
    {
        const auto &[program, way] = GetParam();
        const stock::Said said = stock::run(
            environment(folder) + perf + "record -N -e cpu-clock:u -F 4999 --call-graph " + way +
            " -o " + folder.path("perf.data") + " -- " + program.path + " 3000");
        said_ = said.text;
        return said.status == 0;
    }
    std::string said_;
};
INSTANTIATE_TEST_SUITE_P(OurPrograms, ExportAgreesOn,
                         testing::Combine(testing::ValuesIn(kPrograms),
                                          testing::Values("dwarf,16384", "fp")),
                         [](const auto &of) {
                             const std::string &way = std::get<1>(of.param);
                             return std::get<0>(of.param).name +
                                    ('_' + way.substr(0, way.find(',')));
                         });

TEST_P(ExportAgreesOn, FramesAreThoseOfPerfScript)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    if (!record(perf, folder))
        GTEST_SKIP() << "perf cannot record here: " << said_;
    const std::string path = folder.path("perf.data");
    const std::vector<Frames> perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
    const std::vector<json> ours = rows_of_export(path, folder);
    const Threads threads = threads_of(path);
    ASSERT_EQ(ours.size(), perfs.size());
    ASSERT_GT(ours.size(), 10U);
    size_t inlined = 0, deep = 0;
    for (size_t i = 0; i < ours.size(); i++) {
        const Frames frames = frames_of(ours[i]);
        ASSERT_EQ(as_perf_shows(without_low_inlined(frames, ours[i], threads)),
                  without_low_inlined(perfs[i], ours[i], threads))
            << "row " << i;
        inlined += std::ranges::count_if(frames, is_inlined) != 0;
        deep += frames.size() > 8;
    }
    EXPECT_GT(inlined, ours.size() / 2);
    // The programs have no frame pointers, so the "fp" method finds few callers.
    EXPECT_EQ(deep > ours.size() / 2, std::get<1>(GetParam()) != "fp");
}

TEST_P(ExportAgreesOn, FoldedStacksMatchExportedRows)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    if (!record(perf, folder))
        GTEST_SKIP() << "perf cannot record here: " << said_;
    ExportOptions options;
    options.input = folder.path("perf.data");
    options.output = folder.path("folded");
    options.format = "folded";
    Output out(1, "standard output");
    ASSERT_TRUE(run_export(options, out));
    std::map<std::string, size_t> expected, found;
    for (const json &row : rows_of_export(options.input, folder)) {
        const Frames frames = frames_of(row);
        const bool is_known = std::ranges::none_of(
            frames, [](const std::string &frame) { return frame.find("[unknown]") != frame.npos; });
        std::string line = row["comm"].get<std::string>();
        for (size_t i = frames.size(); i-- > 0;)
            line += ';' + folded_name(frames[i]);
        if (is_known)
            expected[line]++;
    }
    std::ifstream file(options.output);
    for (std::string line; std::getline(file, line);)
        found[line.substr(0, line.rfind(' '))] += std::stoull(line.substr(line.rfind(' ') + 1));
    EXPECT_FALSE(expected.empty());
    for (const auto &[line, samples] : expected)
        EXPECT_EQ(found[line], samples) << line;
}

}  // namespace
}  // namespace pmukit::cli
