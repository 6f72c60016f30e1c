// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/move_pages.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

namespace pmukit::tier {
namespace {

constexpr pid_t kPid = 77;
constexpr uint64_t kPage = 4096;

// A simulated kernel, which moves pages as the test configures it.
struct Kernel {
    std::map<uint64_t, int> refuses;  // status of the move of each page, by address
    std::map<uint64_t, int> node_of;  // node of each page by address
    int error = 0;                    // errno of the whole call
    int query_error = 0;
    std::vector<size_t> sizes;  // number of pages in each move call
    int flags = -1;
};

Kernel kernel;

int answer(uint64_t address, const int *node)
{
    if (!node) {
        const auto at = kernel.node_of.find(address);
        return at == kernel.node_of.end() ? -ENOENT : at->second;
    }
    if (const auto refused = kernel.refuses.find(address); refused != kernel.refuses.end())
        return refused->second;
    return kernel.node_of[address] = *node;
}

long fake_move_pages(pid_t pid, unsigned long count, void **pages, const int *nodes, int *status,
                     int flags)
{
    EXPECT_EQ(pid, kPid);
    errno = nodes ? kernel.error : kernel.query_error;
    if (nodes) {
        kernel.sizes.push_back(count);
        kernel.flags = flags;
    }
    if (errno)
        return -1;
    for (unsigned long i = 0; i < count; i++)
        status[i] = answer(reinterpret_cast<uintptr_t>(pages[i]), nodes ? nodes + i : nullptr);
    return 0;
}

class Moving : public testing::Test {
protected:
    Moving() { kernel = {}; }
    void pages(size_t number)
    {
        for (size_t i = 1; i <= number; i++) {
            moves.push_back({i * kPage, 1});
            kernel.node_of[i * kPage] = 1;
        }
    }
    Result<void> move()
    {
        const Result<HeldProcess> self = HeldProcess::open("/proc/self");
        return move_to(kPid, *self, moves, 0, moved, fake_move_pages);
    }

    std::vector<Move> moves;
    Moved moved;
};

TEST_F(Moving, MovesAllPages)
{
    pages(3);
    ASSERT_TRUE(move());
    EXPECT_EQ(moved.moved, 3u);
    EXPECT_EQ(kernel.node_of[kPage], 0);
    EXPECT_EQ(kernel.flags, MPOL_MF_MOVE);
}

TEST_F(Moving, MovesAtMost512PagesPerCall)
{
    for (size_t number : {0, 1, 511, 512, 513, 1025}) {
        kernel = {};
        moves.clear();
        moved = {};
        pages(number);
        ASSERT_TRUE(move());
        EXPECT_EQ(moved.moved, number);
        EXPECT_EQ(kernel.sizes.size(), (number + 511) / 512);
        for (size_t size : kernel.sizes)
            EXPECT_LE(size, 512u);
    }
}

// The pid of the ended process may belong to another process.
TEST_F(Moving, MovesNoPageAfterTheProcessEnded)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const Result<HeldProcess> held = HeldProcess::open("/proc/" + std::to_string(child));
    ASSERT_TRUE(held);
    pages(513);
    EXPECT_TRUE(held->is_there());
    ASSERT_TRUE(move_to(kPid, *held, std::span(moves).first(1), 0, moved, fake_move_pages));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(held->is_there());
    const Result<void> done =
        move_to(kPid, *held, std::span(moves).subspan(1), 0, moved, fake_move_pages);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kNotFound);
    EXPECT_EQ(moved.moved, 1u);
    EXPECT_EQ(kernel.node_of[2 * kPage], 1);
}

TEST_F(Moving, CountsUnmovedPagesByReason)
{
    pages(7);
    kernel.refuses = {{1 * kPage, -EBUSY},  {2 * kPage, -EACCES}, {3 * kPage, -ENOMEM},
                      {4 * kPage, -ENOENT}, {5 * kPage, -EFAULT}, {6 * kPage, 0}};
    kernel.node_of.erase(4 * kPage);
    kernel.node_of[5 * kPage] = -EFAULT;
    ASSERT_TRUE(move());
    EXPECT_EQ(moved.moved, 1u);
    // One of the two pages is the sixth page, which did not move although its status is 0.
    EXPECT_EQ(moved.busy, 2u);
    EXPECT_EQ(moved.shared, 1u);
    EXPECT_EQ(moved.no_room, 1u);
    EXPECT_EQ(moved.gone, 2u);
}

TEST_F(Moving, FullTargetNodeIsNotAnErrorAndItsPagesAreCounted)
{
    pages(4);
    kernel.error = ENOMEM;
    ASSERT_TRUE(move());
    EXPECT_EQ(moved.no_room, 4u);
}

TEST_F(Moving, ReportsWhyTheWholeCallFailed)
{
    struct Case {
        int error;
        Errc code;
        const char *words;
    };
    pages(1);
    for (const Case &one :
         {Case{ESRCH, Errc::kNotFound, "gone"}, Case{EPERM, Errc::kDenied, "CAP_SYS_PTRACE"},
          Case{ENODEV, Errc::kUnsupported, "node 0"}, Case{EACCES, Errc::kUnsupported, "cpuset"},
          Case{EINVAL, Errc::kIo, "Invalid argument"}}) {
        kernel.error = one.error;
        const Result<void> done = move();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, one.code);
        EXPECT_NE(done.error().message.find(one.words), std::string::npos) << done.error().message;
        EXPECT_EQ(done.error().message.find("process 77"), 0u);
    }
}

TEST_F(Moving, ProcessThatEndsBeforeItsNodesAreQueriedIsNotFound)
{
    pages(1);
    kernel.query_error = ESRCH;
    const Result<void> done = move();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace pmukit::tier
