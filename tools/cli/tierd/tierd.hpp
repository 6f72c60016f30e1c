// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit tierd: moves hot pages of processes to the fast node while they run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "console/output.hpp"
#include "tier/move_pages.hpp"

namespace pmukit::cli {

struct TierdOptions {
    std::vector<std::string> events;
    std::string replay;  // recording to read instead of events
    std::string source;  // "model": the devices are emulated
    std::vector<uint32_t> processes;
    std::string cgroup;
    bool all = false;  // all processes
    uint64_t interval_ns = 1000000000;
    std::string policy = "hysteresis";
    uint64_t move_cost = 64;
    std::string budget = "100%";
    uint64_t fast_percent = 100;
    std::optional<uint64_t> most_pages;  // in an interval
    std::optional<uint64_t> most_mib_s;  // MiB per second
    bool demotes = true;
    std::optional<uint32_t> fast_node, slow_node;
    std::string cxl_topology = "/sys", host;
    bool dry_run = false, force = false;
    std::string audit, metrics;       // files; empty: none
    std::optional<uint64_t> explain;  // address of a page to explain from the audit log
    std::string proc_root = "/proc", sys_root = "/sys", lock = "/run/pmukit-tierd.lock";
    tier::MovePages move_pages = tier::system_move_pages;
};

// Error: options contradict each other, or one is missing.
Result<void> check_options(const TierdOptions &options);
// Call after check_options().
Result<int> run_tierd(const TierdOptions &options, Output &out);

}  // namespace pmukit::cli
