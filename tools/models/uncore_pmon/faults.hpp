// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Named faults to inject into the PCIe function. The table and the units do not know of them:
// FaultyTable changes what the guest reads from the table, and FaultyRegisters what it reads from
// unit registers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

enum class Entry : uint8_t {
    kGlobal,
    kFirst,  // the first unit
    // The second unit. It has the type of the first unit if there are several IMC units.
    kSecond,
    kFirstType,  // all units of the first unit's type
};

// A field of the table that reads as `value`; without a value, as the same field of the first unit.
struct TableEdit {
    Entry entry = Entry::kGlobal;
    unsigned word = 0;
    Field field{0, 63};
    std::optional<uint64_t> value{};
};

// Contents of the capability that locates the table.
struct TablePlace {
    uint16_t entry = 0;  // DVSEC ID
    uint32_t word = 0;   // BAR number and offset in the BAR
};

// The address that the table shows for the first unit.
enum class Control : uint8_t {
    kAsItIs,
    kEndOfBar,   // 16 bytes before the end of its BAR
    kBehindBar,  // the first byte after its BAR
};

enum class Registers : uint8_t { kAsTheyAre, kAllOnes, kBackwards };

struct Fault {
    std::string_view name;
    std::string_view effect;
    std::optional<TablePlace> place{};
    std::optional<TableEdit> table{};
    bool every_other_time = false;  // the edit applies to every second access to the table
    bool table_of_ones = false;
    bool small_bar = false;  // the table's BAR has the minimum size
    Control control = Control::kAsItIs;
    Registers registers = Registers::kAsTheyAre;
};

std::span<const Fault> faults();
const Fault *find_fault(std::string_view name);  // nullptr: no such fault

// Returns the place that the fault defines, else `place`. fault: nullptr for none.
TablePlace shown_place(const Fault *fault, const TablePlace &place);

// A table with a fault applied.
class FaultyTable {
public:
    // fault: nullptr for none.
    explicit FaultyTable(const Fault *fault) : fault_(fault) {}

    bool has_fault() const { return fault_ != nullptr; }
    // Applies the fault to the words of a guest's access. Needs has_fault(), and at least two units
    // of the first type. units_end: guest-physical end of the units' BAR.
    void show(std::span<uint64_t> words, unsigned stride, uint64_t units_end);

private:
    void edit(std::span<uint64_t> words, unsigned stride) const;

    const Fault *fault_;
    uint64_t shown_ = 0;
};

// Applies the fault to register values.
class FaultyRegisters {
public:
    explicit FaultyRegisters(const Fault *fault) : fault_(fault) {}

    uint64_t read(bool counter, uint64_t value, unsigned counter_width);

private:
    const Fault *fault_;
    uint64_t behind_ = 0;
};

}  // namespace pmukit::models::uncore_pmon
