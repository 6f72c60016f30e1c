// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/mailbox.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace pmukit::models::cxl_hmu {

namespace {

constexpr uint64_t kCapacityUnit = uint64_t{256} << 20;
constexpr std::string_view kFirmware = "pmukit model";

// Command effects (table 8-109).
constexpr uint16_t kNoEffect = 0;
constexpr uint16_t kConfigChange = 1u << 1;
constexpr uint16_t kPolicyChange = 1u << 3;
constexpr uint16_t kLogChange = 1u << 4;

// 0da9c0b5-bf41-4b78-8f79-96b1623b3f17, in the byte order of the text.
constexpr std::array<uint8_t, 16> kEffectsLogUuid = {
    0x0d, 0xa9, 0xc0, 0xb5, 0xbf, 0x41, 0x4b, 0x78, 0x8f, 0x79, 0x96, 0xb1, 0x62, 0x3b, 0x3f, 0x17};

constexpr size_t kEventHeaderBytes = 32;

std::vector<std::byte> zeros(size_t size)
{
    return std::vector<std::byte>(size);
}

}  // namespace

struct Mailbox::Command {
    uint16_t opcode;
    uint16_t effects;
    size_t min_input_bytes;
    size_t max_input_bytes;
    MailboxReply (Mailbox::*run)(Bytes input);
};

const std::array<Mailbox::Command, 11> Mailbox::kCommands = {{
    {0x0100, kNoEffect, 1, 1, &Mailbox::get_event_records},
    {0x0101, kLogChange, 6, kMailboxPayloadBytes, &Mailbox::clear_event_records},
    {0x0102, kNoEffect, 0, 0, &Mailbox::get_interrupt_policy},
    {0x0103, kConfigChange, 4, 4, &Mailbox::set_interrupt_policy},
    {0x0300, kNoEffect, 0, 0, &Mailbox::get_timestamp},
    {0x0301, kPolicyChange, 8, 8, &Mailbox::set_timestamp},
    {0x0400, kNoEffect, 0, 0, &Mailbox::get_supported_logs},
    {0x0401, kNoEffect, 24, 24, &Mailbox::get_log},
    {0x4000, kNoEffect, 0, 0, &Mailbox::identify},
    {0x4100, kNoEffect, 0, 0, &Mailbox::get_partition_info},
    {0x4200, kNoEffect, 0, 0, &Mailbox::get_health_info},
}};

Mailbox::Mailbox(uint64_t capacity_bytes, unsigned vectors, vfu::Host &host)
    : capacity_bytes_(capacity_bytes), vectors_(vectors), host_(host)
{
}

void Mailbox::reset()
{
    policy_ = {};
    timestamp_ns_ = timestamp_set_ns_ = 0;
}

MailboxReply Mailbox::execute(uint16_t opcode, Bytes input)
{
    const auto command =
        std::find_if(kCommands.begin(), kCommands.end(),
                     [opcode](const Command &candidate) { return candidate.opcode == opcode; });
    if (command == kCommands.end()) {
        host_.log(fmt::format("mailbox: opcode {:#06x} is not supported", opcode));
        return {MailboxCode::kUnsupported};
    }
    if (input.size() < command->min_input_bytes || input.size() > command->max_input_bytes) {
        host_.log(
            fmt::format("mailbox: opcode {:#06x} with {} bytes of input", opcode, input.size()));
        return {MailboxCode::kInvalidPayloadLength};
    }
    return (this->*command->run)(input);
}

// The model has no events, so every event log is empty.

MailboxReply Mailbox::get_event_records(Bytes input)
{
    if (static_cast<size_t>(input[0]) >= kEventLogs)
        return {MailboxCode::kInvalidInput};
    return {MailboxCode::kSuccess, zeros(kEventHeaderBytes)};
}

MailboxReply Mailbox::clear_event_records(Bytes input)
{
    if (static_cast<size_t>(input[0]) >= kEventLogs)
        return {MailboxCode::kInvalidInput};
    return {};
}

// One byte per event log: mode in 1:0 (1 is MSI), vector in 7:4. The device selects vector 0.
MailboxReply Mailbox::get_interrupt_policy(Bytes)
{
    return {MailboxCode::kSuccess, {policy_.begin(), policy_.end()}};
}

