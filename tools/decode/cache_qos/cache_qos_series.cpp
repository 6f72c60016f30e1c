// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cache_qos/cache_qos_series.hpp"

#include <algorithm>
#include <bit>

#include "base/saturate.hpp"

namespace pmukit::decode::cache_qos {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Buckets of levels: one bucket per number below 16, then 16 buckets per power of two.
constexpr unsigned kPartsLog2 = 4;
constexpr uint64_t kParts = uint64_t{1} << kPartsLog2;

uint16_t bucket_of(uint64_t level)
{
    if (level < kParts)
        return static_cast<uint16_t>(level);
    const auto shift = static_cast<unsigned>(std::bit_width(level)) - 1 - kPartsLog2;
    return static_cast<uint16_t>((shift << kPartsLog2) + (level >> shift));
}

// The middle of a bucket
uint64_t level_of(uint16_t bucket)
{
    if (bucket < kParts)
        return bucket;
    const unsigned shift = (bucket >> kPartsLog2) - 1;
    return (kParts | (bucket & (kParts - 1))) << shift | (uint64_t{1} << shift) >> 1;
}

void merge(Column &to, const Column &from)
{
    if (from.levels && (!to.levels || from.highest > to.highest)) {
        to.highest = from.highest;
        to.highest_ns = from.highest_ns;
    }
    to.last_bytes = from.last_bytes;
    add_to(to.grown, from.grown);
    to.max_bound = std::max(to.max_bound, from.max_bound);
    to.status |= from.status;
    to.levels += from.levels;
}

}  // namespace

void Levels::count(uint64_t level)
{
    const uint16_t number = bucket_of(level);
    const auto at = std::ranges::lower_bound(buckets_, number, {}, &Bucket::number);
    if (at != buckets_.end() && at->number == number)
        at->levels++;
    else
        buckets_.insert(at, {number, 1});
}

void Levels::add(uint64_t level)
{
    min_ = std::min(min_, level);
    max_ = std::max(max_, level);
    if (levels_++ < kExact) {
        exact_.push_back(level);
        return;
    }
    for (uint64_t one : exact_)
        count(one);
    exact_ = {};
    count(level);
}

uint64_t Levels::median() const
{
    uint64_t before = (levels_ - 1) / 2;
    if (!exact_.empty()) {
        std::vector<uint64_t> sorted = exact_;
        std::ranges::nth_element(sorted, sorted.begin() + static_cast<ptrdiff_t>(before));
        return sorted[before];
    }
    for (const Bucket &bucket : buckets_) {
        if (before < bucket.levels)
            return std::clamp(level_of(bucket.number), min_, max_);
        before -= bucket.levels;
    }
    return max_;
}

size_t Levels::bytes() const
{
    return exact_.capacity() * sizeof(uint64_t) + buckets_.capacity() * sizeof(Bucket);
}

Summary Levels::summary() const
{
    if (!levels_)
        return {};
    return {min_, median(), max_};
}

// Returns the rate per second; 0 if the clock did not advance or the count fell.
uint64_t Series::rate_of(const Point &from, const Point &to)
{
    if (to.time_ns <= from.time_ns || to.bytes <= from.bytes)
        return 0;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(to.bytes - from.bytes) *
                                 kNsPerSecond / (to.time_ns - from.time_ns));
}

// Extends the axis to this time; each old column is inside one new column.
void Series::cover(uint64_t time_ns)
{
    first_ns_ = has_value_ ? std::min(first_ns_, time_ns) : time_ns;
    last_ns_ = std::max(last_ns_, time_ns);
    unsigned by = 0;
    while ((last_ns_ >> width_log2_ >> by) - (first_ns_ >> width_log2_ >> by) >= kColumns)
        by++;
    if (!by)
        return;
    width_log2_ += by;
    std::vector<Column> wider;
    for (Column &column : columns_) {
        column.number >>= by;
        if (!wider.empty() && wider.back().number == column.number)
            merge(wider.back(), column);
        else
            wider.push_back(column);
    }
    columns_ = std::move(wider);
}

