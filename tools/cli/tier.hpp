// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit tier: finds in a recording of hot device memory the pages of a process that should be on
// the fast node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "console/output.hpp"
#include "tier/move_pages.hpp"

namespace pmukit::cli {

struct TierOptions {
    std::string input = "perf.data";
    uint32_t pid = 0;
    std::string budget = "100%";
    std::optional<uint32_t> fast_node, slow_node;
    std::string cxl_topology = "/sys";
    std::string host;      // host that cxl_topology describes; empty: the recording's host
    bool dry_run = false;  // moves nothing, as without --apply
    bool apply = false;
    bool json = false;
    size_t top = 16;  // number of moves to print; 0: all
    std::string proc_root = "/proc";
    tier::MovePages move_pages = tier::system_move_pages;
};

Result<int> run_tier(const TierOptions &options, Output &out);

}  // namespace pmukit::cli
