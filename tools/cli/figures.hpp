// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Helpers for figures of an HTML page. Each driver builds its figures from the counts of its
// report; nothing is counted again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/driver_handlers.hpp"
#include "html/page.hpp"

namespace pmukit::cli {

// Text that every figure of an event carries.
struct FigureHead {
    std::string pmu, source;
    std::vector<std::string> losses;
    std::string whole = html::kWhole;
};

// One line per remark that is shown.
std::vector<std::string> lines_of(std::span<const Remark> remarks);
html::Figure figure_of(const FigureHead &head, std::string title);
// "12.5%" of all; "-" if all is 0.
std::string share_text(uint64_t part, uint64_t all);
// Seconds as perf script prints them; `pmukit cut --time` accepts the number.
std::string seconds_text(uint64_t time_ns);
// "4 KiB" for whole multiples of a binary unit; bytes otherwise.
std::string bytes_text(uint64_t bytes);
double part_of(uint64_t part, uint64_t all);

}  // namespace pmukit::cli
