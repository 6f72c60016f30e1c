// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the thread that AUX data belongs to. A PERF_RECORD_AUXTRACE has no time and, for per-CPU
// data, no thread. But a PERF_RECORD_AUX announces each range of the data, and names the thread
// that ran on the CPU at the end of the range.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/stable_map.hpp"
#include "session/recording.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

class AuxThreads {
public:
    struct Range {
        uint64_t begin, end;  // offsets in the stream
        uint64_t before_ns;   // time of the AUX record of the previous range; 0: first range
        perfdata::SampleId sample_id;
    };

    // Reads all AUX records of a file before the walk, because an AUX record may follow its data in
    // the file. Returns no ranges for a file that can be read only once. only: the function stores
    // the ranges of the streams of this driver, and of streams whose driver is unknown; nullptr: of
    // all streams. names: also receives the thread and map records; only the first ones if they
    // exceed its limit and no driver names the tasks of AUX data.
    static AuxThreads of_file(const std::string &path, Drivers drivers,
                              const Driver *only = nullptr, Threads *names = nullptr);

    // Ignores a range that begins before the end of the last one.
    void note(const Stream &stream, const perfdata::AuxRecord &aux,
              const perfdata::SampleId &sample_id);
    // nullptr: no AUX record covers this byte.
    const Range *find(const Stream &stream, uint64_t offset) const;
    bool knows(size_t event) const;
    // Message about ranges dropped over limits::kAnnounced; empty: none were dropped.
    std::string left_out(const std::string &path) const;

private:
    StableMap<Stream, std::vector<Range>, StreamHash> ranges_;  // sorted by begin
    std::set<size_t> events_;                                   // events that have ranges
    Budget left_{limits::kAnnounced};
    uint64_t left_out_ = 0;
};

}  // namespace pmukit::cli
