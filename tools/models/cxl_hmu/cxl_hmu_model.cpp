// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/cxl_hmu_model.hpp"

#include <fmt/core.h>

#include <bit>

namespace pmukit::models::cxl_hmu {

namespace {

// 0x1234 is the vendor ID that emulators use for devices without hardware; the device ID spells
// "CH".
constexpr uint16_t kVendor = 0x1234;
constexpr uint16_t kDevice = 0x4348;
constexpr uint32_t kClassCxlMemory = 0x050210;

constexpr unsigned kRegisterBar = 0;
constexpr unsigned kMemoryBar = 2;
constexpr uint64_t kBlockAlign = 0x10000;  // alignment that a register locator entry can express
constexpr uint64_t kPbaOffset = 0x8000;    // the pending bits follow the MSI-X table

constexpr unsigned kVectors = kMessages;
// Vector 0 is for the events of the memory device.
constexpr unsigned kFirstUnitVector = 1;
constexpr unsigned kCpmuVector = kVectors - 1;

// The feed must be polled, because it does not notify the model. If a writer is faster than the
// model, the writer waits.
constexpr uint64_t kFeedPeriod_ns = 1'000'000;
constexpr size_t kFeedBatch = 4096;

constexpr uint64_t kCapacityUnit = uint64_t{256} << 20;

constexpr uint16_t kCxlVendor = 0x1e98;
constexpr uint16_t kDvsecDevice = 0;
constexpr uint16_t kDvsecLocator = 8;
constexpr uint16_t kExtSerialNumber = 0x0003;

// Returns the capacity, which is rounded up to a multiple of 256 MiB. The part beyond the BAR is
// never accessed.
uint64_t capacity_of(const Options &options)
{
    return align_up(options.memory_bytes, kCapacityUnit);
}

unsigned vector_of(const Options &options, unsigned chmu, unsigned instance)
{
    const unsigned number = chmu * options.instances + instance;
    return kFirstUnitVector + number % (kVectors - kFirstUnitVector);
}

InstanceParams params_of(const Options &options)
{
    InstanceParams params = options.instance;
    if (options.fault && options.fault->operation_ns != 0)
        params.operation_ns = options.fault->operation_ns;
    params.capacity_bytes = capacity_of(options);
    return params;
}

// PCIe DVSEC for CXL devices (CXL r3.2 section 8.1.3), with one range.
constexpr size_t kDeviceDvsecBytes = 0x38;

std::vector<vfu::Register> device_dvsec(uint64_t capacity)
{
    constexpr uint16_t kIoCapable = 1u << 1, kMemCapable = 1u << 2, kOneRange = 1u << 4;
    constexpr uint16_t kIoEnable = 1u << 1, kMemEnable = 1u << 2;
    constexpr uint32_t kValid = 1u << 0, kActive = 1u << 1;
    return {
        {.offset = 0x0a, .width = 2, .reset = kIoCapable | kMemCapable | kOneRange},
        {.offset = 0x0c, .width = 2, .reset = kIoEnable, .writable = kMemEnable},
        {.offset = 0x18, .width = 4, .reset = static_cast<uint32_t>(capacity >> 32)},
        {.offset = 0x1c, .width = 4, .reset = static_cast<uint32_t>(capacity) | kValid | kActive},
        // The base address of the range is writable.
        {.offset = 0x20, .width = 4, .writable = ~0u},
        {.offset = 0x24, .width = 4, .writable = 0xf0000000},
    };
}

// Register locator DVSEC (section 8.1.9). It has entries of 8 bytes from offset 0x0C on.
constexpr size_t kLocatorBytes = 0x0c;

void append_locator_entry(std::vector<vfu::Register> &locator, uint8_t id, uint64_t offset)
{
    const auto at = static_cast<uint16_t>(kLocatorBytes + 4 * locator.size());
    const uint32_t low = static_cast<uint32_t>(offset) & 0xffff0000;
    locator.push_back({.offset = at, .width = 4, .reset = kRegisterBar | uint32_t{id} << 8 | low});
    locator.push_back({.offset = static_cast<uint16_t>(at + 4),
                       .width = 4,
                       .reset = static_cast<uint32_t>(offset >> 32)});
}

}  // namespace

CxlHmuModel::CxlHmuModel(const Options &options, AccessLog &log, vfu::Host &host)
    : log_(log),
      host_(host, options.fault),
      config_({.vendor = kVendor,
               .device = kDevice,
               .subsystem_vendor = kVendor,
               .subsystem_device = kDevice,
               .class_code = kClassCxlMemory,
               .revision = 1}),
      mapped_(options.mapped),
      feed_(options.feed),
      component_(host_),
      device_(capacity_of(options), kVectors, host_)
{
    host_.spurious_vector(kFirstUnitVector);
    build_units(options);
    uint64_t end = place(component_, 0);
    end = place(device_, end);
    for (const Unit &unit : units_)
        end = place(*unit.shown, end);
    if (options.cpmu)
        end = place(cpmu_.emplace(kCpmuVector, host_), end);
    build_config(options, end);
}

uint64_t CxlHmuModel::place(RegisterBlock &block, uint64_t base)
{
    map_.push_back({base, &block});
    return align_up(base + block.bytes(), kBlockAlign);
}

void CxlHmuModel::build_units(const Options &options)
{
    InstanceParams params = params_of(options);
    params.msi = &config_;
    for (unsigned index = 0; index < options.chmus; index++) {
        std::vector<unsigned> messages;
        for (unsigned i = 0; i < options.instances; i++)
            messages.push_back(vector_of(options, index, i));
        Unit unit;
        unit.chmu = std::make_unique<Chmu>(params, options.shape, index, messages, host_);
        unit.shown =
            std::make_unique<FaultyChmu>(*unit.chmu, Chmu::instance_bytes(params, options.shape),
                                         options.instances, options.fault, index, params.logs);
        units_.push_back(std::move(unit));
    }
}

void CxlHmuModel::build_config(const Options &options, uint64_t registers_end)
{
    const uint64_t register_bytes = std::bit_ceil(registers_end + kBlockAlign);
    config_.add_bar(kRegisterBar, vfu::BarKind::kMemory64, register_bytes);
    config_.add_bar(kMemoryBar, vfu::BarKind::kMemory64Prefetchable, options.memory_bytes);
    config_.add_pcie_endpoint();
    if (options.vectors == Vectors::kMsi)
        config_.add_msi({.vectors = kVectors});
    if (options.vectors == Vectors::kMsix)
        config_.add_msix({.vectors = kVectors,
                          .table_bar = kRegisterBar,
                          .table_offset = registers_end,
                          .pba_bar = kRegisterBar,
                          .pba_offset = registers_end + kPbaOffset});
    config_.add_aer();

    const vfu::Register serial[] = {
        {.offset = 4, .width = 4, .reset = static_cast<uint32_t>(options.serial)},
        {.offset = 8, .width = 4, .reset = static_cast<uint32_t>(options.serial >> 32)},
    };
    config_.add_extended(kExtSerialNumber, 1, 12, serial);
    config_.add_dvsec(kCxlVendor, 1, kDvsecDevice, kDeviceDvsecBytes,
                      device_dvsec(capacity_of(options)));

    std::vector<vfu::Register> locator;
    append_locator_entry(locator, kLocatorComponent, map_[0].base);
    append_locator_entry(locator, kLocatorDevice, map_[1].base);
    for (size_t i = 2; i < 2 + units_.size(); i++)
        append_locator_entry(locator, kLocatorChmu, map_[i].base);
    if (cpmu_)
        append_locator_entry(locator, kLocatorCpmu, map_.back().base);
    config_.add_dvsec(kCxlVendor, 0, kDvsecLocator, kLocatorBytes + 8 * map_.size(), locator);
    if (options.doe)
        doe_.emplace(config_, host_, vfu::DoeOptions{});
}

vfu::BarMemory *CxlHmuModel::bar_memory(unsigned bar)
{
    return bar == kMemoryBar ? mapped_ : nullptr;
}

bool CxlHmuModel::is_cxl_mem(unsigned bar) const
{
    return bar == kMemoryBar;
}

const CxlHmuModel::Mapping *CxlHmuModel::find(uint64_t offset, unsigned width) const
{
    for (const Mapping &mapping : map_) {
        if (offset >= mapping.base && offset - mapping.base < mapping.block->bytes() &&
            width <= mapping.block->bytes() - (offset - mapping.base))
            return &mapping;
    }
    return nullptr;
}

uint64_t CxlHmuModel::bar_read(unsigned bar, uint64_t offset, unsigned width)
{
    if (bar == kMemoryBar) {
        log_.read(offset, width);
        request(offset, false);
        return memory_.load(offset, width);
    }
    host_.access();
    if (const Mapping *mapping = find(offset, width))
        return mapping->block->read(offset - mapping->base, width);
    host_.log(fmt::format("BAR {}: read of {} bytes at {:#x}: nothing there", bar, width, offset));
    return ~uint64_t{0};
}

void CxlHmuModel::bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
{
    if (bar == kMemoryBar) {
        log_.write(offset, width);
        request(offset, true);
        memory_.store(offset, width, value);
        return;
    }
    host_.access();
    if (const Mapping *mapping = find(offset, width)) {
        mapping->block->write(offset - mapping->base, width, value);
        return;
    }
    host_.log(fmt::format("BAR {}: write of {} bytes at {:#x}: nothing there", bar, width, offset));
}

uint64_t CxlHmuModel::peer_read(unsigned bar, uint64_t offset, unsigned width)
{
    return bar == kMemoryBar ? memory_.load(offset, width) : bar_read(bar, offset, width);
}

void CxlHmuModel::peer_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
{
    if (bar == kMemoryBar)
        memory_.store(offset, width, value);
    else
        bar_write(bar, offset, width, value);
}

void CxlHmuModel::request(uint64_t dpa, bool write)
{
    host_.access();
    for (const Unit &unit : units_)
        unit.shown->request({.dpa = dpa, .write = write});
}

bool CxlHmuModel::take_from_feed()
{
    FedAccess accesses[kFeedBatch];
    const size_t taken = feed_->take(accesses);
    for (const FedAccess &access : std::span(accesses, taken)) {
        if (access.write)
            log_.write(access.dpa, access.width);
        else
            log_.read(access.dpa, access.width);
        request(access.dpa, access.write);
    }
    return taken < kFeedBatch;
}

void CxlHmuModel::take_rest_of_feed()
{
    if (!feed_)
        return;
    feed_->close();
    while (!take_from_feed()) {
    }
}

void CxlHmuModel::drop_outstanding()
{
    for (const Unit &unit : units_)
        unit.chmu->drop_outstanding();
}

void CxlHmuModel::reset()
{
    host_.reset();
    if (doe_)
        doe_->reset();
    for (const Mapping &mapping : map_)
        mapping.block->reset();
}

std::optional<uint64_t> CxlHmuModel::next_deadline_ns() const
{
    std::optional<uint64_t> earliest = feed_ ? std::optional(feed_due_ns_) : std::nullopt;
    for (const Unit &unit : units_) {
        const std::optional<uint64_t> deadline = unit.chmu->next_deadline_ns();
        if (deadline && (!earliest || *deadline < *earliest))
            earliest = deadline;
    }
    return earliest;
}

// Reads the feed before it advances the CHMUs: an access that was fed before the end of an epoch
// must count in that epoch.
void CxlHmuModel::advance(uint64_t now_ns)
{
    if (feed_)
        feed_due_ns_ = take_from_feed() ? now_ns + kFeedPeriod_ns : now_ns;
    for (const Unit &unit : units_)
        unit.shown->advance(now_ns);
}

uint64_t CxlHmuModel::entries_stored() const
{
    uint64_t sum = 0;
    for (const Unit &unit : units_)
        sum += unit.chmu->entries_stored();
    return sum;
}

uint64_t CxlHmuModel::entries_dropped() const
{
    uint64_t sum = 0;
    for (const Unit &unit : units_)
        sum += unit.chmu->entries_dropped();
    return sum;
}

uint64_t CxlHmuModel::violations() const
{
    uint64_t sum = 0;
    for (const Unit &unit : units_)
        sum += unit.chmu->violations();
    return sum;
}

}  // namespace pmukit::models::cxl_hmu
