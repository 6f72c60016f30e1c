// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The values of a monitor over time. The level of a gauge (occupancy) is its value at each reading;
// the level of a count (bandwidth) is its growth per second between two readings.
//
// A series is built while a recording is read. Readings are not stored, but folded into a fixed
// number of columns, which double their width as time advances, and into a histogram for the
// median. So no recording can exceed the memory limit of a series.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::decode::cache_qos {

// The values are bytes for a gauge, and bytes per second for a count.
struct Summary {
    uint64_t min = 0, median = 0, max = 0;
};

// The readings whose time is in one column.
struct Column {
    uint64_t number = 0;                   // index of the column, counted from time 0
    uint64_t highest = 0, highest_ns = 0;  // the largest level, and the time of its reading
    uint64_t last_bytes = 0;
    uint64_t grown = 0;  // growth of a count in this column; 0 for a gauge
    uint64_t max_bound = 0;
    uint32_t status = 0;  // status bits of all readings in the column
    uint32_t levels = 0;  // number of levels; the first reading of a count has none
    bool operator==(const Column &) const = default;
};

class Series {
public:
    static constexpr size_t kColumns = 64;

    Series();
    Series(Series &&) noexcept;
    Series &operator=(Series &&) noexcept;
    ~Series();

    void add(const Reading &reading);
    // Returns false if the number has a new owner: the kind or the life differs, or the count fell.
    // `named` is the monitor's name at the time of the reading; nullptr if it is unknown.
    bool continues(const Reading &reading, const Name *named) const;
    void call(const Name &named);
    // Returns the last name of the monitor; nullopt if no record has named it.
    const std::optional<Name> &named() const;

    bool is_count() const;
    uint8_t kind() const;
    uint64_t readings() const;  // also those without a value
    // False if no reading had a value: the functions below then return 0 or nothing.
    bool has_value() const;
    uint64_t first_ns() const;
    uint64_t last_ns() const;
    // Sorted by time; columns without a value are left out. Each column is 2^width_log2 ns long
    // and begins at a multiple of its length.
    const std::vector<Column> &columns() const;
    unsigned width_log2() const;
    // The highest level of each column that has one.
    std::vector<uint64_t> highest() const;
    Summary summary() const;
    uint64_t last_bytes() const;
    // Growth of a count from the first reading to the last.
    uint64_t grown() const;
    uint64_t max_bound() const;
    uint64_t max_age_ns() const;
    uint32_t status() const;  // status bits of all readings
    // How often the RMIDs of the monitor changed.
    uint64_t generations() const;
    size_t bytes() const;  // memory

private:
    struct State;
    std::unique_ptr<State> state_;
};

constexpr uint32_t kMachine = 0;  // the monitor of the whole machine

// A monitor in an L3, and one of its events
struct SeriesKey {
    uint32_t monitor = 0;
    uint16_t domain = 0;
    uint8_t event = 0;
    uint32_t life = 0;  // number of earlier owners
    auto operator<=>(const SeriesKey &) const = default;
};

// Returns "5"; for the second owner of monitor number 5, "5#2".
std::string monitor_name(const SeriesKey &key);

class SeriesTable {
public:
    // `left` is the unused part of limits::kMonitors, which the tables of all events share.
    explicit SeriesTable(
        std::shared_ptr<Budget> left = std::make_shared<Budget>(limits::kMonitors));
    SeriesTable(SeriesTable &&) noexcept;
    SeriesTable &operator=(SeriesTable &&) noexcept;
    ~SeriesTable();

    // Call before the readings that follow the name record.
    void name(const NamePart &part);
    // Returns false, and drops the reading, if the budget has no space for the series.
    bool add(const Reading &reading);
    // True if at least one monitor has a name.
    bool has_names() const;

    const std::map<SeriesKey, Series> &all() const;
    // Growth over all owners of a monitor number.
    uint64_t grown(uint32_t monitor, uint16_t domain, uint8_t event) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::cache_qos
