// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Makes the initramfs of a guest: busybox, stock modules, the driver's modules and programs, init,
// and the lists that init reads.
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
    std::string name;  // also the name of the step's .tap file
    std::string command;
};

struct InitramfsSpec {
    std::string kernel;                       // name in vmrun_tables.cpp, for example 6.12
    const DriverSpec *driver = nullptr;       // nullptr: a guest without a driver
    std::span<const std::string_view> lacks;  // stock modules that this kernel does not have
    std::string mode;
    std::vector<Step> steps;
    std::filesystem::path build;      // top of the build outputs
    std::filesystem::path selftests;  // source folder of the selftests
    std::string banner{};             // text that a shell shows at its start
};

// Returns the archive. Each module of the driver is searched for by its name below
// build/modules/<kernel>.
Result<std::string> make_initramfs(const GuestTree &tree, const InitramfsSpec &spec);

}  // namespace pmukit::vm
