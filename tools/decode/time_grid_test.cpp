// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/time_grid.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace pmukit::decode {
namespace {

uint64_t sum_of(const TimeGrid &grid)
{
    uint64_t sum = 0;
    for (const auto &[row, columns] : grid.all())
        for (uint64_t value : columns)
            sum += value;
    return sum;
}

uint64_t in_column(const TimeGrid &grid, uint64_t row, uint64_t time)
{
    return grid.all().at(row)[(time - grid.origin()) / grid.column_width()];
}

TEST(TimeGrid, TimesAreInSeparateColumnsWhileColumnsSuffice)
{
    TimeGrid grid(2);
    for (uint64_t time = 1000; time < 1000 + TimeGrid::kColumns; time++)
        EXPECT_TRUE(grid.add(7, time, time));
    EXPECT_EQ(grid.column_width(), 1U);
    EXPECT_EQ(grid.columns(), TimeGrid::kColumns);
    EXPECT_EQ(in_column(grid, 7, 1033), 1033U);
}

TEST(TimeGrid, DoublesColumnWidthWithoutLoss)
{
    TimeGrid grid(2);
    for (uint64_t time = 1000; time <= 1000 + TimeGrid::kColumns; time++)
        grid.add(7, time, 1);
    EXPECT_EQ(grid.column_width(), 2U);
    EXPECT_EQ(grid.origin() % 2, 0U);
    EXPECT_EQ(in_column(grid, 7, 1010), 2U);
    EXPECT_EQ(sum_of(grid), TimeGrid::kColumns + 1);
}

// Compares the grid with a table that has every single value.
TEST(TimeGrid, ValuesAddedInRandomTimeOrderGiveTheSameSumsAsATable)
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 50; round++) {
        TimeGrid grid(8);
        std::map<std::pair<uint64_t, uint64_t>, uint64_t> all;
        const unsigned bits = static_cast<unsigned>(random() % 63) + 1;
        const uint64_t base = random() >> 1;
        for (int i = 0; i < 200; i++) {
            const uint64_t row = random() % 8, value = random() % 1000;
            const uint64_t time = base + (random() & ((uint64_t{1} << bits) - 1));
            ASSERT_TRUE(grid.add(row, time, value));
            all[{row, time}] += value;
        }
        std::map<std::pair<uint64_t, uint64_t>, uint64_t> expected;
        for (const auto &[at, value] : all)
            expected[{at.first, (at.second - grid.origin()) / grid.column_width()}] += value;
        for (const auto &[at, value] : expected) {
            ASSERT_LT(at.second, grid.columns());
            EXPECT_EQ(grid.all().at(at.first)[at.second], value);
        }
        EXPECT_LE(grid.columns(), TimeGrid::kColumns);
        EXPECT_EQ(grid.origin() % grid.column_width(), 0U);
    }
}

TEST(TimeGrid, AcceptsTheSmallestAndTheLargestTime)
{
    TimeGrid grid(1);
    grid.add(0, UINT64_MAX, 1);
    grid.add(0, 0, 2);
    EXPECT_EQ(grid.columns(), TimeGrid::kColumns);
    EXPECT_EQ(grid.all().at(0).front(), 2U);
    EXPECT_EQ(grid.all().at(0).back(), 1U);
}

TEST(TimeGrid, RefusesRowsBeyondItsLimit)
{
    TimeGrid grid(2);
    EXPECT_TRUE(grid.add(1, 0, 1));
    EXPECT_TRUE(grid.add(2, 0, 1));
    EXPECT_FALSE(grid.add(3, 5, 1));
    EXPECT_TRUE(grid.add(2, 1, 1));
    EXPECT_EQ(grid.last(), 1U) << "what is refused leaves no trace";
    EXPECT_EQ(sum_of(grid), 3U);
}

TEST(TimeGrid, SumsSaturate)
{
    TimeGrid grid(1);
    grid.add(0, 0, UINT64_MAX);
    grid.add(0, 0, 5);
    EXPECT_EQ(sum_of(grid), UINT64_MAX);
}

