// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_text.hpp"

#include <gtest/gtest.h>

namespace pmukit::vm {
namespace {

using Words = std::vector<std::string>;

TEST(Text, StripsLineEndings)
{
    EXPECT_EQ(lines_of(""), Words{});
    EXPECT_EQ(lines_of("a"), Words{"a"});
    EXPECT_EQ(lines_of("a\r\n\nb\n"), (Words{"a", "", "b"}));
}

TEST(Text, SplitsWordsAtBlanksAndTabs)
{
    EXPECT_EQ(words_of("  a\tb  c "), (Words{"a", "b", "c"}));
    EXPECT_EQ(words_of(" \t "), Words{});
}

TEST(Text, RejectsSettingsWithoutNameOrEqualsSign)
{
    auto good = parse_settings("# comment\nKVER=6.1\n\nEMPTY=\n");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->at("KVER"), "6.1");
    EXPECT_EQ(good->at("EMPTY"), "");
    EXPECT_FALSE(parse_settings("no sign"));
    EXPECT_FALSE(parse_settings("=value"));
}

TEST(Text, ExpandReplacesOnlyKnownNamesInBraces)
{
    EXPECT_EQ(expand("{a}/{b}{a}", {{"a", "1"}}), "1/{b}1");
    EXPECT_EQ(expand("open { end", {{"a", "1"}}), "open { end");
    EXPECT_EQ(expand("{a}", {{"a", "{a}"}}), "{a}");
}

TEST(Text, QuotesWordsForTheShell)
{
    EXPECT_EQ(shell_quote("a b"), "'a b'");
    EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
}

TEST(Text, MissingFileIsAnError)
{
    EXPECT_FALSE(read_file("/nonexistent/file"));
    EXPECT_FALSE(write_file("/nonexistent/file", "x"));
}

}  // namespace
}  // namespace pmukit::vm
