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
    EXPECT_EQ(escape("\xc2"), "\xc2");
}

TEST(Escape, DoesNotEscapeCharactersTheCallerAllows)
{
    EXPECT_EQ(escape("two\nlines\033", "\n"), "two\nlines\\x1b");
}

}  // namespace
}  // namespace pmukit
