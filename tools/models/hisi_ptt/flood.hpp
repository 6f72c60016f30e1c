// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Packets at a rate that no guest can read: memory writes of 4 bytes; packet n of a trace goes to
// address 4 * n (32 bits). The addresses alone show which packets a reader got, in which order, and
// how many are missing. The flood runs only during a trace, which starts with packet 0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace pmukit::models::hisi_ptt {

struct FloodParams {
    uint64_t rate = 10'000'000;  // packets per second
    uint64_t count = 0;          // packets per trace; 0: unlimited
    uint64_t burst = 65536;      // packet limit before the guest runs again
};

// Parses KEY=VALUE[,KEY=VALUE]..., for example rate=50000000,count=1000000.
Result<FloodParams> parse_flood(std::string_view text);

class Flood {
public:
    explicit Flood(const FloodParams &params) : params_(params) {}

    void start(uint64_t now_ns);
    void stop() { running_ = false; }

    // Packets first ... first + count - 1, all of them due at time_ns or before.
    struct Packets {
        uint64_t first = 0;
        uint64_t count = 0;
        uint64_t time_ns = 0;
    };
    // Passes packets due by now to sink, one burst at most; further packets are delayed.
    void run_until(uint64_t now_ns, const std::function<void(const Packets &)> &sink);
    // Returns when to call run_until() again; nullopt while stopped.
    std::optional<uint64_t> next_ns() const;

private:
    uint64_t due_ns() const;  // when the next packet is due

    FloodParams params_;
    bool running_ = false;
    uint64_t made_ = 0;
    uint64_t made_since_ = 0;  // packets since start_ns_
    uint64_t start_ns_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
