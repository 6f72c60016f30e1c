// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Guests from models to verdicts.
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
    const DriverSpec *driver =
        nullptr;  // nullptr: a guest without devices, to see that one boots at all
    Mode mode = Mode::kTest;
    std::string scenario;                // of a test; empty: those of a plain run
    bool all = false;                    // or every one that runs on the kernel
    std::optional<uint64_t> brief;       // or the one of this number that is brief, counted around
    std::optional<uint64_t> shard;       // or what of a plain run is in this shard, counted around
    std::optional<Placement> placement;  // instead of the scenario's own
    uint64_t seed = 1;
    unsigned seconds = 60;  // of the steps that go on for as long as one likes
    bool verbose = false;
    bool allow_kvm = true;
    std::filesystem::path cache;
    std::filesystem::path build;
    std::filesystem::path selftests;
    std::filesystem::path out;  // exists and is empty; sockets lie here too, so its path is short
};

struct Totals {
    unsigned passed = 0;
    unsigned failed = 0;
    std::string kernel_version;
};

// Runs one guest for each scenario and checks its results, printing as it goes. An Error means that
// the test environment failed and nothing was checked.
Result<Totals> run_session(const SessionOptions &options);

}  // namespace pmukit::vm
