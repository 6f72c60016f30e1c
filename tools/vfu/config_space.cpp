// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/config_space.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

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

constexpr uint32_t kBarIs64 = 0x4;
constexpr uint32_t kBarIsPrefetchable = 0x8;

constexpr uint8_t kCapMsi = 0x05;
constexpr uint8_t kCapPcie = 0x10;
constexpr uint8_t kCapMsix = 0x11;
constexpr uint16_t kExtAer = 0x0001;
constexpr uint16_t kExtDvsec = 0x0023;

// PCI Express capability (7.5.3)
constexpr uint16_t kPcieCapabilities = 0x02;
constexpr uint16_t kDeviceCapabilities = 0x04;
constexpr uint32_t kRoleBasedErrors = 1u << 15;
constexpr uint32_t kFlrCapable = 1u << 28;
constexpr uint16_t kDeviceControl = 0x08;
constexpr uint16_t kFunctionResetByte = kDeviceControl + 1;
constexpr std::byte kFunctionReset{0x80};  // bit 15, reads as zero (7.5.3.4)
constexpr unsigned kMaxPayloadShift = 5;
constexpr unsigned kMaxReadRequestShift = 12;
constexpr uint16_t kDeviceStatus = 0x0a;
constexpr uint16_t kLinkCapabilities = 0x0c;
constexpr uint16_t kLinkControl = 0x10;
constexpr uint16_t kLinkStatus = 0x12;
constexpr uint16_t kDeviceCapabilities2 = 0x24;
constexpr uint16_t kDeviceControl2 = 0x28;
constexpr uint16_t kLinkCapabilities2 = 0x2c;
constexpr uint16_t kLinkControl2 = 0x30;
constexpr uint16_t kPcieBytes = 0x3c;
constexpr uint32_t kLink2Gt5By1 = 0x11;

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
constexpr uint16_t kMsiControlWritable = 0x0071;  // enable, log2 of the vectors granted

// Advanced error reporting (7.8.4)
constexpr uint16_t kAerUncorrectableStatus = 0x04;
constexpr uint16_t kAerUncorrectableMask = 0x08;
constexpr uint16_t kAerUncorrectableSeverity = 0x0c;
constexpr uint16_t kAerCorrectableStatus = 0x10;
constexpr uint16_t kAerCorrectableMask = 0x14;
constexpr size_t kAerBodyBytes = 0x44;
constexpr uint32_t kAerUncorrectable = 0x03fff030;      // bits 4, 5, 12..25
constexpr uint32_t kAerInternalError = 1u << 22;        // masked after reset
constexpr uint32_t kAerFatalAfterReset = 0x00462030;    // bits 4, 5, 13, 17, 18, 22
constexpr uint32_t kAerCorrectable = 0x0000f1c1;        // bits 0, 6..8, 12..15
constexpr uint32_t kAerCorrectableMasked = 0x0000e000;  // advisory, internal, log overflow

// DVSEC (7.9.6): header 1 at +4, id at +8, then the vendor's own bytes
constexpr uint16_t kDvsecHeader1 = 0x04;
constexpr uint16_t kDvsecId = 0x08;
constexpr uint16_t kDvsecBody = 0x0a;

constexpr uint16_t kCapabilityHeaderBytes = 2;
constexpr uint16_t kExtendedHeaderBytes = 4;
constexpr size_t kFirstExtended = 0x100;

constexpr size_t round_up_to_4(size_t size)
{
    return (size + 3) & ~size_t{3};
}

}  // namespace

// Building

template <typename T>
void ConfigSpace::place(uint16_t offset, T reset_value, T write_mask, T write_one_clears)
{
    assert(offset + sizeof(T) <= kConfigSpaceBytes);
    store_le<T>(&value_[offset], reset_value);
    store_le<T>(&reset_[offset], reset_value);
    store_le<T>(&write_mask_[offset], write_mask);
    store_le<T>(&write_one_clears_[offset], write_one_clears);
}

void ConfigSpace::place_body(uint16_t offset, const CapabilityBody &body)
{
    assert(body.reset.size() <= kConfigSpaceBytes - offset);
    assert(body.write_mask.size() <= body.reset.size());
    assert(body.write_one_clears.size() <= body.reset.size());
    std::ranges::copy(body.reset, value_.begin() + offset);
    std::ranges::copy(body.reset, reset_.begin() + offset);
    std::ranges::copy(body.write_mask, write_mask_.begin() + offset);
    std::ranges::copy(body.write_one_clears, write_one_clears_.begin() + offset);
}

