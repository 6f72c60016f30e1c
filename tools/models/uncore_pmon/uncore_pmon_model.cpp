// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/uncore_pmon_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "models/uncore_pmon/telemetry.hpp"
#include "models/uncore_pmon/unit_types.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint32_t kClass = 0x088000;  // other system peripheral
constexpr uint64_t kMinTableBytes = 0x1000;
// Real functions have two BARs of this size.
constexpr uint64_t kTableBarBytes = 0x80000;
static_assert(kTelemetryEnd <= kTpmiAt && kTpmiEnd <= kTableBarBytes);
constexpr uint64_t kLineBytes = 64;

// Layout of the units' BAR. Memory controllers are as far apart as on a Sapphire Rapids and have
// two units each; every unit has at least 16 KiB.
//
//   0x000000  global control, if it is MMIO
//   0x010000  CXLCM, CXLDP, B2CXL units
//   0x100000  units of the unknown type
//   0x280000  memory controllers: +0x22b0 free-running counters, +0x22800 and +0x2a800 units
constexpr uint64_t kUnitBarBytes = 0x800000;
constexpr uint64_t kGlobalAt = 0;
constexpr unsigned kGlobalBytes = 4;
constexpr uint64_t kCxlAt = 0x10000;
constexpr uint64_t kUnknownAt = 0x100000;
constexpr uint64_t kUnitStep = 0x4000;
constexpr uint64_t kControllerAt = 0x280000;
constexpr unsigned kImcsOfController = std::size(kImcInController);
static_assert(kCxlAt + kUnitStep * 3 * kMaxPorts <= kUnknownAt);
static_assert(kUnknownAt + kMaxUnknown * kUnitStep <= kControllerAt);
static_assert(kControllerAt + kMaxImcs / kImcsOfController * kControllerBytes <= kUnitBarBytes);

// The global control MSR of a Sapphire Rapids, and units accessed by MSR or through PCI
// configuration space.
constexpr uint64_t kGlobalMsr = 0x2ff0;
constexpr UnitEntry kListedCha = {.counters = 4,
                                  .control0 = 2,
                                  .width = 48,
                                  .counter0 = 8,
                                  .status = 1,
                                  .access = Access::kMsr,
                                  .control = 0x2000,
                                  .type = kTypeCha};
constexpr uint64_t kChaStep = 0x10;
// Controls and counters of 8 bytes each, one after the other.
constexpr UnitEntry kListedM2m = {.counters = 4,
                                  .control0 = 0x28,
                                  .width = 48,
                                  .counter0 = 0x08,
                                  .status = 0x48,
                                  .access = Access::kPci,
                                  .type = kTypeM2m};
constexpr unsigned kM2mBus = 0xfe;
constexpr unsigned kM2mDevice = 12;
constexpr unsigned kM2mOffset = 0x438;

constexpr uint32_t in_bar(unsigned bar, uint64_t offset = 0)
{
    return static_cast<uint32_t>(offset | kDvsecBirField.put(bar));
}

// Returns the BAR of telemetry and of a second table. A 64-bit BAR of the first table takes BAR
// registers 0 and 1; then the returned BAR is the one after that of the units.
unsigned second_bar_of(const Options &options)
{
    return options.table_64bit ? kBarBehindUnits : 1 - options.table_bar;
}

void add_dvsec(vfu::ConfigSpace &config, const TablePlace &place, unsigned entries, unsigned dwords)
{
    const vfu::Register registers[] = {{.offset = kDvsecEntries, .width = 1, .reset = entries},
                                       {.offset = kDvsecEntrySize, .width = 1, .reset = dwords},
                                       {.offset = kDvsecBir, .width = 4, .reset = place.word}};
    config.add_dvsec(kVendor, kDvsecRevision, place.entry, kDvsecBytes, registers);
}

GlobalEntry global_of(const Options &options, unsigned units)
{
    GlobalEntry entry;
    entry.stride = options.stride;
    entry.max_units = options.max_units != 0 ? options.max_units : units;
    entry.access = options.global_mmio ? Access::kMmio : Access::kMsr;
    entry.control = options.global_mmio ? kGlobalAt : kGlobalMsr;
    entry.status = 2;
    entry.statuses = 1;
    return entry;
}

}  // namespace

