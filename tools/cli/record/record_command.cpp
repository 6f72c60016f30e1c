// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit record: records events, with or without a workload, into a perf.data file. This file
// connects the recorder and the writer.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/clocks.hpp"
#include "base/file.hpp"
#include "base/sentences.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_host.hpp"
#include "cli/drivers.hpp"
#include "cli/record/record_events.hpp"
#include "cli/record/record_files.hpp"
#include "cli/record/record_output.hpp"
#include "cli/record/record_plan.hpp"
#include "cli/suite.hpp"
#include "cli/version.hpp"
#include "cli/workload.hpp"
#include "console/inherited.hpp"
#include "console/output.hpp"
#include "console/signals.hpp"
#include "perfdata/writer.hpp"
#include "record/recorder.hpp"
#include "record/synthesize.hpp"
#include "session/identity.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

perfdata::HostInfo host_info(const RecordCommandOptions &options)
{
    perfdata::HostInfo host;
    utsname name{};
    if (::uname(&name) == 0) {
        host.hostname = name.nodename;
        host.os_release = name.release;
        host.arch = name.machine;
    }
    host.version = std::string("pmukit ") + kVersion;
    host.cpus_available = static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_CONF));
    host.cpus_online = static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
    host.cmdline = options.cmdline;
    if (auto pmus = record::list_pmus(record::kSysfsPmus))
        for (const auto &[pmu, type] : *pmus)
            host.pmus.emplace_back(type, pmu);
    return host;
}

