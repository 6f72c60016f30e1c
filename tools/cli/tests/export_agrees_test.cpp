// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares `pmukit export` with `perf script` of the newest stock perf, for every recording of the
// corpus: task, CPU, time, event, period, address, call chain and symbols, row by row, ordered by
// time, in CSV, JSON lines and SQLite; and the sums of folded stacks.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#ifdef PMUKIT_SQLITE
#include <sqlite3.h>
#endif

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/drivers.hpp"
#include "cli/export/export.hpp"
#include "cli/tests/csv_records.hpp"
#include "cli/tests/stock_perf.hpp"
#include "export/schema.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/perf_script.hpp"
#include "session/functions.hpp"
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

// Formats with the same rows. Each of them is read back into objects like those of JSON lines.
constexpr const char *kFormats[] = {
    "jsonl",
    "csv",
#ifdef PMUKIT_SQLITE
    "sqlite",
#endif
};

std::vector<json> rows_of_jsonl(const std::string &path)
{
    std::ifstream file(path);
    std::vector<json> rows;
    for (std::string line; std::getline(file, line);)
        rows.push_back(json::parse(line));
    return rows;
}

// A text that a spreadsheet would take for a formula has a ' before it.
json csv_value(exporter::Kind kind, const std::string &text)
{
    constexpr std::string_view kFormula = "=+-@\t\r";
    if (kind == exporter::Kind::kNumber)
        return std::stoull(text);
    const bool is_guarded =
        text.size() > 1 && text[0] == '\'' && kFormula.find(text[1]) != kFormula.npos;
    return text.substr(is_guarded ? 1 : 0);
}

std::vector<json> rows_of_csv(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    const auto records = csv_records({std::istreambuf_iterator<char>(file), {}});
    const auto columns = exporter::find_table("samples")->columns;
    std::vector<json> rows;
    for (size_t i = 1; i < records.size(); i++) {
        json row = json::object();
        EXPECT_EQ(records[i].size(), columns.size());
        for (size_t at = 0; at < std::min(columns.size(), records[i].size()); at++)
            if (records[i][at])
                row[std::string(columns[at].name)] = csv_value(columns[at].kind, *records[i][at]);
        rows.push_back(std::move(row));
    }
    return rows;
}

#ifdef PMUKIT_SQLITE
// SQLite has addresses as numbers, and numbers above 2^63 - 1 as negative ones.
json sqlite_value(exporter::Kind kind, sqlite3_stmt *row, int at)
{
    const auto number = static_cast<uint64_t>(sqlite3_column_int64(row, at));
    if (kind == exporter::Kind::kNumber)
        return number;
    if (kind == exporter::Kind::kAddress)
        return fmt::format("{:#x}", number);
    return reinterpret_cast<const char *>(sqlite3_column_text(row, at));
}

std::vector<json> rows_of_sqlite(const std::string &path)
{
    std::vector<json> rows;
    sqlite3 *database = nullptr;
    sqlite3_stmt *select = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_prepare_v2(database, "SELECT * FROM samples", -1, &select, nullptr),
              SQLITE_OK);
    const auto columns = exporter::find_table("samples")->columns;
    while (sqlite3_step(select) == SQLITE_ROW) {
        json row = json::object();
        for (size_t i = 0; i < columns.size(); i++) {
            const int at = static_cast<int>(i);
            if (sqlite3_column_type(select, at) != SQLITE_NULL)
                row[std::string(columns[i].name)] = sqlite_value(columns[i].kind, select, at);
        }
        rows.push_back(std::move(row));
    }
    sqlite3_finalize(select);
    sqlite3_close(database);
    return rows;
}
#endif

// Exports, and returns the path of the output.
std::string exported(const std::string &path, const TestFolder &folder, const std::string &format,
                     const std::string &symfs, const std::vector<std::string> &events = {},
                     const std::string &table = "samples")
{
    ExportOptions options;
    options.input = path;
    options.output = folder.path("rows." + format);
    options.format = format;
    options.driver = format == kFoldedFormat ? "" : table;
    options.symfs = symfs;
    options.events = events;
    Output out(1, "standard output");
    const Result<int> status = run_export(options, out);
    EXPECT_TRUE(status) << status.error().message;
    return options.output;
}

