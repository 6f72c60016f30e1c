// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vmrun_scenarios.hpp"

namespace pmukit::vm {

namespace {

// Under multi-threaded TCG, Linux 6.12 was seen to fault in __schedule() without any module loaded.
constexpr std::string_view kOneThread = "tcg,thread=single";
constexpr std::string_view kManyThreads = "tcg,thread=multi";

// Kernel parameters of the debug kernels of tools/scripts/debug-kernel. kmemleak needs slab_debug,
// because stale pointers in per-CPU caches otherwise hide leaks. With five levels of page tables,
// an emulated processor maps KASAN's shadow so slowly that some boots do not complete.
constexpr std::string_view kDebugAppend =
    "kasan_multi_shot slab_debug=FZU page_poison=1 init_on_alloc=0 no5lvl";
constexpr std::string_view kRacesAppend = "no5lvl";
constexpr std::string_view kHarmlessInDebug[] = {
    "DMA-API: preallocated",  // DMA_API_DEBUG at boot
    "DMA-API: debugging enabled",
};
// Boot messages of KCSAN, and two harmless races of the kernel ("BUG: KCSAN:"). The NMI-safe clock
// has two copies, of which a reader uses the one that is not being written; KCSAN does not know
// this rule. When a device file is closed while its device is removed, kernfs tests one bit of a
// word and sets another bit of it, under different locks.
constexpr std::string_view kHarmlessInRaces[] = {
    "DMA-API: preallocated",
    "DMA-API: debugging enabled",
    "kcsan: enabled early",
    "kcsan: strict mode configured",
    "kcsan: non-strict mode configured",
    "kcsan: selftest:",
    "BUG: KCSAN: data-race in ktime_get_mono_fast_ns+",  // KCSAN does not report the other function
    "BUG: KCSAN: data-race in __kernfs_remove / kernfs_unlink_open_file",
};
constexpr std::string_view kDebugLacks[] = {"libnvdimm", "cxl_pmem"};

constexpr KernelQuirks kKernels[] = {
    {"6.1", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G"},
    {"6.12", "amd64", "qemu-system-x86_64", "q35", "max", kOneThread, "ttyS0", "1G"},
    {"7.2", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G"},
    {"6.12-arm64", "arm64", "qemu-system-aarch64", "virt,gic-version=3", "max", kOneThread,
     "ttyAMA0", "1G"},
    {"debug-6.12", "amd64", "qemu-system-x86_64", "q35", "max", kOneThread, "ttyS0", "1G",
     kHarmlessInDebug, kDebugAppend, kDebugLacks, true},
    {"debug-7.2", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G",
     kHarmlessInDebug, kDebugAppend, kDebugLacks, true},
    // This kernel removes drivers after their first probe, and releases kobjects seconds later.
    {"late-6.12", "amd64", "qemu-system-x86_64", "q35", "max", kOneThread, "ttyS0", "1G",
     kHarmlessInDebug, kDebugAppend, kDebugLacks, true},
    // KCSAN finds a race only if two CPUs access the same address at the same time. This hardly
    // ever happens if one host thread emulates both CPUs, so each emulated CPU has a thread.
    {"kcsan-6.12", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G",
     kHarmlessInRaces, kRacesAppend, kDebugLacks, true, true},
    // Not in the set-up of all kernels: only imc runs on it, on request.
    {"6.12-ppc64el", "ppc64el", "qemu-system-ppc64", "pseries", "power9", kOneThread, "hvc0", "1G"},
};

const std::vector<DriverSpec> &driver_table()
{
    static const std::vector<DriverSpec> table = [] {
        std::vector<DriverSpec> all;
        for (const DriverScenarios &driver : driver_scenarios())
            all.push_back(driver.tests());
        all.push_back(soak());
        return all;
    }();
    return table;
}

template <typename Value>
struct Named {
    std::string_view name;
    Value value;
};

constexpr Named<Mode> kModes[] = {
    {"test", Mode::kTest}, {"demo", Mode::kDemo}, {"shell", Mode::kShell}};
constexpr Named<Placement> kPlacements[] = {{"integrated", Placement::kIntegrated},
                                            {"root-port", Placement::kRootPort},
                                            {"cxl-rp", Placement::kCxlRootPort}};

template <typename Value, size_t kSize>
std::optional<Value> value_by_name(const Named<Value> (&table)[kSize], std::string_view name)
{
    for (const Named<Value> &row : table)
        if (row.name == name)
            return row.value;
    return std::nullopt;
}

}  // namespace

std::optional<Mode> mode_by_name(std::string_view name)
{
    return value_by_name(kModes, name);
}

std::optional<Placement> placement_by_name(std::string_view name)
{
    return value_by_name(kPlacements, name);
}

namespace {

bool all_or_named(const std::vector<std::string_view> &names, std::string_view kernel)
{
    return names.empty() || std::find(names.begin(), names.end(), kernel) != names.end();
}

}  // namespace

namespace {

using Names = std::vector<std::string_view>;

// Appends those names of `more` that are not yet in `names`.
void append_new(Names &names, const Names &more)
{
    for (const std::string_view name : more)
        if (std::ranges::find(names, name) == names.end())
            names.push_back(name);
}

}  // namespace

DriverSpec with_others(const DriverSpec &driver, const Scenario &scenario)
{
    DriverSpec all = driver;
    if (!scenario.modules_instead.empty())
        all.modules = scenario.modules_instead;
    if (!scenario.examples.empty())
        all.examples = scenario.examples;
    append_new(all.stock_modules, scenario.stock_modules);
    for (const std::string_view name : scenario.beside) {
        const DriverSpec &other = *driver_by_name(name);
        append_new(all.stock_modules, other.stock_modules);
        append_new(all.modules, other.modules);
        append_new(all.programs, other.programs);
        append_new(all.firmware, other.firmware);
    }
    return all;
}

bool can_run_on(const Scenario &scenario, const KernelQuirks &kernel)
{
    return all_or_named(scenario.kernels, kernel.kernel);
}

bool runs_on(const Scenario &scenario, const KernelQuirks &kernel)
{
    return !scenario.on_request && can_run_on(scenario, kernel);
}

bool is_routine_on(const Scenario &scenario, const KernelQuirks &kernel)
{
    return runs_on(scenario, kernel) &&
           (kernel.debug || (!scenario.only_all && all_or_named(scenario.routine, kernel.kernel)));
}

bool is_in_shard(const DriverSpec &driver, const Scenario &scenario, const KernelQuirks &kernel,
                 uint64_t shard)
{
    const auto place =
        std::ranges::find(driver.tests, scenario.name, &Scenario::name) - driver.tests.begin();
    const auto row = std::ranges::find(kKernels, kernel.kernel, &KernelQuirks::kernel) - kKernels;
    return is_routine_on(scenario, kernel) &&
           static_cast<uint64_t>(place + row) % kShards == shard % kShards;
}

std::string shell_banner(const DriverSpec &driver, std::string_view scenario,
                         std::string_view kernel_version, std::string_view folder)
{
    std::string modules, others;
    for (const std::string_view module : driver.modules)
        modules += fmt::format(" {}", module.substr(0, module.find(' ')));
    for (const DriverSpec &other : drivers())
        others += other.name == driver.name ? "" : fmt::format(" {}", other.name);
    std::string banner = fmt::format(
        "\n{}: a guest with Linux {} and the devices of scenario {}; 'exit' powers off\n"
        "  loaded:{}\n"
        "  /out is {} on the host and is kept; copy there what you want to keep\n"
        "  try:\n",
        driver.name, kernel_version, scenario, modules, folder);
    for (const std::string_view example : driver.examples)
        banner += fmt::format("    {}\n", example);
    return banner + fmt::format(
                        "  other guests: make vm U=NAME, one of{}; S=SCENARIO for the "
                        "devices of a test\n\n",
                        others);
}

const Scenario *brief_scenario(const DriverSpec &driver, uint64_t number)
{
    if (driver.brief.empty())
        return nullptr;
    std::string_view name = driver.brief[number % driver.brief.size()];
    auto found = std::find_if(driver.tests.begin(), driver.tests.end(),
                              [&](const Scenario &scenario) { return scenario.name == name; });
    return found == driver.tests.end() ? nullptr : &*found;
}

std::span<const KernelQuirks> kernels()
{
    return kKernels;
}

const KernelQuirks *kernel_by_name(std::string_view name)
{
    auto found = std::find_if(std::begin(kKernels), std::end(kKernels),
                              [&](const KernelQuirks &row) { return row.kernel == name; });
    return found == std::end(kKernels) ? nullptr : &*found;
}

std::span<const DriverSpec> drivers()
{
    return driver_table();
}

const DriverSpec *driver_by_name(std::string_view name)
{
    const std::vector<DriverSpec> &table = driver_table();
    auto found = std::find_if(table.begin(), table.end(),
                              [&](const DriverSpec &row) { return row.name == name; });
    return found == table.end() ? nullptr : &*found;
}

}  // namespace pmukit::vm
