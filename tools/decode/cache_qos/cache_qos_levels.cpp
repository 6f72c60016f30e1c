// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cache_qos/cache_qos_levels.hpp"

#include <algorithm>
#include <bit>

namespace pmukit::decode::cache_qos {
namespace {

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

}  // namespace pmukit::decode::cache_qos
