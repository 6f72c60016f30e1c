// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Each policy, with intervals whose right answer is in its page of Documentation/policies.
#include "tier/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tier/recent_pages.hpp"

namespace pmukit::tier {
namespace {

using Ids = std::vector<uint64_t>;

// Pages of the fast node in a given order.
class Listed final : public ColdestFirst {
public:
    explicit Listed(std::vector<FastPage> pages) : pages_(std::move(pages)) {}
    std::optional<FastPage> next() override
    {
        if (at_ == pages_.size())
            return std::nullopt;
        return pages_[at_++];
    }

private:
    std::vector<FastPage> pages_;
    size_t at_ = 0;
};

Moves decide(Policy &policy, uint64_t number, const std::vector<HotPage> &hot, uint64_t free_pages,
             std::vector<FastPage> fast = {})
{
    Listed coldest(std::move(fast));
    return policy.decide(
        {.number = number, .hot = hot, .free_pages = free_pages, .coldest = coldest});
}

std::unique_ptr<Policy> make(const char *name, uint64_t move_cost = 64)
{
    PolicySettings settings;
    settings.move_cost = move_cost;
    return policy_of_name(name)->make(settings);
}

TEST(Policies, AreFoundByName)
{
    for (const PolicyKind &kind : policies())
        EXPECT_EQ(policy_of_name(kind.name), &kind);
    EXPECT_EQ(policy_of_name(""), nullptr);
    EXPECT_EQ(policy_of_name("hottest"), nullptr);
}

TEST(HottestFirst, FillsFreePlacesHottestFirst)
{
    const Moves moves = decide(*make("hottest-first"), 1, {{7, 30}, {3, 20}, {9, 10}}, 2);
    EXPECT_EQ(moves.promote, (Ids{7, 3}));
    EXPECT_EQ(moves.demote, Ids{});
}

TEST(HottestFirst, ReplacesOnlyPagesWithoutAnAccessInTheInterval)
{
    const Moves moves = decide(*make("hottest-first"), 1, {{7, 30}, {3, 20}, {9, 10}}, 1,
                               {{100, 5}, {101, 0}, {102, 0}});
    EXPECT_EQ(moves.promote, (Ids{7, 3}));
    EXPECT_EQ(moves.demote, (Ids{100}));
}

TEST(CostBenefit, PromotesPagesWhoseExpectedAccessesPayForTheMove)
{
    // The mean heat is half of that of the first interval; 8 intervals are expected: 16 / 2 * 8 is
    // not more than 64, 17 / 2 * 8 is.
    const Moves moves = decide(*make("cost-benefit"), 1, {{1, 17}, {2, 16}}, 9);
    EXPECT_EQ(moves.promote, (Ids{1}));
}

TEST(CostBenefit, PaysForTheDemotionToo)
{
    const Moves moves =
        decide(*make("cost-benefit"), 1, {{1, 33}, {2, 32}}, 0, {{100, 1}, {101, 1}});
    EXPECT_EQ(moves.promote, (Ids{1}));
    EXPECT_EQ(moves.demote, (Ids{100}));
}

TEST(CostBenefit, WeighsEarlierIntervals)
{
    const std::unique_ptr<Policy> policy = make("cost-benefit");
    EXPECT_EQ(decide(*policy, 1, {{1, 16}, {2, 16}}, 9).promote, Ids{});
    // Page 1 has 16/4 + 12/2 = 10; page 2 missed three intervals and has 16/32 + 12/2 = 6.5.
    EXPECT_EQ(decide(*policy, 2, {{1, 12}}, 9).promote, Ids{1});
    EXPECT_EQ(decide(*policy, 5, {{2, 12}}, 9).promote, Ids{});
}

TEST(Hysteresis, PromotesAfterTwoConsecutiveIntervals)
{
    const std::unique_ptr<Policy> policy = make("hysteresis");
    EXPECT_EQ(decide(*policy, 1, {{1, 90}}, 9).promote, Ids{});
    EXPECT_EQ(decide(*policy, 2, {{2, 90}, {1, 5}}, 9).promote, Ids{1});
    EXPECT_EQ(decide(*policy, 4, {{2, 90}}, 9).promote, Ids{}) << "interval 3 is between";
    EXPECT_EQ(decide(*policy, 5, {{2, 90}}, 9).promote, Ids{2});
}

TEST(Hysteresis, DemotesPagesThatWereIdleForFourIntervals)
{
    const std::unique_ptr<Policy> policy = make("hysteresis");
    const std::vector<HotPage> hot = {{1, 9}, {2, 8}};
    decide(*policy, 1, hot, 0);
    const Moves moves = decide(*policy, 2, hot, 0, {{100, 4}, {101, 3}});
    EXPECT_EQ(moves.promote, Ids{1});
    EXPECT_EQ(moves.demote, Ids{100});
}

TEST(Hysteresis, DoublesTheBackOffWithEachDemotion)
{
    const std::unique_ptr<Policy> policy = make("hysteresis");
    const auto demote_at = [&](uint64_t number) {
        decide(*policy, number - 1, {{2, 9}}, 0);
        EXPECT_EQ(decide(*policy, number, {{2, 9}}, 0, {{1, 4}}).demote, Ids{1});
    };
    // Returns the first interval in which page 1, which is hot in each, is promoted again.
    const auto returns_at = [&](uint64_t from) {
        for (uint64_t number = from;; number++)
            if (decide(*policy, number, {{1, 9}}, 1).promote == Ids{1})
                return number;
    };
    demote_at(100);
    EXPECT_EQ(returns_at(101), 104u);
    demote_at(200);
    EXPECT_EQ(returns_at(201), 208u);
    demote_at(300);
    EXPECT_EQ(returns_at(301), 316u);
}

TEST(RecentPages, ForgetsTheHalfThatWasNotUsedForTheLongestTime)
{
    RecentPages<int> pages(4);
    for (uint64_t id = 1; id <= 4; id++)
        pages.at(id, id) = static_cast<int>(id);
    pages.at(1, 5);
    pages.at(9, 6) = 9;
    EXPECT_EQ(pages.size(), 3u);
    EXPECT_EQ(pages.at(1, 7), 1);
    EXPECT_EQ(pages.at(4, 7), 4);
    EXPECT_EQ(pages.at(9, 7), 9);
    for (uint64_t id = 0; id < 10'000; id++) {
        pages.at(1000 + id, 8);
        ASSERT_LE(pages.size(), 4u);
    }
}

// Whatever a policy decides must be possible: pages are promoted once, and only hot ones; no more
// are on the fast node than fit; only pages of the fast node are demoted.
TEST(Policies, DecideWhatIsPossible)
{
    for (const PolicyKind &kind : policies()) {
        std::mt19937 random(1);
        const std::unique_ptr<Policy> policy = make(kind.name.data());
        std::map<uint64_t, uint64_t> fast;  // page, last access
        for (uint64_t number = 1; number < 2000; number++) {
            std::vector<HotPage> hot;
            for (uint64_t id = 0; id < 64; id++)
                if (random() % 3 == 0 && !fast.contains(id))
                    hot.push_back({id, 1 + random() % 100});
                else if (random() % 8 == 0 && fast.contains(id))
                    fast[id] = number;
            std::ranges::sort(hot, std::greater<>(), &HotPage::heat);
            std::vector<FastPage> coldest;
            for (const auto &[id, used] : fast)
                coldest.push_back({id, number - used});
            std::ranges::stable_sort(coldest, std::greater<>(), &FastPage::idle);
            const Moves moves = decide(*policy, number, hot, 16 - fast.size(), coldest);
            for (const uint64_t id : moves.demote)
                ASSERT_EQ(fast.erase(id), 1u) << kind.name;
            for (const uint64_t id : moves.promote) {
                ASSERT_TRUE(std::ranges::any_of(hot, [&](auto &page) { return page.id == id; }));
                ASSERT_TRUE(fast.emplace(id, number).second) << kind.name;
            }
            ASSERT_LE(fast.size(), 16u) << kind.name;
        }
        EXPECT_FALSE(fast.empty()) << kind.name;
    }
}

}  // namespace
}  // namespace pmukit::tier
