// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/screen.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/file.hpp"

namespace pmukit::cli {
namespace {

// Switch to the alternate screen without a cursor, and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[2J";
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kEndOfLine = "\033[K";
constexpr std::string_view kBelow = "\033[J";

}  // namespace

Result<Screen> Screen::open()
{
    Fd tty(::open("/dev/tty", O_RDWR | O_CLOEXEC));
    termios before{};
    if (!tty || ::tcgetattr(tty.get(), &before) != 0)
        return system_error("the terminal", errno);
    termios raw = before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;  // read() does not wait for a key
    raw.c_cc[VTIME] = 0;
    if (::tcsetattr(tty.get(), TCSANOW, &raw) != 0)
        return system_error("the terminal", errno);
    Screen screen(std::move(tty), before);
    if (Result<void> done = write_all(screen.fd(), as_bytes(kEnter), "the terminal"); !done)
        return done.error();
    return screen;
}

Screen::~Screen()
{
    if (!tty_)
        return;
    // An error means that the terminal is gone: there is nowhere to report it.
    (void)static_cast<bool>(write_all(tty_.get(), as_bytes(kLeave), "the terminal"));
    ::tcsetattr(tty_.get(), TCSANOW, &before_);
}

std::optional<char> Screen::key() const
{
    char key = 0;
    return ::read(tty_.get(), &key, 1) == 1 ? std::optional(key) : std::nullopt;
}

Screen::Size Screen::size() const
{
    winsize size{};
    if (::ioctl(tty_.get(), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return {};
    return {size.ws_row, size.ws_col};
}

Result<void> Screen::draw(const std::vector<std::string> &lines) const
{
    const Size room = size();
    std::string page(kHome);
    for (size_t i = 0; i < std::min(lines.size(), room.rows); i++) {
        page.append(escape(lines[i]), 0, room.columns).append(kEndOfLine);
        if (i + 1 < room.rows)
            page += "\r\n";
    }
    if (lines.size() < room.rows)
        page += kBelow;
    return write_all(tty_.get(), as_bytes(page), "the terminal");
}

}  // namespace pmukit::cli
