// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What drivers know of the events that are to be recorded, and of the file that it becomes.
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

// Names in the terms of an event become the numbers that its PMU has for them.
Result<void> resolve_names(record::EventString &event,
                           const std::string &root = record::kSysfsPmus);

// The AUX area of these events where the user asks for none, pages of so many bytes. nullopt: no
// event wants another than usual.
std::optional<size_t> usual_aux_pages(const std::vector<record::EventString> &events,
                                      size_t page_bytes);

struct AuxtraceInfo {
    uint32_t type;                // as stock perf numbers it
    std::vector<uint64_t> words;  // attr.type of the PMU, and what its driver adds
};
struct EventOfPmu {
    std::string pmu;
    uint32_t type = 0;  // attr.type
    uint64_t config = 0;
    bool has_pattern = false;  // a term of that name
};
// What AUXTRACE_INFO says for a file of these events: the words of the first, as stock perf writes
// them. nullopt: nothing, because stock perf would take AUX data of another driver for it as well.
std::optional<AuxtraceInfo> auxtrace_info_of(const std::vector<EventOfPmu> &events);

}  // namespace pmukit::cli
