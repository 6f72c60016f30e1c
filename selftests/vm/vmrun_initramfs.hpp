// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What goes into a guest: busybox, stock modules, our modules and programs, init and its lists.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "vmrun_guest_tree.hpp"
#include "vmrun_tables.hpp"

namespace pmukit::vm {

struct Step {
    unsigned limit_seconds = 0;
    std::string name;  // of its .tap file
    std::string command;
};

struct InitramfsSpec {
    std::string kernel;                       // 6.12
    const DriverSpec *driver = nullptr;       // nullptr: a plain guest
    std::span<const std::string_view> lacks;  // stock modules this kernel was built without
    std::string mode;
    std::vector<Step> steps;
    std::filesystem::path build;      // top of the build outputs
    std::filesystem::path selftests;  // our source folder
    std::string banner{};             // what a shell shows on entering
};

// The names of our modules are looked up below build/modules/<kernel>.
Result<std::string> make_initramfs(const GuestTree &tree, const InitramfsSpec &spec);

}  // namespace pmukit::vm
