// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What recording a PCIe trace needs besides what any event does: filters by the name of a function,
// and a file whose AUX data stock perf decodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "record/event_string.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {

// filter=0000:00:10.0 (or 00:10.0; several ports with +) becomes the number that the PMU gives to
// this root port or requester in sysfs. Events of other units, and numbers, stay as they are.
Result<void> resolve_filter(record::EventString &event,
                            const std::string &root = record::kSysfsPmus);

// The AUX area of these events where the user asks for none, pages of so many bytes: 16 MiB for a
// PCIe trace, the least that the kernel's own driver takes. nullopt: there is no such event.
std::optional<size_t> usual_aux_pages(const std::vector<record::EventString> &events,
                                      size_t page_bytes);

struct AuxtraceInfo {
    uint32_t type;      // as stock perf numbers it
    uint64_t pmu_type;  // attr.type of the PMU
};
// What AUXTRACE_INFO says for a file of these PMUs (name, attr.type). nullopt: nothing, because
// stock perf would take AUX data of another unit for it as well.
std::optional<AuxtraceInfo> auxtrace_info_of(
    const std::vector<std::pair<std::string, uint32_t>> &pmus);

}  // namespace pmukit::cli
