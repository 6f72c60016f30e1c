// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures how long non-posted requests wait for their completions. A completion names its request
// by requester and tag (14 bits if both have wide tags). A read may have several completions; the
// one with the last byte ends it. The matcher allocates nothing per packet: pending requests are in
// pages. A page has 256 tags of one requester, which differ only in their lower eight bits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"

namespace pmukit::decode::hisi_ptt {

// A histogram. Values below 8 are counted exactly, larger values with an error of at most one
// eighth.
class Histogram {
public:
    void add(uint64_t value);

    uint64_t count() const { return count_; }
    uint64_t min() const { return count_ ? min_ : 0; }
    uint64_t max() const { return max_; }
    double mean() const;
    // Returns the smallest value v such that at least the fraction `share` (0 to 1) of all values
    // is <= v, rounded up to the end of its bucket but at most to max().
    uint64_t quantile(double share) const;

    struct Bucket {
        uint64_t first, last, count;  // first and last: values, inclusive
    };
    // Returns the buckets that are not empty.
    std::vector<Bucket> buckets() const;

private:
    static constexpr unsigned kStepLog2 = 3;  // buckets per power of two
    static constexpr size_t kBuckets = (64 - kStepLog2 + 1) << kStepLog2;

    static size_t bucket_of(uint64_t value);
    static uint64_t first_of(size_t bucket);
    static uint64_t last_of(size_t bucket);

    // Count of each bucket, up to the bucket of the largest value.
    std::vector<uint64_t> counts_;
    uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
    double sum_ = 0;
};

struct LatencyTotals {
    uint64_t requests = 0;   // non-posted requests
    uint64_t answered = 0;   // requests whose last completion was seen
    uint64_t failed = 0;     // requests whose completion has a status other than success
    uint64_t unmatched = 0;  // completions that match no pending request
    uint64_t reused = 0;     // requests whose tag was used again before their completion
    uint64_t forgotten = 0;  // requests that were pending when data was lost
    uint64_t untracked = 0;  // requests not tracked, because the memory budget was used up
};

class LatencyMatcher {
public:
    explicit LatencyMatcher(
        std::shared_ptr<Budget> budget = std::make_shared<Budget>(limits::kRequesters))
        : budget_(std::move(budget))
    {
    }
    // If this TLP is the last completion of a request, returns the latency of the request in ticks.
    std::optional<uint64_t> note(const Tlp &tlp, uint64_t time);
    // Forgets all pending requests. Call this when data was lost, because the lost data may contain
    // their completions.
    void forget();

    const LatencyTotals &totals() const { return totals_; }
    uint64_t outstanding() const { return outstanding_; }

private:
    struct Pending {
        uint64_t since = 0;
        // The request is pending as long as this equals LatencyMatcher::era_.
        uint64_t era = 0;
    };
    // log2 of the number of tags in a page.
    static constexpr unsigned kPageLog2 = 8;
    using Page = std::array<Pending, 1U << kPageLog2>;
    // Index: the upper bits of the tag.
    using Pages = std::array<std::unique_ptr<Page>, 64>;
    // Index: the lower 8 bits of the requester ID.
    using Bus = std::array<std::unique_ptr<Pages>, 256>;

    template <typename Table>
    Table *made(std::unique_ptr<Table> &at);
    Pending *find(const Tlp &tlp) const;
    Pending *make(const Tlp &tlp);
    void request(const Tlp &tlp, uint64_t time);
    std::optional<uint64_t> completion(const Tlp &tlp, uint64_t time);

    std::shared_ptr<Budget> budget_;
    std::array<std::unique_ptr<Bus>, 256> buses_;
    uint64_t era_ = 1;  // incremented by a loss
    uint64_t outstanding_ = 0;
    LatencyTotals totals_;
};

}  // namespace pmukit::decode::hisi_ptt
