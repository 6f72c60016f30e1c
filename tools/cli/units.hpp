// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The units of the suite as the command knows them: which PMU belongs to which, and how to record
// it.
#pragma once

#include <string_view>

namespace pmukit::cli {

struct Unit {
    std::string_view name;
    std::string_view pmu_prefix;
    std::string_view example_terms;  // of the record line that `pmukit list` shows
};

constexpr Unit kUnits[] = {
    {"cxl_hmu", "cxl_hmu_mem",
     "epoch_type=0,access_type=3,hotness_threshold=16,epoch_multiplier=1,epoch_scale=4,hotness_"
     "granual=12"},
};

// nullptr: not one of ours.
constexpr const Unit *unit_of_pmu(std::string_view pmu)
{
    for (const Unit &unit : kUnits)
        if (pmu.starts_with(unit.pmu_prefix))
            return &unit;
    return nullptr;
}

}  // namespace pmukit::cli
