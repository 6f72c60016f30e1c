// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The recorded command: forked at once but held before its exec, so that events can be set up.
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
    // Becomes readable when the command ends.
    int ended_fd() const { return pidfd_.get(); }

    // Lets the command exec. Error: it could not be started.
    Result<void> release();
    // Sends SIGTERM if the command still runs.
    void ask_to_end();
    // Returns the exit status as a shell does (128 + signal). Terminates the command if it still
    // runs.
    int wait();
    // After wait(): ends this process by the signal that ended the command, like perf record, so
    // that callers see no difference. Does nothing if no signal ended it.
    void end_likewise() const;

private:
    Workload() = default;

    std::string name_;
    pid_t pid_ = -1;
    int ended_by_ = 0;  // signal number, or 0
    Fd pidfd_;
    Fd go_;      // one byte releases the child; closing it without one ends the child
    Fd failed_;  // carries errno of a failed exec; closed by a successful one
};

}  // namespace pmukit::cli
