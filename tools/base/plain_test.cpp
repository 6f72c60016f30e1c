// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/plain.hpp"

#include <gtest/gtest.h>

namespace pmukit {
namespace {

TEST(Plain, NothingThatMovesACursorIsLeft)
{
    EXPECT_EQ(plain("a\033[2Jb"), "a\\x1b[2Jb");
    EXPECT_EQ(plain("\r\n\t\a\x7f"), "\\x0d\\x0a\\x09\\x07\\x7f");
    EXPECT_EQ(plain("\xc2\x9b"
                    "2J"),
              "\\xc2\\x9b2J");
    EXPECT_EQ(plain(std::string_view("\0", 1)), "\\x00");
}

TEST(Plain, OtherTextStays)
{
    EXPECT_EQ(plain(""), "");
    EXPECT_EQ(plain("imc_load ~ \xc3\xa4\xe2\x82\xac \xc2\xb5"),
              "imc_load ~ \xc3\xa4\xe2\x82\xac \xc2\xb5");
    EXPECT_EQ(plain("\xc2"), "\xc2");
}

TEST(Plain, KeepsWhatItIsToldTo)
{
    EXPECT_EQ(plain("two\nlines\033", "\n"), "two\nlines\\x1b");
}

}  // namespace
}  // namespace pmukit
