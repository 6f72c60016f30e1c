// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/recorder.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/clocks.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "record/cgroups.hpp"
#include "record/online_cpus.hpp"
#include "record/perf_event.hpp"

namespace pmukit::record {
namespace {

constexpr int kTick_ms = 100;  // the longest time between two drains
using Clock = std::chrono::steady_clock;

// Returns the CPUs on which a PMU without a cpumask counts. The PMU's file `cpus` also lists
// offline CPUs, which are left out.
Result<std::vector<int>> counting_cpus(const Pmu &pmu)
{
    Result<std::vector<int>> online = online_cpus();
    if (!online || !pmu.cpus)
        return online;
    std::vector<int> cpus = those_online(*pmu.cpus, *online);
    if (cpus.empty())
        return Error{Errc::kNotFound, pmu.name + ": none of its CPUs is online"};
    return cpus;
}

std::vector<std::byte> timed(std::vector<std::byte> attr, const RecordOptions &options)
{
    return options.clock_id ? with_clock(std::move(attr), *options.clock_id) : attr;
}

// Returns true if the kernel's lost count of this PMU is used. For tasks it is not used, because
// the kernel does not add the count of a child to that of its parent.
bool counts_lost(const Pmu &pmu)
{
    return !samples_tasks(pmu) && has_lost_count();
}

// Adds the clock to an error message: the kernel has one errno for all refused values, so the clock
// may be the reason.
Error about_clock(const Error &error, const RecordOptions &options)
{
    const bool always = !options.clock_id || *options.clock_id == CLOCK_MONOTONIC ||
                        *options.clock_id == CLOCK_MONOTONIC_RAW;
    if (always || error.code != Errc::kUsage)
        return error;
    return Error{error.code,
                 error.message + "; " + clock_name(*options.clock_id) +
                     " may be the reason: only monotonic and monotonic_raw work with every PMU"};
}

// Adds the current threads of a process to `tasks`.
Result<void> add_threads(pid_t process, std::vector<pid_t> &tasks)
{
    const std::string folder = "/proc/" + std::to_string(process) + "/task";
    std::error_code failure;
    for (std::filesystem::directory_iterator at(folder, failure), end; !failure && at != end;
         at.increment(failure))
        if (const Result<uint64_t> tid = parse_u64(at->path().filename().string()))
            tasks.push_back(static_cast<pid_t>(*tid));
    if (failure)
        return Error{Errc::kNotFound,
                     "-p " + std::to_string(process) + ": there is no such process"};
    return {};
}

bool is_there(pid_t task)
{
    return ::access(("/proc/" + std::to_string(task)).c_str(), F_OK) == 0;
}

// Returns the tasks that the options name; none if the options name other targets. A thread that is
// named twice is followed once.
Result<std::vector<pid_t>> running_tasks(const RecordOptions &options)
{
    std::vector<pid_t> tasks;
    for (const pid_t process : options.processes)
        if (Result<void> added = add_threads(process, tasks); !added)
            return added.error();
    for (const pid_t thread : options.threads) {
        if (!is_there(thread))
            return Error{Errc::kNotFound,
                         "-t " + std::to_string(thread) + ": there is no such thread"};
        tasks.push_back(thread);
    }
    std::ranges::sort(tasks);
    tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
    return tasks;
}

}  // namespace

// Opening

struct Recorder::Request {
    std::string text;
    Pmu pmu;
    EventSettings settings;
    std::optional<size_t> leader{};  // index of the group leader in events_
    Start start = Start::kWhenEnabled;
    std::optional<EventString> string{};  // the event as the user wrote it, for error messages
    std::string cgroup{};
    bool of_tasks = false;
};

struct Recorder::Target {
    // Values for the pid argument of perf_event_open(): tasks, -1 for all tasks, or the descriptor
    // of the directory of a cgroup.
    std::vector<pid_t> pids;
    std::vector<int> cpus;
    Fd cgroup{};

