// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: recordings that stock perf makes on this machine, one for each way to record that the
// corpus cannot have, or whose tasks matter. A test is skipped only if the kernel denies what the
// way needs; any other failure of perf is a failure of the test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/merge.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::stock {

enum class Where {
    kHere,
    kCgroup,    // the command in a cgroup of its own, named by -G
    kPids,      // in a new PID namespace
    kTwoHosts,  // twice, in namespaces with different host names; the recordings are merged
};

struct Way {
    const char *name, *options, *command;  // of perf record
    bool loses = false;
    Where where = Where::kHere;

    bool is_system_wide() const { return std::string_view(options).starts_with("-a "); }
};

// FOLDER/first and FOLDER/second are links to the program of tasks_main.cpp.
#define RENAMED_THREADS "./first names 2000"
// A copy of the stack does not fit into a ring of one page.
constexpr Way kWays[] = {
    {"whole", "-e cpu-clock:u -g", UNWOUND_PROGRAM " 3000"},
    {"dwarf", "-e cpu-clock:u --call-graph dwarf,16384", RENAMED_THREADS},
    {"lost", "-e cpu-clock:u --call-graph dwarf,16384 -m 1", UNWOUND_PROGRAM " 3000", true},
    {"lost_of_all_cpus", "-a -e cpu-clock:u --call-graph dwarf,16384 -m 1", UNWOUND_PROGRAM " 3000",
     true},
    {"lost_of_two", "-e cpu-clock:u,task-clock:u --call-graph dwarf,16384 -m 1",
     UNWOUND_PROGRAM " 3000", true},
    {"group", "-e '{cpu-clock:u,page-faults:u}:S'", RENAMED_THREADS},
    {"group_of_all_cpus", "-a -e '{cpu-clock:u,page-faults:u}:S'", RENAMED_THREADS},
    {"compressed", "-e cpu-clock:u -g -z", RENAMED_THREADS},
    {"threads", "-a -e cpu-clock:u --threads", RENAMED_THREADS},
    {"threads_compressed", "-a -e cpu-clock:u --threads -z", RENAMED_THREADS},
    {"overwrite", "-e cpu-clock:u --overwrite -m 1", RENAMED_THREADS},
    {"overwrite_of_all_cpus", "-a -e cpu-clock:u --overwrite --tail-synthesize -m 4",
     RENAMED_THREADS},
    {"cgroups", "-a -e cpu-clock:u --all-cgroups", RENAMED_THREADS},
    {"of_a_cgroup", "-a -e cpu-clock:u", RENAMED_THREADS, false, Where::kCgroup},
    {"exec_chain", "-e cpu-clock:u -g",
     "sh -c 'exec ./first exec 3000 ./second exec 3000 " UNWOUND_PROGRAM " 3000'"},
    {"renames", "-e cpu-clock:u,page-faults:u", RENAMED_THREADS},
    {"renames_of_all_cpus", "-a -e cpu-clock:u", RENAMED_THREADS},
    {"pid_reuse", "-e cpu-clock:u", "./first reuse 3000 ./second " UNWOUND_PROGRAM, false,
     Where::kPids},
    {"two_hosts", "-e cpu-clock:u --sample-identifier -k CLOCK_MONOTONIC", RENAMED_THREADS, false,
     Where::kTwoHosts},
};
#undef RENAMED_THREADS

inline bool can_open_clock(bool system_wide)
{
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.exclude_kernel = 1;
    const int pid = system_wide ? -1 : 0, cpu = system_wide ? 0 : -1;
    return Fd(static_cast<int>(
                  ::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)))
        .
        operator bool();
}

