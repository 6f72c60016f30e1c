// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the limited table with an unlimited one.
#include "decode/cxl_hmu/cxl_hmu_units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>

namespace pmukit::decode::cxl_hmu {
namespace {

constexpr uint64_t kUnitBytes = 4096;

// Adds the same heat to the table and to an unlimited map.
class Both {
public:
    explicit Both(size_t most) : table(most) {}
    void add(uint64_t unit, uint64_t accesses)
    {
        for (HotUnit *to : {&table.at(unit * kUnitBytes), &truth[unit * kUnitBytes]}) {
            to->accesses += accesses;
            to->epochs++;
        }
    }
    UnitTable table;
    std::map<uint64_t, HotUnit> truth;
};

TEST(UnitTable, IsExactUntilItIsFull)
{
    Both both(UnitTable::kMostUnits);
    for (uint64_t i = 0; i < UnitTable::kMostUnits; i++)
        both.table.at(i * kUnitBytes).accesses = i;
    EXPECT_EQ(both.table.all().size(), UnitTable::kMostUnits);
    EXPECT_EQ(both.table.left_out().units, 0U);
    for (uint64_t i = 0; i < UnitTable::kMostUnits; i++)
        ASSERT_EQ(both.table.at(i * kUnitBytes).accesses, i);
}

// A certain multiplier hashes all these units to neighboring slots. If the table always used that
// multiplier, the time would be quadratic.
TEST(UnitTable, AddingUnitsTakesLinearTimeEvenIfTheirHashesCollide)
{
    constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    static constexpr uint64_t kUnits = 100000;
    // The inverse modulo 2^64, by Newton's method.
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - kGoldenRatio * inverse;
    ASSERT_EQ(inverse * kGoldenRatio, 1U);
    const auto seconds_of = [](auto &&unit_of) {
        const std::clock_t begun = std::clock();
        UnitTable table;
        for (uint64_t i = 0; i < kUnits; i++)
            table.at(unit_of(i)).accesses++;
        EXPECT_EQ(table.all().size(), kUnits);
        return static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    };
    const double benign = seconds_of([](uint64_t i) { return i * 0x123457000; });
    EXPECT_LT(seconds_of([=](uint64_t i) { return i * inverse; }), 10 * benign + 0.5);
}

// Adds twenty hot units, among thousands of units that are accessed once.
TEST(UnitTable, KeepsTheHottestWhenItIsFull)
{
    constexpr uint64_t kHot = 20;
    Both both(64);
    for (uint64_t round = 0; round < 200; round++) {
        for (uint64_t hot = 0; hot < kHot; hot++)
            both.add(hot, 10 + hot);
        for (uint64_t cold = 0; cold < 30; cold++)
            both.add(1000 + round * 30 + cold, 1);
    }
    EXPECT_LE(both.table.all().size(), 64U);
    const std::vector<HotUnit> hottest = both.table.hottest(kHot);
    ASSERT_EQ(hottest.size(), kHot);
    for (uint64_t i = 0; i < kHot; i++) {
        EXPECT_EQ(hottest[i].dpa, (kHot - 1 - i) * kUnitBytes);
        EXPECT_EQ(hottest[i].accesses, 200 * (10 + kHot - 1 - i));
    }
}

// Adds heat to random units, some of which are accessed again after the table dropped them.
TEST(UnitTable, LeftOutFieldsAreAnUpperBoundOfTheHeatThatAKeptUnitLacks)
{
    Both both(32);
    uint64_t random = 1, accesses = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const uint64_t unit = (random >> 33) % (1 + (random >> 50) % 200), count = random >> 61;
        both.add(unit, count);
        accesses += count;
    }
    const LeftOut &left_out = both.table.left_out();
    ASSERT_GT(left_out.units, 0U);
    uint64_t kept_accesses = 0, kept_epochs = 0, most_lost = 0;
    for (const HotUnit &unit : both.table.all()) {
        const HotUnit &truth = both.truth.at(unit.dpa);
        EXPECT_LE(unit.accesses, truth.accesses);
        EXPECT_GE(unit.accesses + left_out.most_short_accesses, truth.accesses);
        EXPECT_GE(unit.epochs + left_out.most_short_epochs, truth.epochs);
        most_lost = std::max(most_lost, truth.accesses - unit.accesses);
        kept_accesses += unit.accesses;
        kept_epochs += unit.epochs;
    }
    EXPECT_GT(most_lost, 0U);
    EXPECT_EQ(kept_accesses + left_out.accesses, accesses);
    EXPECT_EQ(kept_epochs + left_out.epochs, 20000U);
    for (const auto &[dpa, truth] : both.truth)
        EXPECT_TRUE(truth.accesses <= left_out.most_short_accesses ||
                    std::ranges::count(both.table.all(), dpa, &HotUnit::dpa) == 1);
}

TEST(UnitTable, FullTableDropsHalfOfItsUnitsIfAllAreEquallyHot)
{
    UnitTable table(16);
    for (uint64_t i = 0; i <= 16; i++)
        table.at(i * kUnitBytes).epochs = 1;
    EXPECT_EQ(table.all().size(), 9U);
    EXPECT_EQ(table.left_out().units, 8U);
    EXPECT_EQ(table.left_out().most_short_epochs, 1U);
    EXPECT_EQ(table.hottest(2)[1].dpa, kUnitBytes);
}

TEST(UnitTable, KeepsAllUnitsUpToItsLimit)
{
    UnitTable table;
    for (uint64_t i = 0; i < UnitTable::kMostUnits; i++)
        table.at(i * kUnitBytes).epochs = 1;
    EXPECT_EQ(table.all().size(), UnitTable::kMostUnits);
    EXPECT_EQ(table.left_out().units, 0U);
    table.at(UnitTable::kMostUnits * kUnitBytes).epochs = 1;
    EXPECT_EQ(table.all().size(), UnitTable::kMostUnits / 2 + 1);
    EXPECT_EQ(table.left_out().units, UnitTable::kMostUnits / 2);
    EXPECT_LE(UnitTable::kMostUnits * (sizeof(HotUnit) + 2 * sizeof(uint32_t)), limits::kUnits);
}

}  // namespace
}  // namespace pmukit::decode::cxl_hmu
