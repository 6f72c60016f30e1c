// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What figures of a page have in common. Each driver makes its own out of what its report counted;
// nothing is counted again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/driver_handlers.hpp"
#include "html/page.hpp"

namespace pmukit::cli {

// What stands on every figure of an event.
struct FigureHead {
    std::string pmu, source;
    std::vector<std::string> losses;
    std::string whole = html::kWhole;
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

}  // namespace pmukit::cli
