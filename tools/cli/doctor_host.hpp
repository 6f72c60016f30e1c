// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A machine as /proc and /sys describe it. The root is a parameter, so that a copy of another
// machine's, or a test's, serves as well.
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

    // Of this machine itself, not a copy: events can be opened.
    bool live() const { return root_ == "/"; }
    // name: without a slash at its beginning.
    std::string path(std::string_view name) const;
    bool has(std::string_view name) const;
    // Without blanks around it; nullopt: there is no such file, or it is not for us.
    std::optional<std::string> text(std::string_view name) const;
    std::optional<int64_t> number(std::string_view name) const;
    // Names in a folder, sorted. Empty: there is no such folder.
    std::vector<std::string> names(std::string_view folder) const;
    // What a link says; nullopt: it is none.
    std::optional<std::string> link(std::string_view name) const;

    bool has_module(std::string_view module) const;
    // The asking process has this capability, CAP_* of <linux/capability.h>.
    bool can(unsigned capability) const;

private:
    std::string root_;
};

// Processes that have perf events open, and their names: the kernel does not say of which PMU.
struct Holder {
    uint32_t pid;
    std::string command;
};
std::vector<Holder> perf_event_holders(const Host &host);

}  // namespace pmukit::cli
