// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/terminal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.hpp"

namespace pmukit::cli {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kStepBytes = uint64_t{1} << 20;  // the clock is not looked at more often
constexpr auto kPatience = 500ms, kPause = 100ms;
constexpr size_t kBarWidth = 24;

std::string variable(const char *name)
{
    const char *value = ::getenv(name);
    return value ? value : "";
}

// In the order of who is asked first.
std::string chosen_pager()
{
    for (const char *name : {"PMUKIT_PAGER", "PAGER"})
        if (const char *value = ::getenv(name))
            return value;
    return "less";
}

// In the child. Where there is no less, its text must not be lost.
[[noreturn]] void run_pager(const char *pager, int from)
{
    ::dup2(from, STDIN_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGXFSZ, SIG_DFL);
    ::setenv("LESS", "FRX", 0);
    if (std::string_view(pager) == "less")
        ::execlp("less", "less", static_cast<char *>(nullptr));
    else
        ::execl("/bin/sh", "sh", "-c", pager, static_cast<char *>(nullptr));
    ::execlp("cat", "cat", static_cast<char *>(nullptr));
    ::_exit(127);
}

}  // namespace

bool wants_color(const std::string &when, int fd)
{
    if (when != "auto")
        return when == "always";
    return ::isatty(fd) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

void Pager::begin()
{
    const std::string pager = chosen_pager();
    if (!::isatty(STDOUT_FILENO) || pager.empty() || pager == "cat")
        return;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return;
    const Fd from(ends[0]), to(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0)
        run_pager(pager.c_str(), from.get());
    if (pid < 0 || ::dup2(to.get(), STDOUT_FILENO) < 0)
        return;
    pid_ = pid;
}

void Pager::end()
{
    if (!is_on())
        return;
    ::close(STDOUT_FILENO);  // the last writer
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
        ;
    pid_ = -1;
}

Progress::Progress(std::string what, uint64_t all)
    : what_(std::move(what)),
      all_(all),
      next_(::isatty(STDERR_FILENO) ? kStepBytes : UINT64_MAX),
      draw_at_(std::chrono::steady_clock::now() + kPatience)
{
}

Progress::~Progress()
{
    if (drawn_)
        (void)static_cast<bool>(write_all(STDERR_FILENO, as_bytes("\r\033[K"), "standard error"));
}

void Progress::look(uint64_t done)
{
    next_ = done + kStepBytes;
    const auto now = std::chrono::steady_clock::now();
    if (now < draw_at_)
        return;
    draw_at_ = now + kPause;
    draw(done);
}

void Progress::draw(uint64_t done)
{
    std::string line = fmt::format("\r{}  {} MB\033[K", what_, done / 1000000);
    if (all_) {
        const uint64_t percent = std::min<uint64_t>(100, done * 100 / all_);
        const std::string bar(percent * kBarWidth / 100, '#');
        line = fmt::format("\r{}  {:>3}% [{:<{}}]\033[K", what_, percent, bar, kBarWidth);
    }
    drawn_ = true;
    // Nothing is lost when standard error is gone.
    (void)static_cast<bool>(write_all(STDERR_FILENO, as_bytes(line), "standard error"));
}

}  // namespace pmukit::cli
