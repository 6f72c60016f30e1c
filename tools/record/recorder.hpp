// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Opens events, drains their rings into a sink until a stop descriptor is readable, and reports
// losses. The caller starts the workload and writes the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/lost_entries.hpp"
#include "record/event_string.hpp"
#include "record/online_cpus.hpp"
#include "record/perf_event.hpp"
#include "record/ring.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

// An event whose attributes are already encoded: from libpfm4, of one of the kernel's fixed PMU
// types (0 to 5), or of a PMU in sysfs.
struct CodedEvent {
    std::string text;
    uint32_t type = 0;
    EventSettings settings;
    std::optional<size_t> leader{};  // index of its group's leader in the coded events
};

struct RecordOptions {
    std::vector<EventString> events;
    // Encoded events, which the recorder opens after `events`.
    std::vector<CodedEvent> coded{};
    bool all_cpus = false;
    // CPUs of option -C. If there are none, the PMU or all_cpus decides which CPUs are recorded.
    std::vector<int> cpus;
    std::vector<pid_t> processes{}, threads{};  // running tasks; a process includes its threads
    // One cgroup for each event, or one for all events. An empty name means no cgroup.
    std::vector<std::string> cgroups{};
    Sampling sampling{};
    bool inherit = true;                // children of followed tasks inherit the events
    bool build_ids = true;              // mmap records have build ids
    bool data_maps = false;             // see Tracking
    size_t pages = 128;                 // size of each ring in pages; a power of two
    size_t aux_pages = 1024;            // size of an AUX area in pages; 0: no AUX area
    std::optional<pid_t> workload;      // per-task events follow this process after its exec
    std::optional<int32_t> clock_id{};  // CLOCK_* of all time stamps; none: perf's own clock
    std::string sysfs_root = kSysfsPmus;
    std::string online_path = kOnlineCpus;
};

// A piece of data that the recorder has read from an AUX area.
struct AuxChunk {
    uint64_t event_id;
    uint64_t offset;  // bytes since the start of the event
    uint32_t ring;    // index of the ring
    int cpu;
    RingPieces data;
};

class RecordSink {
public:
    virtual ~RecordSink() = default;
    // Takes the next bytes of the records. A record may continue in the next call.
    virtual Result<void> records(Bytes bytes) = 0;
    virtual Result<void> aux(const AuxChunk &chunk) = 0;
    virtual Result<void> round() = 0;  // called after every ring was drained once
};

// An opened event. It is open on one or more CPUs, and has an id on each.
struct OpenedEvent {
    std::string text;
    Pmu pmu;  // has no name if sysfs has no directory for the type
    std::vector<std::byte> attr;
    std::vector<uint64_t> ids;
    // True for the tracking event, which counts nothing and reports tasks, names and maps.
    bool of_tasks = false;
};

struct RecordOutcome {
    RingNotes notes;
    uint64_t aux_bytes = 0;
    std::vector<std::string> gone;  // PMUs that disappeared during the recording
    std::set<int> came;             // CPUs that came online later; they are not recorded
    std::set<int> went;             // CPUs that went offline, so that their events ended
};

// Losses of an event with an AUX area, as the kernel counts them: data that was lost before it
// reached the area.
struct DeviceLosses {
    perfdata::LostEntries entries;
    uint64_t unclear = 0;  // losses that may be records or entries
    uint64_t gaps = 0;     // AUX records that report a gap after which data continues
};

class Recorder {
public:
    static Result<Recorder> open(const RecordOptions &options);

    const std::vector<OpenedEvent> &events() const { return events_; }
    bool has_aux() const;
    // Returns true if an event samples tasks. In this case, the last event is the tracking event.
    void say_what_is_not_selected(const RecordOptions &options);
    bool follows_tasks() const;
    // Returns a remark for each event that the recorder opened with other settings than requested.
    // The recorder changes settings in the same cases as perf.
    const std::vector<std::string> &remarks() const { return remarks_; }

