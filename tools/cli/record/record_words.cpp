// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options of pmukit record: those of perf record with the same meaning, and its own.
// perf_options.hpp has the options of perf that are rejected.
#include "cli/record/record_words.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <memory>

#include "base/clocks.hpp"

namespace pmukit::cli {
namespace {

void add_events(CLI::App &record, RecordCommandOptions &options)
{
    record
        .add_option(
            "-e,--event", options.events,
            "event: pmu/term=value,.../modifiers, or a name of perf's such as cycles:u (may "
            "be given several times; cycles without one)")
        ->allow_extra_args(false);
    record
        .add_option("--pfm-events", options.pfm_events,
                    "events by libpfm4's names, with commas between; {} make a group")
        ->allow_extra_args(false);
    record.add_option("-c,--count", options.period, "a sample after so many of the event");
    record.add_option("-F,--freq", options.frequency,
                      "samples a second, or max (4000; a PMU with a cpumask gives every record)");
    record.add_flag("--strict-freq", options.strict_frequency,
                    "fail where the kernel allows fewer samples a second");
    record.add_flag("--all-user", options.all_user, "of programs alone, as :u");
    record.add_flag("--all-kernel", options.all_kernel, "of the kernel alone, as :k");
    record.add_flag("-g", options.chains, "with each sample the chain of calls, by frame pointers");
    record.add_option("--call-graph", options.chains_by,
                      "the same by fp, dwarf[,BYTES] of the stack (8192), or lbr");
}

void add_targets(CLI::App &record, RecordCommandOptions &options)
{
    record.add_flag("-a,--all-cpus", options.all_cpus,
                    "the whole machine (the default without a command; PMUs with a cpumask always "
                    "are)");
    record.add_option("-C,--cpu", options.cpus, "only these CPUs, such as 0-3,8");
    record.add_option("-p,--pid", options.processes, "processes that run already, such as 1234,99");
    record.add_option("-t,--tid", options.threads, "threads that run already");
    record.add_option("-G,--cgroup", options.cgroups,
                      "with -a: the cgroup of each event, in their order, or one of all");
    record.add_flag("-i,--no-inherit", options.no_inherit,
                    "without children of the recorded tasks");
}

void add_files(CLI::App &record, RecordCommandOptions &options)
{
    record
        .add_option(
            "-o,--output", options.output,
            "file to write; -: standard output, as it is recorded. A recording of that name "
            "becomes NAME.old")
        ->capture_default_str();
    record.add_option("-m,--mmap-pages", options.pages,
                      "PAGES[,AUXPAGES] or ,AUXPAGES, or sizes with K, M or G: of the ring of each "
                      "CPU and of each AUX area, rounded up to powers of two; AUXPAGES 0: samples "
                      "instead of AUX data (512K,4M; of hisi_ptt an AUX area of 16M; the device's "
                      "own buffers have 4 MiB)");
    record
        .add_option("-k,--clockid", options.clock,
                    "clock of all times, as perf record has them, such as CLOCK_MONOTONIC")
        ->check(CLI::IsMember(clock_words(), plain_clock_word));
    record
        .add_option("--source", options.source,
                    "say in the file where the devices are from: 'model' when they are emulated")
        ->check(CLI::IsMember({"model"}));
    record.add_option(
        "--interval", options.interval,
        "SECONDS[,KEEP]: whole files one after the other, OUTPUT.000001 and so on, of "
        "which the newest KEEP stay");
    record.add_flag("-B,--no-buildid", options.no_build_ids, "no build ids of what is mapped");
    record.add_flag("-P,--period", options.weight, "with each sample its period, with -c too");
}

// Options of perf that pmukit always applies.
void add_always(CLI::App &record)
{
    const std::pair<const char *, const std::string> always[] = {
        {"-N,--no-buildid-cache", "there is no such cache: as always"},
        {"-R,--raw-samples", "with what the PMU says of each sample: as always"},
        {"-T,--timestamp", "with times: as always"},
        {"--sample-cpu", "with CPUs: as always"},
        {"--sample-identifier", "with ids: as always"},
        {"--buildid-mmap", "with build ids of what is mapped: as always"},
    };
    for (const auto &[names, help] : always)
        record.add_flag(names, help);
}

void add_recording_options(CLI::App &record, RecordCommandOptions &options)
{
    record.add_flag("--dry-run", options.dry_run, "say what would be recorded, and end");
    record.add_flag("-v,--verbose", options.verbose, "say what is recorded, and the ids of events");
    record.add_flag("-q,--quiet", options.quiet, "say nothing unless it fails");
    record.add_option("command", options.command,
                      "command to run, with its own options; without one, record until Ctrl-C");
    record
        .add_option("--command-output", options.command_output,
                    "descriptor to which the command prints; pmukit top gives one")
        ->check(CLI::Range(STDERR_FILENO + 1, INT_MAX))
        ->group("");  // for pmukit top only: not in --help
}

}  // namespace

CLI::App *add_record_words(CLI::App &app, RecordCommandOptions &options)
{
    CLI::App *record =
        app.add_subcommand("record", "record events of the suite's PMUs into a perf.data file");
    add_events(*record, options);
    add_targets(*record, options);
    add_files(*record, options);
    add_always(*record);
    add_recording_options(*record, options);
    record->footer(
        "Examples:\n  pmukit record -a -e cxl_hmu_mem0.0.0/access_type=3,hotness_threshold=16,"
        "epoch_multiplier=1,epoch_scale=4/ sleep 1\n"
        "  pmukit record -e hisi_ptt0_2/filter=0000:00:10.0+0000:00:11.0,type=1,direction=1,"
        "format=1/ -- sleep 1\n"
        "  pmukit record -k monotonic -a -e cxl_hmu_mem0.0.0// -e cache_qos_aux/snapshot/\n"
        "  pmukit record -e cpu-clock:u -g -F 999 -o sort.data sort -o sorted.txt words.txt\n"
        "  pmukit record --pfm-events PERF_COUNT_SW_CPU_CLOCK:u -o clock.data -- sleep 1\n"
        "  pmukit record -o - -a -e cxl_hmu_mem0.0.0// | pmukit top -\n"
        "  pmukit record --interval 60,10 -a -e hisi_ptt0_2/filter=0000:00:10.0,type=1/ -o ptt\n"
        "Options end at the first word that is none: what follows is the command with its own. "
        "Options of perf record mean here what they mean there; one that is not taken says what "
        "to use instead.\n"
        "A hisi_ptt filter is a root port, several joined by +, or a requester; it always sees the "
        "whole machine.\n"
        "To correlate several PMUs use -k monotonic, the clock of the readings of cache_qos. "
        "Only monotonic and monotonic_raw go with every PMU.\n"
        "Modifiers are perf's: u k h G H I (which modes are counted), p pp ppp P (precise), S D "
        "e.\n"
        "`pmukit list` shows the PMUs of this machine with their terms. The exit status is the "
        "command's (a signal that ended it ends this program too), or 1 when a PMU vanished.");
    return record;
}

Command add_record(CLI::App &app)
{
    const auto owned = std::make_shared<RecordCommandOptions>();
    return {add_record_words(app, *owned), [owned](const Invocation &invocation) {
                owned->cmdline = invocation.words;
                return run_record(*owned, invocation.out);
            }};
}

}  // namespace pmukit::cli
