// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "html/escape.hpp"

#include <gtest/gtest.h>

namespace pmukit::html {
namespace {

const std::string kNone = "\xef\xbf\xbd";

TEST(Escaped, EscapesTagsAndQuotes)
{
    EXPECT_EQ(escaped(R"(</title><script>a("b" & 'c')</script>)"),
              "&lt;/title&gt;&lt;script&gt;a(&quot;b&quot; &amp; &#39;c&#39;)&lt;/script&gt;");
}

TEST(Escaped, KeepsValidUtf8)
{
    const std::string text = "a\tb\nc \xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\xa5";
    EXPECT_EQ(escaped(text), text);
}

TEST(Escaped, ReplacesInvalidUtf8)
{
    EXPECT_EQ(escaped("a\xff"), "a" + kNone);
    EXPECT_EQ(escaped("\xc0\xaf"), kNone + kNone) << "two bytes for what needs one";
    EXPECT_EQ(escaped("\xe2\x28\xa1"), kNone + "(" + kNone);
    EXPECT_EQ(escaped("\xed\xa0\x80"), kNone + kNone + kNone) << "half of a pair of UTF-16";
    EXPECT_EQ(escaped("\xf4\x90\x80\x80"), kNone + kNone + kNone + kNone) << "beyond Unicode";
}

TEST(Escaped, ReplacesCharactersThatXmlExcludes)
{
    using namespace std::string_view_literals;
    EXPECT_EQ(escaped("\0\x01\x1b[31m"sv), kNone + kNone + kNone + "[31m");
    EXPECT_EQ(escaped("\xef\xbf\xbe"), kNone + kNone + kNone);
}

TEST(Escaped, ReplacesCharactersThatChangeTheOrderOfOthers)
{
    EXPECT_EQ(escaped("a\xe2\x80\xae z"), "a" + kNone + kNone + kNone + " z");
    EXPECT_EQ(escaped("\xc2\x9b"), kNone + kNone);
}

TEST(Escaped, ReplacesTruncatedCharacters)
{
    const std::string_view fire = "\xf0\x9f\x94\xa5";
    for (size_t bytes = 1; bytes < fire.size(); bytes++) {
        std::string expected;
        for (size_t i = 0; i < bytes; i++)
            expected += kNone;
        EXPECT_EQ(escaped(fire.substr(0, bytes)), expected) << bytes;
    }
    EXPECT_EQ(escaped(""), "");
}

}  // namespace
}  // namespace pmukit::html
