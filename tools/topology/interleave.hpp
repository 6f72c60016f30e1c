// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The arithmetic of a CXL interleave set, in both directions, as pure functions.
// Source: "HDM Decoder" (device decode logic) and CFMWS/CXIMS of the CXL specification.
//
// A region is distributed in chunks of its granularity, in rows of `ways` chunks:
//
//     base                    base + ways * granularity
//     | slot 0 | slot 1 | ... | slot 0 | slot 1 | ...        host physical addresses
//       off 0    off 0          off g    off g               offset within each device
//
// The slot number is the position of the device in the region, with two exceptions:
// - A root decoder of 3, 6 or 12 ways numbers its granules from address 0, modulo its ways. If the
//   number of the region's first granule is not 0, the host bridges are rotated within a row.
// - With XOR arithmetic, the select bits of an address are replaced by parities of the address.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace pmukit::topology {

struct Interleave {
    uint64_t base = 0;         // HPA of the first chunk; an extended linear cache is below it
    uint64_t granularity = 0;  // bytes
    unsigned ways = 0;         // number of devices
    // Root decoder:
    unsigned root_ways = 1;
    uint64_t root_granularity = 256;
    std::vector<uint64_t> xor_maps;  // empty: modulo arithmetic
};

// A byte of one device of the set.
struct Place {
    unsigned position = 0;  // index of the device among the region's targets
    uint64_t offset = 0;    // bytes from the start of the device's part
};

bool is_granularity(uint64_t bytes);
bool is_ways(uint64_t ways);
// Returns the number of XOR maps for this number of root ways. A factor of 3 needs no map.
unsigned xor_map_count(unsigned root_ways);

// Rejects sets that the functions below cannot compute. Those functions require a checked set.
Result<void> check(const Interleave &set);

// Returns the host address of a byte of a device. The caller ensures that position < ways, and that
// the region with all its rows ends within 64 bits.
uint64_t hpa_of(const Interleave &set, Place place);
// Returns the device and offset of a host address, which must be in the region and not below base.
Place place_of(const Interleave &set, uint64_t hpa);

}  // namespace pmukit::topology
