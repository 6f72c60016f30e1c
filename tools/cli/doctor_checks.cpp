// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sources: Documentation/admin-guide/sysctl/kernel.rst, Documentation/admin-guide/LSM,
// ABI/testing/sysfs-module and sysfs-kernel-iommu_groups of Linux.
#include "cli/doctor_checks.hpp"

#include <linux/capability.h>

#include <algorithm>
#include <array>

#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/drivers.hpp"
#include "cli/record/record_events.hpp"
#include "cli/suite.hpp"
#include "cli/version.hpp"
#include "record/perf_event.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {
namespace {

using Findings = std::vector<Finding>;

// The kernel and the modules of pmukit

constexpr std::string_view kKernels[] = {"6.1", "6.12", "7.2"};

void check_kernel(const Host &host, Findings &findings)
{
    const std::string release = host.text("proc/sys/kernel/osrelease").value_or("unknown");
    const bool supported = std::ranges::any_of(kKernels, [&release](std::string_view kernel) {
        return release == kernel || release.starts_with(std::string(kernel) + ".") ||
               release.starts_with(std::string(kernel) + "-");
    });
    if (supported)
        findings.push_back({"kernel", Health::kGood, release});
    else
        findings.push_back({"kernel", Health::kNote,
                            release + ": the modules are tested on " + joined(kKernels, ", "),
                            "run one of these kernels, or expect that a module may not build"});
}

void check_module(const Host &host, std::string_view module, Findings &findings)
{
    const auto version = host.text(fmt::format("sys/module/{}/version", module));
    if (version == kVersion)
        return findings.push_back(
            {"module", Health::kGood, fmt::format("{} {}", module, *version)});
    findings.push_back(
        {"module", Health::kBad,
         fmt::format("{} is {}, these tools are {}", module,
                     version.value_or("of an unknown version"), kVersion),
         fmt::format("rmmod {}; build and load the modules of the same source as the tools",
                     module)});
}

// Returns how to load a module. The module of a mounted source's driver would not load.
std::string advice(const OtherSource *source, std::string_view load)
{
    return source ? fmt::format("none for {}; for another device: {}", source->name, load)
                  : std::string(load);
}

void check_modules(const Host &host, Findings &findings)
{
    const size_t before = findings.size();
    if (is_ours(host, kShared))
        check_module(host, kShared, findings);
    for (const DriverDescription *driver : drivers())
        for (std::string_view module : driver->modules)
            if (is_ours(host, module))
                check_module(host, module, findings);
    if (findings.size() != before)
        return;
    const OtherSource *source = mounted_source(host);
    findings.push_back({"module", Health::kNote,
                        "no module of pmukit is loaded" +
                            (source ? fmt::format("; {} is read without one", source->name) : ""),
                        advice(source, "insmod pmukit_common.ko, then that of the device")});
}

// Drivers that are not part of pmukit

void check_others(const Host &host, Findings &findings)
{
    const size_t before = findings.size();
    for (const DriverDescription *driver : drivers())
        for (const OtherDriver &other : driver->others)
            if (other.is_here(host))
                findings.push_back(
                    {"drivers", other.health, std::string(other.what), std::string(other.fix)});
    if (findings.size() == before)
        findings.push_back({"drivers", Health::kGood, "no conflicting driver is loaded"});
}

void check_devices(const Host &host, Findings &findings)
{
    for (const DriverDescription *driver : drivers())
        if (driver->check)
            driver->check(host, findings);
}

// Privileges of this user

void check_paranoid(const Host &host, Findings &findings)
{
    const auto level = host.number("proc/sys/kernel/perf_event_paranoid");
    if (!level)
        return findings.push_back({"privilege", Health::kBad, "this kernel has no perf events",
                                   "run a kernel with CONFIG_PERF_EVENTS"});
    const bool may = host.can(CAP_PERFMON) || host.can(CAP_SYS_ADMIN);
    const std::string what = fmt::format("perf_event_paranoid is {}{}", *level,
                                         may ? ", and this user has CAP_PERFMON" : "");
    // Whatever the level, PMUs that record what other users do want the capability.
    constexpr const char *kFix = "run as root or with CAP_PERFMON";
    if (may)
        findings.push_back({"privilege", Health::kGood, what});
    else if (*level <= 0)
        findings.push_back({"privilege", Health::kNote,
                            what + ": this user may count, but not record with PMUs of pmukit",
                            kFix});
    else
        findings.push_back(
            {"privilege", Health::kBad, what + ": system-wide PMUs cannot be opened", kFix});
}

// Applies the rules of the kernel's kallsyms_show_value().
bool shows_kernel_addresses(const Host &host, int64_t kptr_restrict)
{
    const int64_t paranoid = host.number("proc/sys/kernel/perf_event_paranoid").value_or(2);
    if (kptr_restrict == 0 && paranoid <= 1)
        return true;
    return kptr_restrict <= 1 && host.can(CAP_SYSLOG);
}

void check_kptr(const Host &host, Findings &findings)
{
    const int64_t level = host.number("proc/sys/kernel/kptr_restrict").value_or(0);
    if (shows_kernel_addresses(host, level))
        return findings.push_back(
            {"symbols", Health::kGood, fmt::format("kptr_restrict is {}", level)});
    findings.push_back(
        {"symbols", Health::kNote,
         fmt::format("kptr_restrict is {}: kernel functions have no names in reports{}", level,
                     level == 0 ? " of this user" : ""),
         level <= 1 ? "record as root" : "sysctl kernel.kptr_restrict=1, and record as root"});
}

struct Lockdown {
    std::string_view active;
    Health health;
    std::string_view what, fix;
};

constexpr Lockdown kLockdowns[] = {
    {"[none]", Health::kGood, "none", ""},
    {"[integrity]", Health::kNote,
     "integrity: modules must be signed, and pmukit discover cannot read device memory",
     "sign the modules with a key that this kernel trusts, or switch Secure Boot off"},
    {"[confidentiality]", Health::kBad,
     "confidentiality: as integrity, and BPF and perf may not read from the kernel",
     "boot without lockdown=confidentiality"},
};

void check_lockdown(const Host &host, Findings &findings)
{
    const std::string text = host.text("sys/kernel/security/lockdown").value_or("[none]");
    for (const Lockdown &lockdown : kLockdowns)
        if (text.find(lockdown.active) != std::string::npos)
            findings.push_back({"lockdown", lockdown.health, std::string(lockdown.what),
                                std::string(lockdown.fix)});
}

// Without tracefs, pmukit top reads AUX data instead of trace events.
void check_tracefs(const Host &host, Findings &findings)
{
    if (host.has("sys/kernel/tracing/events"))
        findings.push_back({"tracefs", Health::kGood, "mounted on /sys/kernel/tracing"});
    else
        findings.push_back({"tracefs", Health::kNote,
                            "not readable: pmukit top uses AUX data instead of trace events",
                            "mount -t tracefs tracefs /sys/kernel/tracing, and run as root"});
}

// Locked memory for the rings of an event

// Default sizes for one event: control page, ring and AUX area.
constexpr int64_t kRingKib = 4 + 512 + 4096;

// Returns SOFT from the line "Max locked memory  SOFT  HARD  bytes"; nullopt if it is "unlimited".
std::optional<int64_t> locked_kib(const Host &host)
{
    constexpr std::string_view kKey = "Max locked memory";
    const std::string limits = host.text("proc/self/limits").value_or("");
    for (std::string_view line : split(limits, '\n')) {
        if (!line.starts_with(kKey))
            continue;
        const std::string_view rest = trim(line.substr(kKey.size()));
        const Result<uint64_t> bytes = parse_u64(rest.substr(0, rest.find(' ')));
        return bytes ? std::optional(static_cast<int64_t>(*bytes >> 10)) : std::nullopt;
    }
    return 0;
}

size_t online_cpus(const Host &host)
{
    const std::string text = host.text("sys/devices/system/cpu/online").value_or("0");
    const Result<std::vector<int>> cpus = parse_cpulist(text);
    return cpus ? std::max<size_t>(cpus->size(), 1) : 1;
}

// perf_mmap() of the kernel lets a user lock perf_event_mlock_kb KiB per CPU, plus RLIMIT_MEMLOCK.
void check_rings(const Host &host, Findings &findings)
{
    const int64_t each = host.number("proc/sys/kernel/perf_event_mlock_kb").value_or(516);
    const std::optional<int64_t> limit = locked_kib(host);
    const int64_t all = each * static_cast<int64_t>(online_cpus(host)) + limit.value_or(0);
    if (host.can(CAP_IPC_LOCK) || !limit || all >= kRingKib)
        return findings.push_back({"rings", Health::kGood, "the rings of an event fit"});
    findings.push_back({"rings", Health::kNote,
                        fmt::format("this user may lock {} KiB; the rings of one event need {} KiB",
                                    all, kRingKib),
                        fmt::format("record with -m 64,{}, or sysctl kernel.perf_event_mlock_kb={}",
                                    256, kRingKib)});
}

// PMUs and the processes that use them

void check_pmus(const Host &host, Findings &findings)
{
    std::vector<std::string> ours;
    for (const std::string &name : host.names(kPmus))
        if (driver_on(host, name))
            ours.push_back(name);
    if (!ours.empty())
        return findings.push_back({"pmus", Health::kGood, joined(ours, ", ")});
    const OtherSource *source = mounted_source(host);
    const std::string fix =
        advice(source, "load the module of the device; dmesg shows why it binds none");
    if (source && source->list(host))
        findings.push_back(
            {"pmus", Health::kNote,
             fmt::format("no PMU of pmukit found; `pmukit record -e {}//` needs none",
                         source->name),
             fix});
    else
        findings.push_back({"pmus", Health::kBad, "no PMU of pmukit found", fix});
}

// Returns an event that doctor can open to test whether the PMU is free. Opening it has no other
// effect, as it stays disabled.
Result<record::EventString> probe_event(const Host &host, const std::string &pmu,
                                        const DriverDescription &driver)
{
    const Result<std::string> terms = driver.probe_terms
                                          ? driver.probe_terms(host, pmu)
                                          : Result<std::string>(std::string(driver.example_terms));
    if (!terms)
        return terms.error();
    Result<std::vector<record::EventString>> events =
        record::parse_event_strings(fmt::format("{}/{}/", pmu, *terms));
    if (!events)
        return events.error();
    if (Result<void> resolved = resolve_names(events->front()); !resolved)
        return resolved.error();
    return events->front();
}

Result<void> try_to_open(const Host &host, const std::string &name, const DriverDescription &driver)
{
    const Result<record::EventString> event = probe_event(host, name, driver);
    if (!event)
        return event.error();
    const Result<record::Pmu> pmu = record::read_pmu(record::kSysfsPmus, name);
    if (!pmu)
        return pmu.error();
    const Result<record::EventSettings> settings = record::encode_event(*event, *pmu);
    if (!settings)
        return settings.error();
    const bool somewhere = pmu->cpumask && !pmu->cpumask->empty();
    const Result<Fd> fd =
        record::open_event(record::make_attr(*pmu, *settings, record::Start::kWhenEnabled, false),
                           {-1, somewhere ? pmu->cpumask->front() : 0}, -1, *pmu, event->text);
    return fd ? Result<void>() : fd.error();
}

std::string names_of(const std::vector<Holder> &holders)
{
    std::vector<std::string> names;
    for (const Holder &holder : holders)
        names.push_back(fmt::format("{} ({})", holder.pid, holder.command));
    return joined(names, ", ");
}

void note_refusal(const Host &host, const Error &error, Findings &findings)
{
    if (error.code != Errc::kBusy)
        return findings.push_back({"holders", Health::kNote, error.message});
    const std::vector<Holder> holders = perf_event_holders(host);
    findings.push_back(
        {"holders", Health::kBad, error.message,
         holders.empty()
             ? "its holder is not visible here: look on the host, or in containers"
             : fmt::format("end the recording; perf events are open in {}", names_of(holders))});
}

// The kernel does not report which process holds a PMU. So doctor opens an event of each PMU to
// find out whether the PMU is free, and names all processes with an open perf event.
void check_holders(const Host &host, Findings &findings)
{
    const size_t before = findings.size();
    size_t tried = 0;
    for (const std::string &name : host.names(kPmus)) {
        const DriverDescription *driver = recorder_of_pmu(name);
        if (!driver || !host.live())
            continue;
        tried++;
        if (const Result<void> opened = try_to_open(host, name, *driver); !opened)
            note_refusal(host, opened.error(), findings);
    }
    if (findings.size() != before)
        return;
    const std::vector<Holder> holders = perf_event_holders(host);
    std::string what = tried ? "every PMU is free" : "no PMU was tried";
    if (!holders.empty())
        what += "; perf events are open in " + names_of(holders);
    findings.push_back({"holders", Health::kGood, what});
}

constexpr void (*kChecks[])(const Host &, Findings &) = {
    check_kernel,   check_modules, check_others, check_devices, check_paranoid, check_kptr,
    check_lockdown, check_tracefs, check_rings,  check_pmus,    check_holders,
};

}  // namespace

std::string_view health_name(Health health)
{
    constexpr std::array<std::string_view, 3> kNames = {"good", "note", "bad"};
    return kNames[static_cast<size_t>(health)];
}

std::vector<Finding> examine(const Host &host)
{
    Findings findings;
    for (const auto check : kChecks)
        check(host, findings);
    return findings;
}

}  // namespace pmukit::cli
