// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/discovery_table.hpp"

#include <cassert>

namespace pmukit::models::uncore_pmon {

std::vector<uint64_t> table_words(const GlobalEntry &global, std::span<const UnitEntry> units)
{
    assert(global.stride >= kEntryWords && units.size() <= global.max_units);
    std::vector<uint64_t> words((size_t{1} + global.max_units) * global.stride);
    words[0] = kGlobalStride.put(global.stride) | kGlobalMaxUnits.put(global.max_units) |
               kAccess.put(static_cast<uint64_t>(global.access));
    words[1] = global.control;
    words[2] = kGlobalStatusOffset.put(global.status) | kGlobalStatuses.put(global.statuses);
    size_t at = global.stride;
    for (const UnitEntry &unit : units) {
        words[at] = kUnitCounters.put(unit.counters) | kUnitControl0.put(unit.control0) |
                    kUnitWidth.put(unit.width) | kUnitCounter0.put(unit.counter0) |
                    kUnitStatus.put(unit.status) | kAccess.put(static_cast<uint64_t>(unit.access));
        words[at + 1] = unit.control;
        words[at + 2] = kUnitType.put(unit.type) | kUnitId.put(unit.id);
        at += global.stride;
    }
    return words;
}

uint64_t pci_control(unsigned bus, unsigned devfn, unsigned offset)
{
    return kPciBus.put(bus) | kPciDevfn.put(devfn) | kPciOffset.put(offset);
}

uint64_t read_words(std::span<const uint64_t> words, uint64_t offset, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        const uint64_t at = offset + i;
        if (at / 8 < words.size())
            value |= (words[at / 8] >> (8 * (at % 8)) & 0xff) << (8 * i);
    }
    return value;
}

}  // namespace pmukit::models::uncore_pmon
