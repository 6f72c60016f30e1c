// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Translates the options of pmukit record to options of the recorder, to remarks on options that do
// not apply as given, and to lines for --dry-run and -v. Opens no event. The machine is a
// parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/commands.hpp"
#include "cli/record/record_files.hpp"
#include "record/recorder.hpp"

namespace pmukit::cli {

// Properties of the machine that a plan depends on.
struct RecordHost {
    std::string sysfs_root = record::kSysfsPmus;
    std::vector<int> online;  // online CPUs
    size_t page_bytes = 4096;
    uint64_t mlock_kib = 516;    // kernel.perf_event_mlock_kb
    uint64_t most_hz = 100000;   // kernel.perf_event_max_sample_rate
    bool defers_chains = false;  // record::has_deferred_chains()
};
Result<RecordHost> this_host();

struct RecordPlan {
    record::RecordOptions recorder;
    std::optional<Interval> interval{};
    std::vector<std::string> remarks;
    std::vector<std::string> lines;  // such as "event: cycles, 4000 a second"
};
// Lines of the plan that do not depend on events.
std::string output_line(const RecordCommandOptions &options);
std::string until_line(const RecordCommandOptions &options);
Result<RecordPlan> make_plan(const RecordCommandOptions &options, const RecordHost &host);

}  // namespace pmukit::cli
