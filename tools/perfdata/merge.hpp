// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Several recordings as one, their records in the order of time.
//
// Recordings of one host (by name) are put beside each other as they are. Those of other hosts are
// kept apart: threads, CPUs and rings get numbers of their own, PMUs and events the name of their
// host ("cxl_hmu_mem0.0.0@green"). Event ids and PMU types that would mean two things are numbered
// anew.
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
    kReference,  // the first recording: its clock is that of the merged one
    kSame,       // same host, same clock; right unless the machine was restarted in between
    kAligned,    // by the wall clock: as right as the wall clocks of the hosts are
    kUnknown,    // neither: times are as they were recorded
};

struct MergedInput {
    std::string host;
    ClockRelation clock = ClockRelation::kReference;
    int64_t shift_ns = 0;       // was added to its times
    uint64_t late_records = 0;  // that could not be put in order within the bounded memory
};

struct Merged {
    std::vector<MergedInput> inputs;
    Writer file;  // complete: finish() gives it its name
};

// Readers that nothing was read from. Memory: what was recorded between two looks at all rings, of
// each recording; 32 MiB of all together at most, or 2 MiB of each where they are more than 16.
// Error: recordings that do not fit together (byte order, events without ids).
Result<Merged> merge_recordings(std::vector<Reader> &inputs, const std::string &to);
Result<Merged> merge_recordings(std::vector<Reader> &inputs, const std::string &to,
                                const ProgressCallback &progress);

}  // namespace pmukit::perfdata
