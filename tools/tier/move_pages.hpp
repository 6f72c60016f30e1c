// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Carries a plan out with move_pages(2), and says what came of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "tier/plan.hpp"
#include "tier/process_pages.hpp"

namespace pmukit::tier {

// What became of the pages that were asked for. They add up to that number.
struct Moved {
    uint64_t moved = 0;
    uint64_t gone = 0;     // no page there any more
    uint64_t shared = 0;   // with another process, meanwhile
    uint64_t busy = 0;     // pinned, or in use at that moment
    uint64_t no_room = 0;  // on the node
};

// The system call, so that a test can take its place. nodes: nullptr only asks where pages are.
using MovePages = long (*)(pid_t pid, unsigned long count, void **pages, const int *nodes,
                           int *status, int flags);
long system_move_pages(pid_t pid, unsigned long count, void **pages, const int *nodes, int *status,
                       int flags);

// Adds to `moved`. An error is the process's or the node's, not that of a page. process: what has
// this pid, looked at before each 512 pages.
Result<void> move_to(pid_t pid, const HeldProcess &process, std::span<const Move> moves,
                     uint32_t node, Moved &moved, MovePages call = system_move_pages);

}  // namespace pmukit::tier
