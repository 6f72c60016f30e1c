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
    std::vector<CodedEvent> coded{};  // are opened after `events`
    bool all_cpus = false;
    std::vector<int> cpus;                      // option -C; empty: the PMU or all_cpus decides
    std::vector<pid_t> processes{}, threads{};  // running tasks; a process includes its threads
    std::vector<std::string> cgroups{};  // one per event, or one for all; empty text: no cgroup
    Sampling sampling{};
    bool inherit = true;                // children of followed tasks inherit the events
    bool build_ids = true;              // mmap records have build ids
    size_t pages = 128;                 // of a CPU's ring or an AUX event's ring; a power of two
    size_t aux_pages = 1024;            // 0: no AUX area
    std::optional<pid_t> workload;      // per-task events follow this process after its exec
    std::optional<int32_t> clock_id{};  // CLOCK_* of all time stamps; none: perf's own clock
    std::string sysfs_root = kSysfsPmus;
    std::string online_path = kOnlineCpus;
};

// One piece of an AUX area that was drained.
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
    virtual Result<void> records(
        Bytes bytes) = 0;  // next bytes of the records; a record may continue in the next call
    virtual Result<void> aux(const AuxChunk &chunk) = 0;
    virtual Result<void> round() = 0;  // called after every ring was drained once
};

// An opened event. It is open on one or more CPUs, and has an id on each.
struct OpenedEvent {
    std::string text;
    Pmu pmu;  // has no name if sysfs has no directory for the type
    std::vector<std::byte> attr;
    std::vector<uint64_t> ids;
    bool of_tasks = false;  // the tracking event: counts nothing, reports tasks, names and maps
};

struct RecordOutcome {
    RingNotes notes;
    uint64_t aux_bytes = 0;
    std::vector<std::string> gone;  // PMUs that disappeared during the recording
    std::set<int> came;             // CPUs that came online later; they are not recorded
};

// Losses of an event with an AUX area that occurred before the data reached the area, by the
// kernel's count.
struct DeviceLosses {
    perfdata::LostEntries entries;
    uint64_t unclear = 0;  // the count does not tell whether these are records or entries
    uint64_t gaps = 0;     // AUX records that report a gap after which data continues
};

class Recorder {
public:
    static Result<Recorder> open(const RecordOptions &options);

    const std::vector<OpenedEvent> &events() const { return events_; }
    bool has_aux() const;
    // Returns true if an event samples tasks. In this case, the last event is the tracking event.
    bool follows_tasks() const;
    // Returns a text for each event that was opened with other settings than requested. perf does
    // the same.
    const std::vector<std::string> &remarks() const { return remarks_; }

    Result<void> enable();
    // Empties all rings once, for a caller that is busy for a long time between two rounds. Does
    // not call round() of the sink.
    Result<void> drain_now(RecordSink &sink);
    // To be called at the end of each file: writes PERF_RECORD_LOST_SAMPLES for everything that the
    // kernel has counted as lost since the last call.
    Result<void> write_lost_counts(RecordSink &sink);
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
        EventRings rings;    // not mapped if the records go into the ring of the CPU
        bool self_starting;  // PERF_EVENT_IOC_ENABLE is not needed
        bool watched;        // false: the event hung up and is only drained
        AuxRevival revival{};
        std::vector<std::byte> aux_record{};  // the last AUX record
        std::optional<uint64_t> full_at{};    // end of the unread data of an area that was full
        bool counts_lost = false;             // true: the counter is read
        LostCounter counter{};
        uint64_t lost = 0;                                       // losses that are written to files
        uint64_t lost_records = 0, gaps = 0, aux_gap_flags = 0;  // sums of RingNotes
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
    // window: tail and head of the AUX area, read before the records
    Result<void> drain_area(size_t index, Round round, const RingNotes &notes,
                            std::pair<uint64_t, uint64_t> window, RecordSink &sink);
    Result<void> mark_gap(Ring &ring, RecordSink &sink);
    Result<void> mark_lost_count(Ring &ring, RecordSink &sink);
    Result<uint64_t> drain_aux(size_t index, uint64_t until, RecordSink &sink);
    void note_gone();
    void note_lost_counts();
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
    bool ends_with_tasks_ = false;
    bool stopped_ = false;   // all events are disabled for good
    RecordOutcome outcome_;  // the outcome so far
};

}  // namespace pmukit::record
