// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The command that is recorded: started at once but held before its exec, so that events can be set
// up.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

// Descriptors in place of our own standard output and standard error.
struct WorkloadStreams {
    int output = STDOUT_FILENO, error = STDERR_FILENO;
    int kept = -1;  // stays open under its own number
};

class Workload {
public:
    static Result<Workload> prepare(const std::vector<std::string> &command,
                                    WorkloadStreams streams = {});
    Workload(Workload &&) noexcept;
    Workload &operator=(Workload &&) = delete;
    ~Workload();  // ends it if it still runs

    pid_t pid() const { return pid_; }
    // Readable when the command has ended.
    int ended_fd() const { return pidfd_.get(); }

    // Lets it exec. Error: the command could not be started.
    Result<void> release();
    // SIGTERM, if it still runs.
    void ask_to_end();
    // Its exit status as a shell gives it (128 + signal). Asks it to end when it still runs.
    int wait();
    // After wait(): ends this program by the signal that ended the command, as perf record does, so
    // that the caller of both sees no difference. Nothing where no signal did.
    void end_likewise() const;

private:
    Workload() = default;

    std::string name_;
    pid_t pid_ = -1;
    int ended_by_ = 0;  // a signal
    Fd pidfd_;
    Fd go_;      // closing it unseen, or one byte in it, starts or ends the child
    Fd failed_;  // errno of a failed exec; closed by a good one
};

}  // namespace pmukit::cli
