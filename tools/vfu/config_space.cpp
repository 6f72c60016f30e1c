// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/config_space.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace pmukit::vfu {
namespace {

// Type 0 header (7.5.1)
constexpr uint16_t kVendor = 0x00;
constexpr uint16_t kDevice = 0x02;
constexpr uint16_t kCommand = 0x04;
constexpr uint16_t kCommandMemory = 1u << 1;
constexpr uint16_t kCommandBusMaster = 1u << 2;
// Memory, bus master, parity response, SERR#, interrupt disable. I/O stays 0: there are no I/O
// BARs.
constexpr uint16_t kCommandWritable = 0x0546;
constexpr uint16_t kStatus = 0x06;
constexpr uint16_t kStatusCapabilityList = 1u << 4;
constexpr uint16_t kStatusWriteOneClears = 0xf900;
constexpr uint16_t kRevision = 0x08;
constexpr uint16_t kCacheLine = 0x0c;
constexpr uint16_t kBar0 = 0x10;
constexpr uint16_t kSubsystemVendor = 0x2c;
constexpr uint16_t kSubsystemDevice = 0x2e;
constexpr uint16_t kCapabilityPointer = 0x34;
constexpr uint16_t kInterruptLine = 0x3c;

constexpr Register kHeader[] = {
    {.offset = kCommand, .width = 2, .writable = kCommandWritable},
    {.offset = kStatus, .width = 2, .write_one_clears = kStatusWriteOneClears},
    {.offset = kCacheLine, .width = 1, .writable = 0xff},
    {.offset = kInterruptLine, .width = 1, .writable = 0xff},
};

constexpr uint32_t kBarIs64 = 0x4;
constexpr uint32_t kBarIsPrefetchable = 0x8;

constexpr uint8_t kCapMsi = 0x05;
constexpr uint8_t kCapPcie = 0x10;
constexpr uint8_t kCapMsix = 0x11;
constexpr uint16_t kExtAer = 0x0001;
constexpr uint16_t kExtDvsec = 0x0023;

// PCI Express capability (7.5.3)
constexpr uint32_t kRoleBasedErrors = 1u << 15;
constexpr uint32_t kFlrCapable = 1u << 28;
constexpr uint16_t kDeviceControl = 0x08;
constexpr uint32_t kFunctionReset = 1u << 15;  // reads as zero (7.5.3.4)
constexpr unsigned kMaxPayloadShift = 5;
constexpr unsigned kMaxReadRequestShift = 12;
constexpr uint16_t kPcieBytes = 0x3c;
constexpr uint32_t kLink2Gt5By1 = 0x11;
constexpr uint32_t kCompletionTimeoutDisable = 1u << 4;

constexpr Register kPcieEndpoint[] = {
    {.offset = 0x02, .width = 2, .reset = 2},  // version 2, type 0: endpoint
    {.offset = 0x04, .width = 4, .reset = kRoleBasedErrors | kFlrCapable},
    // Device Control: enables relaxed ordering and no snoop, and limits read requests to 512 bytes.
    {.offset = kDeviceControl, .width = 2, .reset = 0x2810, .writable = 0x7fff},
    {.offset = 0x0a, .width = 2, .write_one_clears = 0x000f},             // Device Status
    {.offset = 0x0c, .width = 4, .reset = kLink2Gt5By1},                  // Link Capabilities
    {.offset = 0x10, .width = 2, .writable = 0x00cb},                     // Link Control
    {.offset = 0x12, .width = 2, .reset = kLink2Gt5By1},                  // Link Status
    {.offset = 0x24, .width = 4, .reset = kCompletionTimeoutDisable},     // Device Capabilities 2
    {.offset = 0x28, .width = 2, .writable = kCompletionTimeoutDisable},  // Device Control 2
    {.offset = 0x2c, .width = 4, .reset = 1u << 1},  // Link Capabilities 2: 2.5 GT/s
    {.offset = 0x30, .width = 2, .sticky = true, .reset = 1, .writable = 0x000f},  // Link Control 2
};

// MSI-X capability (7.7.2)
constexpr uint16_t kMsixControl = 0x02;
constexpr uint16_t kMsixTable = 0x04;
constexpr uint16_t kMsixPba = 0x08;
constexpr uint16_t kMsixBytes = 0x0c;
constexpr uint16_t kMsixFunctionMask = 1u << 14;
constexpr uint16_t kMsixEnable = 1u << 15;
constexpr unsigned kMsixMaxVectors = 2048;

// MSI capability with 64-bit address (7.7.1)
constexpr uint16_t kMsiControl = 0x02;
constexpr uint16_t kMsiAddress = 0x04;
constexpr uint16_t kMsiAddressHigh = 0x08;
constexpr uint16_t kMsiData = 0x0c;
constexpr uint16_t kMsiBytes = 0x0e;
constexpr uint16_t kMsiMask = 0x10;
constexpr uint16_t kMsiPending = 0x14;
constexpr uint16_t kMsiMaskingBytes = 0x18;
constexpr uint16_t kMsi64Bit = 1u << 7;
constexpr uint16_t kMsiPerVectorMasking = 1u << 8;
constexpr uint16_t kMsiEnable = 1u << 0;
constexpr uint16_t kMsiControlWritable = 0x0071;  // MSI Enable and Multiple Message Enable

// Advanced error reporting (7.8.4), without ECRC. All but the control bits are sticky.
constexpr size_t kAerBytes = 0x48;
constexpr uint32_t kAerUncorrectable = 0x03fff030;      // bits 4, 5, 12..25
constexpr uint32_t kAerInternalError = 1u << 22;        // masked after reset
constexpr uint32_t kAerFatalAfterReset = 0x00462030;    // bits 4, 5, 13, 17, 18, 22
constexpr uint32_t kAerCorrectable = 0x0000f1c1;        // bits 0, 6..8, 12..15
constexpr uint32_t kAerCorrectableMasked = 0x0000e000;  // advisory, internal, log overflow

constexpr Register kAer[] = {
    {.offset = 0x04, .width = 4, .sticky = true, .write_one_clears = kAerUncorrectable},
    {.offset = 0x08,
     .width = 4,
     .sticky = true,
     .reset = kAerInternalError,
     .writable = kAerUncorrectable},
    {.offset = 0x0c,
     .width = 4,
     .sticky = true,
     .reset = kAerFatalAfterReset,
     .writable = kAerUncorrectable},
    {.offset = 0x10, .width = 4, .sticky = true, .write_one_clears = kAerCorrectable},
    {.offset = 0x14,
     .width = 4,
     .sticky = true,
     .reset = kAerCorrectableMasked,
     .writable = kAerCorrectable},
    {.offset = 0x18, .width = 4, .sticky = true},  // first error pointer
    {.offset = 0x1c, .width = 4, .sticky = true},  // header log
    {.offset = 0x20, .width = 4, .sticky = true},
    {.offset = 0x24, .width = 4, .sticky = true},
    {.offset = 0x28, .width = 4, .sticky = true},
};

// DVSEC (7.9.6): header 1 at +4, id at +8, then vendor-specific registers
constexpr uint16_t kDvsecHeader1 = 0x04;
constexpr uint16_t kDvsecId = 0x08;
constexpr uint16_t kDvsecBody = 0x0a;

constexpr size_t kFirstExtended = 0x100;

constexpr size_t round_up_to_4(size_t size)
{
    return (size + 3) & ~size_t{3};
}

}  // namespace

