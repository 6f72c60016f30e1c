// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: runs a program on a pseudo-terminal.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace pmukit::cli {

class OnTerminal {
public:
    // `input` is the standard input of the program; -1 stands for the terminal. `environment` has
    // additional variables, each as "NAME=VALUE".
    OnTerminal(const std::vector<std::string> &words, int input,
               const std::vector<std::string> &environment, winsize size)
    {
        master_ = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
        EXPECT_EQ(::grantpt(master_.get()), 0);
        EXPECT_EQ(::unlockpt(master_.get()), 0);
        EXPECT_EQ(::ioctl(master_.get(), TIOCSWINSZ, &size), 0);
        const std::string name = ::ptsname(master_.get());
        pid_ = ::fork();
        if (pid_ != 0)
            return;
        ::setsid();
        const int tty = ::open(name.c_str(), O_RDWR);
        ::ioctl(tty, TIOCSCTTY, 0);
        ::dup2(input < 0 ? tty : input, 0);
        ::dup2(tty, 1);
        ::dup2(tty, 2);
        for (const std::string &variable : environment)
            ::putenv(const_cast<char *>(variable.c_str()));
        std::vector<char *> arguments;
        for (const std::string &word : words)
            arguments.push_back(const_cast<char *>(word.c_str()));
        arguments.push_back(nullptr);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    OnTerminal(const OnTerminal &) = delete;
    OnTerminal &operator=(const OnTerminal &) = delete;
    ~OnTerminal()
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    void type(const std::string &keys) const
    {
        EXPECT_EQ(::write(master_.get(), keys.data(), keys.size()),
                  static_cast<ssize_t>(keys.size()));
    }
    void resize(winsize size) const { EXPECT_EQ(::ioctl(master_.get(), TIOCSWINSZ, &size), 0); }

    // Reads output until this text appears. Searches only output that follows the text of the last
    // call. Returns false if the program ends before, or after 30 s.
    bool shows(const std::string &text)
    {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (fresh_.find(text) == fresh_.npos) {
            if (std::chrono::steady_clock::now() > until || !read_some())
                return false;
        }
        fresh_.erase(0, fresh_.find(text) + text.size());
        return true;
    }
    // Waits for the program, and returns its exit status. all() then has the complete output.
    int wait()
    {
        while (read_some())
            ;
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    const std::string &all() const { return all_; }

private:
    bool read_some()
    {
        pollfd ready = {master_.get(), POLLIN, 0};
        if (::poll(&ready, 1, 30000) != 1)
            return false;
        char chunk[4096];
        const ssize_t got = ::read(master_.get(), chunk, sizeof chunk);
        if (got <= 0)  // EIO: the program has closed the terminal
            return false;
        all_.append(chunk, static_cast<size_t>(got));
        fresh_.append(chunk, static_cast<size_t>(got));
        return true;
    }

    Fd master_;
    pid_t pid_ = -1;
    std::string all_, fresh_;
};

}  // namespace pmukit::cli
