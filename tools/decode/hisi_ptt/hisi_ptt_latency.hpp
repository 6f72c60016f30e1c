// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How long non-posted requests wait for their completions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace pmukit::decode::hisi_ptt {

// A histogram. Values below 8 are counted exactly, larger values with an error of at most one
// eighth.
class Histogram {
public:
    Histogram();
    Histogram(Histogram &&) noexcept;
    Histogram &operator=(Histogram &&) noexcept;
    ~Histogram();

    void add(uint64_t value);

    uint64_t count() const;
    uint64_t min() const;
    uint64_t max() const;
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
    struct State;
    std::unique_ptr<State> state_;
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

}  // namespace pmukit::decode::hisi_ptt