    Result<void> enable();
    // Empties all rings once, for a caller that is busy for a long time between two rounds. Does
    // not call round() of the sink.
    Result<void> drain_now(RecordSink &sink);
    // To be called at the end of each file: writes PERF_RECORD_LOST_SAMPLES for everything that the
    // kernel has counted as lost since the last call.
    Result<void> write_lost_counts(RecordSink &sink);
    // Returns the times of the first and the last sample since the last call, for the header of
    // each file; nullopt: there was no sample.
    std::optional<perfdata::TimeSpan> take_sample_times()
    {
        return std::exchange(outcome_.notes.sample_times, std::nullopt);
    }
    // Returns the losses of an event up to the last call of write_lost_counts().
    DeviceLosses device_losses(size_t event) const;
    // Drains the rings until a stop descriptor is readable or hung up, every PMU is gone, or all
    // recorded processes and threads have ended. All rings are empty when the function returns.
    Result<RecordOutcome> run(RecordSink &sink, const std::vector<int> &stop_fds);

private:
    // An event on one CPU, for all tasks or for one task.
    struct Ring {
        size_t event;
        pid_t pid;
        int cpu;
        uint64_t id;
        Fd fd;
        EventRings rings;    // not mapped if the event writes to the ring of its CPU
        bool self_starting;  // true: the event starts without PERF_EVENT_IOC_ENABLE
        bool watched;        // false after POLLHUP or POLLERR: the ring is only drained
        AuxRevival revival{};
        std::vector<std::byte> aux_record{};  // the last AUX record
        std::optional<uint64_t> full_at{};    // if the area was full: the end of its data
        bool counts_lost = false;             // true: `counter` reads the lost count of the kernel
        LostCounter counter{};
        uint64_t lost = 0;  // losses already written to files
        // Sums of RingNotes over all rounds.
        uint64_t lost_records = 0, gaps = 0, aux_gap_flags = 0;
    };
    struct Round {
        bool last = false;  // the last round: all events are disabled for good
        bool tick = false;
    };

    Recorder() = default;
    struct Request;
    struct Target;
    Result<void> add_string(const RecordOptions &options, const EventString &string);
    Result<void> add_coded(const RecordOptions &options, const CodedEvent &coded);
    Result<void> add_tracker(const RecordOptions &options);
    Result<void> add_event(const RecordOptions &options, Request request);
    Result<void> open_everywhere(const RecordOptions &options, const Request &request,
                                 const Target &target, OpenedEvent &event);
    Result<void> add_ring(const RecordOptions &options, const Request &request, OpenedEvent &event,
                          pid_t pid, int cpu);
    Result<EventRings> map_rings(const RecordOptions &options, const Request &request, int fd,
                                 int cpu);
    Error blame_term(const RecordOptions &options, const Request &request, const Attempt &attempt,
                     const Error &error) const;
    int leader_fd(const Request &request, pid_t pid, int cpu) const;
    Result<void> drain_rings(Round round, RecordSink &sink);
    Result<void> drain_ring(size_t index, Round round, RecordSink &sink);
    Result<void> drain_records(Ring &ring, RecordSink &sink, RingNotes &notes);
    // window: tail and head of the AUX area, as they were before the records were read.
    Result<void> drain_area(size_t index, Round round, const RingNotes &notes,
                            std::pair<uint64_t, uint64_t> window, RecordSink &sink);
    Result<void> mark_gap(Ring &ring, RecordSink &sink);
    Result<void> mark_lost_count(Ring &ring, RecordSink &sink);
    Result<uint64_t> drain_aux(size_t index, uint64_t until, RecordSink &sink);
    void note_gone();
    void note_lost_counts();
    bool ends_with(int cpu) const;
    void note_cpus();
    bool all_gone() const;

    std::vector<OpenedEvent> events_;
    std::vector<Ring> rings_;
    std::map<int, size_t> shared_;  // ring of each CPU, shared by events without an AUX area
    std::vector<std::string> remarks_;
    std::string sysfs_root_;
    std::string online_path_;
    // CPUs that were online at the last check. None if the user names CPUs: other CPUs are not
    // relevant then.
    std::optional<std::vector<int>> online_;
    bool everywhere_ = false;  // an event is recorded on all CPUs
    bool ends_with_tasks_ = false;
    bool stopped_ = false;   // all events are disabled for good
    RecordOutcome outcome_;  // the outcome so far
};

}  // namespace pmukit::record
