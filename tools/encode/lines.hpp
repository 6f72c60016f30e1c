// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The lines of a case that encode bytes. To support a new driver, add its lines to the table in
// lines.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::encode {

using Words = std::span<const std::string_view>;  // the words after the first word of a line

struct Line {
    std::string_view first;  // first word of the line
    Result<void> (*append)(Words words, std::vector<std::byte> &bytes);
};

// Returns nullptr if no line begins with this word.
const Line *line_of(std::string_view first);

Result<uint64_t> number_of(std::string_view word, int base = 0);

}  // namespace pmukit::encode
