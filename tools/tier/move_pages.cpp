// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/move_pages.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace pmukit::tier {

namespace {

constexpr size_t kPagesAtOnce = 512;
// Initial status of a page; it remains if move_pages(2) reports no status for the page.
constexpr int kUnanswered = -EBUSY;

struct Reason {
    int status;
    Fate fate;
};

// Statuses of move_pages(2) for a page. Any other status means that the page could not be isolated
// or copied.
constexpr Reason kReasons[] = {
    {-ENOENT, &Moved::gone},
    {-EFAULT, &Moved::gone},  // the page is not mapped, or is the zero page
    {-EACCES, &Moved::shared},
    {-ENOMEM, &Moved::no_room},
};

Fate fate_of(int status)
{
    const auto reason = std::ranges::find(kReasons, status, &Reason::status);
    return reason == std::end(kReasons) ? &Moved::busy : reason->fate;
}

Error explain(pid_t pid, uint32_t node, int error)
{
    const std::string process = "process " + std::to_string(pid) + ": ";
    switch (error) {
        case ESRCH:
            return Error{Errc::kNotFound, process + "it is gone"};
        case EPERM:
            return Error{Errc::kDenied,
                         process + "its pages may not be moved: CAP_SYS_PTRACE is needed, be root"};
        case EACCES:
        case ENODEV:
            return Error{Errc::kUnsupported,
                         process + "node " + std::to_string(node) +
                             " is offline, has no memory, or is not in its cpuset"};
        default:
            return Error{Errc::kIo, process + "move_pages: " + std::strerror(error)};
    }
}

// The arguments of one call of move_pages(2).
struct Batch {
    std::vector<void *> pages;
    std::vector<int> nodes, status;

    Batch(std::span<const Move> moves, uint32_t node)
        : nodes(moves.size(), static_cast<int>(node)), status(moves.size(), kUnanswered)
    {
        for (const Move &move : moves)
            pages.push_back(reinterpret_cast<void *>(static_cast<uintptr_t>(move.address)));
    }
};

// Counts moved pages by the node where each page is after the call, not by the reported status:
// some kernels do not write the status of pages that they failed to copy.
void count(const Batch &batch, const std::vector<int> &now, uint32_t node, Moved &moved,
           std::vector<Fate> *fates)
{
    for (size_t i = 0; i < now.size(); i++) {
        const Fate fate = now[i] == static_cast<int>(node)
                              ? &Moved::moved
                              : fate_of(now[i] < 0 ? now[i] : batch.status[i]);
        moved.*fate += 1;
        if (fates)
            fates->push_back(fate);
    }
}

}  // namespace

long system_move_pages(pid_t pid, unsigned long count, void **pages, const int *nodes, int *status,
                       int flags)
{
    return ::syscall(SYS_move_pages, pid, count, pages, nodes, status, flags);
}

Result<void> move_to(pid_t pid, const HeldProcess &process, std::span<const Move> moves,
                     uint32_t node, Moved &moved, MovePages call, std::vector<Fate> *fates)
{
    while (!moves.empty()) {
        if (!process.is_there())
            return explain(pid, node, ESRCH);
        const auto some = moves.first(std::min(kPagesAtOnce, moves.size()));
        moves = moves.subspan(some.size());
        Batch batch(some, node);
        if (call(pid, some.size(), batch.pages.data(), batch.nodes.data(), batch.status.data(),
                 MPOL_MF_MOVE) < 0) {
            if (errno != ENOMEM)
                return explain(pid, node, errno);
            std::ranges::fill(batch.status, -ENOMEM);
        }
        std::vector<int> now(some.size(), kUnanswered);
        if (call(pid, some.size(), batch.pages.data(), nullptr, now.data(), 0) < 0)
            return explain(pid, node, errno);
        count(batch, now, node, moved, fates);
    }
    return {};
}

}  // namespace pmukit::tier
