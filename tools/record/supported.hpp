// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks an event against the values that pmukit's PMUs list in caps/, before the event is opened:
// the kernel has one errno for all reasons of a refusal. Documentation/ABI describes the files.
#pragma once

#include <optional>
#include <string>

#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

struct Unsupported {
    std::string term;
    std::string why;  // names the value and the supported values
};

// Returns nullopt if the event is supported. A missing or invalid file in caps/ is ignored, so that
// the kernel decides.
std::optional<Unsupported> find_unsupported(const Pmu &pmu, const ConfigWords &words);

}  // namespace pmukit::record
