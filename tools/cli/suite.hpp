// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Which modules and PMUs of a machine are the suite's: the kernel has others of the same names.
#pragma once

#include <optional>
#include <string_view>

#include "cli/doctor_host.hpp"

namespace pmukit::cli {

constexpr std::string_view kPmus = "sys/bus/event_source/devices";
constexpr std::string_view kShared = "pmukit_common";  // every module of ours but engines holds it

// It is loaded, and ours: a module of the same name may be the kernel's own, but does not hold
// pmukit_common.
bool is_ours(const Host &host, std::string_view module);

// A PMU whose name begins so is there.
bool has_pmu(const Host &host, std::string_view prefix);

// The driver of a PMU, those included that only count. nullopt: it is not of the suite.
std::optional<std::string_view> driver_on(const Host &host, std::string_view pmu);

}  // namespace pmukit::cli
