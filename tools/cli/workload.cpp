// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/workload.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.hpp"
#include "console/inherited.hpp"

namespace pmukit::cli {
namespace {

constexpr int kExecFailedStatus = 127;  // as in a shell
constexpr int kUnknownStatus = 1;       // waitpid() failed: must not be 0

// Runs in the child between fork and exec: only async-signal-safe calls.
[[noreturn]] void run_child(int go, int failed, WorkloadStreams streams, char *const *arguments)
{
    char start = 0;
    if (::read(go, &start, 1) != 1)
        ::_exit(kExecFailedStatus);
    restore_inherited();
    if (::dup2(streams.output, STDOUT_FILENO) < 0 || ::dup2(streams.error, STDERR_FILENO) < 0)
        ::_exit(kExecFailedStatus);
    if (streams.kept >= 0 && ::fcntl(streams.kept, F_SETFD, 0) < 0)
        ::_exit(kExecFailedStatus);
    ::execvp(arguments[0], arguments);
    int error = errno;
    if (::write(failed, &error, sizeof error) != sizeof error)
        ::_exit(kExecFailedStatus);
    ::_exit(kExecFailedStatus);
}

}  // namespace

Result<Workload> Workload::prepare(const std::vector<std::string> &command, WorkloadStreams streams)
{
    std::vector<char *> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string &word : command)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);

    int go[2], failed[2];
    if (::pipe2(go, O_CLOEXEC) != 0)
        return system_error("pipe", errno);
    Fd go_read(go[0]), go_write(go[1]);
    if (::pipe2(failed, O_CLOEXEC) != 0)
        return system_error("pipe", errno);
    Fd failed_read(failed[0]), failed_write(failed[1]);
    pid_t pid = ::fork();
    if (pid < 0)
        return system_error("fork", errno);
    if (pid == 0) {
        go_write.reset();  // else the child would not see the parent close it
        run_child(go[0], failed[1], streams, arguments.data());
    }

    Workload workload;
    workload.name_ = command.front();
    workload.pid_ = pid;
    workload.go_ = std::move(go_write);
    workload.failed_ = std::move(failed_read);
    workload.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!workload.pidfd_)
        return system_error(errno == EMFILE ? "pidfd_open (raise ulimit -n)" : "pidfd_open", errno);
    return workload;
}

Workload::Workload(Workload &&other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      ended_by_(other.ended_by_),
      pidfd_(std::move(other.pidfd_)),
      go_(std::move(other.go_)),
      failed_(std::move(other.failed_))
{
}

Workload::~Workload()
{
    if (pid_ > 0)
        wait();
}

Result<void> Workload::release()
{
    const char start = 1;
    if (::write(go_.get(), &start, 1) != 1)
        return system_error(name_, errno);
    int error = 0;
    ssize_t got = ::read(failed_.get(), &error, sizeof error);  // end of file: exec succeeded
    if (got == sizeof error)
        return Error{error == ENOENT ? Errc::kNotFound : Errc::kIo,
                     name_ + ": cannot run this command: " + std::strerror(error)};
    return {};
}

void Workload::ask_to_end()
{
    if (pid_ > 0)
        ::kill(pid_, SIGTERM);  // the PID stays valid until waitpid()
}

int Workload::wait()
{
    go_.reset();  // a child that was never released exits
    int status = 0;
    pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) {
        ::kill(pid_, SIGTERM);
        while ((ended = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR)
            ;
    }
    pid_ = -1;
    if (ended < 0)
        return kUnknownStatus;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    ended_by_ = WTERMSIG(status);
    return 128 + ended_by_;
}

void Workload::end_likewise() const
{
    if (ended_by_ == 0)
        return;
    ::prctl(PR_SET_DUMPABLE, 0);  // no core dump of this process, only of the command
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, ended_by_);
    ::signal(ended_by_, SIG_DFL);
    ::raise(ended_by_);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace pmukit::cli
