// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Packets far faster than any guest reads them: memory writes of 4 bytes, of which packet n of a
// trace goes to address 4 * n (of 32 bits). A reader of entries sees from the addresses alone
// which packets are there, in which order, and how many are missing. They run only while a trace
// does, and a trace begins with packet 0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace pmukit::models::hisi_ptt {

struct FloodParams {
    uint64_t rate = 10'000'000;  // packets a second
    uint64_t count = 0;          // of a trace; 0 goes on
    uint64_t burst = 65536;      // packets before the guest is let in again
};

// KEY=VALUE[,KEY=VALUE]..., as rate=50000000,count=1000000.
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
    // What is due by now, a burst at most: what a burst does not hold comes later than asked for.
    void run_until(uint64_t now_ns, const std::function<void(const Packets &)> &sink);
    // When to come again; nothing while it does not run.
    std::optional<uint64_t> next_ns() const;

private:
    uint64_t due_ns() const;  // of the next packet

    FloodParams params_;
    bool running_ = false;
    uint64_t made_ = 0;
    uint64_t made_since_ = 0;  // start_ns_
    uint64_t start_ns_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
