// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/terminal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "console/inherited.hpp"
#include "console/signals.hpp"

namespace pmukit::cli {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kStepBytes = uint64_t{1} << 20;  // at() reads the clock once per this many bytes
constexpr auto kPatience = 500ms, kPause = 100ms;
constexpr size_t kBarWidth = 24;

// PID of the pager, 0 if there is none; the only data that signal handlers use.
volatile sig_atomic_t pager_pid;

std::string variable(const char *name)
{
    const char *value = ::getenv(name);
    return value ? value : "";
}

// True under sudo and the like. The calling user may be allowed to run only this command as another
// user; a pager that runs programs would allow all of them.
bool is_for_another_user()
{
    return ::getenv("SUDO_UID") || ::getenv("PKEXEC_UID") || ::getenv("DOAS_USER") ||
           ::getuid() != ::geteuid();
}

// PMUKIT_PAGER, then PAGER, then less.
std::string chosen_pager()
{
    if (is_for_another_user())
        return "less";
    for (const char *name : {"PMUKIT_PAGER", "PAGER"})
        if (const char *value = ::getenv(name))
            return value;
    return "less";
}

// Runs the pager in the child process. Falls back to cat, so that no text is lost if the pager is
// not installed.
[[noreturn]] void run_pager(const char *pager, int from)
{
    ::dup2(from, STDIN_FILENO);
    restore_inherited();
    ::setenv("LESS", "FRX", is_for_another_user());
    if (is_for_another_user())
        ::setenv("LESSSECURE", "1", 1);
    if (std::string_view(pager) == "less")
        ::execlp("less", "less", static_cast<char *>(nullptr));
    else
        ::execl("/bin/sh", "sh", "-c", pager, static_cast<char *>(nullptr));
    ::execlp("cat", "cat", static_cast<char *>(nullptr));
    ::_exit(127);
}

void end_unless_paged(int signal)
{
    if (pager_reads())
        return;
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

// Leaves SIGINT and SIGQUIT to the pager, where Ctrl-C ends a search. This program ends when its
// output is no longer read. An ignored signal stays ignored. Installs a handler instead of SIG_IGN,
// so that Ctrl-C ends the program again after the pager has exited.
void leave_keys_to_pager()
{
    struct sigaction action {};
    action.sa_handler = end_unless_paged;
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGINT, SIGQUIT})
        if (!is_ignored(signal))
            ::sigaction(signal, &action, nullptr);
}

}  // namespace

bool pager_reads()
{
    const int error = errno;  // of the interrupted code, restored below
    const pid_t pid = pager_pid;
    const bool reads = pid != 0 && ::waitpid(pid, nullptr, WNOHANG) == 0;
    if (!reads)
        pager_pid = 0;
    errno = error;
    return reads;
}

void wait_for_pager()
{
    const pid_t pid = pager_pid;
    if (pid == 0)
        return;
    // Closes the last write end of the pipe, so that the pager reads end of file.
    ::close(STDOUT_FILENO);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
        ;
    pager_pid = 0;
}

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
    pager_pid = pid;
    leave_keys_to_pager();
}

void Pager::end()
{
    if (!is_on())
        return;
    wait_for_pager();
    pid_ = -1;
}

Progress::Progress(std::string_view what, uint64_t all)
    : what_(escape(what)),
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
    // An error is ignored: it only affects the progress line.
    (void)static_cast<bool>(write_all(STDERR_FILENO, as_bytes(line), "standard error"));
}

}  // namespace pmukit::cli