UncorePmonModel::UncorePmonModel(const Options &options, AccessRecord &record, vfu::Host &host)
    : record_(record),
      host_(host),
      config_({.vendor = kVendor,
               .device = options.device,
               .subsystem_vendor = kVendor,
               .subsystem_device = options.device,
               .class_code = kClass,
               .revision = 1}),
      params_(options.box),
      second_bar_(second_bar_of(options)),
      ones_every_(options.ones_every),
      underfill_(options.underfill),
      global_mmio_(options.global_mmio),
      imc_bytes_(options.ddr_bytes),
      ddr_bytes_(options.ddr_bytes * options.imcs),
      shown_table_(options.fault),
      shown_registers_(options.fault)
{
    build_units(options);
    build_listed(options);
    build_tables(options);
    build_config(options);
    power_on();
}

void UncorePmonModel::add_unit(const Options &options, const UnitType &type, unsigned nth,
                               uint64_t offset, std::optional<uint16_t> port)
{
    const uint16_t id = options.id_of(type, nth);
    const bool all_ones = std::ranges::any_of(options.all_ones, [&](const UnitName &name) {
        return name.type == &type && name.id == id;
    });
    units_.push_back({&type, id, offset, CounterBox(type, params_), port, all_ones});
}

void UncorePmonModel::build_units(const Options &options)
{
    for (unsigned i = 0; i < options.imcs; i++) {
        const uint64_t base = kControllerAt + i / kImcsOfController * kControllerBytes;
        if (i % kImcsOfController == 0)
            controllers_.push_back({base, FreeRunning(params_.below_wrap)});
        add_unit(options, kImc, i, base + kImcInController[i % kImcsOfController]);
    }
    uint64_t at = kCxlAt;
    for (const UnitType *type : {&kCxlcm, &kCxldp, &kB2cxl})
        for (unsigned i = 0; i < options.root_ports.size(); i++, at += kUnitStep)
            add_unit(options, *type, i, at, options.root_ports[i]);
    for (unsigned i = 0; i < options.unknown; i++)
        add_unit(options, kUnknown, i, kUnknownAt + i * kUnitStep);
}

void UncorePmonModel::build_listed(const Options &options)
{
    for (unsigned i = 0; i < options.msr_units; i++) {
        listed_.push_back(kListedCha);
        listed_.back().control += i * kChaStep;
        listed_.back().id = static_cast<uint16_t>(i);
    }
    for (unsigned i = 0; i < options.pci_units; i++) {
        listed_.push_back(kListedM2m);
        listed_.back().control = pci_control(kM2mBus, kM2mDevice * 8 + i, kM2mOffset);
        listed_.back().id = static_cast<uint16_t>(i);
    }
}

void UncorePmonModel::build_tables(const Options &options)
{
    const unsigned bars[kMaxTables] = {options.table_bar, second_bar_};
    for (unsigned i = 0; i < options.tables; i++)
        tables_.push_back({bars[i], global_of(options, options.units()[i]), {}, std::nullopt});
}

void UncorePmonModel::build_config(const Options &options)
{
    uint64_t bytes = options.fault && options.fault->small_bar ? kMinTableBytes : kTableBarBytes;
    for (const Table &table : tables_)
        bytes = std::max(bytes, build_table(table, 0).size() * sizeof(uint64_t));
    config_.add_bar(options.table_bar,
                    options.table_64bit ? vfu::BarKind::kMemory64 : vfu::BarKind::kMemory32,
                    std::bit_ceil(bytes));
    config_.add_bar(second_bar_, vfu::BarKind::kMemory32, kTableBarBytes);
    config_.add_bar(kUnitBar, vfu::BarKind::kMemory32, kUnitBarBytes);
    if (ddr_bytes_ != 0)
        config_.add_bar(kDdrBar, vfu::BarKind::kMemory64Prefetchable, std::bit_ceil(ddr_bytes_));
    config_.add_pcie_endpoint();
    config_.add_aer();
    add_dvsec(config_, {kEntryTelemetry, in_bar(second_bar_, kTelemetryAt)}, kTelemetryEntries,
              kTelemetryEntryDwords);
    add_dvsec(config_, {kEntryTpmi, in_bar(second_bar_, kTpmiAt)}, kTpmiEntries, kTpmiEntryDwords);
    for (const Table &table : tables_) {
        const TablePlace place{kEntryPmon, in_bar(table.bar)};
        add_dvsec(config_, &table == &tables_[0] ? shown_place(options.fault, place) : place, 1,
                  kPmonEntryDwords);
    }
}

// An MMIO global control freezes all units until software clears it.
void UncorePmonModel::power_on()
{
    global_ = global_mmio_ ? kGlobalFreeze : 0;
    for (Unit &unit : units_) {
        unit.box.advance(host_.now_ns());
        unit.box.power_on();
        unit.box.freeze_from_outside(global_ != 0);
    }
    for (Controller &controller : controllers_) {
        controller.counters.advance(host_.now_ns());
        controller.counters.power_on();
    }
}

