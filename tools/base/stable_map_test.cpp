// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/stable_map.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pmukit {
namespace {

TEST(StableMap, FindsInsertedEntries)
{
    StableMap<uint64_t, std::string> map;
    EXPECT_TRUE(map.empty());
    EXPECT_EQ(map.find(0), nullptr);
    for (uint64_t i = 0; i < 1000; i++)
        EXPECT_TRUE(map.try_emplace(i << 32, std::to_string(i)).second);
    const auto [entry, is_new] = map.try_emplace(uint64_t{5} << 32, "other");
    EXPECT_FALSE(is_new);
    EXPECT_EQ(entry.second, "5");
    EXPECT_EQ(map.size(), 1000U);
    for (uint64_t i = 0; i < 1000; i++)
        EXPECT_EQ(map.find(i << 32)->second, std::to_string(i));
    EXPECT_EQ(map.find(1), nullptr);
}

TEST(StableMap, EntriesKeepTheirAddress)
{
    StableMap<uint64_t, std::unique_ptr<int>> map;
    const auto *const first = &map.try_emplace(1, std::make_unique<int>(7)).first;
    for (uint64_t i = 2; i < 5000; i++)
        map[i] = std::make_unique<int>(0);
    EXPECT_EQ(map.find(1), first);
    EXPECT_EQ(*first->second, 7);
}

TEST(StableMap, EraseIfRemovesExactlyTheEntriesThatAreGone)
{
    StableMap<uint64_t, std::string> map;
    for (uint64_t i = 0; i < 1000; i++)
        map[i] = std::to_string(i);
    map.erase_if([](const auto &entry) { return entry.first % 3 == 0; });
    EXPECT_EQ(map.size(), 666U);
    for (uint64_t i = 0; i < 1000; i++) {
        const auto *const found = map.find(i);
        ASSERT_EQ(found != nullptr, i % 3 != 0);
        if (found)
            ASSERT_EQ(found->second, std::to_string(i));
    }
    EXPECT_TRUE(map.try_emplace(3, "again").second);
}

TEST(StableMap, IteratesInKeyOrder)
{
    StableMap<uint64_t, int> map;
    EXPECT_FALSE(map.sorted().begin() != map.sorted().end());
    for (const uint64_t key : {5, 1, 9, 3})
        map[key] = 1;
    std::string keys;
    for (auto &[key, value] : map.sorted()) {
        keys += std::to_string(key);
        value = 2;
    }
    EXPECT_EQ(keys, "1359");
    EXPECT_EQ(map.find(9)->second, 2);
}

TEST(StableMap, MovedTableKeepsItsEntries)
{
    StableMap<uint64_t, int> from;
    from[7] = 1;
    StableMap<uint64_t, int> to = std::move(from);
    EXPECT_EQ(to.find(7)->second, 1);
    to[8] = 2;
    EXPECT_EQ(to.size(), 2U);
}

}  // namespace
}  // namespace pmukit
