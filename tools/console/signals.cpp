// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "base/file.hpp"

namespace pmukit::cli {
namespace {

bool has_default_action(int signal)
{
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

bool is_ignored(int signal)
{
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::vector<int> ending_signals()
{
    std::vector<int> signals = {SIGINT,    SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,   SIGUSR2, SIGALRM,
                                SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,   SIGSTKFLT, SIGPWR};
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
        signals.push_back(signal);
    return signals;
}

Result<Fd> catch_signals(const std::vector<int> &signals)
{
    sigset_t caught;
    ::sigemptyset(&caught);
    for (const int signal : signals)
        if (signal == SIGINT || signal == SIGTERM || has_default_action(signal))
            ::sigaddset(&caught, signal);
    ::sigprocmask(SIG_BLOCK, &caught, nullptr);
    Fd fd(::signalfd(-1, &caught, SFD_CLOEXEC));
    if (!fd)
        return system_error("signalfd", errno);
    return fd;
}

}  // namespace pmukit::cli