// Building

void ConfigSpace::place(const Register &reg, uint16_t base)
{
    const auto at = static_cast<uint16_t>(base + reg.offset);
    assert((reg.width == 1 || reg.width == 2 || reg.width == 4) &&
           at + reg.width <= kConfigSpaceBytes);
    for (unsigned i = 0; i < reg.width; i++) {
        const auto byte_of = [i](uint32_t value) { return std::byte(value >> (8 * i)); };
        value_[at + i] = byte_of(reg.reset);
        reset_[at + i] = byte_of(reg.reset);
        write_mask_[at + i] = byte_of(reg.writable);
        write_one_clears_[at + i] = byte_of(reg.write_one_clears);
        sticky_[at + i] = std::byte(reg.sticky ? 0xff : 0);
    }
}

void ConfigSpace::place_all(Registers registers, uint16_t base, [[maybe_unused]] size_t size_bytes)
{
    for (const Register &reg : registers) {
        assert(reg.offset + reg.width <= size_bytes);
        place(reg, base);
    }
}

ConfigSpace::ConfigSpace(const PciIds &ids)
{
    assert(ids.class_code <= 0xffffff);
    place_all(kHeader, 0, 0x40);
    place({.offset = kVendor, .width = 2, .reset = ids.vendor});
    place({.offset = kDevice, .width = 2, .reset = ids.device});
    place({.offset = kRevision, .width = 4, .reset = ids.class_code << 8 | ids.revision});
    place({.offset = kSubsystemVendor, .width = 2, .reset = ids.subsystem_vendor});
    place({.offset = kSubsystemDevice, .width = 2, .reset = ids.subsystem_device});
}

