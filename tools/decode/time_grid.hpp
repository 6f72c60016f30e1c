// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A table of sums, built while a recording is read: one row per address or other number, one column
// per interval of time. The number of columns is fixed; all columns double their width when a time
// is beyond the last column. The number of rows is limited too, so no recording can exceed the
// memory limit. This header is not installed.
//
// Columns begin at multiples of their width, so grids of one clock can be converted to one axis.
//
//     time    first ...                                   last
//             |  column 0  |  column 1  | ...             |        each 2^width_log2 long
//     row 7   |     12     |            |   3    |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/budget.hpp"
#include "base/hash.hpp"
#include "base/limits.hpp"

namespace pmukit::decode {

class __attribute__((visibility("hidden"))) TimeGrid {
public:
    static constexpr size_t kColumns = 64;
    using Columns = std::array<uint64_t, kColumns>;

    explicit TimeGrid(size_t max_rows) : max_rows_(max_rows) {}

    // Adds the value. Returns false and adds nothing if more than max_rows rows would be needed.
    bool add(uint64_t row, uint64_t time, uint64_t value);
    // Renumbers each row with the function. Rows that get the same number are added up.
    void fold(const std::function<uint64_t(uint64_t)> &to);
    // Makes the columns at least this wide, and extends the axis to this time.
    void widen(unsigned width_log2, uint64_t time);

    bool empty() const { return !started_; }
    size_t rows() const { return rows_.size(); }
    const AddressMap<Columns> &all() const { return rows_; }
    // Start of column 0; width of a column; number of columns up to the last time.
    uint64_t origin() const { return base_ << width_log2_; }
    unsigned width_log2() const { return width_log2_; }
    uint64_t column_width() const { return uint64_t{1} << width_log2_; }
    size_t columns() const { return started_ ? (last_ >> width_log2_) - base_ + 1 : 0; }
    uint64_t first() const { return first_; }
    uint64_t last() const { return last_; }

private:
    void cover(uint64_t time);
    void rebase(uint64_t base, unsigned width_log2);

    size_t max_rows_;
    bool started_ = false;
    unsigned width_log2_ = 0;
    uint64_t base_ = 0;  // column 0 begins at base_ * column width
    uint64_t first_ = 0, last_ = 0;
    AddressMap<Columns> rows_;
};

// A grid of sums by address and time. Each row is a range of addresses. If there are too many rows,
// rows are merged.
class __attribute__((visibility("hidden"))) AddressGrid {
public:
    static constexpr size_t kMaxRows = 256;

    // left: the remaining budget of limits::kLines, which all grids of one figure share. The first
    // two rows of each grid need no budget.
    explicit AddressGrid(std::shared_ptr<Budget> left = std::make_shared<Budget>(limits::kLines))
        : grid_(kMaxRows), left_(std::move(left))
    {
    }

    void add(uint64_t address, uint64_t time, uint64_t value);
    // Returns a copy with at most `rows` rows (at least two). Each row covers at least 2^row_log2
    // bytes.
    AddressGrid coarser(size_t rows, unsigned row_log2) const;

    unsigned row_log2() const { return row_log2_; }
    uint64_t row_bytes() const { return uint64_t{1} << row_log2_; }
    const TimeGrid &grid() const { return grid_; }

private:
    bool has_room(uint64_t row);
    void merge_rows(std::vector<uint64_t> rows);
    void widen_rows(unsigned by);

    unsigned row_log2_ = 0;
    TimeGrid grid_;
    std::shared_ptr<Budget> left_;
    size_t paid_ = 0;  // rows taken from the budget
};

}  // namespace pmukit::decode
