// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/aux_grid.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kEntry = 32, kEnd = UINT64_MAX;

AuxGrid grid_of(const std::vector<std::pair<uint64_t, uint64_t>> &records,
                size_t bytes = limits::kChains)
{
    Budget left(bytes);
    AuxGrid grid(kEntry);
    for (const auto &[offset, size] : records) {
        perfdata::AuxRecord aux{};
        aux.offset = offset;
        aux.size = size;
        grid.note(aux, left);
    }
    return grid;
}

void expect_piece(const AuxGrid &grid, uint64_t offset, std::optional<uint64_t> base,
                  uint64_t begin, uint64_t end, uint64_t buffer = 0)
{
    const AuxGrid::Piece piece = grid.at(offset, buffer);
    EXPECT_EQ(piece.base, base) << offset;
    EXPECT_EQ(piece.begin, begin) << offset;
    EXPECT_EQ(piece.end, end) << offset;
}

TEST(AuxGrid, RecordsOfWholeEntriesFormOnePiece)
{
    const AuxGrid grid = grid_of({{0, 64}, {64, 32}, {96, 320}});
    for (uint64_t offset : {0, 63, 96, 415})
        expect_piece(grid, offset, 0, 0, 416);
    expect_piece(grid, 416, 416, 416, kEnd);
    EXPECT_EQ(grid.announced(), 416U);
}

TEST(AuxGrid, RecordAfterPartialEntryBeginsNewPiece)
{
    const AuxGrid grid = grid_of({{0, 96 + 16}, {112, 64}, {176, 64}});
    expect_piece(grid, 111, 0, 0, 112);
    expect_piece(grid, 112, 112, 112, 240);
    expect_piece(grid, 239, 112, 112, 240);
}

TEST(AuxGrid, GapOfWholeEntriesIsAssumedToBeginWithAnEntry)
{
    const AuxGrid grid = grid_of({{0, 64 + 5}, {69 + 96, 32}});
    expect_piece(grid, 69, 69, 69, 165);
    expect_piece(grid, 164, 69, 69, 165);
    expect_piece(grid, 165, 165, 165, 197);
}

// In this test, a trace stopped somewhere in the gap, and the next trace started.
TEST(AuxGrid, EntryOffsetsAreUnknownInAGapThatHoldsPartOfAnEntry)
{
    const AuxGrid grid = grid_of({{0, 64}, {64 + 40, 32}});
    expect_piece(grid, 64, std::nullopt, 64, 104);
    expect_piece(grid, 104, 104, 104, 136);
}

TEST(AuxGrid, DataBeforeTheFirstRecordBeginsWithAnEntryIfItHoldsWholeEntries)
{
    expect_piece(AuxGrid(kEntry), 1000, 1000, 1000, kEnd, 1000);
    const AuxGrid grid = grid_of({{100, 32}});
    expect_piece(grid, 40, 36, 36, 100, 36);
    expect_piece(grid, 40, std::nullopt, 35, 100, 35);
}

TEST(AuxGrid, IgnoresEmptyOverlappingAndOverflowingRecords)
{
    const AuxGrid grid = grid_of({{0, 64}, {64, 0}, {32, 64}, {UINT64_MAX - 3, 8}});
    EXPECT_EQ(grid.announced(), 64U);
    expect_piece(grid, 10, 0, 0, 64);
}

// In this test, each record begins a new grid, because its size is not a multiple of the entry
// size.
TEST(AuxGrid, EntryOffsetsAreUnknownAfterTheMemoryLimitIsReached)
{
    constexpr uint64_t kLeast = limits::kChains / 32, kMost = limits::kChains / 16;
    Budget left(limits::kChains);
    AuxGrid grid(kEntry);
    uint64_t end = 0;
    for (perfdata::AuxRecord aux{}; grid.announced() == end; aux.offset = end) {
        expect_piece(grid, end, end, end, kEnd, end);
        aux.size = 33;
        end = aux.offset + aux.size;
        grid.note(aux, left);
    }
    EXPECT_GT(end, kLeast * 33);
    EXPECT_LE(end, (kMost + 1) * 33);
    end -= 33;  // end of the last record within the budget
    expect_piece(grid, end - 1, end - 33, end - 33, end);
    expect_piece(grid, end, std::nullopt, end, kEnd);
    EXPECT_EQ(grid.announced(), kEnd);
}

TEST(AuxGrid, EntryOffsetsAreUnknownIfTheMemoryLimitIsZero)
{
    const AuxGrid grid = grid_of({{32, 64}}, 0);
    expect_piece(grid, 40, std::nullopt, 0, kEnd);
    EXPECT_EQ(grid.announced(), kEnd);
}

}  // namespace
}  // namespace pmukit::cli
