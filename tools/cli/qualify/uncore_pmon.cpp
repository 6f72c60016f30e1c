// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statements about Intel uncore units in discovery tables, from Linux 7.2
// (arch/x86/events/intel/uncore*) and Documentation/devices/uncore_pmon.rst. A device is one table;
// most checks examine each of its units.
#include <algorithm>
#include <set>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "cli/qualify/pci.hpp"
#include "cli/qualify/tables.hpp"
#include "decode/uncore_pmon/uncore_pmon_decode.hpp"

namespace pmukit::cli::qualify {
namespace {

namespace uncore = decode::uncore_pmon;

constexpr uint32_t kFreeze = 1, kResetControls = 1 << 8, kResetCounters = 1 << 9;
constexpr uint32_t kEnable = 1 << 22;  // enable bit in the control of the fixed counter
constexpr uint16_t kImc = 6, kCha = 0;
constexpr uint64_t kFixedCounter = 0x38, kFixedControl = 0x54;
constexpr uint32_t kDiamondRapids = 0x09a1;  // PCI device ID of the function with the table
constexpr uint64_t kFirstMsr = 0x2000, kLastMsr = 0x3fff;
constexpr uint64_t kImcPair = 0x80000, kFirstImc = 0x22800, kDclk = 0x22b0;
constexpr uint32_t kChaCountMsr = 0x2ffe;
constexpr uint64_t kUsualWidth = 48;
constexpr uint32_t kNoAnswer = ~0u;  // value of a read to which the device does not respond
constexpr const char *kPmus = "sys/bus/event_source/devices";

struct PmonUnit {
    std::string name;  // such as uncore_imc_0
    uncore::Unit unit;
    bool fixed = false;             // has the fixed counter of a memory controller
    std::optional<unsigned> cpu{};  // an online CPU of the package, if known
    uint64_t bytes = 0;             // size of the registers, from the box control on
    std::optional<Window> box{};    // registers in memory, if readable
    std::optional<Error> closed{};
};

struct PmonTable {
    std::string name;
    PciFunction function;
    std::optional<Error> misplaced{};  // the location of the table is invalid
    uncore::Place place{};
    std::optional<Error> closed{};  // reason why the table is not readable
    std::vector<std::byte> bytes{};
    bool stable = true;  // two reads gave the same data
    std::optional<Result<uncore::Table>> table{};
    std::vector<PmonUnit> units{};
    std::optional<unsigned> cpu{};  // an online CPU of the package, if known
    const std::vector<PciFunction> *functions = nullptr;
    size_t functions_with_tables = 0;  // in the whole machine
};

// Discovery

const PciFunction *function_at(const std::vector<PciFunction> &functions, uint64_t address,
                               unsigned &bar)
{
    for (const PciFunction &function : functions)
        for (bar = 0; bar < function.bars.size(); bar++)
            if (function.bars[bar].memory && address >= function.bars[bar].start &&
                address - function.bars[bar].start < function.bars[bar].bytes)
                return &function;
    return nullptr;
}

bool in_msrs(const PmonUnit &unit)
{
    return unit.unit.access == uncore::Access::kMsr;
}

bool in_memory(const PmonUnit &unit)
{
    return unit.unit.access == uncore::Access::kMmio;
}

// Maps registers through the BAR that contains them, if there is one.
Result<Window> registers_at(const Machine &machine, const std::vector<PciFunction> &functions,
                            uint64_t at, size_t bytes, Access access)
{
    unsigned bar = 0;
    const PciFunction *function = function_at(functions, at, bar);
    return function
               ? machine.map(function->resource(bar), at - function->bars[bar].start, bytes, access)
               : machine.memory(at, bytes, access);
}

void open_box(const Machine &machine, const std::vector<PciFunction> &functions, PmonUnit &unit)
{
    const uint64_t at = unit.unit.box_control;
    const unsigned last = unit.unit.counters - 1u;
    unit.bytes = std::max({uncore::control_address(unit.unit, last) + 8 - at,
                           uncore::counter_address(unit.unit, last) + 8 - at,
                           unit.fixed ? kFixedControl + 4 : 0});
    if (!in_memory(unit))
        return;
    if (machine.is_ram(at, at + unit.bytes - 1)) {
        unit.closed = Error{Errc::kDamaged, "the address is RAM"};
        return;
    }
    const Access access = machine.active() ? Access::kReadWrite : Access::kRead;
    Result<Window> box = registers_at(machine, functions, at, unit.bytes, access);
    if (box)
        unit.box = std::move(*box);
    else
        unit.closed = box.error();
}

std::vector<std::byte> copy_of(const Window &window, size_t bytes)
{
    std::vector<std::byte> copy(std::min(bytes, window.size()) / 4 * 4);
    for (size_t at = 0; at < copy.size(); at += 4)
        store_le<uint32_t>(copy.data() + at, window.read<uint32_t>(at));
    return copy;
}

// CPU model of family 6. 0: another family, or unknown.
uint32_t model_of(const Machine &machine)
{
    const auto leaf = machine.cpuid(machine.cpus().front(), 1);
    if (!leaf || (leaf->eax >> 8 & 0xf) != 6)
        return 0;
    return (leaf->eax >> 4 & 0xf) | (leaf->eax >> 12 & 0xf0);
}

bool is_sapphire_rapids(const Machine &machine)
{
    const uint32_t model = model_of(machine);
    return model == 0x8f || model == 0xcf;
}

// True for Granite Rapids, Sierra Forest, Grand Ridge and Clearwater Forest, which the driver
// supports.
bool is_granite_rapids(const Machine &machine)
{
    constexpr uint32_t kModels[] = {0xad, 0xae, 0xaf, 0xb6, 0xdd};
    return std::ranges::find(kModels, model_of(machine)) != std::end(kModels);
}

// True if the driver uses the fixed counter of this unit, a memory controller.
bool has_fixed(const Machine &machine, const PmonTable &table, const uncore::Unit &unit)
{
    return unit.type == kImc && unit.access == uncore::Access::kMmio &&
           table.function.device != kDiamondRapids &&
           (is_sapphire_rapids(machine) || is_granite_rapids(machine) || machine.is_virtual());
}

std::set<std::string> packages_of(const Machine &machine)
{
    std::set<std::string> packages;
    for (unsigned cpu : machine.cpus())
        packages.insert(machine.host()
                            .text(text_of("sys/devices/system/cpu/cpu{}/topology/"
                                          "physical_package_id",
                                          cpu))
                            .value_or("0"));
    return packages;
}

// An online CPU of the function's package, chosen as in the driver. MSR accesses must run on such a
// CPU, because they affect the package of the CPU that executes them.
std::optional<unsigned> cpu_of(const Machine &machine, const PciFunction &function)
{
    const auto node = machine.host().number(function.path + "/numa_node");
    const std::vector<unsigned> cpus = machine.cpus();
    if (node && *node >= 0)
        for (unsigned cpu : cpus)
            if (machine.host().has(text_of("sys/devices/system/cpu/cpu{}/node{}", cpu, *node)))
                return cpu;
    return packages_of(machine).size() == 1 ? std::optional(cpus.front()) : std::nullopt;
}

void read_table(const Machine &machine, PmonTable &found)
{
    const Bar &bar = found.function.bars[found.place.bir];
    if (!found.function.decodes_memory()) {
        found.closed = Error{Errc::kBusy, found.name + ": the function does not decode memory"};
        return;
    }
    const Result<Window> window =
        machine.map(found.function.resource(found.place.bir), 0, bar.bytes, Access::kRead);
    if (!window) {
        found.closed = window.error();
        return;
    }
    found.bytes = copy_of(*window, uncore::kGlobalBytes);
    if (const auto global = uncore::parse_global(found.bytes, bar.bytes)) {
        found.bytes = copy_of(*window, global->bytes());
        found.stable = copy_of(*window, global->bytes()) == found.bytes;
    }
    found.table = uncore::parse_table(found.bytes, bar.bytes);
    if (*found.table)
        for (const uncore::Unit &unit : (*found.table)->units)
            found.units.push_back(
                {uncore::pmu_name(unit), unit, has_fixed(machine, found, unit), found.cpu});
    for (PmonUnit &unit : found.units)
        open_box(machine, *found.functions, unit);
}

std::vector<PmonTable> tables_of(const Machine &machine, const std::vector<PciFunction> &functions)
{
    std::vector<PmonTable> found;
    for (const PciFunction &function : functions) {
        const Bytes config = as_bytes(function.config);
        Result<std::optional<uncore::Place>> place = uncore::find_table(config);
        while (!place || *place) {
            PmonTable table;
            table.name = function.name;
            table.function = function;
            table.cpu = cpu_of(machine, function);
            table.functions = &functions;
            if (!place)
                table.misplaced = place.error();
            else
                table.place = **place;
            if (place)
                read_table(machine, table);
            found.push_back(std::move(table));
            if (!place)
                break;
            place = uncore::next_table(config, found.back().place);
        }
    }
    std::set<std::string> names;
    for (const PmonTable &table : found)
        names.insert(table.name);
    for (PmonTable &table : found)
        table.functions_with_tables = names.size();
    return found;
}

// Checks that only read

Outcome check_locator(const Machine &, PmonTable &table)
{
    if (table.misplaced)
        return fail("{}", table.misplaced->message);
    const Bar &bar = table.function.bars[table.place.bir];
    return bar.memory && !bar.prefetchable
               ? pass("BAR {} of {:#x} bytes", table.place.bir, bar.bytes)
               : fail("BAR {} is not plain memory", table.place.bir);
}

// Runs a check of the table. NOT TESTED if the table cannot be read.
template <Outcome (*check)(const Machine &, PmonTable &)>
Outcome of_table(const Machine &machine, PmonTable &table)
{
    if (table.misplaced)
        return not_tested(*table.misplaced);
    if (table.closed)
        return not_tested(*table.closed);
    return check(machine, table);
}

Outcome check_global(const Machine &, PmonTable &table)
{
    if (!*table.table)
        return fail("{}", table.table->error().message);
    const uncore::Global &global = (*table.table)->global;
    return pass("{} places of {} words", global.max_units, global.stride_words);
}

Outcome check_entries(const Machine &, PmonTable &table)
{
    if (!*table.table)
        return not_tested(table.table->error());
    const uncore::Table &parsed = **table.table;
    if (!parsed.refused.empty())
        return fail("entry {}: {}; {} of them are wrong", parsed.refused.front().entry,
                    parsed.refused.front().why, parsed.refused.size());
    return pass("{} units", parsed.units.size());
}

Outcome check_stable(const Machine &, PmonTable &table)
{
    return table.stable ? pass("{} bytes", table.bytes.size()) : fail("they differ");
}

template <bool (*concerns)(const PmonUnit &), Outcome (*check)(const Machine &, PmonUnit &)>
Outcome units_outcome(const Machine &machine, PmonTable &table)
{
    struct Part {
        std::string name;
        PmonUnit *unit;
    };
    std::vector<Part> parts;
    for (PmonUnit &unit : table.units)
        if (concerns(unit))
            parts.push_back({unit.name, &unit});
    return each(parts, [&](Part &part) { return check(machine, *part.unit); });
}

bool any(const PmonUnit &)
{
    return true;
}

// Access of the units of a type: 0: MSR, 1: MMIO, 2: PCI configuration space, 3: unknown type.
unsigned usual_access(uint16_t type)
{
    constexpr uint16_t kMmioTypes[] = {6, 12, 13, 14, 17}, kPciTypes[] = {7, 8, 9, 16, 18, 21, 22},
                       kMsrTypes[] = {0, 1, 2, 3, 4, 5, 11, 15, 20};
    if (std::ranges::find(kMsrTypes, type) != std::end(kMsrTypes))
        return 0;
    if (std::ranges::find(kMmioTypes, type) != std::end(kMmioTypes))
        return 1;
    return std::ranges::find(kPciTypes, type) != std::end(kPciTypes) ? 2 : 3;
}

Outcome check_access(const Machine &, PmonUnit &unit)
{
    const unsigned usual = usual_access(unit.unit.type);
    if (usual == 3)
        return not_tested("type {} has no name here", unit.unit.type);
    return static_cast<unsigned>(unit.unit.access) == usual
               ? pass("{}", uncore::name_of(unit.unit.access))
               : fail("{}", uncore::name_of(unit.unit.access));
}

Outcome check_width(const Machine &, PmonUnit &unit)
{
    if (usual_access(unit.unit.type) == 3)
        return not_tested("type {} has no name here", unit.unit.type);
    return unit.unit.width_bits == kUsualWidth ? pass("{} bits", unit.unit.width_bits)
                                               : fail("{} bits", unit.unit.width_bits);
}

Outcome check_address(const Machine &machine, PmonUnit &unit)
{
    const uint64_t at = unit.unit.box_control;
    if (machine.is_ram(at, at + unit.bytes - 1))
        return fail("the registers are in RAM: the addresses belong to another machine");
    return pass("{} bytes outside of RAM", unit.bytes);
}

Outcome check_owner(const Machine &, PmonTable &table)
{
    constexpr uint32_t kBridge = 0x06, kSystem = 0x08, kSignalProcessing = 0x11;  // base classes
    std::vector<std::string> seen;
    for (const PmonUnit &unit : table.units) {
        unsigned bar = 0;
        const PciFunction *owner =
            in_memory(unit) ? function_at(*table.functions, unit.unit.box_control, bar) : nullptr;
        if (!owner)
            continue;
        const uint32_t kind = owner->class_code >> 16;
        if (owner->vendor != uncore::kIntel ||
            (kind != kBridge && kind != kSystem && kind != kSignalProcessing))
            return fail("{} is in a BAR of {} ({:04x}:{:04x}, class {:#08x})", unit.name,
                        owner->name, owner->vendor, owner->device, owner->class_code);
        seen.push_back(unit.name);
    }
    return pass("{} units are in BARs of Intel's functions", seen.size());
}

Outcome check_package(const Machine &machine, PmonTable &table)
{
    const auto node = machine.host().number(table.function.path + "/numa_node");
    if (node && *node >= 0)
        return pass("node {}", *node);
    const size_t packages = packages_of(machine).size(), functions = table.functions_with_tables;
    if (packages == 1)
        return pass("no node, but there is one package");
    return functions == packages
               ? pass("no node, but {} functions for {} packages", functions, packages)
               : fail("no node, and {} functions for {} packages", functions, packages);
}

// Reads a register, up to four times while it reads as all ones, as the driver does: on real
// machines some reads fail.
template <typename T>
T ask(const PmonUnit &unit, uint64_t offset)
{
    constexpr int kTries = 4;
    T value = static_cast<T>(~T{0});
    for (int i = 0; i < kTries && value == static_cast<T>(~T{0}); i++)
        value = unit.box->read<T>(offset);
    return value;
}

Outcome check_answers(const Machine &, PmonUnit &unit)
{
    if (!unit.box)
        return not_tested(*unit.closed);
    const uint32_t control = ask<uint32_t>(unit, 0);
    return control == kNoAnswer ? not_tested("box control reads as all ones")
                                : pass("box control {:#x}", control);
}

uint64_t counter_offset(const PmonUnit &unit, unsigned i)
{
    return uncore::counter_address(unit.unit, i) - unit.unit.box_control;
}

uint64_t control_offset(const PmonUnit &unit, unsigned i)
{
    return uncore::control_address(unit.unit, i) - unit.unit.box_control;
}

Outcome check_counters(const Machine &, PmonUnit &unit)
{
    if (!unit.box)
        return not_tested(*unit.closed);
    for (unsigned i = 0; i < unit.unit.counters; i++) {
        const uint64_t count = ask<uint64_t>(unit, counter_offset(unit, i));
        if (count == ~uint64_t{0} && ask<uint32_t>(unit, 0) == kNoAnswer)
            return not_tested("box control and counter {} read as all ones", i);
        if (unit.unit.width_bits < 64 && count >> unit.unit.width_bits)
            return fail("counter {} reads {:#x}", i, count);
    }
    return pass("{} counters below 2^{}", unit.unit.counters, unit.unit.width_bits);
}

// True for the first memory controller of a pair: the free-running DRAM clock is at a fixed offset
// from its registers.
bool is_first_of_pair(const PmonUnit &unit)
{
    return unit.unit.type == kImc && in_memory(unit) &&
           unit.unit.box_control % kImcPair == kFirstImc;
}

Outcome check_clock(const Machine &machine, PmonUnit &unit)
{
    if (!is_sapphire_rapids(machine) && !machine.is_virtual())
        return not_tested("only Sapphire and Emerald Rapids have them there");
    if (!unit.box)
        return not_tested(*unit.closed);
    const Result<Window> clock =
        registers_at(machine, pci_functions(machine.host()),
                     unit.unit.box_control - kFirstImc + kDclk, 8, Access::kRead);
    if (!clock)
        return not_tested(clock.error());
    const uint64_t before = clock->read<uint64_t>(0);
    const int64_t begin = now_us();
    sleep_us(20000);
    const uint64_t after = clock->read<uint64_t>(0);
    const int64_t us = now_us() - begin;
    const uint64_t ticks = (after - before) & ((uint64_t{1} << kUsualWidth) - 1);
    // A DRAM clock is between 100 MHz and 10 GHz.
    const uint64_t mhz = ticks / static_cast<uint64_t>(std::max<int64_t>(us, 1));
    return mhz >= 100 && mhz <= 10000 ? pass("{} MHz", mhz) : fail("{} ticks in {} us", ticks, us);
}

bool in_config(const PmonUnit &unit)
{
    return unit.unit.access == uncore::Access::kPci;
}

Outcome check_pci_unit(const Machine &machine, PmonUnit &unit)
{
    const uint64_t at = unit.unit.box_control;
    const std::string name = text_of("{:04x}:{:02x}:{:02x}.{:x}", at >> 28 & 7, at >> 20 & 0xff,
                                     at >> 15 & 0x1f, at >> 12 & 7);
    if (!machine.host().has("sys/bus/pci/devices/" + name))
        return fail("there is no function {}", name);
    if (at >> 28 == 0 && (at & 0xfff) < 0x100)
        return fail("accesses to offset {:#x} of {} take a lock", at & 0xfff, name);
    return pass("{} at {:#x}", name, at & 0xfff);
}

// Reason why the MSRs of a package cannot be read. nullopt: they can be read on `cpu`.
std::optional<Outcome> no_msrs(const Machine &machine, const std::optional<unsigned> &cpu)
{
    if (machine.is_virtual())
        return not_tested("a virtual machine has none of these MSRs");
    if (!cpu)
        return not_tested("no CPU of the function's package is known");
    return std::nullopt;
}

Outcome check_msr_unit(const Machine &machine, PmonUnit &unit)
{
    if (auto why = no_msrs(machine, unit.cpu))
        return *why;
    const Result<uint64_t> control =
        machine.msr(*unit.cpu, static_cast<uint32_t>(unit.unit.box_control));
    if (!control)
        return control.error().code == Errc::kIo ? fail("{}", control.error().message)
                                                 : not_tested(control.error());
    return *control == ~uint64_t{0} ? fail("box control reads as all ones")
                                    : pass("box control {:#x}", *control);
}

Outcome check_chas(const Machine &machine, PmonTable &table)
{
    if (!is_sapphire_rapids(machine))
        return not_tested("only Sapphire and Emerald Rapids have this MSR");
    if (auto why = no_msrs(machine, table.cpu))
        return *why;
    const Result<uint64_t> count = machine.msr(*table.cpu, kChaCountMsr);
    if (!count)
        return not_tested(count.error());
    const auto listed = static_cast<uint64_t>(
        std::ranges::count(table.units, kCha, [](const PmonUnit &unit) { return unit.unit.type; }));
    return *count == 0 || *count == listed ? pass("MSR {}, table {}", *count, listed)
                                           : fail("MSR {}, table {}", *count, listed);
}

Outcome check_names(const Machine &machine, PmonTable &table)
{
    if (machine.host().has_module("uncore_pmon") ||
        !machine.host().has(text_of("{}/uncore_imc_0", kPmus)))
        return not_tested("intel_uncore serves no units here");
    for (const PmonUnit &unit : table.units)
        if (unit.unit.type == kImc && !machine.host().has(text_of("{}/{}", kPmus, unit.name)))
            return fail("there is no {}", unit.name);
    return pass("each memory controller has its PMU");
}

Result<uint64_t> read_global(const Machine &machine, const PmonTable &table)
{
    const uncore::Global &global = (*table.table)->global;
    if (global.access == static_cast<uint8_t>(uncore::Access::kMmio)) {
        if (global.control % 4 || machine.is_ram(global.control, global.control + 3))
            return Error{Errc::kDamaged, "no register can be at its address"};
        const Result<Window> window =
            registers_at(machine, *table.functions, global.control, 4, Access::kRead);
        return window ? Result<uint64_t>(window->read<uint32_t>(0)) : window.error();
    }
    if (global.access != static_cast<uint8_t>(uncore::Access::kMsr) || global.control < kFirstMsr ||
        global.control > kLastMsr)
        return Error{Errc::kUnsupported, "it is neither in memory nor an MSR of the uncore"};
    if (const auto why = no_msrs(machine, table.cpu))
        return Error{Errc::kUnsupported, why->seen};
    return machine.msr(*table.cpu, static_cast<uint32_t>(global.control));
}

Outcome check_global_freeze(const Machine &machine, PmonTable &table)
{
    if (!*table.table)
        return not_tested(table.table->error());
    const Result<uint64_t> control = read_global(machine, table);
    if (!control)
        return not_tested(control.error());
    if (*control == kNoAnswer)
        return not_tested("it reads as all ones");
    return *control & kFreeze ? fail("{:#x}", *control) : pass("{:#x}", *control);
}

// True if the global control is known to freeze all units.
bool is_frozen_globally(const Machine &machine, const PmonTable &table)
{
    const Result<uint64_t> control = read_global(machine, table);
    return control && *control != kNoAnswer && *control & kFreeze;
}

Outcome check_msr_range(const Machine &, PmonUnit &unit)
{
    const unsigned last = unit.unit.counters - 1u;
    const uint64_t end = std::max(uncore::control_address(unit.unit, last),
                                  uncore::counter_address(unit.unit, last));
    return unit.unit.box_control >= kFirstMsr && end <= kLastMsr
               ? pass("{:#x} to {:#x}", unit.unit.box_control, end)
               : fail("{:#x} to {:#x}", unit.unit.box_control, end);
}

Outcome check_prefetchable(const Machine &, PmonTable &table)
{
    size_t in_bars = 0;
    for (const PmonUnit &unit : table.units) {
        unsigned bar = 0;
        const PciFunction *owner =
            in_memory(unit) ? function_at(*table.functions, unit.unit.box_control, bar) : nullptr;
        in_bars += owner != nullptr;
        if (owner && owner->bars[bar].prefetchable)
            return fail("{} is in BAR {} of {}", unit.name, bar, owner->name);
    }
    return pass("{} units are in BARs", in_bars);
}

// Checks that write

// general: offset of a general counter's register; fixed: offset of the fixed counter's register.
std::vector<uint64_t> offsets_of(const PmonUnit &unit,
                                 uint64_t (*general)(const PmonUnit &, unsigned), uint64_t fixed)
{
    std::vector<uint64_t> offsets;
    for (unsigned i = 0; i < unit.unit.counters; i++)
        offsets.push_back(general(unit, i));
    if (unit.fixed)
        offsets.push_back(fixed);
    return offsets;
}

std::vector<uint64_t> control_offsets(const PmonUnit &unit)
{
    return offsets_of(unit, control_offset, kFixedControl);
}

std::vector<uint64_t> counter_offsets(const PmonUnit &unit)
{
    return offsets_of(unit, counter_offset, kFixedCounter);
}

// True if another program counts with the unit, through /dev/mem: the unit is not frozen and has an
// event, while drivers leave units frozen. False for a unit that does not respond: no check writes
// to it.
bool is_counting(const PmonUnit &unit)
{
    if (ask<uint32_t>(unit, 0) & kFreeze)  // also true for all ones: no response
        return false;
    return std::ranges::any_of(control_offsets(unit),
                               [&](uint64_t offset) { return ask<uint32_t>(unit, offset) != 0; });
}

bool is_counting_in_msrs(const Machine &machine, const PmonUnit &unit)
{
    if (!in_msrs(unit) || no_msrs(machine, unit.cpu))
        return false;
    const auto box = machine.msr(*unit.cpu, static_cast<uint32_t>(unit.unit.box_control));
    if (!box || *box & kFreeze)
        return false;
    for (unsigned i = 0; i < unit.unit.counters; i++) {
        const auto control =
            machine.msr(*unit.cpu, static_cast<uint32_t>(uncore::control_address(unit.unit, i)));
        if (control && *control)
            return true;
    }
    return false;
}

std::optional<std::string> pmon_held(const Machine &machine, PmonTable &table)
{
    if (table.misplaced || table.closed)
        return (table.misplaced ? table.misplaced : table.closed)->message;
    for (const std::string &pmu : machine.host().names(kPmus))
        if (pmu.starts_with("uncore_"))
            return pmu + " is a PMU of a driver that programs these units";
    for (const PmonUnit &unit : table.units) {
        if (unit.box ? is_counting(unit) : is_counting_in_msrs(machine, unit))
            return unit.name + " is not frozen and has an event: another program counts with it";
        if (!unit.box)
            continue;
        const uint64_t at = unit.unit.box_control;
        if (auto holder = holder_of(machine, table.function, at, at + unit.bytes - 1))
            return holder;
    }
    return std::nullopt;
}

// Freezes a unit, and restores its registers at the end of a scope. If a control register does not
// respond, does not write to the unit at all.
class KeptBox {
public:
    explicit KeptBox(const PmonUnit &unit) : unit_(unit), box_(ask<uint32_t>(unit, 0))
    {
        answers_ = box_ != kNoAnswer;
        for (uint64_t offset : control_offsets(unit)) {
            controls_.push_back(ask<uint32_t>(unit, offset));
            answers_ = answers_ && controls_.back() != kNoAnswer;
        }
        if (!answers_)
            return;
        unit.box->write<uint32_t>(0, kFreeze);
        for (uint64_t offset : counter_offsets(unit))
            counters_.push_back(ask<uint64_t>(unit, offset));
    }
    KeptBox(const KeptBox &) = delete;
    KeptBox &operator=(const KeptBox &) = delete;
    ~KeptBox()
    {
        if (!answers_)
            return;
        unit_.box->write<uint32_t>(0, kFreeze);
        const std::vector<uint64_t> controls = control_offsets(unit_);
        for (size_t i = 0; i < controls.size(); i++)
            unit_.box->write<uint32_t>(controls[i], controls_[i]);
        const std::vector<uint64_t> counters = counter_offsets(unit_);
        for (size_t i = 0; i < counters.size(); i++)
            unit_.box->write<uint64_t>(counters[i], counters_[i]);
        unit_.box->write<uint32_t>(0, box_ & ~(kResetControls | kResetCounters));
    }
    bool answers() const { return answers_; }

private:
    const PmonUnit &unit_;
    uint32_t box_;
    bool answers_ = false;
    std::vector<uint32_t> controls_;
    std::vector<uint64_t> counters_;
};

// Runs a check of a writable unit in memory. NOT TESTED for units of unknown types.
template <Outcome (*check)(PmonUnit &)>
Outcome of_box(const Machine &, PmonUnit &unit)
{
    if (!unit.box)
        return not_tested(*unit.closed);
    if (usual_access(unit.unit.type) == 3)
        return not_tested("type {} has no name here: not written to", unit.unit.type);
    const KeptBox kept(unit);
    return kept.answers() ? check(unit) : not_tested("a control reads as all ones");
}

Outcome check_freeze(PmonUnit &unit)
{
    unit.box->write<uint32_t>(0, kFreeze);
    const uint32_t set = ask<uint32_t>(unit, 0);
    unit.box->write<uint32_t>(0, 0);
    const uint32_t cleared = ask<uint32_t>(unit, 0);
    return set & kFreeze && !(cleared & kFreeze) ? pass("{:#x}, {:#x}", set, cleared)
                                                 : fail("{:#x}, {:#x}", set, cleared);
}

Outcome check_controls(PmonUnit &unit)
{
    constexpr uint32_t kValue = 0x0284'0201;  // threshold 2, invert, edge, umask 2, event 1
    unit.box->write<uint32_t>(0, kFreeze);
    for (unsigned i = 0; i < unit.unit.counters; i++) {
        unit.box->write<uint32_t>(control_offset(unit, i), kValue);
        const uint32_t seen = ask<uint32_t>(unit, control_offset(unit, i));
        if (seen != kValue)
            return fail("control {}: wrote {:#x}, read {:#x}", i, kValue, seen);
    }
    return pass("{} controls keep {:#x}", unit.unit.counters, kValue);
}

Outcome check_resets(PmonUnit &unit)
{
    unit.box->write<uint32_t>(0, kFreeze);
    unit.box->write<uint32_t>(control_offset(unit, 0), 1);
    unit.box->write<uint32_t>(0, kFreeze | kResetControls | kResetCounters);
    const uint32_t box = ask<uint32_t>(unit, 0);
    const uint32_t control = ask<uint32_t>(unit, control_offset(unit, 0));
    const uint64_t count = ask<uint64_t>(unit, counter_offset(unit, 0));
    if (box & (kResetControls | kResetCounters) || control || count)
        return fail("box control {:#x}, control {:#x}, counter {:#x}", box, control, count);
    return pass("box control {:#x}, control and counter 0", box);
}

uint64_t grown_in_10_ms(const PmonUnit &unit, uint64_t counter, uint64_t width_bits)
{
    const uint64_t before = ask<uint64_t>(unit, counter);
    sleep_us(10000);
    const uint64_t after = ask<uint64_t>(unit, counter);
    const uint64_t unused = 64u - std::min<uint64_t>(width_bits, 64);
    return (after - before) << unused >> unused;
}

// Checks a counter whose control selects a clock: it must count unless the unit is frozen.
Outcome check_clock_counter(const PmonUnit &unit, uint64_t counter, uint64_t width_bits)
{
    const uint64_t frozen = grown_in_10_ms(unit, counter, width_bits);
    unit.box->write<uint32_t>(0, 0);
    const uint64_t running = grown_in_10_ms(unit, counter, width_bits);
    if (frozen || !running || running >> 40)
        return fail("{} while frozen, {} while not, in 10 ms", frozen, running);
    return pass("0 while frozen, {} while not, in 10 ms", running);
}

Outcome check_counts(PmonUnit &unit)
{
    constexpr uint32_t kClock = 1;  // event 1 is a clock in all known types of units in memory
    unit.box->write<uint32_t>(0, kFreeze);
    unit.box->write<uint32_t>(control_offset(unit, 0), kClock);
    return check_clock_counter(unit, counter_offset(unit, 0), unit.unit.width_bits);
}

// The fixed counter must not count without its enable bit, also if the unit is not frozen.
Outcome check_fixed(PmonUnit &unit)
{
    unit.box->write<uint32_t>(0, kFreeze);
    unit.box->write<uint32_t>(kFixedControl, 0);
    unit.box->write<uint32_t>(0, 0);
    if (const uint64_t disabled = grown_in_10_ms(unit, kFixedCounter, kUsualWidth))
        return fail("{} while its control is 0, in 10 ms", disabled);
    unit.box->write<uint32_t>(0, kFreeze);
    unit.box->write<uint32_t>(kFixedControl, kEnable);
    return check_clock_counter(unit, kFixedCounter, kUsualWidth);
}

bool is_imc_in_memory(const PmonUnit &unit)
{
    return unit.unit.type == kImc && in_memory(unit);
}

// Runs a check that needs counting units. NOT TESTED while the global control freezes all units.
template <bool (*concerns)(const PmonUnit &), Outcome (*check)(PmonUnit &)>
Outcome of_running(const Machine &machine, PmonTable &table)
{
    if (*table.table && is_frozen_globally(machine, table))
        return not_tested("the global control freezes all units");
    return units_outcome<concerns, of_box<check>>(machine, table);
}

bool is_fixed(const PmonUnit &unit)
{
    return unit.fixed;
}

Outcome check_msr_freeze(const Machine &machine, PmonUnit &unit)
{
    if (auto why = no_msrs(machine, unit.cpu))
        return *why;
    const unsigned cpu = *unit.cpu;
    const auto number = static_cast<uint32_t>(unit.unit.box_control);
    const Result<uint64_t> before = machine.msr(cpu, number);
    if (!before)
        return not_tested(before.error());
    const Result<void> written = machine.write_msr(cpu, number, *before | kFreeze);
    if (!written && written.error().code == Errc::kDenied)
        return not_tested(written.error());
    const Result<uint64_t> after = machine.msr(cpu, number);
    const Result<void> back = machine.write_msr(cpu, number, *before);
    if (!back)
        return fail("{:#x} could not be restored", *before);
    return written && after && *after & kFreeze ? pass("{:#x}", *after)
                                                : fail("the freeze bit is not kept");
}

constexpr const char *kUncoreLinux = "Linux 7.2, uncore_discovery.c";

constexpr Check<PmonTable> kPmonChecks[] = {
    {{1, Kind::kRead, "The DVSEC names a BAR of plain memory that begins with the table.",
      kUncoreLinux, "its third word, the BAR"},
     check_locator},
    {{2, Kind::kRead, "Entry 0 describes the table: a stride of 3 words or more, inside the BAR.",
      kUncoreLinux, "its three words"},
     of_table<check_global>},
    {{3, Kind::kRead, "Each entry is unused or has a valid layout.", kUncoreLinux,
      "the rules of pmukit discover"},
     of_table<check_entries>},
    {{4, Kind::kRead, "The table is the same each time it is read.", "assumed", "two reads"},
     of_table<check_stable>},
    {{5, Kind::kRead,
      "Units of a type have the access that the driver expects: MSRs, memory or configuration "
      "space.",
      "Linux 7.2, uncore_snbep.c", "access type of each unit"},
     of_table<units_outcome<any, check_access>>},
    {{6, Kind::kRead, "Counters have 48 bits.", "the text that Intel's PCM prints",
      "width of each unit"},
     of_table<units_outcome<any, check_width>>},
    {{7, Kind::kRead, "Addresses belong to this machine and are not RAM.",
      "assumed: not so if a function is passed through", "/proc/iomem"},
     of_table<units_outcome<in_memory, check_address>>},
    {{8, Kind::kRead,
      "A unit in a BAR belongs to an Intel bridge, system peripheral or signal processor.",
      "assumed (devices/uncore_pmon)", "base class of the function that has the BAR: 06, 08, 11"},
     of_table<check_owner>},
    {{9, Kind::kRead, "The function's package is known: by its node, or one function per package.",
      "Linux 7.2, get_device_die_id()", "numa_node, number of functions with tables and packages"},
     of_table<check_package>},
    {{10, Kind::kRead, "The box control of a unit in memory is readable (not all ones).",
      "assumed: likwid saw all ones of B2CXL and UPI",
      "read up to four times; all ones are NOT TESTED"},
     of_table<units_outcome<in_memory, check_answers>>},
    {{11, Kind::kRead, "Counters have no bits above the width in the table.", kUncoreLinux,
      "counters of units in memory"},
     of_table<units_outcome<in_memory, check_counters>>},
    {{12, Kind::kRead,
      "The free-running DRAM clock is at offset 0x22b0 of each pair of memory controllers.",
      "Linux 7.2, uncore_snbep.c: Sapphire Rapids", "two reads, 20 ms apart"},
     of_table<units_outcome<is_first_of_pair, check_clock>>},
    {{13, Kind::kRead, "Units in configuration space start at offset 256 or more.",
      "assumed (devices/uncore_pmon)", "their addresses"},
     of_table<units_outcome<in_config, check_pci_unit>>},
    {{14, Kind::kRead, "The box control of a unit in MSRs is readable (not all ones).",
      kUncoreLinux, "read on a CPU of the function's package"},
     of_table<units_outcome<in_msrs, check_msr_unit>>},
    {{15, Kind::kRead, "MSR 0x2ffe is 0 or the number of CHAs.", "Linux 7.2, uncore_snbep.c",
      "the table's number of them; a CPU of the function's package"},
     of_table<check_chas>},
    {{16, Kind::kRead, "intel_uncore names memory controllers by the ids in the table.",
      "Linux 7.2, uncore.c", "its PMUs, if it is loaded"},
     of_table<check_names>},
    {{17, Kind::kWrite, "The freeze bit of a unit in memory reads back as written.", kUncoreLinux,
      "box control, bit 0"},
     of_table<units_outcome<in_memory, of_box<check_freeze>>>},
    {{18, Kind::kWrite,
      "Controls are 4 bytes apart, 8 for cxlcm, cxldp and b2cxl, and read back as written.",
      "Linux 7.2, uncore_snbep.c; that they read back is assumed", "all controls, frozen"},
     of_table<units_outcome<in_memory, of_box<check_controls>>>},
    {{19, Kind::kWrite, "Bits 8 and 9 reset controls and counters, and clear themselves.",
      kUncoreLinux, "box control, control 0 and counter 0"},
     of_table<units_outcome<in_memory, of_box<check_resets>>>},
    {{20, Kind::kWrite,
      "Event 1 counts the memory controller's clock while the unit is not frozen, and not while "
      "it is.",
      "Linux 7.2, uncore_snbep.c", "counter 0 of imc units, 10 ms each"},
     of_table<of_running<is_imc_in_memory, check_counts>>},
    {{21, Kind::kWrite, "The freeze bit of a unit in MSRs reads back as written.",
      "assumed (devices/uncore_pmon)", "box control on a CPU of the function's package"},
     of_table<units_outcome<in_msrs, check_msr_freeze>>},
    {{22, Kind::kOutside, "One event of cxlcm and cxldp represents 64 bytes.", "assumed",
      "traffic of a known amount to a CXL device"}},
    {{23, Kind::kOutside, "Some events count in some counters only (cxlcm, m2pcie).",
      "Linux 7.2, uncore_snbep.c", "traffic that makes these events"}},
    {{24, Kind::kOutside, "A control in configuration space takes two dwords, the upper one first.",
      "Linux 7.2, uncore_snbep.c",
      "writes to configuration space, which this program does not do"}},
    {{25, Kind::kOutside,
      "Upi and m3upi of Sapphire Rapids are at devices 1 and 5, not in the table.",
      "Linux 7.2, uncore_snbep.c",
      "writes to configuration space, which this program does not do"}},
    {{26, Kind::kWrite,
      "The fixed counter of a memory controller is at 0x38, its control at 0x54: bit 22 starts it.",
      "Linux 7.2, uncore_snbep.c: Sapphire and Granite Rapids", "10 ms each, as 20"},
     of_table<of_running<is_fixed, check_fixed>>},
    {{27, Kind::kRead, "The global control does not freeze all units: bit 0 is 0.",
      "assumed: Granite Rapids may begin otherwise", "a register in memory, or an MSR"},
     of_table<check_global_freeze>},
    {{28, Kind::kRead, "MSRs of units are in 0x2000 to 0x3fff.", "assumed (devices/uncore_pmon)",
      "their numbers"},
     of_table<units_outcome<in_msrs, check_msr_range>>},
    {{29, Kind::kRead, "No unit is in a BAR of prefetchable memory.",
      "assumed (devices/uncore_pmon)", "the BAR that it is in"},
     of_table<check_prefetchable>},
};

std::vector<Statement> pmon_statements()
{
    return statements_of<PmonTable>(kPmonChecks);
}

std::string facts_of(const PmonTable &table, bool full)
{
    Facts facts{full, {}};
    facts.add("function", text_of("{} {:04x}:{:04x}", table.function.name, table.function.vendor,
                                  table.function.device));
    facts.add("driver", table.function.driver.empty() ? "none" : table.function.driver);
    if (table.misplaced || table.closed || !table.table || !*table.table) {
        facts.add("table", table.misplaced ? table.misplaced->message
                           : table.closed  ? table.closed->message
                                           : table.table->error().message);
        return facts.text;
    }
    const uncore::Table &parsed = **table.table;
    facts.add("table", text_of("BAR {}, stride {} words, {} places", table.place.bir,
                               parsed.global.stride_words, parsed.global.max_units));
    facts.address("global_control", parsed.global.control);
    for (const uncore::Unit &unit : parsed.units) {
        facts.add("unit", text_of("entry {} type {} id {} access {} counters {} width {} control "
                                  "{:#x} counter {:#x} status {:#x}",
                                  unit.entry, unit.type, unit.id, uncore::name_of(unit.access),
                                  unit.counters, unit.width_bits, unit.control_offset,
                                  unit.counter_offset, unit.status_offset));
        if (unit.access == uncore::Access::kMmio)
            facts.address(text_of("entry {} box", unit.entry), unit.box_control);
        else
            facts.hex(text_of("entry {} box", unit.entry), unit.box_control);
    }
    for (const uncore::Refused &entry : parsed.refused)
        facts.add("refused", text_of("entry {}: {}", entry.entry, entry.why));
    return facts.text;
}

// All functions of the machine. The driver looks for tables in every function of Intel, so the
// configuration space of these is read.
std::vector<PciFunction> functions_of(const Host &host)
{
    std::vector<PciFunction> functions = pci_functions(host);
    for (PciFunction &function : functions)
        if (function.vendor == uncore::kIntel)
            read_config(host, function);
    return functions;
}

Result<std::vector<DeviceReport>> examine_pmon(const Machine &machine, bool full)
{
    std::vector<DeviceReport> reports;
    const std::vector<PciFunction> functions = functions_of(machine.host());
    for (PmonTable &table : tables_of(machine, functions)) {
        std::string facts = facts_of(table, full);
        reports.push_back(
            {table.name,
             run_checks<PmonTable>(machine, machine.active(), kPmonChecks, table, pmon_held),
             std::move(facts)});
    }
    if (!reports.empty())
        return reports;
    for (const PciFunction &function : functions)
        if (function.vendor == uncore::kIntel && function.config.size() <= 64 &&
            !function.config.empty())
            return Error{Errc::kDenied, "only root may read the capabilities of a function"};
    return Error{Errc::kNotFound, "no function of Intel's here has a table of uncore units"};
}

}  // namespace

constinit const Driver kUncorePmonDriver = {"uncore_pmon", pmon_statements, examine_pmon};

}  // namespace pmukit::cli::qualify
