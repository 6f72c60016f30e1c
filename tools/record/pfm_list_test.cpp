// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests lists of names in the syntax of perf's option --pfm-events.
#include <gtest/gtest.h>

#include "record/pfm_events.hpp"

namespace pmukit::record {
namespace {

// Returns the parsed names as text, such as "a b(0)": the number after a group member is the index
// of its leader.
std::string names_of(std::string_view list)
{
    const auto names = parse_pfm_list(list);
    if (!names)
        return names.error().message;
    std::string all;
    for (const PfmName &name : *names) {
        all += (all.empty() ? "" : " ") + name.text;
        if (name.leader)
            all += "(" + std::to_string(*name.leader) + ")";
    }
    return all;
}

TEST(PfmList, ParsesNamesAndGroups)
{
    EXPECT_EQ(names_of("a"), "a");
    EXPECT_EQ(names_of("skx::A:B:u=1:period=100,c"), "skx::A:B:u=1:period=100 c");
    EXPECT_EQ(names_of(" a , b\n"), "a b");
    EXPECT_EQ(names_of("{a,b,c}"), "a b(0) c(0)");
    EXPECT_EQ(names_of("x,{a,b},{c},y"), "x a b(1) c y");
}

TEST(PfmList, EachNameHasItsOffsetInTheList)
{
    const auto names = parse_pfm_list("x, {a ,b}");
    ASSERT_TRUE(names);
    EXPECT_EQ((*names)[1].at, 4U);
    EXPECT_EQ((*names)[2].at, 7U);
}

TEST(PfmList, ErrorsNameTheFaultAndItsOffset)
{
    const struct {
        const char *list;
        size_t at;
        const char *why;
    } wrong[] = {
        {"", 0, "a name is missing"},          {",a", 0, "a name is missing before"},
        {"a,", 1, "a name is missing"},        {"a,,b", 2, "a name is missing before"},
        {"{a", 0, "the '}' that closes"},      {"a}", 1, "there is no '{'"},
        {"{}", 1, "a name is missing before"}, {"{a,{b}}", 3, "a group can begin only"},
        {"a{b}", 1, "a group can begin only"}, {"{a}b", 3, "a comma is missing"},
        {"{a,}", 3, "a name is missing"},      {"{a},", 3, "a name is missing"},
    };
    for (const auto &expected : wrong) {
        const auto names = parse_pfm_list(expected.list);
        ASSERT_FALSE(names) << expected.list;
        EXPECT_EQ(names.error().code, Errc::kUsage);
        EXPECT_EQ(names.error().offset, expected.at) << expected.list;
        EXPECT_NE(names.error().message.find(expected.why), std::string::npos)
            << expected.list << ": " << names.error().message;
    }
}

}  // namespace
}  // namespace pmukit::record
