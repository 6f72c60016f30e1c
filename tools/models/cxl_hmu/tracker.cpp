// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/tracker.hpp"

#include <algorithm>

namespace pmukit::models::cxl_hmu {

namespace {

// The threshold has 32 bits, too.
constexpr int kMaxCounterWidth = 32;
constexpr int kLog2Of4k = 12;

}  // namespace

unsigned counter_width_of(unsigned width_4k, uint64_t unit_log2)
{
    const int width = static_cast<int>(width_4k) + static_cast<int>(unit_log2) - kLog2Of4k;
    return static_cast<unsigned>(std::clamp(width, 1, kMaxCounterWidth));
}

void Tracker::start(const TrackerSettings &settings)
{
    settings_ = settings;
    limit_ = static_cast<uint32_t>((uint64_t{1} << settings.counter_width) - 1);
    if (!settings.always_on)
        counters_.free_all();
    first_tick_ = tick_;
    random_.seed(settings.seed);
    skip_ = next_interval();
}

bool Tracker::sampled()
{
    if (--skip_ != 0)
        return false;
    skip_ = next_interval();
    return true;
}

// Returns the number of requests until the next sample: the downsampling factor f, or if randomized
// a uniform number in 1 .. 2f-1, whose mean is f.
uint64_t Tracker::next_interval()
{
    const uint64_t factor = uint64_t{1} << settings_.downsampling_log2;
    if (!settings_.randomized)
        return factor;
    return std::uniform_int_distribution<uint64_t>(1, 2 * factor - 1)(random_);
}

}  // namespace pmukit::models::cxl_hmu
