// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Helpers of the *_bench programs: measure the processing rate of a function, and the memory
// bandwidth.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/bytes.hpp"

namespace pmukit::bench {

constexpr int kRounds = 7;
inline volatile uint64_t keep;  // stores results, so that no work is optimized away

// Returns the rate in GB/s of the fastest of kRounds calls of work(), which processes `bytes` bytes
// and returns a number that depends on all its results.
template <typename Work>
double best_rate(size_t bytes, Work work)
{
    double best = 0;
    for (int round = 0; round < kRounds; round++) {
        const auto begin = std::chrono::steady_clock::now();
        keep = work();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::max(best, static_cast<double>(bytes) / took.count() / 1e9);
    }
    return best;
}

// Returns the sum of the words in these bytes. The benchmarks compare the rate of each reader with
// the rate of this function.
inline uint64_t memory_sum(Bytes bytes)
{
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8)
        sum += load_le<uint64_t>(bytes.data() + at);
    return sum;
}

}  // namespace pmukit::bench
