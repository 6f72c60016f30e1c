// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs guests with their device models, and checks the results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "vmrun_tables.hpp"

namespace pmukit::vm {

struct SessionOptions {
    const KernelQuirks *kernel = nullptr;
    const DriverSpec *driver = nullptr;  // nullptr: a guest without devices, to test that it boots
    Mode mode = Mode::kTest;
    // The scenario to run. Empty: every scenario that is routine on the kernel.
    std::string scenario;
    bool all = false;  // runs every scenario that the kernel supports
    // Runs only one of the driver's brief scenarios: the one with this index modulo their count.
    std::optional<uint64_t> brief;
    // Runs only the routine scenarios of one shard. The shard number is taken modulo kShards.
    std::optional<uint64_t> shard;
    std::optional<Placement> placement;  // replaces the placement of the scenario
    uint64_t seed = 1;
    unsigned seconds = 60;  // replaces {seconds} in the commands of steps
    bool verbose = false;
    bool allow_kvm = true;
    std::filesystem::path cache;
    std::filesystem::path build;
    std::filesystem::path selftests;
    std::filesystem::path out;  // an empty folder with a short path, because it also holds sockets
};

struct Totals {
    unsigned passed = 0;
    unsigned failed = 0;
    std::string kernel_version;
};

// Runs one guest for each scenario, checks its results and prints them. An Error means that the
// test environment failed and nothing was checked.
Result<Totals> run_session(const SessionOptions &options);

}  // namespace pmukit::vm
