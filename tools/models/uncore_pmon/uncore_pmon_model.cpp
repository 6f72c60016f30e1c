// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/uncore_pmon_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "models/uncore_pmon/unit_types.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint32_t kClass = 0x088000;  // a system peripheral like none of the others
constexpr uint64_t kMinTableBytes = 0x1000;
constexpr uint64_t kLineBytes = 64;

// The BAR of the units. Memory controllers lie as far apart as on a Sapphire Rapids, two units in
// each; every unit has at least 16 KiB to itself.
//
//   0x000000  global control, if it is here
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

// Other entries of the capability, which are not for us.
constexpr uint16_t kOtherEntry = 2;
constexpr size_t kDvsecBytes = 0x10;

// What a Sapphire Rapids has as its global control, and units of the kinds that no BAR reaches.
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
// Controls and counters of 8 bytes each, one behind the other.
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

TablePlace in_bar(uint16_t entry, unsigned bar)
{
    return {entry, static_cast<uint32_t>(kDvsecBirField.put(bar))};
}

void add_dvsec(vfu::ConfigSpace &config, const TablePlace &place)
{
    const vfu::Register registers[] = {{.offset = kDvsecEntries, .width = 1, .reset = 1},
                                       {.offset = kDvsecBir, .width = 4, .reset = place.word}};
    config.add_dvsec(kVendor, 0, place.entry, kDvsecBytes, registers);
}

GlobalEntry global_of(const Options &options)
{
    GlobalEntry entry;
    entry.stride = options.stride;
    entry.max_units = options.max_units != 0 ? options.max_units : options.units();
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
               .device = kDevice,
               .subsystem_vendor = kVendor,
               .subsystem_device = kDevice,
               .class_code = kClass,
               .revision = 1}),
      params_(options.box),
      table_bar_(options.table_bar),
      underfill_(options.underfill),
      global_mmio_(options.global_mmio),
      imc_bytes_(options.ddr_bytes),
      ddr_bytes_(options.ddr_bytes * options.imcs),
      global_entry_(global_of(options)),
      shown_table_(options.fault),
      shown_registers_(options.fault)
{
    build_units(options);
    build_listed(options);
    build_config(options);
    power_on();
}

void UncorePmonModel::add_unit(const UnitType &type, unsigned id, uint64_t offset,
                               std::optional<uint16_t> port)
{
    units_.push_back({&type, static_cast<uint16_t>(id), offset, CounterBox(type, params_), port});
}

void UncorePmonModel::build_units(const Options &options)
{
    for (unsigned i = 0; i < options.imcs; i++) {
        const uint64_t base = kControllerAt + i / kImcsOfController * kControllerBytes;
        if (i % kImcsOfController == 0)
            controllers_.push_back({base, FreeRunning(params_.below_wrap)});
        add_unit(kImc, i, base + kImcInController[i % kImcsOfController]);
    }
    uint64_t at = kCxlAt;
    for (const UnitType *type : {&kCxlcm, &kCxldp, &kB2cxl})
        for (unsigned i = 0; i < options.root_ports.size(); i++, at += kUnitStep)
            add_unit(*type, i, at, options.root_ports[i]);
    for (unsigned i = 0; i < options.unknown; i++)
        add_unit(kUnknown, i, kUnknownAt + i * kUnitStep);
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

void UncorePmonModel::build_config(const Options &options)
{
    const uint64_t table_bytes = build_table(0).size() * sizeof(uint64_t);
    config_.add_bar(table_bar_,
                    options.table_64bit ? vfu::BarKind::kMemory64 : vfu::BarKind::kMemory32,
                    std::bit_ceil(std::max(table_bytes, kMinTableBytes)));
    config_.add_bar(kUnitBar, vfu::BarKind::kMemory32, kUnitBarBytes);
    if (ddr_bytes_ != 0)
        config_.add_bar(kDdrBar, vfu::BarKind::kMemory64Prefetchable, std::bit_ceil(ddr_bytes_));
    config_.add_pcie_endpoint();
    config_.add_aer();
    add_dvsec(config_, in_bar(kOtherEntry, kUnitBar));
    add_dvsec(config_, shown_place(options.fault, in_bar(kEntryPmon, table_bar_)));
}

// A global control holds everything until software lets it go.
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
    if (bar == table_bar_)
        return read_table(offset, width);
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
    if (bar != kUnitBar || !write_units(offset, width, value))
        refuse("write", bar, offset, width);
}

// The table holds addresses of the machine: it follows the BAR of the units.

std::vector<uint64_t> UncorePmonModel::build_table(uint64_t unit_base) const
{
    GlobalEntry global = global_entry_;
    if (global.access == Access::kMmio)
        global.control += unit_base;
    std::vector<UnitEntry> entries;
    for (const Unit &unit : units_)
        entries.push_back({.counters = unit.type->counters,
                           .control0 = unit.type->control0,
                           .width = params_.width,
                           .counter0 = unit.type->counter0,
                           .status = unit.type->status,
                           .access = Access::kMmio,
                           .control = unit_base + unit.offset,
                           .type = unit.type->id,
                           .id = unit.id});
    entries.insert(entries.end(), listed_.begin(), listed_.end());
    return table_words(global, entries);
}

uint64_t UncorePmonModel::read_table(uint64_t offset, unsigned width)
{
    const uint64_t base = config_.bar_address(kUnitBar);
    if (table_base_ != base) {
        table_ = build_table(base);
        table_base_ = base;
    }
    if (!shown_table_.has_fault())
        return read_words(table_, offset, width);
    std::vector<uint64_t> shown = table_;
    shown_table_.show(shown, global_entry_.stride, base + kUnitBarBytes);
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
    if (is_global(offset, width))
        return global_;
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

uint64_t UncorePmonModel::read_unit(Unit &unit, uint64_t offset, unsigned width)
{
    const uint64_t now_ns = host_.now_ns();
    const auto at = static_cast<uint32_t>(offset - unit.offset);
    unit.box.advance(now_ns);
    const uint64_t value = unit.box.read(at, width);
    record_.reg(now_ns, false, {unit.type->id, unit.id, at, width, value});
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
    for (Unit &unit : units_) {
        unit.box.advance(host_.now_ns());
        unit.box.freeze_from_outside((value & kGlobalFreeze) != 0);
    }
    global_ = value & kGlobalFreeze;
}

// DDR: each IMC unit has a piece of its own.

bool UncorePmonModel::has_ddr(uint64_t offset, unsigned width) const
{
    return offset < ddr_bytes_ && width <= ddr_bytes_ - offset;
}

uint64_t UncorePmonModel::read_ddr(uint64_t offset, unsigned width)
{
    record_.ddr(host_.now_ns(), false, offset, width, imc_bytes_);
    for (uint64_t line = offset / kLineBytes; line <= (offset + width - 1) / kLineBytes; line++)
        moves(line, false);
    return ddr_.load(offset, width);
}

void UncorePmonModel::write_ddr(uint64_t offset, unsigned width, uint64_t value)
{
    record_.ddr(host_.now_ns(), true, offset, width, imc_bytes_);
    for (uint64_t line = offset / kLineBytes; line <= (offset + width - 1) / kLineBytes; line++)
        moves(line, true);
    ddr_.store(offset, width, value);
}

// One line between a queue and DDR. A write of less than a line either waits in its queue until the
// line is whole, or reads the rest of it first.
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

// CXL.mem: a read is a request down and data up, a write is data down and a response up, which no
// packet shows.

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