bool ConfigSpace::fits_bar(BarKind kind, uint64_t size_bytes)
{
    if (!std::has_single_bit(size_bytes) || size_bytes < 16)
        return false;
    return kind != BarKind::kMemory32 || size_bytes <= uint64_t{1} << 31;
}

void ConfigSpace::add_bar(unsigned index, BarKind kind, uint64_t size_bytes)
{
    const bool is_64 = kind != BarKind::kMemory32;

    assert(fits_bar(kind, size_bytes));
    assert(index < (is_64 ? kBars - 1 : kBars) && !bar_taken_[index]);

    uint32_t attributes = is_64 ? kBarIs64 : 0;
    if (kind == BarKind::kMemory64Prefetchable)
        attributes |= kBarIsPrefetchable;

    // A write of all ones sizes the BAR, because the low bits are read-only.
    const uint64_t mask = ~(size_bytes - 1);
    const auto reg = static_cast<uint16_t>(kBar0 + 4 * index);
    place(
        {.offset = reg, .width = 4, .reset = attributes, .writable = static_cast<uint32_t>(mask)});
    bar_taken_[index] = true;
    if (is_64) {
        assert(!bar_taken_[index + 1]);
        place({.offset = static_cast<uint16_t>(reg + 4),
               .width = 4,
               .writable = static_cast<uint32_t>(mask >> 32)});
        bar_taken_[index + 1] = true;
    }
    bars_[index] = BarInfo{kind, size_bytes};
}

// Allocates size_bytes for a capability, appends it to the list and writes its header.
uint16_t ConfigSpace::link_capability(uint8_t id, size_t size_bytes)
{
    const uint16_t at = next_free_;
    const uint16_t pointer =
        last_capability_ ? static_cast<uint16_t>(last_capability_ + 1) : kCapabilityPointer;

    assert(size_bytes <= kFirstExtended - at);
    place({.offset = at, .width = 1, .reset = id});
    place({.offset = pointer, .width = 1, .reset = at});
    place({.offset = kStatus,
           .width = 2,
           .reset = kStatusCapabilityList,
           .write_one_clears = kStatusWriteOneClears});
    last_capability_ = at;
    next_free_ = static_cast<uint16_t>(at + round_up_to_4(size_bytes));
    return at;
}

uint16_t ConfigSpace::add_capability(uint8_t id, size_t size_bytes, Registers registers)
{
    const uint16_t at = link_capability(id, size_bytes);
    place_all(registers, at, size_bytes);
    return at;
}

uint16_t ConfigSpace::add_pcie_endpoint()
{
    assert(pcie_offset_ == 0);
    pcie_offset_ = add_capability(kCapPcie, kPcieBytes, kPcieEndpoint);
    on_write(static_cast<uint16_t>(pcie_offset_ + kDeviceControl), [this](const DwordWrite &write) {
        function_reset_ = (write.value & write.mask & kFunctionReset) != 0;
    });
    return pcie_offset_;
}

bool ConfigSpace::msix_range_fits(unsigned index, uint64_t offset, uint64_t size_bytes) const
{
    const std::optional<BarInfo> in = bar(index);
    return in && offset % 8 == 0 && offset <= in->size_bytes &&
           size_bytes <= in->size_bytes - offset;
}

uint16_t ConfigSpace::add_msix(const MsixLayout &layout)
{
    assert(!msix_);
    assert(layout.vectors >= 1 && layout.vectors <= kMsixMaxVectors);
    assert(msix_range_fits(layout.table_bar, layout.table_offset, layout.table_bytes()));
    assert(msix_range_fits(layout.pba_bar, layout.pba_offset, layout.pba_bytes()));
    assert(layout.table_bar != layout.pba_bar ||
           layout.table_offset + layout.table_bytes() <= layout.pba_offset ||
           layout.pba_offset + layout.pba_bytes() <= layout.table_offset);

    const Register registers[] = {
        {.offset = kMsixControl,
         .width = 2,
         .reset = layout.vectors - 1,
         .writable = kMsixFunctionMask | kMsixEnable},
        {.offset = kMsixTable,
         .width = 4,
         .reset = static_cast<uint32_t>(layout.table_offset) | layout.table_bar},
        {.offset = kMsixPba,
         .width = 4,
         .reset = static_cast<uint32_t>(layout.pba_offset) | layout.pba_bar},
    };
    const uint16_t at = add_capability(kCapMsix, kMsixBytes, registers);
    msix_ = layout;
    msix_offset_ = at;
    return at;
}

