// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pmukit {
namespace {

TEST(Text, AppendsToExistingText)
{
    std::string text = "a";
    append(text, "{:>3}{:#x} {:.2f}", 7, 0xffu, 0.125);
    EXPECT_EQ(text, "a  70xff 0.12");
}

TEST(Text, FormatsEveryKindOfValue)
{
    EXPECT_EQ(fmt::format("{} {} {} {} {:e} {}", true, 'c', "s", std::string_view("v"), 1e300, -1),
              "true c s v 1.000000e+300 -1");
    EXPECT_EQ(fmt::format("{:L}", 1234567), "1234567") << "the C locale has no separator";
}

TEST(Text, ShortenedTextHasAtMostTheLimitAndBothEnds)
{
    EXPECT_EQ(shortened("0123456789", 10), "0123456789");
    EXPECT_EQ(shortened("0123456789a", 10), "012...789a");
    EXPECT_EQ(shortened("", 10), "");
}

TEST(Text, InvalidBytesBeforeBetweenAndAfterValidCharactersAreReplaced)
{
    EXPECT_EQ(valid_utf8(""), "");
    EXPECT_EQ(valid_utf8("plain"), "plain");
    EXPECT_EQ(valid_utf8("a\xc3\xa9z"), "a\xc3\xa9z");
    EXPECT_EQ(valid_utf8("\xff"
                         "ab\x80"
                         "c\xc3"),
              "\xef\xbf\xbd"
              "ab\xef\xbf\xbd"
              "c\xef\xbf\xbd");
}

TEST(Text, ShortenedTextIsValidUtf8)
{
    std::string text;
    for (int i = 0; i < 20; i++)
        text += "\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5";
    for (size_t most = 3; most < text.size(); most++) {
        const std::string cut = shortened(text, most);
        EXPECT_LE(cut.size(), most);
        EXPECT_GT(cut.size() + 8, most);
        EXPECT_EQ(valid_utf8(cut), cut) << most;
    }
}

TEST(Text, DecodesTheOctalNumbersOfTheKernel)
{
    const std::pair<std::string_view, std::string_view> rows[] = {
        {R"(/my\040own\134x)", R"(/my own\x)"},
        {R"(\011\012\303\251)", "\t\n\xc3\xa9"},
        {R"(\\040\08)", R"(\ \08)"},
        {R"(\04)", R"(\04)"},
        {R"(\777)", R"(\777)"},
        {"", ""},
    };
    for (const auto &[text, plain] : rows)
        EXPECT_EQ(without_octal(text), plain) << text;
}

TEST(Text, JoinWritesTheSeparatorOnlyBetweenParts)
{
    EXPECT_EQ(joined(std::vector<std::string>(), ", "), "");
    EXPECT_EQ(joined(std::vector<std::string>{"a"}, ", "), "a");
    EXPECT_EQ(joined(std::vector<std::string_view>{"", "b", ""}, ","), ",b,");
    EXPECT_EQ(joined(std::vector<int>{-1, 20}, " "), "-1 20");
}

}  // namespace
}  // namespace pmukit
