// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The recorded command. It is forked at once, but waits before its exec until events are set up.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

// Descriptors that replace standard output and standard error.
struct WorkloadStreams {
    int output = STDOUT_FILENO, error = STDERR_FILENO;
    int kept = -1;  // stays open in the command under the same number
};

class Workload {
public:
    static Result<Workload> prepare(const std::vector<std::string> &command,
                                    WorkloadStreams streams = {});
    Workload(Workload &&) noexcept;
    Workload &operator=(Workload &&) = delete;
    ~Workload();  // terminates the command if it still runs

    pid_t pid() const { return pid_; }
    // Descriptor that becomes readable when the command ends.
    int ended_fd() const { return pidfd_.get(); }

    // Lets the command exec. Error: the exec failed.
    Result<void> release();
    // Sends SIGTERM if the command still runs.
    void ask_to_end();
    // Returns the exit status as a shell does (128 + signal). Terminates the command if it still
    // runs.
    int wait();
    // Call after wait(). If a signal ended the command, ends this process by the same signal, as
    // perf record does. If not, does nothing.
    void end_likewise() const;

private:
    Workload() = default;

    std::string name_;
    pid_t pid_ = -1;
    int ended_by_ = 0;  // signal number, or 0
    Fd pidfd_;
    Fd go_;      // a byte lets the child exec; closing it without a byte ends the child
    Fd failed_;  // has errno of a failed exec; a successful exec closes it
};

}  // namespace pmukit::cli
