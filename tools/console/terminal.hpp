// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a terminal gets and a file does not: colours, a pager, a line that says how far we are.
// The only reader of NO_COLOR, TERM, PMUKIT_PAGER and PAGER.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace pmukit::cli {

// when: "auto", "always", "never". Auto: a terminal that is not dumb, and no NO_COLOR
// (no-color.org: set and not empty).
bool wants_color(const std::string &when, int fd);

// Standard output through a pager, as git does it: PMUKIT_PAGER, PAGER or less, with LESS=FRX. An
// empty one, and cat, are none.
class Pager {
public:
    Pager() = default;
    Pager(const Pager &) = delete;
    Pager &operator=(const Pager &) = delete;
    ~Pager() { end(); }

    // Standard output goes there from now on. Nothing happens where none is wanted or can be had.
    // Ctrl-C is the pager's from then on, until it is closed: a program that ends before it would
    // leave two readers to the terminal, the pager and the shell.
    void begin();
    bool is_on() const { return pid_ > 0; }
    // Everything is written: waits until the reader has seen enough.
    void end();

private:
    pid_t pid_ = -1;
};

// For signal handlers. Whether a pager is there that was not closed yet.
bool pager_reads();
// The same. Standard output ends; until the pager, if there is one, is closed.
void wait_for_pager();

// "reading perf.data  43% [##########              ]" on standard error when that is a terminal and
// it takes longer than a moment; gone at the end.
class Progress {
public:
    // all: what is 100 %; 0: unknown.
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
