// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What can be chosen about the device, and whether it can be built that way.
#pragma once

#include "base/result.hpp"
#include "models/cxl_hmu/faults.hpp"
#include "models/cxl_hmu/instance.hpp"
#include "models/cxl_hmu/request_feed.hpp"
#include "vfu/bar_memory.hpp"

namespace pmukit::models::cxl_hmu {

enum class Vectors { kMsix, kMsi, kNone };  // kNone: everything is polled

struct Options {
    uint64_t memory_bytes = uint64_t{16} << 20;
    unsigned chmus = 1;
    unsigned instances = 2;  // of each CHMU
    uint64_t serial = 0x4348'4d55'0000'0001;
    bool doe = false;   // a DOE mailbox, which knows discovery alone
    bool cpmu = false;  // a CXL PMU, whose counters stand still
    // The device's memory, which the guest maps, so that its accesses are not seen; not owned.
    vfu::BarMemory *mapped = nullptr;
    // The memory is the guest's own, and this tells what is done to it; not owned.
    RequestFeed *feed = nullptr;
    Vectors vectors = Vectors::kMsix;
    ChmuShape shape{};
    InstanceParams instance{};
    const Fault *fault = nullptr;
};

// One line naming the option and its limits when the device cannot be built.
Result<void> check(const Options &options);

}  // namespace pmukit::models::cxl_hmu