void UncorePmonModel::reset()
{
    tpmi_.reset();
    power_on();
}

// The guest's accesses

void UncorePmonModel::refuse(const char *what, unsigned bar, uint64_t offset, unsigned width)
{
    host_.log(
        fmt::format("BAR {}: {} of {} bytes at {:#x}: nothing there", bar, what, width, offset));
}

uint64_t UncorePmonModel::bar_read(unsigned bar, uint64_t offset, unsigned width)
{
    for (Table &table : tables_)
        if (bar == table.bar && !(bar == second_bar_ && offset >= kTelemetryAt))
            return read_table(table, offset, width);
    if (bar == second_bar_)
        return Tpmi::has(offset) ? tpmi_.read(offset, width) : read_telemetry(offset, width);
    if (bar == kDdrBar && has_ddr(offset, width))
        return read_ddr(offset, width);
    if (bar == kUnitBar)
        if (const std::optional<uint64_t> value = read_units(offset, width))
            return *value;
    refuse("read", bar, offset, width);
    return ~uint64_t{0};
}

void UncorePmonModel::bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
{
    if (bar == kDdrBar && has_ddr(offset, width))
        return write_ddr(offset, width, value);
    if (bar == second_bar_ && Tpmi::has(offset) && tpmi_.write(offset, width, value))
        return;
    if (bar != kUnitBar || !write_units(offset, width, value))
        refuse("write", bar, offset, width);
}

// The tables hold guest-physical addresses, which depend on the units' BAR.

const UncorePmonModel::Table &UncorePmonModel::table_of(const UnitType &type) const
{
    return &type == &kImc ? tables_.front() : tables_.back();
}

std::vector<uint64_t> UncorePmonModel::build_table(const Table &table, uint64_t unit_base) const
{
    GlobalEntry global = table.global;
    if (global.access == Access::kMmio)
        global.control += unit_base;
    std::vector<UnitEntry> entries;
    for (const Unit &unit : units_)
        if (&table_of(*unit.type) == &table)
            entries.push_back({.counters = unit.type->counters,
                               .control0 = unit.type->control0,
                               .width = params_.width,
                               .counter0 = unit.type->counter0,
                               .status = unit.type->status,
                               .access = Access::kMmio,
                               .control = unit_base + unit.offset,
                               .type = unit.type->id,
                               .id = unit.id});
    if (&table == &tables_.front())
        entries.insert(entries.end(), listed_.begin(), listed_.end());
    return table_words(global, entries);
}

uint64_t UncorePmonModel::read_table(Table &table, uint64_t offset, unsigned width)
{
    const uint64_t base = config_.bar_address(kUnitBar);
    if (table.built_for != base) {
        table.words = build_table(table, base);
        table.built_for = base;
    }
    if (!shown_table_.has_fault() || &table != &tables_.front())
        return read_words(table.words, offset, width);
    std::vector<uint64_t> shown = table.words;
    shown_table_.show(shown, table.global.stride, base + kUnitBarBytes);
    return read_words(shown, offset, width);
}

// Units

UncorePmonModel::Unit *UncorePmonModel::find_unit(uint64_t offset, unsigned width)
{
    const auto found = std::ranges::find_if(units_, [&](const Unit &unit) {
        return offset >= unit.offset && offset - unit.offset + width <= kUnitStep;
    });
    return found == units_.end() ? nullptr : &*found;
}

bool UncorePmonModel::is_global(uint64_t offset, unsigned width) const
{
    return global_mmio_ && offset == kGlobalAt && width == kGlobalBytes;
}

std::optional<uint64_t> UncorePmonModel::read_units(uint64_t offset, unsigned width)
{
    if (is_global(offset, width)) {
        record_.global(host_.now_ns(), false, global_);
        return global_;
    }
    if (Unit *const unit = find_unit(offset, width))
        return read_unit(*unit, offset, width);
    return read_free_running(offset, width);
}

bool UncorePmonModel::write_units(uint64_t offset, unsigned width, uint64_t value)
{
    if (is_global(offset, width)) {
        write_global(value);
        return true;
    }
    Unit *const unit = find_unit(offset, width);
    if (unit)
        write_unit(*unit, offset, width, value);
    return unit != nullptr;
}

// Models a box that is in a sleep state, or whose bus does not respond.
bool UncorePmonModel::answers_ones(Unit &unit) const
{
    return unit.all_ones && ++unit.reads % ones_every_ == 0;
}

