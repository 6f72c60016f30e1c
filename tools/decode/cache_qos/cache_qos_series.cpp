// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cache_qos/cache_qos_series.hpp"

#include <algorithm>

namespace pmukit::decode::cache_qos {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Neither a clock that stood nor a count that fell is a rate.
uint64_t rate_of(const Point &from, const Point &to)
{
    if (to.time_ns <= from.time_ns || to.bytes <= from.bytes)
        return 0;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(to.bytes - from.bytes) *
                                 kNsPerSecond / (to.time_ns - from.time_ns));
}

}  // namespace

void Series::add(const Reading &reading)
{
    if (!points_.empty() && reading.generation != generation_)
        generations_++;
    generation_ = reading.generation;
    kind_ = reading.kind;
    is_count_ = reading.event != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
    max_bound_ = std::max(max_bound_, reading.bound);
    max_age_ns_ = std::max(max_age_ns_, reading.age_ns);
    status_ |= reading.status;
    points_.push_back({reading.time_ns, reading.bytes, reading.bound, reading.status});
}

std::vector<uint64_t> Series::levels() const
{
    std::vector<uint64_t> levels;
    for (size_t i = is_count_; i < points_.size(); i++)
        levels.push_back(is_count_ ? rate_of(points_[i - 1], points_[i]) : points_[i].bytes);
    return levels;
}

// The median of an even number is the lower of the two.
Summary Series::summary() const
{
    std::vector<uint64_t> levels = this->levels();
    if (levels.empty())
        return {};
    std::ranges::sort(levels);
    return {levels.front(), levels[(levels.size() - 1) / 2], levels.back()};
}

uint64_t Series::grown() const
{
    if (points_.empty() || points_.back().bytes < points_.front().bytes)
        return 0;
    return points_.back().bytes - points_.front().bytes;
}

std::vector<uint64_t> columns_of(const std::vector<uint64_t> &levels, size_t columns)
{
    if (levels.size() <= columns)
        return levels;
    std::vector<uint64_t> out(columns);
    for (size_t i = 0; i < levels.size(); i++) {
        uint64_t &column = out[i * columns / levels.size()];
        column = std::max(column, levels[i]);
    }
    return out;
}

}  // namespace pmukit::decode::cache_qos
