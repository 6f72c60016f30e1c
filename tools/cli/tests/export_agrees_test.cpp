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
#include <thread>
#include <tuple>

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/perf_rows.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/test_file.hpp"
#include "session/functions.hpp"

namespace pmukit::cli {
namespace {

using perfdata::testing::Recording;

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
        const std::vector<Row> rows =
            rows_said_by_perf(perf, path, contents, perf_options(), no_programs());
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
        const EventsOfNoDriver events = ordinary_events(path, contents);
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

// Two BPF programs at one address, one after the other, and code that the kernel generated.
TEST(ExportOfKernelSymbols, NamesThemAsPerfScriptUntilTheyAreRemoved)
{
    constexpr uint64_t kTask = uint64_t{5} << 32 | 5, kCode = 0xffffffffc0100000, kBytes = 0x80,
                       kBpf = PERF_RECORD_KSYMBOL_TYPE_BPF, kOol = PERF_RECORD_KSYMBOL_TYPE_OOL;
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    perfdata::testing::FileBuilder file(std::endian::native);
    file.event(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, {7});
    const auto symbol = [&](uint64_t address, std::string name, uint64_t type, uint64_t flags,
                            uint64_t time_ns) {
        name.resize(32);
        std::vector<uint64_t> words{address, flags << 48 | type << 32 | kBytes, 0, 0, 0, 0};
        std::memcpy(&words[2], name.data(), name.size());
        words.insert(words.end(), {kTask, time_ns});
        file.record(PERF_RECORD_KSYMBOL, words);
    };
    const auto sample = [&](uint64_t ip, uint64_t time_ns) {
        file.record(PERF_RECORD_SAMPLE, {ip, kTask, time_ns}).misc(PERF_RECORD_MISC_KERNEL);
    };
    symbol(kCode, "bpf_prog_0123456789abcdef_one", kBpf, 0, 10);
    symbol(kCode + 0x1000, "kprobe_insn_page", kOol, 0, 10);
    sample(kCode + 0x10, 20);
    sample(kCode + 0x1000, 30);
    sample(kCode + kBytes, 40);
    symbol(kCode, "", kBpf, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, 50);
    sample(kCode + 0x10, 60);
    symbol(kCode, "bpf_prog_fedcba9876543210_two", kBpf, 0, 70);
    sample(kCode + 0x7f, 80);
    const TestFolder folder;
    folder.put("perf.data", file.file());
    const std::string path = folder.path("perf.data");
    const std::vector<Frames> perfs = frames_of_perf(perf, path, contents_of(path), "", folder);
    const std::vector<json> ours = rows_of_export(path, folder);
    ASSERT_EQ(ours.size(), 5U);
    ASSERT_EQ(perfs.size(), 5U);
    EXPECT_EQ(ours[0].value("sym", ""), "bpf_prog_0123456789abcdef_one");
    EXPECT_EQ(ours[4].value("dso", ""), "bpf_prog_fedcba9876543210_two");
    for (const size_t row : {0, 1, 3, 4})
        EXPECT_EQ(frames_of(ours[row]), perfs[row]) << "row " << row;
    EXPECT_FALSE(ours[2].contains("sym")) << "behind the program";
}

// PMUs whose events a recording has beside that of the samples.
class ExportOfShortTasks : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(BesidePmu, ExportOfShortTasks, testing::Values("none", "cxl_hmu0"),
                         [](const auto &pmu) { return pmu.param; });

// 50,000 tasks with long names of their own, which exit at once. Their PIDs repeat. Together, they
// exceed the memory for names, but few exist at a time. A server runs on; its record has no time,
// and is at the end of the file. The first task of each round has a sample.
TEST_P(ExportOfShortTasks, HasTheNameOfEachTask)
{
    constexpr uint32_t kTasks = 50000, kPids = 25000, kRound = 10;
    constexpr size_t kNameBytes = 248;
    constexpr uint32_t kPmuType = 9;
    constexpr uint64_t kSampleType =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    const auto of = [](uint64_t pid, uint64_t tid) { return tid << 32 | pid; };
    const auto long_name = [](uint32_t task) {
        std::string name = "task" + std::to_string(task);
        name.resize(kNameBytes - 1, '.');
        return name;
    };
    perfdata::testing::FileBuilder file;
    file.event(PERF_TYPE_SOFTWARE, kSampleType, {7});
    if (GetParam() != std::string_view("none"))
        file.event(kPmuType, kSampleType, {8}).pmu(kPmuType, GetParam());
    const auto comm = [&](uint64_t pid, std::string name, uint64_t time_ns) {
        std::vector<uint64_t> words(2 + name.size() / sizeof(uint64_t));
        words[0] = of(pid, pid);
        std::memcpy(&words[1], name.data(), name.size());
        words.insert(words.end(), {of(pid, pid), time_ns, 7});
        file.record(PERF_RECORD_COMM, words);
    };
    for (uint32_t i = 0; i < kTasks; i++) {
        const uint64_t pid = 10 + i % kPids, time_ns = 1000 + 100 * uint64_t{i};
        file.record(PERF_RECORD_FORK, {of(pid, 1), of(pid, 1), time_ns, of(1, 1), time_ns, 7});
        comm(pid, long_name(i), time_ns + 1);
        if (i % kRound == 0)
            file.record(PERF_RECORD_SAMPLE, {7, 0x1000, of(pid, pid), time_ns + 2});
        file.record(PERF_RECORD_EXIT,
                    {of(pid, 1), of(pid, 1), time_ns + 3, of(pid, pid), time_ns + 3, 7});
        if (i % kRound == kRound - 1)
            file.record(PERF_RECORD_SAMPLE, {7, 0x1000, of(1, 1), time_ns + 4})
                .record(perfdata::kFinishedRound, {});
    }
    comm(1, "server", 0);
    const TestFolder folder;
    const std::string path = folder.path("perf.data");
    folder.put("perf.data", file.file());
    uint32_t next = 0;
    for (const json &row : rows_of_export(path, folder, {}, "csv")) {
        const bool is_server = number(row, "pid") == 1;
        ASSERT_EQ(row.value("comm", ""), is_server ? "server" : long_name(next));
        next += is_server ? 0 : kRound;
    }
    EXPECT_EQ(next, kTasks);
    const bool is_alone = GetParam() == std::string_view("none");
    const std::string event = is_alone ? "" : "cpu-clock;";
    std::map<std::string, size_t> expected{{event + "server;[unknown]", kTasks / kRound}};
    for (uint32_t i = 0; i < kTasks; i += kRound)
        expected[event + long_name(i) + ";[unknown]"] = 1;
    EXPECT_EQ(stacks_of_export(path, folder, {}, {}), expected);
}

// Events that the file gives no name, by their place in it, and what perf calls them; a tracepoint
// and an event of an unknown PMU, which perf rejects or does not tell apart, have names of their
// own.
constexpr const char *kDefaultNames[] = {"cpu_atom/cycles/", "tracepoint/id=0x4d/",
                                         "pmu_of_others/config=0x30/",
                                         "unknown event PMU=25 config=0x0"};

// A recording with one sample of each of these events.
std::string recorded_without_names(const TestFolder &folder)
{
    constexpr uint64_t kSampleType =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    perfdata::testing::FileBuilder file;
    file.event(PERF_TYPE_HARDWARE, kSampleType, {1})
        .set(perfdata::kAttrConfig, uint64_t{8} << 32)
        .event(PERF_TYPE_TRACEPOINT, kSampleType, {2})
        .set(perfdata::kAttrConfig, 0x4d)
        .event(24, kSampleType, {3})
        .set(perfdata::kAttrConfig, 0x30)
        .event(25, kSampleType, {4})
        .pmu(8, "cpu_atom")
        .pmu(24, "pmu_of_others");
    constexpr uint64_t kTask = uint64_t{5} << 32 | 5;
    for (uint64_t id = 1; id <= std::size(kDefaultNames); id++)
        file.record(PERF_RECORD_SAMPLE, {id, 0x1000 * id, kTask, 10 * id});
    folder.put("perf.data", file.file());
    return folder.path("perf.data");
}

TEST(ExportOfEventsWithoutNames, TablesHaveTheirDefaultNames)
{
    const TestFolder folder;
    const std::string path = recorded_without_names(folder);
    for (const char *format : kFormats) {
        SCOPED_TRACE(format);
        const std::vector<json> rows = rows_of_export(path, folder, {}, format);
        ASSERT_EQ(rows.size(), std::size(kDefaultNames));
        for (size_t i = 0; i < rows.size(); i++)
            EXPECT_EQ(rows[i].value("event", ""), kDefaultNames[i]);
    }
}

TEST(ExportOfEventsWithoutNames, OpenMetricsHaveTheirDefaultNames)
{
    const TestFolder folder;
    std::ifstream file(exported(recorded_without_names(folder), folder, "openmetrics", {}));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const std::string name : kDefaultNames)
        EXPECT_NE(text.find("event=\"" + name + '"'), text.npos) << name << '\n' << text;
}

TEST(ExportOfEventsWithoutNames, FoldedStacksBeginWithTheirDefaultNames)
{
    const TestFolder folder;
    const auto stacks = stacks_of_export(recorded_without_names(folder), folder, {}, {});
    std::map<std::string, size_t> expected;
    for (const std::string name : kDefaultNames)
        expected[name + ";[unknown];[unknown]"] = 1;
    EXPECT_EQ(stacks, expected);
}

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

// LBR

// Two samples of one place in a program, which the function at 0x401000 calls: in the program, and
// in a system call that it makes there. perf 7.2 takes the sample's address for the place in the
// program, also of a sample in the kernel.
TEST(ExportOfLbrCallStacks, BeginsWithThePlaceInTheProgram)
{
    constexpr uint64_t kTask = uint64_t{5} << 32 | 5, kPlace = 0x401142, kCall = 0x401017,
                       kKernel = 0xffffffff81000010;
    constexpr auto kKernelMark = static_cast<uint64_t>(PERF_CONTEXT_KERNEL),
                   kUserMark = static_cast<uint64_t>(PERF_CONTEXT_USER);
    const std::string perf = stock::perf("7.2");
    ASSERT_FALSE(perf.empty()) << "run make setup: perf of 7.2";
    perfdata::testing::FileBuilder file(std::endian::native);
    file.event(PERF_TYPE_HARDWARE,
               PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
                   PERF_SAMPLE_BRANCH_STACK,
               {7})
        .set(perfdata::kAttrBranchSampleType,
             PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK)
        .record(PERF_RECORD_SAMPLE,
                {kPlace, kTask, 10, 2, kUserMark, kPlace, 1, kCall, 0x401100, 0})
        .misc(PERF_RECORD_MISC_USER)
        .record(PERF_RECORD_SAMPLE, {kKernel, kTask, 20, 4, kKernelMark, kKernel, kUserMark, kPlace,
                                     1, kCall, 0x401100, 0})
        .misc(PERF_RECORD_MISC_KERNEL);
    const TestFolder folder;
    folder.put("perf.data", file.file());
    const std::string path = folder.path("perf.data");
    const Contents contents = contents_of(path);
    const std::vector<Row> perfs = rows_said_by_perf(perf, path, contents, "", folder.path(""));
    const std::vector<json> ours = rows_of_export(path, folder);
    ASSERT_EQ(perfs.size(), 2U);
    ASSERT_EQ(ours.size(), 2U);
    EXPECT_EQ(perfs[0].chain, (Frames{"401142", "401017"}));
    EXPECT_EQ(ours[0]["callchain"], "0x401142;0x401017");
    EXPECT_EQ(perfs[1].chain, (Frames{"ffffffff81000010", "ffffffff81000010", "401017"}))
        << "a newer perf has no such defect";
    EXPECT_EQ(ours[1]["callchain"], "0xffffffff81000010;0x401142;0x401017");
}

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
