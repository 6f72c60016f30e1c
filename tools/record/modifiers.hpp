// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Modifiers after an event, as in perf (perf-list(1), "EVENT MODIFIERS"): pmu/terms/uk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pmukit::record {

struct Pmu;

// The attributes that the modifiers set.
struct Modifiers {
    bool exclude_user = false, exclude_kernel = false, exclude_hv = false;
    bool exclude_guest = false, exclude_host = false;
    bool exclude_idle = false;
    unsigned precise = 0;       // perf_event_attr.precise_ip
    bool most_precise = false;  // the highest precision of the PMU
    bool sample_value = false;  // samples carry the event's count
    bool pinned = false, exclusive = false;

    bool operator==(const Modifiers &) const = default;
};

// The index of a refused letter, and why it is refused.
struct ModifierFault {
    size_t at;
    std::string why;
};

// nullopt: all letters are valid and result is filled.
std::optional<ModifierFault> parse_modifiers(std::string_view letters, Modifiers &result);

// Checks the precision against caps/max_precise. A system-wide PMU (cpumask) refuses task and mode
// modifiers. Resolves most_precise. Returns the reason of a refusal.
std::optional<std::string> fit_modifiers(const Pmu &pmu, Modifiers &modifiers);

}  // namespace pmukit::record