uint64_t UncorePmonModel::read_unit(Unit &unit, uint64_t offset, unsigned width)
{
    const uint64_t now_ns = host_.now_ns();
    const auto at = static_cast<uint32_t>(offset - unit.offset);
    unit.box.advance(now_ns);
    const uint64_t value = unit.box.read(at, width);
    const bool ones = answers_ones(unit);
    record_.reg(now_ns, false, {unit.type->id, unit.id, at, width, value, ones});
    if (ones)
        return ~uint64_t{0};
    return shown_registers_.read(unit.box.is_counter(at), value, params_.width);
}

void UncorePmonModel::write_unit(Unit &unit, uint64_t offset, unsigned width, uint64_t value)
{
    const uint64_t now_ns = host_.now_ns();
    const auto at = static_cast<uint32_t>(offset - unit.offset);
    record_.reg(now_ns, true, {unit.type->id, unit.id, at, width, value});
    unit.box.advance(now_ns);
    if (!unit.box.write(at, width, value))
        refuse("write", kUnitBar, offset, width);
}

std::optional<uint64_t> UncorePmonModel::read_free_running(uint64_t offset, unsigned width)
{
    for (Controller &controller : controllers_) {
        if (offset < controller.base || offset - controller.base >= kControllerBytes)
            continue;
        controller.counters.advance(host_.now_ns());
        return controller.counters.read(static_cast<uint32_t>(offset - controller.base), width);
    }
    return std::nullopt;
}

void UncorePmonModel::write_global(uint64_t value)
{
    record_.global(host_.now_ns(), true, value);
    for (Unit &unit : units_) {
        unit.box.advance(host_.now_ns());
        unit.box.freeze_from_outside((value & kGlobalFreeze) != 0);
    }
    global_ = value & kGlobalFreeze;
}

// DDR: each IMC unit has a separate part of the range.

bool UncorePmonModel::has_ddr(uint64_t offset, unsigned width) const
{
    return offset < ddr_bytes_ && width <= ddr_bytes_ - offset;
}

uint64_t UncorePmonModel::read_ddr(uint64_t offset, unsigned width)
{
    record_.ddr(host_.now_ns(), false, offset, width, units_[offset / imc_bytes_].id);
    for (uint64_t line = offset / kLineBytes; line <= (offset + width - 1) / kLineBytes; line++)
        moves(line, false);
    return ddr_.load(offset, width);
}

void UncorePmonModel::write_ddr(uint64_t offset, unsigned width, uint64_t value)
{
    record_.ddr(host_.now_ns(), true, offset, width, units_[offset / imc_bytes_].id);
    for (uint64_t line = offset / kLineBytes; line <= (offset + width - 1) / kLineBytes; line++)
        moves(line, true);
    ddr_.store(offset, width, value);
}

// Transfers one line between a queue and DDR. With underfill, a partial write reads its line first;
// without underfill, the write waits in its queue until the line is complete.
void UncorePmonModel::moves(uint64_t line, bool write)
{
    const uint64_t imc = line * kLineBytes / imc_bytes_;
    const auto lane = static_cast<unsigned>(line % kLanes);
    const auto happen = [&](Signal signal) {
        const Happening happening{.signal = signal, .lane = lane};
        units_[imc].box.happened(happening);
        controllers_[imc / kImcsOfController].counters.happened(happening);
    };
    if (!write || underfill_) {
        happen(Signal::kReadQueued);
        happen(write ? Signal::kUnderfillCas : Signal::kReadCas);
    }
    if (write) {
        happen(Signal::kWriteQueued);
        happen(Signal::kWriteCas);
    }
}

// Counts the CXL.mem messages of a packet. A read has two messages and two packets: an M2S request,
// and S2M data. A write also has two messages, M2S data and an S2M response, but only one packet.

void UncorePmonModel::on_packet(const vfu::Packet &packet)
{
    if (packet.protocol != vfu::LinkProtocol::kCxlMem)
        return;
    struct Counted {
        vfu::PacketKind kind;
        Signal signal;
    };
    static constexpr Counted kCounted[] = {
        {vfu::PacketKind::kMemoryRead, Signal::kM2sRequest},
        {vfu::PacketKind::kCompletion, Signal::kS2mData},
        {vfu::PacketKind::kMemoryWrite, Signal::kM2sData},
        {vfu::PacketKind::kMemoryWrite, Signal::kS2mResponse},
    };
    bool watched = false;
    for (Unit &unit : units_) {
        if (unit.port != packet.root_port)
            continue;
        if (!watched && packet.kind != vfu::PacketKind::kCompletion)
            record_.cxl(packet);
        watched = true;
        for (const Counted &row : kCounted)
            if (row.kind == packet.kind)
                unit.box.happened({.signal = row.signal});
    }
}

}  // namespace pmukit::models::uncore_pmon
