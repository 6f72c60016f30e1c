// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Heat per unit of memory, in a table with a limit; 32 bytes per unit. When the table is full, its
// colder half is dropped and summed up. This bounds how much heat a unit can have lost:
//
//     heat in the table <= heat <= heat in the table + most_short
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/limits.hpp"

namespace pmukit::decode::cxl_hmu {

struct HotUnit {
    uint64_t dpa = 0;       // device physical address of the unit
    uint64_t accesses = 0;  // counts times the downsampling factor; 0 in always-on mode
    uint64_t epochs = 0;    // how often the unit was on the hot list
};

// Heat that the table dropped; 0 as long as all units fit.
struct LeftOut {
    uint64_t units = 0;  // a unit that is dropped twice counts twice
    uint64_t accesses = 0, epochs = 0;
    uint64_t most_short_accesses = 0, most_short_epochs = 0;  // for any single unit
};

inline uint64_t add_or_max(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

class UnitTable {
public:
    static constexpr size_t kMostUnits = limits::kUnits / 32;

    explicit UnitTable(size_t most_units = kMostUnits);

    // Returns the heat of a unit, and adds the unit if it is new. Valid until the next call.
    HotUnit &at(uint64_t dpa);
    // All units, unsorted.
    const std::vector<HotUnit> &all() const { return units_; }
    // Hottest first: by accesses, then by epochs, then by address. limit 0: all.
    std::vector<HotUnit> hottest(size_t limit) const;
    const LeftOut &left_out() const { return left_out_; }

private:
    size_t slot_of(uint64_t dpa) const;
    void index(unsigned slots_log2);
    void leave_out_colder_half();

    size_t most_units_;
    std::vector<HotUnit> units_;
    std::vector<uint32_t> slots_;  // index into units_ plus 1; 0: free. At least half are free
    unsigned slots_log2_ = 0;
    MultiplyHash hash_;  // randomized, as the device chooses the addresses
    LeftOut left_out_;
};

}  // namespace pmukit::decode::cxl_hmu