TEST(TimeGrid, GridCanBeConvertedToTheTimeAxisOfAnotherGrid)
{
    TimeGrid early(1), late(1);
    early.add(0, 100, 1);
    early.add(0, 5000, 1);
    late.add(0, 9000, 4);
    const unsigned width = std::max(early.width_log2(), 8U);
    for (TimeGrid *grid : {&early, &late}) {
        grid->widen(width, 100);
        grid->widen(width, 9000);
    }
    EXPECT_EQ(early.origin(), late.origin());
    EXPECT_EQ(early.column_width(), late.column_width());
    EXPECT_EQ(early.columns(), late.columns());
    EXPECT_EQ(in_column(late, 0, 9000), 4U);
    EXPECT_EQ(in_column(early, 0, 5000), 1U);
}

TEST(AddressGrid, MergesRowsWhenThereAreTooMany)
{
    AddressGrid grid;
    for (uint64_t i = 0; i < 2 * AddressGrid::kMaxRows; i++)
        grid.add(i << 12, i, 1);
    EXPECT_LE(grid.grid().rows(), AddressGrid::kMaxRows);
    EXPECT_EQ(grid.row_bytes(), 8192U);
    EXPECT_EQ(sum_of(grid.grid()), 2 * AddressGrid::kMaxRows);
}

TEST(AddressGrid, GridsWithACommonMemoryLimitMergeRowsButKeepSumsAndTwoRowsEach)
{
    constexpr size_t kBytes = 100000, kGrids = 50, kAddresses = 200;
    const auto left = std::make_shared<Budget>(kBytes);
    std::vector<AddressGrid> grids(kGrids, AddressGrid(left));
    size_t rows = 0;
    for (AddressGrid &grid : grids)
        for (uint64_t i = 0; i < kAddresses; i++)
            grid.add(i << 12, i, 1);
    for (const AddressGrid &grid : grids) {
        EXPECT_EQ(sum_of(grid.grid()), kAddresses) << "none is lost";
        rows += grid.grid().rows();
    }
    EXPECT_GT(grids.front().grid().rows(), kAddresses / 4) << "the first has what there is";
    EXPECT_EQ(grids.back().grid().rows(), 2U) << "and the last what is free";
    EXPECT_LE(rows * sizeof(TimeGrid::Columns), kBytes + 2 * kGrids * sizeof(TimeGrid::Columns));
}

TEST(AddressGrid, GridsWithACommonMemoryLimitMergeNoRowsWhileMemoryIsLeft)
{
    constexpr size_t kRows = limits::kLines / sizeof(TimeGrid::Columns);
    constexpr size_t kGrids = kRows / AddressGrid::kMaxRows + 10;
    const auto left = std::make_shared<Budget>(limits::kLines);
    std::vector<AddressGrid> grids(kGrids, AddressGrid(left));
    size_t rows = 0, full = 0;
    for (AddressGrid &grid : grids) {
        for (uint64_t i = 0; i < AddressGrid::kMaxRows; i++)
            grid.add(i << 12, i, 1);
        EXPECT_EQ(sum_of(grid.grid()), AddressGrid::kMaxRows) << "none is lost";
        rows += grid.grid().rows();
        full += grid.grid().rows() == AddressGrid::kMaxRows;
    }
    EXPECT_LE(rows, kRows + 2 * kGrids) << "two of each are free";
    EXPECT_GT(full, kGrids / 2) << "all rows while there is room";
    EXPECT_EQ(grids.back().grid().rows(), 2U) << "and then what is free";
}

TEST(AddressGrid, AcceptsDistantAddresses)
{
    AddressGrid grid;
    grid.add(0, 1, 1);
    grid.add(UINT64_MAX, 2, 1);
    const AddressGrid coarse = grid.coarser(40, 12);
    EXPECT_EQ(coarse.row_bytes(), 4096U);
    EXPECT_EQ(coarse.grid().rows(), 2U);
    EXPECT_EQ(grid.coarser(1, 0).grid().rows(), 2U) << "no shift by all bits";
}

TEST(AddressGrid, CoarserGridHasTheSameSum)
{
    AddressGrid grid;
    for (uint64_t i = 0; i < 100; i++)
        grid.add(i * 4096, i, i);
    const AddressGrid coarse = grid.coarser(40, 12);
    EXPECT_LE(coarse.grid().rows(), 40U);
    EXPECT_EQ(sum_of(coarse.grid()), sum_of(grid.grid()));
}

}  // namespace
}  // namespace pmukit::decode
