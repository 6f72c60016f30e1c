// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The options of the uncore PCIe function, and the check of their values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/uncore_pmon/counter_box.hpp"
#include "models/uncore_pmon/faults.hpp"

namespace pmukit::models::uncore_pmon {

inline constexpr unsigned kMaxImcs = 16;
inline constexpr unsigned kMaxListed = 128;  // units in the table that have no registers
inline constexpr unsigned kMaxUnknown = 8;
inline constexpr unsigned kMaxPorts = 16;
inline constexpr unsigned kMaxTables = 2;

// The ids of a type's units: the first unit has the first id, and so on.
struct UnitIds {
    const UnitType *type = nullptr;
    std::vector<uint16_t> ids;
};
struct UnitName {
    const UnitType *type = nullptr;
    uint16_t id = 0;
};

// Parse "cxlcm=2,4,6" and "b2cxl.0".
Result<UnitIds> parse_unit_ids(std::string_view text);
Result<UnitName> parse_unit_name(std::string_view text);

struct Options {
    uint16_t device = kDevice;
    unsigned imcs = 2;
    uint64_t ddr_bytes = uint64_t{1} << 20;  // DDR memory per IMC unit
    bool underfill = false;                  // a partial write reads its line first
    std::vector<uint16_t> root_ports;        // each has one CXLCM, CXLDP and B2CXL unit
    unsigned unknown = 1;
    // Units that are in the table but have no registers.
    unsigned msr_units = 0;
    unsigned pci_units = 0;

    std::vector<UnitIds> ids;  // a type that is not listed has ids 0, 1, ...
    // Every n-th read of a register of these units returns all ones; n is ones_every.
    std::vector<UnitName> all_ones;
    unsigned ones_every = 1;

    BoxParams box;  // parameters of every unit
    unsigned tables = 1;
    unsigned stride = 8;
    unsigned max_units = 0;  // entries of a table; 0: as many as there are units
    unsigned table_bar = 0;
    bool table_64bit = false;
    bool global_mmio = false;  // a global control in a BAR freezes all units
    const Fault *fault = nullptr;

    // Number of units per table. A single table has the IMC, CXL and unknown units, and the units
    // without registers. If there are two tables, the second has the CXL and unknown units.
    std::array<unsigned, kMaxTables> units() const
    {
        const unsigned listed = imcs + msr_units + pci_units;
        const unsigned others = 3 * static_cast<unsigned>(root_ports.size()) + unknown;
        return tables == 1 ? std::array{listed + others, 0u} : std::array{listed, others};
    }
    unsigned units_of(const UnitType &type) const;
    uint16_t id_of(const UnitType &type, unsigned nth) const;
};

// An error is one line with the option and its limits.
Result<void> check(const Options &options);

}  // namespace pmukit::models::uncore_pmon
