// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace pmukit {
namespace {

// Multiples of the number of buckets, which without salt all fall into the first.
TEST(SaltedHash, ChosenNumbersShareNoBucket)
{
    NumberSet numbers;
    numbers.reserve(100000);
    const size_t buckets = numbers.bucket_count();
    for (uint64_t i = 1; i <= 100000; i++)
        numbers.insert(i * buckets);
    ASSERT_EQ(numbers.bucket_count(), buckets);
    size_t longest = 0;
    for (size_t i = 0; i < buckets; i++)
        longest = std::max(longest, numbers.bucket_size(i));
    EXPECT_LT(longest, 20U);
}

TEST(SaltedHash, DifferentNumbersHashDifferently)
{
    const SaltedHash hash;
    std::set<size_t> seen;
    for (unsigned bit = 0; bit < 64; bit++)
        seen.insert(hash(uint64_t{1} << bit));
    seen.insert(hash(0));
    EXPECT_EQ(seen.size(), 65U);
}

TEST(SaltedHash, ATableThatMovesKeepsWhatItHas)
{
    NumberMap<int> from, to;
    for (int i = 0; i < 1000; i++)
        from[static_cast<uint64_t>(i)] = i;
    to[5000] = 1;
    to = std::move(from);
    NumberMap<int> copy = to;
    for (int i = 0; i < 1000; i++)
        EXPECT_EQ(copy.at(static_cast<uint64_t>(i)), i);
    EXPECT_EQ(to.size(), 1000U);
}

}  // namespace
}  // namespace pmukit