uint64_t now_ns(clockid_t clock)
{
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Adds the time of the recording's clock and the wall clock time of the same moment. They allow to
// align recordings of several hosts.
void add_clock(std::optional<int32_t> clock_id, perfdata::HostInfo &host)
{
    if (!clock_id)
        return;
    timespec resolution{};
    if (::clock_getres(*clock_id, &resolution) == 0)
        host.clock_resolution_ns = static_cast<uint64_t>(resolution.tv_nsec);
    host.clock = {1, static_cast<uint32_t>(*clock_id), now_ns(CLOCK_REALTIME), now_ns(*clock_id)};
}

// Adds the argument of --source, and the boot id, which tells recordings of a host apart whose
// clocks began anew. Files of a series after the first also get their number, from which readers
// know that sequence numbers continue from the previous file.
void add_own_caps(const std::string &source, size_t part, perfdata::HostInfo::Caps &caps)
{
    if (!source.empty())
        caps.emplace_back(kSourceCap, source);
    if (part > 1)
        caps.emplace_back(kPartCap, std::to_string(part));
    if (const Result<std::string> boot = read_small_file("/proc/sys/kernel/random/boot_id"))
        caps.emplace_back(perfdata::kBootCap, boot->substr(0, boot->find('\n')));
}

// Adds the caps of the recorded PMUs, as perf does, and add_own_caps().
void add_caps(const record::Recorder &recorder, const std::string &source, size_t part,
              perfdata::HostInfo &host)
{
    for (const record::OpenedEvent &event : recorder.events()) {
        const auto is_known = [&event](const auto &pmu) { return pmu.first == event.pmu.name; };
        if (event.pmu.name.empty() || std::ranges::any_of(host.caps, is_known))
            continue;
        perfdata::HostInfo::Caps caps(event.pmu.caps.begin(), event.pmu.caps.end());
        add_own_caps(source, part, caps);
        if (!caps.empty())
            host.caps.emplace_back(event.pmu.name, std::move(caps));
    }
}

std::vector<perfdata::WriterEvent> writer_events(const record::Recorder &recorder)
{
    std::vector<perfdata::WriterEvent> events;
    for (const record::OpenedEvent &event : recorder.events())
        events.push_back({event.attr, event.ids, event.text});
    return events;
}

uint64_t config_of(const std::vector<std::byte> &attr)
{
    uint64_t config = 0;
    std::memcpy(&config, attr.data() + offsetof(perf_event_attr, config), sizeof(config));
    return config;
}

// Writes AUXTRACE_INFO if stock perf can decode the AUX data of this file with it.
Result<void> write_auxtrace_info(const record::Recorder &recorder, perfdata::Writer &writer)
{
    std::vector<EventOfPmu> events;
    for (const record::OpenedEvent &event : recorder.events())
        events.push_back({event.pmu.name, event.pmu.type, config_of(event.attr),
                          event.pmu.format.contains("pattern")});
    const std::optional<AuxtraceInfo> info = auxtrace_info_of(events);
    if (!info || !recorder.has_aux())
        return {};
    return writer.auxtrace_info(info->type, info->words);
}

// Writes records with the names and maps of threads that already exist, because the tracking event
// reports only changes. For a recorded command, the first file needs only its name before the exec,
// because the exec is in that file: some events happen at the begin of the exec.
Result<void> write_synthesized(const record::Recorder &recorder,
                               const record::RecordOptions &options, size_t part,
                               record::Synthesizer &synthesizer)
{
    if (!recorder.follows_tasks())
        return {};
    if (Result<void> written = synthesizer.kernel(); !written)
        return written;
    for (const auto *tasks : {&options.processes, &options.threads})
        for (const pid_t task : *tasks)
            if (Result<void> done = synthesizer.process_of(static_cast<uint32_t>(task)); !done)
                return done;
    const bool of_all = options.all_cpus || !options.cpus.empty();
    const bool of_workload = !of_all && options.processes.empty() && options.threads.empty();
    if (of_all || (of_workload && part > 1))
        return synthesizer.processes();
    const auto command = static_cast<uint32_t>(options.workload.value_or(0));
    return of_workload ? synthesizer.name_of(command, command) : Result<void>();
}

Result<void> check_output(const RecordCommandOptions &options)
{
    if (!is_standard_output(options.output))
        return options.interval.empty() ? claim_output(options.output, options.command)
                                        : Result<void>();
    if (::isatty(STDOUT_FILENO))
        return Error{Errc::kUsage,
                     "-o -: standard output is a terminal; pipe it, as in pmukit record -o - ... | "
                     "pmukit top -"};
    if (!options.interval.empty())
        return Error{Errc::kUsage, "--interval writes files: name them with -o"};
    return {};
}

// Returns the descriptors to which the recorded command writes its output. That output must not
// become part of the recording.
Result<WorkloadStreams> command_streams(const RecordCommandOptions &options)
{
    if (options.command_output) {
        const int fd = *options.command_output;
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)  // the command inherits only descriptors 1 and 2
            return system_error("--command-output", errno);
        return WorkloadStreams{fd, fd};
    }
    const int output = is_standard_output(options.output) ? STDERR_FILENO : STDOUT_FILENO;
    return WorkloadStreams{output, STDERR_FILENO};
}

Result<perfdata::Writer> open_writer(const RecordCommandOptions &options, const std::string &path,
                                     std::vector<perfdata::WriterEvent> events,
                                     const perfdata::HostInfo &host, int stop_fd)
{
    if (!is_standard_output(options.output)) {
        if (Result<void> kept = keep_link(path); !kept)
            return kept.error();
        return perfdata::Writer::create(path, std::move(events), host, stop_fd);
    }
    Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!out)
        return system_error("standard output", errno);
    return perfdata::Writer::create_pipe(std::move(out), std::move(events), host, stop_fd);
}

// Returns nullopt if there is no command. The command waits until it is released.
Result<std::optional<Workload>> prepare_workload(const RecordCommandOptions &options)
{
    if (options.command.empty())
        return std::optional<Workload>();
    const Result<WorkloadStreams> streams = command_streams(options);
    if (!streams)
        return streams.error();
    Result<Workload> prepared = Workload::prepare(options.command, *streams);
    if (!prepared)
        return prepared.error();
    return std::optional<Workload>(std::move(*prepared));
}

