// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The discovery table of Intel's uncore: where it is (configuration space), what is in it, and
// where the registers are that follow from it. Documentation/devices/uncore_pmon.rst has the
// layout. Nothing in a table is believed: a unit is sound, or refused with a reason.
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

// Of the function: 8086, and where its table is.
struct Place {
    unsigned bir;             // number of the BAR that begins with the table
    size_t capability;        // offset of the DVSEC in configuration space
    uint16_t vendor, device;  // of the function
};

constexpr size_t kConfigBytes = 4096;
constexpr uint16_t kIntel = 0x8086;

// nullopt: not a function with a table. An Error when it says it has one that cannot be read.
// config may end early, as it does for readers without privileges: what is beyond is not there.
Result<std::optional<Place>> find_table(Bytes config);
// The one behind it in the same function: it may have several.
Result<std::optional<Place>> next_table(Bytes config, const Place &place);
// Is there a list of capabilities that these bytes are too short for?
bool is_cut_short(Bytes config);

struct Global {
    uint8_t type;
    uint8_t access;         // as it stands there: only units are used by it
    uint32_t stride_words;  // from one entry to the next, in 8 bytes
    uint32_t max_units;
    uint64_t control;
    uint8_t status_offset;
    uint16_t status_registers;

    size_t bytes() const { return (size_t{1} + max_units) * stride_words * 8; }
};

struct Unit {
    uint32_t entry;  // place in the table, from 1
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

// bar_bytes: length of the BAR, of which begin is the beginning; at least kGlobalBytes of it.
Result<Global> parse_global(Bytes begin, uint64_t bar_bytes);
// table: global.bytes() bytes at least, or an Error.
Result<Table> parse_table(Bytes table, uint64_t bar_bytes);

// The name of a type of units, as in the name of the PMU; empty: unknown.
std::string_view name_of_type(uint16_t type);
// uncore_imc_0, uncore_type_99_0: the PMU that the driver registers for it.
std::string pmu_name(const Unit &unit);

// Where its registers are: MMIO addresses, MSR numbers, or offsets in configuration space.
uint64_t control_address(const Unit &unit, unsigned counter);
uint64_t counter_address(const Unit &unit, unsigned counter);

// Of units with PCI access: "fe:02.1@318", bus, device, function and offset.
std::string pci_text(uint64_t address);

}  // namespace pmukit::decode::uncore_pmon
