// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How QM_CTR shows what an L3 has counted: in units, so many bits wide, with what may stand in the
// way of a value. AMD's counters of bandwidth are fewer than RMIDs: one that is read without a
// counter gets that of the RMID that was read longest ago, is unavailable this time, and begins
// at 0. With ABMC on, software binds counters to RMIDs instead: one that is configured begins at 0.
// It is read by its number, or by its RMID and the event whose traffic it counts.
#pragma once

#include <cstdint>

#include "rdt/cache.hpp"
#include "rdt/registers.hpp"

namespace pmukit::rdt {

class Counters {
public:
    void make(const Shape &shape) { shape_ = shape; }

    uint64_t read(const Cache &cache, const Selection &selection);

    // EXT_CFG. To switch ABMC on or off takes all counters away.
    uint64_t ext_cfg() const { return by_hand_ ? kAbmcOn : 0; }
    void set_ext_cfg(uint64_t value);
    // Of the event at that place.
    uint64_t types(uint32_t place) const { return types_[place]; }
    void set_types(uint32_t place, uint64_t types) { types_[place] = types; }
    // ABMC_CFG with kAbmcApply.
    void bind(const Cache &cache, uint64_t config);
    // ABMC_DSC, of the counter that ABMC_CFG names.
    uint64_t bound(uint64_t config) const;

private:
    // A counter that serves an RMID now.
    struct Service {
        uint32_t rmid = 0;
        bool used = false;
        uint64_t read_at = 0;
        Tally before{};  // when it began
    };

    // A counter that is bound, or is not: as ABMC_DSC has it.
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
