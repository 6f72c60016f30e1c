// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How a CHMU instance makes hot-list entries of the requests that it tracks: downsampling,
// counters, threshold and epochs (CXL r3.2 section 8.2.8). It has no registers, no hot list and no
// clock, so that it also replays accesses without a device: its time is a number of ticks.
//
//     request -- downsampling --> counter of its unit -- count >= threshold --> report(unit, count)
//                                                        always-on mode: at once
//                                                        epoch mode: at the end of the epoch
#pragma once

#include <cstdint>
#include <random>

#include "models/cxl_hmu/counters.hpp"

namespace pmukit::models::cxl_hmu {

// Returns the bits of a counter; width_4k: bits at a unit of 4 KiB. A larger unit needs fewer bits
// for its id in an entry, which leaves more for the count.
unsigned counter_width_of(unsigned width_4k, uint64_t unit_log2);

struct TrackerSettings {
    uint64_t unit_log2 = 12;
    unsigned downsampling_log2 = 0;
    bool randomized = false;  // random intervals between samples; their mean is the factor
    bool always_on = false;   // false: epoch mode
    uint32_t threshold = 1;   // must fit the counter
    unsigned counter_width = 16;
    // 1: all epochs end together. More: each counter has its own epoch, exact to one tick.
    uint32_t ticks_per_epoch = 1;
    uint32_t seed = 1;

    friend bool operator==(const TrackerSettings &, const TrackerSettings &) = default;
};

class Tracker {
public:
    explicit Tracker(const CounterScheme &scheme) : counters_(scheme) {}

    // Begins to track. In epoch mode all counters are free then; in always-on mode they stay.
    void start(const TrackerSettings &settings);
    void free_counters() { counters_.free_all(); }

    // Counts a request, unless downsampling skips it. In always-on mode calls report(unit, count)
    // if the unit has reached the threshold, and frees its counter.
    template <typename Report>
    void request(uint64_t dpa, Report report)
    {
        if (!sampled())
            return;
        Counters::Counter *counter = counters_.count(dpa >> settings_.unit_log2, limit_, tick_);
        if (counter == nullptr || !settings_.always_on || counter->count < settings_.threshold)
            return;
        report(counter->unit, counter->count);
        counters_.free(*counter);
    }

    // Ends `ticks` ticks. No request arrives between them, so one sweep is enough. Frees each
    // counter whose epoch ended; in epoch mode calls report(unit, count) if it reached the
    // threshold.
    template <typename Report>
    void pass_ticks(uint64_t ticks, Report report)
    {
        tick_ += static_cast<uint32_t>(ticks);
        counters_.sweep([&](const Counters::Counter &counter) {
            if (tick_ - counter.birth < settings_.ticks_per_epoch)
                return false;
            if (!settings_.always_on && counter.count >= settings_.threshold)
                report(counter.unit, counter.count);
            return true;
        });
    }

    size_t used() const { return counters_.used(); }
    // Number of ticks since start().
    uint32_t ticks() const { return tick_ - first_tick_; }

private:
    bool sampled();
    uint64_t next_interval();

    Counters counters_;
    TrackerSettings settings_;
    std::mt19937 random_;
    uint32_t limit_ = 0;  // the largest count
    uint64_t skip_ = 0;   // number of requests until the next sample
    uint32_t tick_ = 0, first_tick_ = 0;
};

}  // namespace pmukit::models::cxl_hmu
