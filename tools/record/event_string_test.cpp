// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Event strings as people write them, and what they become.
#include "record/event_string.hpp"

#include <gtest/gtest.h>

namespace pmukit::record {
namespace {

Pmu cxl_hmu()
{
    Pmu pmu{"cxl_hmu_mem0.0.0", 24, {}, {}, {}, {}};
    pmu.format["epoch_type"] = *parse_format("config:0-1");
    pmu.format["downsampling_factor"] = *parse_format("config:27-42");
    pmu.format["hotness_threshold"] = *parse_format("config1:0-31");
    pmu.events["hot"] = "epoch_type=1,hotness_threshold=0x10";
    return pmu;
}

Result<ConfigWords> encode(const std::string &text)
{
    Result<std::vector<EventString>> events = parse_event_strings(text);
    if (!events)
        return events.error();
    return encode_terms(events->front(), cxl_hmu());
}

TEST(EventString, PutsTermsIntoTheirFields)
{
    Result<ConfigWords> words =
        encode("p/epoch_type=1,downsampling_factor=32,hotness_threshold=1024/");
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ((*words)[0], 1U | uint64_t{32} << 27);
    EXPECT_EQ((*words)[1], 1024U);
}

TEST(EventString, ATermWithoutValueIsOneUnlessItIsAnAlias)
{
    EXPECT_EQ((*encode("p/epoch_type/"))[0], 1U);
    Result<ConfigWords> alias = encode("p/hot,epoch_type=2/");
    ASSERT_TRUE(alias);
    EXPECT_EQ((*alias)[0], 2U) << "a later term overrides";
    EXPECT_EQ((*alias)[1], 0x10U);
}

TEST(EventString, UnderstandsPlainConfigWords)
{
    Result<ConfigWords> words = encode("p/config=5,config4=0xffffffffffffffff/");
    ASSERT_TRUE(words);
    EXPECT_EQ((*words)[0], 5U);
    EXPECT_EQ((*words)[4], UINT64_MAX);
}

TEST(EventString, NoTermsIsAnEventToo)
{
    EXPECT_EQ(*encode("p//"), ConfigWords{});
}

TEST(EventString, TakesSeveralEvents)
{
    auto events = parse_event_strings("a/x=1,y/,b//");
    ASSERT_TRUE(events);
    ASSERT_EQ(events->size(), 2U);
    EXPECT_EQ((*events)[0].text, "a/x=1,y/");
    EXPECT_EQ((*events)[1].pmu, "b");
}

TEST(EventString, SaysWhatIsWrongWithIt)
{
    const std::pair<const char *, const char *> cases[] = {
        {"", "empty"},
        {"cycles", "expected pmu/"},
        {"/x/", "expected pmu/"},
        {"p/epoch_type=1", "closing '/'"},
        {"p/x/u", "modifiers"},
        {"p/x/,", "modifiers"},
        {"../x/", "not the name"},
        {"p/nope=1/",
         "no term 'nope'; it has: downsampling_factor, epoch_type, hotness_threshold, hot"},
        {"p/epoch_tpye=1/", "; did you mean epoch_type?"},
        {"p/hotness/", "; did you mean hotness_threshold?"},
        {"p/epoch_type=4/", "0..3"},
        {"p/epoch_type=one/", "'one' is not a number"},
        {"p/epoch_type=/", "'' is not a number"},
        {"p/,/", "no term ''"},
    };
    for (const auto &[text, why] : cases) {
        Result<ConfigWords> words = encode(text);
        ASSERT_FALSE(words) << text;
        EXPECT_EQ(words.error().code, Errc::kUsage) << text;
        EXPECT_NE(words.error().message.find(why), std::string::npos)
            << text << ": " << words.error().message;
    }
}

}  // namespace
}  // namespace pmukit::record
