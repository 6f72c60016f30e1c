// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Event strings as perf takes them: pmu/term=value,flag,alias/ and several of them joined by
// commas.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

struct Term {
    std::string name;
    std::optional<std::string> value;
};

struct EventString {
    std::string text;  // as given
    std::string pmu;
    std::vector<Term> terms;
};

Result<std::vector<EventString>> parse_event_strings(std::string_view text);

// Terms to config words through the PMU's format and events. Also understood: config=, config1= ...
// config4=.
Result<ConfigWords> encode_terms(const EventString &event, const Pmu &pmu);

}  // namespace pmukit::record
