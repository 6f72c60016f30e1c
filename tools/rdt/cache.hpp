// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A set-associative L3. Each line carries the RMID of the access that filled it. The mask of a
// class of service limits the ways that an access may fill, not the ways in which it may hit.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "rdt/shape.hpp"

namespace pmukit::rdt {

struct FreeMemory {
    void operator()(void *memory) const { std::free(memory); }
};
template <typename Element>
using Memory = std::unique_ptr<Element[], FreeMemory>;

// Counts of one RMID in one L3, in lines. If the mask of the class is empty, the L3 does not store
// a line that is fetched from memory, but the line still counts as traffic.
struct Tally {
    uint64_t lines = 0;  // lines in the cache now
    uint64_t local = 0;  // fetched from memory of the L3's node
    uint64_t remote = 0;
};

struct Access {
    uint64_t line = 0;  // physical address / kLineBytes
    uint32_t rmid = 0;
    uint64_t ways = 0;  // mask of the class of service
    bool remote = false;
};

class Cache {
public:
    // Returns false if the allocation fails.
    bool make(const Shape &shape);

    // Returns true on a hit.
    bool access(const Access &access);

    const Tally &of(uint32_t rmid) const { return tallies_[rmid]; }

    // Hashes the line number, so that neighboring lines and large strides spread over the sets.
    static uint32_t set_of(uint64_t line, uint32_t sets);

private:
    struct Slot {
        uint64_t line, used;
        uint32_t rmid;
        bool valid;
    };

    Slot *find(Slot *set, uint64_t line) const;
    Slot *victim(Slot *set, uint64_t mask) const;
    void fill(Slot &slot, const Access &access);

    uint32_t sets_ = 0, ways_ = 0;
    uint64_t now_ = 0;
    Memory<Slot> slots_;
    Tally tallies_[kMaxRmids];
};

// A direct-mapped cache of one CPU; only accesses that miss in it go to the L3. Neither writes of
// other CPUs nor evictions from the L3 invalidate its lines.
class InnerCache {
public:
    // Returns false if the allocation fails.
    bool make(const Shape &shape);

    // Returns true on a hit; fills the line on a miss.
    bool access(uint64_t line);

private:
    uint64_t lines_ = 0;
    Memory<uint64_t> line_after_;  // line number + 1; 0: empty
};

}  // namespace pmukit::rdt
