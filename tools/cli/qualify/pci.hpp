// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// PCI functions, as sysfs shows them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/qualify/machine.hpp"

namespace pmukit::cli::qualify {

struct Bar {
    uint64_t start = 0, bytes = 0;
    bool memory = false, prefetchable = false;
};

struct PciFunction {
    std::string name;  // 0000:7f:00.3
    std::string path;  // path below the root
    uint32_t vendor = 0, device = 0, class_code = 0;
    std::array<Bar, 6> bars;
    std::string driver;  // empty: no driver
    std::string config;  // the part that this user may read

    uint8_t u8(size_t offset) const;
    uint16_t u16(size_t offset) const;  // 0 beyond the readable part
    uint32_t u32(size_t offset) const;

    // Offsets; nullopt: not present. Corrupt lists are tolerated.
    std::optional<size_t> capability(uint8_t id) const;
    std::vector<size_t> extended_capabilities(uint16_t id) const;
    // Offset of a vendor's DVSEC.
    std::optional<size_t> dvsec(uint16_t dvsec_vendor, uint16_t id) const;

    bool decodes_memory() const { return u16(4) & 2; }
    bool is_bus_master() const { return u16(4) & 4; }
    unsigned bus() const;
    unsigned devfn() const;
    std::string resource(unsigned bar) const;
};

// All functions. The configuration space is read only of functions that may be a driver's own.
std::vector<PciFunction> pci_functions(const Host &host);
// Reads the configuration space of another function, which may wake the device.
void read_config(const Host &host, PciFunction &function);

// Describes the driver that has claimed some of these addresses of a function; nullopt: none has.
// If regions are hidden, addresses count as claimed.
std::optional<std::string> holder_of(const Machine &machine, const PciFunction &function,
                                     uint64_t first, uint64_t last);

}  // namespace pmukit::cli::qualify
