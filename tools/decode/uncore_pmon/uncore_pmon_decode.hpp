// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the discovery table of the Intel uncore. The location of the table is read from
// configuration space, and register addresses are computed from its entries.
// Documentation/devices/uncore_pmon.rst describes the layout. The table is not trusted: each unit
// is either valid or refused with a reason.
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

// The location of a discovery table in a PCI function. The vendor is always 0x8086.
struct Place {
    unsigned bir;       // number of the BAR that begins with the table
    size_t capability;  // offset of the DVSEC in configuration space
    // Vendor and device ID of the function.
    uint16_t vendor, device;
};

constexpr size_t kConfigBytes = 4096;
constexpr uint16_t kIntel = 0x8086;

// Returns nullopt if the function has no table, and an error if the table cannot be read. `config`
// may be truncated, as for unprivileged readers; capabilities after its end are ignored.
Result<std::optional<Place>> find_table(Bytes config);
// Returns the next table of the same function, which may have several.
Result<std::optional<Place>> next_table(Bytes config, const Place &place);
// Returns true if `config` is truncated and its status register announces capabilities, so that
// some of the capabilities may be missing.
bool is_cut_short(Bytes config);

struct Global {
    uint8_t type;
    // The raw value. It is not used: each unit has its own access type.
    uint8_t access;
    // Distance between the starts of two entries, in 8-byte words.
    uint32_t stride_words;
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

// begin: the first bytes of the BAR, at least kGlobalBytes of them. bar_bytes: size of the BAR.
Result<Global> parse_global(Bytes begin, uint64_t bar_bytes);
// Returns an error if `table` has fewer than global.bytes() bytes.
Result<Table> parse_table(Bytes table, uint64_t bar_bytes);

// Returns the name of a unit type as it is in the name of the PMU, or an empty text if the type is
// unknown.
std::string_view name_of_type(uint16_t type);
// Name of the PMU that the driver registers for a unit: uncore_imc_0, uncore_type_99_0.
std::string pmu_name(const Unit &unit);

// Address of a unit's register: MMIO address, MSR number, or offset in configuration space.
uint64_t control_address(const Unit &unit, unsigned counter);
uint64_t counter_address(const Unit &unit, unsigned counter);

// Returns the address of a unit with PCI access as bus:device.function@offset, such as
// "fe:02.1@318".
std::string pci_text(uint64_t address);

}  // namespace pmukit::decode::uncore_pmon
