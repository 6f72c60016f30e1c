// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Whose AUX data is it? AUXTRACE says no time and, of a CPU, no thread. But PERF_RECORD_AUX
// announces each range of bytes, in the context of the thread that ran until then.
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
        uint64_t begin, end;  // bytes of the stream
        uint64_t before_ns;   // when the range before it was announced; 0: it is the first
        perfdata::SampleId sample_id;
    };

    // All that a file says, before it is walked: what announces bytes may stand behind them.
    // Nothing of what can be read only once. only: of streams of this driver, and of those whose
    // driver is unknown; nullptr: of all. names: gets what the file says of threads and maps, too.
    static AuxThreads of_file(const std::string &path, Drivers drivers,
                              const Driver *only = nullptr, Threads *names = nullptr);

    // A range that is known is passed over.
    void note(const Stream &stream, const perfdata::AuxRecord &aux,
              const perfdata::SampleId &sample_id);
    // nullptr: no AUX record covers this byte.
    const Range *find(const Stream &stream, uint64_t offset) const;
    bool knows(size_t event) const;
    // Of ranges beyond limits::kAnnounced; empty: there were none.
    std::string left_out(const std::string &path) const;

private:
    StableMap<Stream, std::vector<Range>, StreamHash> ranges_;  // by begin
    std::set<size_t> events_;                                   // of them
    Budget left_{limits::kAnnounced};
    uint64_t left_out_ = 0;
};

}  // namespace pmukit::cli
