// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Documentation/policies/cost-benefit.rst
#include <algorithm>
#include <cmath>
#include <functional>

#include "tier/policy.hpp"
#include "tier/recent_pages.hpp"

namespace pmukit::tier {

namespace {

class CostBenefit final : public Policy {
public:
    explicit CostBenefit(const PolicySettings &settings)
        : move_cost_(static_cast<double>(settings.move_cost)), heat_(settings.most_pages)
    {
    }

    Moves decide(const Interval &interval) override
    {
        struct Candidate {
            uint64_t id;
            double mean;
        };
        std::vector<Candidate> candidates;
        for (const HotPage &page : interval.hot)
            candidates.push_back({page.id, mean_of(page, interval.number)});
        std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::mean);

        Places places(interval);
        for (const Candidate &page : candidates) {
            // Without a free place, another page must move, too.
            const double moves = places.has_free() ? 1 : 2;
            if (page.mean * kHorizon <= moves * move_cost_ || !places.promote(page.id, kIdle))
                break;
        }
        return places.take_moves();
    }

private:
    static constexpr uint64_t kIdle = 1;   // a page that was accessed in the interval stays
    static constexpr double kHorizon = 8;  // intervals for which a page is expected to stay as hot
    static constexpr double kNewWeight = 0.5;  // share of the last interval in the mean heat

    struct Heat {
        double mean = 0;  // of all intervals up to `interval`
        uint64_t interval = 0;
    };

    // In intervals in which the page was not reported, its heat counts as 0.
    double mean_of(const HotPage &page, uint64_t interval)
    {
        Heat &heat = heat_.at(page.id, interval);
        const double passed = static_cast<double>(interval - heat.interval);
        heat.mean = heat.mean * std::pow(1 - kNewWeight, passed) +
                    kNewWeight * static_cast<double>(page.heat);
        heat.interval = interval;
        return heat.mean;
    }

    double move_cost_;
    RecentPages<Heat> heat_;
};

}  // namespace

std::unique_ptr<Policy> make_cost_benefit(const PolicySettings &settings)
{
    return std::make_unique<CostBenefit>(settings);
}

}  // namespace pmukit::tier
