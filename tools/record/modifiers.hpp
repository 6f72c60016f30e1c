// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The modifiers that follow an event, such as uk in pmu/terms/uk. Their meaning is that of perf
// (perf-list(1), "EVENT MODIFIERS").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pmukit::record {

struct Pmu;

// The event attributes that modifiers set.
struct Modifiers {
    bool exclude_user = false, exclude_kernel = false, exclude_hv = false;
    bool exclude_guest = false, exclude_host = false;
    // Neither G nor H is given: as in perf, guests are excluded if the PMU can do that.
    bool usual_sides = true;
    bool exclude_idle = false;
    unsigned precise = 0;       // perf_event_attr.precise_ip
    bool most_precise = false;  // the highest precision of the PMU is used
    bool sample_value = false;  // samples contain the event's count
    bool pinned = false, exclusive = false;

    bool operator==(const Modifiers &) const = default;
};

// The index of a refused letter, and the reason.
struct ModifierFault {
    size_t at;
    std::string why;
};

// Returns nullopt if all letters are valid, and sets `result`.
std::optional<ModifierFault> parse_modifiers(std::string_view letters, Modifiers &result);

// Checks the precision against caps/max_precise, and replaces most_precise by the PMU's highest
// precision. A system-wide PMU (cpumask) refuses modifiers of tasks and modes. Returns the reason
// of a refusal.
std::optional<std::string> fit_modifiers(const Pmu &pmu, Modifiers &modifiers);

}  // namespace pmukit::record
