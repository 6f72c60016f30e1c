// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What can be chosen about the function, and whether it can be built that way.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "models/uncore_pmon/counter_box.hpp"
#include "models/uncore_pmon/faults.hpp"

namespace pmukit::models::uncore_pmon {

inline constexpr unsigned kMaxImcs = 16;
inline constexpr unsigned kMaxListed = 128;  // units that are listed and nothing more
inline constexpr unsigned kMaxUnknown = 8;
inline constexpr unsigned kMaxPorts = 16;

struct Options {
    unsigned imcs = 2;
    uint64_t ddr_bytes = uint64_t{1} << 20;  // behind each IMC unit
    bool underfill = false;                  // a partial write reads its line first
    std::vector<uint16_t> root_ports;        // one CXLCM, CXLDP and B2CXL unit for each
    unsigned unknown = 1;
    unsigned msr_units = 0;  // listed, but there is nothing behind them
    unsigned pci_units = 0;

    BoxParams box;  // of every unit
    unsigned stride = 8;
    unsigned max_units = 0;  // of the table; 0: as many as there are
    unsigned table_bar = 0;
    bool table_64bit = false;
    bool global_mmio = false;  // a global control in a BAR, that freezes all units
    const Fault *fault = nullptr;

    // IMC first, then CXL, unknown, and those that are only listed.
    unsigned units() const
    {
        return imcs + 3 * static_cast<unsigned>(root_ports.size()) + unknown + msr_units +
               pci_units;
    }
};

// One line naming the option and its limits when the device cannot be built.
Result<void> check(const Options &options);

}  // namespace pmukit::models::uncore_pmon
