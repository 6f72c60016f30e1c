// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names of cgroups, from the CGROUP records of a recording. As in perf, the first name of an id
// counts, and samples before it have no name.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/stable_map.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::cli {

class CgroupNames {
public:
    // Takes records of any type, in the order of the file.
    void note(const perfdata::Record &record, std::endian order);
    // Path of the cgroup with this id, from the root of cgroup2. Empty: unknown.
    std::string_view path(uint64_t id) const;
    // Number of names that were dropped because of limits::kCgroups.
    uint64_t dropped() const { return dropped_; }

private:
    StableMap<uint64_t, std::string> paths_;
    Budget left_{limits::kCgroups};
    uint64_t dropped_ = 0;
};

}  // namespace pmukit::cli