MailboxReply Mailbox::set_interrupt_policy(Bytes input)
{
    constexpr std::byte kMode{0x3};
    constexpr std::byte kMsi{0x1};
    const bool valid = std::all_of(input.begin(), input.end(), [&](std::byte wanted) {
        return (wanted & kMode) == std::byte{0} || ((wanted & kMode) == kMsi && vectors_ != 0);
    });
    if (!valid)
        return {MailboxCode::kInvalidInput};
    std::transform(input.begin(), input.end(), policy_.begin(),
                   [](std::byte wanted) { return wanted & kMode; });
    return {};
}

MailboxReply Mailbox::get_timestamp(Bytes)
{
    std::vector<std::byte> out = zeros(8);
    if (timestamp_ns_ != 0)
        store_le<uint64_t>(out.data(), timestamp_ns_ + (host_.now_ns() - timestamp_set_ns_));
    return {MailboxCode::kSuccess, std::move(out)};
}

MailboxReply Mailbox::set_timestamp(Bytes input)
{
    timestamp_ns_ = load_le<uint64_t>(input.data());
    timestamp_set_ns_ = host_.now_ns();
    return {};
}

// The command effects log is the only log.

std::vector<std::byte> Mailbox::command_effects_log()
{
    std::vector<std::byte> log = zeros(kCommands.size() * 4);
    for (size_t i = 0; i < kCommands.size(); i++) {
        store_le<uint16_t>(log.data() + 4 * i, kCommands[i].opcode);
        store_le<uint16_t>(log.data() + 4 * i + 2, kCommands[i].effects);
    }
    return log;
}

MailboxReply Mailbox::get_supported_logs(Bytes)
{
    std::vector<std::byte> out = zeros(8 + 20);
    store_le<uint16_t>(out.data(), 1);
    std::memcpy(out.data() + 8, kEffectsLogUuid.data(), kEffectsLogUuid.size());
    store_le<uint32_t>(out.data() + 24, static_cast<uint32_t>(command_effects_log().size()));
    return {MailboxCode::kSuccess, std::move(out)};
}

MailboxReply Mailbox::get_log(Bytes input)
{
    const std::vector<std::byte> log = command_effects_log();
    const size_t offset = load_le<uint32_t>(input.data() + 16);
    const size_t length = load_le<uint32_t>(input.data() + 20);
    if (std::memcmp(input.data(), kEffectsLogUuid.data(), kEffectsLogUuid.size()) != 0 ||
        offset > log.size() || length > log.size() - offset || length > kMailboxPayloadBytes)
        return {MailboxCode::kInvalidInput};
    const auto first = log.begin() + static_cast<ptrdiff_t>(offset);
    return {MailboxCode::kSuccess, {first, first + static_cast<ptrdiff_t>(length)}};
}

// Capacities are multiples of 256 MiB; the partition is fixed (alignment 0).

MailboxReply Mailbox::identify(Bytes)
{
    std::vector<std::byte> out = zeros(0x43);
    std::memcpy(out.data(), kFirmware.data(), kFirmware.size());
    store_le<uint64_t>(out.data() + 0x10, capacity_bytes_ / kCapacityUnit);  // total capacity
    store_le<uint64_t>(out.data() + 0x18, capacity_bytes_ / kCapacityUnit);  // volatile only
    for (size_t log = 0; log < kEventLogs; log++)
        store_le<uint16_t>(out.data() + 0x30 + 2 * log, 1);  // event log sizes, in records
    return {MailboxCode::kSuccess, std::move(out)};
}

MailboxReply Mailbox::get_partition_info(Bytes)
{
    std::vector<std::byte> out = zeros(32);
    store_le<uint64_t>(out.data(), capacity_bytes_ / kCapacityUnit);  // active volatile capacity
    return {MailboxCode::kSuccess, std::move(out)};
}

// A healthy device: life used, temperature and error counts are zero.
MailboxReply Mailbox::get_health_info(Bytes)
{
    return {MailboxCode::kSuccess, zeros(18)};
}

}  // namespace pmukit::models::cxl_hmu
