// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One device and its client. Checks, applies and answers every message, and is the device's Host.
// The listening sockets and the event loop are in chassis.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "vfu/channel.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"
#include "vfu/dma_map.hpp"
#include "vfu/link.hpp"
#include "vfu/msi.hpp"
#include "vfu/msix.hpp"
#include "vfu/wire.hpp"

namespace pmukit::vfu {

// Why a message is refused; errc{}: the message is accepted.
struct Verdict {
    std::errc error{};
    const char *reason = "";

    bool ok() const { return error == std::errc{}; }
};

// Admits kLinesPerSecond lines in each second, and counts the lines that it suppresses.
class LineLimiter {
public:
    static constexpr unsigned kLinesPerSecond = 20;

    bool admit(uint64_t now_ns);
    // Returns the number of lines suppressed since the last call; 0 while lines are still being
    // suppressed.
    uint64_t take_suppressed(uint64_t now_ns);
    // To be called at the end. Returns the number of suppressed lines even while lines are still
    // being suppressed.
    uint64_t take_rest();

private:
    void reset_if_new_second(uint64_t now_ns);

    uint64_t second_ = 0;
    unsigned lines_ = 0;
    uint64_t suppressed_ = 0;
};

class Session final : public Host {
public:
    Session();

    // Call once, before the first client. The device must outlive the session's last client.
    void bind(Device &device);
    // Set the link of the function, if its packets are shown, and the prefix of its log lines.
    void set_link(const Link &link) { link_ = link; }
    void set_name(std::string_view name) { name_ = name; }
    // Sets the functions whose BARs this function's DMA may access if the address is not in guest
    // memory. The list may contain this function, and must outlive the session.
    void set_peers(const std::vector<Session *> &peers) { peers_ = &peers; }

    // A new client is a new guest: no memory is mapped, and the device is in its power-on state.
    void attach(Fd client);
    void detach();
    bool attached() const { return channel_.has_value(); }
    int fd() const { return channel_ ? channel_->fd() : -1; }

    // The events to poll the client's socket for. While an answer is not sent completely, the
    // session reads no further message: a client that does not read delays no other client and
    // costs the memory of one message.
    short poll_events() const;
    // Call if the socket is ready or has_more(). Handles at most one batch of messages, so that a
    // flooding client does not delay others. Returns false if the client has left and is detached.
    bool on_ready();
    // Returns true if received messages may remain after the last batch; poll() does not report
    // these.
    bool has_more() const { return channel_ && more_ && !channel_->has_unsent(); }

    static constexpr unsigned kMessagesPerBatch = 64;

    // Advances the device if its deadline has passed. Returns the next deadline; nullopt: none.
    std::optional<uint64_t> run_device_until_now();

    // Host
    bool dma_read(uint64_t address, std::span<std::byte> into) override;
    bool dma_write(uint64_t address, Bytes from) override;
    void raise(unsigned vector) override;
    uint64_t now_ns() const override;
    void log(std::string_view line) override;

private:
    // The answer that a handler writes, without the header.
    struct Answer {
        std::span<std::byte> body;
        size_t size_bytes = 0;
        // Descriptor to send with the answer. The session does not close it.
        int fd = -1;

        template <typename T>
        void put(const T &value)
        {
            wire::put(body.data() + size_bytes, value);
            size_bytes += sizeof value;
        }
    };
    using Handler = Verdict (Session::*)(const Message &, Answer &);

    // One row per command: limits of its body, checked before the handler is called.
    struct Rule {
        wire::Command command;
        const char *name;
        size_t min_body_bytes;
        size_t max_body_bytes;
        size_t max_fds;
        Handler handler;  // nullptr: the server does not offer this command of the protocol
    };
    static const std::array<Rule, 14> kRules;

    void print_line(std::string_view line) const;
    void tell_suppressed(uint64_t lines) const;
    static const Rule *rule_for(uint16_t command);
    Verdict check(const wire::Header &header, const Message &message, const Rule *rule) const;
    // Always returns false, so that on_ready() can return the result of the call.
    bool drop_client(std::string_view reason);
    bool handle_messages();
    bool handle(const Message &message);
    bool answer(const wire::Header &request, const Verdict &verdict, const Answer &body);

    Verdict on_version(const Message &message, Answer &answer);
    Verdict on_dma_map(const Message &message, Answer &answer);
    Verdict on_dma_unmap(const Message &message, Answer &answer);
    Verdict on_get_info(const Message &message, Answer &answer);
    Verdict on_get_region_info(const Message &message, Answer &answer);
    Verdict on_get_irq_info(const Message &message, Answer &answer);
    Verdict on_set_irqs(const Message &message, Answer &answer);
    Verdict on_region_read(const Message &message, Answer &answer);
    Verdict on_region_write(const Message &message, Answer &answer);
    Verdict on_reset(const Message &message, Answer &answer);

    uint64_t region_bytes(uint32_t region) const;
    Verdict check_access(const wire::RegionAccess &access) const;
    LinkProtocol protocol_of(unsigned bar) const;
    void write_config(uint64_t offset, Bytes from);
    void read_bar(unsigned bar, uint64_t offset, std::span<std::byte> into);
    void write_bar(unsigned bar, uint64_t offset, Bytes from);

    // The owner of bytes in a BAR: the device or one of the MSI-X structures.
    enum class Owner { kDevice, kMsixTable, kMsixPending, kSeveral };
    Owner owner_of(unsigned bar, uint64_t offset, size_t width) const;

    uint32_t irq_count(uint32_t index) const;
    Verdict check_irqs(const wire::IrqSet &set, const Message &message) const;
    void set_trigger(uint32_t index, uint32_t vector, Fd eventfd);
    void update_interrupts();
    void reset_function();

    ConfigSpace &config() const { return device_->config(); }
    PacketLimits packet_limits() const;

    // A piece of another function's BAR.
    struct PeerRange {
        Session *peer = nullptr;  // nullptr: no function has that address
        unsigned bar = 0;
        uint64_t offset = 0;
    };
    PeerRange find_peer(uint64_t address, size_t size_bytes) const;
    std::optional<PeerRange> claim(uint64_t address, size_t size_bytes);
    bool read_peer(uint64_t address, std::span<std::byte> into);
    bool write_peer(uint64_t address, Bytes from);

    Device *device_ = nullptr;
    std::optional<Channel> channel_;
    bool version_agreed_ = false;
    bool more_ = false;
    DmaMap dma_;
    Msix msix_;
    Msi msi_;
    Link link_;
    const std::vector<Session *> *peers_ = nullptr;
    bool asked_by_peer_ = false;  // true while a peer accesses this function
    std::string name_;
    std::vector<std::byte> answer_;
    LineLimiter limiter_;
};

}  // namespace pmukit::vfu
