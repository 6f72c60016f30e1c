// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of a page out of what the reports counted. The numbers are those of the reports; nothing
// is counted here again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/driver_handlers.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"
#include "decode/imc/imc_decode.hpp"
#include "decode/time_grid.hpp"
#include "html/page.hpp"
#include "session/placement.hpp"

namespace pmukit::cli {

// What stands on every figure of an event.
struct FigureHead {
    std::string pmu, source;
    std::vector<std::string> losses;
};

// A line for each remark that counts something.
std::vector<std::string> lines_of(std::span<const Remark> remarks);
html::Figure figure_of(const FigureHead &head, std::string title);
// "12.5%" of all; "-" when that is nothing.
std::string share_text(uint64_t part, uint64_t all);
// Seconds as perf script prints them, so that they are good for `pmukit cut --time`.
std::string seconds_text(uint64_t time_ns);
// "4 KiB", for whole powers; otherwise bytes.
std::string bytes_text(uint64_t bytes);
double part_of(uint64_t part, uint64_t all);

// cxl_hmu: heat over address and time; the hottest units; with a topology, nodes and tiers
std::vector<html::Figure> hot_figures(const FigureHead &head, const decode::cxl_hmu::HotList &list,
                                      const decode::AddressGrid &heat, size_t top,
                                      const Placer *placer);
// Of all devices together. places: by node.
html::Figure node_figure(const FigureHead &head, const std::vector<HotPlace> &places,
                         bool always_on);

// hisi_ptt: TLPs over time, latency of requests, requesters
std::vector<html::Figure> traffic_figures(const FigureHead &head,
                                          const decode::hisi_ptt::Traffic &traffic, size_t top);

// cache_qos: a line for each monitor and L3, occupancy and bandwidth apart
std::vector<html::Figure> cache_figures(const FigureHead &head,
                                        const decode::cache_qos::SeriesTable &series);

// imc: who ran where
struct ImcStack {
    std::string command;
    uint32_t pid = 0, tid = 0;
    decode::imc::Mode mode = decode::imc::Mode::kUser;
    std::string object, function;
    auto operator<=>(const ImcStack &) const = default;
};
html::Figure flame_figure(const FigureHead &head, const std::map<ImcStack, uint64_t> &stacks,
                          size_t top);

}  // namespace pmukit::cli
