// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One frame of `pmukit top`, as text lines or as a JSON object.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/live_feed.hpp"

namespace pmukit::cli {

struct Frame {
    const LiveDrivers &all;
    const LiveFeed &feed;
    Span span = Span::kNow;
    uint64_t span_ms = 0;
    std::optional<std::string> source{};
    std::string view{};  // empty: all views with data
    size_t rows = 0;     // per list
    size_t columns = 0;  // line width; 0: unlimited
};

// Returns the first view that has data; the first view of all if none has data.
std::string default_view(const LiveDrivers &all);
// Returns the number of lists in a view.
size_t lists_of(const LiveDrivers &all, std::string_view view);
// Returns the names of all views.
std::vector<std::string> view_names(const LiveDrivers &all);

std::vector<std::string> lines_of(const Frame &frame);
nlohmann::ordered_json json_of(const Frame &frame);

}  // namespace pmukit::cli
