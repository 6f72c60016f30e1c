// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/limits.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/budget.hpp"

namespace pmukit {
namespace {

std::string document()
{
    std::ifstream file(LIMITS_DOCUMENT);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

size_t count_of(const std::string &text, const std::string &part)
{
    size_t count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size())
        count++;
    return count;
}

TEST(Limits, MatchTheDocumentation)
{
    const std::string text = document();
    size_t rows = 1;  // the header row
#define PMUKIT_ROW(name, bytes, what, beyond)                                                      \
    EXPECT_NE(text.find(fmt::format("   * - ``{}``\n     - {} MiB\n     - {}\n     - {}\n", #name, \
                                    (bytes) >> 20, what, beyond)),                                 \
              text.npos)                                                                           \
        << #name;                                                                                  \
    rows++;
    PMUKIT_LIMITS(PMUKIT_ROW)
#undef PMUKIT_ROW
    EXPECT_EQ(count_of(text, "   * - "), rows);
}

TEST(Budget, GrantsNoMoreBytesThanItsSize)
{
    Budget budget(100);
    EXPECT_TRUE(budget.take(60));
    EXPECT_FALSE(budget.take(41));
    EXPECT_EQ(budget.left(), 40U);
    EXPECT_TRUE(budget.take(40));
    EXPECT_FALSE(budget.take(1));
    EXPECT_TRUE(budget.take(0));
}

TEST(Budget, GrowingVectorTakesItsCapacityInBytesFromTheBudget)
{
    constexpr size_t kBytes = 100000;
    Budget budget(kBytes);
    std::vector<uint64_t> numbers;
    while (has_room(numbers, budget)) {
        numbers.push_back(numbers.size());
        ASSERT_EQ(budget.left() + numbers.capacity() * sizeof(uint64_t), kBytes);
    }
    EXPECT_GT(numbers.size(), kBytes / sizeof(uint64_t) / 2);
    EXPECT_FALSE(has_room(numbers, budget));
}

}  // namespace
}  // namespace pmukit
