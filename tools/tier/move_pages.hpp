// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Executes a plan with move_pages(2), and reports how many pages were moved.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "tier/plan.hpp"
#include "tier/process_pages.hpp"

namespace pmukit::tier {

// Results of the requested moves: each requested page counts in exactly one member.
struct Moved {
    uint64_t moved = 0;
    uint64_t gone = 0;     // the page no longer exists
    uint64_t shared = 0;   // another process has mapped the page since the plan was made
    uint64_t busy = 0;     // pinned, or in use at that moment
    uint64_t no_room = 0;  // no free memory on the node
};

// Names what happened to a page.
using Fate = uint64_t Moved::*;

// The system call move_pages(2), which a test can replace. If `nodes` is nullptr, it only queries
// the node of each page.
using MovePages = long (*)(pid_t pid, unsigned long count, void **pages, const int *nodes,
                           int *status, int flags);
long system_move_pages(pid_t pid, unsigned long count, void **pages, const int *nodes, int *status,
                       int flags);

// Moves pages to the node and adds the results to `moved`. An Error concerns the process or the
// node, never a single page. `process` is the process with this pid; before each batch of 512
// pages, move_to() checks that it still exists. `fates`: gets one element per page, up to an error.
Result<void> move_to(pid_t pid, const HeldProcess &process, std::span<const Move> moves,
                     uint32_t node, Moved &moved, MovePages call = system_move_pages,
                     std::vector<Fate> *fates = nullptr);

}  // namespace pmukit::tier
