// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/device_registers.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "models/cxl_hmu/cxl_hmu_regs.hpp"

namespace pmukit::models::cxl_hmu {

namespace {

// The three mandatory capabilities; the capability array is at offset 0.
struct Capability {
    uint16_t id;
    uint32_t offset;
    uint32_t bytes;
};
constexpr Capability kDeviceStatus{0x0001, 0x40, 8};
constexpr Capability kMemoryDevice{0x4000, 0x48, 8};
constexpr Capability kMailbox{0x0002, 0x80, 0x20 + kMailboxPayloadBytes};
constexpr Capability kCapabilities[] = {kDeviceStatus, kMailbox, kMemoryDevice};

// Mailbox registers (section 8.2.9.4), from kMailbox.offset.
constexpr size_t kMboxCaps = kMailbox.offset + 0x00;
constexpr size_t kMboxControl = kMailbox.offset + 0x04;
constexpr size_t kMboxCommand = kMailbox.offset + 0x08;
constexpr size_t kMboxStatus = kMailbox.offset + 0x10;
constexpr size_t kMboxPayload = kMailbox.offset + 0x20;
constexpr uint32_t kDoorbell = 1;
constexpr Field kCommandOpcode{0, 15};
constexpr Field kCommandLength{16, 36};
constexpr Field kStatusReturnCode{32, 47};

// Memory device status (section 8.2.9.5): media ready, mailbox ready.
constexpr uint64_t kMediaReady = 1u << 2;
constexpr uint64_t kMailboxReady = 1u << 4;

}  // namespace

DeviceRegisters::DeviceRegisters(uint64_t capacity_bytes, unsigned vectors, vfu::Host &host)
    : mailbox_(capacity_bytes, vectors, host), bytes_(bytes())
{
    constexpr uint64_t kArrayVersion = 1;
    bytes_.place(0, 8, kArrayVersion << 16 | uint64_t{std::size(kCapabilities)} << 32);
    size_t at = 0x10;
    for (const Capability &capability : kCapabilities) {
        bytes_.place(at + 0, 4, capability.id | 1u << 16);
        bytes_.place(at + 4, 4, capability.offset);
        bytes_.place(at + 8, 4, capability.bytes);
        at += 0x10;
    }
    bytes_.place(kMemoryDevice.offset, 8, kMediaReady | kMailboxReady);
    bytes_.place(kMboxCaps, 4, std::countr_zero(kMailboxPayloadBytes));
    bytes_.place(kMboxControl, 4, 0, kDoorbell);
    bytes_.place(kMboxCommand, 8, 0, kCommandOpcode.mask() | kCommandLength.mask());
    for (size_t i = 0; i < kMailboxPayloadBytes; i += 8)
        bytes_.place(kMboxPayload + i, 8, 0, ~uint64_t{0});
}

uint64_t DeviceRegisters::read(uint64_t offset, unsigned width)
{
    return bytes_.read(offset, width);
}

void DeviceRegisters::write(uint64_t offset, unsigned width, uint64_t value)
{
    bytes_.write(offset, width, value);
    if ((bytes_.read(kMboxControl, 4) & kDoorbell) != 0)
        ring_doorbell();
}

void DeviceRegisters::ring_doorbell()
{
    const uint64_t command = bytes_.read(kMboxCommand, 8);
    const size_t length = kCommandLength.get(command);
    MailboxReply reply{MailboxCode::kInvalidPayloadLength};
    if (length <= kMailboxPayloadBytes)
        reply = mailbox_.execute(static_cast<uint16_t>(kCommandOpcode.get(command)),
                                 Bytes(bytes_.data() + kMboxPayload, length));

    assert(reply.payload.size() <= kMailboxPayloadBytes);
    std::copy(reply.payload.begin(), reply.payload.end(), bytes_.data() + kMboxPayload);
    bytes_.set(
        kMboxCommand, 8,
        kCommandOpcode.put(kCommandOpcode.get(command)) | kCommandLength.put(reply.payload.size()));
    bytes_.set(kMboxStatus, 8, kStatusReturnCode.put(static_cast<uint16_t>(reply.code)));
    bytes_.set(kMboxControl, 4, bytes_.read(kMboxControl, 4) & ~uint64_t{kDoorbell});
}

void DeviceRegisters::reset()
{
    mailbox_.reset();
    bytes_.reset();
}

}  // namespace pmukit::models::cxl_hmu
