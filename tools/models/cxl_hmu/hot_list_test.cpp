// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/hot_list.hpp"

#include <gtest/gtest.h>

namespace pmukit::models::cxl_hmu {
namespace {

TEST(HotList, IsFullWithOneSlotFree)
{
    HotList list(64, 0);
    for (unsigned i = 0; i < 63; i++)
        EXPECT_EQ(list.put(i), HotList::Put::kStored);
    EXPECT_TRUE(list.full());
    EXPECT_EQ(list.used(), 63u);
    EXPECT_EQ(list.head(), (list.tail() + 1) % 64);
    EXPECT_EQ(list.put(63), HotList::Put::kDiscarded);
    EXPECT_EQ(list.used(), 63u);
}

TEST(HotList, StoresEntriesAcrossTheEndOfTheRing)
{
    HotList list(64, 0);
    for (unsigned i = 0; i < 60; i++)
        list.put(i);
    ASSERT_TRUE(list.set_head(60));
    EXPECT_EQ(list.used(), 0u);
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(list.put(100 + i), HotList::Put::kStored);
    EXPECT_EQ(list.tail(), 6u);
    EXPECT_EQ(list.used(), 10u);
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(list.entry((60 + i) % 64), 100 + i);
}

TEST(HotList, RefusesAnIndexOutOfRange)
{
    HotList list(64, 0);
    EXPECT_TRUE(list.set_head(63));
    EXPECT_FALSE(list.set_head(64));
    EXPECT_EQ(list.head(), 63u);
    EXPECT_TRUE(list.set_tail(63));
    EXPECT_FALSE(list.set_tail(65535));
    EXPECT_EQ(list.tail(), 63u);
}

TEST(HotList, PostponedEntriesAreInsertedInOrderIntoFreedSlots)
{
    HotList list(64, 2);
    for (unsigned i = 0; i < 63; i++)
        list.put(i);
    EXPECT_EQ(list.put(63), HotList::Put::kPostponed);
    EXPECT_EQ(list.put(64), HotList::Put::kPostponed);
    EXPECT_EQ(list.put(65), HotList::Put::kDiscarded);
    ASSERT_TRUE(list.set_head(1));
    EXPECT_EQ(list.insert_outstanding(), 1u);
    EXPECT_EQ(list.entry(63), 63u);
    ASSERT_TRUE(list.set_head(10));
    EXPECT_EQ(list.insert_outstanding(), 1u);
    EXPECT_EQ(list.entry(0), 64u);
    EXPECT_EQ(list.insert_outstanding(), 0u);
}

TEST(HotList, PostponedEntriesAreNotInsertedAfterTheyAreDropped)
{
    HotList list(64, 8);
    for (unsigned i = 0; i < 66; i++)
        list.put(i);
    EXPECT_EQ(list.drop_outstanding(), 3u);
    ASSERT_TRUE(list.set_head(63));
    EXPECT_EQ(list.insert_outstanding(), 0u);
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
