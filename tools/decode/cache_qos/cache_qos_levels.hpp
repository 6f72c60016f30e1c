// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The median of many numbers, in limited memory. This header is not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/cache_qos/cache_qos_series.hpp"

namespace pmukit::decode::cache_qos {

// Computes the median: exact for at most kExact numbers, then within 1/32.
class __attribute__((visibility("hidden"))) Levels {
public:
    static constexpr size_t kExact = 512;

    void add(uint64_t level);
    // The median of an even count is the lower of the middle two. All fields are 0 without numbers.
    Summary summary() const;
    size_t bytes() const;  // memory in addition to the object

private:
    struct Bucket {
        uint16_t number;
        uint64_t levels;
    };

    uint64_t median() const;
    void count(uint64_t level);

    std::vector<uint64_t> exact_;  // in order of arrival; empty beyond kExact
    std::vector<Bucket> buckets_;  // sorted by number
    uint64_t levels_ = 0, min_ = UINT64_MAX, max_ = 0;
};

}  // namespace pmukit::decode::cache_qos
