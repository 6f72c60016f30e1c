// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The terminal as a page that is drawn over and over, and its keys. It is /dev/tty: standard input
// may be a recording. Plain sequences of ECMA-48 that every terminal of today has; no library.
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

class Screen {
public:
    struct Size {
        size_t rows = 24, columns = 80;
    };

    static Result<Screen> open();
    Screen(Screen &&) = default;
    Screen &operator=(Screen &&) = delete;
    ~Screen();  // gives the terminal back as it was

    int fd() const { return tty_.get(); }  // readable: a key
    std::optional<char> key() const;
    Size size() const;
    // Lines are cut to the width; what does not fit below is left out.
    Result<void> draw(const std::vector<std::string> &lines) const;

private:
    Screen(Fd tty, const termios &before) : tty_(std::move(tty)), before_(before) {}

    Fd tty_;
    termios before_;
};

}  // namespace pmukit::cli
