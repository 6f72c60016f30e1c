// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What lay at an address at a time, of the maps of one process, which may overlap as they like.
//
// The places where maps begin and end cut the addresses into pieces. Over the pieces stands a
// binary tree; a map is kept at the few nodes that it covers whole. Those of an address are found
// on the way from its piece to the root.
//
//     node             1
//                 2         3
//     piece     0    1    2    3
//     map a     |---------|            is kept at node 2
//     map b          |---------|       is kept at the pieces 1 and 2
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/budget.hpp"

namespace pmukit::cli {

struct Map {
    uint64_t time_ns, begin, end, file_offset;
    uint32_t object;  // what is mapped
};

class MapIndex {
public:
    // Of a map that ends behind its begin. False: the budget has no space for it.
    bool add(const Map &map, Budget &left);
    size_t size() const { return maps_.size(); }

    // Of the maps at this address that are not older than since_ns: the latest that is not after
    // time_ns; if all are, the first, because the records of what was there before the recording
    // have some time within it. Of equal times the later in the list, or the first. nullptr: none.
    const Map *find(uint64_t address, uint64_t since_ns, uint64_t time_ns) const;

    // When is_built() is false, before find(). Returns the maps that overlap so many others that
    // the budget has no space for their nodes; they are found no more.
    size_t build(Budget &left);
    // Few maps were added since: those are looked at one by one.
    bool is_built() const { return maps_.size() - indexed_ <= std::max(kFew, indexed_ / kFewOf); }

private:
    size_t piece_of(uint64_t address) const;
    template <typename Each>
    void for_nodes_of(const Map &map, Each each) const;

    static constexpr size_t kFew = 16, kFewOf = 8;

    std::vector<Map> maps_;          // the first indexed_ in the order of time
    std::vector<uint64_t> edges_;    // where the pieces begin; the last: where all end
    std::vector<uint32_t> starts_;   // of node n, in numbers_; its end is the start of the next
    std::vector<uint32_t> numbers_;  // of maps, by node; n is above 2n and 2n + 1, pieces come last
    size_t taken_ = 0;               // for nodes of maps that have many
    size_t indexed_ = 0;
};

}  // namespace pmukit::cli
