// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A machine as /proc and /sys describe it. The root is a parameter, so that a saved copy of another
// machine, or a test's tree, works as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::cli {

class Host {
public:
    explicit Host(std::string root = "/") : root_(std::move(root)) {}

    // True for the running machine, where events can be opened; false for a copy.
    bool live() const { return root_ == "/"; }
    // In these functions, `name` is a path without the leading slash.
    std::string path(std::string_view name) const;
    bool has(std::string_view name) const;
    // Returns the contents of a file without surrounding white space; nullopt if the file does not
    // exist or is not readable.
    std::optional<std::string> text(std::string_view name) const;
    std::optional<int64_t> number(std::string_view name) const;
    // Returns the sorted names in a folder; an empty list if the folder does not exist.
    std::vector<std::string> names(std::string_view folder) const;
    // Returns the target of a symbolic link; nullopt if `name` is not a link.
    std::optional<std::string> link(std::string_view name) const;

    bool has_module(std::string_view module) const;
    // True if this process has the capability (CAP_* of <linux/capability.h>).
    bool can(unsigned capability) const;

private:
    std::string root_;
};

// A process with open perf events, and its name. The kernel does not report the PMU of an event.
struct Holder {
    uint32_t pid;
    std::string command;
};
std::vector<Holder> perf_event_holders(const Host &host);

}  // namespace pmukit::cli
