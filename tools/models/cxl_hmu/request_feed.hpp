// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Accesses to the device's memory that do not use its BAR: if the memory is part of the guest's
// memory, no access to it is trapped, and another component reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pmukit::models::cxl_hmu {

struct FedAccess {
    uint64_t dpa = 0;  // within the memory
    unsigned width = 0;
    bool write = false;
};

class RequestFeed {
public:
    virtual ~RequestFeed() = default;
    // Reads accesses in order and returns their number: less than into.size() if no more are
    // available.
    virtual size_t take(std::span<FedAccess> into) = 0;
    // Call after the guest has ended: take() then returns only accesses reported so far.
    virtual void close() = 0;
};

}  // namespace pmukit::models::cxl_hmu
