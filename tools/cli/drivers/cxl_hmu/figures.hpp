// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of cxl_hmu: heat by address and time, the hottest units, and, with a topology, nodes and
// tiers.
#pragma once

#include <vector>

#include "cli/figures.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "decode/time_grid.hpp"
#include "session/placement.hpp"

namespace pmukit::cli {

std::vector<html::Figure> hot_figures(const FigureHead &head, const decode::cxl_hmu::HotList &list,
                                      const decode::AddressGrid &heat, size_t top,
                                      const Placer *placer);
// Returns one figure for all devices. `places` has one element per node, the hottest first.
html::Figure node_figure(const FigureHead &head, const std::vector<HotPlace> &places,
                         bool always_on);

}  // namespace pmukit::cli
