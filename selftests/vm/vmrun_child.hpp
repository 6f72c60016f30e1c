// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Starts child processes. Each is killed when its Child object is destroyed, and when vmrun dies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::vm {

struct Command {
    std::vector<std::string> words;  // the program is looked up in PATH
    std::filesystem::path output{};  // file for stdout; empty: inherited
    std::filesystem::path errors{};  // file for stderr; empty: inherited
    bool terminal = false;           // inherits stdin; if false, stdin is /dev/null
    bool pipe_output = false;        // stdout is a pipe, whose read end is Child::output()
};

class Child {
public:
    static Result<Child> start(const Command &command);

    Child(Child &&other) noexcept;
    Child &operator=(Child &&) = delete;
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;
    ~Child() { stop(std::chrono::milliseconds(500)); }

    pid_t pid() const { return pid_; }
    int output() const { return output_.get(); }  // non-blocking read end

    // Returns the exit code if the process has ended; 128 + n if signal n killed the process.
    std::optional<int> poll();
    std::optional<int> wait(std::chrono::milliseconds limit);

    // Sends SIGTERM, and SIGKILL if the process has not ended within `patience`. Returns the exit
    // code.
    int stop(std::chrono::milliseconds patience);

private:
    Child(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}

    pid_t pid_ = -1;
    Fd output_;
    std::optional<int> exit_code_;
};

// After this call, SIGINT, SIGTERM and SIGHUP only set a flag, so that vmrun can clean up children
// and temporary files before it ends.
void catch_interrupts();
bool interrupted();

// Starts a command and waits for its end. Returns the exit code, or an Error if a signal interrupts
// vmrun.
Result<int> run_to_end(const Command &command);

}  // namespace pmukit::vm
