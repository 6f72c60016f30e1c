// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Helpers for figures of an HTML page. Each driver builds its figures from the counts of its
// report; nothing is counted again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/driver_handlers.hpp"
#include "html/page.hpp"

namespace pmukit::cli {

// Text that every figure of an event shows.
struct FigureHead {
    std::string pmu, source;
    std::vector<std::string> losses;
    std::string whole = sentences::kNothingLost;
};

// Returns one line per remark whose is_shown() is true.
std::vector<std::string> lines_of(std::span<const Remark> remarks);
html::Figure figure_of(const FigureHead &head, std::string title);
// Returns the share of `part` in `all`, such as "12.5%"; "-" if `all` is 0.
std::string share_text(uint64_t part, uint64_t all);
// Returns the time in seconds, as perf script prints it and as `pmukit cut --time` accepts it.
std::string seconds_text(uint64_t time_ns);
// Returns a size such as "4 KiB"; in bytes if it is not a whole number of KiB or a larger unit.
std::string bytes_text(uint64_t bytes);
// Returns a rate such as "12.3 MB/s" or "450 samples/s", with the prefix k, M or G; empty if the
// duration is unknown.
std::string rate_text(uint64_t count, std::optional<uint64_t> duration_ns, std::string_view unit);
// Returns bytes per second in MB/s, such as "2.097".
std::string megabytes_text(uint64_t bytes);
// Returns a character that is darker for a larger value; a value that is not 0 is never blank. The
// square root keeps little heat visible beside much.
char shade_of(uint64_t value, uint64_t largest);
double part_of(uint64_t part, uint64_t all);

}  // namespace pmukit::cli
