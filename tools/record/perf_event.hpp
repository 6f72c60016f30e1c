// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf_event_open(2) with attributes as bytes (the header we are built with may not know config3
// and config4) and with the kernel's refusals turned into sentences.
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

// When an event begins to count.
enum class Start {
    kWhenEnabled,
    kOnExec,      // of the process it follows, with those that process starts
    kWithLeader,  // of its group
    kAtOnce,
};

// How the chain of calls of a sample is found.
enum class Chains { kNone, kFramePointers, kStack, kBranches };

// What a recording says of all of its events that can do it.
struct Sampling {
    std::optional<uint64_t> period, frequency_hz;  // of events that do not say; period goes first
    Chains chains = Chains::kNone;
    uint32_t stack_bytes = 8192;  // kStack: so much of the stack, a multiple of 8
    bool weight = false;  // of how many events a sample is one, where it is the same for all
};

// Whether a PMU samples what runs, at a rate and with chains of calls. One that is read for the
// whole machine (cpumask) gives every record of its device.
bool samples_tasks(const Pmu &pmu);

// What the records of our events end with, beside samples: task, time, id, CPU and id again.
constexpr size_t kTrailerBytes = 5 * sizeof(uint64_t);

// Attributes of a sampling event. Unless the settings say how often: every record of a PMU that is
// read for the whole machine, with its payload; of others 4000 samples a second, as perf takes.
std::vector<std::byte> make_attr(const Pmu &pmu, const EventSettings &settings, Start start,
                                 bool inherit, const Sampling &sampling = {});

// Attributes of an event that counts nothing and tells of tasks as they begin and end, of their
// names and of what they map, with build ids unless they are not wanted.
std::vector<std::byte> make_tracking_attr(bool inherit, bool build_ids = true);

// The attributes, made by one of the above, with another clock than perf's own (CLOCK_*).
std::vector<std::byte> with_clock(std::vector<std::byte> attr, int32_t clock_id);

// The attributes, with the count of lost records in what read(2) gives (PERF_FORMAT_LOST).
std::vector<std::byte> with_lost_count(std::vector<std::byte> attr);
// Whether this kernel knows that format: since Linux 6.0.
bool has_lost_count();
// Of an event that has it. nullopt: it could not be read.
std::optional<uint64_t> read_lost_count(int fd);

// The count of one event. Linux gives nothing for one whose PMU went: the last that it gave stays.
class LostCounter {
public:
    void read(int fd);
    uint64_t count() const { return count_; }
    bool is_gone() const { return gone_; }

private:
    uint64_t count_ = 0;
    bool gone_ = false;
};
// PERF_RECORD_LOST_SAMPLES, as stock perf writes it at the end of a recording: without a time.
std::vector<std::byte> lost_samples_record(uint64_t lost, uint64_t id, int cpu);

// kernel.perf_event_paranoid. nullopt: this kernel does not say.
std::optional<int> perf_event_paranoid();

// What was asked for with an event; what stands behind cpu is for the reason of a refusal, and
// open_event() finds out itself what it can.
struct Attempt {
    pid_t pid = -1;                   // -1: any
    int cpu = -1;                     // -1: any
    std::optional<int> paranoid{};    // kernel.perf_event_paranoid; nullopt: not known
    bool kernel_too = true;           // not of programs alone
    bool is_of_another_user = false;  // the process
    bool has_cgroup = false;
};

// attempt.pid: a process, or the descriptor of a cgroup's folder. leader_fd -1: no group. what: the
// event as the user wrote it.
Result<Fd> open_event(const std::vector<std::byte> &attr, const Attempt &attempt, int leader_fd,
                      const Pmu &pmu, const std::string &what);

// Pure: the sentence for an errno of perf_event_open.
Error explain_open_error(int error, const Pmu &pmu, const std::string &what,
                         const Attempt &attempt);

// The term without which an event is taken. Empty: there is none such, or it takes two to blame.
std::string term_at_fault(const EventString &event, const Pmu &pmu,
                          const std::function<bool(const EventSettings &)> &is_taken);

}  // namespace pmukit::record
