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
    std::string name;  // such as 0000:7f:00.3
    std::string path;  // path below the root
    uint32_t vendor = 0, device = 0, class_code = 0;
    std::array<Bar, 6> bars;
    std::string driver;  // empty: no driver
    // The part of configuration space that this user may read; empty until read_config().
    std::string config;

    uint8_t u8(size_t offset) const;
    uint16_t u16(size_t offset) const;  // 0 beyond the readable part
    uint32_t u32(size_t offset) const;

    // Offset of a capability; nullopt: not present. A corrupt list ends the search.
    std::optional<size_t> capability(uint8_t id) const;
    std::vector<size_t> extended_capabilities(uint16_t id) const;
    // Offset of the DVSEC with this vendor and id.
    std::optional<size_t> dvsec(uint16_t dvsec_vendor, uint16_t id) const;

    bool decodes_memory() const { return u16(4) & 2; }
    bool is_bus_master() const { return u16(4) & 4; }
    unsigned bus() const;
    unsigned devfn() const;
    std::string resource(unsigned bar) const;
};

// All functions of the machine, without their configuration space.
std::vector<PciFunction> pci_functions(const Host &host);
// Reads the configuration space of a function. This may wake its device: call it only for functions
// of the driver that is checked.
void read_config(const Host &host, PciFunction &function);

// Returns a message if a driver has claimed any of these addresses of a function, or if the kernel
// hides who has claimed them; nullopt: no driver has.
std::optional<std::string> holder_of(const Machine &machine, const PciFunction &function,
                                     uint64_t first, uint64_t last);

}  // namespace pmukit::cli::qualify
