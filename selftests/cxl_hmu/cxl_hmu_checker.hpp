// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the units and counts that pmukit decoded from a recording with the accesses that really
// happened: the model's access log (it logs every load and store before any of its counters counts
// it), the workload's tally, and the model's count. Shares no code with the decoder or the model.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::checker {

struct UnitAccesses {
    uint64_t loads = 0;
    uint64_t stores = 0;
    uint64_t sum() const { return loads + stores; }
    bool operator==(const UnitAccesses &) const = default;
};
using Truth = std::map<uint64_t, UnitAccesses>;  // by unit number

// Parses "# pmukit access log 1", followed by lines "R 0x<dpa> <width>" or "W 0x<dpa> <width>".
Result<Truth> read_access_log(std::string_view text, uint64_t unit_bytes);

// Parses lines "<unit> <loads> <stores>".
Result<Truth> read_tally(std::string_view text);

uint64_t sum_of(const Truth &truth);

// Returns the units with at least as many accesses as the unit of rank `rank`. If several units
// have as many accesses as that unit, there are more than `rank` units in the result.
std::set<uint64_t> hottest(const Truth &truth, size_t rank);

struct Report {
    uint64_t unit_bytes = 0;
    uint64_t entries = 0;
    uint64_t lost = 0;
    std::vector<uint64_t> hot;  // unit numbers, hottest first
};

// Parses the output of `pmukit report --json` for a recording with one cxl_hmu PMU.
Result<Report> read_report(std::string_view json);

struct ModelSummary {
    uint64_t accesses = 0;
    uint64_t entries = 0;
    uint64_t dropped = 0;
};

// Parses the last line, "model: device=cxl_hmu accesses=<n> ...".
Result<ModelSummary> read_model_summary(std::string_view text);

struct Score {
    // Share of the truly hottest `rank` units that are among the first `rank` units of the report.
    double recall = 0;
    // Share of the first `rank` units of the report that are truly among the hottest units.
    double precision = 0;
};

Score score(const std::set<uint64_t> &truly_hot, const std::vector<uint64_t> &reported,
            size_t rank);

}  // namespace pmukit::checker