// Keeps the file with the data recorded so far, because a recording cannot be repeated.
Error failed_while_recording(const Error &error, RecordFiles &files)
{
    const std::string part = files.keep();
    if (part.empty())
        return error;
    return Error{error.code, fmt::format("{}; what was recorded is kept: pmukit recover -i {} "
                                         "--write FILE",
                                         error.message, part)};
}

// Returns warnings for drivers that count lost entries. `gaps` is the number of gaps in AUX data;
// the function subtracts the gaps that its warnings report.
std::vector<std::string> device_lines(const record::Recorder &recorder, uint64_t &gaps)
{
    std::vector<std::string> lines;
    for (size_t event = 0; event < recorder.events().size(); event++) {
        const record::OpenedEvent &opened = recorder.events()[event];
        const Driver *driver = driver_of_pmu(recorded_drivers(), opened.pmu.name);
        const record::DeviceLosses lost = recorder.device_losses(event);
        if (!driver || !driver->entry_bytes || !lost.entries.any())
            continue;
        gaps -= lost.gaps;
        lines.push_back(opened.text + ": " +
                        counted_text(lost.entries.count(), lost.entries.at_least(), kEntriesLost));
        if (lost.unclear)
            lines.push_back(opened.text + ": " +
                            counted(lost.unclear, "records or entries lost; use a larger -m"));
    }
    return lines;
}

// Warns about losses. Recommends a larger ring only if a ring was full, because a larger ring does
// not help against losses in the PMU.
void say_losses(const record::Recorder &recorder, const record::RecordOutcome &outcome)
{
    uint64_t gaps = outcome.notes.aux_partial;
    for (const std::string &line : device_lines(recorder, gaps))
        warn(line);
    if (outcome.notes.lost_records)
        warn(counted(outcome.notes.lost_records,
                     "records were lost: the ring was full; use a larger -m"));
    if (outcome.notes.lost_samples)
        warn(counted(outcome.notes.lost_samples,
                     "samples were lost before they reached the ring; sample less often (-F, -c)"));
    if (outcome.notes.throttled)
        warn(counted(outcome.notes.throttled, sentences::kThrottled));
    if (outcome.notes.aux_truncated)
        warn(counted(outcome.notes.aux_truncated, sentences::kTruncatedAux));
    // Data was not read in time, or the device dropped it: pmukit report shows which of the two.
    if (gaps)
        warn(fmt::format("AUX data has {} gaps; a larger -m ,AUXPAGES may help", gaps));
    if (outcome.notes.aux_unknown_losses)
        warn(counted(outcome.notes.aux_unknown_losses, sentences::kUnknownAux));
}

void say_outcome(const RecordCommandOptions &options, const record::Recorder &recorder,
                 const record::RecordOutcome &outcome, uint64_t bytes)
{
    if (!options.quiet)
        warn(fmt::format("{}: {} bytes: {}, {}",
                         is_standard_output(options.output) ? "standard output" : options.output,
                         bytes, counted(outcome.notes.samples, "samples"),
                         counted(outcome.aux_bytes, "bytes of AUX data")));
    if (!options.quiet)
        say_losses(recorder, outcome);
    for (const std::string &pmu : outcome.gone)
        warn(fmt::format(
            "{}: the PMU disappeared while recording; the file has the data up to then", pmu));
    if (!outcome.came.empty())
        warn(fmt::format("came online while recording, not recorded: CPU {}; record again",
                         joined(outcome.came, ",")));
    if (!outcome.went.empty())
        warn(fmt::format("went offline while recording, not recorded since: CPU {}; record again",
                         joined(outcome.went, ",")));
}

void say_remarks(const RecordCommandOptions &options, const std::vector<std::string> &remarks)
{
    for (const std::string &remark : remarks)
        if (!options.quiet)
            warn(remark);
}

