// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the map of one process that covered an address at a given time. Maps may overlap.
//
// The starts and ends of maps divide the address space into pieces, the leaves of a binary tree. A
// map is stored at the few nodes that together cover its range. A lookup visits the nodes from the
// piece of the address to the root.
//
//     node             1
//                 2         3
//     piece     0    1    2    3
//     map a     |---------|            is stored at node 2
//     map b          |---------|       is stored at the pieces 1 and 2
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/budget.hpp"

namespace pmukit::cli {

struct Map {
    uint64_t time_ns, begin, end, file_offset;
    uint32_t object;  // index of the mapped object
};

class MapIndex {
public:
    // map.end must be above map.begin. Returns false if the budget has no space.
    bool add(const Map &map, Budget &left);
    size_t size() const { return maps_.size(); }
    // Bytes that add() and build() took from the budget.
    size_t taken() const { return added_bytes_ + (tree_ ? tree_->taken : 0); }
    // Removes the maps up to this time.
    void forget_until(uint64_t time_ns, Budget &left);

    struct Times {
        uint64_t since_ns, time_ns, until_ns;
    };
    // Returns the latest map at this address with since_ns <= map.time_ns <= time_ns. If none
    // exists, returns the earliest later map before until_ns, because the records of maps from
    // before the recording have times within it. Among equal times, the map added last counts as
    // the latest, and the map added first as the earliest. nullptr: no map.
    const Map *find(uint64_t address, const Times &when) const;

    // Call before find() if is_built() is false. Returns the number of maps that overlap too many
    // others for the budget; find() no longer returns these.
    size_t build(Budget &left);
    // True if few maps were added since build(); find() searches those linearly.
    bool is_built() const { return maps_.size() - indexed() <= std::max(kFew, indexed() / kFewOf); }

private:
    struct Tree {
        size_t piece_of(uint64_t address) const;
        template <typename Each>
        void for_nodes_of(const Map &map, Each each) const;

        std::vector<uint64_t> edges;  // starts of the pieces, and the end of the last piece
        // Start of each node's range in `numbers`, and the end of the last range.
        std::vector<uint32_t> starts;
        std::vector<uint32_t> numbers;  // map numbers by node; 2n and 2n + 1 are the children of n
        size_t taken = 0;               // bytes of the budget for nodes beyond kNodesPaid per map
        size_t maps = 0;                // number of maps in the tree
    };
    size_t indexed() const { return tree_ ? tree_->maps : 0; }

    static constexpr size_t kFew = 32, kFewOf = 8;

    size_t added_bytes_ = 0;
    std::vector<Map> maps_;       // the first indexed() maps are sorted by time
    std::unique_ptr<Tree> tree_;  // nullptr: a process with few maps needs none
};

}  // namespace pmukit::cli
