// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers.hpp"
#include "cli/suite.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kModules[] = {"uncore_pmon"};
constexpr std::string_view kCountingPmus[] = {"uncore_"};

constexpr OtherDriver kOthers[] = {
    {"the in-tree intel_uncore serves the uncore units",
     [](const Host &host) { return has_pmu(host, "uncore_") && !is_ours(host, "uncore_pmon"); },
     Health::kGood, ""},
};

}  // namespace

extern const DriverDescription uncore_pmon_driver;
constinit const DriverDescription uncore_pmon_driver = {
    .name = "uncore_pmon",
    .modules = kModules,
    .counting_pmus = kCountingPmus,
    .recorded = nullptr,
    .terms = {},
    .example_terms = {},
    .record_clock = std::nullopt,
    .dump = nullptr,
    .report = nullptr,
    .inject = nullptr,
    .make_export = nullptr,
    .export_table = {},
    .live = nullptr,
    .trace_event = nullptr,
    .resolve = nullptr,
    .aux_bytes = 0,
    .others = kOthers,
    .check = nullptr,
    .probe_terms = nullptr,
};

}  // namespace pmukit::cli
