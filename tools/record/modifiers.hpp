// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The letters behind an event, as perf takes them (perf-list(1), "EVENT MODIFIERS"): pmu/terms/uk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pmukit::record {

struct Pmu;

// What they change in the attributes.
struct Modifiers {
    bool exclude_user = false, exclude_kernel = false, exclude_hv = false;
    bool exclude_guest = false, exclude_host = false;
    bool exclude_idle = false;
    unsigned precise = 0;       // perf_event_attr.precise_ip
    bool most_precise = false;  // as precise as the PMU can
    bool sample_value = false;  // samples carry the event's count
    bool pinned = false, exclusive = false;

    bool operator==(const Modifiers &) const = default;
};

// Why a letter is refused, and which it was, from 0.
struct ModifierFault {
    size_t at;
    std::string why;
};

// nullopt: all letters are understood and result is filled.
std::optional<ModifierFault> parse_modifiers(std::string_view letters, Modifiers &result);

// A PMU's caps/max_precise decides on precision, and a PMU that counts for the whole machine
// (cpumask) does not know tasks or modes. Resolves most_precise.
std::optional<std::string> fit_modifiers(const Pmu &pmu, Modifiers &modifiers);

}  // namespace pmukit::record
