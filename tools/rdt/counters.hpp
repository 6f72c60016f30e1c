// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Computes the value of QM_CTR from the counts of an L3, in units of unit_of_node() bytes, with the
// Error and Unavailable bits. Bandwidth counters wrap at Shape::width bits. AMD has fewer bandwidth
// counters than RMIDs. A read of an RMID without a counter takes the counter of the RMID that was
// read least recently, returns Unavailable, and restarts the counter.
// With ABMC enabled, software assigns counters to RMIDs instead; configuring a counter restarts it.
// Software selects such a counter by its number, or by an RMID and an event. The RMID and the event
// select the counter that is assigned to the RMID and has the traffic types of the event.
#pragma once

#include <cstdint>

#include "rdt/cache.hpp"
#include "rdt/registers.hpp"

namespace pmukit::rdt {

class Counters {
public:
    void make(const Shape &shape) { shape_ = shape; }

    uint64_t read(const Cache &cache, const Selection &selection);

    // EXT_CFG. Switching ABMC on or off frees all counters.
    uint64_t ext_cfg() const { return by_hand_ ? kAbmcOn : 0; }
    void set_ext_cfg(uint64_t value);
    // Traffic types that an event counts; place 0: total event, 1: local event.
    uint64_t types(uint32_t place) const { return types_[place]; }
    void set_types(uint32_t place, uint64_t types) { types_[place] = types; }
    // Applies a value of ABMC_CFG that was written with kAbmcApply set.
    void bind(const Cache &cache, uint64_t config);
    // ABMC_DSC: the configuration of the counter that `config` (ABMC_CFG) selects.
    uint64_t bound(uint64_t config) const;

private:
    // A counter and the RMID to which hardware assigned it.
    struct Service {
        uint32_t rmid = 0;
        bool used = false;
        uint64_t read_at = 0;
        Tally before{};  // the RMID's counts at the assignment
    };

    // An ABMC counter. `config` is what ABMC_DSC returns; 0: not assigned.
    struct Bound {
        uint64_t config = 0;
        Tally before{};
    };

    bool is_wrong(uint64_t config) const;
    uint64_t value_of(const Cache &cache, const Bound &bound) const;
    uint64_t read_bound(const Cache &cache, const Selection &selection);
    uint64_t read_found(const Cache &cache, uint32_t rmid, Event event) const;
    uint64_t counted(const Tally &tally, const Tally &before, uint64_t types) const;
    uint64_t flags_of_this_read();
    uint64_t bandwidth(const Tally &tally, const Tally &before, Event event) const;
    Service *service_of(uint32_t rmid);
    Service &oldest();
    uint64_t read_bandwidth(const Cache &cache, uint32_t rmid, Event event);

    Shape shape_;
    uint64_t reads_ = 0;
    Service services_[kMaxCounters];
    uint64_t types_[kTypedEvents] = {kTypesAtReset[0], kTypesAtReset[1]};
    bool by_hand_ = false;
    Bound bound_[kMaxCounters];
};

}  // namespace pmukit::rdt