// For -v: prints the opened events and the ids of their records.
void say_opened(const record::Recorder &recorder)
{
    for (const record::OpenedEvent &event : recorder.events())
        warn(fmt::format("{}: type {}, {} descriptors, ids from {:#x} on", event.text,
                         event.pmu.type, event.ids.size(), event.ids.front()));
}

// Adds the processes that hold any perf event: which of them uses this PMU is unknown.
Error explain_busy(const Error &error)
{
    if (error.code != Errc::kBusy)
        return error;
    std::vector<std::string> holders;
    for (const Holder &holder : perf_event_holders(Host("/")))
        holders.push_back(fmt::format("{} ({})", holder.pid, holder.command));
    return holders.empty() ? error
                           : Error{error.code, error.message + "; perf events are open in " +
                                                   joined(holders, ", ")};
}

// An event of a PMU that only counts cannot be sampled. Names what counts, and what records.
Error explain_counting(const Error &error, const std::vector<record::EventString> &events)
{
    if (error.code != Errc::kUnsupported)
        return error;
    for (const record::EventString &event : events) {
        const DriverDescription *const driver = counter_of_pmu(event.pmu);
        if (!driver || recorder_of_pmu(event.pmu) || !error.message.starts_with(event.pmu + "/"))
            continue;
        const std::string records =
            driver->recorded ? fmt::format(", or record {}/{}/", driver->recorded->pmu_prefix,
                                           driver->example_terms)
                             : "";
        return Error{error.code, fmt::format("{}: the PMU only counts; use perf stat -e {}{}",
                                             event.text, event.text, records)};
    }
    return error;
}

// Other sources

// Options of perf events that do not apply to another source.
std::vector<std::string_view> refused_options(const RecordCommandOptions &options)
{
    const std::pair<std::string_view, bool> given[] = {
        {"-p", !options.processes.empty()},
        {"-t", !options.threads.empty()},
        {"-C", !options.cpus.empty()},
        {"-G", !options.cgroups.empty()},
        {"-c", !options.period.empty()},
        {"-F", !options.frequency.empty()},
        {"-g", options.chains || !options.chains_by.empty()},
        {"--all-user", options.all_user},
        {"--all-kernel", options.all_kernel},
        {"-k", !options.clock.empty() && clock_of_word(options.clock) != CLOCK_MONOTONIC}};
    std::vector<std::string_view> refused;
    for (const auto &[option, is_given] : given)
        if (is_given)
            refused.push_back(option);
    return refused;
}

// Returns nullptr if the events are perf events. The plan reports errors in their text.
Result<std::unique_ptr<SourceRecorder>> open_source(const RecordCommandOptions &options)
{
    size_t events = options.pfm_events.size();
    const OtherSource *source = nullptr;
    record::EventString named;
    for (const std::string &text : options.events) {
        const Result<std::vector<record::EventString>> parsed = record::parse_event_strings(text);
        if (!parsed)
            return std::unique_ptr<SourceRecorder>();
        events += parsed->size();
        for (const record::EventString &event : *parsed)
            if (const OtherSource *other = other_source_of(event.pmu)) {
                source = other;
                named = event;
            }
    }
    if (!source)
        return std::unique_ptr<SourceRecorder>();
    if (events > 1)
        return Error{Errc::kUsage, fmt::format("event '{}': {} is recorded alone; record other "
                                               "events into a second file, and see pmukit merge",
                                               named.text, source->name)};
    if (!named.text.ends_with('/'))
        return Error{Errc::kUsage,
                     fmt::format("event '{}': {} has no modifiers", named.text, source->name)};
    if (const std::vector<std::string_view> refused = refused_options(options); !refused.empty())
        return Error{Errc::kUsage,
                     fmt::format("{} does not apply to {}, which counts by group, on the clock "
                                 "monotonic; drop it",
                                 joined(refused, ", "), named.text)};
    return source->open(named, Host(options.root));
}

std::vector<std::string> source_lines(const RecordCommandOptions &options,
                                      const SourceRecorder &source)
{
    return {fmt::format("event: {}, every {} ms", source.event().name, source.interval().count()),
            "target: " + source.target(), output_line(options), until_line(options)};
}

