// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Output for terminals only: colors, a pager, a progress line. No other component reads NO_COLOR,
// TERM, PMUKIT_PAGER and PAGER.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace pmukit::cli {

// `when` is "auto", "always" or "never". With "auto", colors are used if fd is a terminal that is
// not dumb, and NO_COLOR is unset or empty (no-color.org).
bool wants_color(const std::string &when, int fd);

// Sends standard output through a pager, as git does: PMUKIT_PAGER, PAGER or less, with LESS=FRX.
// An empty value, or cat, means no pager.
class Pager {
public:
    Pager() = default;
    Pager(const Pager &) = delete;
    Pager &operator=(const Pager &) = delete;
    ~Pager() { end(); }

    // Redirects standard output to the pager; does nothing if no pager is wanted or available.
    // Until the pager exits, Ctrl-C does not end this program: otherwise the pager and the shell
    // would both read from the terminal.
    void begin();
    bool is_on() const { return pid_ > 0; }
    // Call after all output: waits until the pager exits.
    void end();

private:
    pid_t pid_ = -1;
};

// For signal handlers: true if a pager is running.
bool pager_reads();
// For signal handlers: closes standard output, and waits until the pager, if any, exits.
void wait_for_pager();

// "reading perf.data  43% [##########              ]" on standard error, if that is a terminal and
// the operation takes longer than half a second; erased at the end.
class Progress {
public:
    // `all` is the value at 100 %; 0 if it is unknown.
    Progress(std::string_view what, uint64_t all);
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;
    ~Progress();

    void at(uint64_t done)
    {
        if (done >= next_)
            look(done);
    }

private:
    void look(uint64_t done);
    void draw(uint64_t done);

    std::string what_;
    uint64_t all_, next_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point draw_at_;
};

}  // namespace pmukit::cli
