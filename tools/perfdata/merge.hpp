// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Merges several recordings into one, with the records in time order.
//
// Recordings of one host (by its name) are combined without changes. If there are several hosts,
// the name of the host is appended to PMUs and events ("cxl_hmu_mem0.0.0@green"), and the threads,
// CPUs, rings and cgroups of all hosts but the first get new numbers. Conflicting event ids and PMU
// types are renumbered.
//
// perf finds the event of a record by an id at one place (PERF_SAMPLE_IDENTIFIER), which it does
// not record for a single event. The merge adds it. It also adds an ID_INDEX for AUX buffers: they
// do not name their event, and have no time by which they could follow their AUX records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "perfdata/progress.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {

enum class ClockRelation {
    kReference,  // the first recording: its clock is the clock of the output
    kSame,       // same host, same clock, both related to the wall clock
    kAligned,    // aligned by the wall clock, as accurate as the wall clocks of the hosts
    kUnknown,    // clocks cannot be related: times are unchanged
    kSameHost,   // as kSame, but correct only if the host was not restarted in between
};

struct MergedInput {
    std::string host;
    ClockRelation clock = ClockRelation::kReference;
    int64_t shift_ns = 0;       // added to the times of this input
    uint64_t late_records = 0;  // records that are out of order because memory is limited
    // Records that were left out because a thread, CPU, ring, cgroup or event id is not one of the
    // host.
    uint64_t foreign_records = 0;
};

struct Merged {
    std::vector<MergedInput> inputs;
    Writer file;  // all data is written; finish() renames the file
};

// All readers must be at their start. Memory: one round of records per recording; at most 32 MiB in
// total, or 2 MiB per recording if there are more than 16. Error: recordings that do not fit
// together (byte order, several events whose records do not name them, two boots of one host).
Result<Merged> merge_recordings(std::vector<Reader> &inputs, const std::string &to);
Result<Merged> merge_recordings(std::vector<Reader> &inputs, const std::string &to,
                                const ProgressCallback &progress);

}  // namespace pmukit::perfdata