perfdata::HostInfo source_host(const RecordCommandOptions &options, const SourceRecorder &source,
                               size_t part)
{
    perfdata::HostInfo host = host_info(options);
    add_clock(CLOCK_MONOTONIC, host);
    const std::string name = source.event().name.substr(0, source.event().name.find('/'));
    host.pmus.emplace_back(source.type(), name);
    perfdata::HostInfo::Caps caps = source.caps();
    add_own_caps(options.source, part, caps);
    host.caps.emplace_back(name, std::move(caps));
    return host;
}

// Returns true if a stop descriptor is readable, false when the time is reached.
Result<bool> stops_before(std::chrono::steady_clock::time_point until,
                          const std::vector<int> &stop_fds)
{
    using std::chrono::milliseconds;
    std::vector<pollfd> fds;
    for (const int fd : stop_fds)
        fds.push_back({fd, POLLIN, 0});
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
        const int ready =
            ::poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
        if (ready >= 0)
            return ready > 0;
        if (errno != EINTR)
            return system_error("poll", errno);
    }
}

// Makes the passes after the first, until a stop descriptor is readable. Returns false if the
// source is gone.
Result<bool> read_until_stop(SourceRecorder &source, const std::vector<int> &stop_fds,
                             RecordFiles &files)
{
    for (auto next = std::chrono::steady_clock::now();;) {
        next = std::max(next + source.interval(), std::chrono::steady_clock::now());
        const Result<bool> stops = stops_before(next, stop_fds);
        if (!stops)
            return stops.error();
        Result<bool> is_there = source.pass(files, *stops);
        if (!is_there || !*is_there || *stops)
            return is_there;
    }
}

Result<int> record_source(const RecordCommandOptions &options, SourceRecorder &source, Output &out)
{
    std::optional<Interval> interval;
    if (!options.interval.empty()) {
        const Result<Interval> parsed = parse_interval(options.interval);
        if (!parsed)
            return parsed.error();
        interval = *parsed;
    }
    if (Result<void> good = check_output(options); !good)
        return good.error();
    if (options.dry_run || options.verbose)
        for (const std::string &line : source_lines(options, source))
            options.dry_run ? out.print("{}\n", line) : warn(line);
    if (options.dry_run)
        return kExitGood;
    Result<Fd> signals = catch_signals({SIGINT, SIGTERM, SIGHUP});
    if (!signals)
        return signals.error();
    std::vector<int> stop_fds = {signals->get()};
    Result<std::optional<Workload>> workload = prepare_workload(options);
    if (!workload)
        return workload.error();
    if (*workload)
        stop_fds.push_back((*workload)->ended_fd());
    RecordFiles files(
        options.output, interval,
        [&](const std::string &path, size_t part) {
            return open_writer(options, path, {source.event()}, source_host(options, source, part),
                               signals->get());
        },
        [&](perfdata::Writer &, record::RecordSink &, size_t) -> Result<void> {
            source.begin_file();
            return {};
        });
    if (Result<void> begun = files.begin(); !begun)
        return begun.error();
    // The first values are from before the command.
    Result<bool> is_there = source.pass(files, false);
    if (is_there && *is_there && *workload)
        if (Result<void> released = (*workload)->release(); !released)
            return released.error();
    if (is_there && *is_there)
        is_there = read_until_stop(source, stop_fds, files);
    if (!is_there)
        return failed_while_recording(is_there.error(), files);
    if (Result<void> done = files.finish(); !done)
        return failed_while_recording(done.error(), files);
    if (!options.quiet) {
        warn(fmt::format("{}: {} bytes",
                         is_standard_output(options.output) ? "standard output" : options.output,
                         files.bytes()));
        say_remarks(options, source.remarks());
    }
    if (!*is_there)
        warn(
            fmt::format("{}: the source disappeared while recording (unmounted?); the file has "
                        "the data up to then",
                        source.event().name));
    const int status = *workload ? (*workload)->wait() : kExitGood;
    if (!*is_there)
        return kExitFailed;
    if (*workload)
        (*workload)->end_likewise();
    return status;
}

}  // namespace

