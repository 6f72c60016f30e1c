// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Data object exchange: a mailbox in configuration space through which software sends requests and
// reads responses in dwords (PCI Express Base Specification 6.0, 6.30 and 7.9.24). It always has
// the discovery protocol, which lists the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "vfu/config_space.hpp"
#include "vfu/device.hpp"

namespace pmukit::vfu {

struct DoeOptions {
    std::optional<unsigned> vector{};  // interrupt vector; nullopt: no interrupt
    uint64_t answer_ns = 0;            // time from a request to its response
};

class Doe {
public:
    // Takes the dwords of a request that follow its two header dwords, and returns the
    // corresponding dwords of the response. nullopt: no response.
    using Handler =
        std::function<std::optional<std::vector<uint32_t>>(std::span<const uint32_t> request)>;

    static constexpr size_t kMaxDwords = 1024;  // limit of a request, header included

    // Adds the capability; the configuration space and the host must outlive it.
    Doe(ConfigSpace &config, Host &host, const DoeOptions &options);
    Doe(const Doe &) = delete;
    Doe &operator=(const Doe &) = delete;

    void add_protocol(uint16_t vendor, uint8_t type, Handler handler);

    uint16_t offset() const { return at_; }

    // The device that owns the mailbox must call these functions in its own functions of the same
    // names.
    void reset();
    std::optional<uint64_t> next_deadline_ns() const { return answer_at_ns_; }
    void advance(uint64_t now_ns);

private:
    struct Protocol {
        uint16_t vendor;
        uint8_t type;
        Handler handler;
    };

    void on_control(const DwordWrite &write);
    void on_write_mailbox(const DwordWrite &write);
    void on_read_mailbox();
    void go();
    void abort();
    void answer();
    std::optional<std::vector<uint32_t>> answer_to_request() const;
    std::optional<std::vector<uint32_t>> discover(std::span<const uint32_t> request) const;

    uint32_t status() const;
    void set_status(uint32_t status);
    void signal(uint32_t status);
    void show_answer();

    ConfigSpace &config_;
    Host &host_;
    DoeOptions options_;
    uint16_t at_;
    std::vector<Protocol> protocols_;
    std::vector<uint32_t> request_;
    std::vector<uint32_t> answer_;
    size_t taken_ = 0;  // dwords of the response that software has read
    std::optional<uint64_t> answer_at_ns_;
};

}  // namespace pmukit::vfu
