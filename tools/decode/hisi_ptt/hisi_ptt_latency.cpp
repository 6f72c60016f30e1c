// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_latency.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pmukit::decode::hisi_ptt {

// One bucket per value below 8, then 8 buckets per power of two.
struct __attribute__((visibility("hidden"))) Histogram::State {
    static constexpr unsigned kStepLog2 = 3;  // buckets per power of two
    static constexpr size_t kBuckets = (64 - kStepLog2 + 1) << kStepLog2;

    void add(uint64_t value);
    static size_t bucket_of(uint64_t value);
    static uint64_t first_of(size_t bucket);
    static uint64_t last_of(size_t bucket);

    // Count of each bucket, up to the bucket of the largest value.
    std::vector<uint64_t> counts_;
    uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
    double sum_ = 0;
};

size_t Histogram::State::bucket_of(uint64_t value)
{
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kStepLog2)
        return value;
    const unsigned shift = width - kStepLog2 - 1;
    return (static_cast<size_t>(shift + 1) << kStepLog2) +
           (value >> shift & ((1U << kStepLog2) - 1));
}

uint64_t Histogram::State::first_of(size_t bucket)
{
    const size_t power = bucket >> kStepLog2, step = bucket & ((1U << kStepLog2) - 1);
    if (power == 0)
        return step;
    return (uint64_t{1} << kStepLog2 | step) << (power - 1);
}

uint64_t Histogram::State::last_of(size_t bucket)
{
    return bucket + 1 == kBuckets ? UINT64_MAX : first_of(bucket + 1) - 1;
}

void Histogram::State::add(uint64_t value)
{
    const size_t bucket = bucket_of(value);
    if (bucket >= counts_.size())
        counts_.resize(bucket + 1);
    counts_[bucket]++;
    count_++;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ += static_cast<double>(value);
}

Histogram::Histogram() : state_(std::make_unique<State>()) {}
Histogram::Histogram(Histogram &&) noexcept = default;
Histogram &Histogram::operator=(Histogram &&) noexcept = default;
Histogram::~Histogram() = default;

void Histogram::add(uint64_t value)
{
    state_->add(value);
}

uint64_t Histogram::count() const
{
    return state_->count_;
}

uint64_t Histogram::min() const
{
    return state_->count_ ? state_->min_ : 0;
}

uint64_t Histogram::max() const
{
    return state_->max_;
}

double Histogram::mean() const
{
    return count() ? state_->sum_ / static_cast<double>(count()) : 0;
}

uint64_t Histogram::quantile(double share) const
{
    const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count())));
    const std::vector<uint64_t> &counts = state_->counts_;
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < counts.size(); bucket++) {
        seen += counts[bucket];
        if (seen && seen >= wanted)
            return std::clamp(State::last_of(bucket), min(), max());
    }
    return 0;
}

std::vector<Histogram::Bucket> Histogram::buckets() const
{
    const std::vector<uint64_t> &counts = state_->counts_;
    std::vector<Bucket> used;
    for (size_t bucket = 0; bucket < counts.size(); bucket++)
        if (counts[bucket])
            used.push_back({State::first_of(bucket), State::last_of(bucket), counts[bucket]});
    return used;
}

}  // namespace pmukit::decode::hisi_ptt