Result<int> run_record(const RecordCommandOptions &options, Output &out)
{
    Result<std::unique_ptr<SourceRecorder>> source = open_source(options);
    if (!source)
        return source.error();
    if (*source)
        return record_source(options, **source, out);
    const Result<RecordHost> machine = this_host();
    if (!machine)
        return machine.error();
    Result<RecordPlan> plan = make_plan(options, *machine);
    if (!plan)
        return plan.error();
    record::RecordOptions &wanted = plan->recorder;
    if (Result<void> good = check_output(options); !good)
        return good.error();
    say_remarks(options, plan->remarks);
    if (options.dry_run || options.verbose)
        for (const std::string &line : plan->lines)
            options.dry_run ? out.print("{}\n", line) : warn(line);
    if (options.dry_run)
        return kExitGood;
    // Signals such as Ctrl-C end the recording, not the program: the file is completed. As in perf,
    // SIGUSR2 has no effect: it asks for a new file only with options that pmukit does not have.
    ::signal(SIGUSR2, SIG_IGN);
    Result<Fd> signals = catch_signals(ending_signals());
    if (!signals)
        return signals.error();
    std::vector<int> stop_fds = {signals->get()};
    Result<std::optional<Workload>> prepared = prepare_workload(options);
    if (!prepared)
        return prepared.error();
    std::optional<Workload> &workload = *prepared;
    if (workload) {
        wanted.workload = workload->pid();
        stop_fds.push_back(workload->ended_fd());
    }

    allow_more_files();
    Result<record::Recorder> recorder = record::Recorder::open(wanted);
    if (!recorder)
        return explain_counting(explain_busy(recorder.error()), wanted.events);
    say_remarks(options, recorder->remarks());
    if (options.verbose)
        say_opened(*recorder);
    std::optional<record::Synthesizer> synthesizer;
    RecordFiles files(
        options.output, plan->interval,
        [&](const std::string &path, size_t part) {
            perfdata::HostInfo host = host_info(options);
            add_clock(wanted.clock_id, host);
            add_caps(*recorder, options.source, part, host);
            return open_writer(options, path, writer_events(*recorder), host, signals->get());
        },
        [&](perfdata::Writer &writer, record::RecordSink &sink, size_t part) -> Result<void> {
            if (Result<void> done = write_auxtrace_info(*recorder, writer); !done)
                return done;
            // `sink` is the same for all files of a series, and always writes to the open file.
            if (!synthesizer)
                synthesizer.emplace(
                    sink, "", [&] { return recorder->drain_now(sink); }, wanted.data_maps);
            return write_synthesized(*recorder, wanted, part, *synthesizer);
        },
        [&](perfdata::Writer &writer, record::RecordSink &sink) {
            if (const auto times = recorder->take_sample_times())
                writer.sample_times(*times);
            return recorder->write_lost_counts(sink);
        });
    if (Result<void> begun = files.begin(); !begun)
        return begun.error();
    if (Result<void> enabled = recorder->enable(); !enabled)
        return enabled.error();
    if (workload)
        if (Result<void> released = workload->release(); !released)
            return released.error();

    Result<record::RecordOutcome> outcome = recorder->run(files, stop_fds);
    if (!outcome)
        return failed_while_recording(outcome.error(), files);
    if (Result<void> done = files.finish(); !done)
        return failed_while_recording(done.error(), files);
    say_outcome(options, *recorder, *outcome, files.bytes());
    const int status = workload ? workload->wait() : kExitGood;
    if (!outcome->gone.empty())
        return kExitFailed;
    if (workload)
        workload->end_likewise();
    return status;
}

}  // namespace pmukit::cli