    static Result<Target> of(const RecordOptions &options, const Request &request);
    static Result<Target> of_tracker(const RecordOptions &options);

private:
    static Result<Target> of_device(const RecordOptions &options, const Pmu &pmu);
};

// Returns the target for a system-wide PMU: the CPUs of its cpumask, or those of them that -C
// names.
Result<Recorder::Target> Recorder::Target::of_device(const RecordOptions &options, const Pmu &pmu)
{
    Target target{{-1}, {}};
    for (int cpu : *pmu.cpumask)
        if (options.cpus.empty() || std::ranges::find(options.cpus, cpu) != options.cpus.end())
            target.cpus.push_back(cpu);
    // The in-tree hisi_ptt driver lists all CPUs of its node, but accepts one event, so one CPU is
    // used.
    if (pmu.name.starts_with("hisi_ptt") && target.cpus.size() > 1)
        target.cpus.resize(1);
    if (target.cpus.empty() && pmu.cpumask->empty())
        return Error{Errc::kNotFound, pmu.name + ": its cpumask is empty; is its device gone?"};
    if (target.cpus.empty())
        return Error{Errc::kUsage, pmu.name + " is read on CPU " +
                                       std::to_string(pmu.cpumask->front()) +
                                       ", which -C leaves out; drop -C"};
    return target;
}

// Returns the target for a PMU without a cpumask: the CPUs, tasks or cgroup that the user names.
Result<Recorder::Target> Recorder::Target::of(const RecordOptions &options, const Request &request)
{
    const Pmu &pmu = request.pmu;
    if (pmu.cpumask)
        return of_device(options, pmu);
    Result<std::vector<int>> cpus = counting_cpus(pmu);
    if (!cpus)
        return cpus.error();
    if (!options.cpus.empty() && (cpus = those_online(options.cpus, *cpus))->empty())
        return Error{Errc::kUsage,
                     request.text + ": none of the CPUs given with -C counts this event; drop -C"};
    Target target{{-1}, *cpus};
    if (!request.cgroup.empty()) {
        Result<Fd> folder = open_cgroup(request.cgroup);
        if (!folder)
            return folder.error();
        target.pids = {folder->get()};
        target.cgroup = std::move(*folder);
        return target;
    }
    Result<std::vector<pid_t>> tasks = running_tasks(options);
    if (!tasks)
        return tasks.error();
    if (!tasks->empty())
        target.pids = *tasks;
    else if (!options.cpus.empty() || options.all_cpus)
        return target;
    else if (options.workload)
        target.pids = {*options.workload};
    else
        return Error{Errc::kUsage, (pmu.name.empty() ? request.text : pmu.name) +
                                       ": no target: give -a, -C CPUS, -p PID or a command"};
    return target;
}

// Returns the target for the tracking event. It follows tasks on all CPUs, even if only some CPUs
// are recorded, because tasks move between CPUs.
Result<Recorder::Target> Recorder::Target::of_tracker(const RecordOptions &options)
{
    Result<std::vector<int>> cpus = online_cpus();
    if (!cpus)
        return cpus.error();
    Result<std::vector<pid_t>> tasks = running_tasks(options);
    if (!tasks)
        return tasks.error();
    Target target{{-1}, *cpus};
    if (!tasks->empty())
        target.pids = *tasks;
    else if (options.workload && options.cpus.empty() && !options.all_cpus)
        target.pids = {*options.workload};
    return target;
}

Result<Recorder> Recorder::open(const RecordOptions &options)
{
    Recorder recorder;
    recorder.sysfs_root_ = options.sysfs_root;
    recorder.ends_with_tasks_ = !options.processes.empty() || !options.threads.empty();
    for (const EventString &string : options.events)
        if (Result<void> added = recorder.add_string(options, string); !added)
            return added.error();
    for (const CodedEvent &coded : options.coded)
        if (Result<void> added = recorder.add_coded(options, coded); !added)
            return added.error();
    if (recorder.follows_tasks())
        if (Result<void> added = recorder.add_tracker(options); !added)
            return added.error();
    recorder.everywhere_ =
        options.cpus.empty() && std::ranges::any_of(recorder.events_, [](const OpenedEvent &event) {
            return !event.pmu.cpumask;
        });
    recorder.say_what_is_not_selected(options);
    recorder.online_path_ = options.online_path;
    if (Result<std::vector<int>> online = online_cpus(options.online_path))
        recorder.online_ = std::move(*online);
    return recorder;
}

// A PMU with a cpumask counts for a whole device, whatever tasks the user names.
void Recorder::say_what_is_not_selected(const RecordOptions &options)
{
    const std::pair<const char *, bool> selections[] = {{"-p", !options.processes.empty()},
                                                        {"-t", !options.threads.empty()},
                                                        {"-G", !options.cgroups.empty()}};
    for (const auto &[option, given] : selections)
        for (const OpenedEvent &event : events_)
            if (given && event.pmu.cpumask)
                remarks_.push_back(event.text + ": the PMU records for its whole device; " +
                                   option + " does not apply to it");
}

// PMUs with a cpumask are system-wide and do not sample tasks.
bool Recorder::follows_tasks() const
{
    return std::ranges::any_of(events_,
                               [](const OpenedEvent &event) { return samples_tasks(event.pmu); });
}

Result<void> Recorder::add_string(const RecordOptions &options, const EventString &string)
{
    Result<Pmu> pmu = pmu_of(options.sysfs_root, string);
    if (!pmu)
        return pmu.error();
    Result<EventSettings> settings = encode_event(string, *pmu);
    if (!settings)
        return settings.error();
    Request request{string.name, std::move(*pmu), *settings};
    request.string = string;
    return add_event(options, std::move(request));
}

Result<void> Recorder::add_coded(const RecordOptions &options, const CodedEvent &coded)
{
    Request request{coded.text, {}, coded.settings};
    request.pmu.type = coded.type;
    const auto known = list_pmus(options.sysfs_root);
    if (known)
        for (const auto &[name, type] : *known)
            if (type == coded.type) {
                Result<Pmu> pmu = read_pmu(options.sysfs_root, name);
                if (!pmu)
                    return pmu.error();
                request.pmu = std::move(*pmu);
                break;
            }
    if (coded.leader)
        request.leader = options.events.size() + *coded.leader;
    return add_event(options, std::move(request));
}

namespace {

// Replaces a refused event by the one that perf would use. Returns the remark for the user, which
// is empty if nothing needs to be said; nullopt: no replacement exists.
std::optional<std::string> fall_back(const Error &error, std::string &text, Pmu &pmu,
                                     EventSettings &settings)
{
    const bool is_cycles = pmu.type == PERF_TYPE_HARDWARE &&
                           settings.words[0] == PERF_COUNT_HW_CPU_CYCLES && pmu.name == "cycles";
    if ((error.code == Errc::kUnsupported || error.code == Errc::kNotFound) && is_cycles) {
        pmu = {};
        pmu.name = "cpu-clock";
        pmu.type = PERF_TYPE_SOFTWARE;
        settings.words[0] = PERF_COUNT_SW_CPU_CLOCK;
        settings.modifiers.precise = 0;
        text.replace(0, text.find_first_of(":/"), pmu.name);
        return "cycles: this machine has no PMU that counts them; cpu-clock is recorded instead";
    }
    Modifiers &modifiers = settings.modifiers;
    const bool is_refused = error.code == Errc::kUsage || error.code == Errc::kUnsupported;
    if (is_refused && modifiers.exclude_guest && modifiers.usual_sides && modifiers.precise == 0) {
        modifiers.exclude_guest = false;  // the PMU cannot tell guests from the host
        return std::string();
    }
    const int paranoid = perf_event_paranoid().value_or(0);
    if (error.code != Errc::kDenied || !samples_tasks(pmu) || paranoid < 2 ||
        modifiers.exclude_kernel || modifiers.exclude_user)
        return std::nullopt;
    modifiers.exclude_kernel = modifiers.exclude_hv = true;
    if (text.find_first_of(":/") == text.npos)
        text += ':';
    text += 'u';
    return text + ": kernel mode is excluded (kernel.perf_event_paranoid is " +
           std::to_string(paranoid) + ")";
}

}  // namespace

Result<void> Recorder::add_event(const RecordOptions &options, Request request)
{
    if (!options.cgroups.empty() && samples_tasks(request.pmu))
        request.cgroup =
            options.cgroups.size() == 1
                ? options.cgroups.front()
                : options.cgroups[std::min(events_.size(), options.cgroups.size() - 1)];
    Result<Target> target = Target::of(options, request);
    if (!target)
        return target.error();
    const bool of_workload = options.workload && target->pids.front() == *options.workload;
    request.of_tasks = target->pids.front() >= 0 && !target->cgroup;
    if (request.leader)
        request.start = Start::kWithLeader;
    else if (of_workload)
        request.start = Start::kOnExec;
    Modifiers &modifiers = request.settings.modifiers;
    modifiers.exclude_guest |= modifiers.usual_sides && samples_tasks(request.pmu);
    std::vector<std::string> remarks;
    for (;;) {
        OpenedEvent event{request.text,
                          request.pmu,
                          timed(make_attr(request.pmu, request.settings, request.start,
                                          request.of_tasks && options.inherit, options.sampling),
                                options),
                          {}};
        if (counts_lost(request.pmu))
            event.attr = with_lost_count(std::move(event.attr));
        const size_t before = rings_.size();
        const std::map<int, size_t> shared = shared_;
        Result<void> opened = open_everywhere(options, request, *target, event);
        if (opened) {
            if (request.string && request.string->generic)
                // sysfs has no directory for the PMU type of a generic event.
                event.pmu.name.clear();
            remarks_.insert(remarks_.end(), remarks.begin(), remarks.end());
            events_.push_back(std::move(event));
            return {};
        }
        rings_.erase(rings_.begin() + static_cast<ptrdiff_t>(before), rings_.end());
        shared_ = shared;
        std::optional<std::string> remark =
            fall_back(opened.error(), request.text, request.pmu, request.settings);
        if (!remark)
            return opened;
        if (!remark->empty())
            remarks.push_back(std::move(*remark));
    }
}

// Opens an event for all tasks and CPUs of its target. A task that ends in the meantime is skipped.
Result<void> Recorder::open_everywhere(const RecordOptions &options, const Request &request,
                                       const Target &target, OpenedEvent &event)
{
    for (const pid_t pid : target.pids)
        for (const int cpu : target.cpus) {
            Result<void> added = add_ring(options, request, event, pid, cpu);
            if (added)
                continue;
            if (target.pids.size() == 1 || is_there(pid))
                return added;
            break;
        }
    if (event.ids.empty())
        return Error{Errc::kNotFound, request.text + ": all tasks to record have ended"};
    return {};
}

// Adds the tracking event. As in perf, the tracking event writes to the ring of its CPU, as
// sampling events do. The ring is large enough, and a separate ring would map more pages.
Result<void> Recorder::add_tracker(const RecordOptions &options)
{
    Result<Target> target = Target::of_tracker(options);
    if (!target)
        return target.error();
    Request request{"dummy:u", {}, {}, {}, Start::kAtOnce};
    request.settings.modifiers.exclude_kernel = true;
    request.of_tasks = target->pids.front() >= 0;
    OpenedEvent event{
        request.text,
        {},
        timed(make_tracking_attr({request.of_tasks && options.inherit, options.build_ids,
                                  options.data_maps, options.sampling.defers_chains}),
              options),
        {},
        true};
    if (Result<void> opened = open_everywhere(options, request, *target, event); !opened)
        return opened;
    events_.push_back(std::move(event));
    return {};
}

// Returns the descriptor of the group leader for this task and CPU; -1: the event has no leader, or
// the leader does not count this task on this CPU.
int Recorder::leader_fd(const Request &request, pid_t pid, int cpu) const
{
    const auto ring = std::ranges::find_if(rings_, [&request, pid, cpu](const Ring &candidate) {
        return request.leader && candidate.event == *request.leader && candidate.pid == pid &&
               candidate.cpu == cpu;
    });
    return ring == rings_.end() ? -1 : ring->fd.get();
}

// Adds the term at fault, or else what to use instead, to an error. The kernel has one errno for
// all terms, so the function opens the event without each term in turn, to find the wrong one.
Error Recorder::blame_term(const RecordOptions &options, const Request &request,
                           const Attempt &attempt, const Error &error) const
{
    if (!request.string || (error.code != Errc::kUsage && error.code != Errc::kUnsupported))
        return error;
    const std::string term =
        term_at_fault(*request.string, request.pmu, [&](const EventSettings &settings) {
            const std::vector<std::byte> attr = timed(
                make_attr(request.pmu, settings, Start::kWhenEnabled, false, options.sampling),
                options);
            return bool(open_event(attr, attempt, -1, request.pmu, request.text));
        });
    if (!term.empty())
        return Error{error.code, error.message + "; without " + term + " it is taken"};
    const std::string remedy = remedy_of(
        make_attr(request.pmu, request.settings, Start::kWhenEnabled, false, options.sampling),
        attempt, [&](const std::vector<std::byte> &attr, const Attempt &other) {
            return bool(open_event(timed(attr, options), other, -1, request.pmu, request.text));
        });
    return remedy.empty() ? error : Error{error.code, error.message + ": " + remedy};
}

namespace {

// kernel.perf_event_mlock_kb; nullopt: not available.
std::optional<uint64_t> mlock_kib()
{
    const Result<std::string> text = read_small_file("/proc/sys/kernel/perf_event_mlock_kb");
    const Result<uint64_t> kib =
        text ? parse_u64(text->substr(0, text->find('\n'))) : Result<uint64_t>(text.error());
    return kib ? std::optional(*kib) : std::nullopt;
}

// UINT64_MAX: unlimited.
uint64_t memlock_bytes()
{
    rlimit limit{};
    return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

// Maps separate rings for an event with an AUX area. Other events share the ring of their CPU,
// which the first event of the CPU maps.
Result<EventRings> Recorder::map_rings(const RecordOptions &options, const Request &request, int fd,
                                       int cpu)
{
    // The PMU types with fixed numbers end with PERF_TYPE_BREAKPOINT. They have no AUX area.
    constexpr uint32_t kLastOwnType = PERF_TYPE_BREAKPOINT;
    const auto shared = shared_.find(cpu);
    const bool may_have_aux = options.aux_pages != 0 && request.pmu.type > kLastOwnType;
    if (may_have_aux || shared == shared_.end()) {
        Result<EventRings> own =
            EventRings::map(fd, options.pages, may_have_aux ? options.aux_pages : 0);
        if (!own || own->has_aux() || shared == shared_.end()) {
            if (own && !own->has_aux())
                shared_.emplace(cpu, rings_.size());
            return own;
        }
    }
    // The call fails if the driver moved the event to another CPU than requested. The event then
    // gets its own ring.
    if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings_[shared->second].fd.get()) != 0)
        return EventRings::map(fd, options.pages, 0);
    return EventRings();
}

Result<void> Recorder::add_ring(const RecordOptions &options, const Request &request,
                                OpenedEvent &event, pid_t pid, int cpu)
{
    const int leader = leader_fd(request, pid, cpu);
    if (request.leader && leader < 0)
        return Error{Errc::kUsage, event.text + ": the leader of its group does not count on CPU " +
                                       std::to_string(cpu) + "; take the group apart"};
    const Attempt attempt{
        pid, cpu, {}, !request.settings.modifiers.exclude_kernel, false, !request.cgroup.empty()};
    Result<Fd> fd = open_event(event.attr, attempt, leader, event.pmu, event.text);
    if (!fd)
        return about_clock(blame_term(options, request, attempt, fd.error()), options);
    uint64_t id = 0;
    if (::ioctl(fd->get(), PERF_EVENT_IOC_ID, &id) != 0)
        return system_error(event.text + ": event id", errno);
    Result<EventRings> rings = map_rings(options, request, fd->get(), cpu);
    if (!rings)
        return Error{rings.error().code,
                     event.text + ": " + rings.error().message + "; " +
                         ring_advice(rings.error().code, mlock_kib(), memlock_bytes())};
    event.ids.push_back(id);
    rings_.push_back({events_.size(), pid, cpu, id, std::move(*fd), std::move(*rings),
                      request.start != Start::kWhenEnabled, true});
    rings_.back().counts_lost = counts_lost(request.pmu);
    return {};
}

bool Recorder::has_aux() const
{
    return std::ranges::any_of(rings_, [](const Ring &ring) { return ring.rings.has_aux(); });
}

Result<void> Recorder::enable()
{
    for (const Ring &ring : rings_)
        if (!ring.self_starting && ::ioctl(ring.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
            return system_error("enabling " + events_[ring.event].text, errno);
    return {};
}

// Draining

Result<void> Recorder::drain_records(Ring &ring, RecordSink &sink, RingNotes &notes)
{
    auto [tail, head] = ring.rings.record_window();
    std::optional<RingPieces> pieces = ring_pieces(ring.rings.records(), tail, head);
    if (!pieces || !note_records(ring.rings.records(), tail, head, notes))
        return Error{
            Errc::kDamaged,
            events_[ring.event].text + ": the kernel's ring is invalid at " + std::to_string(tail)};
    for (Bytes piece : {pieces->first, pieces->second})
        if (Result<void> done = sink.records(piece); !done)
            return done;
    if (notes.aux_record)
        ring.aux_record = ring_record(ring.rings.records(), *notes.aux_record);
    ring.rings.release_records(head);
    return {};
}

// Reads an AUX area up to the position `until`. Returns the number of bytes read.
Result<uint64_t> Recorder::drain_aux(size_t index, uint64_t until, RecordSink &sink)
{
    Ring &ring = rings_[index];
    const uint64_t tail = ring.rings.aux_window().first;
    std::optional<RingPieces> aux = ring_pieces(ring.rings.aux(), tail, until);
    if (!aux)
        return Error{Errc::kDamaged, events_[ring.event].text + ": the AUX area is invalid at " +
                                         std::to_string(tail)};
    if (aux->size() == 0)
        return uint64_t{0};
    AuxChunk chunk{ring.id, tail, static_cast<uint32_t>(index), ring.cpu, *aux};
    if (Result<void> done = sink.aux(chunk); !done)
        return done.error();
    ring.rings.release_aux(until);
    return uint64_t{aux->size()};
}

// Writes a record of a gap: data is missing between the time when the area became full and the next
// start of the event. Some drivers report this gap in their last record; the kernel does not.
Result<void> Recorder::mark_gap(Ring &ring, RecordSink &sink)
{
    outcome_.notes.aux_truncated++;
    ring.aux_gap_flags |= PERF_AUX_FLAG_TRUNCATED;
    ring.aux_record =
        aux_gap_record(std::move(ring.aux_record), *std::exchange(ring.full_at, std::nullopt),
                       PERF_AUX_FLAG_TRUNCATED);
    return sink.records(ring.aux_record);
}

// Reads an AUX area. The recorder may switch to the next output file between two rounds, so the
// function reads only data whose AUX record is in the same round. The last round reads everything.
Result<void> Recorder::drain_area(size_t index, Round round, const RingNotes &notes,
                                  std::pair<uint64_t, uint64_t> window, RecordSink &sink)
{
    Ring &ring = rings_[index];
    const uint64_t after = ring.rings.aux_head_at(notes.aux_end);
    const uint64_t until = round.last ? after : aux_until(window.second, after, notes.aux_end);
    const Result<uint64_t> bytes = drain_aux(index, until, sink);
    if (!bytes)
        return bytes.error();
    outcome_.aux_bytes += *bytes;
    const bool says_so =
        ring.aux_record.empty() || (aux_flags(ring.aux_record, 0) & PERF_AUX_FLAG_TRUNCATED) != 0;
    if (!says_so && aux_was_full(window.first, ring.rings.aux_head(), ring.rings.aux().size()))
        ring.full_at = ring.rings.aux_window().second;
    // The event stays disabled until all data of the full area has been read.
    if (ring.full_at && until < *ring.full_at)
        return {};
    AuxRevival::End end = notes.aux_ended ? AuxRevival::End::kCut : AuxRevival::End::kOpen;
    if (ring.full_at) {
        end = AuxRevival::End::kFull;
        if (Result<void> done = mark_gap(ring, sink); !done)
            return done;
    }
    const AuxRevival::Act act = ring.revival.after_round(*bytes, end, round.tick);
    if (act == AuxRevival::Act::kNone || !ring.watched || round.last)
        return {};
    if (act == AuxRevival::Act::kRestart)
        ::ioctl(ring.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
    // The call fails if the PMU is being removed, which is not an error.
    ::ioctl(ring.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
    return {};
}

Result<void> Recorder::drain_ring(size_t index, Round round, RecordSink &sink)
{
    Ring &ring = rings_[index];
    if (!ring.rings.is_mapped())
        return {};
    const bool has_aux = ring.rings.has_aux();
    const auto window = has_aux ? ring.rings.aux_window() : std::pair<uint64_t, uint64_t>{};
    RingNotes notes;
    if (Result<void> done = drain_records(ring, sink, notes); !done)
        return done;
    outcome_.notes.add(notes);
    ring.gaps += notes.aux_partial;
    ring.aux_gap_flags |= notes.aux_gap_flags;
    ring.lost_records += notes.lost_records;
    return has_aux ? drain_area(index, round, notes, window, sink) : Result<void>();
}

Result<void> Recorder::drain_rings(Round round, RecordSink &sink)
{
    for (size_t i = 0; i < rings_.size(); i++)
        if (Result<void> done = drain_ring(i, round, sink); !done)
            return done;
    return {};
}

// Marks a loss of unknown size for an event whose PMU was removed: its lost count can no longer be
// read, and may be higher than the last value. Readers interpret these flags as a loss of unknown
// size.
Result<void> Recorder::mark_lost_count(Ring &ring, RecordSink &sink)
{
    constexpr uint64_t kUnknown = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION;
    if (!ring.counter.is_gone() || ring.aux_record.empty() || ring.lost == 0 ||
        (ring.aux_gap_flags & PERF_AUX_FLAG_COLLISION))
        return {};
    ring.aux_gap_flags |= kUnknown;
    return sink.records(aux_gap_record(ring.aux_record, ring.rings.aux_window().first, kUnknown));
}

// Writes what the kernel has counted as lost since the last call: records that did not fit into a
// ring and, for some drivers, losses in the driver.
Result<void> Recorder::write_lost_counts(RecordSink &sink)
{
    for (Ring &ring : rings_) {
        if (!ring.counts_lost)
            continue;
        ring.counter.read(ring.fd.get());
        const uint64_t lost = std::max(ring.lost, ring.counter.count());
        const uint64_t more = lost - std::exchange(ring.lost, lost);
        if (Result<void> done = mark_lost_count(ring, sink); !done)
            return done;
        if (more == 0)
            continue;
        if (Result<void> done = sink.records(lost_samples_record(more, ring.id, ring.cpu)); !done)
            return done;
    }
    return {};
}

DeviceLosses Recorder::device_losses(size_t event) const
{
    DeviceLosses losses;
    for (const Ring &ring : rings_)
        if (ring.event == event && ring.rings.has_aux()) {
            if (ring.aux_gap_flags != 0)
                losses.entries.gap(ring.aux_gap_flags);
            else
                losses.unclear += ring.lost - std::min(ring.lost, ring.lost_records);
            losses.entries.ring(ring.lost, ring.lost_records);
            losses.gaps += ring.gaps;
        }
    return losses;
}

Result<void> Recorder::drain_now(RecordSink &sink)
{
    return drain_rings({stopped_, false}, sink);
}

// Notes PMUs that were removed. Only Linux 7.x reports a removed PMU through poll(), but on every
// kernel its sysfs directory disappears. The check runs on ticks, because poll() may wake a busy
// recorder a thousand times a second. A PMU that reappears under the same name has another type.
void Recorder::note_gone()
{
    for (const OpenedEvent &event : events_) {
        if (event.pmu.name.empty() ||
            std::ranges::find(outcome_.gone, event.pmu.name) != outcome_.gone.end())
            continue;
        Result<std::string> text = read_small_file(sysfs_root_ + "/" + event.pmu.name + "/type");
        if (!text || trim(*text) != std::to_string(event.pmu.type))
            outcome_.gone.push_back(event.pmu.name);
    }
}

// Reads the lost counts while their PMUs exist, because the count of a removed PMU cannot be read.
void Recorder::note_lost_counts()
{
    for (Ring &ring : rings_)
        if (ring.counts_lost && ring.rings.has_aux())
            ring.counter.read(ring.fd.get());
}

// Returns true if the CPU had events that ended when it went offline. Those of tasks are on the
// other CPUs, too; the driver of a device moves its events to another CPU of its cpumask.
bool Recorder::ends_with(int cpu) const
{
    return std::ranges::any_of(rings_, [&](const Ring &ring) {
        const OpenedEvent &event = events_[ring.event];
        if (ring.cpu != cpu || event.of_tasks)
            return false;
        if (!event.pmu.cpumask)
            return ring.pid == -1;
        const Result<Pmu> now = read_pmu(sysfs_root_, event.pmu.name);
        return now && now->cpumask && now->cpumask->size() < event.pmu.cpumask->size();
    });
}

// Notes CPUs that came online or went offline. A CPU's events end when it goes offline, and do not
// exist when it comes online again.
void Recorder::note_cpus()
{
    Result<std::vector<int>> online = online_ ? online_cpus(online_path_) : std::vector<int>();
    if (!online_ || !online || *online == *online_)
        return;
    for (const int cpu : *online)
        if (everywhere_ && std::ranges::find(*online_, cpu) == online_->end())
            outcome_.came.insert(cpu);
    for (const int cpu : *online_)
        if (std::ranges::find(*online, cpu) == online->end() && ends_with(cpu))
            outcome_.went.insert(cpu);
    online_ = std::move(*online);
}

bool Recorder::all_gone() const
{
    return std::ranges::all_of(events_, [this](const OpenedEvent &event) {
        return event.of_tasks ||
               std::ranges::find(outcome_.gone, event.pmu.name) != outcome_.gone.end();
    });
}

Result<RecordOutcome> Recorder::run(RecordSink &sink, const std::vector<int> &stop_fds)
{
    Clock::time_point last_tick = Clock::now();
    while (!stopped_) {
        std::vector<pollfd> fds;
        fds.reserve(stop_fds.size() + rings_.size());
        for (int fd : stop_fds)
            fds.push_back({fd, POLLIN, 0});
        for (const Ring &ring : rings_)
            fds.push_back({ring.watched ? ring.fd.get() : -1, POLLIN, 0});
        if (::poll(fds.data(), fds.size(), kTick_ms) < 0 && errno != EINTR)
            return system_error("poll", errno);

        bool stop =
            std::ranges::any_of(fds.begin(), fds.begin() + static_cast<ptrdiff_t>(stop_fds.size()),
                                [](const pollfd &fd) { return fd.revents != 0; });
        const bool tick = Clock::now() - last_tick >= std::chrono::milliseconds(kTick_ms);
        bool hung_up = false;
        for (size_t i = 0; i < rings_.size(); i++)
            if (fds[stop_fds.size() + i].revents & (POLLERR | POLLHUP)) {
                rings_[i].watched = false;
                hung_up = true;
            }
        if (tick || hung_up || stop)
            note_gone();
        if (tick) {
            note_cpus();
            note_lost_counts();
        }
        stop |= all_gone() || (ends_with_tasks_ && std::ranges::none_of(rings_, &Ring::watched));
        // Disable the events before the last drain, so that the kernel delivers all data before it.
        if (stop)
            for (const Ring &ring : rings_)
                ::ioctl(ring.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
        stopped_ = stop;
        if (tick)
            last_tick = Clock::now();
        Result<void> done = drain_rings({stopped_, tick}, sink);
        if (done)
            done = sink.round();
        if (!done)
            return done.error();
    }
    return outcome_;
}

}  // namespace pmukit::record
