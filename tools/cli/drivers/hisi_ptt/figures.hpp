// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of hisi_ptt: TLPs over time, latency of requests, and requesters.
#pragma once

#include <vector>

#include "cli/figures.hpp"
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"

namespace pmukit::cli {

std::vector<html::Figure> traffic_figures(const FigureHead &head,
                                          const decode::hisi_ptt::Traffic &traffic, size_t top);

}  // namespace pmukit::cli
