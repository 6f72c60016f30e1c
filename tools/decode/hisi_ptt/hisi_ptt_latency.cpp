// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_latency.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pmukit::decode::hisi_ptt {

// Histogram: one bucket per value below 8, then 8 buckets per power of two.

size_t Histogram::bucket_of(uint64_t value)
{
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kStepLog2)
        return value;
    const unsigned shift = width - kStepLog2 - 1;
    return (static_cast<size_t>(shift + 1) << kStepLog2) +
           (value >> shift & ((1U << kStepLog2) - 1));
}

uint64_t Histogram::first_of(size_t bucket)
{
    const size_t power = bucket >> kStepLog2, step = bucket & ((1U << kStepLog2) - 1);
    if (power == 0)
        return step;
    return (uint64_t{1} << kStepLog2 | step) << (power - 1);
}

uint64_t Histogram::last_of(size_t bucket)
{
    return bucket + 1 == kBuckets ? UINT64_MAX : first_of(bucket + 1) - 1;
}

void Histogram::add(uint64_t value)
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

double Histogram::mean() const
{
    return count_ ? sum_ / static_cast<double>(count_) : 0;
}

uint64_t Histogram::quantile(double share) const
{
    const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < counts_.size(); bucket++) {
        seen += counts_[bucket];
        if (seen && seen >= wanted)
            return std::clamp(last_of(bucket), min_, max_);
    }
    return 0;
}

std::vector<Histogram::Bucket> Histogram::buckets() const
{
    std::vector<Bucket> used;
    for (size_t bucket = 0; bucket < counts_.size(); bucket++)
        if (counts_[bucket])
            used.push_back({first_of(bucket), last_of(bucket), counts_[bucket]});
    return used;
}

// Matching

LatencyMatcher::Pending *LatencyMatcher::find(const Tlp &tlp) const
{
    const Bus *const bus = buses_[tlp.requester >> 8].get();
    const Pages *const pages = bus ? (*bus)[tlp.requester & 0xff].get() : nullptr;
    Page *const page = pages ? (*pages)[tlp.tag >> kPageLog2].get() : nullptr;
    return page ? &(*page)[tlp.tag % page->size()] : nullptr;
}

// Returns nullptr if the memory budget is used up.
template <typename Table>
Table *LatencyMatcher::made(std::unique_ptr<Table> &at)
{
    if (!at && budget_->take(sizeof(Table)))
        at = std::make_unique<Table>();
    return at.get();
}

LatencyMatcher::Pending *LatencyMatcher::make(const Tlp &tlp)
{
    if (Pending *const pending = find(tlp))
        return pending;
    Bus *const bus = made(buses_[tlp.requester >> 8]);
    Pages *const pages = bus ? made((*bus)[tlp.requester & 0xff]) : nullptr;
    Page *const page = pages ? made((*pages)[tlp.tag >> kPageLog2]) : nullptr;
    return page ? &(*page)[tlp.tag % page->size()] : nullptr;
}

void LatencyMatcher::request(const Tlp &tlp, uint64_t time)
{
    totals_.requests++;
    Pending *const pending = make(tlp);
    if (!pending) {
        totals_.untracked++;
        return;
    }
    if (pending->era == era_)
        totals_.reused++;
    else
        outstanding_++;
    *pending = {time, era_};
}

std::optional<uint64_t> LatencyMatcher::completion(const Tlp &tlp, uint64_t time)
{
    Pending *const pending = find(tlp);
    if (!pending || pending->era != era_) {
        totals_.unmatched++;
        return std::nullopt;
    }
    const bool failed = tlp.status != static_cast<uint8_t>(CompletionStatus::kSuccess);
    const bool last = failed || !tlp.kind.data || tlp.byte_count <= data_bytes(tlp);
    if (!last)
        return std::nullopt;
    pending->era = 0;
    outstanding_--;
    totals_.answered++;
    totals_.failed += failed;
    return time > pending->since ? time - pending->since : 0;
}

std::optional<uint64_t> LatencyMatcher::note(const Tlp &tlp, uint64_t time)
{
    if (tlp.kind.queue == TlpClass::kCompletion)
        return completion(tlp, time);
    if (tlp.kind.queue == TlpClass::kNonPosted)
        request(tlp, time);
    return std::nullopt;
}

void LatencyMatcher::forget()
{
    era_++;
    totals_.forgotten += outstanding_;
    outstanding_ = 0;
}

}  // namespace pmukit::decode::hisi_ptt
