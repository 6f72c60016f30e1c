// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/unfinished.hpp"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "perfdata/new_file.hpp"

namespace pmukit::cli {
namespace {

// All that a signal handler may touch.
char unfinished[PATH_MAX];

void remove_and_end(int signal)
{
    ::unlink(unfinished);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

}  // namespace

void remove_when_killed(const std::string &output)
{
    const std::string part = perfdata::NewFile::part_name(output);
    if (part.empty() || part.size() >= sizeof unfinished)
        return;
    std::memcpy(unfinished, part.c_str(), part.size() + 1);
    struct sigaction action {};
    action.sa_handler = remove_and_end;
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        // nohup(1) and shells' background jobs ignore them on purpose.
        if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            ::sigaction(signal, &action, nullptr);
    }
}

}  // namespace pmukit::cli
