// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures how long non-posted requests wait for their completions. A completion names its request
// by requester and tag (14 bits if both have wide tags). A read may have several completions; the
// one with the last byte ends it. Nothing is allocated per packet: pending requests are in pages of
// 256 tags of one requester, which differ in their lower eight bits.
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

// Counts values: small ones exactly, others within one eighth.
class Histogram {
public:
    void add(uint64_t value);

    uint64_t count() const { return count_; }
    uint64_t min() const { return count_ ? min_ : 0; }
    uint64_t max() const { return max_; }
    double mean() const;
    // The smallest value that this share (0 to 1) of all values does not exceed.
    uint64_t quantile(double share) const;

    struct Bucket {
        uint64_t first, last, count;  // values, inclusive
    };
    std::vector<Bucket> buckets() const;  // those that are not empty

private:
    static constexpr unsigned kStepLog2 = 3;  // buckets per power of two
    static constexpr size_t kBuckets = (64 - kStepLog2 + 1) << kStepLog2;

    static size_t bucket_of(uint64_t value);
    static uint64_t first_of(size_t bucket);
    static uint64_t last_of(size_t bucket);

    std::vector<uint64_t> counts_;  // up to the bucket of the largest value
    uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
    double sum_ = 0;
};

struct LatencyTotals {
    uint64_t requests = 0;   // non-posted
    uint64_t answered = 0;   // requests whose last completion was seen
    uint64_t failed = 0;     // of those: with a status other than success
    uint64_t unmatched = 0;  // completions without a known request
    uint64_t reused = 0;     // requests whose tag was used again before their completion
    uint64_t forgotten = 0;  // requests that were pending when data was lost
    uint64_t untracked = 0;  // requests beyond the memory budget
};

class LatencyMatcher {
public:
    explicit LatencyMatcher(
        std::shared_ptr<Budget> budget = std::make_shared<Budget>(limits::kRequesters))
        : budget_(std::move(budget))
    {
    }
    // Returns the ticks that a request took, if this TLP is its last completion.
    std::optional<uint64_t> note(const Tlp &tlp, uint64_t time);
    // Call when data was lost: it may include completions of pending requests.
    void forget();

    const LatencyTotals &totals() const { return totals_; }
    uint64_t outstanding() const { return outstanding_; }

private:
    struct Pending {
        uint64_t since = 0;
        uint64_t era = 0;  // pending while equal to era_
    };
    static constexpr unsigned kPageLog2 = 8;  // tags
    using Page = std::array<Pending, 1U << kPageLog2>;
    using Pages = std::array<std::unique_ptr<Page>, 64>;  // by the upper bits of the tag
    using Bus = std::array<std::unique_ptr<Pages>, 256>;  // by the lower bits of the requester

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
