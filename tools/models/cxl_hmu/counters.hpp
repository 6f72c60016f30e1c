// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The counters of one CHMU instance. As in hardware, there are fewer counters than units. CXL r3.2
// leaves their organization to the implementation (section 8.2.8, "counters"). Here they are a
// set-associative tag array.
//
//            way 0             way 1              way 15
//   set 0  | unit count credit | unit count credit | ... |
//   set 1  | ...                                         |
//
// A unit hashes to one set. A hit increments count and credit. A miss allocates a free counter with
// count 1; if the set is full, the replacement policy applies. With kCredit, the way with the
// least credit loses one credit. If that way then has no credit, the new unit replaces its unit;
// otherwise the access is lost. So a stream of units that are accessed once cannot evict a unit
// that is accessed often. Misses lower the credit, not the count, so the count of a unit is exact
// since its allocation. The two other policies model simpler hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmukit::models::cxl_hmu {

enum class Replacement {
    kCredit,
    kNone,   // if no counter is free, the access is lost
    kLeast,  // evict the way with the least count
};

struct CounterScheme {
    unsigned number = 1024;  // at most `ways`, or a multiple of it
    unsigned ways = 16;      // 1: each set has one counter (direct mapping)
    Replacement replacement = Replacement::kCredit;

    friend bool operator==(const CounterScheme &, const CounterScheme &) = default;
};

class Counters {
public:
    explicit Counters(const CounterScheme &scheme);

    struct Counter {
        uint64_t unit = 0;
        uint32_t count = 0;  // 0: free
        uint32_t credit = 0;
        // Tick in which the counter was allocated. Used for per-counter epochs.
        uint32_t birth = 0;
    };

    // Counts one access to a unit. The count does not exceed `limit`. Returns the counter of the
    // unit, or nullptr if the access was lost. The pointer is valid until the next call.
    Counter *count(uint64_t unit, uint32_t limit, uint32_t tick);

    // Calls visit(counter) for each counter in use, in array order, and frees the counter if
    // visit() returns true.
    template <typename Visit>
    void sweep(Visit visit)
    {
        if (used_ == 0)
            return;
        for (Counter &counter : counters_) {
            if (counter.count != 0 && visit(counter))
                free(counter);
        }
    }
    void free(Counter &counter);
    void free_all();

    size_t size() const { return counters_.size(); }
    size_t used() const { return used_; }

private:
    // Hardware would have 8 bits for the credit.
    static constexpr uint32_t kMaxCredit = 255;

    bool gives_way_sooner(const Counter &way, const Counter &other) const;
    bool gives_way(Counter &way) const;

    std::vector<Counter> counters_;
    Replacement replacement_;
    unsigned ways_;
    uint64_t sets_;
    size_t used_ = 0;
};

}  // namespace pmukit::models::cxl_hmu
