// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the address arithmetic with a simulation. The simulation walks the host addresses
// upwards and assigns each granule as the decoders of root, host bridge and device do.
#include "topology/interleave.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

namespace pmukit::topology {
namespace {

constexpr uint64_t kBlock = uint64_t{256} << 20;  // alignment of regions

struct Dealt {
    unsigned position = 0;
    uint64_t offset = 0;
};

bool odd(uint64_t value)
{
    bool parity = false;
    for (; value; value >>= 1)
        parity ^= value & 1;
    return parity;
}

// Returns the target that a root decoder selects for an absolute host address (CFMWS: by modulo, or
// by XOR with CXIMS).
unsigned bridge_of(const Interleave &set, uint64_t hpa)
{
    if (set.xor_maps.empty())
        return static_cast<unsigned>(hpa / set.root_granularity % set.root_ways);
    unsigned bits = 0;
    unsigned chosen = 0;
    for (uint64_t map : set.xor_maps)
        chosen |= static_cast<unsigned>(odd(hpa & map)) << bits++;
    if (set.root_ways % 3 == 0)
        chosen |= static_cast<unsigned>((hpa / set.root_granularity >> bits) % 3) << bits;
    return chosen;
}

// Returns every granule of the region in the order of host addresses, with its device and offset. A
// bridge distributes its granules to its ports in turn; a device stores its granules in order.
std::map<uint64_t, Dealt> deal(const Interleave &set, uint64_t rows)
{
    const unsigned ports = set.ways / set.root_ways;
    const bool root_is_finer = set.root_granularity == set.granularity;
    std::map<unsigned, unsigned> next_port;
    std::map<unsigned, uint64_t> next_offset;
    std::map<uint64_t, Dealt> dealt;
    for (uint64_t hpa = set.base; hpa < set.base + rows * set.ways * set.granularity;
         hpa += set.granularity) {
        const unsigned bridge = bridge_of(set, hpa);
        const unsigned port = next_port[bridge]++ % ports;
        const unsigned position =
            root_is_finer ? port * set.root_ways + bridge : bridge * ports + port;
        dealt[hpa] = {position, next_offset[position]};
        next_offset[position] += set.granularity;
    }
    return dealt;
}

void expect_as_dealt(const Interleave &set, uint64_t rows)
{
    SCOPED_TRACE(testing::Message()
                 << "ways " << set.ways << " granularity " << set.granularity << " root ways "
                 << set.root_ways << " root granularity " << set.root_granularity << " base "
                 << std::hex << set.base << " maps " << set.xor_maps.size());
    ASSERT_TRUE(check(set)) << check(set).error().message;
    std::set<std::pair<unsigned, uint64_t>> seen;
    for (const auto &[hpa, dealt] : deal(set, rows))
        for (uint64_t low : {uint64_t{0}, uint64_t{1}, set.granularity / 2, set.granularity - 1}) {
            const Place place = place_of(set, hpa + low);
            ASSERT_EQ(place.position, dealt.position) << std::hex << hpa;
            ASSERT_EQ(place.offset, dealt.offset + low) << std::hex << hpa;
            ASSERT_EQ(hpa_of(set, {dealt.position, dealt.offset + low}), hpa + low);
            seen.insert({place.position, place.offset});
        }
    // No two host addresses have the same place.
    EXPECT_EQ(seen.size(), rows * set.ways * 4);
}

Interleave flat(unsigned ways, uint64_t granularity, uint64_t base)
{
    return {base, granularity, ways, ways, granularity, {}};
}

TEST(Interleave, MapsAddressesForAllWaysAndGranularities)
{
    for (unsigned ways : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U})
        for (uint64_t granularity = 256; granularity <= 16384; granularity *= 2)
            expect_as_dealt(flat(ways, granularity, 48 * kBlock), 24);
}

TEST(Interleave, MapsAddressesOverTwoInterleaveLevels)
{
    for (unsigned ports : {1U, 2U, 4U, 8U})
        for (unsigned bridges : {1U, 2U, 3U, 4U, 6U}) {
            if (!is_ways(uint64_t{ports} * bridges))
                continue;
            expect_as_dealt({48 * kBlock, 512, ports * bridges, bridges, 512, {}}, 24);
            expect_as_dealt({48 * kBlock, 512, ports * bridges, bridges, 512 * ports, {}}, 24);
        }
}

TEST(Interleave, RotatesHostBridgesIfTheBaseIsNotAMultipleOf768MiB)
{
    for (uint64_t block = 1; block < 13; block++)
        for (unsigned bridges : {3U, 6U, 12U})
            for (unsigned ports : {1U, 2U, 4U}) {
                if (!is_ways(uint64_t{ports} * bridges))
                    continue;
                expect_as_dealt({block * kBlock, 1024, ports * bridges, bridges, 1024, {}}, 24);
                expect_as_dealt({block * kBlock, 1024, ports * bridges, bridges, 1024 * ports, {}},
                                24);
            }
}

TEST(Interleave, FollowsXorMaps)
{
    // XOR maps for a granularity of 256 bytes.
    const std::vector<uint64_t> maps = {0x2020900, 0x4041200, 0x1010400, 0x800800};
    for (unsigned ways : {2U, 4U, 6U, 8U, 12U, 16U})
        for (uint64_t block : {48, 96, 49, 50}) {
            if (block % 3 && ways % 3 == 0)
                // FollowsXorMapsWithRotatedBridges tests this case.
                continue;
            for (unsigned shift : {0U, 2U, 6U}) {
                Interleave set = flat(ways, uint64_t{256} << shift, block * kBlock);
                for (unsigned i = 0; i < xor_map_count(ways); i++)
                    set.xor_maps.push_back(maps[i] << shift);
                expect_as_dealt(set, 64);
            }
        }
}

TEST(Interleave, FollowsXorMapsWithRotatedBridges)
{
    for (uint64_t block = 1; block < 7; block++) {
        Interleave six = flat(6, 256, block * kBlock);
        six.xor_maps = {0x2020900};
        expect_as_dealt(six, 96);
        Interleave twelve = flat(12, 256, block * kBlock);
        twelve.xor_maps = {0x2020900, 0x4041200};
        expect_as_dealt(twelve, 96);
    }
}

TEST(Interleave, InvertsXorMapsThatShareBits)
{
    Interleave set = flat(4, 256, 48 * kBlock);
    // The first map includes bit 9, the select bit of the second map.
    set.xor_maps = {0x1300, 0x1200};
    expect_as_dealt(set, 64);
}

TEST(Interleave, LeavesSelectBitsOfAnEmptyXorMapUnchanged)
{
    Interleave set = flat(2, 256, 48 * kBlock);
    set.xor_maps = {0};
    EXPECT_EQ(hpa_of(set, {1, 0}), set.base + 256);
}

TEST(Interleave, RejectsInvalidInterleaveSets)
{
    const Interleave good = flat(4, 256, kBlock);
    auto refused = [&good](auto change) {
        Interleave bad = good;
        change(bad);
        return !check(bad);
    };
    EXPECT_TRUE(check(good));
    EXPECT_TRUE(refused([](Interleave &set) { set.ways = 0; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.ways = 5; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.root_ways = 0; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.root_ways = 8; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.granularity = 0; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.granularity = 384; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.granularity = 32768; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.root_granularity = 128; }));
    // The set needs two XOR maps, whose lowest bits must be bits 8 and 9, which select the bridge.
    // One map is missing.
    EXPECT_TRUE(refused([](Interleave &set) { set.xor_maps = {0x100}; }));
    // Both maps have the lowest bit 8.
    EXPECT_TRUE(refused([](Interleave &set) { set.xor_maps = {0x1100, 0x2100}; }));
    // Bits 12 and 10 do not select a bridge.
    EXPECT_TRUE(refused([](Interleave &set) { set.xor_maps = {0x100, 0x1000}; }));
    EXPECT_TRUE(refused([](Interleave &set) { set.xor_maps = {0x100, 0x400}; }));
    // Bit 7 is an offset within a granule.
    EXPECT_TRUE(refused([](Interleave &set) { set.xor_maps = {0x180, 0x200}; }));
    // The base is not at a whole row of host bridges.
    EXPECT_TRUE(refused([](Interleave &set) {
        set.base += 256;
        set.xor_maps = {0x100, 0x200};
    }));
    // If the bridges are rotated, the root granularity must be 256, the granularity of the region,
    // or 4 * 256, because a bridge has 4 ports.
    Interleave turned = {kBlock, 256, 12, 3, 512, {}};
    EXPECT_FALSE(check(turned));
    turned.base = 3 * kBlock;
    EXPECT_TRUE(check(turned));
}

}  // namespace
}  // namespace pmukit::topology
