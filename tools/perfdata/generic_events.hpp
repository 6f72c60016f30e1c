// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names that perf has for events of the kernel's own types (perf-list(1)): cycles, page-faults,
// L1-dcache-load-misses, r1a8. No PMU's folder in sysfs describes them.
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

// nullopt: not such a name.
std::optional<GenericEvent> generic_event(std::string_view name);
// Those that are listed, for suggestions: not rNNN.
std::vector<std::string> generic_names();

// It counts nothing: perf records it for the records beside samples.
bool is_dummy(const Attr &attr);

// How an event is called that a file has no name for, as perf does: cycles:u, r1a8. Empty: of a PMU
// whose types the kernel gives out.
std::string default_name(const Attr &attr);
// What the file calls it, or its default name.
std::string name_of(const Event &event);
// Of PERF_TYPE_*: software. Empty: another type.
std::string_view type_name(uint32_t type);

}  // namespace pmukit::perfdata
