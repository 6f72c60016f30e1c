// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The arithmetic of a CXL interleave set, both ways. Pure: no files, no names.
// Follows "HDM Decoder" (device decode logic) and CFMWS/CXIMS of the CXL specification.
//
// A region is dealt out in chunks of its granularity, a row of `ways` chunks at a time:
//
//     base                    base + ways * granularity
//     | slot 0 | slot 1 | ... | slot 0 | slot 1 | ...        host physical addresses
//       off 0    off 0          off g    off g               offset within each device
//
// Which device a slot belongs to is its position in the region, but for two exceptions:
// - A root decoder of 3, 6 or 12 ways takes absolute addresses modulo its ways. When the region
// does not begin at a
//   multiple of that, the host bridges are rotated within a row.
// - With XOR arithmetic, select bits of the address are exchanged for parities of the whole
// address.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace pmukit::topology {

struct Interleave {
    uint64_t base = 0;         // HPA of the first chunk, behind an extended linear cache
    uint64_t granularity = 0;  // bytes
    unsigned ways = 0;         // devices
    // Of the root decoder:
    unsigned root_ways = 1;
    uint64_t root_granularity = 256;
    std::vector<uint64_t> xor_maps;  // empty: modulo arithmetic
};

struct Place {
    unsigned position = 0;  // target of the region
    uint64_t offset = 0;    // from the beginning of that device's part
};

bool is_granularity(uint64_t bytes);
bool is_ways(uint64_t ways);
// How many XOR maps a root decoder of so many ways needs: 3 of them are never XORed.
unsigned xor_map_count(unsigned root_ways);

// Refuses what the functions below could not compute. They are only for what passed.
Result<void> check(const Interleave &set);

// The caller has checked position < ways, and that the region with all its rows fits in 64 bits.
uint64_t hpa_of(const Interleave &set, Place place);
// hpa >= base, and in the region.
Place place_of(const Interleave &set, uint64_t hpa);

}  // namespace pmukit::topology
