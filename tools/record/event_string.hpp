// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Event strings in perf's syntax. An event of a PMU is pmu/term=value,flag,alias/modifiers. A
// generic event is name:modifiers or name/term=value/modifiers. Commas separate events. Parsing
// needs only the text; encoding needs the description of the PMU (sysfs_pmu.hpp).
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
    size_t at = 0;  // offset in the text of the event
};

struct EventString {
    std::string text;  // as the user wrote it, without blanks around it
    std::string pmu;   // name of the PMU or of a generic event
    std::vector<Term> terms;
    Modifiers modifiers;
    std::optional<perfdata::GenericEvent> generic{};
    std::string name{};  // name of the event in the recording: the term name=, or the text
};

// Error messages count characters from 1. The offset of an Error counts from 0.
Result<std::vector<EventString>> parse_event_strings(std::string_view text);

// Values for the attributes of an event.
struct EventSettings {
    ConfigWords words{};
    Modifiers modifiers;
    std::optional<uint64_t> period, frequency_hz;  // at most one of them
};

// Reads the description of the event's PMU from its sysfs directory. A generic event gets its own
// name and type, and the precision (caps/max_precise) of the CPU's PMU.
Result<Pmu> pmu_of(const std::string &root, const EventString &event);

// Encodes the terms with the PMU's format and events. Also accepts config=, config1= ... config4=,
// period= and freq=. Refuses a value that the PMU does not support according to its caps/, and
// names the reason.
Result<EventSettings> encode_event(const EventString &event, const Pmu &pmu);

}  // namespace pmukit::record
