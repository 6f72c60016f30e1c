// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Helpers for tests: write a saved sysfs tree file by file, and a CEDT byte by byte.
#pragma once

#include <concepts>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/test_folder.hpp"

namespace pmukit::topology {

inline std::string hex(uint64_t value)
{
    std::string text;
    do
        text.insert(text.begin(), "0123456789abcdef"[value & 15]);
    while (value >>= 4);
    return "0x" + text + "\n";
}

struct TreeRegion {
    unsigned ways = 1, root_ways = 1;
    uint64_t granularity = 256, root_granularity = 256;
    uint64_t start = uint64_t{1} << 32, dpa = 0, dpa_bytes = 16384, cache_bytes = 0;
    unsigned number = 0;
};

// Writes one root decoder, one region, and `ways` memdevs with one endpoint decoder each. memdev i
// is target i of the region, and its endpoint is endpoint<i+4>. For region N, the numbers of
// memdevs and endpoints are larger by 16 * N.
inline void put_region(const TestFolder &tree, const TreeRegion &region)
{
    const std::string devices = "bus/cxl/devices/";
    const uint64_t bytes = region.dpa_bytes * region.ways + region.cache_bytes;
    const std::string name = "region" + std::to_string(region.number);
    const std::string root = devices + "decoder0." + std::to_string(region.number) + "/";
    tree.put(root + "start", hex(region.start));
    tree.put(root + "size", hex(bytes));
    tree.put(root + "interleave_ways", std::to_string(region.root_ways) + "\n");
    tree.put(root + "interleave_granularity", std::to_string(region.root_granularity) + "\n");
    tree.put(root + "cap_ram", "1\n");
    tree.put(root + "target_list", "12\n");
    const std::string zone = devices + name + "/";
    tree.put(zone + "resource", hex(region.start));
    tree.put(zone + "size", hex(bytes));
    tree.put(zone + "interleave_ways", std::to_string(region.ways) + "\n");
    tree.put(zone + "interleave_granularity", std::to_string(region.granularity) + "\n");
    tree.put(zone + "mode", "ram\n");
    tree.put(zone + "commit", "1\n");
    if (region.cache_bytes)
        tree.put(zone + "extended_linear_cache_size", hex(region.cache_bytes));
    for (unsigned i = 0; i < region.ways; i++) {
        const std::string memdev = "mem" + std::to_string(16 * region.number + i);
        const std::string port = std::to_string(16 * region.number + i + 4);
        const std::string decoder = "decoder" + port + ".0";
        tree.put(zone + "target" + std::to_string(i), decoder + "\n");
        tree.put(devices + memdev + "/serial", hex(i + 1));
        tree.put(devices + memdev + "/numa_node", i ? "0\n" : "-1\n");
        tree.put(devices + memdev + "/ram/size", hex(region.dpa_bytes));
        tree.put(devices + "endpoint" + port + "/uport", memdev + "\n");
        const std::string at = devices + decoder + "/";
        tree.put(at + "dpa_resource", hex(region.dpa));
        tree.put(at + "dpa_size", hex(region.dpa_bytes));
        tree.put(at + "mode", "ram\n");
        tree.put(at + "region", name + "\n");
        tree.put(at + "start", hex(region.start + region.cache_bytes));
        tree.put(at + "size", hex(bytes - region.cache_bytes));
    }
}

template <std::unsigned_integral T>
void append_le(std::vector<std::byte> &to, T value)
{
    std::byte bytes[sizeof value];
    store_le(bytes, value);
    append(to, bytes);
}

// Appends a CFMWS. encoded_ways and encoded_granularity have the encodings of the table.
inline void append_cfmws(std::vector<std::byte> &to, uint64_t start, uint64_t bytes,
                         uint8_t encoded_ways, unsigned targets, uint32_t encoded_granularity,
                         uint8_t arithmetic)
{
    append_le<uint8_t>(to, 1);
    append_le<uint8_t>(to, 0);
    append_le<uint16_t>(to, static_cast<uint16_t>(36 + 4 * targets));
    append_le<uint32_t>(to, 0);
    append_le(to, start);
    append_le(to, bytes);
    append_le(to, encoded_ways);
    append_le(to, arithmetic);
    append_le<uint16_t>(to, 0);
    append_le(to, encoded_granularity);
    append_le<uint16_t>(to, 6);
    append_le<uint16_t>(to, 0);
    for (uint32_t target = 0; target < targets; target++)
        append_le(to, target);
}

inline void append_cxims(std::vector<std::byte> &to, uint8_t encoded_granularity,
                         const std::vector<uint64_t> &maps)
{
    append_le<uint8_t>(to, 2);
    append_le<uint8_t>(to, 0);
    append_le<uint16_t>(to, static_cast<uint16_t>(8 + 8 * maps.size()));
    append_le<uint16_t>(to, 0);
    append_le(to, encoded_granularity);
    append_le<uint8_t>(to, static_cast<uint8_t>(maps.size()));
    for (uint64_t map : maps)
        append_le(to, map);
}

inline void fix_checksum(std::vector<std::byte> &table)
{
    table[9] = std::byte{0};
    uint8_t sum = 0;
    for (std::byte byte : table)
        sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(byte));
    table[9] = static_cast<std::byte>(256 - sum);
}

inline std::vector<std::byte> cedt_of(const std::vector<std::byte> &structures)
{
    std::vector<std::byte> table(36);
    std::memcpy(table.data(), "CEDT", 4);
    store_le(table.data() + 4, static_cast<uint32_t>(36 + structures.size()));
    append(table, structures);
    fix_checksum(table);
    return table;
}

inline std::string text_of(const std::vector<std::byte> &bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

}  // namespace pmukit::topology
