// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the PMUs of the suite say they support, in caps/, held against an event before the kernel is
// asked: it has one errno for all reasons. Documentation/ABI says what each file means.
#pragma once

#include <optional>
#include <string>

#include "record/sysfs_pmu.hpp"

namespace pmukit::record {

struct Unsupported {
    std::string term;
    std::string why;  // names the value and what is supported
};

// nullopt: nothing is known against it. A file in caps/ that is missing or not understood says
// nothing: the kernel decides.
std::optional<Unsupported> find_unsupported(const Pmu &pmu, const ConfigWords &words);

}  // namespace pmukit::record
