// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A command must wait for its release. Its exit status and a failed exec are reported differently.
#include "cli/workload.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "console/inherited.hpp"

namespace pmukit::cli {
namespace {

bool ends(const Workload &workload, int timeout_ms)
{
    pollfd fd{workload.ended_fd(), POLLIN, 0};
    return ::poll(&fd, 1, timeout_ms) == 1;
}

TEST(Workload, CommandDoesNotStartUntilItIsReleased)
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

TEST(Workload, ReturnsTheExitStatus)
{
    Result<Workload> workload = Workload::prepare({"sh", "-c", "exit 3"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    ASSERT_TRUE(ends(*workload, 10000));
    EXPECT_EQ(workload->wait(), 3);
}

TEST(Workload, WaitReturnsAFailureIfTheExitStatusIsUnknown)
{
    const auto before = ::signal(SIGCHLD, SIG_IGN);  // makes the kernel reap the child
    Result<Workload> workload = Workload::prepare({"sh", "-c", "exit 3"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    ASSERT_TRUE(ends(*workload, 10000));
    EXPECT_NE(workload->wait(), 0);
    ::signal(SIGCHLD, before);
}

TEST(Workload, WaitTerminatesARunningCommand)
{
    Result<Workload> workload = Workload::prepare({"sleep", "600"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    EXPECT_EQ(workload->wait(), 128 + SIGTERM);
}

// Returns a value from /proc/PID/status of a workload.
uint64_t status_of_command(const std::string &key)
{
    const std::string path =
        testing::TempDir() + "pmukit_workload_test." + std::to_string(::getpid());
    Result<Workload> workload =
        Workload::prepare({"sh", "-c", "exec cat /proc/self/status >" + path});
    EXPECT_TRUE(workload);
    EXPECT_TRUE(workload->release());
    EXPECT_TRUE(ends(*workload, 10000));
    workload->wait();
    std::ifstream status(path);
    uint64_t value = 0;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key))
            value = std::stoull(line.substr(key.size()), nullptr, 16);
    std::filesystem::remove(path);
    return value;
}

TEST(Workload, CommandHasTheSignalStateThatPmukitInherited)
{
    const auto bit = [](int signal) { return uint64_t{1} << (signal - 1); };
    sigset_t none, blocked, before;  // earlier tests of this process may have blocked signals
    ::sigemptyset(&none);
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR1);
    ::sigprocmask(SIG_SETMASK, &blocked, &before);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_DFL);
    ::signal(SIGUSR2, SIG_DFL);
    note_inherited();
    // Change the signal state as main() and a recorder do.
    ::signal(SIGXFSZ, SIG_IGN);
    ::signal(SIGUSR2, SIG_IGN);
    ::signal(SIGPIPE, SIG_DFL);
    ::sigaddset(&blocked, SIGTERM);
    ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
    EXPECT_EQ(status_of_command("SigIgn:") & (bit(SIGPIPE) | bit(SIGXFSZ) | bit(SIGUSR2)),
              bit(SIGPIPE));
    EXPECT_EQ(status_of_command("SigBlk:"), bit(SIGUSR1));
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGXFSZ, SIG_DFL);
    ::signal(SIGUSR2, SIG_DFL);
    note_inherited();
    EXPECT_EQ(status_of_command("SigBlk:"), 0U);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(Workload, CommandHasTheOpenFileLimitThatPmukitInherited)
{
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit low = before;
    low.rlim_cur = 64;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    allow_more_files();
    rlimit now{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_EQ(now.rlim_cur, now.rlim_max);
    Result<Workload> workload = Workload::prepare({"sh", "-c", "exit $(ulimit -Sn)"});
    ASSERT_TRUE(workload);
    ASSERT_TRUE(workload->release());
    ASSERT_TRUE(ends(*workload, 10000));
    EXPECT_EQ(workload->wait(), 64);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Workload, EndLikewise_KillsTheProcessByTheSignalThatKilledTheCommand)
{
    const pid_t child = ::fork();
    if (child == 0) {
        Result<Workload> workload = Workload::prepare({"sh", "-c", "kill -SEGV $$"});
        if (workload && workload->release() && ends(*workload, 10000) &&
            workload->wait() == 128 + SIGSEGV)
            workload->end_likewise();
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
    EXPECT_FALSE(WCOREDUMP(status));
}

TEST(Workload, CommandThatIsNeverReleasedExits)
{
    pid_t pid = 0;
    {
        Result<Workload> workload = Workload::prepare({"sleep", "600"});
        ASSERT_TRUE(workload);
        pid = workload->pid();
    }
    EXPECT_EQ(::kill(pid, 0), -1) << "it is gone and was waited for";
}

TEST(Workload, ReportsAMissingCommand)
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
