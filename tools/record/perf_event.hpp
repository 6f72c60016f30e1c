// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf_event_open(2) with attributes as bytes (the header we are built with may not know config3
// and config4) and with the kernel's refusals turned into sentences.
#pragma once

#include <sys/types.h>

#include <cstdint>
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

// What the records of our events end with, beside samples: task, time, id, CPU and id again.
constexpr size_t kTrailerBytes = 5 * sizeof(uint64_t);

// Attributes of a sampling event. Unless the settings say how often: every record of a PMU that is
// read for the whole machine, with its payload; of others 4000 samples a second, as perf takes.
std::vector<std::byte> make_attr(const Pmu &pmu, const EventSettings &settings, Start start,
                                 bool inherit);

// Attributes of an event that counts nothing and tells of tasks as they begin and end, of their
// names and of what they map, with build ids.
std::vector<std::byte> make_tracking_attr(bool inherit);

// The attributes, made by one of the above, with another clock than perf's own (CLOCK_*).
std::vector<std::byte> with_clock(std::vector<std::byte> attr, int32_t clock_id);

// cpu -1 or pid -1: any. leader_fd -1: no group. what: the event as the user wrote it.
Result<Fd> open_event(const std::vector<std::byte> &attr, pid_t pid, int cpu, int leader_fd,
                      const Pmu &pmu, const std::string &what);

// Pure: the sentence for an errno of perf_event_open.
Error explain_open_error(int error, const Pmu &pmu, const std::string &what, int cpu);

}  // namespace pmukit::record
