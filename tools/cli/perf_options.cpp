// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options from perf-record(1) and perf-top(1) of Linux 7.2.
#include "cli/perf_options.hpp"

#include <algorithm>

namespace pmukit::cli {
namespace {

constexpr Takes kNo = Takes::kNothing, kValue = Takes::kValue, kPerhaps = Takes::kPerhaps;

constexpr std::string_view kByPerf = "not taken here; perf record takes it";
constexpr std::string_view kNewest = "--interval SECONDS,KEEP keeps what came last, in whole files";
constexpr std::string_view kEachFile = "--interval SECONDS[,KEEP] begins a new file after SECONDS";
constexpr std::string_view kSynthesized =
    "tasks that run when the recording begins are always in it, at its front";

constexpr PerfOption kOfRecord[] = {
    {'b', "branch-any", kNo, kByPerf},
    {'j', "branch-filter", kValue, kByPerf},
    {'d', "data", kNo, kByPerf},
    {'D', "delay", kValue, "begin when it is time, with -p PID for what runs already"},
    {'I', "intr-regs", kPerhaps, kByPerf},
    {'n', "no-samples", kNo, "perf stat counts without samples"},
    {'r', "realtime", kValue, "chrt -f PRIORITY pmukit record does it"},
    {'s', "stat", kNo, "perf stat --per-thread counts for each thread"},
    {'S', "snapshot", kPerhaps, kNewest},
    {'u', "uid", kValue, "-p \"$(pgrep -d, -u USER)\" names the processes of a user"},
    {'W', "weight", kNo, kByPerf},
    {'z', "compression-level", kPerhaps, "records are not packed; zstd packs the file afterwards"},
    {0, "affinity", kValue, "taskset or numactl before pmukit does it"},
    {0, "aio", kPerhaps, "one thread writes; a larger -m lets it be late"},
    {0, "all-cgroups", kNo, "-G names the cgroup of an event"},
    {0, "aux-sample", kPerhaps, kByPerf},
    {0, "bpf-event", kNo, kByPerf},
    {0, "buildid-all", kNo, "each file that is mapped has its build id anyhow: leave it out"},
    {0, "clang-opt", kValue, kByPerf},
    {0, "clang-path", kValue, kByPerf},
    {0, "code-page-size", kNo, kByPerf},
    {0, "control", kValue,
     "the recording begins with its command or at once and ends by SIGINT or SIGTERM; --interval "
     "makes files"},
    {0, "data-page-size", kNo, kByPerf},
    {0, "debuginfod", kPerhaps, "set DEBUGINFOD_URLS for the command that reads the recording"},
    {0, "exclude-perf", kNo, "-p or a command names what is recorded"},
    {0, "filter", kValue, "terms of the event filter: -e pmu/term=value/"},
    {0, "group", kNo, "--pfm-events '{A,B}' makes a group"},
    {0, "kcore", kNo, "pmukit report --kallsyms names the kernel's functions"},
    {0, "kernel-callchains", kNo, "-g --all-kernel has chains of the kernel alone"},
    {0, "latency", kNo, kByPerf},
    {0, "max-size", kValue, "--interval SECONDS,KEEP bounds what is kept"},
    {0, "mmap-flush", kValue, "every ring is emptied at once: leave it out"},
    {0, "namespaces", kNo, kByPerf},
    {0, "no-bpf-event", kNo, "none is recorded: leave it out"},
    {0, "no-buffering", kNo, "-o - writes what was recorded at once"},
    {0, "num-thread-synthesize", kValue, kSynthesized},
    {0, "off-cpu", kNo, kByPerf},
    {0, "off-cpu-thresh", kValue, kByPerf},
    {0, "overwrite", kNo, kNewest},
    {0, "per-thread", kNo, "-t TID names threads"},
    {0, "phys-data", kNo, kByPerf},
    {0, "proc-map-timeout", kValue, "there is no such limit: leave it out"},
    {0, "running-time", kNo, kByPerf},
    {0, "setup-filter", kValue, kByPerf},
    {0, "switch-events", kNo, "-e context-switches samples each switch"},
    {0, "switch-max-files", kValue, kEachFile},
    {0, "switch-output", kPerhaps, kEachFile},
    {0, "switch-output-event", kValue, kEachFile},
    {0, "synth", kValue, kSynthesized},
    {0, "tail-synthesize", kNo, kSynthesized},
    {0, "threads", kPerhaps, "one thread empties all rings; a larger -m lets it be late"},
    {0, "timestamp-boundary", kNo, "leave it out: readers find the first and the last time"},
    {0, "timestamp-filename", kNo, "the shell names it: -o perf.data.$(date +%Y%m%d%H%M%S)"},
    {0, "transaction", kNo, kByPerf},
    {0, "user-callchains", kNo, "-g --all-user has chains of programs alone"},
    {0, "user-regs", kPerhaps, kByPerf},
    {0, "vmlinux", kValue, "pmukit report --kallsyms names the kernel's functions"},
};

constexpr std::string_view kNoFunctions =
    "top shows pages, requesters and groups, not functions; perf top shows those";

constexpr PerfOption kOfTop[] = {
    {'D', "dump-symtab", kNo, kNoFunctions},
    {'f', "count-filter", kValue, "--top N shows the first N"},
    {'g', "", kNo, kNoFunctions},
    {'i', "no-inherit", kNo, kNoFunctions},
    {'j', "branch-filter", kValue, kNoFunctions},
    {'b', "branch-any", kNo, kNoFunctions},
    {'k', "vmlinux", kValue, kNoFunctions},
    {'K', "hide_kernel_symbols", kNo, kNoFunctions},
    {'r', "realtime", kValue, "chrt -f PRIORITY pmukit top does it"},
    {'s', "sort", kValue, "--view pages, requesters or groups is what there is"},
    {'u', "uid", kValue, "-p \"$(pgrep -d, -u USER)\" names the processes of a user"},
    {'U', "hide_user_symbols", kNo, kNoFunctions},
    {'v', "verbose", kNo, "pmukit record -v says what is opened"},
    {'w', "column-widths", kValue, kNoFunctions},
    {'W', "weight", kNo, kNoFunctions},
    {'z', "zero", kNo, "each picture is of its interval; key t shows all since the beginning"},
    {'E', "entries", kValue, "--top N shows the first N"},
    {0, "call-graph", kValue, kNoFunctions},
    {0, "children", kNo, kNoFunctions},
    {0, "fields", kValue, kNoFunctions},
    {0, "stdio", kNo, "--batch prints text"},
    {0, "tui", kNo, "a terminal is a screen anyhow: leave it out"},
    {0, "num-thread-synthesize", kValue, kSynthesized},
    {0, "overwrite", kNo, "leave it out"},
};

}  // namespace

std::string PerfOption::written() const
{
    std::string text = letter ? std::string("-") + letter : std::string();
    if (!name.empty())
        text += (text.empty() ? "--" : ", --") + std::string(name);
    return text;
}

std::span<const PerfOption> refused_options(std::string_view command)
{
    if (command == "record")
        return kOfRecord;
    return command == "top" ? std::span<const PerfOption>(kOfTop) : std::span<const PerfOption>();
}

}  // namespace pmukit::cli
