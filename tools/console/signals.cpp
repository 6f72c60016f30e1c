// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "base/file.hpp"

namespace pmukit::cli {

bool is_ignored(int signal)
{
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

Result<Fd> catch_signals(std::initializer_list<int> signals)
{
    sigset_t caught;
    ::sigemptyset(&caught);
    for (const int signal : signals)
        if (signal != SIGHUP || !is_ignored(signal))
            ::sigaddset(&caught, signal);
    ::sigprocmask(SIG_BLOCK, &caught, nullptr);
    Fd fd(::signalfd(-1, &caught, SFD_CLOEXEC));
    if (!fd)
        return system_error("signalfd", errno);
    return fd;
}

}  // namespace pmukit::cli
