// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How QM_CTR shows what an L3 has counted: in units, so many bits wide, with what may stand in the
// way of a value. AMD's counters of bandwidth are fewer than RMIDs: one that is read without a
// counter gets that of the RMID that was read longest ago, is unavailable this time, and begins
// at 0.
#pragma once

#include <cstdint>

#include "rdt/cache.hpp"
#include "rdt/registers.hpp"

namespace pmukit::rdt {

class Counters {
public:
    void make(const Shape &shape) { shape_ = shape; }

    uint64_t read(const Cache &cache, const Selection &selection);

private:
    // A counter that serves an RMID now.
    struct Service {
        uint32_t rmid = 0;
        bool used = false;
        uint64_t read_at = 0;
        Tally before{};  // when it began
    };

    uint64_t flags_of_this_read();
    uint64_t bandwidth(const Tally &tally, const Tally &before, Event event) const;
    Service *service_of(uint32_t rmid);
    Service &oldest();
    uint64_t read_bandwidth(const Cache &cache, uint32_t rmid, Event event);

    Shape shape_;
    uint64_t reads_ = 0;
    Service services_[kMaxCounters];
};

}  // namespace pmukit::rdt
