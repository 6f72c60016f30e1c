// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A part of a recording as a recording: what a selection of time, CPUs, events and AUX buffers
// wants.
//
//     records     mmap comm   s s s s   fork   s s s s   s s s     exit
//     selected                             |-------------|
//     written     mmap comm             fork   s s s s   s
//
// What tells of the state of the machine (maps, names, threads) is kept from the beginning,
// whomever it is about: the samples need it. AUX buffers say no time of their own: one is kept when
// an AUX record that is selected announced some of its bytes, or when none announced any. AUX
// records are trimmed to the buffers that are kept.
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
    uint64_t begin_ns = 0, end_ns = UINT64_MAX;  // both are part of it
    std::vector<int> cpus;                       // sorted; empty: all
    // By index in Reader::events(); empty: all. Those behind its end are not wanted.
    std::vector<bool> events;
    std::vector<int> buffers;  // numbers in the order of the file, sorted; empty: all

    bool all_times() const { return begin_ns == 0 && end_ns == UINT64_MAX; }
};

struct CutTotals {
    uint64_t samples = 0, samples_kept = 0;
    uint64_t buffers = 0, buffers_kept = 0;
    uint64_t aux_bytes_kept = 0;
};

struct CutRecording {
    CutTotals totals;
    Writer file;  // complete: finish() gives it its name
};

// The recording is read twice: plan and copy are two readers of it, neither read from yet.
// Error: a selection by what an event did not record, too.
Result<CutRecording> cut_recording(Reader &plan, Reader &copy, const CutSelection &selection,
                                   const std::string &to);
Result<CutRecording> cut_recording(Reader &plan, Reader &copy, const CutSelection &selection,
                                   const std::string &to, const ProgressCallback &progress);

}  // namespace pmukit::perfdata
