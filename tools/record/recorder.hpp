// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Opens events, drains their rings into a sink until a stop fd is readable, and reports what was
// lost on the way. It starts no process and writes no file: the caller does.
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

// An event whose attributes come from libpfm4: of the kernel's own types of PMU, 0 to 5, or of one
// in sysfs.
struct CodedEvent {
    std::string text;
    uint32_t type = 0;
    EventSettings settings;
    std::optional<size_t> leader{};  // among the coded events: scheduled together with it
};

struct RecordOptions {
    std::vector<EventString> events;
    std::vector<CodedEvent> coded{};  // behind events
    bool all_cpus = false;
    std::vector<int> cpus;                      // -C; empty: as the PMU or all_cpus says
    std::vector<pid_t> processes{}, threads{};  // that run already, a process with its threads
    std::vector<std::string> cgroups{};  // one for each event, or one for all; empty texts: none
    Sampling sampling{};
    bool inherit = true;    // events go to the children of the tasks they follow
    bool build_ids = true;  // in the records of maps
    size_t pages = 128;     // of the ring of a CPU, and of an event with an AUX area; powers of two
    size_t aux_pages = 1024;            // 0: no AUX area
    std::optional<pid_t> workload;      // per-task events follow it from its exec on
    std::optional<int32_t> clock_id{};  // CLOCK_* of all times; none: perf's own clock
    std::string sysfs_root = kSysfsPmus;
    std::string online_path = kOnlineCpus;
};

// One drained piece of an AUX area.
struct AuxChunk {
    uint64_t event_id;
    uint64_t offset;  // bytes since the event began
    uint32_t ring;    // number of the ring
    int cpu;
    RingPieces data;
};

class RecordSink {
public:
    virtual ~RecordSink() = default;
    virtual Result<void> records(
        Bytes bytes) = 0;  // whole records, perhaps many; one may continue in the next call
    virtual Result<void> aux(const AuxChunk &chunk) = 0;
    virtual Result<void> round() = 0;  // every ring was drained once
};

// An event as it was opened: on one or more CPUs, each with its id.
struct OpenedEvent {
    std::string text;
    Pmu pmu;  // without a name when sysfs has none for the kernel's own type
    std::vector<std::byte> attr;
    std::vector<uint64_t> ids;
    bool of_tasks = false;  // counts nothing, tells of tasks, names and maps
};

struct RecordOutcome {
    RingNotes notes;
    uint64_t aux_bytes = 0;
    std::vector<std::string> gone;  // PMUs that disappeared while recording
    std::set<int> came;             // CPUs that went online meanwhile: nothing is opened there
};

// What was lost of an event with an AUX area before it came there, by the kernel's count.
struct DeviceLosses {
    perfdata::LostEntries entries;
    uint64_t unclear = 0;  // records or entries
    uint64_t gaps = 0;     // AUX records that say so in data that goes on
};

class Recorder {
public:
    static Result<Recorder> open(const RecordOptions &options);

    const std::vector<OpenedEvent> &events() const { return events_; }
    bool has_aux() const;
    // One of the events is about tasks; then the last one reports tasks.
    bool follows_tasks() const;
    // What was opened otherwise than it was asked for, as perf does it.
    const std::vector<std::string> &remarks() const { return remarks_; }

    Result<void> enable();
    // Empties all rings once, for a caller that is busy for long between two rounds. Not a round of
    // the sink.
    Result<void> drain_now(RecordSink &sink);
    // At the end of each file: PERF_RECORD_LOST_SAMPLES of all that the kernel counted since the
    // last.
    Result<void> write_lost_counts(RecordSink &sink);
    // Of an event, until the last of these calls.
    DeviceLosses device_losses(size_t event) const;
    // Returns when a stop fd is readable or hung up, every PMU is gone, or all of processes and
    // threads have ended. All rings are empty then.
    Result<RecordOutcome> run(RecordSink &sink, const std::vector<int> &stop_fds);

private:
    // An event on a CPU, of all tasks there or of one.
    struct Ring {
        size_t event;
        pid_t pid;
        int cpu;
        uint64_t id;
        Fd fd;
        EventRings rings;    // not mapped: its records are in the ring that its CPU has
        bool self_starting;  // PERF_EVENT_IOC_ENABLE is not needed
        bool watched;        // false: hung up, only drained
        AuxRevival revival{};
        std::vector<std::byte> aux_record{};  // the last one
        std::optional<uint64_t> full_at{};    // the area was full, its data up to here not yet read
        bool counts_lost = false;             // so the counter is read
        LostCounter counter{};
        uint64_t lost = 0;                                       // of these, in files
        uint64_t lost_records = 0, gaps = 0, aux_gap_flags = 0;  // of RingNotes
    };
    struct Round {
        bool last = false;  // every event is disabled and stays so
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
    // window: of the AUX area, as it was before the records were read
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
    std::map<int, size_t> shared_;  // the ring of a CPU, for all that have no AUX area
    std::vector<std::string> remarks_;
    std::string sysfs_root_;
    std::string online_path_;
    std::optional<std::vector<int>> online_;  // CPUs; none: only those that were named matter
    bool ends_with_tasks_ = false;
    bool stopped_ = false;   // every event is disabled and stays so
    RecordOutcome outcome_;  // so far
};

}  // namespace pmukit::record
