// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/policy.hpp"

#include <algorithm>

namespace pmukit::tier {

namespace {

constexpr PolicyKind kPolicies[] = {
    {"hottest-first", make_hottest_first},
    {"cost-benefit", make_cost_benefit},
    {"hysteresis", make_hysteresis},
};

}  // namespace

std::span<const PolicyKind> policies()
{
    return kPolicies;
}

const PolicyKind *policy_of_name(std::string_view name)
{
    const auto found = std::ranges::find(kPolicies, name, &PolicyKind::name);
    return found == std::end(kPolicies) ? nullptr : found;
}

bool Places::promote(uint64_t id, uint64_t idle)
{
    if (free_ > 0) {
        free_--;
    } else {
        if (!next_)
            next_ = coldest_.next();
        if (!next_ || next_->idle < idle)
            return false;
        moves_.demote.push_back(next_->id);
        next_.reset();
    }
    moves_.promote.push_back(id);
    return true;
}

}  // namespace pmukit::tier
