// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/plan.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pmukit::tier {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kFast = 0, kSlow = 1, kOther = 2;

std::vector<uint64_t> addresses(const std::vector<Move> &moves)
{
    std::vector<uint64_t> all;
    for (const Move &move : moves)
        all.push_back(move.address);
    return all;
}

TEST(HeatMap, SpreadsTheHeatOfARangeOverItsPages)
{
    const HeatMap heat({{4 * kPage, 4 * kPage, 100}});
    EXPECT_EQ(heat.of(3 * kPage, kPage), 0);
    EXPECT_EQ(heat.of(4 * kPage, kPage), 25);
    EXPECT_EQ(heat.of(7 * kPage, kPage), 25);
    EXPECT_EQ(heat.of(8 * kPage, kPage), 0);
}

TEST(HeatMap, AddsTheHeatOfRangesSmallerThanAPage)
{
    const HeatMap heat({{kPage, 256, 3}, {kPage + 256, 256, 4}, {2 * kPage - 256, 256, 5}});
    EXPECT_EQ(heat.of(kPage, kPage), 12);
    EXPECT_EQ(heat.of(0, kPage), 0);
    EXPECT_EQ(heat.of(2 * kPage, kPage), 0);
}

TEST(HeatMap, AddsTheHeatOfOverlappingRanges)
{
    const HeatMap heat({{0, 1 << 20, 256}, {2 * kPage, kPage, 10}, {2 * kPage, kPage, 5}});
    EXPECT_EQ(heat.of(2 * kPage, kPage), 16);
    EXPECT_EQ(heat.of(255 * kPage, kPage), 1);
}

TEST(HeatMap, FindsALongRangeAfterManyShortOnes)
{
    std::vector<HotRange> ranges = {{0, 64 * kPage, 64}};
    for (uint64_t i = 1; i < 32; i++)
        ranges.push_back({i * kPage, kPage, 100});
    const HeatMap heat(ranges);
    EXPECT_EQ(heat.of(63 * kPage, kPage), 1);
    EXPECT_EQ(heat.of(31 * kPage, kPage), 101);
}

TEST(HeatMap, HandlesRangesAtTheLastAddress)
{
    const HeatMap heat({{UINT64_MAX - (kPage - 1), kPage, 7}, {UINT64_MAX, 2, 9}, {0, 0, 9}});
    EXPECT_EQ(heat.of(UINT64_MAX - (kPage - 1), kPage), 7);
    EXPECT_EQ(heat.of(UINT64_MAX, kPage), 0);
    EXPECT_EQ(heat.of(0, kPage), 0);
    EXPECT_EQ(heat.of(0, 0), 0);
}

// Page n of the process has the virtual address n * kPage and the physical address (0x1000 + n) *
// kPage.
class Planning : public testing::Test {
protected:
    // Adds a page with this heat on this node. A heat of 0 adds no hot range.
    void page(uint64_t number, uint32_t node, double heat)
    {
        const uint64_t hpa = (0x1000 + number) * kPage;
        if (heat > 0)
            ranges.push_back({hpa, kPage, heat});
        pages.push_back({number * kPage, hpa, node});
    }
    Plan plan(uint64_t budget, std::set<uint32_t> watched = {kSlow})
    {
        const HeatMap heat(ranges);
        Planner planner(heat, {kFast, kSlow, std::move(watched)}, kPage);
        for (const Page &page : pages)
            planner.add(page);
        EXPECT_EQ(planner.pages(), pages.size());
        return planner.plan(budget);
    }

    std::vector<HotRange> ranges;
    std::vector<Page> pages;
};

TEST_F(Planning, PromotesTheHottestFirst)
{
    page(1, kSlow, 10);
    page(2, kSlow, 30);
    page(3, kSlow, 20);
    page(4, kSlow, 0);
    const Plan two = plan(2);
    EXPECT_EQ(addresses(two.promote), (std::vector<uint64_t>{2 * kPage, 3 * kPage}));
    EXPECT_TRUE(two.demote.empty());
    EXPECT_EQ(two.fast_pages_after, 2u);
    EXPECT_EQ(two.heat, 60);
    EXPECT_EQ(two.fast_heat_before, 0);
    EXPECT_EQ(two.fast_heat_after, 50);
}

TEST_F(Planning, PrefersTheLowerAddressOfEquallyHotPages)
{
    page(5, kSlow, 10);
    page(3, kSlow, 10);
    EXPECT_EQ(addresses(plan(1).promote), std::vector<uint64_t>{3 * kPage});
}

TEST_F(Planning, NeverPromotesColdPages)
{
    page(1, kSlow, 0);
    page(2, kOther, 0);
    EXPECT_TRUE(plan(100).promote.empty());
}

TEST_F(Planning, PromotesFromEveryOtherNode)
{
    page(1, kSlow, 1);
    page(2, kOther, 2);
    EXPECT_EQ(addresses(plan(2).promote), (std::vector<uint64_t>{2 * kPage, kPage}));
}

TEST_F(Planning, PromotesNothingWithABudgetOfZero)
{
    page(1, kSlow, 5);
    const Plan none = plan(0);
    EXPECT_TRUE(none.promote.empty());
    EXPECT_TRUE(none.demote.empty());
}

