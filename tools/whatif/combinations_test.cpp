// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/combinations.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pmukit::whatif {
namespace {

class Setups : public testing::Test {
protected:
    Result<std::vector<Combination>> make(const std::map<std::string, std::string> &values,
                                          Input input = kLog)
    {
        std::vector<std::string> texts;
        for (const Dimension &dimension : dimensions()) {
            const auto value = values.find(dimension.name);
            texts.push_back(value == values.end() ? "" : value->second);
        }
        return combinations_of(texts, input, false);
    }
    std::string refusal(const std::string &name, const std::string &value, Input input = kLog)
    {
        const Result<std::vector<Combination>> made = make({{name, value}}, input);
        if (made)
            return "";
        EXPECT_EQ(made.error().code, Errc::kUsage);
        return made.error().message;
    }
};

TEST_F(Setups, AreOneWithTheUsualValues)
{
    const Result<std::vector<Combination>> made = make({});
    ASSERT_TRUE(made);
    ASSERT_EQ(made->size(), 1u);
    const Combination &combination = made->front();
    EXPECT_EQ(combination.chmu.tracker.unit_log2, 12u);
    EXPECT_EQ(combination.chmu.counters.number, 1024u);
    EXPECT_EQ(combination.chmu.tracker.counter_width, 16u);
    EXPECT_EQ(combination.chmu.tracker.threshold, 16u);
    EXPECT_EQ(combination.policy, tier::policy_of_name("hottest-first"));
    EXPECT_EQ(combination.words.size(), dimensions().size());
}

TEST_F(Setups, AreAllCombinationsInOrder)
{
    const Result<std::vector<Combination>> made =
        make({{"threshold", "16,64"}, {"counters", "16,32,48"}});
    ASSERT_TRUE(made);
    ASSERT_EQ(made->size(), 6u);
    EXPECT_EQ((*made)[0].chmu.counters.number, 16u);
    EXPECT_EQ((*made)[0].chmu.tracker.threshold, 16u);
    EXPECT_EQ((*made)[1].chmu.counters.number, 16u);
    EXPECT_EQ((*made)[1].chmu.tracker.threshold, 64u);
    EXPECT_EQ((*made)[5].chmu.counters.number, 48u);
    EXPECT_EQ((*made)[5].chmu.tracker.threshold, 64u);
}

TEST_F(Setups, AcceptSizesWithAPrefix)
{
    const Result<std::vector<Combination>> made = make({{"unit-bytes", "256,4K,2M,1G,2147483648"}});
    ASSERT_TRUE(made);
    const uint64_t wanted[] = {8, 12, 21, 30, 31};
    for (size_t i = 0; i < std::size(wanted); i++)
        EXPECT_EQ((*made)[i].chmu.tracker.unit_log2, wanted[i]);
    // One bit more for each doubling of the unit size, from 16 bits at 4 KiB.
    EXPECT_EQ((*made)[0].chmu.tracker.counter_width, 12u);
    EXPECT_EQ((*made)[2].chmu.tracker.counter_width, 25u);
}

TEST_F(Setups, RefuseWrongValuesInOneLine)
{
    EXPECT_EQ(refusal("unit-bytes", "5000"), "--unit-bytes 5000: not a power of two");
    EXPECT_EQ(refusal("unit-bytes", "4096,128"),
              "--unit-bytes 128: must be a number from 256 to 2147483648");
    EXPECT_EQ(refusal("unit-bytes", "4G"),
              "--unit-bytes 4G: must be a number from 256 to 2147483648");
    EXPECT_EQ(refusal("unit-bytes", "17592186044416G"),
              "--unit-bytes 17592186044416G: must be a number from 256 to 2147483648");
    EXPECT_EQ(refusal("downsampling", "3"), "--downsampling 3: not a power of two");
    EXPECT_EQ(refusal("threshold", "0"), "--threshold 0: must be a number from 1 to 4294967295");
    EXPECT_EQ(refusal("threshold", "16,"), "--threshold : must be a number from 1 to 4294967295");
    EXPECT_EQ(refusal("threshold", "65536"),
              "--threshold 65536: does not fit a counter of 16 bits; see --counter-width and "
              "--unit-bytes");
    EXPECT_EQ(refusal("threshold", "4,16,4"), "--threshold 4,16,4: has a value twice");
    EXPECT_EQ(refusal("counters", "100"), "--counters 100: not a multiple of --ways 16");
    EXPECT_EQ(refusal("counters", "10"), "");
    EXPECT_EQ(refusal("epoch", "x\n"), "--epoch x\\x0a: must be a number from 1 to 4294967295");
    EXPECT_EQ(refusal("mode", "bitmap"), "--mode bitmap: must be one of epoch, always-on");
    EXPECT_EQ(refusal("replacement", "lru"),
              "--replacement lru: must be one of credit, none, least");
    EXPECT_EQ(refusal("policy", "best"),
              "--policy best: must be one of hottest-first, cost-benefit, hysteresis");
    EXPECT_EQ(refusal("fast", "0"),
              "--fast 0: must be a number of pages, or a percentage such as 20%");
    EXPECT_EQ(refusal("fast", "101%"),
              "--fast 101%: must be a number of pages, or a percentage such as 20%");
}

TEST_F(Setups, RefuseWhatTheInputCannotVary)
{
    EXPECT_EQ(refusal("counters", "16", kRecording),
              "--counters: a recording has the values of the unit that made it; replay an access "
              "log");
    EXPECT_EQ(refusal("interval-ms", "10"),
              "--interval-ms: only for recordings; a log has no times");
    EXPECT_EQ(refusal("interval-ms", "10", kRecording), "");
}

TEST_F(Setups, RefuseTooManyCombinations)
{
    std::string values = "1";
    for (int i = 2; i <= 17; i++)
        values += "," + std::to_string(i);
    EXPECT_TRUE(make({{"threshold", values.substr(0, values.rfind(','))},
                      {"epoch", values.substr(0, values.rfind(','))}}));
    const Result<std::vector<Combination>> made = make({{"threshold", values}, {"epoch", values}});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "more than 256 combinations of values: give fewer values");
}

}  // namespace
}  // namespace pmukit::whatif
