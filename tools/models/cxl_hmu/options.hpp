// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The options of the CXL memory device, and the check of their values.
#pragma once

#include "base/result.hpp"
#include "models/cxl_hmu/faults.hpp"
#include "models/cxl_hmu/instance.hpp"
#include "models/cxl_hmu/request_feed.hpp"
#include "vfu/bar_memory.hpp"

namespace pmukit::models::cxl_hmu {

enum class Vectors { kMsix, kMsi, kNone };  // kNone: software must poll

struct Options {
    uint64_t memory_bytes = uint64_t{16} << 20;
    unsigned chmus = 1;
    unsigned instances = 2;  // instances per CHMU
    uint64_t serial = 0x4348'4d55'0000'0001;
    bool doe = false;   // has a DOE mailbox that supports only discovery
    bool cpmu = false;  // has a CXL PMU whose counters never count
    // The device's memory if the guest maps it, else nullptr. The model does not see accesses to
    // mapped memory. Not owned.
    vfu::BarMemory *mapped = nullptr;
    // Reports accesses to the device's memory if that memory is part of the guest's memory. Not
    // owned.
    RequestFeed *feed = nullptr;
    Vectors vectors = Vectors::kMsix;
    ChmuShape shape{};
    InstanceParams instance{};
    const Fault *fault = nullptr;
};

// An error is one line with the option and its limits.
Result<void> check(const Options &options);

}  // namespace pmukit::models::cxl_hmu
