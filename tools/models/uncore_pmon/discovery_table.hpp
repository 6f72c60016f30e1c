// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The discovery table as the guest reads it: entries of `stride` 64-bit words, three of them used.
// The first entry is global, the others are one per unit.
//
//            63:62   61:40  39:32   31:24   23:16  15:8      7:0
//   global   access                 max units      stride    type        (max units in 25:16)
//            control
//            -              statuses (23:8)                  status
//   unit     access  -      status  counter0 width control0  counters
//            control
//            -                      id (31:16)     type (15:0)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

struct GlobalEntry {
    unsigned stride = kEntryWords;
    unsigned max_units = 0;
    Access access = Access::kMsr;
    uint64_t control = 0;
    unsigned status = 0;
    unsigned statuses = 0;
};

struct UnitEntry {
    unsigned counters = 0;
    unsigned control0 = 0;
    unsigned width = 0;
    unsigned counter0 = 0;
    unsigned status = 0;
    Access access = Access::kMmio;
    uint64_t control = 0;
    uint16_t type = 0;
    uint16_t id = 0;
};

// Returns (1 + max_units) x stride words; entries past the last unit are zero. There must be at
// most max_units units, and a stride of at least kEntryWords.
std::vector<uint64_t> table_words(const GlobalEntry &global, std::span<const UnitEntry> units);

// Returns word 1 of the table entry of a unit whose registers are in PCI configuration space.
uint64_t pci_control(unsigned bus, unsigned devfn, unsigned offset);

// Reads bytes of words, little-endian; bytes past the end are zero.
uint64_t read_words(std::span<const uint64_t> words, uint64_t offset, unsigned width);

}  // namespace pmukit::models::uncore_pmon
