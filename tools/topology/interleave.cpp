// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/interleave.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace pmukit::topology {
namespace {

// The interleave ways in the order of their encodings: 0..4 encode powers of two, 8..10 three times
// a power of two.
constexpr std::array<unsigned, 8> kWays = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr uint64_t kMinGranularity = 256;
constexpr uint64_t kMaxGranularity = 16384;

bool has_factor_3(unsigned ways)
{
    return ways % 3 == 0;
}

unsigned power_of_two_part(unsigned ways)
{
    return has_factor_3(ways) ? ways / 3 : ways;
}

unsigned ports_per_bridge(const Interleave &set)
{
    return set.ways / set.root_ways;
}

// Returns by how many root granules the host bridges are rotated within a row.
unsigned rotation(const Interleave &set)
{
    if (!has_factor_3(set.root_ways))
        return 0;
    return static_cast<unsigned>(set.base / set.root_granularity % set.root_ways);
}

// Rotates a position by `steps` root granules: the host bridge changes, the port below the bridge
// does not. The root decoder is either the finer of the two levels (its granules are as large as
// the region's) or the coarser level (one granule covers all ports of a bridge).
unsigned rotate(const Interleave &set, unsigned place, unsigned steps)
{
    const unsigned ports = ports_per_bridge(set);
    if (set.root_granularity == set.granularity)
        return place / set.root_ways * set.root_ways +
               (place % set.root_ways + steps) % set.root_ways;
    return (place / ports + steps) % set.root_ways * ports + place % ports;
}

unsigned slot_of(const Interleave &set, unsigned position)
{
    const unsigned rotated = rotation(set);
    return rotated ? rotate(set, position, set.root_ways - rotated) : position;
}

unsigned position_of(const Interleave &set, unsigned slot)
{
    const unsigned rotated = rotation(set);
    return rotated ? rotate(set, slot, rotated) : slot;
}

// Replaces the lowest bit of the map in the address by the parity of all bits of the map. Two calls
// with the same map cancel each other.
uint64_t apply(uint64_t map, uint64_t address)
{
    if (!map)
        return address;
    const uint64_t select = map & -map;
    const bool odd = std::popcount(address & map) % 2;
    return odd ? address | select : address & ~select;
}

// Converts between a host address and the address whose modulo selects the target of a root
// decoder. A map may include the select bits of later maps, so the inverse applies the maps in
// reverse order.
uint64_t to_decoders(const Interleave &set, uint64_t hpa)
{
    for (uint64_t map : set.xor_maps)
        hpa = apply(map, hpa);
    return hpa;
}

uint64_t from_decoders(const Interleave &set, uint64_t address)
{
    for (auto map = set.xor_maps.rbegin(); map != set.xor_maps.rend(); ++map)
        address = apply(*map, address);
    return address;
}

Result<void> check_xor_maps(const Interleave &set)
{
    if (set.xor_maps.size() != xor_map_count(set.root_ways))
        return Error{Errc::kDamaged, "not as many XOR maps as the root decoder has select bits"};
    const uint64_t rows = set.root_granularity << set.xor_maps.size();
    uint64_t taken = 0;
    for (uint64_t map : set.xor_maps) {
        const uint64_t select = map & -map;
        if (map && (select < set.root_granularity || select >= rows))
            return Error{Errc::kUnsupported,
                         "an XOR map begins at a bit that selects no host bridge"};
        if (select & taken)
            return Error{Errc::kDamaged, "two XOR maps begin at the same bit"};
        taken |= select;
    }
    if (set.base % rows)
        return Error{Errc::kDamaged, "the region does not begin at a whole row of host bridges"};
    return {};
}

Result<void> check_rotation(const Interleave &set)
{
    if (!has_factor_3(set.root_ways))
        return {};
    if (set.base % set.root_granularity)
        return Error{Errc::kDamaged, "the region does not begin at a granule of its root decoder"};
    const uint64_t coarse = set.granularity * ports_per_bridge(set);
    if (rotation(set) && set.root_granularity != set.granularity && set.root_granularity != coarse)
        return Error{Errc::kUnsupported,
                     "granularities of root decoder and region do not follow each other"};
    return {};
}

}  // namespace

bool is_granularity(uint64_t bytes)
{
    return std::has_single_bit(bytes) && bytes >= kMinGranularity && bytes <= kMaxGranularity;
}

bool is_ways(uint64_t ways)
{
    return std::ranges::find(kWays, ways) != kWays.end();
}

unsigned xor_map_count(unsigned root_ways)
{
    return static_cast<unsigned>(std::countr_zero(power_of_two_part(root_ways)));
}

Result<void> check(const Interleave &set)
{
    if (!is_ways(set.ways) || !is_ways(set.root_ways) || set.ways % set.root_ways)
        return Error{Errc::kDamaged, "interleave ways of root decoder and region do not match"};
    if (!is_granularity(set.granularity) || !is_granularity(set.root_granularity))
        return Error{Errc::kDamaged,
                     "an interleave granularity is not a power of two from 256 to 16384"};
    if (!set.xor_maps.empty())
        if (Result<void> good = check_xor_maps(set); !good)
            return good;
    return check_rotation(set);
}

uint64_t hpa_of(const Interleave &set, Place place)
{
    const uint64_t low = place.offset % set.granularity;
    const uint64_t slot = slot_of(set, place.position);
    return from_decoders(set,
                         set.base + (place.offset - low) * set.ways + slot * set.granularity + low);
}

Place place_of(const Interleave &set, uint64_t hpa)
{
    const uint64_t offset = to_decoders(set, hpa) - set.base;
    const uint64_t chunk = offset / set.granularity;
    return {position_of(set, static_cast<unsigned>(chunk % set.ways)),
            chunk / set.ways * set.granularity + offset % set.granularity};
}

}  // namespace pmukit::topology
