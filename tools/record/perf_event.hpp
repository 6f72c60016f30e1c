// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf_event_open(2) with attributes as bytes, because the header of the build may lack config3 and
// config4. Explains the kernel's errors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "record/event_string.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

// When an event starts to count.
enum class Start {
    kWhenEnabled,
    kOnExec,      // at exec of the target process, including its children
    kWithLeader,  // when the leader of its group starts
    kAtOnce,
};

// Source of the sampled call chains.
enum class Chains { kNone, kFramePointers, kStack, kBranches };

// Settings of a recording. They apply to all events that support them.
struct Sampling {
    // The rate of events that have no rate of their own. If both are set, the period is used.
    std::optional<uint64_t> period, frequency_hz;
    Chains chains = Chains::kNone;
    bool defers_chains = false;   // for kFramePointers: user part as in has_deferred_chains()
    uint32_t stack_bytes = 8192;  // for kStack: bytes of the stack to copy, a multiple of 8
    // Records the period in every sample (PERF_SAMPLE_PERIOD), even if the period is constant.
    bool weight = false;
    bool wakes_at_once = false;  // wakes the recorder at each sample
};

// Returns true if the PMU samples tasks, at a rate and with call chains. A system-wide PMU
// (cpumask) does not: it delivers every record of its device.
bool samples_tasks(const Pmu &pmu);

// Size in bytes of the sample_id at the end of all records except samples: task, time, id, CPU, and
// id again.
constexpr size_t kTrailerBytes = 5 * sizeof(uint64_t);

// Offset of the time in every sample: after the header, id, address and task.
constexpr size_t kSampleTimeAt = 4 * sizeof(uint64_t);

// Returns the attributes of a sampling event. If neither the event nor the recording has a rate, a
// system-wide PMU delivers every record with its payload, and other PMUs sample 4000 times per
// second, as in perf.
std::vector<std::byte> make_attr(const Pmu &pmu, const EventSettings &settings, Start start,
                                 bool inherit, const Sampling &sampling = {});

// What the tracking event reports besides the start, exit, names and code maps of tasks.
struct Tracking {
    bool inherit = true;
    bool build_ids = true;
    // Maps without code, too. Linkers put .eh_frame, which describes the frames of a copied stack,
    // into a read-only map, and perf unwinds only with what is mapped.
    bool data_maps = false;
    bool deferred_chains = false;  // the user parts of call chains
};

// Returns the attributes of an event that counts nothing, and reports tasks.
std::vector<std::byte> make_tracking_attr(const Tracking &tracking);

// Returns the attributes with this clock (CLOCK_*) in place of perf's own clock.
std::vector<std::byte> with_clock(std::vector<std::byte> attr, int32_t clock_id);

// Returns the attributes with the lost record count added to the read format (PERF_FORMAT_LOST).
std::vector<std::byte> with_lost_count(std::vector<std::byte> attr);
// Returns true if the kernel knows PERF_FORMAT_LOST: Linux 6.0 or later.
bool has_lost_count();
// Returns true if the kernel can take the user part of a call chain later, when the task returns to
// user mode, and write it as a record of its own (defer_callchain).
bool has_deferred_chains();
// Reads the lost count of an event that has PERF_FORMAT_LOST. nullopt: the count could not be read.
std::optional<uint64_t> read_lost_count(int fd);

// The lost count of one event. After the PMU is removed, read(2) returns no data; count() then
// still returns the last count that was read.
class LostCounter {
public:
    void read(int fd);
    uint64_t count() const { return count_; }
    bool is_gone() const { return gone_; }

private:
    uint64_t count_ = 0;
    bool gone_ = false;
};
// Returns a PERF_RECORD_LOST_SAMPLES without a time, like the one that stock perf writes at the end
// of a recording.
std::vector<std::byte> lost_samples_record(uint64_t lost, uint64_t id, int cpu);

// Returns the value of kernel.perf_event_paranoid. nullopt: not available.
std::optional<int> perf_event_paranoid();

// The target of an event. The members after `cpu` serve only to explain a refusal; open_event()
// sets some of them.
struct Attempt {
    pid_t pid = -1;                   // -1: any
    int cpu = -1;                     // -1: any
    std::optional<int> paranoid{};    // kernel.perf_event_paranoid; nullopt: unknown
    bool kernel_too = true;           // the event counts kernel mode, too
    bool is_of_another_user = false;  // the process belongs to another user
    bool has_cgroup = false;
};

// Opens an event. attempt.pid is a process, or the descriptor of a cgroup directory. If leader_fd
// is -1, the event is in no group. `what` is the event as the user wrote it.
Result<Fd> open_event(const std::vector<std::byte> &attr, const Attempt &attempt, int leader_fd,
                      const Pmu &pmu, const std::string &what);

// Returns the message for an errno of perf_event_open().
Error explain_open_error(int error, const Pmu &pmu, const std::string &what,
                         const Attempt &attempt);

// Returns what to use instead of an event that the kernel refuses with EINVAL or EOPNOTSUPP: the
// first change with which is_taken() accepts it. Empty: it accepts none.
std::string remedy_of(
    const std::vector<std::byte> &attr, const Attempt &attempt,
    const std::function<bool(const std::vector<std::byte> &, const Attempt &)> &is_taken);

// Returns the advice for a ring that the kernel does not let the user map.
std::string ring_advice(Errc code, std::optional<uint64_t> mlock_kib, uint64_t memlock_bytes);

// Returns the term without which is_taken() accepts the event. Empty: no single term is at fault.
std::string term_at_fault(const EventString &event, const Pmu &pmu,
                          const std::function<bool(const EventSettings &)> &is_taken);

}  // namespace pmukit::record
