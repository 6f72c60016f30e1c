// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The statement tables of the five drivers, each in its own file, and helpers for several tables.
#pragma once

#include <optional>
#include <string>

#include "base/number.hpp"
#include "cli/qualify/check.hpp"

namespace pmukit::cli::qualify {

extern const Driver kCacheQosDriver, kCxlHmuDriver, kHisiPttDriver, kImcDriver, kUncorePmonDriver;

// Parses the contents of a file. nullopt: the file is missing; the result is an error.
inline Result<uint64_t> parse_number(const std::optional<std::string> &text)
{
    return parse_u64(text.value_or(""));
}

// Monotonic time in microseconds.
int64_t now_us();
void sleep_us(int64_t us);

}  // namespace pmukit::cli::qualify
