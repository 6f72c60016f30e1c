// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Event strings in perf's syntax: pmu/term=value,flag,alias/modifiers, or for a generic event
// name:modifiers or name/term=value/modifiers. Commas join several events. Parsing is pure;
// encoding needs the description of the PMU (sysfs_pmu.hpp).
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
    size_t at = 0;  // offset in the event's text
};

struct EventString {
    std::string text;  // as given, without blanks around it
    std::string pmu;   // or the name of a generic event
    std::vector<Term> terms;
    Modifiers modifiers;
    std::optional<perfdata::GenericEvent> generic{};
};

// Error messages count characters from 1; the offset of an error counts from 0.
Result<std::vector<EventString>> parse_event_strings(std::string_view text);

// Values for the attributes of an event.
struct EventSettings {
    ConfigWords words{};
    Modifiers modifiers;
    std::optional<uint64_t> period, frequency_hz;  // at most one of them
};

// The description of the event's PMU, from its sysfs directory. A generic event gets its own name
// and type, and the precision (caps/) of the CPU's PMU.
Result<Pmu> pmu_of(const std::string &root, const EventString &event);

// Encodes terms with the PMU's format and events. Also accepts config=, config1= ... config4=,
// period= and freq=. Values that the PMU does not support according to its caps/ are refused here,
// with a reason.
Result<EventSettings> encode_event(const EventString &event, const Pmu &pmu);

}  // namespace pmukit::record
