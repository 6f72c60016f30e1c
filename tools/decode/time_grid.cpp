// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/time_grid.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/saturate.hpp"

namespace pmukit::decode {
namespace {

constexpr size_t kFreeRows = 2;
constexpr size_t kRowBytes = sizeof(uint64_t) + sizeof(TimeGrid::Columns) + kNodeBytes;

void add_columns(TimeGrid::Columns &to, const TimeGrid::Columns &from)
{
    for (size_t i = 0; i < to.size(); i++)
        to[i] = add_or_max(to[i], from[i]);
}

}  // namespace

// The old and the new axis begin at multiples of their column width, and the new axis includes the
// old one. So each old column is inside one new column.
void TimeGrid::rebase(uint64_t base, unsigned width_log2)
{
    const unsigned by = width_log2 - width_log2_;
    for (auto &[row, columns] : rows_) {
        Columns moved{};
        for (size_t i = 0; i < kColumns; i++)
            if (columns[i]) {
                uint64_t &to = moved[((base_ + i) >> by) - base];
                to = add_or_max(to, columns[i]);
            }
        columns = moved;
    }
    base_ = base;
    width_log2_ = width_log2;
}

void TimeGrid::cover(uint64_t time)
{
    if (!std::exchange(started_, true)) {
        first_ = last_ = time;
        base_ = time >> width_log2_;
        return;
    }
    const uint64_t first = std::min(first_, time), last = std::max(last_, time);
    unsigned width_log2 = width_log2_;
    while ((last >> width_log2) - (first >> width_log2) >= kColumns)
        width_log2++;
    if (width_log2 != width_log2_ || first >> width_log2 != base_)
        rebase(first >> width_log2, width_log2);
    first_ = first;
    last_ = last;
}

void TimeGrid::widen(unsigned width_log2, uint64_t time)
{
    cover(time);
    if (width_log2 > width_log2_)
        rebase(first_ >> width_log2, width_log2);
}

bool TimeGrid::add(uint64_t row, uint64_t time, uint64_t value)
{
    auto at = rows_.find(row);
    if (at == rows_.end() && rows_.size() == max_rows_)
        return false;
    if (at == rows_.end())
        at = rows_.emplace(row, Columns{}).first;
    cover(time);
    uint64_t &column = at->second[(time >> width_log2_) - base_];
    column = add_or_max(column, value);
    return true;
}

void TimeGrid::fold(const std::function<uint64_t(uint64_t)> &to)
{
    AddressMap<Columns> folded;
    for (const auto &[row, columns] : rows_)
        add_columns(folded[to(row)], columns);
    rows_ = std::move(folded);
}

bool AddressGrid::has_room(uint64_t row)
{
    if (grid_.rows() < kFreeRows || grid_.all().contains(row))
        return true;
    const bool paid = left_->take(kRowBytes);
    paid_ += paid;
    return paid;
}

// Widens the address ranges of the rows until at least two rows become one. `rows` has additional
// rows, which are not in the grid yet. The new width is computed directly, because repeated
// doubling would take long for distant addresses.
void AddressGrid::merge_rows(std::vector<uint64_t> rows)
{
    for (const auto &[row, columns] : grid_.all())
        rows.push_back(row);
    std::ranges::sort(rows);
    int bits = 63;
    for (size_t i = 1; i < rows.size(); i++)
        bits = std::min(bits, static_cast<int>(std::bit_width(rows[i] ^ rows[i - 1])));
    widen_rows(static_cast<unsigned>(bits));
}

void AddressGrid::widen_rows(unsigned by)
{
    row_log2_ += by;
    grid_.fold([by](uint64_t row) { return row >> by; });
    const size_t fewer = paid_ - std::min(paid_, grid_.rows());
    left_->give_back(fewer * kRowBytes);
    paid_ -= fewer;
}

// Adds the value, after merging rows until there is a row for the address. In the worst case all
// addresses share one row.
void AddressGrid::add(uint64_t address, uint64_t time, uint64_t value)
{
    while (!has_room(address >> row_log2_) || !grid_.add(address >> row_log2_, time, value))
        merge_rows({address >> row_log2_});
}

AddressGrid AddressGrid::coarser(size_t rows, unsigned row_log2) const
{
    AddressGrid made(std::make_shared<Budget>(0));
    made.row_log2_ = row_log2_;
    made.grid_ = grid_;
    if (made.row_log2_ < row_log2)
        made.widen_rows(row_log2 - made.row_log2_);
    while (made.grid_.rows() > std::max(kFreeRows, rows))
        made.merge_rows({});
    return made;
}

}  // namespace pmukit::decode
