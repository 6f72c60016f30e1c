// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sums of numbers from a file or device, which may have any value.
#pragma once

#include <cstdint>

namespace pmukit {

// Adds without wrapping: a sum above 2^64 - 1 is 2^64 - 1.
constexpr uint64_t add_or_max(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// Adds a number to a sum, as add_or_max().
constexpr void add_to(uint64_t &sum, uint64_t number)
{
    sum = add_or_max(sum, number);
}

}  // namespace pmukit
