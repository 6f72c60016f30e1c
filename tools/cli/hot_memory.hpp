// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Host memory of the hot units of devices, for the commands that move pages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/placement.hpp"
#include "tier/plan.hpp"

namespace pmukit::cli {

struct HotMemory {
    std::vector<tier::HotRange> ranges;
    std::map<uint32_t, double> nodes;   // heat by node
    std::optional<std::string> source;  // "model": some of the data is of an emulated device
    uint64_t units_without_place = 0, units_left_out = 0;
    std::string first_reason;  // why the first unit has no place

    void add(const Placer &placer, const std::string &pmu, uint64_t dpa, uint64_t unit_bytes,
             double heat);
};

}  // namespace pmukit::cli
