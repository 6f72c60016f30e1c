// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/memory_map.hpp"

#include <gtest/gtest.h>

#include "base/test_folder.hpp"

namespace pmukit::topology {
namespace {

const std::string kMemory = "devices/system/memory/";
const std::string kTiering = "devices/virtual/memory_tiering/";

TEST(MemoryMap, FindsTheNodeOfAnAddressAndTheTierOfANode)
{
    TestFolder tree;
    tree.put(kMemory + "block_size_bytes", "8000000\n");  // 128 MiB
    tree.folder(kMemory + "memory2/node1");
    tree.folder(kMemory + "memory3/node1");
    tree.folder(kMemory + "memory4/node2");
    tree.folder(kMemory + "memory5/node2");
    tree.folder(kMemory + "memory5/node3");  // memory of two nodes: no single node
    tree.folder(kMemory + "memory6");        // offline: no node
    tree.put(kTiering + "memory_tier4/nodelist", "0,2\n");
    tree.put(kTiering + "memory_tier22/nodelist", "1\n");
    Result<MemoryMap> map = MemoryMap::read(tree.dir());
    ASSERT_TRUE(map) << map.error().message;
    constexpr uint64_t kBlockBytes = 0x8000000;
    EXPECT_EQ(map->node_of(2 * kBlockBytes, 4096), 1U);
    EXPECT_EQ(map->node_of(4 * kBlockBytes - 4096, 4096), 1U);
    EXPECT_EQ(map->node_of(4 * kBlockBytes - 4096, 4097), std::nullopt);
    EXPECT_EQ(map->node_of(2 * kBlockBytes, 2 * kBlockBytes), 1U);
    EXPECT_EQ(map->node_of(4 * kBlockBytes, 1), 2U);
    for (uint64_t block : {0, 1, 5, 6, 7})
        EXPECT_EQ(map->node_of(block * kBlockBytes, 1), std::nullopt) << block;
    EXPECT_EQ(map->node_of(UINT64_MAX, 2), std::nullopt);
    EXPECT_EQ(map->node_of(2 * kBlockBytes, 0), std::nullopt);
    EXPECT_EQ(map->node_of(2 * kBlockBytes, UINT64_MAX), std::nullopt);
    EXPECT_EQ(map->tier_of(1), 22U);
    EXPECT_EQ(map->tier_of(2), 4U);
    EXPECT_EQ(map->tier_of(3), std::nullopt);
}

TEST(MemoryMap, EmptyTreeGivesNoNodeAndNoTier)
{
    TestFolder tree;
    Result<MemoryMap> map = MemoryMap::read(tree.dir());
    ASSERT_TRUE(map);
    EXPECT_EQ(map->node_of(0, 1), std::nullopt);
    EXPECT_EQ(map->tier_of(0), std::nullopt);
}

TEST(MemoryMap, RejectsDamagedFilesAndNamesThem)
{
    const std::pair<std::string, std::string> bad[] = {
        {kMemory + "block_size_bytes", ""},
        {kMemory + "block_size_bytes", "0"},
        {kMemory + "block_size_bytes", "3000000"},
        {kMemory + "block_size_bytes", "10000000000000000"},
        {kMemory + "block_size_bytes", "block"},
        {kTiering + "memory_tier4/nodelist", "0-99999999"},
        {kTiering + "memory_tier4/nodelist", "x"},
    };
    for (const auto &[name, text] : bad) {
        TestFolder tree;
        tree.put(name, text);
        Result<MemoryMap> map = MemoryMap::read(tree.dir());
        ASSERT_FALSE(map) << name << " " << text;
        EXPECT_EQ(map.error().message.find(tree.path(name)), 0U) << map.error().message;
    }
}

}  // namespace
}  // namespace pmukit::topology
