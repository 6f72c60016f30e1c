// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the cgroups that option -G names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::record {

constexpr const char *kMounts = "/proc/self/mounts";

// Returns the mount point of the hierarchy that has perf's cgroups, from the text of proc(5)'s
// mounts. As in perf, that is the hierarchy of version 1 with the controller perf_event, or else
// that of version 2, where every cgroup has it. nullopt: neither is mounted.
std::optional<std::string> cgroup_root(std::string_view mounts);

// Opens the directory of a cgroup, whose descriptor perf_event_open(2) takes. As in perf, a name is
// relative to the root of the hierarchy.
Result<Fd> open_cgroup(const std::string &name, const std::string &mounts_path = kMounts);

}  // namespace pmukit::record
