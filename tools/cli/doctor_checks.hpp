// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks for everything that can prevent a recording on a machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor_host.hpp"

namespace pmukit::cli {

enum class Health {
    kGood,
    kNote,  // nothing fails, but a feature that a user may want is not available
    kBad,   // a part of pmukit cannot work
};

struct Finding {
    std::string_view check;
    Health health;
    std::string what;
    std::string fix{};  // one line; empty: nothing to do
};

std::string_view health_name(Health health);

// Runs all checks. A problem that must be fixed first comes first in the result.
std::vector<Finding> examine(const Host &host);

}  // namespace pmukit::cli
