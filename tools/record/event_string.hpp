// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Event strings as perf takes them: pmu/term=value,flag,alias/modifiers, name:modifiers of a
// generic event, or name/term=value/modifiers of one, and several of them joined by commas. Parsing
// is pure; what a PMU makes of it needs its description (sysfs_pmu.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "perfdata/generic_events.hpp"
#include "record/modifiers.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

struct Term {
    std::string name;
    std::optional<std::string> value;
    size_t at = 0;  // in the event's text, from 0
};

struct EventString {
    std::string text;  // as given, without blanks around it
    std::string pmu;   // or the name of a generic event
    std::vector<Term> terms;
    Modifiers modifiers;
    std::optional<perfdata::GenericEvent> generic{};
};

// Errors name the character, from 1, and have it, from 0, as offset.
Result<std::vector<EventString>> parse_event_strings(std::string_view text);

// What goes into the attributes of an event.
struct EventSettings {
    ConfigWords words{};
    Modifiers modifiers;
    std::optional<uint64_t> period, frequency_hz;  // at most one of them
};

// What describes the PMU of an event: its folder, or for a generic one what the CPU's own PMU says
// of precision. It has the name of the event then.
Result<Pmu> pmu_of(const std::string &root, const EventString &event);

// Terms through the PMU's format and events. Also understood: config=, config1= ... config4=,
// period= and freq=. What the PMU says it does not support is refused here, in words.
Result<EventSettings> encode_event(const EventString &event, const Pmu &pmu);

}  // namespace pmukit::record