std::vector<json> rows_of_export(const std::string &path, const TestFolder &folder,
                                 const std::string &symfs = {}, const std::string &format = "jsonl")
{
    const std::string output = exported(path, folder, format, symfs);
    std::vector<json> rows;
    if (format == "csv")
        rows = rows_of_csv(output);
#ifdef PMUKIT_SQLITE
    else if (format == "sqlite")
        rows = rows_of_sqlite(output);
#endif
    else
        rows = rows_of_jsonl(output);
    std::ranges::stable_sort(rows, {}, [](const json &row) { return number(row, "time_ns"); });
    return rows;
}

std::vector<json> losses_of_export(const std::string &path, const TestFolder &folder)
{
    return rows_of_jsonl(exported(path, folder, "jsonl", {}, {}, "losses"));
}

// Number of samples of each line of the folded stacks.
std::map<std::string, size_t> stacks_of_export(const std::string &path, const TestFolder &folder,
                                               const std::string &symfs,
                                               const std::vector<std::string> &events)
{
    std::ifstream file(exported(path, folder, kFoldedFormat, symfs, events));
    std::map<std::string, size_t> stacks;
    for (std::string line; std::getline(file, line);)
        stacks[line.substr(0, line.rfind(' '))] += std::stoull(line.substr(line.rfind(' ') + 1));
    return stacks;
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
    const std::string said =
        stock::run("(" + environment(folder) + perf + "script " + options + " -F " +
                   (contents.has("event") ? "event," : "") + (contents.has("time") ? "time," : "") +
                   "ip,sym,symoff,dso " + input + " 2>/dev/null)")
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

void expect_same_rows(const std::vector<json> &ours, const std::vector<Row> &perfs,
                      const Contents &contents)
{
    ASSERT_EQ(ours.size(), perfs.size());
    for (size_t i = 0; i < ours.size(); i++) {
        const bool with_chain = !perfs[i].chain.empty();
        const auto words = words_of(ours[i], contents, contents.has("ip") && !with_chain);
        ASSERT_NE(std::ranges::find(words, perfs[i].line), words.end())
            << "ours: " << words[0] << "\nperf: " << perfs[i].line;
        std::string chain;
        for (const std::string &ip : perfs[i].chain)
            chain += (chain.empty() ? "0x" : ";0x") + ip;
        if (with_chain) {
            ASSERT_EQ(ours[i].value("callchain", ""), chain) << words[0];
        }
    }
}

void expect_same_frames(const std::vector<json> &ours, const std::vector<Frames> &perfs)
{
    ASSERT_EQ(ours.size(), perfs.size());
    for (size_t i = 0; i < ours.size(); i++)
        if (!is_not_unwound(perfs[i])) {
            ASSERT_EQ(as_perf_shows(frames_of(ours[i])), perfs[i]) << "row " << i;
        }
}

// Folded stacks

// "[busybox]" of "401234 [unknown] (/bin/busybox)".
std::string folded_unnamed(const std::string &frame)
{
    const size_t begin = frame.rfind(" (") + 2;
    const std::string object = frame.substr(begin, frame.size() - 1 - begin);
    if (object.starts_with('['))
        return object + (object == kKernelObject ? "_[k]" : "");
    return '[' + std::string(base_name(object)) + ']';
}

// perf does not print whether an address outside all maps was in the kernel.
std::string without_mode_of_unknown(const std::string &line)
{
    constexpr std::string_view kUnknown = "[unknown]", kKernel = "[unknown]_[k]";
    std::string plain;
    for (std::string frame : split_frames(line)) {
        if (frame == kKernel)
            frame = kUnknown;
        plain += (plain.empty() ? "" : ";") + frame;
    }
    return plain;
}

// Events that belong to no driver. Events of several names have a frame each.
struct OrdinaryEvents {
    std::vector<std::string> names;
    bool have_frames = false;
};

OrdinaryEvents ordinary_events(const std::string &path, const Contents &contents)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    for (perfdata::Record record; reader->next(record);)
        continue;  // in pipe layout, events arrive with the records
    std::set<std::string> all, ordinary;
    for (const perfdata::Event &event : reader->events()) {
        const std::string name = perfdata::name_of(event);
        if (!perfdata::is_dummy(event.attr))
            all.insert(name);
        if (!contents.of_drivers.contains(name + ":"))
            ordinary.insert(name);
    }
    return {{ordinary.begin(), ordinary.end()}, all.size() > 1};
}

