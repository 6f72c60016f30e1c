// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace pmukit {
namespace {

// Multiples of the number of buckets, which without salt all fall into the first.
template <typename Map>
size_t longest_bucket_of_multiples(uint64_t factor)
{
    constexpr uint64_t kNumbers = 20000;
    Map numbers;
    numbers.reserve(kNumbers);
    const size_t buckets = numbers.bucket_count();
    for (uint64_t i = 1; i <= kNumbers; i++)
        numbers[i * buckets * factor] = 1;
    EXPECT_EQ(numbers.bucket_count(), buckets);
    size_t longest = 0;
    for (size_t i = 0; i < buckets; i++)
        longest = std::max(longest, numbers.bucket_size(i));
    return longest;
}

TEST(SaltedHash, ChosenNumbersShareNoBucket)
{
    EXPECT_LT(longest_bucket_of_multiples<NumberMap<int>>(1), 20U);
}

// Whatever it drew: some numbers spread an arithmetic series less well than others do.
TEST(MultiplyHash, ChosenNumbersShareFewBuckets)
{
    for (int i = 0; i < 3; i++)
        for (const uint64_t factor : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 21})
            EXPECT_LT(longest_bucket_of_multiples<AddressMap<int>>(factor), 1000U) << factor;
}

TEST(MultiplyHash, EachTableHasItsOwn)
{
    std::set<size_t> seen;
    for (int i = 0; i < 100; i++)
        seen.insert(MultiplyHash()(1));
    EXPECT_EQ(seen.size(), 100U);
}

TEST(MultiplyHash, ATableThatMovesKeepsWhatItHas)
{
    AddressMap<int> from, to;
    for (int i = 0; i < 1000; i++)
        from[static_cast<uint64_t>(i)] = i;
    to[5000] = 1;
    to = std::move(from);
    const AddressMap<int> copy = to;
    for (int i = 0; i < 1000; i++)
        EXPECT_EQ(copy.at(static_cast<uint64_t>(i)), i);
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
