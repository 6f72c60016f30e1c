// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Accesses to the device's memory that do not use its BAR. If the memory is part of the guest's
// memory, the model cannot trap the accesses, and another component reports them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pmukit::models::cxl_hmu {

struct FedAccess {
    uint64_t dpa = 0;  // offset in the device's memory
    unsigned width = 0;
    bool write = false;
};

class RequestFeed {
public:
    virtual ~RequestFeed() = default;
    // Reads accesses in order and returns their number. It is less than into.size() if no more
    // accesses are available.
    virtual size_t take(std::span<FedAccess> into) = 0;
    // Call after the guest has ended: take() then returns only accesses reported so far.
    virtual void close() = 0;
};

}  // namespace pmukit::models::cxl_hmu
