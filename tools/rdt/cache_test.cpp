// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace pmukit::rdt {
namespace {

constexpr uint64_t kAllWays = ~0ULL;

Shape shape_of(uint64_t bytes, uint32_t ways)
{
    Shape shape;
    shape.l3_bytes = bytes;
    shape.ways = ways;
    return shape;
}

std::unique_ptr<Cache> make(const Shape &shape)
{
    EXPECT_EQ(fault_of(shape), nullptr) << fault_of(shape);
    auto cache = std::make_unique<Cache>();
    EXPECT_TRUE(cache->make(shape));
    return cache;
}

void walk(Cache &cache, uint64_t first, uint64_t lines, uint32_t rmid, uint64_t ways = kAllWays)
{
    for (uint64_t i = 0; i < lines; i++)
        cache.access({first + i, rmid, ways, false});
}

TEST(Cache, WorkingSetThatFitsIsFetchedOnce)
{
    auto cache = make(shape_of(1 << 20, 16));
    for (int pass = 0; pass < 3; pass++)
        walk(*cache, 5 << 20, 8192, 3);
    EXPECT_EQ(cache->of(3).lines, 8192u);
    EXPECT_EQ(cache->of(3).local, 8192u);
    EXPECT_EQ(cache->of(3).remote, 0u);
}

TEST(Cache, OversizedWorkingSetIsFetchedInEachPass)
{
    auto cache = make(shape_of(1 << 20, 16));
    for (int pass = 0; pass < 5; pass++)
        walk(*cache, 0, 4 * 16384, 3);
    EXPECT_EQ(cache->of(3).lines, 16384u);
    EXPECT_EQ(cache->of(3).local, 5u * 4 * 16384);
}

TEST(Cache, LineKeepsRmidOfItsFill)
{
    auto cache = make(shape_of(1 << 16, 4));
    walk(*cache, 0, 10, 1);
    walk(*cache, 0, 10, 2);
    EXPECT_EQ(cache->of(1).lines, 10u);
    EXPECT_EQ(cache->of(2).lines, 0u);
    EXPECT_EQ(cache->of(2).local, 0u);
}

TEST(Cache, MaskLimitsFillsNotHits)
{
    auto cache = make(shape_of(1 << 20, 16));
    // Two of sixteen ways
    for (int pass = 0; pass < 3; pass++)
        walk(*cache, 0, 16384, 1, 0x3);
    EXPECT_EQ(cache->of(1).lines, 16384u * 2 / 16);
    // An access also hits in ways outside its mask.
    walk(*cache, 1 << 20, 4096, 2, 0xfff0);
    const Tally before = cache->of(2);
    walk(*cache, 1 << 20, 4096, 3, 0x3);
    EXPECT_EQ(cache->of(3).local, 0u);
    EXPECT_EQ(cache->of(2).lines, before.lines);
}

TEST(Cache, ClassesWithoutCommonWaysDoNotEvictEachOther)
{
    auto cache = make(shape_of(1 << 20, 16));
    walk(*cache, 0, 3072, 1, 0xf000);
    walk(*cache, 1 << 20, 10 * 16384, 2, 0x0fff);
    EXPECT_EQ(cache->of(1).lines, 3072u);
    EXPECT_EQ(cache->of(2).lines, 16384u * 12 / 16);
}

TEST(Cache, EmptyMaskCountsTrafficWithoutFilling)
{
    auto cache = make(shape_of(1 << 16, 4));
    walk(*cache, 0, 100, 1, 0);
    EXPECT_EQ(cache->of(1).lines, 0u);
    EXPECT_EQ(cache->of(1).local, 100u);
}

TEST(Cache, RemoteTrafficIsCountedSeparately)
{
    auto cache = make(shape_of(1 << 16, 4));
    cache->access({1, 1, kAllWays, true});
    cache->access({1, 1, kAllWays, true});
    cache->access({2, 1, kAllWays, false});
    EXPECT_EQ(cache->of(1).remote, 1u);
    EXPECT_EQ(cache->of(1).local, 1u);
    EXPECT_EQ(cache->of(1).lines, 2u);
}

TEST(Cache, HashSpreadsNeighboringAndStridedLinesOverTheSets)
{
    constexpr uint32_t kSets = 16384;
    for (const uint64_t stride : {1ULL, 16384ULL, 65536ULL}) {
        std::set<uint32_t> used;
        for (uint64_t i = 0; i < 512; i++)
            used.insert(Cache::set_of(i * stride, kSets));
        EXPECT_GE(used.size(), 128u) << stride;
    }
}

// The reference: each set is a list of lines, the most recently used first.
class NaiveCache {
public:
    NaiveCache(uint32_t sets, uint32_t ways) : sets_(sets), ways_(ways) {}

