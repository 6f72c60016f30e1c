// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Metrics of `pmukit tierd` in the OpenMetrics format, in a file for the textfile collector of
// node_exporter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "tierd/mover.hpp"

namespace pmukit::cli {

// Sums since the start, in base pages except where mover.hpp says otherwise.
struct TierdTotals {
    uint64_t intervals = 0;
    uint64_t promoted = 0, demoted = 0;
    uint64_t failed = 0;  // moves that the kernel refused
    uint64_t lost = 0;    // entries of hot lists
    uint64_t without_place = 0;
    std::optional<std::string> source{};
    bool dry_run = false;

    void add(const tierd::Interval &interval);
};

// Returns the text for the state after an interval.
std::string metrics_text(const TierdTotals &totals, const tierd::Interval &last);
// Error: the file exists and has other metrics, or it cannot be written.
Result<void> begin_metrics(const std::string &path);
// Replaces the file at once, so that a reader never gets a part of it. All users may read it: it
// has no addresses.
Result<void> write_metrics(const std::string &path, const std::string &text);

}  // namespace pmukit::cli
