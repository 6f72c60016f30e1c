// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names that perf has for events of the kernel's own types (perf-list(1)): cycles, page-faults,
// L1-dcache-load-misses, r1a8. No PMU's folder in sysfs describes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::record {

struct GenericEvent {
    uint32_t type = 0;  // enum perf_type_id
    uint64_t config = 0;

    bool operator==(const GenericEvent &) const = default;
};

// nullopt: not such a name.
std::optional<GenericEvent> generic_event(std::string_view name);
// Those that are listed, for suggestions: not rNNN.
std::vector<std::string> generic_names();

}  // namespace pmukit::record
