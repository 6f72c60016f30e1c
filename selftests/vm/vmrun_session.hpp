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
    std::string scenario;                // name; empty: the kernel's routine scenarios
    bool all = false;                    // or every scenario that runs on the kernel
    std::optional<uint64_t> brief;       // or the brief scenario of this number, modulo their count
    std::optional<uint64_t> shard;       // or this shard of the routine ones, modulo kShards
    std::optional<Placement> placement;  // replaces that of the scenario
    uint64_t seed = 1;
    unsigned seconds = 60;  // length of steps with {seconds}
    bool verbose = false;
    bool allow_kvm = true;
    std::filesystem::path cache;
    std::filesystem::path build;
    std::filesystem::path selftests;
    std::filesystem::path out;  // an empty folder; its path is short, as sockets are in it, too
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
