// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of cache_qos: one line per monitor and L3, separately for occupancy and bandwidth.
#pragma once

#include <optional>
#include <vector>

#include "cli/figures.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"

namespace pmukit::cli {

// The error bound of an occupancy. nullopt: resctrl does not know it, or the series is a bandwidth.
std::optional<uint64_t> bound_of(const decode::cache_qos::Series &series, bool of_resctrl);

// `bytes` is the approximate limit for the size of the figures. Series beyond the limit are left
// out, and the last row of the table shows how many these are.
std::vector<html::Figure> cache_figures(const FigureHead &head,
                                        const decode::cache_qos::SeriesTable &series,
                                        bool of_resctrl, size_t bytes);

}  // namespace pmukit::cli