// Sums of the chains that perf prints. expect_same_rows() compares the task and the event of each
// row; perf does not print the event if there is only one.
std::map<std::string, size_t> stacks_of_chains(const std::vector<json> &rows,
                                               const std::vector<Frames> &perfs, bool event_frames)
{
    std::map<std::string, size_t> stacks;
    for (size_t i = 0; i < rows.size(); i++) {
        std::string line = event_frames ? rows[i]["event"].get<std::string>() + ';' : "";
        line += rows[i].value("comm", "[unknown]");
        for (size_t at = perfs[i].size(); at-- > 0;)
            line += ';' + folded_unnamed(perfs[i][at]);
        if (!is_not_unwound(perfs[i]))
            stacks[line]++;
    }
    return stacks;
}

void expect_same_stacks(const std::map<std::string, size_t> &ours,
                        const std::map<std::string, size_t> &perfs, size_t not_unwound)
{
    std::map<std::string, size_t> plain;
    size_t more = 0;
    for (const auto &[line, samples] : ours)
        plain[without_mode_of_unknown(line)] += samples;
    for (const auto &[line, samples] : perfs)
        ASSERT_GE(plain[line], samples) << line;
    for (const auto &[line, samples] : plain)
        more += samples - (perfs.contains(line) ? perfs.at(line) : 0);
    ASSERT_EQ(more, not_unwound);
}

class ExportAgrees : public testing::TestWithParam<std::string> {
protected:
    // Calls each(path, contents, options of perf) for every recording that perf can read.
    template <typename Each>
    void for_recordings(Each each)
    {
        for (const Recording &recording : perfdata::testing::recordings_of(GetParam())) {
            if (recording.perf_fails())
                continue;
            SCOPED_TRACE(recording.name);
            const std::string path = recording.unpacked(folder_);
            const Contents contents = contents_of(path);
            if (!contents.of_drivers.empty() && !contents.has("event"))
                continue;
            each(path, contents);
            if (HasFailure())
                return;
        }
    }
    std::string no_programs() const
    {
        folder_.folder("no_programs");
        return folder_.path("no_programs");
    }
    std::string perf_options() const { return is_encoded() ? "--no-itrace" : ""; }
    bool is_encoded() const { return GetParam() == "encoded"; }

    const TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(OfPerf, ExportAgrees,
                         testing::ValuesIn(perfdata::testing::corpus_folders()),
                         [](const auto &folder) {
                             std::string name = folder.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return !std::isalnum(c); }, '_');
                             return name;
                         });

TEST_P(ExportAgrees, ExportedRowsEqualThoseOfPerfScript)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    size_t compared = 0;
    for_recordings([&](const std::string &path, const Contents &contents) {
        const std::vector<Row> rows = rows_of_perf(
            said_by_perf(perf, path, contents, perf_options(), no_programs()), contents);
        const std::vector<Frames> frames =
            contents.has("ip")
                ? frames_of_perf(perf, path, contents, perf_options() + " --symfs " + no_programs(),
                                 folder_)
                : std::vector<Frames>();
        for (const char *format : kFormats) {
            SCOPED_TRACE(format);
            const std::vector<json> ours = rows_of_export(path, folder_, no_programs(), format);
            expect_same_rows(ours, rows, contents);
            if (contents.has("ip"))
                expect_same_frames(ours, frames);
            compared += ours.size();
        }
    });
    EXPECT_TRUE(compared != 0 || is_encoded()) << "the encoder's are of drivers";
    RecordProperty("rows", static_cast<int>(compared));
}

