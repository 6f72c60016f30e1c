// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes a part of a recording: a selection by time, CPUs, events and AUX buffers.
//
//     records     mmap comm   s s s s   fork   s s s s   s s s     exit
//     selected                             |-------------|
//     written     mmap comm             fork   s s s s   s
//
// Records about the state of the machine (maps, names, threads) are kept from the beginning, for
// all tasks: the samples need them. AUX buffers have no time: a buffer is kept if a selected AUX
// record announced some of its bytes, or if no record announced any. AUX records are trimmed to the
// kept buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "perfdata/progress.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {

struct CutSelection {
    uint64_t begin_ns = 0, end_ns = UINT64_MAX;  // inclusive
    std::vector<int> cpus;                       // sorted; empty: all
    // By index in Reader::events(); empty: all. If the vector is shorter than the list of events,
    // the events past its end are not selected.
    std::vector<bool> events;
    std::vector<int> buffers;  // numbers of AUX buffers in file order, sorted; empty: all

    bool all_times() const { return begin_ns == 0 && end_ns == UINT64_MAX; }
};

struct CutTotals {
    uint64_t samples = 0, samples_kept = 0;
    uint64_t buffers = 0, buffers_kept = 0;
    uint64_t aux_bytes_kept = 0;
};

struct CutRecording {
    CutTotals totals;
    Writer file;  // all data is written; finish() renames the file
};

// The recording is read twice: plan and copy are two readers of the same recording, both at its
// start. Error also if the selection needs a property (time, CPU) that an event did not record.
Result<CutRecording> cut_recording(Reader &plan, Reader &copy, const CutSelection &selection,
                                   const std::string &to);
Result<CutRecording> cut_recording(Reader &plan, Reader &copy, const CutSelection &selection,
                                   const std::string &to, const ProgressCallback &progress);

}  // namespace pmukit::perfdata
