// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Guest scenarios of cache_qos: devices, steps, and checks on the host.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vmrun_scenarios.hpp"

namespace pmukit::vm {

namespace {

Scenario cache_qos_live(std::string_view name)
{
    Scenario live;
    live.name = name;
    live.kernels = kX86Kernels;
    // With a third CPU, a test that uses two CPUs does not use the whole machine.
    live.smp = "3";
    live.steps = {{"abi_paths", "/selftests/cache_qos/abi_paths.sh", 300},
                  {"groups", "/selftests/cache_qos/groups.sh", 300},
                  {"events", "cache_qos_test", 300}};
    return live;
}

Scenario cache_qos_script(std::string_view name, std::string_view script, unsigned limit_seconds,
                          std::vector<std::string_view> routine)
{
    Scenario scenario;
    scenario.name = name;
    scenario.kernels = kX86Kernels;
    scenario.routine = std::move(routine);
    scenario.steps = {{name, std::string(script), limit_seconds}};
    return scenario;
}

Scenario cache_qos_life()
{
    Scenario life = cache_qos_script("life", "/selftests/cache_qos/life.sh", 900, {});
    life.only_all = true;
    return life;
}

// The variant with 16 CPUs runs only if all scenarios are requested.
Scenario cache_qos_scale(std::string_view name, std::string_view cpus)
{
    Scenario scale = cache_qos_script(name, "/selftests/cache_qos/scale.sh", 300, {"7.2"});
    scale.smp = cpus;
    scale.append = "nohz_full=7";
    scale.only_all = cpus == "16";
    return scale;
}

// The guest's clock follows its instructions, so that the host's load does not affect the results.
Scenario cache_qos_bench()
{
    Scenario bench = cache_qos_script("bench", "cache_qos_bench", 400, {"6.12"});
    bench.steady = true;
    return bench;
}

// Compares values read in the guest with the reference log of the emulated processor.
HostStep rdt_check(std::string_view what, const std::string &script, const std::string &count)
{
    return {std::string(what),
            {"{selftests}/cache_qos/check_rdt.sh", "{out}/rdt.log",
             "{guest}/" + script + ".readings", count},
            0,
            {"good=yes"}};
}

// Runs the driver with its hardware back-end, on a processor with two L3s and emulated registers.
Scenario cache_qos_on_registers(std::string_view name, std::vector<std::string_view> kernels)
{
    Scenario rdt;
    rdt.name = name;
    rdt.kernels = std::move(kernels);
    rdt.smp = "2,sockets=2";
    rdt.rdt = "cpus-per-l3=1";
    rdt.modules_instead = {"pmukit_common", "cache_qos"};
    return rdt;
}

// resctrl and the driver read the same values.
Scenario cache_qos_beside_resctrl(std::string_view name, std::vector<std::string_view> kernels)
{
    Scenario rdt = cache_qos_on_registers(name, std::move(kernels));
    rdt.steps = {{"rdt", "/selftests/cache_qos/rdt.sh", 900}};
    rdt.checks = {rdt_check(
        "resctrl, cache_qos and perf show what is in the caches and what was moved", "rdt", "7")};
    return rdt;
}

Scenario cache_qos_rdt()
{
    Scenario rdt = cache_qos_beside_resctrl("rdt", {"6.1", "7.2"});
    rdt.examples = {
        "perf stat -e cache_qos/llc_occupancy/,cache_qos/total_bytes/ -- cache_qos_walk 8 3 1",
        "rmmod cache_qos; mount -t resctrl resctrl /sys/fs/resctrl",
        "cat /sys/fs/resctrl/schemata"};
    return rdt;
}

// Linux 6.12 does not boot with one host thread per emulated CPU. If emulated CPUs share a thread,
// QEMU passes wrong CPU numbers to plugins. So this guest has only one CPU.
Scenario cache_qos_rdt_one()
{
    Scenario rdt = cache_qos_beside_resctrl("rdt_one", {"6.12"});
    rdt.smp = "1";
    return rdt;
}

// On Zen 5, software assigns bandwidth counters to RMIDs (ABMC). In this scenario resctrl assigns
// them first, then the driver.
Scenario cache_qos_rdt_amd()
{
    Scenario rdt = cache_qos_beside_resctrl("rdt_amd", {"7.2"});
    rdt.rdt = "cpus-per-l3=1,vendor=amd,rmids=256,classes=16,unit=64,width=44,abmc=32";
    // The kernel warns about microcode, which an emulated processor does not have.
    rdt.harmless = {"Speculative Return Stack Overflow: WARNING"};
    return rdt;
}

// The processor has 24-bit bandwidth counters, which wrap for the first time after 64000 bytes.
Scenario cache_qos_rdt_wrap()
{
    Scenario rdt = cache_qos_beside_resctrl("rdt_wrap", {"6.1", "7.2"});
    rdt.rdt = "cpus-per-l3=1,unit=64,width=24,start=16776216";
    return rdt;
}

// A scenario in which another program also writes the registers. The guest script has the name of
// the scenario.
Scenario cache_qos_rdt_msr(std::string_view name, std::vector<std::string_view> kernels,
                           std::string_view arguments, std::string_view what,
                           const std::string &readings)
{
    const std::string script(name);
    Scenario rdt = cache_qos_on_registers(name, std::move(kernels));
    rdt.stock_modules = {"msr"};
    rdt.steps = {{name, "/selftests/cache_qos/" + script + ".sh" + std::string(arguments), 900}};
    rdt.checks = {rdt_check(what, script, readings)};
    return rdt;
}

// Another tool sets classes of service.
Scenario cache_qos_rdt_closid()
{
    return cache_qos_rdt_msr("rdt_closid", {"7.2"}, " 100",
                             "classes of service change as often as they were set", "2");
}

// resctrl is mounted and unmounted while the driver monitors a group.
Scenario cache_qos_rdt_resctrl()
{
    return cache_qos_rdt_msr(
        "rdt_resctrl", {"6.1", "7.2"}, "",
        "resctrl and cache_qos show what is in the caches, one after the other", "4");
}

// Runs Debian's pqos, which uses MSRs: first alone for comparison, then together with the driver.
Scenario cache_qos_rdt_pqos()
{
    Scenario rdt = cache_qos_rdt_msr(
        "rdt_pqos", {"6.1", "7.2"}, "",
        "pqos and cache_qos show what is in the caches, and the class of service", "3");
    // `make vm RDT=1` shows these.
    rdt.examples = {
        "perf stat -e cache_qos/llc_occupancy/,cache_qos/total_bytes/ -- cache_qos_walk 8 3 1",
        "mkdir -p /var/lock; pqos --iface=msr -s",
        "rmmod cache_qos; mount -t resctrl resctrl /sys/fs/resctrl; cat /sys/fs/resctrl/schemata",
        "pmukit record -e resctrl// -- cache_qos_walk 8 3 1; pmukit report"};
    // pqos divides its values by the number of NUMA nodes per socket.
    rdt.smp = {};
    rdt.nodes = 2;
    return rdt;
}

// An L3 is divided into nodes of one CPU each (sub-NUMA clustering). Linux supports this
// since 6.11: older kernels leave the RMIDs divided among the nodes, and the driver does not load
// until they share them. Until then the module waits for a simulation, which does not come.
Scenario cache_qos_rdt_snc(std::string_view name, std::string_view kernel, unsigned nodes,
                           std::string_view smp, std::string_view options, std::string_view script,
                           const std::string &readings)
{
    Scenario rdt = cache_qos_on_registers(name, {kernel});
    rdt.nodes = nodes;
    rdt.smp = smp;
    rdt.rdt = options;
    rdt.modules_instead = {"pmukit_common", "cache_qos backend=sim"};
    rdt.stock_modules = {"msr"};
    rdt.steps = {{"rdt_snc", std::string(script), 1200}};
    rdt.checks = {rdt_check("the values of each node, and their sum, show what is in the caches",
                            "rdt_snc", readings)};
    return rdt;
}

// Runs pmukit qualify on a processor with RDT registers. In the scenario rdt_silent, all reads of
// QM_CTR return errors.
Scenario cache_qos_rdt_qualify()
{
    return cache_qos_rdt_msr("rdt_qualify", {"6.1", "7.2"}, "",
                             "no register was written that another one has, nor a class of service",
                             "6");
}

Scenario cache_qos_rdt_silent()
{
    Scenario silent = cache_qos_on_registers("rdt_silent", {"7.2"});
    silent.rdt = "cpus-per-l3=1,error=1";
    silent.modules_instead = {"pmukit_common"};
    silent.stock_modules = {"msr"};
    silent.steps = {{"rdt_silent", "/selftests/cache_qos/rdt_qualify.sh silent", 300}};
    return silent;
}

GuestStep configfs_step()
{
    return {"configfs",
            "mount -t configfs configfs /sys/kernel/config && "
            "printf 'TAP version 13\\n1..1\\nok 1 mounted\\n'",
            20};
}

Scenario cache_qos_stress()
{
    Scenario stress;
    stress.kernels = kX86Kernels;
    stress.steps = {
        configfs_step(),
        stress_step("events",
                    "--pmu 'cache_qos*' --workers 2 --unprivileged 1 --module cache_qos "
                    "--least-opens 10 --least-aux 2"),
        stress_step("machine",
                    "--pmu 'cache_qos*' --workers 2 --module cache_qos --cpu 1 "
                    "--unload 'cache_qos_sim=/lib/vmrun/cache_qos_sim.ko profile=spr lines=2048,"
                    "cache_qos=/lib/vmrun/cache_qos.ko backend=sim' "
                    "--group /sys/kernel/config/cache_qos --group /sys/kernel/config/cache_qos "
                    "--read /sys/bus/event_source/devices/cache_qos "
                    "--least-opens 1 --least-aux 1"),
    };
    return stress;
}

// Writes to every writable file of the driver. The writing program moves into a monitored group and
// back to the root. The group is removed at the end, so that the modules can be unloaded.
std::string cache_qos_writes()
{
    constexpr std::string_view kWrites[] = {
        "config/cache_qos/fails/monitor_cache=0,1", "config/cache_qos/fails/tasks=-$$,$$",
        "config/cache_qos/fails/tasks=$$,-$$",      "config/cache_qos/fails/procs=-$$,$$",
        "config/cache_qos/fails/procs=$$,-$$",      "config/cache_qos/fails/monitor_cache=1,0",
    };
    constexpr std::string_view kSettings[] = {"sample_ms=100,1000", "threshold=0",
                                              "alloc_dirty=1,0"};
    std::string options = "--pmu cache_qos --event event=1";
    for (std::string_view write : kWrites)
        options += " --write /sys/kernel/" + std::string(write);
    for (std::string_view setting : kSettings)
        options += " --write /sys/bus/event_source/devices/cache_qos/" + std::string(setting);
    return options + " && rmdir /sys/kernel/config/cache_qos/fails";
}

// Runs on x86 only, because the module cache_qos exists only there.
Scenario cache_qos_examples()
{
    Scenario examples;
    examples.kernels = kX86Kernels;
    return examples;
}

}  // namespace

// The simulated L3 has 2048 lines of 88 KiB: 176 MiB.
DriverSpec cache_qos_driver()
{
    DriverSpec driver;
    driver.name = "cache_qos";
    driver.stock_modules = {"configfs"};
    driver.modules = {"pmukit_common", "cache_qos backend=sim",
                      "cache_qos_sim profile=spr lines=2048"};
    driver.programs = {"tools/cli/pmukit",
                       "selftests/cache_qos/cache_qos_bench",
                       "selftests/cache_qos/cache_qos_closid",
                       "selftests/cache_qos/cache_qos_crowd",
                       "selftests/cache_qos/cache_qos_load",
                       "selftests/cache_qos/cache_qos_test",
                       "selftests/cache_qos/cache_qos_walk"};
    driver.files = {"selftests/lib/tap.sh",
                    "selftests/cache_qos/sim.sh",
                    "selftests/cache_qos/groups.sh",
                    "selftests/cache_qos/perf_stat.sh",
                    "selftests/cache_qos/tiny.sh",
                    "selftests/cache_qos/turns.sh",
                    "selftests/cache_qos/nodes.sh",
                    "selftests/cache_qos/counters.sh",
                    "selftests/cache_qos/machine.sh",
                    "selftests/cache_qos/scale.sh",
                    "selftests/cache_qos/claim.sh",
                    "selftests/cache_qos/walk.sh",
                    "selftests/cache_qos/rdt.sh",
                    "selftests/cache_qos/rdt_closid.sh",
                    "selftests/cache_qos/rdt_pqos.sh",
                    "selftests/cache_qos/rdt_resctrl.sh",
                    "selftests/cache_qos/rdt_qualify.sh",
                    "selftests/cache_qos/rdt_snc.sh",
                    "selftests/cache_qos/closid.sh",
                    "selftests/cache_qos/unload.sh",
                    "selftests/cache_qos/neighbors.sh",
                    "selftests/cache_qos/record.sh",
                    "selftests/cache_qos/qualify.sh",
                    "selftests/lib/qualify_steps.sh",
                    "selftests/cache_qos/hotplug.sh",
                    "selftests/cache_qos/life.sh",
                    "selftests/cache_qos/abi_paths.sh",
                    "selftests/lib/abi.sh",
                    "selftests/cache_qos/mixed.sh",
                    "selftests/cache_qos/seed.sh",
                    "Documentation/ABI/testing/configfs-cache_qos",
                    "Documentation/ABI/testing/debugfs-pmukit",
                    "Documentation/ABI/testing/sysfs-bus-event_source-devices-cache_qos"};
    driver.tests = {
        cache_qos_live("live"),
        cache_qos_script("seed", "/selftests/cache_qos/seed.sh", 600, {"6.12"}),
        cache_qos_script("mixed", "/selftests/cache_qos/mixed.sh", 300, {"7.2"}),
        cache_qos_script("perf_stat", "/selftests/cache_qos/perf_stat.sh", 300, {"6.12"}),
        cache_qos_script("tiny", "/selftests/cache_qos/tiny.sh", 120, {"7.2"}),
        cache_qos_script("turns", "/selftests/cache_qos/turns.sh", 400, {"6.12"}),
        cache_qos_script("nodes", "/selftests/cache_qos/nodes.sh", 180, {"6.12"}),
        cache_qos_script("counters", "/selftests/cache_qos/counters.sh", 180, {"7.2"}),
        cache_qos_script("machine", "/selftests/cache_qos/machine.sh", 180, {"6.12"}),
        cache_qos_script("qualify", "/selftests/cache_qos/qualify.sh", 180, {"6.12"}),
        cache_qos_script("claim", "/selftests/cache_qos/claim.sh", 180, {"6.1"}),
        cache_qos_script("closid", "/selftests/cache_qos/closid.sh", 180, {"6.12"}),
        cache_qos_script("unload", "/selftests/cache_qos/unload.sh", 300, {"6.1"}),
        cache_qos_script("record", "/selftests/cache_qos/record.sh", 300, {"7.2"}),
        cache_qos_script("hotplug", "/selftests/cache_qos/hotplug.sh", 400, {"6.12"}),
        cache_qos_script("neighbors", "/selftests/cache_qos/neighbors.sh", 180,
                         {"6.1", "6.12", "7.2"}),
        cache_qos_rdt(),
        cache_qos_rdt_one(),
        cache_qos_rdt_amd(),
        cache_qos_rdt_wrap(),
        cache_qos_rdt_closid(),
        cache_qos_rdt_pqos(),
        cache_qos_rdt_resctrl(),
        cache_qos_rdt_snc("rdt_snc", "7.2", 4, "4,sockets=2", "cpus-per-l3=2,nodes=2",
                          "/selftests/cache_qos/rdt_snc.sh 2", "10"),
        cache_qos_rdt_snc("rdt_snc3", "6.1", 3, "3", "cpus-per-l3=3,nodes=3,unit=73728",
                          "/selftests/cache_qos/rdt_snc.sh 3", "5"),
        cache_qos_rdt_snc("rdt_snc4", "7.2", 4, "4", "cpus-per-l3=4,nodes=4",
                          "/selftests/cache_qos/rdt_snc.sh 4", "10"),
        cache_qos_rdt_qualify(),
        cache_qos_rdt_silent(),
        cache_qos_scale("scale", "8"),
        cache_qos_scale("scale16", "16"),
        cache_qos_life(),
        cache_qos_bench()};
    driver.demo = cache_qos_live("demo");
    driver.examples = {
        "perf stat -e cache_qos/llc_occupancy/,cache_qos/total_bytes/ -- cache_qos_load "
        "cq-ws4M-400M 2",
        "pmukit record -a -e cache_qos_aux/snapshot/ -- cache_qos_load cq-ws4M-400M 2",
        "pmukit report"};
    return driver;
}

DriverSpec cache_qos_tests()
{
    const std::string stream = "--pmu cache_qos_aux --event event=1 --aux 16";
    DriverSpec driver =
        with_stress(cache_qos_driver(), cache_qos_stress(), "--pmu cache_qos --event event=1");
    driver = with_aux_extras(
        driver, "live",
        {{"aux_extras", stream}, {"aux_extras_counting", "--pmu cache_qos --event event=1"}});
    driver = with_reloads(driver, stream);
    driver = with_failures(
        driver,
        {{"fail_nth",
          "--pmu cache_qos --event event=1 --dense 32 "
          "--mkdir /sys/kernel/config/cache_qos/fails "
          "--load cache_qos_sim=/lib/vmrun/cache_qos_sim.ko",
          "mount -t configfs configfs /sys/kernel/config && "},
         {"fail_nth_task", "--pmu cache_qos --event event=1 --task"},
         {"fail_nth_cgroup", "--pmu cache_qos --event event=1 --cgroup /tmp/cgroup/fails",
          // perf_event is an implicit controller: a cgroup below the root has it only if another
          // controller is enabled.
          "mkdir /tmp/cgroup && mount -t cgroup2 none /tmp/cgroup && "
          "echo +pids >/tmp/cgroup/cgroup.subtree_control && mkdir /tmp/cgroup/fails && "},
         {"fail_nth_files", cache_qos_writes(), "mkdir /sys/kernel/config/cache_qos/fails && "},
         {"fail_nth_aux", stream}});
    driver = with_privileges(
        driver, "live",
        {{"privileges",
          "--pmu cache_qos --policy paranoid --event event=1 --tree /sys/kernel/config/cache_qos "
          "&& rmdir /sys/kernel/config/cache_qos/watched",
          // Earlier steps have mounted configfs.
          "mkdir /sys/kernel/config/cache_qos/watched && "
          "echo 1 >/sys/kernel/config/cache_qos/watched/monitor_cache && "},
         {"privileges_task", "--pmu cache_qos --policy paranoid --event event=1 --task"},
         {"privileges_aux", "--policy capability " + stream}});
    return with_examples(driver,
                         {"Documentation/getting-started/cache_qos-start.rst",
                          "Documentation/devices/cache_qos.rst"},
                         "6.12", cache_qos_examples());
}

}  // namespace pmukit::vm
