// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The options are from perf-record(1) and perf-top(1) of Linux 7.2.
#include "cli/perf_options.hpp"

#include <algorithm>

namespace pmukit::cli {
namespace {

constexpr Takes kNo = Takes::kNothing, kValue = Takes::kValue, kPerhaps = Takes::kPerhaps;

constexpr std::string_view kByPerf = "not supported; use perf record";
constexpr std::string_view kNewest = "--interval SECONDS,KEEP keeps the newest complete files";
constexpr std::string_view kEachFile = "--interval SECONDS[,KEEP] begins a new file after SECONDS";
constexpr std::string_view kSynthesized = "running tasks are always recorded, at the beginning";

constexpr PerfOption kOfRecord[] = {
    {'b', "branch-any", kNo, kByPerf},
    {'j', "branch-filter", kValue, kByPerf},
    {'d', "data", kNo, kByPerf},
    {'D', "delay", kValue, "start pmukit later, with -p PID for a running program"},
    {'I', "intr-regs", kPerhaps, kByPerf},
    {'n', "no-samples", kNo, "perf stat counts without samples"},
    {'r', "realtime", kValue, "use chrt -f PRIORITY pmukit record"},
    {'s', "stat", kNo, "perf stat --per-thread counts for each thread"},
    {'S', "snapshot", kPerhaps, kNewest},
    {'u', "uid", kValue, "-p \"$(pgrep -d, -u USER)\" names the processes of a user"},
    {'W', "weight", kNo, kByPerf},
    {'z', "compression-level", kPerhaps, "records are not compressed; compress the file with zstd"},
    {0, "affinity", kValue, "run pmukit with taskset or numactl"},
    {0, "aio", kPerhaps, "one thread writes; a larger -m tolerates delays"},
    {0, "all-cgroups", kNo, "-G names the cgroup of an event"},
    {0, "aux-sample", kPerhaps, kByPerf},
    {0, "bpf-event", kNo, kByPerf},
    {0, "clang-opt", kValue, kByPerf},
    {0, "clang-path", kValue, kByPerf},
    {0, "code-page-size", kNo, kByPerf},
    {0, "control", kValue,
     "the recording begins with its command or immediately and ends on SIGINT or SIGTERM; "
     "--interval writes files"},
    {0, "data-page-size", kNo, kByPerf},
    {0, "debuginfod", kPerhaps, "set DEBUGINFOD_URLS for pmukit report and export"},
    {0, "exclude-perf", kNo, "select tasks with -p or a command"},
    {0, "filter", kValue, "terms of the event filter: -e pmu/term=value/"},
    {0, "group", kNo, "--pfm-events '{A,B}' makes a group"},
    {0, "kcore", kNo, "pmukit report --kallsyms names kernel functions"},
    {0, "kernel-callchains", kNo, "-g --all-kernel records kernel call chains only"},
    {0, "latency", kNo, kByPerf},
    {0, "max-size", kValue, "--interval SECONDS,KEEP limits the number of files"},
    {0, "namespaces", kNo, kByPerf},
    {0, "off-cpu", kNo, kByPerf},
    {0, "off-cpu-thresh", kValue, kByPerf},
    {0, "overwrite", kNo, kNewest},
    {0, "per-thread", kNo, "-t TID names threads"},
    {0, "phys-data", kNo, kByPerf},
    {0, "running-time", kNo, kByPerf},
    {0, "sample-mem-info", kNo, kByPerf},
    {0, "setup-filter", kValue, kByPerf},
    {0, "switch-events", kNo, "-e context-switches samples each switch"},
    {0, "switch-max-files", kValue, kEachFile},
    {0, "switch-output", kPerhaps, kEachFile},
    {0, "switch-output-event", kValue, kEachFile},
    {0, "synth", kValue, kSynthesized},
    {0, "tail-synthesize", kNo, kSynthesized},
    {0, "threads", kPerhaps, "one thread drains all rings; a larger -m tolerates delays"},
    {0, "timestamp-filename", kNo, "the shell names it: -o perf.data.$(date +%Y%m%d%H%M%S)"},
    {0, "transaction", kNo, kByPerf},
    {0, "user-callchains", kNo, "-g --all-user records user call chains only"},
    {0, "user-regs", kPerhaps, kByPerf},
    {0, "vmlinux", kValue, "pmukit report --kallsyms names kernel functions"},
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
    {'r', "realtime", kValue, "use chrt -f PRIORITY pmukit top"},
    {'s', "sort", kValue, "use --view pages, requesters or groups"},
    {'u', "uid", kValue, "-p \"$(pgrep -d, -u USER)\" names the processes of a user"},
    {'U', "hide_user_symbols", kNo, kNoFunctions},
    {'v', "verbose", kNo, "pmukit record -v prints what is opened"},
    {'w', "column-widths", kValue, kNoFunctions},
    {'W', "weight", kNo, kNoFunctions},
    {'z', "zero", kNo, "each frame shows its interval; key t shows the totals"},
    {'E', "entries", kValue, "--top N shows the first N"},
    {0, "call-graph", kValue, kNoFunctions},
    {0, "children", kNo, kNoFunctions},
    {0, "fields", kValue, kNoFunctions},
    {0, "stdio", kNo, "--batch prints text"},
    {0, "tui", kNo, "a terminal always gets a full screen; omit the option"},
    {0, "num-thread-synthesize", kValue, kSynthesized},
    {0, "overwrite", kNo, "omit the option"},
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
