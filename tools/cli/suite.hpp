// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Distinguishes modules and PMUs of pmukit from in-tree ones with the same names.
#pragma once

#include <optional>
#include <string_view>

#include "cli/doctor_host.hpp"

namespace pmukit::cli {

struct DriverDescription;

constexpr std::string_view kPmus = "sys/bus/event_source/devices";
// Modules of pmukit use this module directly, except those named *_sim and *_engine.
constexpr std::string_view kShared = "pmukit_common";

// True if the module is loaded and is pmukit's: an in-tree module of the same name does not use
// pmukit_common.
bool is_ours(const Host &host, std::string_view module);

// True if a PMU exists whose name begins with the prefix.
bool has_pmu(const Host &host, std::string_view prefix);

// Returns the description of a PMU's driver if the PMU only counts; nullptr if it does not.
const DriverDescription *counter_of_pmu(std::string_view pmu);

// Returns the name of the driver of a PMU, also if the PMU only counts; nullopt if the PMU has no
// driver of pmukit.
std::optional<std::string_view> driver_on(const Host &host, std::string_view pmu);

}  // namespace pmukit::cli