TEST_P(ExportAgrees, FoldedStacksSumUpTheChainsOfPerfScript)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    size_t compared = 0;
    for_recordings([&](const std::string &path, const Contents &contents) {
        const OrdinaryEvents events = ordinary_events(path, contents);
        if (!contents.has("ip") || events.names.empty())
            return;
        const std::vector<Frames> frames = frames_of_perf(
            perf, path, contents, perf_options() + " --symfs " + no_programs(), folder_);
        const std::vector<json> rows = rows_of_export(path, folder_, no_programs());
        ASSERT_EQ(rows.size(), frames.size());
        const auto not_unwound = static_cast<size_t>(std::ranges::count_if(frames, is_not_unwound));
        const std::vector<std::string> wanted =
            contents.of_drivers.empty() ? std::vector<std::string>() : events.names;
        expect_same_stacks(stacks_of_export(path, folder_, no_programs(), wanted),
                           stacks_of_chains(rows, frames, events.have_frames), not_unwound);
        compared += rows.size() - not_unwound;
    });
    // The samples of "made" have a copy of the stack, for which perf has no program.
    EXPECT_TRUE(compared != 0 || is_encoded() || GetParam() == "made");
    RecordProperty("samples", static_cast<int>(compared));
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

// Records a command into perf.data. words: options, then the command.
stock::Said recorded(const std::string &perf, const TestFolder &folder, const std::string &words)
{
    return stock::run(environment(folder) + perf + "record -N -e cpu-clock:u -o " +
                      folder.path("perf.data") + ' ' + words);
}

class ExportAgreesOn : public testing::TestWithParam<std::tuple<Program, std::string>> {
protected:
    // Returns false if perf cannot record on this machine; said_ then has its message.
    bool record(const std::string &perf, const TestFolder &folder)
    {
        const auto &[program, way] = GetParam();
        const stock::Said said =
            recorded(perf, folder, "-F 4999 --call-graph " + way + " -- " + program.path + " 3000");
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

TEST_P(ExportAgreesOn, ExportedCallchainsHaveTheFramesOfPerfScript)
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
        ASSERT_EQ(as_perf_shows(without_low_inlined(frames, ours[i], threads)), perfs[i])
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
    const std::string path = folder.path("perf.data");
    std::map<std::string, size_t> expected, found = stacks_of_export(path, folder, {}, {});
    for (const json &row : rows_of_export(path, folder)) {
        const Frames frames = frames_of(row);
        const bool is_known = std::ranges::none_of(
            frames, [](const std::string &frame) { return frame.find("[unknown]") != frame.npos; });
        std::string line = row["comm"].get<std::string>();
        for (size_t i = frames.size(); i-- > 0;)
            line += ';' + folded_name(frames[i]);
        if (is_known)
            expected[line]++;
    }
    EXPECT_FALSE(expected.empty());
    for (const auto &[line, samples] : expected)
        EXPECT_EQ(found[line], samples) << line;
}

// Differences that Documentation/components/export.rst lists

// Names of the program's own functions in a chain of frames, without "(anonymous namespace)::" and
// parameters.
std::vector<std::string> own_functions(const Frames &frames, const std::string &program)
{
    std::vector<std::string> names;
    for (const std::string &frame : frames) {
        if (!frame.ends_with('(' + program + ')'))
            continue;
        std::string name = folded_name(frame);
        name = name.substr(0, name.rfind('('));
        names.push_back(name.substr(name.rfind(':') + 1));
    }
    return names;
}

#ifdef UNWOUND_LLD
class ExportOfLinkedByLld : public testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(OurPrograms, ExportOfLinkedByLld,
                         testing::Values(Program{"program", UNWOUND_LLD},
                                         Program{"pie", UNWOUND_LLD_PIE}),
                         [](const auto &of) { return of.param.name; });

// unwound_main.cpp has the calls: main() reaches come_back() through a library or through qsort().
TEST_P(ExportOfLinkedByLld, HasTheCallsThatPerfDoesNotUnwind)
{
    const std::string perf = stock::perf("7.2"), program = GetParam().path;
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    const stock::Said said =
        recorded(perf, folder, "-F 4999 --call-graph dwarf,16384 -- " + program + " 6000");
    if (said.status != 0)
        GTEST_SKIP() << "perf cannot record here: " << said.text;
    const std::string path = folder.path("perf.data");
    const std::vector<Frames> perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
    const std::vector<json> ours = rows_of_export(path, folder);
    ASSERT_EQ(ours.size(), perfs.size());
    const std::vector<std::string> in_library = {"spin",    "recurse",   "recurse", "recurse",
                                                 "recurse", "come_back", "main",    "_start"};
    std::vector<std::string> in_qsort = in_library;
    in_qsort.insert(in_qsort.end() - 2, "compare");
    size_t whole = 0;
    for (size_t i = 0; i < ours.size(); i++) {
        const auto names = own_functions(frames_of(ours[i]), program);
        if (names.empty() || names[0] != "spin")
            continue;
        EXPECT_TRUE(names == in_library || names == in_qsort) << ours[i];
        EXPECT_LE(own_functions(perfs[i], program).size(), 1U) << "perf unwinds row " << i;
        whole++;
    }
    EXPECT_GT(whole, 10U);
}

TEST_P(ExportOfLinkedByLld, NamesFunctionsAsPerfScript)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    const stock::Said said =
        recorded(perf, folder, "-F 4999 -g -- " + std::string(GetParam().path) + " 6000");
    if (said.status != 0)
        GTEST_SKIP() << "perf cannot record here: " << said.text;
    const std::string path = folder.path("perf.data");
    const std::vector<Frames> perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
    const std::vector<json> ours = rows_of_export(path, folder);
    const Threads threads = threads_of(path);
    ASSERT_EQ(ours.size(), perfs.size());
    ASSERT_GT(ours.size(), 10U);
    for (size_t i = 0; i < ours.size(); i++)
        ASSERT_EQ(as_perf_shows(without_low_inlined(frames_of(ours[i]), ours[i], threads)),
                  without_low_inlined(perfs[i], ours[i], threads))
            << "row " << i;
}
#endif