Column &Series::column_at(uint64_t time_ns)
{
    cover(time_ns);
    const uint64_t number = time_ns >> width_log2_;
    auto at = std::ranges::lower_bound(columns_, number, {}, &Column::number);
    if (at == columns_.end() || at->number != number) {
        at = columns_.insert(at, Column{});
        at->number = number;
    }
    return *at;
}

bool Series::continues(const Reading &reading, const Name *named) const
{
    const bool fell = is_count_ && has_value_ && cache_qos::has_value(reading) &&
                      reading.time_ns > last_.time_ns && reading.bytes < last_.bytes;
    const bool same = !named || !named_ || named->life == named_->life;
    return reading.kind == kind_ && same && !fell;
}

void Series::add(const Reading &reading)
{
    is_count_ = reading.event != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
    kind_ = reading.kind;
    generations_ += readings_ && reading.generation != generation_;
    generation_ = reading.generation;
    max_bound_ = std::max(max_bound_, reading.bound);
    max_age_ns_ = std::max(max_age_ns_, reading.age_ns);
    status_ |= reading.status;
    readings_++;
    if (cache_qos::has_value(reading))
        add_value(reading);
}

void Series::add_value(const Reading &reading)
{
    const Point point{reading.time_ns, reading.bytes};
    Column column{
        .last_bytes = reading.bytes, .max_bound = reading.bound, .status = reading.status};
    if (!is_count_ || has_value_) {
        column.highest = is_count_ ? rate_of(last_, point) : reading.bytes;
        column.highest_ns = reading.time_ns;
        column.levels = 1;
        column.grown = is_count_ && point.bytes > last_.bytes ? point.bytes - last_.bytes : 0;
        levels_.add(column.highest);
    }
    merge(column_at(reading.time_ns), column);
    if (!has_value_)
        first_bytes_ = reading.bytes;
    has_value_ = true;
    last_ = point;
}

std::vector<uint64_t> Series::highest() const
{
    std::vector<uint64_t> highest;
    for (const Column &column : columns_)
        if (column.levels)
            highest.push_back(column.highest);
    return highest;
}

uint64_t Series::grown() const
{
    return last_.bytes < first_bytes_ ? 0 : last_.bytes - first_bytes_;
}

size_t Series::bytes() const
{
    return sizeof *this + columns_.capacity() * sizeof(Column) + levels_.bytes() +
           (named_ ? named_->text.capacity() : 0);
}

std::string monitor_name(const SeriesKey &key)
{
    return key.life ? std::to_string(key.monitor) + "#" + std::to_string(key.life + 1)
                    : std::to_string(key.monitor);
}

bool SeriesTable::put(const SeriesKey &key, const Reading &reading, const Name *named)
{
    // One reading makes a series use at most this much more memory.
    constexpr size_t kMostBytes = size_t{32} << 10;
    if (!left_->take(kMostBytes))
        return false;
    const auto [at, fresh] = all_.try_emplace(key);
    Series &series = at->second;
    const size_t before = fresh ? 0 : series.bytes() + kNodeBytes;
    if (named && named->kind == reading.kind) {
        series.call(*named);
        has_names_ = true;
    }
    series.add(reading);
    left_->give_back(kMostBytes + before - series.bytes() - kNodeBytes);
    return true;
}

bool SeriesTable::add(const Reading &reading)
{
    const Name *named = names_.find(reading.monitor, reading.domain);
    SeriesKey key{reading.monitor, reading.domain, reading.event, UINT32_MAX};
    const auto after = all_.upper_bound(key);
    key.life = 0;
    if (after != all_.begin()) {
        auto &[newest, series] = *std::prev(after);
        const bool known = newest.monitor == key.monitor && newest.domain == key.domain &&
                           newest.event == key.event;
        if (known && series.continues(reading, named))
            return put(newest, reading, named);
        key.life = known ? newest.life + 1 : 0;
    }
    return put(key, reading, named);
}

uint64_t SeriesTable::grown(uint32_t monitor, uint16_t domain, uint8_t event) const
{
    uint64_t grown = 0;
    for (auto at = all_.lower_bound({monitor, domain, event, 0}); at != all_.end(); ++at) {
        if (at->first.monitor != monitor || at->first.domain != domain || at->first.event != event)
            break;
        add_to(grown, at->second.grown());
    }
    return grown;
}

}  // namespace pmukit::decode::cache_qos
