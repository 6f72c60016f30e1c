// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Guest scenarios of uncore_pmon: devices, steps, and checks on the host.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vmrun_scenarios.hpp"

namespace pmukit::vm {

namespace {

// The uncore function, and a memory expander whose link the CXL units observe.
//
//   00:10.0 --- 01:00.0 expander
//   00:18.0 uncore: IMC units 0 and 1; CXLCM, CXLDP and B2CXL unit 0; one unit of an unknown type
constexpr std::string_view kUncore = "uncore_pmon --serves 00:10.0 --access-log {out}/accesses.log";

Scenario uncore_pmon_scenario(std::string_view name, std::string_view function = kUncore)
{
    Scenario scenario;
    scenario.name = name;
    scenario.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    scenario.chassis = {
        {function, "pcie.0", "18.0"},
        {"cxl_hmu --strict --serial 1 --bdf 01:00.0 --root-port 00:10.0", "rp10"},
    };
    scenario.kernels = kX86Kernels;
    return scenario;
}

Scenario uncore_pmon_traffic(std::string_view name)
{
    Scenario traffic = uncore_pmon_scenario(name);
    traffic.routine = {"7.2"};
    traffic.steps = {{"discover", "/selftests/uncore_pmon/discover.sh", 60},
                     {"traffic", "/selftests/uncore_pmon/traffic.sh", 120}};
    traffic.checks = {
        {"the model's log has what the programs did, and nothing else",
         {"{selftests}/uncore_pmon/count_accesses.sh", "{out}/accesses.log"},
         0,
         {"6.0 0 0xcf05 700\n", "6.0 1 0xf005 300\n", "6.1 0 0xff05 50\n", "12.0 0 0x802 400\n",
          "12.0 1 0x1002 250\n", "12.0 4 0x1041 400\n", "13.0 0 0x2002 250\n", "17.0 0 0x424 400\n",
          "ddr_reads=781 ddr_writes=300 cxl_reads=400 cxl_writes=250 end"}}};
    return traffic;
}

Scenario uncore_pmon_test()
{
    Scenario test = uncore_pmon_scenario("test");
    test.steps = {
        {"abi_paths", "/selftests/uncore_pmon/abi_paths.sh", 180},
        {"discover", "/selftests/uncore_pmon/discover.sh", 60},
        // If accesses are slow, clock_events_that_share_counters_lose_no_interval takes two
        // minutes.
        {"uncore_pmon_test",
         "uncore_pmon_test -T scaled_counts_of_multiplexed_events_are_within_5_percent", 600},
        {"perf_stat", "/selftests/uncore_pmon/perf_stat.sh exact", 600},
        {"perf_tests", "/selftests/uncore_pmon/perf_tests.sh", 900},
        {"units_move",
         "uncore_pmon_life_test -t new_events_count_exactly_after_the_bar_of_the_units_moves", 120},
    };
    return test;
}

// Every counter starts just below its wrap and has only 32 bits.
Scenario uncore_pmon_wrap()
{
    Scenario wrap = uncore_pmon_scenario(
        "wrap", "uncore_pmon --serves 00:10.0 --width 32 --below-wrap 1000 --global-mmio");
    wrap.routine = {"6.1"};
    wrap.steps = {{"uncore_pmon_test",
                   "uncore_pmon_test -T scaled_counts_of_multiplexed_events_are_within_5_percent "
                   "-T clock_events_that_share_counters_lose_no_interval",
                   300},
                  {"perf_stat", "/selftests/uncore_pmon/perf_stat.sh exact", 600}};
    return wrap;
}

// Opens more events than the unit has counters. Scaled counts are exact only for constant traffic,
// so the guest runs with a steady clock.
Scenario uncore_pmon_shared()
{
    Scenario shared = uncore_pmon_scenario("shared");
    shared.steady = true;
    shared.routine = {"6.12"};
    shared.steps = {
        {"perf_stat", "/selftests/uncore_pmon/perf_stat.sh shared", 120},
        {"shares", "uncore_pmon_test -t scaled_counts_of_multiplexed_events_are_within_5_percent",
         120}};
    shared.checks = {{"a rotation costs few register accesses and no freeze",
                      {"{selftests}/uncore_pmon/count_rotations.sh", "{out}/accesses.log"},
                      0,
                      {"units=2 bad=0 end"}}};
    return shared;
}

// The counters have the smallest width, so the driver reads them each millisecond. The host checks
// the counts of perf, which runs first. Tests that compare 1.2 GHz clocks are excluded, because 24
// bits wrap in 14 ms, and a busy host may delay a guest that long.
Scenario uncore_pmon_narrow()
{
    Scenario narrow = uncore_pmon_scenario("narrow",
                                           "uncore_pmon --serves 00:10.0 --width 24 --below-wrap "
                                           "1000 --access-log {out}/accesses.log");
    narrow.routine = {"7.2"};
    narrow.steps = {{"perf_stat", "/selftests/uncore_pmon/perf_stat.sh exact", 600},
                    {"uncore_pmon_test",
                     "uncore_pmon_test -T scaled_counts_of_multiplexed_events_are_within_5_percent "
                     "-T clock_events_that_share_counters_lose_no_interval "
                     "-T events_of_a_group_start_and_stop_together "
                     "-T event_keeps_counting_while_another_group_is_throttled",
                     300}};
    narrow.checks = {{"what perf counted is what the model's log says",
                      {"{selftests}/uncore_pmon/check_perf_stat.sh", "{guest}/perf_stat.tap",
                       "{out}/accesses.log"},
                      0,
                      {"wrong=0 missing=0 end"}}};
    return narrow;
}

// Excludes one test of uncore_pmon_life_test, which runs in the scenario "test".
Scenario uncore_pmon_life()
{
    Scenario life;
    life.name = "life";
    life.chassis = {{"uncore_pmon", "pcie.0", "18.0"}};
    life.steps = {{"life",
                   "PMUKIT_MODULE=/lib/vmrun/uncore_pmon.ko uncore_pmon_life_test "
                   "-T new_events_count_exactly_after_the_bar_of_the_units_moves",
                   600}};
    life.kernels = kX86Kernels;
    life.routine = {"6.1"};
    return life;
}

// The table lists units that do not exist. The driver notices only if a module parameter makes it
// access them.
Scenario uncore_pmon_parameters()
{
    Scenario parameters = uncore_pmon_scenario("parameters");
    parameters.bridges = {};
    parameters.chassis = {{"uncore_pmon --msr-units 2 --pci-units 2", "pcie.0", "18.0"}};
    parameters.routine = {"7.2"};
    parameters.steps = {
        {"parameters", "/selftests/uncore_pmon/parameters.sh /lib/vmrun/uncore_pmon.ko", 120}};
    return parameters;
}

// Two processors without NUMA nodes, so that the package of the function is unknown.
Scenario uncore_pmon_packages()
{
    Scenario packages = uncore_pmon_parameters();
    packages.name = "packages";
    packages.smp = "2,sockets=2";
    packages.chassis = {{"uncore_pmon --msr-units 120", "pcie.0", "18.0"}};
    packages.routine = {"6.1"};
    packages.steps = {{"packages",
                       "/selftests/uncore_pmon/parameters.sh /lib/vmrun/uncore_pmon.ko packages",
                       120}};
    return packages;
}

// Tests two processors of two CPUs each, whose tables have the same units.
Scenario uncore_pmon_sockets()
{
    Scenario sockets = uncore_pmon_parameters();
    sockets.name = "sockets";
    sockets.smp = "4,sockets=2,cores=2";
    sockets.chassis = {{"uncore_pmon --width 24", "pcie.0", "18.0"},
                       {"uncore_pmon --width 24", "pcie.0", "19.0"}};
    sockets.routine = {"6.12"};
    sockets.steps = {{"sockets", "/selftests/uncore_pmon/sockets.sh", 300}};
    return sockets;
}

Scenario uncore_pmon_qualify()
{
    Scenario qualify = uncore_pmon_scenario("qualify");
    qualify.routine = {"6.12"};
    qualify.steps = {{"qualify", "/selftests/uncore_pmon/qualify.sh healthy", 300}};
    return qualify;
}

Scenario uncore_pmon_qualify_faults()
{
    static constexpr std::string_view kFaults[] = {"control-unaligned", "stride-2",
                                                   "bar-prefetchable", "registers-all-ones"};
    Scenario qualify;
    qualify.name = "qualify-faults";
    qualify.routine = {"6.12"};
    for (size_t i = 0; i <= std::size(kFaults); i++)
        qualify.models.push_back(
            fmt::format("--unit-ids imc={},{} --unit-ids unknown={}", 2 * i, 2 * i + 1, i));
    for (size_t i = 0; i < std::size(kFaults); i++)
        qualify.models[i + 1] += fmt::format(" --fault {}", kFaults[i]);
    qualify.models.push_back("--unit-ids imc=10,11 --unit-ids unknown=5 --global-mmio");
    qualify.steps = {{"qualify", "/selftests/uncore_pmon/qualify.sh faults", 300}};
    qualify.kernels = kX86Kernels;
    return qualify;
}

// Runs uncore_pmon with the in-tree drivers of the function and its units. intel_uncore loads only
// if CPUID reports no hypervisor, and initializes units with the second CPU of a die, so both CPUs
// are on one die. Does not run on debug kernels, because intel_uncore leaks memory at unload.
Scenario uncore_pmon_neighbors()
{
    Scenario neighbors = uncore_pmon_scenario("neighbors");
    neighbors.hides_hypervisor = true;
    neighbors.bridges = {};
    neighbors.chassis = {
        {"uncore_pmon --global-mmio --access-log {out}/accesses.log", "pcie.0", "18.0"}};
    neighbors.kernels = {"6.1", "6.12", "7.2"};
    neighbors.steps = {
        {"neighbors", "/selftests/uncore_pmon/neighbors.sh /lib/vmrun/uncore_pmon.ko", 600}};
    neighbors.checks = {
        {"an insmod that is refused beside intel_uncore writes no register",
         {"{selftests}/uncore_pmon/count_writes.sh", "{out}/accesses.log", "1", "2"},
         0,
         {"marks=2 writes=0 of "}},
        {"none of a unit that a program counts with",
         {"{selftests}/uncore_pmon/count_writes.sh", "{out}/accesses.log", "3", "4", "6.0"},
         0,
         {"marks=2 writes=0 of "}}};
    return neighbors;
}

// Irregular tables as on real machines: two tables in a function, ids with gaps, a unit that never
// responds, and units whose reads sometimes fail.
Scenario uncore_pmon_odd()
{
    Scenario odd = uncore_pmon_scenario(
        "odd",
        "uncore_pmon --serves 00:10.0 --tables 2 --unit-ids imc=3,9 --unit-ids cxlcm=4 "
        "--unit-ids cxldp=6 --unit-ids b2cxl=8 --unit-ids unknown=7");
    odd.chassis.push_back(
        {"uncore_pmon --unknown 0 --unit-ids imc=12,15 --all-ones imc.15", "pcie.0", "19.0"});
    odd.chassis.push_back(
        {"uncore_pmon --unit-ids imc=20,31 --unit-ids unknown=40 --all-ones imc.20 "
         "--all-ones imc.31 --all-ones unknown.40 --ones-every 3 --access-log {out}/ones.log",
         "pcie.0", "1a.0"});
    odd.routine = {"7.2"};
    odd.steps = {{"odd", "/selftests/uncore_pmon/odd.sh", 600}};
    odd.checks = {
        {"reads of units did fail", {"grep", "-m", "1", " ones$", "{out}/ones.log"}, 0, {" ones"}}};
    return odd;
}

// One function per fault of the model; the first function has no fault. Unit ids are unique.
Scenario uncore_pmon_faults()
{
    static constexpr std::string_view kFaults[] = {
        "no-table",
        "table-inside-bar",
        "bar-7",
        "bar-prefetchable",
        "stride-0",
        "stride-1",
        "stride-2",
        "stride-255",
        "max-units-0",
        "max-units-beyond-bar",
        "global-word-zero",
        "global-word-ones",
        "global-control-zero",
        "global-control-ones",
        "global-status-ones",
        "table-all-ones",
        "unit-word-0-ones",
        "unit-word-1-ones",
        "unit-word-2-ones",
        "control-outside-bars",
        "control-behind-bar",
        "window-beyond-bar",
        "control-unaligned",
        "duplicate-ids",
        "no-counters",
        "num-counters-255",
        "width-0",
        "width-65",
        "width-255",
        "control-offset-0",
        "counter-offset-0",
        "offsets-overlap",
        "access-type-3",
        "units-of-a-type-differ",
        "table-changes-between-reads",
        "counters-go-backwards",
        "registers-all-ones",
    };
    Scenario faults;
    faults.name = "faults";
    for (size_t i = 0; i <= std::size(kFaults); i++)
        faults.models.push_back(
            fmt::format("--unit-ids imc={},{} --unit-ids unknown={}", 2 * i, 2 * i + 1, i));
    try_each_fault(faults, "uncore_pmon", kFaults);
    faults.kernels = kX86Kernels;
    faults.routine = {"7.2"};
    return faults;
}

Scenario uncore_pmon_stress()
{
    Scenario stress = uncore_pmon_scenario("stress");
    stress.steps = {
        stress_step("events",
                    "--pmu 'uncore_*' --workers 2 --unprivileged 1 --module uncore_pmon "
                    "--least-opens 10"),
        stress_step("machine",
                    "--pmu 'uncore_*' --workers 2 --module uncore_pmon --cpu 1 "
                    "--remove 8086:09a7 "
                    "--unload uncore_pmon=/lib/vmrun/uncore_pmon.ko "
                    "--read /sys/bus/event_source/devices/uncore_imc_0 "
                    "--least-opens 1"),
    };
    return stress;
}

}  // namespace

DriverSpec uncore_pmon_driver()
{
    DriverSpec driver;
    driver.name = "uncore_pmon";
    driver.modules = {"pmukit_common", "uncore_pmon"};
    driver.programs = {"tools/cli/pmukit", "selftests/uncore_pmon/uncore_load",
                       "selftests/uncore_pmon/uncore_pmon_test",
                       "selftests/uncore_pmon/uncore_pmon_life_test",
                       "selftests/uncore_pmon/uncore_pmon_faults_test"};
    driver.files = {"selftests/uncore_pmon/traffic.sh",
                    "selftests/lib/tap.sh",
                    "selftests/uncore_pmon/abi_paths.sh",
                    "selftests/lib/abi.sh",
                    "selftests/uncore_pmon/discover.sh",
                    "selftests/uncore_pmon/qualify.sh",
                    "selftests/lib/qualify_steps.sh",
                    "selftests/uncore_pmon/parameters.sh",
                    "selftests/uncore_pmon/neighbors.sh",
                    "selftests/uncore_pmon/sockets.sh",
                    "selftests/uncore_pmon/odd.sh",
                    "selftests/uncore_pmon/perf_stat.sh",
                    "selftests/uncore_pmon/perf_tests.sh",
                    "selftests/lib/perf_test.sh",
                    "Documentation/ABI/testing/debugfs-pmukit",
                    "Documentation/ABI/testing/sysfs-bus-event_source-devices-uncore_pmon"};
    driver.tests = {uncore_pmon_traffic("traffic"),
                    uncore_pmon_test(),
                    uncore_pmon_shared(),
                    uncore_pmon_wrap(),
                    uncore_pmon_narrow(),
                    uncore_pmon_life(),
                    uncore_pmon_parameters(),
                    uncore_pmon_packages(),
                    uncore_pmon_sockets(),
                    uncore_pmon_neighbors(),
                    uncore_pmon_odd(),
                    uncore_pmon_qualify(),
                    uncore_pmon_qualify_faults(),
                    uncore_pmon_faults()};
    driver.demo = uncore_pmon_traffic("demo");
    driver.examples = {"pmukit list",
                       "perf stat -a -e uncore_imc_0/config=0xcf05/ -- uncore_load --function "
                       "00:18.0 --bar 4 --reads 5000",
                       "pmukit discover"};
    return driver;
}

DriverSpec uncore_pmon_tests()
{
    DriverSpec driver =
        with_stress(uncore_pmon_driver(), uncore_pmon_stress(), "--pmu uncore_imc_0");
    driver = with_sleep(driver, "--pmu uncore_imc_0");
    driver = with_aux_extras(driver, "test", {{"aux_extras", "--pmu uncore_imc_0"}});
    driver = with_reloads(driver, "--pmu uncore_imc_0");
    driver = with_failures(
        driver, {{"fail_nth", "--pmu uncore_imc_0"},
                 {"fail_nth_load",
                  "--pmu uncore_imc_0 --dense 32 --load uncore_pmon=/lib/vmrun/uncore_pmon.ko"}});
    driver = with_privileges(
        driver, "test",
        {{"privileges", "--pmu uncore_imc_0 --policy paranoid" + trees_of_pmus("uncore")},
         {"privileges_cxl", "--pmu uncore_cxlcm_0 --policy paranoid"}});
    return with_examples(driver,
                         {"Documentation/getting-started/uncore_pmon-start.rst",
                          "Documentation/devices/uncore_pmon.rst"},
                         "6.12", uncore_pmon_scenario("examples"));
}

}  // namespace pmukit::vm
