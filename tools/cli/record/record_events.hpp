// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What drivers contribute to a recording: event terms, default AUX size, AUXTRACE_INFO.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "record/event_string.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {

// Replaces names in the terms of an event by the numbers that its PMU has for them in sysfs. root:
// see record::kSysfsPmus.
Result<void> resolve_names(record::EventString &event,
                           const std::string &root = record::kSysfsPmus);

// Returns the default size of the AUX area for these events, in pages of page_bytes; nullopt if no
// driver of the events has its own default.
std::optional<size_t> usual_aux_pages(const std::vector<record::EventString> &events,
                                      size_t page_bytes);

struct AuxtraceInfo {
    uint32_t type;                // stock perf's number for this kind of AUX data
    std::vector<uint64_t> words;  // attr.type of the PMU, and words of its driver
};
struct EventOfPmu {
    std::string pmu;
    uint32_t type = 0;  // attr.type
    uint64_t config = 0;
    bool has_pattern = false;  // the PMU has a term "pattern"
};
// Returns AUXTRACE_INFO for a file of these events, with the words of the first event, as stock
// perf writes them. nullopt: the file needs none, or must have none because it also has AUX data of
// another driver, to which stock perf would apply it.
std::optional<AuxtraceInfo> auxtrace_info_of(const std::vector<EventOfPmu> &events);

}  // namespace pmukit::cli
