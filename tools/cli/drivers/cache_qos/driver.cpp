// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <time.h>

#include "base/number.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/suite.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kModules[] = {"cache_qos", "cache_qos_sim"};
constexpr std::string_view kCountingPmus[] = {"cache_qos"};

constexpr Driver kRecorded = {"cache_qos", "cache_qos_aux", 0,
                              decode::cache_qos::looks_like_records,
                              decode::cache_qos::words_of_raw};

// While resctrl is mounted, cache_qos does not use the registers that both write. An unmount
// deletes what other users have configured in resctrl, so doctor names it as a fix only if
// cache_qos is loaded.
void check_resctrl(const Host &host, std::vector<Finding> &findings)
{
    const std::string mounts = host.text("proc/mounts").value_or("");
    std::string at;
    for (const std::string_view line : split(mounts, '\n')) {
        const std::vector<std::string_view> words = split(line, ' ');
        if (words.size() > 2 && words[2] == "resctrl")
            at = words[1];
    }
    if (at.empty())
        return findings.push_back({"resctrl", Health::kGood, "not mounted"});
    if (!is_ours(host, "cache_qos"))
        return findings.push_back({"resctrl", Health::kGood,
                                   "mounted on " + at +
                                       ": mon_data in its groups has occupancy and bandwidth; "
                                       "cache_qos does not load meanwhile"});
    findings.push_back(
        {"resctrl", Health::kBad,
         "mounted on " + at + ": cache_qos yields the registers and its values are frozen",
         fmt::format("read mon_data in {} instead; umount {} frees the registers, but deletes all "
                     "control and monitor groups and resets cache and bandwidth allocation",
                     at, at)});
}

}  // namespace

extern const DriverDescription cache_qos_driver;
constinit const DriverDescription cache_qos_driver = {
    .name = "cache_qos",
    .modules = kModules,
    .counting_pmus = kCountingPmus,
    .recorded = &kRecorded,
    .example_terms = "snapshot",
    .record_clock = CLOCK_MONOTONIC,
    .dump = make_cache_qos_dump,
    .report = make_cache_qos_report,
    .inject = make_cache_qos_inject,
    .make_export = make_cache_qos_export,
    .export_table = "cache_qos",
    .live = make_cache_qos_live,
    .trace_event = "cache_qos/cache_qos_sample",
    .resolve = nullptr,
    .aux_bytes = 0,
    .others = {},
    .check = check_resctrl,
    .probe_terms = nullptr,
};

}  // namespace pmukit::cli
