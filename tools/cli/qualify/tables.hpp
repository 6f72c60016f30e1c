// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The tables of the five drivers, each in a file of its own, and what several of them need.
#pragma once

#include <optional>
#include <string>

#include "base/number.hpp"
#include "cli/qualify/check.hpp"

namespace pmukit::cli::qualify {

extern const Driver kCacheQosDriver, kCxlHmuDriver, kHisiPttDriver, kImcDriver, kUncorePmonDriver;

// Of a file that may not be there.
inline Result<uint64_t> parse_number(const std::optional<std::string> &text)
{
    return parse_u64(text.value_or(""));
}

// Microseconds of a clock that goes on steadily.
int64_t now_us();
void sleep_us(int64_t us);

}  // namespace pmukit::cli::qualify
