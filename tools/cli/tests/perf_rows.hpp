// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: reads the output of `perf script` and of `pmukit export`, and compares them row by
// row.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#ifdef PMUKIT_SQLITE
#include <sqlite3.h>
#endif

#include "base/test_folder.hpp"
#include "cli/drivers.hpp"
#include "cli/export/export.hpp"
#include "cli/tests/csv_records.hpp"
#include "cli/tests/stock_perf.hpp"
#include "export/schema.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"
#include "perfdata/testing/perf_script.hpp"
#include "session/functions.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

using nlohmann::json;

// A sample in the text of perf script: a line, the addresses of its call chain, and its cgroup if
// the recording has cgroups.
struct Row {
    std::string line;
    std::vector<std::string> chain;
    std::string cgroup;
    bool operator==(const Row &) const = default;
};

// The sample fields of a recording; the names of its events that belong to drivers of pmukit (their
// rows are in other tables); and the exit times of its threads.
struct Contents {
    std::vector<std::string> fields;
    std::set<std::string> of_drivers;
    std::map<uint64_t, uint64_t> exits_ns;  // by TID
    bool with_cgroups = false;
    bool has(std::string_view field) const
    {
        return std::ranges::find(fields, field) != fields.end();
    }
};

inline Contents contents_of(const std::string &path)
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
            contents.of_drivers.insert(perfdata::name_of(*reader, event) + ":");
    Result<perfdata::Reader> again = perfdata::Reader::open_path(path);
    const Result<std::string> fields = perfdata::testing::script_fields(*again);
    EXPECT_TRUE(fields);
    contents.fields = {"comm"};
    std::istringstream names(fields ? *fields : "");
    constexpr std::string_view kCompared[] = {"pid",    "tid",   "cpu",  "time",
                                              "period", "event", "addr", "ip"};
    // For BPF output events, the list is one of changes to perf's default fields, which have the
    // event: "-comm,...,+pid,+tid".
    if (fields && fields->starts_with('-'))
        contents.fields.push_back("event");
    for (std::string name; std::getline(names, name, ',');) {
        name.erase(0, name.find_first_not_of('+'));
        contents.with_cgroups |= name == "cgroup";
        if (std::ranges::find(kCompared, name) != std::end(kCompared))
            contents.fields.push_back(name);
    }
    return contents;
}

inline std::string squeezed(const std::string &line)
{
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

// Parses the output of perf script. Frames follow the line of their sample, after a tab.
// "[unknown]" after an address is dropped.
inline std::vector<Row> rows_of_perf(const std::string &said, const Contents &contents)
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
            rows.push_back({words, {}, {}});
    }
    return rows;
}

inline std::string said_by_perf(const std::string &perf, const std::string &path,
                                const Contents &contents, const std::string &options,
                                const std::string &no_programs)
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

// Returns what perf script prints as the samples of a recording. The cgroups are from a second run,
// as perf prints them after a call chain.
inline std::vector<Row> rows_said_by_perf(const std::string &perf, const std::string &path,
                                          const Contents &contents, const std::string &options,
                                          const std::string &no_programs)
{
    std::vector<Row> rows =
        rows_of_perf(said_by_perf(perf, path, contents, options, no_programs), contents);
    if (!contents.with_cgroups)
        return rows;
    Contents only_cgroups = contents;
    only_cgroups.fields = {"event", "cgroup"};
    const std::vector<Row> cgroups =
        rows_of_perf(said_by_perf(perf, path, only_cgroups, options, no_programs), only_cgroups);
    EXPECT_EQ(cgroups.size(), rows.size());
    for (size_t i = 0; i < std::min(rows.size(), cgroups.size()); i++)
        rows[i].cgroup = cgroups[i].line.substr(cgroups[i].line.rfind(' ') + 1);
    return rows;
}

inline uint64_t number(const json &row, const char *name, uint64_t otherwise = 0)
{
    if (!row.contains(name))
        return otherwise;
    const json &value = row[name];
    return value.is_string() ? std::stoull(value.get<std::string>(), nullptr, 16)
                             : value.get<uint64_t>();
}

