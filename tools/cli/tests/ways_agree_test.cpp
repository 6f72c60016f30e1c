// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares `pmukit export` and `pmukit report` with stock perf, for recordings that the test makes
// in each way to record: by perf record and by pmukit record, with compression, several threads,
// overwritten rings, cgroups, copies of the stack, groups, pipes; of programs that execute others,
// change their names, or get the PID of an earlier one; and of two hosts.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"
#include "cli/tests/perf_rows.hpp"
#include "cli/tests/perf_stats.hpp"
#include "cli/tests/stock_perf.hpp"
#include "record/cgroups.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

enum class By { kPerf, kPmukit };

// "@" is the folder of the test.
constexpr const char *kExec = "@/first exec @/second @/third";
constexpr const char *kRename = "@/first rename";
constexpr const char *kReuse = "@/first reuse";

struct Way {
    const char *name;
    By by;
    const char *options, *command;

    bool has(std::string_view text) const
    {
        return std::string_view(options).find(text) != std::string_view::npos;
    }
    bool command_enters_cgroup() const { return has("%") || has("--all-cgroups"); }
    bool needs_root() const { return has("-a ") || command == kReuse; }
};

// "%" is the name of the test's cgroup.
constexpr Way kWays[] = {
    {"compressed", By::kPerf, "-z", kRename},
    {"threads", By::kPerf, "--threads", kRename},
    {"overwrite", By::kPerf, "--overwrite", kRename},
    {"cgroup", By::kPerf, "-a -G %", kRename},
    {"all_cgroups", By::kPerf, "-g --all-cgroups", kRename},
    {"dwarf", By::kPerf, "--call-graph dwarf,8192", kExec},
    {"fp", By::kPerf, "-g", kExec},
    {"group", By::kPerf, "-e '{cpu-clock:u,page-faults:u}:S'", kRename},
    {"two_events", By::kPerf, "-e cpu-clock:u -e page-faults:u -g", kExec},
    {"pipe", By::kPerf, "-o -", kExec},
    {"exec", By::kPerf, "", kExec},
    {"no_timestamp", By::kPerf, "--no-timestamp", kExec},
    {"per_thread", By::kPerf, "--per-thread", kExec},
    {"rename", By::kPerf, "-d", kRename},
    {"reuse", By::kPerf, "-g", kReuse},
    {"cgroup", By::kPmukit, "-a -G %", kRename},
    {"dwarf", By::kPmukit, "--call-graph dwarf,8192", kExec},
    {"fp", By::kPmukit, "-g", kExec},
    {"two_events", By::kPmukit, "-e cpu-clock:u -e page-faults:u -g", kExec},
    {"pipe", By::kPmukit, "-o -", kExec},
    {"rename", By::kPmukit, "-P", kRename},
    {"reuse", By::kPmukit, "-g", kReuse},
};

