// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Executes a plan with move_pages(2), and reports the result.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "tier/plan.hpp"
#include "tier/process_pages.hpp"

namespace pmukit::tier {

// Results of the requested moves. The sum of all is the number of requested pages.
struct Moved {
    uint64_t moved = 0;
    uint64_t gone = 0;     // the page no longer exists
    uint64_t shared = 0;   // shared with another process since the plan was made
    uint64_t busy = 0;     // pinned, or in use at that moment
    uint64_t no_room = 0;  // no free memory on the node
};

// The system call, which a test can replace. nodes: nullptr only queries where the pages are.
using MovePages = long (*)(pid_t pid, unsigned long count, void **pages, const int *nodes,
                           int *status, int flags);
long system_move_pages(pid_t pid, unsigned long count, void **pages, const int *nodes, int *status,
                       int flags);

// Adds to `moved`. Returns an Error for the process or the node, never for a page. process: the
// process with this pid, which is checked to exist before each batch of 512 pages.
Result<void> move_to(pid_t pid, const HeldProcess &process, std::span<const Move> moves,
                     uint32_t node, Moved &moved, MovePages call = system_move_pages);

}  // namespace pmukit::tier
