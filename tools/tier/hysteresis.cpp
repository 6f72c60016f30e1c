// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Documentation/policies/hysteresis.rst
#include <algorithm>

#include "tier/policy.hpp"
#include "tier/recent_pages.hpp"

namespace pmukit::tier {

namespace {

class Hysteresis final : public Policy {
public:
    explicit Hysteresis(const PolicySettings &settings) : pages_(settings.most_pages) {}

    Moves decide(const Interval &interval) override
    {
        Places places(interval);
        bool has_place = true;
        for (const HotPage &page : interval.hot)
            if (is_wanted(page.id, interval.number) && has_place)
                has_place = places.promote(page.id, kIdle);
        Moves moves = places.take_moves();
        for (const uint64_t id : moves.demote)
            back_off(id, interval.number);
        return moves;
    }

private:
    static constexpr uint32_t kHotIntervals = 2;   // consecutive intervals before a promotion
    static constexpr uint64_t kIdle = 4;           // intervals without an access before a demotion
    static constexpr uint64_t kFirstBackOff = 4;   // intervals after the first demotion
    static constexpr uint32_t kMostDoublings = 8;  // of the back-off

    struct History {
        uint64_t interval = 0;  // the last one in which the page was reported
        uint32_t hot = 0;       // consecutive intervals up to that one
        uint32_t demotions = 0;
        uint64_t not_before = 0;  // the first interval in which it may be promoted again
    };

    bool is_wanted(uint64_t id, uint64_t interval)
    {
        History &page = pages_.at(id, interval);
        const bool goes_on = page.hot != 0 && page.interval + 1 == interval;
        page.hot = goes_on ? std::min(page.hot + 1, kHotIntervals) : 1;
        page.interval = interval;
        return page.hot == kHotIntervals && interval >= page.not_before;
    }

    // Each demotion of a page doubles the time for which it stays on the slow node.
    void back_off(uint64_t id, uint64_t interval)
    {
        History &page = pages_.at(id, interval);
        page.not_before = interval + (kFirstBackOff << std::min(page.demotions, kMostDoublings));
        page.demotions++;
        page.hot = 0;
    }

    RecentPages<History> pages_;
};

}  // namespace

std::unique_ptr<Policy> make_hysteresis(const PolicySettings &settings)
{
    return std::make_unique<Hysteresis>(settings);
}

}  // namespace pmukit::tier
