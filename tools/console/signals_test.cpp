// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/signals.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace pmukit::cli {
namespace {

// Restores the mask of blocked signals at the end of a test.
class Signals : public testing::Test {
protected:
    void SetUp() override { ::sigprocmask(SIG_SETMASK, nullptr, &before_); }
    void TearDown() override { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

    // Returns the signal that the descriptor reports; 0: none.
    static int sent(const Fd &fd, int signal)
    {
        ::raise(signal);
        ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
        signalfd_siginfo info{};
        return ::read(fd.get(), &info, sizeof info) == sizeof info
                   ? static_cast<int>(info.ssi_signo)
                   : 0;
    }

private:
    sigset_t before_{};
};

void raise_as_by_default(int signal)
{
    ::prctl(PR_SET_DUMPABLE, 0);  // no core file
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

// The reference is signal(7): what ends a process is found by ending one.
TEST_F(Signals, EndingSignalsAreThoseWhoseDefaultActionEndsAProgram)
{
    const std::vector<int> ending = ending_signals();
    for (const int signal : ending)
        EXPECT_EXIT(raise_as_by_default(signal), testing::KilledBySignal(signal), "") << signal;
    for (const int harmless : {SIGCHLD, SIGWINCH, SIGCONT, SIGURG, SIGTSTP, SIGSEGV, SIGKILL})
        EXPECT_EQ(std::ranges::count(ending, harmless), 0) << harmless;
}

TEST_F(Signals, DescriptorReportsEachEndingSignal)
{
    const auto hangup_before = ::signal(SIGHUP, SIG_DFL);  // nohup(1) ignores it
    const Result<Fd> fd = catch_signals(ending_signals());
    ::signal(SIGHUP, hangup_before);
    ASSERT_TRUE(fd);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGRTMAX})
        EXPECT_EQ(sent(*fd, signal), signal);
}

TEST_F(Signals, IgnoredSignalsStayIgnoredExceptSigintAndSigterm)
{
    const auto alarm_before = ::signal(SIGALRM, SIG_IGN), interrupt = ::signal(SIGINT, SIG_IGN);
    const Result<Fd> fd = catch_signals(ending_signals());
    ASSERT_TRUE(fd);
    ::raise(SIGALRM);
    EXPECT_EQ(sent(*fd, SIGINT), SIGINT) << "and not SIGALRM";
    ::signal(SIGALRM, alarm_before);
    ::signal(SIGINT, interrupt);
}

}  // namespace
}  // namespace pmukit::cli
