// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of cache_qos: a line for each monitor and L3, occupancy and bandwidth apart
#pragma once

#include <vector>

#include "cli/figures.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"

namespace pmukit::cli {

// bytes: of the page, about. What does not fit in is left out, and counted in words.
std::vector<html::Figure> cache_figures(const FigureHead &head,
                                        const decode::cache_qos::SeriesTable &series, size_t bytes);

}  // namespace pmukit::cli