// Returns all lines that perf script may print for a row. perf forgets the name of a thread when
// the thread exits, and prints the TID in place of the name for samples after the exit.
inline std::vector<std::string> words_of(const json &row, const Contents &contents, bool with_ip)
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

inline std::vector<json> rows_of_jsonl(const std::string &path)
{
    std::ifstream file(path);
    std::vector<json> rows;
    for (std::string line; std::getline(file, line);)
        rows.push_back(json::parse(line));
    return rows;
}

// A text that a spreadsheet would take for a formula has a ' before it.
inline json csv_value(exporter::Kind kind, const std::string &text)
{
    constexpr std::string_view kFormula = "=+-@\t\r";
    if (kind == exporter::Kind::kNumber)
        return std::stoull(text);
    const bool is_guarded =
        text.size() > 1 && text[0] == '\'' && kFormula.find(text[1]) != kFormula.npos;
    return text.substr(is_guarded ? 1 : 0);
}

inline std::vector<json> rows_of_csv(const std::string &path)
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
inline json sqlite_value(exporter::Kind kind, sqlite3_stmt *row, int at)
{
    const auto number = static_cast<uint64_t>(sqlite3_column_int64(row, at));
    if (kind == exporter::Kind::kNumber)
        return number;
    if (kind == exporter::Kind::kAddress)
        return fmt::format("{:#x}", number);
    return reinterpret_cast<const char *>(sqlite3_column_text(row, at));
}

inline std::vector<json> rows_of_sqlite(const std::string &path)
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
inline std::string exported(const std::string &path, const TestFolder &folder,
                            const std::string &format, const std::string &symfs,
                            const std::vector<std::string> &events = {},
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

inline std::vector<json> rows_of_export(const std::string &path, const TestFolder &folder,
                                        const std::string &symfs = {},
                                        const std::string &format = "jsonl")
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
    return rows;
}

inline std::vector<json> losses_of_export(const std::string &path, const TestFolder &folder)
{
    return rows_of_jsonl(exported(path, folder, "jsonl", {}, {}, "losses"));
}

// Number of samples of each line of the folded stacks.
inline std::map<std::string, size_t> stacks_of_export(const std::string &path,
                                                      const TestFolder &folder,
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

inline Frames split_frames(const std::string &text)
{
    Frames frames;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ';');)
        frames.push_back(part);
    return frames;
}

inline bool is_inlined(const std::string &frame)
{
    return frame.ends_with(" (inlined)");
}

inline Frames frames_of(const json &row)
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
        frames.push_back(fmt::format(
            "{:x} {}{} ({})", number(row, "ip"), row.value("sym", "[unknown]"),
            row.contains("sym") ? fmt::format("+{:#x}", number(row, "symoff_bytes")) : "",
            row.value("dso", "[unknown]")));
    return frames;
}

// If a function is inlined into a function of the same name, perf prints it like the outer
// function: with the object in place of "(inlined)". The reason is that new_inline_sym() of perf
// uses the outer symbol if the names are equal.
inline Frames as_perf_shows(Frames frames)
{
    const auto name = [](const std::string &frame) { return frame.substr(0, frame.rfind(" (")); };
    for (size_t i = frames.size(); i-- > 1;)
        if (is_inlined(frames[i - 1]) && name(frames[i - 1]) == name(frames[i]))
            frames[i - 1] = frames[i];
    return frames;
}

// Returns the environment in which perf finds inlined functions by libdw, and not by the command
// addr2line, which differs between hosts.
inline std::string environment(const TestFolder &folder)
{
    std::ofstream(folder.path("perfconfig")) << "[addr2line]\n\tstyle = libdw\n";
    return "PERF_CONFIG=" + folder.path("perfconfig") + " HOME=" + folder.path("") + ' ';
}

