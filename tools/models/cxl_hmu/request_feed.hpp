// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Accesses to the device's memory that come another way than through its BAR: where the memory is a
// part of the guest's own, no access to it is trapped, and another component reports it.
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
    // What has come since the last call, in its order; how many. Fewer than fit: there is no more
    // now.
    virtual size_t take(std::span<FedAccess> into) = 0;
    // No guest waits for the device any more: take() gives what is there now, and so comes to an
    // end.
    virtual void close() = 0;
};

}  // namespace pmukit::models::cxl_hmu
