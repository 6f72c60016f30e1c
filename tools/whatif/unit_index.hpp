// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Numbers the units and pages of a log: 0, 1, 2 ... in the order of their first access. All that a
// replay knows of a unit or page is then in arrays, and only one hash table is searched per access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/budget.hpp"
#include "base/hash.hpp"

namespace pmukit::whatif {

constexpr uint32_t kNoNumber = UINT32_MAX;

// Numbers keys. The hash is salted: a log is a file of another user.
class Numbers {
public:
    // Memory of a key, with the free part of the tables.
    static constexpr size_t kKeyBytes = 2 * sizeof(uint64_t) + 4 * sizeof(uint32_t);

    // Returns the number of a key, or kNoNumber.
    uint32_t find(uint64_t key) const
    {
        const uint32_t place = keys_.empty() ? 0 : slots_[slot_of(key)];
        return place ? place - 1 : kNoNumber;
    }
    // Numbers a key that has no number. At most 2^32 - 2 keys.
    uint32_t add(uint64_t key);
    size_t size() const { return keys_.size(); }
    uint64_t key(uint32_t number) const { return keys_[number]; }

private:
    size_t slot_of(uint64_t key) const
    {
        size_t slot = hash_.slot(key, slots_log2_);
        while (slots_[slot] && keys_[slots_[slot] - 1] != key)
            slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    std::vector<uint64_t> keys_;
    std::vector<uint32_t> slots_;  // number plus 1; 0: free. At least half are free
    unsigned slots_log2_ = 0;
    MultiplyHash hash_;
};

// The units of a log, and the page that each belongs to. A page is what is moved as a whole: a page
// of the kernel, or a unit if units are larger.
class UnitIndex {
public:
    // left: the memory of all indexes. unit_bytes, page_bytes: memory that the user of the index
    // needs for a unit and for a page, which the index charges as well.
    UnitIndex(unsigned unit_log2, unsigned page_log2, Budget &left, size_t unit_bytes,
              size_t page_bytes);

    unsigned unit_log2() const { return unit_log2_; }
    unsigned page_log2() const { return page_log2_; }
    size_t units() const { return units_.size(); }
    size_t pages() const { return accesses_.size(); }

    // Counts accesses to an address. Returns the number of its unit, or kNoNumber if the memory is
    // used up.
    uint32_t count(uint64_t dpa, uint64_t accesses = 1)
    {
        const uint64_t unit = dpa >> unit_log2_;
        if (last_ == kNoNumber || units_.key(last_) != unit) {
            last_ = units_.find(unit);
            if (last_ == kNoNumber && !add(unit))
                return kNoNumber;
        }
        accesses_[page_of(last_)] += accesses;
        return last_;
    }
    // Returns the number of a unit by its address divided by the unit size, or kNoNumber.
    uint32_t find(uint64_t unit) const { return units_.find(unit); }
    // Returns the number of the page that contains the unit with this number.
    uint32_t page_of(uint32_t unit) const { return is_one_ ? unit : page_of_[unit]; }
    uint64_t dpa_of(uint32_t unit) const { return units_.key(unit) << unit_log2_; }
    // Counted accesses of all pages, in the order of their numbers.
    const std::vector<uint64_t> &accesses() const { return accesses_; }

private:
    bool add(uint64_t unit);

    unsigned unit_log2_, page_log2_;
    bool is_one_;  // units and pages are the same
    Budget &left_;
    size_t unit_bytes_, page_bytes_;
    Numbers units_, pages_;
    std::vector<uint32_t> page_of_;
    std::vector<uint64_t> accesses_;
    uint32_t last_ = kNoNumber;  // unit of the last access: the next one is often to the same
};

}  // namespace pmukit::whatif
