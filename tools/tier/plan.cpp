// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/plan.hpp"

#include <algorithm>
#include <tuple>

#include "base/number.hpp"

namespace pmukit::tier {

namespace {

constexpr uint64_t kWhole_percent = 100;

uint64_t overlap(const HotRange &range, uint64_t hpa, uint64_t bytes)
{
    const uint64_t first = std::max(range.hpa, hpa);
    const uint64_t last = std::min(range.hpa + (range.bytes - 1), hpa + (bytes - 1));
    return first > last ? 0 : last - first + 1;
}

bool hotter(const Move &a, const Move &b)
{
    return std::tuple(-a.heat, a.address) < std::tuple(-b.heat, b.address);
}

}  // namespace

HeatMap::HeatMap(std::vector<HotRange> ranges) : ranges_(std::move(ranges))
{
    std::erase_if(ranges_, [](const HotRange &range) {
        return range.bytes == 0 || range.hpa > UINT64_MAX - (range.bytes - 1);
    });
    std::ranges::sort(ranges_, {}, &HotRange::hpa);
    for (const HotRange &range : ranges_)
        longest_ = std::max(longest_, range.bytes);
}

double HeatMap::of(uint64_t hpa, uint64_t bytes) const
{
    if (bytes == 0 || hpa > UINT64_MAX - (bytes - 1))
        return 0;
    const uint64_t earliest = hpa > longest_ ? hpa - longest_ : 0;
    double heat = 0;
    for (auto range = std::ranges::lower_bound(ranges_, earliest, {}, &HotRange::hpa);
         range != ranges_.end() && range->hpa <= hpa + (bytes - 1); ++range)
        heat += range->heat * static_cast<double>(overlap(*range, hpa, bytes)) /
                static_cast<double>(range->bytes);
    return heat;
}

void Planner::add(const Page &page)
{
    pages_++;
    const Move move{page.address, heat_.of(page.hpa, page_bytes_)};
    if (page.node == nodes_.fast)
        residents_.push_back({move, move.heat > 0 || nodes_.watched.contains(page.node)});
    else if (move.heat > 0)
        hot_.push_back(move);
}

// Promotes hot pages, from hot[next] on, and demotes a less hot page of the fast node for each.
// `residents` has the pages of the fast node in the order of demotion; the first `gone` of them are
// already demoted.
void Planner::swap(Plan &plan, size_t next, const std::vector<Move> &hot,
                   std::vector<Resident> &residents, size_t gone) const
{
    for (; next < hot.size() && gone < residents.size(); next++, gone++) {
        const Resident &coldest = residents[gone];
        if (!coldest.known || coldest.move.heat >= hot[next].heat)
            return;
        plan.demote.push_back(coldest.move);
        plan.promote.push_back(hot[next]);
    }
}

Plan Planner::plan(uint64_t budget_pages) const
{
    std::vector<Move> hot = hot_;
    std::ranges::sort(hot, hotter);
    std::vector<Resident> residents = residents_;
    std::ranges::sort(residents, [](const Resident &a, const Resident &b) {
        return std::tuple(!a.known, a.move.heat, a.move.address) <
               std::tuple(!b.known, b.move.heat, b.move.address);
    });

    Plan plan;
    plan.fast_pages_before = residents.size();
    const size_t leave = residents.size() - std::min<uint64_t>(residents.size(), budget_pages);
    for (size_t i = 0; i < leave; i++)
        plan.demote.push_back(residents[i].move);
    const uint64_t room = budget_pages - (residents.size() - leave);
    const size_t enter = std::min<uint64_t>(hot.size(), room);
    plan.promote.assign(hot.begin(), hot.begin() + static_cast<std::ptrdiff_t>(enter));
    swap(plan, enter, hot, residents, leave);

    plan.fast_pages_after = plan.fast_pages_before + plan.promote.size() - plan.demote.size();
    for (const Resident &resident : residents)
        plan.fast_heat_before += resident.move.heat;
    plan.heat = plan.fast_heat_after = plan.fast_heat_before;
    for (const Move &move : hot)
        plan.heat += move.heat;
    for (const Move &move : plan.promote)
        plan.fast_heat_after += move.heat;
    for (const Move &move : plan.demote)
        plan.fast_heat_after -= move.heat;
    return plan;
}

Result<Budget> parse_budget(std::string_view text)
{
    Budget budget;
    budget.percent = text.ends_with('%');
    const std::string_view digits = text.substr(0, text.size() - budget.percent);
    const Result<uint64_t> value = parse_u64(digits);
    if (!value || (budget.percent && *value > kWhole_percent))
        return wrong_text(Errc::kUsage, text,
                          "is not a budget: a number of pages, or a percentage such as 20%");
    budget.value = *value;
    return budget;
}

// Returns the budget in pages, rounded down, without overflow of 64 bits.
uint64_t pages_of(const Budget &budget, uint64_t process_pages)
{
    if (!budget.percent)
        return budget.value;
    return process_pages / kWhole_percent * budget.value +
           process_pages % kWhole_percent * budget.value / kWhole_percent;
}

}  // namespace pmukit::tier
