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
    kNote,  // nothing is broken, but something that a user may want is missing
    kBad,   // something cannot work
};

struct Finding {
    std::string_view check;
    Health health;
    std::string what;
    std::string fix{};  // one line; empty: nothing to do
};

std::string_view health_name(Health health);

// Runs all checks, in the order in which their problems are to be fixed.
std::vector<Finding> examine(const Host &host);

}  // namespace pmukit::cli
