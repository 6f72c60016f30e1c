// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks an event against the values that the suite's PMUs list in caps/, before it is opened: the
// kernel has one errno for all reasons. Documentation/ABI describes each file.
#pragma once

#include <optional>
#include <string>

#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

struct Unsupported {
    std::string term;
    std::string why;  // names the value and what is supported
};

// nullopt: no objection. A file in caps/ that is missing or not understood is ignored: the kernel
// decides.
std::optional<Unsupported> find_unsupported(const Pmu &pmu, const ConfigWords &words);

}  // namespace pmukit::record
