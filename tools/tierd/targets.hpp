// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the processes whose pages may move.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::tierd {

struct Targets {
    std::vector<uint32_t> processes;  // pids
    std::string cgroup;               // folder of a cgroup; its child cgroups belong to it
    bool all = false;                 // all processes of the machine
};

// Returns the pids, ascending, each once. Processes may have ended meanwhile.
Result<std::vector<uint32_t>> find_processes(const Targets &targets, const std::string &proc_root);

}  // namespace pmukit::tierd
