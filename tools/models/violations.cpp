// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/violations.hpp"

#include <fmt/core.h>

namespace pmukit::models {

void Violations::add(std::string_view rule, std::string_view detail)
{
    if (lenient_)
        return;
    count_++;
    if (lines_[rule]++ < kLinesPerRule)
        host_.log(fmt::format("violation: {}: {}", rule, detail));
}

}  // namespace pmukit::models
