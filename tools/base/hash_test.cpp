// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text_hash.hpp"

namespace pmukit {
namespace {

// Inserts multiples of the number of buckets, and returns the size of the largest bucket. Without a
// salt, all of them would be in the first bucket.
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

TEST(SaltedHash, MultiplesOfTheBucketCountAreSpreadOverTheBuckets)
{
    using Map = std::unordered_map<uint64_t, int, SaltedHash>;
    EXPECT_LT(longest_bucket_of_multiples<Map>(1), 20U);
}

// The limit of 1000 holds for any multiplier, although some multipliers spread an arithmetic series
// worse than others.
TEST(MultiplyHash, MultiplesOfTheBucketCountDoNotFillOneBucket)
{
    for (int i = 0; i < 3; i++)
        for (const uint64_t factor : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 21})
            EXPECT_LT(longest_bucket_of_multiples<AddressMap<int>>(factor), 1000U) << factor;
}

TEST(MultiplyHash, EachTableHasItsOwnMultiplier)
{
    std::set<size_t> seen;
    for (int i = 0; i < 100; i++)
        seen.insert(MultiplyHash()(1));
    EXPECT_EQ(seen.size(), 100U);
}

TEST(MultiplyHash, MovedTableKeepsItsEntries)
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

TEST(FlatMap, FindsInsertedEntries)
{
    FlatMap<uint64_t> map;
    EXPECT_EQ(map.find(0), nullptr);
    for (uint64_t i = 0; i < 1000; i++)
        EXPECT_TRUE(map.insert(i << 32, i));
    EXPECT_FALSE(map.insert(uint64_t{5} << 32, 6));
    EXPECT_EQ(map.size(), 1000U);
    for (uint64_t i = 0; i < 1000; i++)
        EXPECT_EQ(*map.find(i << 32), i);
    EXPECT_EQ(map.find(1), nullptr);
    map.put(0, 8);
    EXPECT_EQ(*map.find(0), 8U);
    EXPECT_EQ(map.size(), 1000U);
}

TEST(FlatMap, PopBackRemovesTheLastInserted)
{
    FlatMap<uint64_t> map;
    for (uint64_t i = 0; i < 100; i++)
        map.insert(i, i);
    for (size_t i = 0; i < 90; i++)
        map.pop_back();
    for (uint64_t i = 0; i < 100; i++)
        EXPECT_EQ(map.find(i) != nullptr, i < 10) << i;
    EXPECT_TRUE(map.insert(99, 1));
    EXPECT_EQ(*map.find(99), 1U);
}

TEST(FlatMap, MovedTableKeepsItsEntries)
{
    FlatMap<int> from;
    from.insert(7, 1);
    const FlatMap<int> to = std::move(from);
    EXPECT_EQ(*to.find(7), 1);
}

TEST(SaltedTextHash, DifferentTextsHashDifferently)
{
    const SaltedTextHash hash;
    std::set<size_t> seen;
    for (const char *text : {"", "a", "b", "12345678", "123456789", "12345678abcdefgh",
                             "abcdefgh12345678", "12345678abcdefgi"})
        seen.insert(hash(text));
    seen.insert(hash(std::string_view("a\0", 2)));
    EXPECT_EQ(seen.size(), 9U);
    EXPECT_EQ(hash(std::string(100, 'x')), hash(std::string(100, 'x')));
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

}  // namespace
}  // namespace pmukit
