// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A Result holds a value or an error and never both.
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace pmukit {
namespace {

TEST(Result, HoldsAValue)
{
    Result<int> result = 3;
    ASSERT_TRUE(result);
    EXPECT_EQ(*result, 3);
}

TEST(Result, HoldsAnErrorWithItsOffset)
{
    Result<int> result = Error{Errc::kDamaged, "bad", 12};
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kDamaged);
    EXPECT_EQ(result.error().offset, 12U);
}

TEST(Result, MovesOutAMoveOnlyValue)
{
    Result<std::unique_ptr<int>> result = std::make_unique<int>(4);
    std::unique_ptr<int> taken = std::move(result).value();
    EXPECT_EQ(*taken, 4);
}

TEST(Result, VoidIsSuccessOrAnError)
{
    Result<void> good;
    Result<void> bad = Error{Errc::kIo, "no"};
    EXPECT_TRUE(good);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().message, "no");
}

}  // namespace
}  // namespace pmukit