ConfigSpace::ConfigSpace(const PciIds &ids)
{
    assert(ids.class_code <= 0xffffff);
    place<uint16_t>(kVendor, ids.vendor);
    place<uint16_t>(kDevice, ids.device);
    place<uint16_t>(kCommand, 0, kCommandWritable);
    place<uint16_t>(kStatus, 0, 0, kStatusWriteOneClears);
    place<uint32_t>(kRevision, (ids.class_code << 8) | ids.revision);
    place<uint8_t>(kCacheLine, 0, 0xff);
    place<uint16_t>(kSubsystemVendor, ids.subsystem_vendor);
    place<uint16_t>(kSubsystemDevice, ids.subsystem_device);
    place<uint8_t>(kInterruptLine, 0, 0xff);
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

    // Sizing by all ones works because the low bits cannot be written.
    const uint64_t mask = ~(size_bytes - 1);
    const auto reg = static_cast<uint16_t>(kBar0 + 4 * index);
    place<uint32_t>(reg, attributes, static_cast<uint32_t>(mask));
    bar_taken_[index] = true;
    if (is_64) {
        assert(!bar_taken_[index + 1]);
        place<uint32_t>(static_cast<uint16_t>(reg + 4), 0, static_cast<uint32_t>(mask >> 32));
        bar_taken_[index + 1] = true;
    }
    bars_[index] = BarInfo{kind, size_bytes};
}

// Takes size_bytes for a capability, hangs it at the end of the list and writes its header.
uint16_t ConfigSpace::link_capability(uint8_t id, size_t size_bytes)
{
    const uint16_t at = next_free_;
    const uint16_t pointer =
        last_capability_ ? static_cast<uint16_t>(last_capability_ + 1) : kCapabilityPointer;

    assert(size_bytes <= kFirstExtended - at);
    place<uint8_t>(at, id);
    place<uint8_t>(static_cast<uint16_t>(at + 1), 0);
    place<uint8_t>(pointer, static_cast<uint8_t>(at));
    place<uint16_t>(kStatus, kStatusCapabilityList, 0, kStatusWriteOneClears);
    last_capability_ = at;
    next_free_ = static_cast<uint16_t>(at + round_up_to_4(size_bytes));
    return at;
}

uint16_t ConfigSpace::add_capability(uint8_t id, const CapabilityBody &body)
{
    const uint16_t at = link_capability(id, kCapabilityHeaderBytes + body.reset.size());
    place_body(static_cast<uint16_t>(at + kCapabilityHeaderBytes), body);
    return at;
}

uint16_t ConfigSpace::add_pcie_endpoint()
{
    assert(pcie_offset_ == 0);
    const uint16_t at = link_capability(kCapPcie, kPcieBytes);
    const auto reg = [at](uint16_t offset) { return static_cast<uint16_t>(at + offset); };

    place<uint16_t>(reg(kPcieCapabilities), 2);  // version 2, type 0: endpoint
    place<uint32_t>(reg(kDeviceCapabilities), kRoleBasedErrors | kFlrCapable);
    // Reset: relaxed ordering and no snoop on, read requests of 512 bytes. Bit 15 is not stored.
    place<uint16_t>(reg(kDeviceControl), 0x2810, 0x7fff);
    place<uint16_t>(reg(kDeviceStatus), 0, 0, 0x000f);
    place<uint32_t>(reg(kLinkCapabilities), kLink2Gt5By1);
    place<uint16_t>(reg(kLinkControl), 0, 0x00cb);
    place<uint16_t>(reg(kLinkStatus), kLink2Gt5By1);
    place<uint32_t>(reg(kDeviceCapabilities2), 1u << 4);  // completion timeout can be disabled
    place<uint16_t>(reg(kDeviceControl2), 0, 1u << 4);
    place<uint32_t>(reg(kLinkCapabilities2), 1u << 1);  // 2.5 GT/s
    place<uint16_t>(reg(kLinkControl2), 1, 0x000f);
    pcie_offset_ = at;
    return at;
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

    const uint16_t at = link_capability(kCapMsix, kMsixBytes);
    place<uint16_t>(static_cast<uint16_t>(at + kMsixControl),
                    static_cast<uint16_t>(layout.vectors - 1), kMsixFunctionMask | kMsixEnable);
    place<uint32_t>(static_cast<uint16_t>(at + kMsixTable),
                    static_cast<uint32_t>(layout.table_offset) | layout.table_bar);
    place<uint32_t>(static_cast<uint16_t>(at + kMsixPba),
                    static_cast<uint32_t>(layout.pba_offset) | layout.pba_bar);
    msix_ = layout;
    msix_offset_ = at;
    return at;
}

