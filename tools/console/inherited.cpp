// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/inherited.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <iterator>

namespace pmukit::cli {
namespace {

// Signals whose disposition main() or a command changes. For other signals the program at most
// installs a handler, and exec() resets handlers.
constexpr int kChanged[] = {SIGPIPE, SIGXFSZ, SIGCHLD, SIGBUS, SIGUSR2};

struct Inherited {
    bool is_ignored[std::size(kChanged)] = {};
    sigset_t blocked{};
    rlimit files{};
    bool has_files = false;  // true if RLIMIT_NOFILE was changed; `files` has the old limits
};
Inherited inherited;

}  // namespace

void note_inherited()
{
    for (size_t i = 0; i < std::size(kChanged); i++) {
        struct sigaction action {};
        inherited.is_ignored[i] =
            ::sigaction(kChanged[i], nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    ::sigprocmask(SIG_SETMASK, nullptr, &inherited.blocked);
}

void restore_inherited()
{
    for (size_t i = 0; i < std::size(kChanged); i++)
        ::signal(kChanged[i], inherited.is_ignored[i] ? SIG_IGN : SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &inherited.blocked, nullptr);
    if (inherited.has_files)
        ::setrlimit(RLIMIT_NOFILE, &inherited.files);
}

void allow_more_files()
{
    if (::getrlimit(RLIMIT_NOFILE, &inherited.files) != 0)
        return;
    rlimit most = inherited.files;
    most.rlim_cur = most.rlim_max;
    inherited.has_files = ::setrlimit(RLIMIT_NOFILE, &most) == 0;
}

}  // namespace pmukit::cli
