// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/recorder.hpp"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/clocks.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "record/online_cpus.hpp"
#include "record/perf_event.hpp"

namespace pmukit::record {
namespace {

constexpr int kTick_ms = 100;  // rings are looked at at least so often
using Clock = std::chrono::steady_clock;

struct Target {
    pid_t pid;
    std::vector<int> cpus;
};

// Where a PMU without a cpumask counts. Its cpus name those that are offline, too.
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

// A PMU with a cpumask is read there, for the whole machine; any other where the user says.
Result<Target> find_target(const RecordOptions &options, const Pmu &pmu, const std::string &text)
{
    const std::string &who = pmu.name.empty() ? text : pmu.name;
    if (!pmu.cpumask) {
        if (!options.cpus.empty())
            return Target{-1, options.cpus};
        Result<std::vector<int>> cpus = counting_cpus(pmu);
        if (!cpus)
            return cpus.error();
        if (options.all_cpus)
            return Target{-1, *cpus};
        if (options.workload)
            return Target{*options.workload, *cpus};
        return Error{Errc::kUsage, who + ": whom to record? give -a, -C CPUS or a command"};
    }
    Target target{-1, {}};
    for (int cpu : *pmu.cpumask)
        if (options.cpus.empty() || std::ranges::find(options.cpus, cpu) != options.cpus.end())
            target.cpus.push_back(cpu);
    // The kernel's own driver names all CPUs of its node, and takes one event.
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

std::vector<std::byte> timed(std::vector<std::byte> attr, const RecordOptions &options)
{
    return options.clock_id ? with_clock(std::move(attr), *options.clock_id) : attr;
}

// The kernel has one errno for all that it refuses of an event's values.
Error about_clock(const Error &error, const RecordOptions &options)
{
    const bool always = !options.clock_id || *options.clock_id == CLOCK_MONOTONIC ||
                        *options.clock_id == CLOCK_MONOTONIC_RAW;
    if (always || error.code != Errc::kUsage)
        return error;
    return Error{error.code, error.message + "; perhaps it is " + clock_name(*options.clock_id) +
                                 ": only monotonic and monotonic_raw go with every PMU"};
}

// Tasks move between CPUs: they are followed on all, whichever are recorded.
Result<Target> target_of_tracker(const RecordOptions &options)
{
    Result<std::vector<int>> cpus = online_cpus();
    if (!cpus)
        return cpus.error();
    const bool of_workload = options.workload && options.cpus.empty() && !options.all_cpus;
    return Target{of_workload ? *options.workload : -1, *cpus};
}

}  // namespace

// Opening

struct Recorder::Request {
    std::string text;
    Pmu pmu;
    EventSettings settings;
    std::optional<size_t> leader{};  // among events_
    Start start = Start::kWhenEnabled;
};

Result<Recorder> Recorder::open(const RecordOptions &options)
{
    Recorder recorder;
    recorder.sysfs_root_ = options.sysfs_root;
    for (const EventString &string : options.events)
        if (Result<void> added = recorder.add_string(options, string); !added)
            return added.error();
    for (const CodedEvent &coded : options.coded)
        if (Result<void> added = recorder.add_coded(options, coded); !added)
            return added.error();
    if (recorder.follows_tasks())
        if (Result<void> added = recorder.add_tracker(options); !added)
            return added.error();
    return recorder;
}

// A PMU with a cpumask sees the machine, not who runs.
bool Recorder::follows_tasks() const
{
    return std::ranges::any_of(events_,
                               [](const OpenedEvent &event) { return !event.pmu.cpumask; });
}

Result<void> Recorder::add_string(const RecordOptions &options, const EventString &string)
{
    Result<Pmu> pmu = read_pmu(options.sysfs_root, string.pmu);
    if (!pmu)
        return pmu.error();
    Result<EventSettings> settings = encode_event(string, *pmu);
    if (!settings)
        return settings.error();
    return add_event(options, {string.text, std::move(*pmu), *settings});
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

Result<void> Recorder::add_event(const RecordOptions &options, Request request)
{
    Result<Target> target = find_target(options, request.pmu, request.text);
    if (!target)
        return target.error();
    const bool of_task = target->pid >= 0;
    if (request.leader)
        request.start = Start::kWithLeader;
    else if (of_task)
        request.start = Start::kOnExec;
    OpenedEvent event{
        request.text,
        request.pmu,
        timed(make_attr(request.pmu, request.settings, request.start, of_task), options),
        {}};
    for (int cpu : target->cpus)
        if (Result<void> added = add_ring(options, request, event, target->pid, cpu); !added)
            return added;
    events_.push_back(std::move(event));
    return {};
}

// In rings of its own: samples cannot crowd out what gives them names.
Result<void> Recorder::add_tracker(const RecordOptions &options)
{
    Result<Target> target = target_of_tracker(options);
    if (!target)
        return target.error();
    Request request{"dummy:u", {}, {}, {}, Start::kAtOnce};
    OpenedEvent event{
        request.text, {}, timed(make_tracking_attr(target->pid >= 0), options), {}, true};
    RecordOptions without_aux = options;
    without_aux.aux_pages = 0;
    for (int cpu : target->cpus)
        if (Result<void> added = add_ring(without_aux, request, event, target->pid, cpu); !added)
            return added;
    events_.push_back(std::move(event));
    return {};
}

// -1: none, or its leader does not run there.
int Recorder::leader_fd(const Request &request, int cpu) const
{
    const auto ring = std::ranges::find_if(rings_, [&request, cpu](const Ring &candidate) {
        return request.leader && candidate.event == *request.leader && candidate.cpu == cpu;
    });
    return ring == rings_.end() ? -1 : ring->fd.get();
}

Result<void> Recorder::add_ring(const RecordOptions &options, const Request &request,
                                OpenedEvent &event, pid_t pid, int cpu)
{
    const int leader = leader_fd(request, cpu);
    if (request.leader && leader < 0)
        return Error{Errc::kUsage, event.text + ": the first of its group is not counted on CPU " +
                                       std::to_string(cpu) + "; take the group apart"};
    Result<Fd> fd = open_event(event.attr, pid, cpu, leader, event.pmu, event.text);
    if (!fd)
        return about_clock(fd.error(), options);
    uint64_t id = 0;
    if (::ioctl(fd->get(), PERF_EVENT_IOC_ID, &id) != 0)
        return system_error(event.text + ": event id", errno);
    Result<EventRings> rings = EventRings::map(fd->get(), options.pages, options.aux_pages);
    if (!rings)
        return Error{rings.error().code,
                     event.text + ": " + rings.error().message + "; try smaller -m"};
    event.ids.push_back(id);
    rings_.push_back({events_.size(), cpu, id, std::move(*fd), std::move(*rings),
                      request.start != Start::kWhenEnabled, true});
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
        return Error{Errc::kDamaged, events_[ring.event].text +
                                         ": the kernel's ring makes no sense at " +
                                         std::to_string(tail)};
    for (Bytes piece : {pieces->first, pieces->second})
        if (Result<void> done = sink.records(piece); !done)
            return done;
    ring.rings.release_records(head);
    return {};
}

// How many bytes.
Result<uint64_t> Recorder::drain_aux(size_t index, uint64_t until, RecordSink &sink)
{
    Ring &ring = rings_[index];
    const uint64_t tail = ring.rings.aux_window().first;
    std::optional<RingPieces> aux = ring_pieces(ring.rings.aux(), tail, until);
    if (!aux)
        return Error{
            Errc::kDamaged,
            events_[ring.event].text + ": the AUX area makes no sense at " + std::to_string(tail)};
    if (aux->size() == 0)
        return uint64_t{0};
    AuxChunk chunk{ring.id, tail, static_cast<uint32_t>(index), ring.cpu, *aux};
    if (Result<void> done = sink.aux(chunk); !done)
        return done.error();
    ring.rings.release_aux(until);
    return uint64_t{aux->size()};
}

Result<void> Recorder::drain_ring(size_t index, Round round, RecordSink &sink,
                                  RecordOutcome &outcome)
{
    Ring &ring = rings_[index];
    const bool has_aux = ring.rings.has_aux();
    const uint64_t before = has_aux ? ring.rings.aux_window().second : 0;
    RingNotes notes;
    if (Result<void> done = drain_records(ring, sink, notes); !done)
        return done;
    outcome.notes.add(notes);
    if (!has_aux)
        return {};
    // Files change between rounds. In the last one there is nothing to wait for.
    const uint64_t after = ring.rings.aux_head_at(notes.aux_end);
    const uint64_t until = round.last ? after : aux_until(before, after, notes.aux_end);
    const Result<uint64_t> bytes = drain_aux(index, until, sink);
    if (!bytes)
        return bytes.error();
    outcome.aux_bytes += *bytes;
    const AuxRevival::Act act =
        ring.revival.after_round(*bytes, notes.aux_truncated != 0, round.tick);
    if (act == AuxRevival::Act::kNone || !ring.watched || round.last)
        return {};
    if (act == AuxRevival::Act::kRestart)
        ::ioctl(ring.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
    ::ioctl(ring.fd.get(), PERF_EVENT_IOC_ENABLE, 0);  // of a PMU that goes it fails
    return {};
}

Result<void> Recorder::drain(Round round, RecordSink &sink, RecordOutcome &outcome)
{
    for (size_t i = 0; i < rings_.size(); i++)
        if (Result<void> done = drain_ring(i, round, sink, outcome); !done)
            return done;
    return sink.round();
}

// Only Linux 7.x says by poll that a PMU went; its name in sysfs says so everywhere. A PMU that
// came back under its name has another type.
void Recorder::note_gone(RecordOutcome &outcome) const
{
    for (const OpenedEvent &event : events_) {
        if (event.pmu.name.empty() ||
            std::ranges::find(outcome.gone, event.pmu.name) != outcome.gone.end())
            continue;
        Result<std::string> text = read_small_file(sysfs_root_ + "/" + event.pmu.name + "/type");
        if (!text || trim(*text) != std::to_string(event.pmu.type))
            outcome.gone.push_back(event.pmu.name);
    }
}

bool Recorder::all_gone(const RecordOutcome &outcome) const
{
    return std::ranges::all_of(events_, [&outcome](const OpenedEvent &event) {
        return event.of_tasks ||
               std::ranges::find(outcome.gone, event.pmu.name) != outcome.gone.end();
    });
}

Result<RecordOutcome> Recorder::run(RecordSink &sink, const std::vector<int> &stop_fds)
{
    RecordOutcome outcome;
    bool stop = false;
    Clock::time_point last_tick = Clock::now();
    while (!stop) {
        std::vector<pollfd> fds;
        fds.reserve(stop_fds.size() + rings_.size());
        for (int fd : stop_fds)
            fds.push_back({fd, POLLIN, 0});
        for (const Ring &ring : rings_)
            fds.push_back({ring.watched ? ring.fd.get() : -1, POLLIN, 0});
        if (::poll(fds.data(), fds.size(), kTick_ms) < 0 && errno != EINTR)
            return system_error("poll", errno);

        stop =
            std::ranges::any_of(fds.begin(), fds.begin() + static_cast<ptrdiff_t>(stop_fds.size()),
                                [](const pollfd &fd) { return fd.revents != 0; });
        for (size_t i = 0; i < rings_.size(); i++)
            if (fds[stop_fds.size() + i].revents & (POLLERR | POLLHUP))
                rings_[i].watched = false;
        note_gone(outcome);
        stop |= all_gone(outcome);
        if (stop)  // what is still in flight arrives before the last drain
            for (const Ring &ring : rings_)
                ::ioctl(ring.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
        const bool tick = Clock::now() - last_tick >= std::chrono::milliseconds(kTick_ms);
        if (tick)
            last_tick = Clock::now();
        if (Result<void> done = drain({stop, tick}, sink, outcome); !done)
            return done.error();
    }
    return outcome;
}

}  // namespace pmukit::record
