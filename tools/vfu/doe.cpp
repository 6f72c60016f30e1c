// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/doe.hpp"

#include <cassert>
#include <utility>

namespace pmukit::vfu {
namespace {

constexpr uint16_t kExtDoe = 0x002e;
constexpr size_t kDoeBytes = 0x18;

constexpr uint16_t kCapabilities = 0x04;
constexpr uint32_t kInterruptSupport = 1u << 0;
constexpr unsigned kMessageNumberShift = 1;

constexpr uint16_t kControl = 0x08;
constexpr uint32_t kAbort = 1u << 0;  // reads as zero
constexpr uint32_t kInterruptEnable = 1u << 1;
constexpr uint32_t kGo = 1u << 31;  // reads as zero

constexpr uint16_t kStatus = 0x0c;
constexpr uint32_t kBusy = 1u << 0;
constexpr uint32_t kInterruptStatus = 1u << 1;  // RW1C
constexpr uint32_t kError = 1u << 2;
constexpr uint32_t kReady = 1u << 31;

constexpr uint16_t kWriteMailbox = 0x10;
constexpr uint16_t kReadMailbox = 0x14;

// A data object: vendor and type, length in dwords including these two, then the payload (6.30.1).
constexpr size_t kHeaderDwords = 2;
constexpr unsigned kTypeShift = 16;
constexpr uint32_t kLengthMask = 0x3ffff;

constexpr uint16_t kPciSig = 0x0001;
constexpr uint8_t kDiscovery = 0x00;
constexpr uint16_t kNoVendor = 0xffff;
constexpr unsigned kNextIndexShift = 24;

uint32_t object_name(uint16_t vendor, uint8_t type)
{
    return vendor | uint32_t{type} << kTypeShift;
}

uint16_t add_capability(ConfigSpace &config, const DoeOptions &options)
{
    const uint32_t capabilities =
        options.vector ? kInterruptSupport | *options.vector << kMessageNumberShift : 0;
    const Register registers[] = {
        {.offset = kCapabilities, .width = 4, .reset = capabilities},
        {.offset = kControl, .width = 4, .writable = options.vector ? kInterruptEnable : 0},
        {.offset = kStatus, .width = 4, .write_one_clears = kInterruptStatus},
        {.offset = kWriteMailbox, .width = 4},
        {.offset = kReadMailbox, .width = 4},
    };
    return config.add_extended(kExtDoe, 1, kDoeBytes, registers);
}

}  // namespace

Doe::Doe(ConfigSpace &config, Host &host, const DoeOptions &options)
    : config_(config), host_(host), options_(options), at_(add_capability(config, options))
{
    const auto reg = [this](uint16_t offset) { return static_cast<uint16_t>(at_ + offset); };
    config_.on_write(reg(kControl), [this](const DwordWrite &write) { on_control(write); });
    config_.on_write(reg(kWriteMailbox),
                     [this](const DwordWrite &write) { on_write_mailbox(write); });
    config_.on_write(reg(kReadMailbox), [this](const DwordWrite &) { on_read_mailbox(); });
    add_protocol(kPciSig, kDiscovery,
                 [this](std::span<const uint32_t> request) { return discover(request); });
}

void Doe::add_protocol(uint16_t vendor, uint8_t type, Handler handler)
{
    assert(protocols_.size() < 255);  // discovery has an 8-bit index, and 0 ends the list
    protocols_.push_back({vendor, type, std::move(handler)});
}

uint32_t Doe::status() const
{
    return config_.read(at_ + uint64_t{kStatus}, 4);
}

void Doe::set_status(uint32_t status)
{
    config_.set(static_cast<uint16_t>(at_ + kStatus), 4, status);
}

// Signals an error, a response, or the end of Busy to software.
void Doe::signal(uint32_t status)
{
    const bool enabled = (config_.read(at_ + uint64_t{kControl}, 4) & kInterruptEnable) != 0;

    set_status(enabled ? status | kInterruptStatus : status);
    if (enabled && !(status & kInterruptStatus))
        host_.raise(*options_.vector);
}

// Sets the mailbox register to the next dword of the response, or to zero if there is none.
void Doe::show_answer()
{
    const uint32_t dword = taken_ < answer_.size() ? answer_[taken_] : 0;
    config_.set(static_cast<uint16_t>(at_ + kReadMailbox), 4, dword);
}

void Doe::on_control(const DwordWrite &write)
{
    const uint32_t set = write.value & write.mask;

    if (set & kAbort)
        abort();
    else if (set & kGo)
        go();
}

// Discards the response, the error and the current request (6.30.2).
void Doe::abort()
{
    request_.clear();
    answer_.clear();
    taken_ = 0;
    answer_at_ns_.reset();
    show_answer();
    set_status(status() & kInterruptStatus);
}

void Doe::on_write_mailbox(const DwordWrite &write)
{
    if (write.mask != ~0u) {
        host_.log("DOE: mailbox write of less than a dword; ignored");
        return;
    }
    if (status() & (kBusy | kError | kReady)) {
        host_.log("DOE: request while busy, in error or with a pending response; ignored");
        return;
    }
    if (request_.size() == kMaxDwords) {
        host_.log("DOE: request longer than any supported one; rejected");
        request_.clear();
        signal(status() | kError);
        return;
    }
    request_.push_back(write.value);
}

void Doe::go()
{
    if (status() & (kBusy | kError | kReady)) {
        host_.log("DOE: Go while busy, in error or with a pending response; ignored");
        return;
    }
    set_status(status() | kBusy);
    answer_at_ns_ = host_.now_ns() + options_.answer_ns;
    if (options_.answer_ns == 0)
        answer();
}

void Doe::advance(uint64_t now_ns)
{
    if (answer_at_ns_ && now_ns >= *answer_at_ns_)
        answer();
}

void Doe::answer()
{
    const uint32_t idle = status() & ~kBusy;

    answer_at_ns_.reset();
    // A request whose length differs from the dwords written is silently discarded (6.30.2).
    if (request_.size() < kHeaderDwords || (request_[1] & kLengthMask) != request_.size()) {
        request_.clear();
        signal(idle);
        return;
    }
    std::optional<std::vector<uint32_t>> body = answer_to_request();
    const uint32_t name = request_[0];
    request_.clear();
    if (!body) {
        signal(idle | kError);
        return;
    }
    answer_ = {name, static_cast<uint32_t>(kHeaderDwords + body->size())};
    answer_.insert(answer_.end(), body->begin(), body->end());
    taken_ = 0;
    show_answer();
    signal(idle | kReady);
}

std::optional<std::vector<uint32_t>> Doe::answer_to_request() const
{
    for (const Protocol &protocol : protocols_)
        if ((request_[0] & 0xffffff) == object_name(protocol.vendor, protocol.type))
            return protocol.handler(std::span(request_).subspan(kHeaderDwords));
    return std::nullopt;
}

// A write of any value to the register advances to the next dword.
void Doe::on_read_mailbox()
{
    if (!(status() & kReady))
        return;
    taken_++;
    show_answer();
    if (taken_ == answer_.size())
        set_status(status() & ~kReady);
}

// Discovery (6.30.1.1): takes an index, returns the protocol and the next index; 0 ends the list.
// An index past the end returns an invalid vendor.
std::optional<std::vector<uint32_t>> Doe::discover(std::span<const uint32_t> request) const
{
    if (request.size() != 1)
        return std::nullopt;
    const uint32_t index = request[0] & 0xff;
    if (index >= protocols_.size())
        return std::vector<uint32_t>{object_name(kNoVendor, 0)};
    const uint32_t next = index + 1 < protocols_.size() ? index + 1 : 0;
    return std::vector<uint32_t>{object_name(protocols_[index].vendor, protocols_[index].type) |
                                 next << kNextIndexShift};
}

void Doe::reset()
{
    abort();
    set_status(0);
}

}  // namespace pmukit::vfu
