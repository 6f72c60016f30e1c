// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Synthetic packets that add load, only during a trace. Each trace has the same packets, because
// their contents depend only on the parameters; only the times differ.
//
// Every read is completed. A completion follows its request after some other packets, as if several
// requests were outstanding.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/hisi_ptt/tlp.hpp"

namespace pmukit::models::hisi_ptt {

struct GeneratorParams {
    uint64_t rate = 1000;  // packets per second
    uint64_t seed = 1;
    uint64_t count = 0;  // requests per trace, without completions; 0: unlimited
    // The following members are percentages.
    uint64_t inbound = 50;     // inbound requests
    uint64_t reads = 50;       // requests that are reads
    uint64_t peer = 0;         // outbound requests that come from another device
    uint64_t unsupported = 0;  // reads that are completed with Unsupported Request
    uint64_t pasid = 0;        // inbound requests that have a PASID prefix
    uint64_t relaxed = 0;      // requests with relaxed ordering
};

// Parses KEY=VALUE[,KEY=VALUE]..., for example rate=100000,seed=3,reads=20. An error message is one
// line that names the KEY=VALUE word and its limits.
Result<GeneratorParams> parse_generator(std::string_view text);

class Generator {
public:
    // places: functions whose traffic is generated; at least one.
    Generator(const GeneratorParams &params, std::vector<vfu::LinkPlace> places,
              bool wide_tags = false);

    void start(uint64_t now_ns);
    void stop() { running_ = false; }

    // Passes packets due by now to sink, in order and with times up to now.
    void run_until(uint64_t now_ns, const std::function<void(const Tlp &)> &sink);
    // Returns when to call run_until() again; nullopt while stopped.
    std::optional<uint64_t> next_ns() const;

private:
    Tlp next();
    Tlp request();
    uint16_t next_tag();
    void answer(const Tlp &request);
    void count_delivered();
    bool percent(uint64_t of_hundred);
    uint64_t below(uint64_t limit) { return random_() % limit; }

    GeneratorParams params_;
    std::vector<vfu::LinkPlace> places_;
    bool wide_tags_;
    std::mt19937_64 random_;
    std::deque<Tlp> in_flight_;  // outstanding completions
    bool running_ = false;
    uint64_t made_ = 0;       // requests generated so far
    uint64_t delivered_ = 0;  // packets of the current second
    uint64_t start_ns_ = 0;   // start of that second
    uint32_t next_tag_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
