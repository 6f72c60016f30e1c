// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/fast_memory.hpp"

#include <gtest/gtest.h>

namespace pmukit::whatif {
namespace {

// Keeps what it was asked, and answers what the test wants.
class Scripted final : public tier::Policy {
public:
    struct Asked {
        uint64_t number, free_pages;
        std::vector<tier::HotPage> hot;
        std::vector<tier::FastPage> coldest;
    };

    Scripted(std::vector<Asked> &asked, std::vector<tier::Moves> answers)
        : asked_(asked), answers_(std::move(answers))
    {
    }
    tier::Moves decide(const tier::Interval &interval) override
    {
        Asked asked{interval.number,
                    interval.free_pages,
                    std::vector<tier::HotPage>(interval.hot.begin(), interval.hot.end()),
                    {}};
        while (const std::optional<tier::FastPage> page = interval.coldest.next())
            asked.coldest.push_back(*page);
        asked_.push_back(asked);
        return asked_.size() <= answers_.size() ? answers_[asked_.size() - 1] : tier::Moves{};
    }

private:
    std::vector<Asked> &asked_;
    std::vector<tier::Moves> answers_;
};

TEST(FastMemory, AsksThePolicyWithWhatItMayKnow)
{
    std::vector<Scripted::Asked> asked;
    FastMemory memory(
        std::make_unique<Scripted>(asked, std::vector<tier::Moves>{{{2, 0, 1}, {}}, {}, {{}, {0}}}),
        {.capacity_pages = 4, .move_cost = 1});
    memory.grow(5);
    memory.report(0, 5);
    memory.report(1, 3);
    memory.report(2, 4);
    memory.report(1, 1);
    memory.end_interval();
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].free_pages, 4u);
    ASSERT_EQ(asked[0].hot.size(), 3u);
    EXPECT_EQ(asked[0].hot[0].id, 0u);
    EXPECT_EQ(asked[0].hot[1].id, 1u) << "3 + 1, as hot as page 2, which was numbered later";
    EXPECT_EQ(asked[0].hot[1].heat, 4u);
    EXPECT_EQ(asked[0].hot[2].id, 2u);
    EXPECT_TRUE(asked[0].coldest.empty());

    EXPECT_TRUE(memory.access(0));
    EXPECT_TRUE(memory.access(2));
    EXPECT_TRUE(memory.access(0));
    EXPECT_FALSE(memory.access(4));
    memory.end_interval();
    EXPECT_EQ(asked[1].free_pages, 1u);
    const auto check = [](const std::vector<tier::FastPage> &found,
                          const std::vector<std::pair<uint64_t, uint64_t>> &wanted) {
        ASSERT_EQ(found.size(), wanted.size());
        for (size_t i = 0; i < found.size(); i++) {
            EXPECT_EQ(found[i].id, wanted[i].first) << i;
            EXPECT_EQ(found[i].idle, wanted[i].second) << i;
        }
    };
    check(asked[1].coldest, {{1, 1}, {0, 0}, {2, 0}});
    memory.end_interval(3);
    check(asked[2].coldest, {{1, 2}, {0, 1}, {2, 1}});
    memory.end_interval();
    EXPECT_EQ(asked[3].number, 6u);
    check(asked[3].coldest, {{1, 5}, {2, 4}});
    EXPECT_FALSE(memory.access(0));
}

TEST(FastMemory, CountsStaysThatDidNotPay)
{
    std::vector<Scripted::Asked> asked;
    FastMemory memory(std::make_unique<Scripted>(
                          asked, std::vector<tier::Moves>{{{0, 1, 2, 3}, {}}, {{}, {0, 1}}}),
                      {.capacity_pages = 4, .move_cost = 3});
    memory.grow(4);
    memory.end_interval();
    memory.access(0, 2);
    memory.access(1, 3);
    memory.access(2, 2);
    memory.access(3, 3);
    memory.end_interval();
    EXPECT_EQ(memory.totals().useless, 2u) << "page 0: promotion and demotion";
    memory.finish();
    EXPECT_EQ(memory.totals().useless, 3u) << "page 2: promotion";
    EXPECT_EQ(memory.totals().promotions, 4u);
    EXPECT_EQ(memory.totals().demotions, 2u);
    EXPECT_EQ(memory.totals().fast, 10u);
    EXPECT_EQ(memory.totals().slow, 0u);
}

}  // namespace
}  // namespace pmukit::whatif
