// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf's names (perf-list(1)) for events of the fixed types of enum perf_type_id: cycles,
// page-faults, L1-dcache-load-misses, r1a8. No PMU directory in sysfs describes these names.
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

// True for the dummy event, which counts nothing: perf opens it to get records other than samples.
bool is_dummy(const Attr &attr);

// Type of the PMU of an event. On a machine with CPUs of several kinds, it is in the upper half of
// the config of a hardware or cache event.
uint32_t pmu_type(const Attr &attr);
// A name for an event that has none in the file: perf's, such as cycles:u, raw 0x1a8 or
// cpu_core/cycles/. pmu: name of the PMU of pmu_type(), empty if not known. perf refuses a
// tracepoint without a name; here it is tracepoint/id=0x4d/. Never empty.
std::string default_name(const Attr &attr, std::string_view pmu = {});
// The name in the file, or the default name with the file's names of PMUs. Never empty.
std::string name_of(const Reader &reader, const Event &event);
// Name of a PERF_TYPE_*, such as "software". Empty for a dynamic type.
std::string_view type_name(uint32_t type);

}  // namespace pmukit::perfdata
