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
#include <optional>
#include <string>
#include <vector>

#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::decode::cache_qos {

// The values are bytes for a gauge, and bytes per second for a count.
struct Summary {
    uint64_t min = 0, median = 0, max = 0;
};

// Computes the median: exact for at most kExact numbers, then within 1/32.
class Levels {
public:
    static constexpr size_t kExact = 512;

    void add(uint64_t level);
    // The median of an even count is the lower of the middle two. All fields are 0 without numbers.
    Summary summary() const;
    size_t bytes() const;  // memory in addition to the object

private:
    struct Bucket {
        uint16_t number;
        uint64_t levels;
    };

    uint64_t median() const;
    void count(uint64_t level);

    std::vector<uint64_t> exact_;  // in order of arrival; empty beyond kExact
    std::vector<Bucket> buckets_;  // sorted by number
    uint64_t levels_ = 0, min_ = UINT64_MAX, max_ = 0;
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

    void add(const Reading &reading);
    // Returns false if the number has a new owner: the kind or the life differs, or the count fell.
    // `named` is the monitor's name at the time of the reading; nullptr if it is unknown.
    bool continues(const Reading &reading, const Name *named) const;
    void call(const Name &named) { named_ = named; }
    // Returns the last name of the monitor; nullopt if no record has named it.
    const std::optional<Name> &named() const { return named_; }

    bool is_count() const { return is_count_; }
    uint8_t kind() const { return kind_; }
    uint64_t readings() const { return readings_; }  // also those without a value
    // False if no reading had a value: the functions below then return 0 or nothing.
    bool has_value() const { return has_value_; }
    uint64_t first_ns() const { return first_ns_; }
    uint64_t last_ns() const { return last_ns_; }
    // Sorted by time; columns without a value are left out. Each column is 2^width_log2 ns long
    // and begins at a multiple of its length.
    const std::vector<Column> &columns() const { return columns_; }
    unsigned width_log2() const { return width_log2_; }
    // The highest level of each column that has one.
    std::vector<uint64_t> highest() const;
    Summary summary() const { return levels_.summary(); }
    uint64_t last_bytes() const { return last_.bytes; }
    // Growth of a count from the first reading to the last.
    uint64_t grown() const;
    uint64_t max_bound() const { return max_bound_; }
    uint64_t max_age_ns() const { return max_age_ns_; }
    uint32_t status() const { return status_; }  // status bits of all readings
    // How often the RMIDs of the monitor changed.
    uint64_t generations() const { return generations_; }
    size_t bytes() const;  // memory

private:
    struct Point {
        uint64_t time_ns = 0, bytes = 0;
    };

    void add_value(const Reading &reading);
    static uint64_t rate_of(const Point &from, const Point &to);
    void cover(uint64_t time_ns);
    Column &column_at(uint64_t time_ns);

    std::vector<Column> columns_;
    unsigned width_log2_ = 0;
    Levels levels_;
    std::optional<Name> named_;
    Point last_;
    uint64_t readings_ = 0, first_ns_ = 0, last_ns_ = 0, first_bytes_ = 0;
    uint64_t max_bound_ = 0, max_age_ns_ = 0, generations_ = 0;
    uint32_t status_ = 0, generation_ = 0;
    uint8_t kind_ = 0;
    bool is_count_ = false, has_value_ = false;
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
    explicit SeriesTable(std::shared_ptr<Budget> left = std::make_shared<Budget>(limits::kMonitors))
        : left_(std::move(left)), names_(left_)
    {
    }

    // Call before the readings that follow the name record.
    void name(const NamePart &part) { names_.note(part); }
    // Returns false, and drops the reading, if the budget has no space for the series.
    bool add(const Reading &reading);
    // True if at least one monitor has a name.
    bool has_names() const { return has_names_; }

    const std::map<SeriesKey, Series> &all() const { return all_; }
    // Growth over all owners of a monitor number.
    uint64_t grown(uint32_t monitor, uint16_t domain, uint8_t event) const;

private:
    bool put(const SeriesKey &key, const Reading &reading, const Name *named);

    std::shared_ptr<Budget> left_;
    std::map<SeriesKey, Series> all_;
    Names names_;
    bool has_names_ = false;
};

}  // namespace pmukit::decode::cache_qos
