// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A table of the heat (accesses and epochs) of each unit of memory. It needs 32 bytes per unit and
// has a maximum number of units. When the table is full, the colder half of its units is dropped;
// LeftOut has their sums, and the most heat that a single unit can have lost:
//
//     heat in the table <= heat <= heat in the table + most_short
//
// This header is not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"

namespace pmukit::decode::cxl_hmu {

class __attribute__((visibility("hidden"))) UnitTable {
public:
    static constexpr size_t kMostUnits = HotList::kMostUnits;

    explicit UnitTable(size_t most_units = kMostUnits);

    // Returns the heat of a unit, and adds the unit if it is new. The reference is valid until the
    // next call.
    HotUnit &at(uint64_t dpa);
    // All units, unsorted.
    const std::vector<HotUnit> &all() const { return units_; }
    // Returns at most `limit` units (0: all), sorted by descending accesses, then epochs, then
    // address.
    std::vector<HotUnit> hottest(size_t limit) const;
    const LeftOut &left_out() const { return left_out_; }

private:
    size_t slot_of(uint64_t dpa) const;
    void index(unsigned slots_log2);
    void leave_out_colder_half();

    size_t most_units_;
    std::vector<HotUnit> units_;
    // A hash table: each slot is 0 (free) or an index into units_ plus 1. At least half of the
    // slots are free.
    std::vector<uint32_t> slots_;
    unsigned slots_log2_ = 0;
    // The hash is randomized, because a device could choose addresses whose hashes collide.
    MultiplyHash hash_;
    LeftOut left_out_;
};

}  // namespace pmukit::decode::cxl_hmu
