// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What can be chosen about the function, and whether it can be built that way.
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
inline constexpr unsigned kMaxListed = 128;  // units that are listed and nothing more
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

// "cxlcm=2,4,6" and "b2cxl.0".
Result<UnitIds> parse_unit_ids(std::string_view text);
Result<UnitName> parse_unit_name(std::string_view text);

struct Options {
    uint16_t device = kDevice;
    unsigned imcs = 2;
    uint64_t ddr_bytes = uint64_t{1} << 20;  // behind each IMC unit
    bool underfill = false;                  // a partial write reads its line first
    std::vector<uint16_t> root_ports;        // one CXLCM, CXLDP and B2CXL unit for each
    unsigned unknown = 1;
    unsigned msr_units = 0;  // listed, but there is nothing behind them
    unsigned pci_units = 0;

    std::vector<UnitIds> ids;        // of a type that is not here: 0 and up
    std::vector<UnitName> all_ones;  // units whose registers read as ones,
    unsigned ones_every = 1;         // at each read of that many

    BoxParams box;  // of every unit
    unsigned tables = 1;
    unsigned stride = 8;
    unsigned max_units = 0;  // of a table; 0: as many as there are
    unsigned table_bar = 0;
    bool table_64bit = false;
    bool global_mmio = false;  // a global control in a BAR, that freezes all units
    const Fault *fault = nullptr;

    // In one table: IMC first, then CXL, unknown, and those that are only listed. Of two, CXL and
    // unknown have the second one.
    std::array<unsigned, kMaxTables> units() const
    {
        const unsigned listed = imcs + msr_units + pci_units;
        const unsigned others = 3 * static_cast<unsigned>(root_ports.size()) + unknown;
        return tables == 1 ? std::array{listed + others, 0u} : std::array{listed, others};
    }
    unsigned units_of(const UnitType &type) const;
    uint16_t id_of(const UnitType &type, unsigned nth) const;
};

// One line naming the option and its limits when the device cannot be built.
Result<void> check(const Options &options);

}  // namespace pmukit::models::uncore_pmon
