// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Synthetic packets, for volume: they run only while a trace does, and a second trace gets the same
// ones again. What is in them depends on the parameters alone; only their times do not.
//
// Every read is answered: a completion follows its request after some other packets, as it would
// with several requests in flight.
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
    uint64_t rate = 1000;  // packets a second
    uint64_t seed = 1;
    uint64_t count = 0;  // requests of a trace, completions come on top; 0 goes on
    // Percent of the requests
    uint64_t inbound = 50;
    uint64_t reads = 50;
    uint64_t peer = 0;         // of the outbound ones: asked by another device
    uint64_t unsupported = 0;  // of the reads: answered Unsupported Request
    uint64_t pasid = 0;        // of the inbound ones: with a prefix
    uint64_t relaxed = 0;      // with relaxed ordering
};

// KEY=VALUE[,KEY=VALUE]..., as rate=100000,seed=3,reads=20. A wrong text is answered with one line
// that names the word and its limits.
Result<GeneratorParams> parse_generator(std::string_view text);

class Generator {
public:
    // The functions whose traffic it makes up; at least one.
    Generator(const GeneratorParams &params, std::vector<vfu::LinkPlace> places,
              bool wide_tags = false);

    void start(uint64_t now_ns);
    void stop() { running_ = false; }

    // Gives what is due by now to sink, in order and with times that are not later than now.
    void run_until(uint64_t now_ns, const std::function<void(const Tlp &)> &sink);
    // When to come again; nothing while it does not run.
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
    std::deque<Tlp> in_flight_;  // completions to come
    bool running_ = false;
    uint64_t made_ = 0;       // requests
    uint64_t delivered_ = 0;  // packets of the running second, which is what time counts
    uint64_t start_ns_ = 0;   // of that second
    uint32_t next_tag_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
