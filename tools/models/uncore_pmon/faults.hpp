// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Ways in which the function can be broken on purpose, by name. Table and units know nothing of
// them: one filter stands between the table and the guest, another before the units' registers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

enum class Entry : uint8_t {
    kGlobal,
    kFirst,      // the first unit
    kSecond,     // the second, which is of the first one's type where there are several IMC units
    kFirstType,  // all units of the first one's type
};

// A field that reads as `value`, or as that of the first unit.
struct TableEdit {
    Entry entry = Entry::kGlobal;
    unsigned word = 0;
    Field field{0, 63};
    std::optional<uint64_t> value{};
};

// What the capability that leads to the table says.
struct TablePlace {
    uint16_t entry = 0;  // what it leads to
    uint32_t word = 0;   // number of the BAR, offset in it
};

// Where the first unit is said to be.
enum class Control : uint8_t {
    kAsItIs,
    kEndOfBar,   // 16 bytes before the end of its BAR
    kBehindBar,  // at the end
};

enum class Registers : uint8_t { kAsTheyAre, kAllOnes, kBackwards };

struct Fault {
    std::string_view name;
    std::string_view effect;
    std::optional<TablePlace> place{};
    std::optional<TableEdit> table{};
    bool every_other_time = false;  // the edit comes and goes with each access to the table
    bool table_of_ones = false;
    bool small_bar = false;  // the table's BAR is no larger than it must be
    Control control = Control::kAsItIs;
    Registers registers = Registers::kAsTheyAre;
};

std::span<const Fault> faults();
const Fault *find_fault(std::string_view name);  // nullptr: no such fault

// With a fault that says so it is another. fault: nullptr is none.
TablePlace shown_place(const Fault *fault, const TablePlace &place);

// The table as a fault shows it.
class FaultyTable {
public:
    // No fault: nullptr.
    explicit FaultyTable(const Fault *fault) : fault_(fault) {}

    bool has_fault() const { return fault_ != nullptr; }
    // With a fault, for each access of the guest. units_end: where the BAR with the units ends in
    // the machine. There are two units of the first type at least.
    void show(std::span<uint64_t> words, unsigned stride, uint64_t units_end);

private:
    void edit(std::span<uint64_t> words, unsigned stride) const;

    const Fault *fault_;
    uint64_t shown_ = 0;
};

// What a fault makes of a register's value.
class FaultyRegisters {
public:
    explicit FaultyRegisters(const Fault *fault) : fault_(fault) {}

    uint64_t read(bool counter, uint64_t value, unsigned counter_width);

private:
    const Fault *fault_;
    uint64_t behind_ = 0;
};

}  // namespace pmukit::models::uncore_pmon
