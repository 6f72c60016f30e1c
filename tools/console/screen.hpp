// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Shows text on the terminal as a page that is redrawn repeatedly, and reads keys. Uses /dev/tty,
// because standard input may be a recording. Uses only the ECMA-48 sequences that every current
// terminal supports.
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
    ~Screen();  // restores the terminal

    int fd() const { return tty_.get(); }  // readable if a key was pressed
    std::optional<char> key() const;
    Size size() const;
    // Cuts lines to the width, and omits lines below the last row.
    Result<void> draw(const std::vector<std::string> &lines) const;

private:
    Screen(Fd tty, const termios &before) : tty_(std::move(tty)), before_(before) {}

    Fd tty_;
    termios before_;
};

}  // namespace pmukit::cli
