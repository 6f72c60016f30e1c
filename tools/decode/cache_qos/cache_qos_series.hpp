// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a monitor showed through time. A gauge (occupancy) is what it is at each reading; a count
// (bandwidth) is looked at by what it grew a second between two.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::decode::cache_qos {

struct Point {
    uint64_t time_ns = 0;
    uint64_t bytes = 0;
    uint64_t bound = 0;
    uint32_t status = 0;
};

// Of bytes, or of bytes a second.
struct Summary {
    uint64_t min = 0, median = 0, max = 0;
};

class Series {
public:
    void add(const Reading &reading);

    bool is_count() const { return is_count_; }
    uint8_t kind() const { return kind_; }
    const std::vector<Point> &points() const { return points_; }
    // Points of a gauge; of a count what it grew a second, from each point to the next.
    std::vector<uint64_t> levels() const;
    // Of a level of these, the time: of a count, that of the later point.
    uint64_t time_ns_of(size_t level) const { return points_[level + is_count_].time_ns; }
    Summary summary() const;
    uint64_t last_bytes() const { return points_.empty() ? 0 : points_.back().bytes; }
    // What a count grew in all.
    uint64_t grown() const;
    uint64_t max_bound() const { return max_bound_; }
    uint64_t max_age_ns() const { return max_age_ns_; }
    uint32_t status() const { return status_; }  // of all readings
    // How often other RMIDs stood behind it than before.
    uint64_t generations() const { return generations_; }

private:
    std::vector<Point> points_;
    uint64_t max_bound_ = 0, max_age_ns_ = 0, generations_ = 0;
    uint32_t status_ = 0, generation_ = 0;
    uint8_t kind_ = 0;
    bool is_count_ = false;
};

// A monitor in an L3, and which of its values
struct SeriesKey {
    uint32_t monitor = 0;
    uint16_t domain = 0;
    uint8_t event = 0;
};
inline bool operator<(const SeriesKey &a, const SeriesKey &b)
{
    return std::tie(a.monitor, a.domain, a.event) < std::tie(b.monitor, b.domain, b.event);
}

using SeriesTable = std::map<SeriesKey, Series>;

// Values brought down to so many columns: the largest of each.
std::vector<uint64_t> columns_of(const std::vector<uint64_t> &levels, size_t columns);

}  // namespace pmukit::decode::cache_qos