TEST_F(Planning, PagesAlreadyOnTheFastNodeUseTheBudget)
{
    page(1, kFast, 0);
    page(2, kFast, 0);
    page(3, kSlow, 9);
    page(4, kSlow, 8);
    const Plan three = plan(3);
    EXPECT_EQ(three.fast_pages_before, 2u);
    EXPECT_EQ(addresses(three.promote), std::vector<uint64_t>{3 * kPage});
    EXPECT_EQ(three.fast_pages_after, 3u);
}

TEST_F(Planning, DoesNotDemotePagesOfUnknownHeatWithinTheBudget)
{
    page(1, kFast, 0);
    page(2, kSlow, 1000);
    const Plan one = plan(1);
    EXPECT_TRUE(one.promote.empty());
    EXPECT_TRUE(one.demote.empty());
}

TEST_F(Planning, ExchangesColderPagesOfTheFastNodeForHotterOnes)
{
    page(1, kFast, 0);
    page(2, kFast, 50);
    page(3, kSlow, 40);
    page(4, kSlow, 60);
    page(5, kSlow, 70);
    const Plan two = plan(2, {kFast, kSlow});
    EXPECT_EQ(addresses(two.promote), (std::vector<uint64_t>{5 * kPage, 4 * kPage}));
    EXPECT_EQ(addresses(two.demote), (std::vector<uint64_t>{kPage, 2 * kPage}));
    EXPECT_EQ(two.fast_pages_after, 2u);
    EXPECT_EQ(two.fast_heat_before, 50);
    EXPECT_EQ(two.fast_heat_after, 130);
}

TEST_F(Planning, DoesNotExchangeEquallyHotPages)
{
    page(1, kFast, 40);
    page(2, kSlow, 40);
    const Plan one = plan(1, {kFast, kSlow});
    EXPECT_TRUE(one.promote.empty());
    EXPECT_TRUE(one.demote.empty());
}

TEST_F(Planning, FillsTheBudgetBeforeItExchangesPages)
{
    page(1, kFast, 1);
    page(2, kSlow, 10);
    page(3, kSlow, 20);
    const Plan two = plan(2, {kFast, kSlow});
    EXPECT_EQ(addresses(two.promote), (std::vector<uint64_t>{3 * kPage, 2 * kPage}));
    EXPECT_EQ(addresses(two.demote), std::vector<uint64_t>{kPage});
}

TEST_F(Planning, DemotesPagesOverTheBudgetColdestFirst)
{
    page(1, kFast, 30);
    page(2, kFast, 10);
    page(3, kFast, 20);
    const Plan one = plan(1);
    EXPECT_EQ(addresses(one.demote), (std::vector<uint64_t>{2 * kPage, 3 * kPage}));
    EXPECT_EQ(one.fast_pages_after, 1u);
}

TEST_F(Planning, DemotesPagesOfUnknownHeatLast)
{
    page(1, kFast, 0);
    page(2, kFast, 99);
    page(3, kFast, 0);
    const Plan two = plan(2);
    EXPECT_EQ(addresses(two.demote), std::vector<uint64_t>{2 * kPage});
    EXPECT_EQ(addresses(plan(0).demote), (std::vector<uint64_t>{2 * kPage, kPage, 3 * kPage}));
}

TEST_F(Planning, PlansForRandomPagesKeepTheBudgetAndMoveEachPageAtMostOnce)
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; round++) {
        ranges.clear();
        pages.clear();
        const uint64_t number = random() % 60;
        for (uint64_t i = 0; i < number; i++)
            page(i + 1, static_cast<uint32_t>(random() % 3), static_cast<double>(random() % 8));
        const uint64_t budget = random() % 70;
        const Plan made = plan(budget, random() % 2 ? std::set<uint32_t>{kSlow}
                                                    : std::set<uint32_t>{kFast, kSlow, kOther});
        EXPECT_LE(made.fast_pages_after, budget);
        EXPECT_EQ(made.fast_pages_after + made.demote.size(),
                  made.fast_pages_before + made.promote.size());
        std::set<uint64_t> moved;
        for (uint64_t address : addresses(made.promote))
            EXPECT_TRUE(moved.insert(address).second);
        for (uint64_t address : addresses(made.demote))
            EXPECT_TRUE(moved.insert(address).second);
        if (made.fast_pages_before <= budget) {
            EXPECT_GE(made.fast_heat_after, made.fast_heat_before);
        }
    }
}

TEST(Budget, AcceptsPagesOrAPercentage)
{
    EXPECT_EQ(pages_of(*parse_budget("420"), 10), 420u);
    EXPECT_EQ(pages_of(*parse_budget("20%"), 2099), 419u);
    EXPECT_EQ(pages_of(*parse_budget("100%"), 2099), 2099u);
    EXPECT_EQ(pages_of(*parse_budget("0%"), 2099), 0u);
    EXPECT_EQ(pages_of(*parse_budget("100%"), UINT64_MAX), UINT64_MAX);
}

TEST(Budget, RejectsTextThatIsNeitherPagesNorAPercentage)
{
    for (const char *wrong : {"", "%", "101%", "-1", "20 %", "many", "1.5%", "20%%"}) {
        const Result<Budget> budget = parse_budget(wrong);
        ASSERT_FALSE(budget) << wrong;
        EXPECT_EQ(budget.error().code, Errc::kUsage);
    }
}

}  // namespace
}  // namespace pmukit::tier
