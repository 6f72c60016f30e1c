// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/suggest.hpp"

#include <gtest/gtest.h>

namespace pmukit {
namespace {

TEST(EditDistance, CountsInsertedDeletedChangedAndSwappedLetters)
{
    const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},       {"", "abc", 3},          {"abc", "", 3},           {"abc", "abc", 0},
        {"abc", "abd", 1}, {"abc", "ab", 1},        {"abc", "xabc", 1},       {"abc", "acb", 1},
        {"ab", "ba", 1},   {"filter", "fitler", 1}, {"kitten", "sitting", 3},
    };
    for (const auto &[a, b, distance] : cases) {
        EXPECT_EQ(edit_distance(a, b), distance) << a << " " << b;
        EXPECT_EQ(edit_distance(b, a), distance) << b << " " << a;
    }
}

TEST(DidYouMean, SuggestsTheNearestName)
{
    const std::vector<std::string> known = {"record", "report", "recover", "list"};
    EXPECT_EQ(did_you_mean("recrod", known), "; did you mean record?");
    EXPECT_EQ(did_you_mean("repo", known), "; did you mean report?");
    EXPECT_EQ(did_you_mean("lst", known), "; did you mean list?");
}

TEST(DidYouMean, SuggestsNothingWhenNoNameIsClose)
{
    const std::vector<std::string> known = {"record", "list"};
    EXPECT_EQ(did_you_mean("xyz", known), "");
    EXPECT_EQ(did_you_mean("", known), "");
    EXPECT_EQ(did_you_mean("tune", known), "");
    EXPECT_EQ(did_you_mean("record", {}), "");
}

}  // namespace
}  // namespace pmukit
