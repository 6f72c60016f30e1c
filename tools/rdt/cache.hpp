// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An L3: set-associative, each line with the RMID of the access that brought it in. The mask of a
// class of service says into which ways an access may bring a line, not where it may find one.
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

// Of an RMID in one L3. Lines moved from memory count whether or not a way could take them.
struct Tally {
    uint64_t lines = 0;  // that are there now
    uint64_t local = 0;  // moved from memory of the L3's own node
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
    // False: no memory.
    bool make(const Shape &shape);

    // True: the line was there.
    bool access(const Access &access);

    const Tally &of(uint32_t rmid) const { return tallies_[rmid]; }

    // Lines of neighboring addresses lie in different sets, and so do those of one set's size.
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

// In front of the L3, of one CPU, direct-mapped: what hits here is not seen by the L3. It does not
// know what other CPUs write, and keeps what the L3 has lost.
class InnerCache {
public:
    // False: no memory.
    bool make(const Shape &shape);

    // True: the line was there. It is now.
    bool access(uint64_t line);

private:
    uint64_t lines_ = 0;
    Memory<uint64_t> line_after_;  // number of the line + 1; 0: none
};

}  // namespace pmukit::rdt