inline std::vector<Frames> frames_of_perf(const std::string &perf, const std::string &path,
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
inline bool is_not_unwound(const Frames &perfs)
{
    return perfs.empty();
}

inline void expect_same_rows(const std::vector<json> &ours, const std::vector<Row> &perfs,
                             const Contents &contents)
{
    ASSERT_EQ(ours.size(), perfs.size());
    for (size_t i = 0; i < ours.size(); i++) {
        const bool with_chain = !perfs[i].chain.empty();
        const auto words = words_of(ours[i], contents, contents.has("ip") && !with_chain);
        ASSERT_NE(std::ranges::find(words, perfs[i].line), words.end())
            << "ours: " << words[0] << "\nperf: " << perfs[i].line;
        if (contents.with_cgroups) {
            ASSERT_EQ(ours[i].value("cgroup", "unknown"), perfs[i].cgroup) << words[0];
        }
        std::string chain;
        for (const std::string &ip : perfs[i].chain)
            chain += (chain.empty() ? "0x" : ";0x") + ip;
        if (with_chain) {
            ASSERT_EQ(ours[i].value("callchain", ""), chain) << words[0];
        }
    }
}

inline void expect_same_frames(const std::vector<json> &ours, const std::vector<Frames> &perfs)
{
    ASSERT_EQ(ours.size(), perfs.size());
    for (size_t i = 0; i < ours.size(); i++)
        if (!is_not_unwound(perfs[i])) {
            ASSERT_EQ(as_perf_shows(frames_of(ours[i])), perfs[i]) << "row " << i;
        }
}

// Folded stacks

// "[busybox]" of "401234 [unknown] (/bin/busybox)".
inline std::string folded_unnamed(const std::string &frame)
{
    const size_t begin = frame.rfind(" (") + 2;
    const std::string object = frame.substr(begin, frame.size() - 1 - begin);
    if (object.starts_with('['))
        return object + (object == kKernelObject ? "_[k]" : "");
    return '[' + std::string(base_name(object)) + ']';
}

// perf does not print whether an address outside all maps was in the kernel.
inline std::string without_mode_of_unknown(const std::string &line)
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
struct EventsOfNoDriver {
    std::vector<std::string> names;
    bool have_frames = false;
};

inline EventsOfNoDriver ordinary_events(const std::string &path, const Contents &contents)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    for (perfdata::Record record; reader->next(record);)
        continue;  // in pipe layout, events arrive with the records
    std::set<std::string> all, ordinary;
    for (const perfdata::Event &event : reader->events()) {
        const std::string name = perfdata::name_of(*reader, event);
        if (!perfdata::is_dummy(event.attr))
            all.insert(name);
        if (!contents.of_drivers.contains(name + ":"))
            ordinary.insert(name);
    }
    return {{ordinary.begin(), ordinary.end()}, all.size() > 1};
}

// Sums of the chains that perf prints. expect_same_rows() compares the task and the event of each
// row; perf does not print the event if there is only one.
inline std::map<std::string, size_t> stacks_of_chains(const std::vector<json> &rows,
                                                      const std::vector<Frames> &perfs,
                                                      bool event_frames)
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

inline void expect_same_stacks(const std::map<std::string, size_t> &ours,
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

// The threads of a recording and their maps.
inline Threads threads_of(const std::string &path)
{
    Threads threads;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    for (perfdata::Record record; reader->next(record);)
        threads.note(record, *reader);
    return threads;
}

// Removes inlined functions below address 0x10000 of a position-independent file, because perf 7.2
// does not find them: perf passes the address in the file to libdwfl, which places such a file at
// 0x10000. In FIXED_PROGRAM, which has fixed addresses, perf finds all inlined functions.
inline Frames without_low_inlined(const Frames &frames, const json &row, const Threads &threads)
{
    constexpr uint64_t kLow = 0x10000;
    Frames seen;
    for (const std::string &frame : frames) {
        const auto place = threads.find(static_cast<uint32_t>(number(row, "pid")),
                                        std::stoull(frame.substr(0, frame.find(' ')), nullptr, 16),
                                        number(row, "time_ns"));
        const bool is_low = place && place->file_offset < kLow &&
                            threads.objects()[place->object].path != FIXED_PROGRAM;
        if (!is_inlined(frame) || !is_low)
            seen.push_back(frame);
    }
    return seen;
}

}  // namespace pmukit::cli