// A cgroup that exists as long as this object. path(): empty if this machine permits none.
class Cgroup {
public:
    Cgroup()
    {
        std::ifstream mounts("/proc/mounts");
        std::string device, folder, type;
        for (std::string line; std::getline(mounts, line);) {
            std::istringstream(line) >> device >> folder >> type;
            if (type != "cgroup2")
                continue;
            path_ = folder + '/' + name();
            if (::mkdir(path_.c_str(), 0755) != 0)
                path_.clear();
            return;
        }
    }
    ~Cgroup()
    {
        if (!path_.empty())
            ::rmdir(path_.c_str());
    }
    Cgroup(const Cgroup &) = delete;
    Cgroup &operator=(const Cgroup &) = delete;
    std::string name() const { return "pmukit-test-" + std::to_string(::getpid()); }
    const std::string &path() const { return path_; }

private:
    std::string path_;
};

// Command that runs another one in new namespaces; flags: of unshare(1).
inline std::string unshared(const std::string &flags)
{
    return std::string("unshare ") + (::geteuid() == 0 ? "" : "-Ur ") + flags + ' ';
}

// Returns what perf printed if the kernel permits no such recording; the test is then to be
// skipped. A failure for any other reason is reported as a failure of the test.
inline std::optional<std::string> refusal(const Said &said, bool system_wide)
{
    if (said.status == 0)
        return std::nullopt;
    if (can_open_clock(system_wide))
        ADD_FAILURE() << "perf record failed, although the kernel permits it: " << said.text;
    return said.text;
}

// Records into FOLDER/NAME. in: command that runs perf.
inline std::optional<std::string> record_in(const std::string &in, const std::string &perf,
                                            const Way &way, const std::string &more_options,
                                            const std::string &command, const TestFolder &folder,
                                            const std::string &name)
{
    return refusal(
        run("cd " + folder.path("") + " && " + in + perf + "record -N --sample-cpu -F 1999 " +
            way.options + ' ' + more_options + " -o " + name + " -- " + command),
        way.is_system_wide());
}

inline std::optional<std::string> record_two_hosts(const std::string &perf, const Way &way,
                                                   const TestFolder &folder)
{
    std::vector<perfdata::Reader> readers;
    for (const std::string host : {"green", "blue"}) {
        const std::string in =
            unshared("-u sh -c 'echo " + host + " >/proc/sys/kernel/hostname && exec \"$@\"' sh");
        if (auto refused = record_in(in, perf, way, "", way.command, folder, host))
            return refused;
        auto reader = perfdata::Reader::open_path(folder.path(host));
        EXPECT_TRUE(reader && reader->hostname() == host);
        readers.push_back(std::move(*reader));
    }
    Result<perfdata::Merged> merged = perfdata::merge_recordings(readers, folder.path("perf.data"));
    EXPECT_TRUE(merged) << merged.error().message;
    EXPECT_TRUE(merged && merged->file.finish());
    return std::nullopt;
}

// Makes FOLDER/perf.data. Returns why the kernel does not permit the recording, if it does not.
inline std::optional<std::string> record(const std::string &perf, const Way &way,
                                         const TestFolder &folder)
{
    for (const char *link : {"first", "second"})
        folder.link(link, TASKS_PROGRAM);
    const std::string command = way.command, name = "perf.data";
    switch (way.where) {
        case Where::kHere:
            break;
        case Where::kCgroup: {
            const Cgroup cgroup;
            if (cgroup.path().empty())
                return "no cgroup can be made here";
            return record_in(
                "", perf, way, "-G " + cgroup.name(),
                "sh -c 'echo $$ >" + cgroup.path() + "/cgroup.procs && exec " + command + "'",
                folder, name);
        }
        case Where::kPids: {
            const std::string in = unshared("-pf --mount-proc");
            if (const Said said = run(in + "true"); said.status != 0)
                return said.text;
            return record_in(in, perf, way, "", command, folder, name);
        }
        case Where::kTwoHosts:
            if (const Said said = run(unshared("-u") + "true"); said.status != 0)
                return said.text;
            return record_two_hosts(perf, way, folder);
    }
    return record_in("", perf, way, "", command, folder, name);
}

}  // namespace pmukit::stock
