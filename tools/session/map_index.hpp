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

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmukit::cli {

struct Map {
    uint64_t time_ns, begin, end, file_offset;
    size_t object;  // what is mapped
};

class MapIndex {
public:
    // Each map ends behind its begin.
    explicit MapIndex(std::vector<Map> maps);

    // Of the maps at this address that are not older than since_ns: the latest that is not after
    // time_ns; if all are, the first, for what was there before the recording is told of at some
    // time of it. Of equal times the later in the list, or the first. nullptr: none.
    const Map *find(uint64_t address, uint64_t since_ns, uint64_t time_ns) const;

private:
    size_t piece_of(uint64_t address) const;
    void add(uint32_t number);

    std::vector<Map> maps_;                     // in the order of time
    std::vector<uint64_t> edges_;               // where the pieces begin; the last: where all end
    std::vector<std::vector<uint32_t>> nodes_;  // node n is above 2n and 2n + 1; pieces come last
};

}  // namespace pmukit::cli
