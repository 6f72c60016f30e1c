// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An event of a PMU, opened for a moment: a count, or the bytes of an AUX area.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "record/ring.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli::qualify {

// Of a PMU of this machine; event: "nest_mcs01/PM_PB_CYC/". pid -1: the whole machine.
class CountingEvent {
public:
    static Result<CountingEvent> open(const std::string &event, int pid, int cpu);
    Result<uint64_t> read() const;

private:
    Fd fd_;
};

// What an AUX area holds when its event has run for a while, oldest first, and what the kernel said
// of losses.
struct AuxData {
    std::vector<std::byte> bytes;
    record::RingNotes notes;
};
// cpu: -1 of a task.
Result<AuxData> record_aux(const std::string &event, int pid, int cpu, size_t aux_pages,
                           int64_t run_us, void (*meanwhile)());

// Uses the CPU for a while, in user mode.
void spin_us(int64_t us);

}  // namespace pmukit::cli::qualify
