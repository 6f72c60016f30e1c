// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The mailbox commands of the memory device (CXL r3.2 section 8.2.10): only those that a driver
// needs to bind; all others return Unsupported. One table defines the commands and the command
// effects log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

inline constexpr size_t kMailboxPayloadBytes = 1024;

// Return codes (table 8-37).
enum class MailboxCode : uint16_t {
    kSuccess = 0x0,
    kInvalidInput = 0x2,
    kUnsupported = 0x3,
    kInvalidPayloadLength = 0x16,
};

struct MailboxReply {
    MailboxCode code = MailboxCode::kSuccess;
    std::vector<std::byte> payload{};  // at most kMailboxPayloadBytes
};

class Mailbox {
public:
    // capacity_bytes: a multiple of 256 MiB, all of it volatile.
    Mailbox(uint64_t capacity_bytes, unsigned vectors, vfu::Host &host);

    MailboxReply execute(uint16_t opcode, Bytes input);
    void reset();

private:
    struct Command;
    static const std::array<Command, 11> kCommands;

    MailboxReply get_event_records(Bytes input);
    MailboxReply clear_event_records(Bytes input);
    MailboxReply get_interrupt_policy(Bytes input);
    MailboxReply set_interrupt_policy(Bytes input);
    MailboxReply get_timestamp(Bytes input);
    MailboxReply set_timestamp(Bytes input);
    MailboxReply get_supported_logs(Bytes input);
    MailboxReply get_log(Bytes input);
    MailboxReply identify(Bytes input);
    MailboxReply get_partition_info(Bytes input);
    MailboxReply get_health_info(Bytes input);
    static std::vector<std::byte> command_effects_log();

    static constexpr size_t kEventLogs = 4;  // informational, warning, failure, fatal

    uint64_t capacity_bytes_;
    unsigned vectors_;
    vfu::Host &host_;
    std::array<std::byte, kEventLogs> policy_{};
    uint64_t timestamp_ns_ = 0;  // as set by software; 0: never set
    uint64_t timestamp_set_ns_ = 0;
};

}  // namespace pmukit::models::cxl_hmu