uint16_t ConfigSpace::add_msi(const MsiLayout &layout)
{
    assert(!msi_ && layout.vectors <= 32 && std::has_single_bit(layout.vectors));
    const auto log2_vectors = static_cast<unsigned>(std::countr_zero(layout.vectors));
    const auto every_vector = static_cast<uint32_t>((uint64_t{1} << layout.vectors) - 1);
    const Register registers[] = {
        {.offset = kMsiControl,
         .width = 2,
         .reset = kMsi64Bit | log2_vectors << 1 | (layout.masking ? kMsiPerVectorMasking : 0),
         .writable = kMsiControlWritable},
        {.offset = kMsiAddress, .width = 4, .writable = 0xfffffffc},
        {.offset = kMsiAddressHigh, .width = 4, .writable = 0xffffffff},
        {.offset = kMsiData, .width = 2, .writable = 0xffff},
    };
    const uint16_t at =
        add_capability(kCapMsi, layout.masking ? kMsiMaskingBytes : kMsiBytes, registers);
    if (layout.masking)
        place({.offset = kMsiMask, .width = 4, .writable = every_vector}, at);
    msi_ = layout;
    msi_offset_ = at;
    return at;
}

uint16_t ConfigSpace::add_extended(uint16_t id, uint8_t version, size_t size_bytes,
                                   Registers registers)
{
    const uint16_t at = next_free_extended_;

    assert(version <= 0xf);
    assert(size_bytes <= kConfigSpaceBytes - at);
    place({.offset = at, .width = 4, .reset = id | uint32_t{version} << 16});
    place_all(registers, at, size_bytes);
    if (last_extended_) {
        const auto before = load_le<uint32_t>(&reset_[last_extended_]);
        place({.offset = last_extended_, .width = 4, .reset = before | uint32_t{at} << 20});
    }
    last_extended_ = at;
    next_free_extended_ = static_cast<uint16_t>(at + round_up_to_4(size_bytes));
    return at;
}

uint16_t ConfigSpace::add_dvsec(uint16_t vendor, uint8_t revision, uint16_t id, size_t size_bytes,
                                Registers registers)
{
    const auto length = static_cast<uint32_t>(round_up_to_4(size_bytes));

    assert(revision <= 0xf && size_bytes >= kDvsecBody);
    assert(
        std::ranges::all_of(registers, [](const Register &r) { return r.offset >= kDvsecBody; }));
    const uint16_t at = add_extended(kExtDvsec, 1, length, registers);
    place({.offset = kDvsecHeader1,
           .width = 4,
           .reset = vendor | uint32_t{revision} << 16 | length << 20},
          at);
    place({.offset = kDvsecId, .width = 2, .reset = id}, at);
    return at;
}

uint16_t ConfigSpace::add_aer()
{
    return add_extended(kExtAer, 2, kAerBytes, kAer);
}

void ConfigSpace::on_write(uint16_t offset, WriteEffect effect)
{
    assert(offset % 4 == 0 && !effects_.contains(offset));
    effects_.emplace(offset, std::move(effect));
}

// The guest's side

void ConfigSpace::read(uint64_t offset, std::span<std::byte> into) const
{
    const uint64_t start = std::min<uint64_t>(offset, kConfigSpaceBytes);
    const size_t there = std::min<size_t>(into.size(), kConfigSpaceBytes - start);
    std::copy_n(value_.begin() + static_cast<ptrdiff_t>(start), there, into.begin());
    std::fill(into.begin() + static_cast<ptrdiff_t>(there), into.end(), std::byte{0xff});
}

uint32_t ConfigSpace::read(uint64_t offset, unsigned width) const
{
    assert(width == 1 || width == 2 || width == 4);
    std::array<std::byte, 4> bytes{};
    read(offset, std::span(bytes).first(width));
    return load_le<uint32_t>(bytes.data());
}

ConfigWrite ConfigSpace::write(uint64_t offset, Bytes from)
{
    const uint64_t start = std::min<uint64_t>(offset, kConfigSpaceBytes);
    const Bytes there = from.first(std::min<size_t>(from.size(), kConfigSpaceBytes - start));
    for (size_t i = 0; i < there.size(); i++) {
        const size_t at = start + i;
        const std::byte kept = value_[at] & ~write_mask_[at];
        value_[at] = (kept | (there[i] & write_mask_[at])) & ~(there[i] & write_one_clears_[at]);
    }
    tell_effects(start, there);
    return {.function_reset = std::exchange(function_reset_, false)};
}

