// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options of pmukit record: options of perf record with the same meaning, and options that perf
// does not have. perf_options.hpp has the options of perf that are rejected.
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
        .add_option("-e,--event", options.events,
                    "event to record: pmu/term=value,.../modifiers, or a perf event name such as "
                    "cycles:u; may be repeated (default: cycles)")
        ->allow_extra_args(false);
    record
        .add_option("--pfm-events", options.pfm_events,
                    "comma-separated libpfm4 event names; {} groups events")
        ->allow_extra_args(false);
    record.add_option("-c,--count", options.period, "take one sample per COUNT events");
    record.add_option(
        "-F,--freq", options.frequency,
        "samples per second, or max (default: 4000; PMUs with a cpumask deliver every record)");
    record.add_flag("--strict-freq", options.strict_frequency,
                    "fail if the kernel does not allow this frequency");
    record.add_flag("--all-user", options.all_user, "record user space only, as :u does");
    record.add_flag("--all-kernel", options.all_kernel, "record the kernel only, as :k does");
    record.add_flag("-g", options.chains, "record call chains, by frame pointers");
    record.add_option("--call-graph", options.chains_by,
                      "record call chains by fp, fp,defer (user part later, Linux 7.2), "
                      "dwarf[,STACK_BYTES] (default: 8192 bytes) or lbr");
}

void add_targets(CLI::App &record, RecordCommandOptions &options)
{
    record.add_flag(
        "-a,--all-cpus", options.all_cpus,
        "record all CPUs (default without a command; always so for PMUs with a cpumask)");
    record.add_option("-C,--cpu", options.cpus, "record only these CPUs, such as 0-3,8");
    record.add_option("-p,--pid", options.processes, "record existing processes, such as 1234,99");
    record.add_option("-t,--tid", options.threads, "record existing threads");
    record.add_option(
        "-G,--cgroup", options.cgroups,
        "with -a: cgroup of each event, in the order of the events, or one cgroup for all");
    record.add_flag("-i,--no-inherit", options.no_inherit, "do not record child tasks");
}

void add_files(CLI::App &record, RecordCommandOptions &options)
{
    record
        .add_option("-o,--output", options.output,
                    "output file; -: standard output, in pipe mode. An existing recording is "
                    "renamed to NAME.old")
        ->capture_default_str();
    record.add_option(
        "-m,--mmap-pages", options.pages,
        "ring buffer and AUX area pages per CPU, PAGES[,AUXPAGES] or ,AUXPAGES, or sizes with K, M "
        "or G, rounded up to a power of two; AUXPAGES 0: record samples instead of AUX data "
        "(default: 512K,4M; hisi_ptt: 16M of AUX area, as the device itself buffers 4 MiB)");
    record
        .add_option("-k,--clockid", options.clock,
                    "clock for time stamps, as perf record names it, such as CLOCK_MONOTONIC")
        ->check(CLI::IsMember(clock_words(), plain_clock_word));
    record
        .add_option("--source", options.source,
                    "mark the recording: 'model' if the devices are emulated")
        ->check(CLI::IsMember({"model"}));
    record.add_option("--interval", options.interval,
                      "start a new file every SECONDS: OUTPUT.000001 and so on; with SECONDS,KEEP "
                      "delete all but the newest KEEP, also of earlier recordings to OUTPUT");
    record.add_flag("-B,--no-buildid", options.no_build_ids, "do not record build ids");
    record.add_flag("-P,--period", options.weight,
                    "record the period of each sample, also with -c");
    record.add_flag("--data-mmap", options.data_maps,
                    "record maps without code, too (default with --call-graph dwarf)");
    record.add_flag("--no-buffering", options.no_buffering,
                    "write each sample as soon as it is taken");
}

// Options of perf whose effect pmukit always has: accepted and ignored.
void add_always(CLI::App &record)
{
    const std::pair<const char *, const std::string> always[] = {
        {"-N,--no-buildid-cache", "accepted for compatibility: there is no build-id cache"},
        {"-R,--raw-samples", "accepted for compatibility: raw data is always recorded"},
        {"-T,--timestamp", "accepted for compatibility: time stamps are always recorded"},
        {"--sample-cpu", "accepted for compatibility: CPUs are always recorded"},
        {"--sample-identifier", "accepted for compatibility: ids are always recorded"},
        {"--buildid-mmap", "accepted for compatibility: build ids are always recorded"},
        {"--buildid-all", "accepted for compatibility: all mapped files have build ids"},
        {"--timestamp-boundary", "accepted for compatibility: the header always has both times"},
        {"--no-bpf-event", "accepted for compatibility: BPF programs are not recorded"},
    };
    for (const auto &[names, help] : always)
        record.add_flag(names, help);
    const std::pair<const char *, const char *> without_effect[] = {
        {"--mmap-flush", "accepted for compatibility: rings are always drained at once"},
        {"--proc-map-timeout", "accepted for compatibility: reading /proc has no time limit"},
        {"--num-thread-synthesize", "accepted for compatibility: one thread reads /proc"},
    };
    for (const auto &[names, help] : without_effect)
        record.add_option_function<std::string>(
            names, [](const std::string &) {}, help);
}

void add_recording_options(CLI::App &record, RecordCommandOptions &options)
{
    record.add_flag("--dry-run", options.dry_run, "print what would be recorded, and exit");
    record.add_flag("-v,--verbose", options.verbose,
                    "print the events with their attributes and ids");
    record.add_flag("-q,--quiet", options.quiet, "print errors only");
    record.add_option("command", options.command,
                      "command to run, with its options (default: record until Ctrl-C)");
    record
        .add_option("--command-output", options.command_output,
                    "descriptor to which the command prints; pmukit top gives one")
        ->check(CLI::Range(STDERR_FILENO + 1, INT_MAX))
        ->group("");  // for pmukit top only: not in --help
}

}  // namespace

CLI::App *add_record_words(CLI::App &app, RecordCommandOptions &options)
{
    CLI::App *record = app.add_subcommand("record", "record events into a perf.data file");
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
        "  pmukit record -e resctrl/interval_ms=500/ -- sleep 60\n"
        "Options end at the first argument that is not an option; the rest is the command. Options "
        "of perf record have the same meaning; the error for an unsupported one names an "
        "alternative.\n"
        "A hisi_ptt filter is one root port, several joined by +, or one requester; hisi_ptt "
        "always records system-wide.\n"
        "resctrl// records L3 occupancy and bandwidth of the groups of a mounted resctrl, without "
        "a "
        "module.\n"
        "To correlate several PMUs, use -k monotonic, the clock of cache_qos readings. Only "
        "monotonic and monotonic_raw work with every PMU.\n"
        "Modifiers are those of perf: u k h G H I (modes that are counted), p pp ppp P (precise), "
        "S D e.\n"
        "`pmukit list` shows the PMUs of this machine with their terms. Exit status: that of the "
        "command (record ends by the same signal if a signal ended it), or 1 if a PMU was "
        "removed.");
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