// The name of anonymous memory in a recording, by the argument of generated_code_main.cpp.
struct Anonymous {
    const char *kind, *name;
};

class ExportOfGeneratedCode : public testing::TestWithParam<Anonymous> {};
INSTANTIATE_TEST_SUITE_P(OurPrograms, ExportOfGeneratedCode,
                         testing::Values(Anonymous{"private", "//anon"},
                                         Anonymous{"shared", "/dev/zero (deleted)"}),
                         [](const auto &of) { return of.param.kind; });

// A file that a test created outside of its folder.
struct Removed {
    std::string path;
    ~Removed() { std::filesystem::remove(path); }
};

// perf takes names from /tmp/perf-PID.map, which just-in-time compilers write. The kernel names
// shared anonymous memory after the file that backs it.
TEST_P(ExportOfGeneratedCode, HasTheNameThatTheKernelGave)
{
    const std::string perf = stock::perf("7.2"), name = GetParam().name;
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    const TestFolder folder;
    const stock::Said said = recorded(
        perf, folder, "-F 1999 -g -- " GENERATED_CODE " 200 " + std::string(GetParam().kind));
    if (said.status != 0)
        GTEST_SKIP() << "perf cannot record here: " << said.text;
    const std::string path = folder.path("perf.data");
    const std::vector<json> ours = rows_of_export(path, folder);
    ASSERT_FALSE(ours.empty());
    const Threads threads = threads_of(path);
    const std::string map = fmt::format("/tmp/perf-{}.map", number(ours[0], "pid"));
    std::vector<Frames> perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
    ASSERT_EQ(ours.size(), perfs.size());
    size_t generated = 0;
    for (size_t i = 0; i < ours.size(); i++) {
        Frames as_perf = frames_of(ours[i]);
        for (std::string &frame : as_perf)
            if (frame.ends_with(" [unknown] (" + name + ')'))
                frame.replace(frame.size() - name.size() - 1, name.size(), map);
        EXPECT_EQ(as_perf_shows(without_low_inlined(as_perf, ours[i], threads)),
                  without_low_inlined(perfs[i], ours[i], threads));
        generated += ours[i].value("dso", "") == name;
    }
    EXPECT_GT(generated, ours.size() / 2);

    const Removed written{map};
    std::ofstream(map) << "0 7fffffffffff generated\n";
    perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
    EXPECT_NE(std::ranges::find_if(perfs,
                                   [](const Frames &frames) {
                                       return !frames.empty() &&
                                              frames[0].find("generated+0x") != std::string::npos;
                                   }),
              perfs.end());
    EXPECT_EQ(rows_of_export(path, folder), ours);
}

