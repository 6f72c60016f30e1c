// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_child.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace pmukit::vm {

namespace {

constexpr int kExitNotStarted = 127;  // the exit code of sh if a command is not found
constexpr std::chrono::milliseconds kPollStep{10};

// redirect() runs between fork and exec, so it calls only async-signal-safe functions.
void redirect(int from, int to)
{
    if (from >= 0 && ::dup2(from, to) < 0)
        ::_exit(kExitNotStarted);
}

Result<Fd> open_for_writing(const std::filesystem::path &path)
{
    if (path.empty())
        return Fd();
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file)
        return Error{Errc::kIo,
                     fmt::format("cannot write {}: {}", path.string(), std::strerror(errno))};
    return file;
}

int exit_code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

volatile sig_atomic_t stop_wanted = 0;

void on_interrupt(int)
{
    stop_wanted = 1;
}

}  // namespace

void catch_interrupts()
{
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    for (int number : {SIGINT, SIGTERM, SIGHUP})
        ::sigaction(number, &action, nullptr);
}

bool interrupted()
{
    return stop_wanted != 0;
}

Result<Child> Child::start(const Command &command)
{
    auto output = open_for_writing(command.output);
    if (!output)
        return output.error();
    auto errors = open_for_writing(command.errors);
    if (!errors)
        return errors.error();
    Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    Fd read_end, write_end;
    if (command.pipe_output) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return Error{Errc::kEnvironment, fmt::format("no pipe: {}", std::strerror(errno))};
        read_end = Fd(ends[0]);
        write_end = Fd(ends[1]);
        ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    }

    std::vector<char *> words;
    for (const std::string &word : command.words)
        words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);

    pid_t parent = ::getpid(), pid = ::fork();
    if (pid < 0)
        return Error{Errc::kEnvironment, fmt::format("no process: {}", std::strerror(errno))};
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)  // the parent died before prctl()
            ::_exit(kExitNotStarted);
        // In a terminal, Ctrl-C must reach only vmrun, which then ends its children in order.
        if (!command.terminal)
            ::setpgid(0, 0);
        redirect(command.terminal ? -1 : null.get(), STDIN_FILENO);
        redirect(command.pipe_output ? write_end.get() : output->get(), STDOUT_FILENO);
        redirect(errors->get(), STDERR_FILENO);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::execvp(words[0], words.data());
        ::_exit(kExitNotStarted);
    }
    return Child(pid, std::move(read_end));
}

Child::Child(Child &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      exit_code_(other.exit_code_)
{
}

std::optional<int> Child::poll()
{
    if (pid_ < 0 || exit_code_)
        return exit_code_;
    int status = 0;
    pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_)
        exit_code_ = exit_code_of(status);
    return exit_code_;
}

std::optional<int> Child::wait(std::chrono::milliseconds limit)
{
    auto end = std::chrono::steady_clock::now() + limit;
    while (pid_ >= 0 && !poll() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(kPollStep);
    return exit_code_;
}

int Child::stop(std::chrono::milliseconds patience)
{
    if (pid_ < 0)
        return kExitNotStarted;
    if (!poll()) {
        ::kill(pid_, SIGTERM);
        if (!wait(patience)) {
            ::kill(pid_, SIGKILL);
            int status = 0;
            ::waitpid(pid_, &status, 0);
            exit_code_ = exit_code_of(status);
        }
    }
    return *exit_code_;
}

Result<int> run_to_end(const Command &command)
{
    auto child = Child::start(command);
    if (!child)
        return child.error();
    std::optional<int> code;
    while (!code && !interrupted())
        code = child->wait(std::chrono::milliseconds(200));
    if (!code)
        return Error{Errc::kEnvironment, "interrupted"};
    return *code;
}

}  // namespace pmukit::vm