void ConfigSpace::tell_effects(size_t start, Bytes written)
{
    const size_t end = start + written.size();
    for (auto at = effects_.lower_bound(static_cast<uint16_t>(start & ~size_t{3}));
         at != effects_.end() && at->first < end; ++at) {
        DwordWrite write;
        for (size_t i = 0; i < 4; i++) {
            const size_t byte = at->first + i;
            if (byte < start || byte >= end)
                continue;
            write.value |= std::to_integer<uint32_t>(written[byte - start]) << (8 * i);
            write.mask |= 0xffu << (8 * i);
        }
        at->second(write);
    }
}

ConfigWrite ConfigSpace::write(uint64_t offset, unsigned width, uint32_t value)
{
    assert(width == 1 || width == 2 || width == 4);
    std::array<std::byte, 4> bytes{};
    store_le<uint32_t>(bytes.data(), value);
    return write(offset, Bytes(bytes).first(width));
}

// The device's side

void ConfigSpace::set(uint16_t offset, unsigned width, uint32_t value)
{
    assert((width == 1 || width == 2 || width == 4) && offset + width <= kConfigSpaceBytes);
    std::array<std::byte, 4> bytes{};
    store_le<uint32_t>(bytes.data(), value);
    std::copy_n(bytes.begin(), width, value_.begin() + offset);
}

void ConfigSpace::reset()
{
    for (size_t at = 0; at < kConfigSpaceBytes; at++)
        value_[at] = (reset_[at] & ~sticky_[at]) | (value_[at] & sticky_[at]);
}

void ConfigSpace::power_on()
{
    value_ = reset_;
}

std::optional<BarInfo> ConfigSpace::bar(unsigned index) const
{
    return index < kBars ? bars_[index] : std::nullopt;
}

uint64_t ConfigSpace::bar_address(unsigned index) const
{
    const std::optional<BarInfo> there = bar(index);
    if (!there)
        return 0;
    uint64_t address = read(kBar0 + 4 * uint64_t{index}, 4);
    if (there->kind != BarKind::kMemory32)
        address |= uint64_t{read(kBar0 + 4 * uint64_t{index + 1}, 4)} << 32;
    return address & ~(there->size_bytes - 1);
}

// Returns the packet limit in bytes: 128 << the field of Device Control at `shift`. The two highest
// codes are reserved and count as 4096 bytes.
uint32_t ConfigSpace::packet_limit(unsigned shift) const
{
    if (!pcie_offset_)
        return 128;
    const uint32_t control = read(pcie_offset_ + uint64_t{kDeviceControl}, 2);
    return 128u << std::min((control >> shift) & 0x7, 5u);
}

uint32_t ConfigSpace::max_payload_bytes() const
{
    return packet_limit(kMaxPayloadShift);
}

uint32_t ConfigSpace::max_read_request_bytes() const
{
    return packet_limit(kMaxReadRequestShift);
}

bool ConfigSpace::memory_enabled() const
{
    return (read(kCommand, 2) & kCommandMemory) != 0;
}

bool ConfigSpace::bus_master_enabled() const
{
    return (read(kCommand, 2) & kCommandBusMaster) != 0;
}

unsigned ConfigSpace::msi_enabled_vectors() const
{
    if (!msi_offset_)
        return 0;
    const uint32_t control = read(msi_offset_ + uint64_t{kMsiControl}, 2);
    if (!(control & kMsiEnable))
        return 0;
    return std::min(1u << ((control >> 4) & 0x7), msi_->vectors);
}

uint32_t ConfigSpace::msi_masked() const
{
    return msi_ && msi_->masking ? read(msi_offset_ + uint64_t{kMsiMask}, 4) : 0;
}

uint64_t ConfigSpace::msi_address() const
{
    if (!msi_)
        return 0;
    return read(msi_offset_ + uint64_t{kMsiAddress}, 4) |
           uint64_t{read(msi_offset_ + uint64_t{kMsiAddressHigh}, 4)} << 32;
}

void ConfigSpace::set_msi_pending(uint32_t pending)
{
    if (msi_ && msi_->masking)
        set(static_cast<uint16_t>(msi_offset_ + kMsiPending), 4, pending);
}

bool ConfigSpace::msix_enabled() const
{
    return msix_ && (read(msix_offset_ + uint64_t{kMsixControl}, 2) & kMsixEnable) != 0;
}

bool ConfigSpace::msix_function_masked() const
{
    return msix_ && (read(msix_offset_ + uint64_t{kMsixControl}, 2) & kMsixFunctionMask) != 0;
}

}  // namespace pmukit::vfu