#ifdef PROGRAM32
// perf unwinds copies of the stack of 32-bit programs; pmukit counts them as not unwound.
TEST(ExportOf32BitProgram, HasChainsOfFramePointersOnly)
{
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    for (const std::string way : {"fp", "dwarf"}) {
        SCOPED_TRACE(way);
        const TestFolder folder;
        const stock::Said said =
            recorded(perf, folder, "-F 1999 --call-graph " + way + " -- " PROGRAM32);
        if (said.status != 0)
            GTEST_SKIP() << "perf cannot record a 32-bit program here: " << said.text;
        const std::string path = folder.path("perf.data");
        const std::vector<Frames> perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
        const std::vector<json> ours = rows_of_export(path, folder);
        ASSERT_EQ(ours.size(), perfs.size());
        ASSERT_GT(ours.size(), 5U);
        size_t called = 0;
        for (size_t i = 0; i < ours.size(); i++) {
            Frames expected = perfs[i];
            const auto names = own_functions(expected, PROGRAM32);
            called += names == std::vector<std::string>{"spin32", "middle32", "_start"};
            if (way == "dwarf")
                expected.resize(1);
            EXPECT_EQ(frames_of(ours[i]), expected) << "row " << i;
        }
        EXPECT_GT(called, ours.size() / 2);
        size_t not_unwound = 0;
        for (const json &row : losses_of_export(path, folder))
            not_unwound += row["kind"] == "not-unwound" ? number(row, "amount") : 0;
        EXPECT_EQ(not_unwound, way == "dwarf" ? ours.size() : 0U);
    }
}
#endif

// debuginfod

// A port of this machine that accepts connections, but does not answer.
class Listening {
public:
    Listening() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        socklen_t bytes = sizeof address;
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto *const at = reinterpret_cast<sockaddr *>(&address);
        EXPECT_EQ(::bind(fd_.get(), at, bytes), 0);
        EXPECT_EQ(::listen(fd_.get(), 16), 0);
        EXPECT_EQ(::getsockname(fd_.get(), at, &bytes), 0);
        port_ = ntohs(address.sin_port);
    }
    unsigned port() const { return port_; }
    bool was_asked() const
    {
        pollfd waiting{fd_.get(), POLLIN, 0};
        return ::poll(&waiting, 1, 0) > 0;
    }

private:
    Fd fd_;
    unsigned port_ = 0;
};

