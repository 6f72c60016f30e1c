// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/escape.hpp"

#include <gtest/gtest.h>

namespace pmukit {
namespace {

TEST(Escape, EscapesControlCharacters)
{
    EXPECT_EQ(escape("a\033[2Jb"), "a\\x1b[2Jb");
    EXPECT_EQ(escape("\r\n\t\a\x7f"), "\\x0d\\x0a\\x09\\x07\\x7f");
    EXPECT_EQ(escape("\xc2\x9b"
                     "2J"),
              "\\xc2\\x9b2J");
    EXPECT_EQ(escape(std::string_view("\0", 1)), "\\x00");
}

TEST(Escape, LeavesPrintableTextUnchanged)
{
    EXPECT_EQ(escape(""), "");
    EXPECT_EQ(escape("imc_load ~ \xc3\xa4\xe2\x82\xac \xc2\xb5"),
              "imc_load ~ \xc3\xa4\xe2\x82\xac \xc2\xb5");
    EXPECT_EQ(escape("\xd8\x9b \xe2\x80\x8d \xf0\x9f\x94\xa5"),
              "\xd8\x9b \xe2\x80\x8d \xf0\x9f\x94\xa5")
        << "other characters next to unsafe ones";
}

TEST(Escape, EscapesBytesThatAreNotUtf8)
{
    EXPECT_EQ(escape("\x9b"
                     "2J\xc2"),
              "\\x9b2J\\xc2");
}

// Every character that Unicode 15 gives the property Bidi_Control, and the line and paragraph
// separators.
constexpr std::string_view kDirectional[] = {
    "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9",
    "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
    "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9"};

TEST(Escape, EscapesDirectionalCharacters)
{
    for (const std::string_view character : kDirectional) {
        EXPECT_EQ(escape(character).size(), 4 * character.size()) << character;
        EXPECT_EQ(replace_unsafe(character, '.'), ".");
    }
    EXPECT_EQ(escape("a\xe2\x80\xae"
                     "b"),
              "a\\xe2\\x80\\xaeb");
}

TEST(Escape, ReplacesUnsafeCharactersInFormatsWithoutEscapes)
{
    EXPECT_EQ(replace_unsafe("a\nb\x7f\xc2\x9b\x9b \xc3\xa4", ':'), "a:b::\xef\xbf\xbd \xc3\xa4");
}

TEST(Escape, EscapesUnsafeCharactersInJson)
{
    EXPECT_EQ(escape_json("\"a\x7f\xc2\x9b\xe2\x80\xae\xc3\xa4\\u001b\""),
              "\"a\\u007f\\u009b\\u202e\xc3\xa4\\u001b\"");
}

TEST(Escape, DoesNotEscapeCharactersTheCallerAllows)
{
    EXPECT_EQ(escape("two\nlines\033", "\n"), "two\nlines\\x1b");
}

}  // namespace
}  // namespace pmukit
