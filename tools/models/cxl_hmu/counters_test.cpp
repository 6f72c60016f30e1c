// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace pmukit::models::cxl_hmu {
namespace {

constexpr uint32_t kNoLimit = ~uint32_t{0};

TEST(Counters, FirstAccessOfAUnitCountsOne)
{
    Counters counters({.number = 16});
    const Counters::Counter *counter = counters.count(7, kNoLimit, 3);
    ASSERT_NE(counter, nullptr);
    EXPECT_EQ(counter->unit, 7u);
    EXPECT_EQ(counter->count, 1u);
    EXPECT_EQ(counter->birth, 3u);
    EXPECT_EQ(counters.used(), 1u);
}

TEST(Counters, SaturatesAtTheLimit)
{
    Counters counters({.number = 1});
    for (int i = 0; i < 10; i++)
        counters.count(7, 4, 0);
    EXPECT_EQ(counters.count(7, 4, 0)->count, 4u);
}

TEST(Counters, NeverHoldsMoreUnitsThanCounters)
{
    for (unsigned number : {1u, 2u, 15u, 16u, 32u, 1024u}) {
        Counters counters({.number = number});
        for (uint64_t unit = 0; unit < 10'000; unit++)
            counters.count(unit, kNoLimit, 0);
        size_t seen = 0;
        counters.sweep([&](const Counters::Counter &) { return ++seen == 0; });
        EXPECT_EQ(counters.size(), number);
        EXPECT_EQ(seen, counters.used());
        EXPECT_LE(seen, number);
    }
}

TEST(Counters, ConflictingUnitTakesTheCounterAfterAsManyAccessesAsTheOldUnitHad)
{
    Counters counters({.number = 1});
    counters.count(1, kNoLimit, 0);
    counters.count(1, kNoLimit, 0);
    counters.count(1, kNoLimit, 0);
    EXPECT_EQ(counters.count(2, kNoLimit, 0), nullptr);
    EXPECT_EQ(counters.count(2, kNoLimit, 0), nullptr);
    const Counters::Counter *newcomer = counters.count(2, kNoLimit, 0);
    ASSERT_NE(newcomer, nullptr);
    EXPECT_EQ(newcomer->unit, 2u);
    EXPECT_EQ(newcomer->count, 1u);
    EXPECT_EQ(counters.used(), 1u);
}

TEST(Counters, ConflictingUnitsDoNotChangeCountOfResidentUnit)
{
    Counters counters({.number = 1});
    for (int i = 0; i < 100; i++)
        counters.count(1, kNoLimit, 0);
    for (uint64_t unit = 2; unit < 52; unit++)
        EXPECT_EQ(counters.count(unit, kNoLimit, 0), nullptr);
    EXPECT_EQ(counters.count(1, kNoLimit, 0)->count, 101u);
}

TEST(Counters, SweepFreesTheSelectedCounters)
{
    Counters counters({.number = 64});
    for (uint64_t unit = 0; unit < 8; unit++)
        counters.count(unit, kNoLimit, 0);
    counters.sweep([](const Counters::Counter &counter) { return counter.unit % 2 == 0; });
    std::set<uint64_t> left;
    counters.sweep(
        [&](const Counters::Counter &counter) { return !left.insert(counter.unit).second; });
    EXPECT_EQ(left, (std::set<uint64_t>{1, 3, 5, 7}));
    EXPECT_EQ(counters.used(), 4u);
    counters.free_all();
    EXPECT_EQ(counters.used(), 0u);
}

TEST(Counters, ReplacementNone_KeepsTheFirstUnitsInTheCounters)
{
    Counters counters({.number = 4, .ways = 4, .replacement = Replacement::kNone});
    for (uint64_t unit = 0; unit < 4; unit++)
        ASSERT_NE(counters.count(unit, kNoLimit, 0), nullptr);
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(counters.count(4, kNoLimit, 0), nullptr);
    EXPECT_EQ(counters.count(0, kNoLimit, 0)->count, 2u);
    counters.free_all();
    EXPECT_NE(counters.count(4, kNoLimit, 0), nullptr);
}

TEST(Counters, ReplacementLeast_EvictsTheUnitWithTheLeastCountAtOnce)
{
    Counters counters({.number = 2, .ways = 2, .replacement = Replacement::kLeast});
    for (int i = 0; i < 3; i++)
        counters.count(1, kNoLimit, 0);
    for (int i = 0; i < 2; i++)
        counters.count(2, kNoLimit, 0);
    ASSERT_NE(counters.count(3, kNoLimit, 0), nullptr);
    std::set<uint64_t> left;
    counters.sweep(
        [&](const Counters::Counter &counter) { return !left.insert(counter.unit).second; });
    EXPECT_EQ(left, (std::set<uint64_t>{1, 3}));
}

// Each unit maps to one counter. Of two units that map to the same counter, the second is lost,
// even if other counters are free.
TEST(Counters, DirectMappingLosesUnitsThatMapToAUsedCounter)
{
    Counters direct({.number = 64, .ways = 1, .replacement = Replacement::kNone});
    Counters full({.number = 64, .ways = 64, .replacement = Replacement::kNone});
    unsigned lost = 0;
    for (uint64_t unit = 0; unit < 64; unit++) {
        lost += direct.count(unit * 977, kNoLimit, 0) == nullptr;
        EXPECT_NE(full.count(unit * 977, kNoLimit, 0), nullptr);
    }
    EXPECT_GT(lost, 0u);
    EXPECT_EQ(direct.used(), 64 - lost);
    EXPECT_EQ(full.used(), 64u);
}

// A stream of accesses whose units have a Zipf distribution. A bijection spreads the hot units over
// the address space, like the pages of a heap. The test compares the hottest units that the
// counters report over all epochs with those by exact counts.
class ZipfStream {
public:
    ZipfStream(unsigned units, double exponent, unsigned seed) : units_(units), random_(seed)
    {
        std::vector<double> weights(units);
        for (unsigned rank = 0; rank < units; rank++)
            weights[rank] = 1.0 / std::pow(rank + 1, exponent);
        ranks_ = std::discrete_distribution<unsigned>(weights.begin(), weights.end());
    }
    uint64_t next() { return (ranks_(random_) * uint64_t{2654435761u} + 17) % units_; }

private:
    unsigned units_;
    std::mt19937 random_;
    std::discrete_distribution<unsigned> ranks_;
};

using Tally = std::map<uint64_t, uint64_t>;

std::set<uint64_t> hottest(const Tally &tally, size_t number)
{
    std::vector<std::pair<uint64_t, uint64_t>> order;
    for (const auto &[unit, count] : tally)
        order.emplace_back(count, unit);
    std::sort(order.rbegin(), order.rend());
    std::set<uint64_t> units;
    for (size_t i = 0; i < std::min(number, order.size()); i++)
        units.insert(order[i].second);
    return units;
}

struct ZipfCase {
    double exponent;
    unsigned accesses_per_epoch;
    unsigned threshold;
    unsigned seed;
};

class CountersOnZipf : public testing::TestWithParam<ZipfCase> {};

TEST_P(CountersOnZipf, FindAtLeast31OfTheHottest32Of4096Units)
{
    const ZipfCase &wanted = GetParam();
    ZipfStream stream(4096, wanted.exponent, wanted.seed);
    Counters counters({.number = 1024});
    Tally exact, reported;
    for (unsigned i = 1; i <= 60'000; i++) {
        const uint64_t unit = stream.next();
        exact[unit]++;
        counters.count(unit, 0xffff, 0);
        if (i % wanted.accesses_per_epoch != 0)
            continue;
        counters.sweep([&](const Counters::Counter &counter) {
            if (counter.count >= wanted.threshold)
                reported[counter.unit] += counter.count;
            return true;
        });
    }

    const std::set<uint64_t> truth = hottest(exact, 32);
    size_t found = 0;
    for (uint64_t unit : hottest(reported, 32))
        found += truth.count(unit);
    EXPECT_GE(found, 31u);
    for (uint64_t unit : truth)
        EXPECT_LE(reported[unit], exact[unit]) << "counted more than there was";
}

INSTANTIATE_TEST_SUITE_P(Streams, CountersOnZipf,
                         testing::Values(ZipfCase{1.0, 2'000, 1, 1}, ZipfCase{1.0, 5'000, 1, 2},
                                         ZipfCase{1.0, 10'000, 2, 3}, ZipfCase{1.2, 5'000, 2, 4},
                                         ZipfCase{1.2, 20'000, 2, 5}, ZipfCase{0.9, 5'000, 1, 6}));

}  // namespace
}  // namespace pmukit::models::cxl_hmu
