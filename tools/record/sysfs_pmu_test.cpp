// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests format files, fields and whole PMU directories of a temporary tree.
#include "record/sysfs_pmu.hpp"

#include <gtest/gtest.h>

#include "base/test_folder.hpp"

namespace pmukit::record {
namespace {

class SysfsTree : public testing::Test {
protected:
    void put_cxl_hmu()
    {
        root_.put("cxl_hmu_mem0.0.0/type", "24\n");
        root_.put("cxl_hmu_mem0.0.0/cpumask", "1\n");
        root_.put("cxl_hmu_mem0.0.0/format/epoch_type", "config:0-1\n");
        root_.put("cxl_hmu_mem0.0.0/format/hotness_threshold", "config1:0-31\n");
        root_.put("cxl_hmu_mem0.0.0/events/hot", "epoch_type=1,hotness_threshold=0x10\n");
        root_.put("cxl_hmu_mem0.0.0/events/hot.unit", "pages\n");
        root_.put("cxl_hmu_mem0.0.0/caps/counter_width", "16\n");
    }
    TestFolder root_;
};

TEST(Format, ParsesRangesSingleBitsAndSplitFields)
{
    EXPECT_EQ(parse_format("config:0-1")->width(), 2U);
    EXPECT_EQ(parse_format("config4:63")->word, 4U);
    Result<Field> split_field = parse_format("config1:0-7,21,60-63");
    ASSERT_TRUE(split_field);
    EXPECT_EQ(split_field->word, 1U);
    EXPECT_EQ(split_field->width(), 13U);
}

TEST(Format, RefusesInvalidInput)
{
    for (const char *bad :
         {"", "config", "config:", "config5:0", "config:64", "config:3-1", "config:0-63,5", "x:0"})
        EXPECT_FALSE(parse_format(bad)) << bad;
}

TEST(SetField, SplitsAValueOverItsBitRanges)
{
    ConfigWords words{0, UINT64_MAX};
    ASSERT_TRUE(set_field(*parse_format("config:0-3,8-11"), 0xab, words));
    EXPECT_EQ(words[0], 0xa0bU);
    ASSERT_TRUE(set_field(*parse_format("config1:4-7"), 0, words));
    EXPECT_EQ(words[1], ~uint64_t{0xf0});
    ASSERT_TRUE(set_field(*parse_format("config2:0-63"), UINT64_MAX, words));
    EXPECT_EQ(words[2], UINT64_MAX);
}

TEST(SetField, RefusesAValueThatDoesNotFit)
{
    ConfigWords words{};
    EXPECT_TRUE(set_field(*parse_format("config:0-1"), 3, words));
    Result<void> over = set_field(*parse_format("config:0-1"), 4, words);
    ASSERT_FALSE(over);
    EXPECT_NE(over.error().message.find("0..3"), std::string::npos);
    EXPECT_EQ(words[0], 3U);
}

TEST_F(SysfsTree, ReadsAPmu)
{
    put_cxl_hmu();
    Result<Pmu> pmu = read_pmu(root_.dir(), "cxl_hmu_mem0.0.0");
    ASSERT_TRUE(pmu) << pmu.error().message;
    EXPECT_EQ(pmu->type, 24U);
    EXPECT_EQ(pmu->cpumask, std::vector<int>{1});
    EXPECT_EQ(pmu->format.size(), 2U);
    EXPECT_EQ(pmu->events.size(), 1U) << "hot.unit is no event";
    EXPECT_EQ(pmu->caps.at("counter_width"), "16");
}

TEST_F(SysfsTree, AcceptsAPmuWithoutFormatEventsAndCaps)
{
    root_.put("software/type", "1\n");
    Result<Pmu> pmu = read_pmu(root_.dir(), "software");
    ASSERT_TRUE(pmu);
    EXPECT_FALSE(pmu->cpumask);
    EXPECT_TRUE(pmu->format.empty());
}

TEST_F(SysfsTree, ErrorSuggestsASimilarPmuOrNamesTheInvalidFile)
{
    EXPECT_EQ(read_pmu(root_.dir(), "none").error().code, Errc::kNotFound);
    root_.put("known_pmu/type", "5\n");
    EXPECT_NE(read_pmu(root_.dir(), "known_pum").error().message.find("; did you mean known_pmu?"),
              std::string::npos);
    root_.put("bad/type", "x\n");
    EXPECT_EQ(read_pmu(root_.dir(), "bad").error().code, Errc::kDamaged);
    put_cxl_hmu();
    root_.put("cxl_hmu_mem0.0.0/format/odd", "nonsense\n");
    EXPECT_NE(read_pmu(root_.dir(), "cxl_hmu_mem0.0.0").error().message.find("format/odd"),
              std::string::npos);
}

TEST_F(SysfsTree, ListsPmusSortedByName)
{
    root_.put("b/type", "2");
    root_.put("a/type", "1");
    root_.put("no_pmu/other", "1");
    auto pmus = list_pmus(root_.dir());
    ASSERT_TRUE(pmus);
    EXPECT_EQ(*pmus, (std::vector<std::pair<std::string, uint32_t>>{{"a", 1}, {"b", 2}}));
}

}  // namespace
}  // namespace pmukit::record
