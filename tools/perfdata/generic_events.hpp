// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf's names of events of the kernel's own types (perf-list(1)): cycles, page-faults,
// L1-dcache-load-misses, r1a8. No PMU directory in sysfs describes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfdata/attr.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

struct GenericEvent {
    uint32_t type = 0;  // enum perf_type_id
    uint64_t config = 0;

    bool operator==(const GenericEvent &) const = default;
};

// nullopt: no such name.
std::optional<GenericEvent> generic_event(std::string_view name);
// All names except rNNN, for suggestions.
std::vector<std::string> generic_names();

// The dummy event counts nothing: perf records it for records other than samples.
bool is_dummy(const Attr &attr);

// perf's name of an event that has no name in the file: cycles:u, raw 0x1a8. Empty: the PMU's type
// is assigned by the kernel at run time.
std::string default_name(const Attr &attr);
// The name in the file, or the default name.
std::string name_of(const Event &event);
// Name of a PERF_TYPE_*: software. Empty: another type.
std::string_view type_name(uint32_t type);

}  // namespace pmukit::perfdata