    void access(const Access &access)
    {
        std::list<Held> &set = held_[Cache::set_of(access.line, sets_)];
        const auto there =
            std::ranges::find_if(set, [&](const Held &h) { return h.line == access.line; });
        if (there != set.end()) {
            set.splice(set.begin(), set, there);
            return;
        }
        (access.remote ? remote : local)[access.rmid]++;
        if (const auto way = way_for(set, access.ways))
            set.push_front({access.line, access.rmid, *way});
    }

    uint64_t lines(uint32_t rmid) const
    {
        uint64_t count = 0;
        for (const auto &[number, set] : held_)
            count += std::ranges::count_if(set, [&](const Held &h) { return h.rmid == rmid; });
        return count;
    }

    std::map<uint32_t, uint64_t> local, remote;

private:
    struct Held {
        uint64_t line;
        uint32_t rmid, way;
    };

    std::optional<uint32_t> way_for(std::list<Held> &set, uint64_t mask) const
    {
        std::set<uint32_t> free;
        for (uint32_t way = 0; way < ways_; way++)
            if (mask & (1ULL << way))
                free.insert(way);
        for (const Held &held : set)
            free.erase(held.way);
        if (!free.empty())
            return *free.begin();
        for (auto last = set.end(); last != set.begin();) {
            --last;
            const uint32_t way = last->way;
            if (mask & (1ULL << way)) {
                set.erase(last);
                return way;
            }
        }
        return std::nullopt;
    }

    uint32_t sets_, ways_;
    std::map<uint32_t, std::list<Held>> held_;
};

TEST(Cache, MatchesReferenceInRandomUse)
{
    const Shape shape = shape_of(16384, 8);
    for (unsigned seed = 1; seed <= 8; seed++) {
        std::mt19937_64 random(seed);
        auto cache = make(shape);
        NaiveCache naive(sets_of(shape), shape.ways);
        for (int step = 1; step <= 20000; step++) {
            const Access access{random() % 1024, static_cast<uint32_t>(random() % 5),
                                random() % 256, random() % 4 == 0};
            cache->access(access);
            naive.access(access);
            if (step % 500 != 0)
                continue;
            for (uint32_t rmid = 0; rmid < 5; rmid++) {
                ASSERT_EQ(cache->of(rmid).lines, naive.lines(rmid)) << seed << " " << step;
                ASSERT_EQ(cache->of(rmid).local, naive.local[rmid]) << seed << " " << step;
                ASSERT_EQ(cache->of(rmid).remote, naive.remote[rmid]) << seed << " " << step;
            }
        }
    }
}

TEST(InnerCache, HitsOnlyTheLineOfASlotThatWasAccessedLast)
{
    Shape shape;
    shape.l2_bytes = 4 * kLineBytes;
    InnerCache inner;
    ASSERT_TRUE(inner.make(shape));
    EXPECT_FALSE(inner.access(0));
    EXPECT_TRUE(inner.access(0));
    EXPECT_FALSE(inner.access(3));
    EXPECT_TRUE(inner.access(0));
    EXPECT_FALSE(inner.access(4));
    EXPECT_FALSE(inner.access(0));
}

TEST(InnerCache, SizeZeroNeverHits)
{
    Shape shape;
    shape.l2_bytes = 0;
    InnerCache inner;
    ASSERT_TRUE(inner.make(shape));
    EXPECT_FALSE(inner.access(7));
    EXPECT_FALSE(inner.access(7));
}

}  // namespace
}  // namespace pmukit::rdt
