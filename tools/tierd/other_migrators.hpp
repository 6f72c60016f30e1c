// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds what else migrates pages between nodes on this machine. Two of them would undo each other's
// work.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::tierd {

// Returns one line, with the command that stops it, for NUMA balancing of the kernel
// (/proc/sys/kernel/numa_balancing) and for each kdamond with a scheme that migrates pages
// (/sys/kernel/mm/damon).
std::vector<std::string> other_migrators(const std::string &proc_root, const std::string &sys_root);

// Locks a file until the descriptor is closed or the process ends, also by SIGKILL. Error kBusy:
// another process has it locked.
Result<Fd> lock_file(const std::string &path);

}  // namespace pmukit::tierd
