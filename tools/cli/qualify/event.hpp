// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Opens an event of a PMU for a short time, to read a count or the contents of an AUX area.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "record/ring.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli::qualify {

// An event that counts, such as "nest_mcs01/PM_PB_CYC/". pid -1: counts for all processes.
class CountingEvent {
public:
    static Result<CountingEvent> open(const std::string &event, int pid, int cpu);
    Result<uint64_t> read() const;

private:
    Fd fd_;
};

// Contents of an AUX area after its event ran for a while, oldest data first, and the losses that
// the kernel reported.
struct AuxData {
    std::vector<std::byte> bytes;
    record::RingNotes notes;
};
// Runs the event for run_us, and calls meanwhile() repeatedly. cpu -1: any CPU, for an event of a
// task.
Result<AuxData> record_aux(const std::string &event, int pid, int cpu, size_t aux_pages,
                           int64_t run_us, void (*meanwhile)());

// Uses the CPU for a while, in user mode.
void spin_us(int64_t us);

}  // namespace pmukit::cli::qualify
