// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/pcie_ep/pcie_ep_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <span>

#include "models/pcie_ep/pcie_ep_regs.hpp"

namespace pmukit::models::pcie_ep {

namespace {

constexpr uint32_t kClass = 0xff0000;  // unassigned class
constexpr uint64_t kRegisterBytes = 0x1000;
constexpr uint64_t kMinMemory = 0x1000;
constexpr uint64_t kMaxMemory = uint64_t{1} << 26;
constexpr unsigned kVector = 0;

}  // namespace

Result<void> check(const Options &options)
{
    if (!std::has_single_bit(options.memory_bytes) || options.memory_bytes < kMinMemory ||
        options.memory_bytes > kMaxMemory)
        return Error{Errc::kUsage, fmt::format("--memory {}: must be a power of two, {} to {}",
                                               options.memory_bytes, kMinMemory, kMaxMemory)};
    return {};
}

PcieEpModel::PcieEpModel(const Options &options, vfu::Host &host)
    : host_(host),
      config_({.vendor = kVendor,
               .device = kDevice,
               .subsystem_vendor = kVendor,
               .subsystem_device = kDevice,
               .class_code = kClass,
               .revision = 1}),
      memory_(options.memory_bytes)
{
    config_.add_bar(kRegisterBar, vfu::BarKind::kMemory32, kRegisterBytes);
    config_.add_bar(kMemoryBar, vfu::BarKind::kMemory64Prefetchable, options.memory_bytes);
    config_.add_pcie_endpoint();
    config_.add_msi({.vectors = 1});
}

// The memory contents survive, as a function reset permits.
void PcieEpModel::reset()
{
    next_ = {};
    status_ = kStatusNone;
    transfers_ = 0;
}

uint64_t PcieEpModel::bar_read(unsigned bar, uint64_t offset, unsigned width)
{
    accesses_++;
    if (bar == kMemoryBar) {
        uint64_t value = 0;
        for (unsigned i = 0; i < width; i++)
            value |= std::to_integer<uint64_t>(memory_[offset + i]) << (8 * i);
        return value;
    }
    if (width == 4 && offset % 4 == 0)
        return read_register(offset);
    host_.log(fmt::format("BAR {}: read of {} bytes at {:#x}: no register", bar, width, offset));
    return ~uint64_t{0};
}

void PcieEpModel::bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
{
    accesses_++;
    if (bar == kMemoryBar) {
        for (unsigned i = 0; i < width; i++)
            memory_[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
        return;
    }
    if (width == 4 && offset % 4 == 0)
        write_register(offset, static_cast<uint32_t>(value));
    else
        host_.log(
            fmt::format("BAR {}: write of {} bytes at {:#x}: no register", bar, width, offset));
}

uint32_t *PcieEpModel::find(uint64_t offset)
{
    static constexpr struct {
        uint32_t offset;
        uint32_t Transfer::*word;
    } kWords[] = {
        {kAddressLow, &Transfer::address_low},
        {kAddressHigh, &Transfer::address_high},
        {kOffset, &Transfer::offset},
        {kLength, &Transfer::length},
    };
    for (const auto &row : kWords)
        if (row.offset == offset)
            return &(next_.*row.word);
    return nullptr;
}

uint32_t PcieEpModel::read_register(uint64_t offset)
{
    if (const uint32_t *const word = find(offset))
        return *word;
    switch (offset) {
        case kIdentity:
            return kIdentityValue;
        case kStatus:
            return status_;
        case kTransfers:
            return transfers_;
        default:
            return 0;
    }
}

void PcieEpModel::write_register(uint64_t offset, uint32_t value)
{
    if (uint32_t *const word = find(offset))
        *word = value;
    else if (offset == kCommand)
        run(value);
    else if (offset == kDoorbell)
        send();
    else
        host_.log(fmt::format("write of {:#x} at {:#x}: nothing to write", value, offset));
}

void PcieEpModel::run(uint32_t command)
{
    status_ = transfer(command);
    if (status_ == kStatusGood) {
        transfers_++;
        all_transfers_++;
    }
    if ((command & kCommandMessage) != 0)
        send();
}

uint32_t PcieEpModel::transfer(uint32_t command)
{
    const uint32_t kind = command & (kCommandFetch | kCommandStore);
    if (!std::has_single_bit(kind) || next_.length == 0 || next_.offset > memory_.size() ||
        next_.length > memory_.size() - next_.offset)
        return kStatusBadCommand;
    const std::span<std::byte> here = std::span(memory_).subspan(next_.offset, next_.length);
    const uint64_t address = next_.address_low | uint64_t{next_.address_high} << 32;
    const bool good =
        kind == kCommandFetch ? host_.dma_read(address, here) : host_.dma_write(address, here);
    return good ? kStatusGood : kStatusNoHostMemory;
}

void PcieEpModel::send()
{
    messages_++;
    host_.raise(kVector);
}

}  // namespace pmukit::models::pcie_ep
