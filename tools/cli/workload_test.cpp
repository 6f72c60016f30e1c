// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A command waits for its release, and its end and failure are told apart.
#include "cli/workload.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <filesystem>

namespace pmukit::cli {
namespace {

bool ends(const Workload &workload, int timeout_ms)
{
    pollfd fd{workload.ended_fd(), POLLIN, 0};
    return ::poll(&fd, 1, timeout_ms) == 1;
}

TEST(Workload, WaitsForItsRelease)
{
    std::string mark = testing::TempDir() + "pmukit_workload_test." + std::to_string(::getpid());
    Result<Workload> workload = Workload::prepare({"touch", mark});
    ASSERT_TRUE(workload);
    EXPECT_FALSE(ends(*workload, 50));
    EXPECT_FALSE(std::filesystem::exists(mark));
    ASSERT_TRUE(workload->release());
    EXPECT_TRUE(ends(*workload, 10000));
    EXPECT_EQ(workload->wait(), 0);
    EXPECT_TRUE(std::filesystem::remove(mark));
}

TEST(Workload, GivesItsExitStatus)
{
    Result<Workload> workload = Workload::prepare({"sh", "-c", "exit 3"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    ASSERT_TRUE(ends(*workload, 10000));
    EXPECT_EQ(workload->wait(), 3);
}

TEST(Workload, IsNoSuccessWhenNobodyKnowsItsStatus)
{
    const auto before = ::signal(SIGCHLD, SIG_IGN);  // the kernel waits for it
    Result<Workload> workload = Workload::prepare({"sh", "-c", "exit 3"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    ASSERT_TRUE(ends(*workload, 10000));
    EXPECT_NE(workload->wait(), 0);
    ::signal(SIGCHLD, before);
}

TEST(Workload, IsEndedWhenItStillRuns)
{
    Result<Workload> workload = Workload::prepare({"sleep", "600"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    EXPECT_EQ(workload->wait(), 128 + SIGTERM);
}

TEST(Workload, LeavesWhenNobodyReleasesIt)
{
    pid_t pid = 0;
    {
        Result<Workload> workload = Workload::prepare({"sleep", "600"});
        ASSERT_TRUE(workload);
        pid = workload->pid();
    }
    EXPECT_EQ(::kill(pid, 0), -1) << "it is gone and was waited for";
}

TEST(Workload, SaysThatACommandDoesNotExist)
{
    Result<Workload> workload = Workload::prepare({"/nonexistent/command"});
    ASSERT_TRUE(workload);
    Result<void> released = workload->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().code, Errc::kNotFound);
    EXPECT_NE(released.error().message.find("/nonexistent/command"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::cli