uint16_t ConfigSpace::add_msi(const MsiLayout &layout)
{
    assert(!msi_ && layout.vectors <= 32 && std::has_single_bit(layout.vectors));
    const uint16_t at = link_capability(kCapMsi, layout.masking ? kMsiMaskingBytes : kMsiBytes);
    const auto log2_vectors = static_cast<unsigned>(std::countr_zero(layout.vectors));
    const auto every_vector = static_cast<uint32_t>((uint64_t{1} << layout.vectors) - 1);
    const auto reg = [at](uint16_t offset) { return static_cast<uint16_t>(at + offset); };

    uint32_t control = kMsi64Bit | (log2_vectors << 1);
    if (layout.masking) {
        control |= kMsiPerVectorMasking;
        place<uint32_t>(reg(kMsiMask), 0, every_vector);
        place<uint32_t>(reg(kMsiPending), 0);
    }
    place<uint16_t>(reg(kMsiControl), static_cast<uint16_t>(control), kMsiControlWritable);
    place<uint32_t>(reg(kMsiAddress), 0, 0xfffffffc);
    place<uint32_t>(reg(kMsiAddressHigh), 0, 0xffffffff);
    place<uint16_t>(reg(kMsiData), 0, 0xffff);
    msi_ = layout;
    msi_offset_ = at;
    return at;
}

uint16_t ConfigSpace::add_extended(uint16_t id, uint8_t version, const CapabilityBody &body)
{
    const uint16_t at = next_free_extended_;

    assert(version <= 0xf);
    assert(at + kExtendedHeaderBytes + body.reset.size() <= kConfigSpaceBytes);
    place<uint32_t>(at, id | (uint32_t{version} << 16));
    place_body(static_cast<uint16_t>(at + kExtendedHeaderBytes), body);
    if (last_extended_) {
        const auto before = load_le<uint32_t>(&reset_[last_extended_]);
        place<uint32_t>(last_extended_, before | (uint32_t{at} << 20));
    }
    last_extended_ = at;
    next_free_extended_ =
        static_cast<uint16_t>(at + round_up_to_4(kExtendedHeaderBytes + body.reset.size()));
    return at;
}

uint16_t ConfigSpace::add_dvsec(uint16_t vendor, uint8_t revision, uint16_t id,
                                const CapabilityBody &body)
{
    // The two headers first, without a body: the vendor's bytes then follow right behind the id.
    const std::array<std::byte, kDvsecBody - kExtendedHeaderBytes> headers{};
    const auto length = static_cast<uint32_t>(round_up_to_4(kDvsecBody + body.reset.size()));

    assert(revision <= 0xf);
    const uint16_t at = add_extended(kExtDvsec, 1, {.reset = headers});
    assert(at + length <= kConfigSpaceBytes);
    place<uint32_t>(static_cast<uint16_t>(at + kDvsecHeader1),
                    vendor | (uint32_t{revision} << 16) | (length << 20));
    place<uint16_t>(static_cast<uint16_t>(at + kDvsecId), id);
    place_body(static_cast<uint16_t>(at + kDvsecBody), body);
    next_free_extended_ = static_cast<uint16_t>(at + length);
    return at;
}

uint16_t ConfigSpace::add_aer()
{
    const std::array<std::byte, kAerBodyBytes> body{};
    const uint16_t at = add_extended(kExtAer, 2, {.reset = body});
    const auto reg = [at](uint16_t offset) { return static_cast<uint16_t>(at + offset); };

    place<uint32_t>(reg(kAerUncorrectableStatus), 0, 0, kAerUncorrectable);
    place<uint32_t>(reg(kAerUncorrectableMask), kAerInternalError, kAerUncorrectable);
    place<uint32_t>(reg(kAerUncorrectableSeverity), kAerFatalAfterReset, kAerUncorrectable);
    place<uint32_t>(reg(kAerCorrectableStatus), 0, 0, kAerCorrectable);
    place<uint32_t>(reg(kAerCorrectableMask), kAerCorrectableMasked, kAerCorrectable);
    return at;
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
    ConfigWrite outcome;

    const uint64_t start = std::min<uint64_t>(offset, kConfigSpaceBytes);
    const size_t there = std::min<size_t>(from.size(), kConfigSpaceBytes - start);
    for (size_t i = 0; i < there; i++) {
        const size_t at = start + i;
        const std::byte kept = value_[at] & ~write_mask_[at];
        value_[at] = (kept | (from[i] & write_mask_[at])) & ~(from[i] & write_one_clears_[at]);
        if (pcie_offset_ && at == size_t{pcie_offset_} + kFunctionResetByte)
            outcome.function_reset = (from[i] & kFunctionReset) != std::byte{0};
    }
    return outcome;
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

// 128 << field; the two highest codes are reserved.
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