std::string replaced(std::string text, const std::string &what, const std::string &by)
{
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

// A cgroup of the test, which the shell that starts the command enters. Empty name: this machine
// allows none.
class Cgroup {
public:
    Cgroup()
    {
        const Result<std::string> mounts = read_file(record::kMounts, size_t{16} << 20);
        const auto root = mounts ? record::cgroup_root(*mounts) : std::nullopt;
        const std::string name = "pmukit_test_" + std::to_string(::getpid());
        if (!root || ::mkdir((*root + '/' + name).c_str(), 0755) != 0)
            return;
        name_ = name;
        path_ = *root + '/' + name;
    }
    Cgroup(const Cgroup &) = delete;
    Cgroup &operator=(const Cgroup &) = delete;
    ~Cgroup()
    {
        if (!path_.empty())
            ::rmdir(path_.c_str());
    }
    const std::string &name() const { return name_; }
    std::string entered_by(const std::string &command) const
    {
        return "sh -c 'echo $$ >" + path_ + "/cgroup.procs && exec " + command + "'";
    }

private:
    std::string name_, path_;
};

class WaysAgree : public testing::Test {
protected:
    WaysAgree()
    {
        for (const char *name : {"first", "second", "third"})
            fs::create_symlink(TASKS_PROGRAM, folder_.path(name));
        folder_.folder("no_programs");
    }
    void SetUp() override
    {
        ASSERT_FALSE(perf_.empty()) << "run make setup: perf of 7.2";
        const stock::Said said = stock::run(perf_ + "record -e cpu-clock:u -o /dev/null true");
        if (said.status != 0)
            GTEST_SKIP() << "perf cannot record here: " << said.text;
    }

    // Records into a file; returns its path.
    std::string recorded(const Way &way, const std::string &name, const std::string &before = {})
    {
        const std::string path = folder_.path(name), options = way.options;
        std::string command = replaced(way.command, "@", folder_.path(""));
        if (way.command_enters_cgroup())
            command = cgroup_.entered_by(command);
        const bool is_piped = way.has("-o -");
        const std::string recorder =
            way.by == By::kPerf ? perf_ + "record -N" : PMUKIT_COMMAND " record";
        const stock::Said said =
            stock::run("(" + environment(folder_) + before + recorder + " -F 2999 " +
                       (way.has("-e ") ? "" : "-e cpu-clock:u ") +
                       replaced(options, "%", cgroup_.name()) + (is_piped ? "" : " -o " + path) +
                       " -- " + command + (is_piped ? " >" + path : "") + ")");
        EXPECT_EQ(said.status, 0) << said.text;
        return path;
    }

    void expect_same_symbols(const std::string &path, const Contents &contents)
    {
        const std::vector<Frames> perfs = frames_of_perf(perf_, path, contents, "", folder_);
        const std::vector<json> ours = rows_of_export(path, folder_);
        const Threads threads = threads_of(path);
        ASSERT_EQ(ours.size(), perfs.size());
        for (size_t i = 0; i < ours.size(); i++)
            if (!is_not_unwound(perfs[i])) {
                ASSERT_EQ(as_perf_shows(without_low_inlined(frames_of(ours[i]), ours[i], threads)),
                          without_low_inlined(perfs[i], ours[i], threads))
                    << "row " << i;
            }
    }

    // Compares every format and the report.
    void expect_same(const std::string &path)
    {
        const std::string no_programs = folder_.path("no_programs");
        const Contents contents = contents_of(path);
        const std::vector<Row> rows = rows_said_by_perf(perf_, path, contents, "", no_programs);
        const std::vector<Frames> frames =
            frames_of_perf(perf_, path, contents, "--symfs " + no_programs, folder_);
        std::vector<json> ours;
        for (const char *format : kFormats) {
            SCOPED_TRACE(format);
            ours = rows_of_export(path, folder_, no_programs, format);
            expect_same_rows(ours, rows, contents);
            expect_same_frames(ours, frames);
        }
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(ours.size(), 20U);
        const auto not_unwound = static_cast<size_t>(std::ranges::count_if(frames, is_not_unwound));
        expect_same_stacks(
            stacks_of_export(path, folder_, no_programs, {}),
            stacks_of_chains(ours, frames, ordinary_events(path, contents).have_frames),
            not_unwound);
        expect_same_symbols(path, contents);
        expect_same_stats(parse_stats(said_by_perf(perf_, "report --stats", path)), path, folder_);
    }

    // The names of the samples' threads.
    std::set<std::string> names_of(const std::string &path)
    {
        std::set<std::string> names;
        for (const json &row : rows_of_export(path, folder_, folder_.path("no_programs")))
            names.insert(row.value("comm", ""));
        return names;
    }

    const TestFolder folder_;
    const std::string perf_ = stock::perf("7.2");
    const Cgroup cgroup_;
};

class WaysAgreeOf : public WaysAgree, public testing::WithParamInterface<Way> {};
INSTANTIATE_TEST_SUITE_P(Recordings, WaysAgreeOf, testing::ValuesIn(kWays), [](const auto &of) {
    return std::string(of.param.name) + (of.param.by == By::kPerf ? "_of_perf" : "_of_pmukit");
});

TEST_P(WaysAgreeOf, WithStockPerf)
{
    const Way &way = GetParam();
    if (way.needs_root() && ::geteuid() != 0)
        GTEST_SKIP() << "only root can record all tasks or choose a PID";
    if (way.command_enters_cgroup() && cgroup_.name().empty())
        GTEST_SKIP() << "this machine allows no cgroup";
    const std::string path = recorded(way, "perf.data");
    if (HasFailure())
        return;
    expect_same(path);
    const std::set<std::string> expected =
        way.command == kExec ? std::set<std::string>{"first", "second", "third"}
        : way.command == kRename
            ? std::set<std::string>{"first", "first name", "second name", "other", "other again"}
            : std::set<std::string>{"first", "child", "second child", "fourth child"};
    const std::set<std::string> found = names_of(path);
    EXPECT_TRUE(std::ranges::includes(found, expected)) << testing::PrintToString(found);
}

TEST_F(WaysAgree, WithStockPerfForTwoHosts)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can name a host";
    const std::string green = recorded({"green", By::kPerf, "-g", kRename}, "green.data",
                                       "unshare --uts sh -c 'hostname green; exec \"$@\"' sh ");
    const std::string blue = recorded({"blue", By::kPmukit, "-g", kExec}, "blue.data",
                                      "unshare --uts sh -c 'hostname blue; exec \"$@\"' sh ");
    const std::string both = folder_.path("both.data");
    const stock::Said said =
        stock::run(PMUKIT_COMMAND " merge -o " + both + ' ' + green + ' ' + blue);
    ASSERT_EQ(said.status, 0) << said.text;
    expect_same(both);
    EXPECT_EQ(names_of(both), (std::set<std::string>{"first", "first name", "second name", "other",
                                                     "other again", "second", "third"}));
    for (const json &row : rows_of_export(both, folder_, folder_.path("no_programs"))) {
        const std::string comm = row.value("comm", "");
        const bool is_blue = comm == "second" || comm == "third";
        if (is_blue || comm == "other" || comm == "first name")
            EXPECT_EQ(row.value("host", ""), is_blue ? "blue" : "green") << comm;
    }
}

}  // namespace
}  // namespace pmukit::cli
