// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <time.h>

#include <set>

#include "base/number.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/drivers/cache_qos/resctrl_recorder.hpp"
#include "cli/suite.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kModules[] = {"cache_qos", "cache_qos_sim"};
constexpr std::string_view kCountingPmus[] = {"cache_qos"};

constexpr std::string_view kResctrl = "resctrl";

constexpr Driver kRecorded = {.name = "cache_qos",
                              .pmu_prefix = "cache_qos_aux",
                              .auxtrace_type = 0,
                              .looks_like = decode::cache_qos::looks_like_records,
                              .words_of_raw = decode::cache_qos::words_of_raw,
                              .other_source = kResctrl};

// resctrl as a source

std::optional<ListedSource> list_resctrl(const Host &host)
{
    const Result<resctrl::Tree> tree = resctrl::Tree::open(host);
    if (!tree)
        return std::nullopt;
    ListedSource listed{.mounted_on = tree->mounted_on(),
                        .rmids = tree->rmids(),
                        .assign_mode = tree->assign_mode(),
                        .meaning = resctrl::kMeaning};
    std::set<uint8_t> events;
    for (const resctrl::Domain &domain : tree->domains()) {
        listed.domains.push_back(domain.folder);
        events.insert(domain.events.begin(), domain.events.end());
    }
    for (const uint8_t event : events)
        listed.events.emplace_back(decode::cache_qos::event_name(event));
    for (const resctrl::Group &group : tree->groups())
        listed.groups.push_back({group.path, tree->mode(group), tree->members(group)});
    return listed;
}

bool is_mounted(const Host &host)
{
    return resctrl::mount_point(host).has_value();
}

constexpr OtherSource kOtherSource = {.name = kResctrl,
                                      .is_mounted = is_mounted,
                                      .list = list_resctrl,
                                      .open = resctrl::open_recorder};

// Names of the L3 monitoring features in /proc/cpuinfo of x86.
bool has_l3_monitoring(const Host &host)
{
    const std::string cpus = host.text("proc/cpuinfo").value_or("");
    for (const std::string_view line : split(cpus, '\n'))
        if (line.starts_with("flags"))
            return line.find(" cqm_occup_llc") != line.npos || line.find(" cqm_mbm_") != line.npos;
    return false;
}

// The kernel makes this directory if it has found a resource that resctrl can monitor or allocate.
bool can_mount_resctrl(const Host &host)
{
    return host.has("sys/fs/resctrl");
}

std::string sources_without_mount(const Host &host)
{
    const bool is_realtime = host.number("sys/kernel/realtime") == 1;
    const bool driver = has_l3_monitoring(host) && !is_realtime;
    const bool mountable = can_mount_resctrl(host);
    if (driver && mountable)
        return "not mounted: this machine can have cache_qos (tasks, cgroups, nested groups), or "
               "resctrl (`mount -t resctrl resctrl /sys/fs/resctrl`, then `pmukit record -e "
               "resctrl//`), one at a time";
    if (driver)
        return "not mounted, and this kernel has none: this machine can have cache_qos";
    if (mountable)
        return fmt::format(
            "not mounted: this machine can have resctrl (`mount -t resctrl resctrl "
            "/sys/fs/resctrl`, then `pmukit record -e resctrl//`), not cache_qos ({})",
            is_realtime ? "a PREEMPT_RT kernel" : "no L3 monitoring in /proc/cpuinfo");
    return "not mounted: no L3 monitoring here, neither by cache_qos nor by resctrl";
}

// While resctrl is mounted, cache_qos does not use the registers that both write. An unmount
// deletes what other users have configured in resctrl, so doctor names it as a fix only if
// cache_qos is loaded.
void check_resctrl(const Host &host, std::vector<Finding> &findings)
{
    const std::optional<std::string> at = resctrl::mount_point(host);
    if (!at)
        return findings.push_back({"resctrl", Health::kGood, sources_without_mount(host)});
    const Result<resctrl::Tree> tree = resctrl::Tree::open(host);
    const std::string use =
        tree ? "`pmukit record -e resctrl//` reads occupancy and bandwidth of its groups"
             : tree.error().message;
    if (!is_ours(host, "cache_qos"))
        return findings.push_back(
            {"resctrl", Health::kGood,
             fmt::format("mounted on {}: {}; cache_qos does not load meanwhile", *at, use)});
    findings.push_back(
        {"resctrl", Health::kBad,
         "mounted on " + *at + ": cache_qos yields the registers and its values are frozen",
         fmt::format("{}; umount {} frees the registers, but deletes all control and monitor "
                     "groups and resets cache and bandwidth allocation",
                     use, *at)});
}

// pqos and PCM write RMIDs without resctrl; the driver then yields.
void check_registers(const Host &host, std::vector<Finding> &findings)
{
    const std::optional<std::string> owner =
        host.text(fmt::format("{}/cache_qos/registers", kPmus));
    if (owner && owner->starts_with("cpu "))
        findings.push_back(
            {"registers", Health::kBad,
             "another tool (pqos, PCM?) has the registers of L3 monitoring (" + *owner +
                 "): cache_qos has yielded, its events are not counted",
             "end that tool, or after it was killed: pqos --iface=msr -r; cache_qos resumes "
             "when every CPU has RMID 0"});
}

void check_sources(const Host &host, std::vector<Finding> &findings)
{
    check_resctrl(host, findings);
    check_registers(host, findings);
}

constexpr TermValue kEventValues[] = {{1, "snapshot"}};

// Of cache_qos_aux.
constexpr Term kTerms[] = {
    {"event", 0, 0, 7, {}, kEventValues},
    {"period_ms", 1, 0, 31, "least time between two snapshots"},
};

}  // namespace

extern const DriverDescription cache_qos_driver;
constinit const DriverDescription cache_qos_driver = {
    .name = "cache_qos",
    .modules = kModules,
    .counting_pmus = kCountingPmus,
    .recorded = &kRecorded,
    .terms = kTerms,
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
    .check = check_sources,
    .probe_terms = nullptr,
    .other_source = &kOtherSource,
};

}  // namespace pmukit::cli
