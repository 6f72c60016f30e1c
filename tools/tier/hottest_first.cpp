// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Documentation/policies/hottest-first.rst
#include "tier/policy.hpp"

namespace pmukit::tier {

namespace {

class HottestFirst final : public Policy {
public:
    Moves decide(const Interval &interval) override
    {
        Places places(interval);
        for (const HotPage &page : interval.hot)
            if (!places.promote(page.id, kIdle))
                break;
        return places.take_moves();
    }

private:
    static constexpr uint64_t kIdle = 1;  // a page that was accessed in the interval stays
};

}  // namespace

std::unique_ptr<Policy> make_hottest_first(const PolicySettings &)
{
    return std::make_unique<HottestFirst>();
}

}  // namespace pmukit::tier