// Debian's debuginfod on a port of this machine. It serves the files of the folder "server".
class Debuginfods {
public:
    explicit Debuginfods(const TestFolder &folder) : folder_(folder), port_(Listening().port())
    {
        const std::string port = std::to_string(port_), files = folder.path("server"),
                          database = folder.path("database"), log = folder.path("log");
        pid_ = ::fork();
        if (pid_ != 0)
            return;
        const int to = ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
        ::dup2(to, 1);
        ::dup2(to, 2);
        ::execlp("debuginfod", "debuginfod", "-p", port.c_str(), "-d", database.c_str(), "-F",
                 files.c_str(), static_cast<char *>(nullptr));
        ::_exit(127);
    }
    Debuginfods(const Debuginfods &) = delete;
    Debuginfods &operator=(const Debuginfods &) = delete;
    ~Debuginfods()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
    // Waits until the server has read its files. Each request has its own cache, because a cache
    // remembers what a server does not have.
    bool has(const std::string &build_id) const
    {
        for (int tries = 0; tries < 300; tries++) {
            const std::string command = fmt::format(
                "DEBUGINFOD_URLS={} DEBUGINFOD_CACHE_PATH={} debuginfod-find debuginfo {}", url(),
                folder_.path("try" + std::to_string(tries)), build_id);
            if (stock::run(command).status == 0)
                return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
        return false;
    }

private:
    const TestFolder &folder_;
    unsigned port_;
    pid_t pid_;
};

// A recording of a program without symbols, whose symbols a server has.
class ExportWithDebuginfod : public testing::Test {
protected:
    // Returns false if perf cannot record on this machine.
    bool record()
    {
        const std::string perf = stock::perf("7.2");
        EXPECT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
        EXPECT_EQ(stock::run("strip -o " + program() + " " UNWOUND_PROGRAM).status, 0);
        return recorded(perf, folder_, "-F 4999 --call-graph fp -- " + program() + " 3000")
                   .status == 0;
    }
    // Number of samples in the program's function spin().
    size_t named(const std::string &urls, const std::string &timeout_s = "60")
    {
        ::setenv("DEBUGINFOD_URLS", urls.c_str(), 1);
        ::setenv("DEBUGINFOD_TIMEOUT", timeout_s.c_str(), 1);
        ::setenv("DEBUGINFOD_CACHE_PATH", folder_.path(fmt::format("cache{}", caches_++)).c_str(),
                 1);
        testing::internal::CaptureStderr();
        const auto stacks = stacks_of_export(folder_.path("perf.data"), folder_, {}, {});
        said_ = testing::internal::GetCapturedStderr();
        for (const char *name : {"DEBUGINFOD_URLS", "DEBUGINFOD_TIMEOUT", "DEBUGINFOD_CACHE_PATH"})
            ::unsetenv(name);
        size_t samples = 0;
        for (const auto &[line, count] : stacks)
            samples += line.find("spin") == line.npos ? 0 : count;
        return samples;
    }
    std::string program() const { return folder_.path("program"); }

    const TestFolder folder_;
    std::string said_;
    int caches_ = 0;
};

TEST_F(ExportWithDebuginfod, TakesSymbolsAndProgramsFromAServerByBuildId)
{
    ASSERT_EQ(stock::run("debuginfod --version").status, 0) << "run make setup: debuginfod";
    if (!record())
        GTEST_SKIP() << "perf cannot record here";
    folder_.folder("server");
    std::filesystem::copy_file(UNWOUND_PROGRAM, folder_.path("server/other_name"));
    const Debuginfods server(folder_);
    const Result<ElfFile> original = ElfFile::open("", UNWOUND_PROGRAM);
    ASSERT_TRUE(original);
    ASSERT_TRUE(server.has(hex_of(original->build_id())));
    EXPECT_EQ(named(""), 0U);
    const size_t with_symbols = named(server.url());
    EXPECT_GT(with_symbols, 10U) << said_;
    std::filesystem::copy_file("/bin/true", program(),
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(named(server.url()), with_symbols) << "the program is replaced by another one";
    EXPECT_EQ(said_.find("not the build"), said_.npos) << said_;
    EXPECT_EQ(named(""), 0U);
    EXPECT_NE(said_.find("not the build"), said_.npos) << said_;
}

TEST_F(ExportWithDebuginfod, EndsInTimeIfAServerDoesNotAnswer)
{
    if (!record())
        GTEST_SKIP() << "perf cannot record here";
    const Listening server;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(named(fmt::format("http://127.0.0.1:{}", server.port()), "1"), 0U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_TRUE(server.was_asked());
    EXPECT_NE(said_.find("debuginfod did not answer within 1 s"), said_.npos) << said_;
}

TEST_F(ExportWithDebuginfod, ContinuesIfAServerIsUnreachable)
{
    if (!record())
        GTEST_SKIP() << "perf cannot record here";
    const unsigned closed_port = Listening().port();
    EXPECT_EQ(named(fmt::format("http://127.0.0.1:{}", closed_port)), 0U);
    EXPECT_EQ(said_.find("debuginfod"), said_.npos) << said_;
}

}  // namespace
}  // namespace pmukit::cli
