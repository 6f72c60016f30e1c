// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the discovery table of the Intel uncore: its place (from configuration space), its
// entries, and the addresses of registers. Documentation/devices/uncore_pmon.rst has the layout.
// The table is not trusted: each unit is valid, or refused with a reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::decode::uncore_pmon {

enum class Access : uint8_t { kMsr = 0, kMmio = 1, kPci = 2 };
std::string_view name_of(Access access);

// Place of a table in a function, whose vendor is always 0x8086.
struct Place {
    unsigned bir;             // number of the BAR that begins with the table
    size_t capability;        // offset of the DVSEC in configuration space
    uint16_t vendor, device;  // of the function
};

constexpr size_t kConfigBytes = 4096;
constexpr uint16_t kIntel = 0x8086;

// nullopt: a function without a table. Error: it has a table that cannot be read. config may be
// truncated, as for unprivileged readers; capabilities after its end are ignored.
Result<std::optional<Place>> find_table(Bytes config);
// The next table of the same function, which may have several.
Result<std::optional<Place>> next_table(Bytes config, const Place &place);
// True if config is truncated although its status register announces capabilities: some of them
// may be missing.
bool is_cut_short(Bytes config);

struct Global {
    uint8_t type;
    uint8_t access;         // raw value; only the access of units is used
    uint32_t stride_words;  // distance of entries in 8-byte words
    uint32_t max_units;
    uint64_t control;
    uint8_t status_offset;
    uint16_t status_registers;

    size_t bytes() const { return (size_t{1} + max_units) * stride_words * 8; }
};

struct Unit {
    uint32_t entry;  // index in the table, from 1
    uint16_t type, id;
    Access access;
    uint8_t counters, width_bits;
    uint8_t control_offset, counter_offset, status_offset;
    uint64_t box_control;
};

struct Refused {
    uint32_t entry;
    std::string why;
};

struct Table {
    Global global;
    std::vector<Unit> units;  // in the order of the table
    std::vector<Refused> refused;
};

constexpr size_t kGlobalBytes = 24;

// begin: the first bytes of the BAR, at least kGlobalBytes. bar_bytes: size of the BAR.
Result<Global> parse_global(Bytes begin, uint64_t bar_bytes);
// Error if table has fewer than global.bytes() bytes.
Result<Table> parse_table(Bytes table, uint64_t bar_bytes);

// The name of a type of units, as in the name of the PMU; empty: unknown.
std::string_view name_of_type(uint16_t type);
// Name of the PMU that the driver registers for a unit: uncore_imc_0, uncore_type_99_0.
std::string pmu_name(const Unit &unit);

// Address of a unit's register: MMIO address, MSR number, or offset in configuration space.
uint64_t control_address(const Unit &unit, unsigned counter);
uint64_t counter_address(const Unit &unit, unsigned counter);

// For units with PCI access: "fe:02.1@318", bus, device, function and offset.
std::string pci_text(uint64_t address);

}  // namespace pmukit::decode::uncore_pmon
