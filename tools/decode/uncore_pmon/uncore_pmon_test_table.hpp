// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Builds configuration spaces and discovery tables for tests, word by word, from the layout in
// Documentation/devices/uncore_pmon.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace pmukit::decode::uncore_pmon::test {

struct Entry {
    uint64_t words[3];
};

struct UnitWords {
    uint64_t counters = 4, control_offset = 64, width = 48, counter_offset = 8, status_offset = 0;
    uint64_t access = 1, box_control = 0xc8aa2800, type = 6, id = 0;

    Entry entry() const
    {
        return {{counters | control_offset << 8 | width << 16 | counter_offset << 24 |
                     status_offset << 32 | access << 62,
                 box_control, type | id << 16}};
    }
};

struct GlobalWords {
    uint64_t type = 1, stride = 3, max_units = 0, access = 0, control = 0x2ff0, status = 0;

    Entry entry() const
    {
        return {{type | stride << 8 | max_units << 16 | access << 62, control, status}};
    }
};

// Returns the table as it is in the BAR: the global entry and then the units, each at a multiple of
// the stride.
inline std::vector<std::byte> table_of(const GlobalWords &global, const std::vector<Entry> &units)
{
    const size_t stride = global.stride < 3 ? 3 : global.stride;
    std::vector<std::byte> bytes((1 + units.size()) * stride * 8);
    for (size_t i = 0; i <= units.size(); i++)
        for (size_t word = 0; word < 3; word++)
            store_le<uint64_t>(bytes.data() + (i * stride + word) * 8,
                               (i ? units[i - 1] : global.entry()).words[word]);
    return bytes;
}

inline std::vector<std::byte> table_of(const std::vector<Entry> &units)
{
    return table_of({.max_units = units.size()}, units);
}

// The eight memory controllers of a Sapphire Rapids socket.
inline std::vector<Entry> eight_imcs()
{
    constexpr uint64_t kBoxes[] = {0xc8aa2800, 0xc8aaa800, 0xc8b22800, 0xc8b2a800,
                                   0xc8ba2800, 0xc8baa800, 0xc8c22800, 0xc8c2a800};
    std::vector<Entry> units;
    for (uint64_t box : kBoxes)
        units.push_back(UnitWords{.box_control = box, .id = units.size()}.entry());
    return units;
}

// Expected output for these units.
inline const std::string kEightImcsText = R"(PMU type 6 (8 boxes)
    unit PMU  of type 6 ID 0 box ctrl: 0xc8aa2800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 1 box ctrl: 0xc8aaa800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 2 box ctrl: 0xc8b22800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 3 box ctrl: 0xc8b2a800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 4 box ctrl: 0xc8ba2800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 5 box ctrl: 0xc8baa800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 6 box ctrl: 0xc8c22800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
    unit PMU  of type 6 ID 7 box ctrl: 0xc8c2a800 (-) with access type MMIO width 48 numRegs 4 ctrlOffset 64 ctrOffset 8
)";

struct ConfigWords {
    uint16_t vendor = 0x8086, device = 0x09a7, status = 0x10;
    uint32_t bar_number = 0, bar = 0xfe000000, bar_high = 0;
    uint32_t dvsec = 0x23 | 1 << 16, dvsec_vendor = 0x8086 | 0x10 << 20, entry_id = 1;
};

// Returns a configuration space with another capability and then the capability of the table.
inline std::vector<std::byte> config_of(const ConfigWords &words)
{
    std::vector<std::byte> bytes(4096);
    store_le<uint16_t>(bytes.data(), words.vendor);
    store_le<uint16_t>(bytes.data() + 2, words.device);
    store_le<uint16_t>(bytes.data() + 6, words.status);
    store_le<uint32_t>(bytes.data() + 0x10 + (words.bar_number & 7) * 4, words.bar);
    store_le<uint32_t>(bytes.data() + 0x100, 0x000b | 1 << 16 | 0x140 << 20);
    store_le<uint32_t>(bytes.data() + 0x140, words.dvsec);
    store_le<uint32_t>(bytes.data() + 0x144, words.dvsec_vendor);
    store_le<uint32_t>(bytes.data() + 0x148, words.entry_id);
    store_le<uint32_t>(bytes.data() + 0x14c, words.bar_number);
    return bytes;
}

inline std::string as_text(const std::vector<std::byte> &bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

}  // namespace pmukit::decode::uncore_pmon::test
