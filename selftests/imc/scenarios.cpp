// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Guest scenarios of imc: devices, steps, and checks on the host.
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vmrun_scenarios.hpp"

namespace pmukit::vm {

namespace {

// Two chips with one core of two threads each: on x86 all CPUs of the second chip can go offline.
// The arm64 kernel rejects two chips, or two threads per core, as inconsistent, because the
// emulated machine does not describe a shared cache.
constexpr std::string_view kTwoChips = "4,sockets=2,cores=1,threads=2";
constexpr std::string_view kFourCores = "4,sockets=1,cores=4";

Scenario imc_commands(std::string_view name)
{
    Scenario commands;
    commands.name = name;
    commands.routine = {"6.1", "7.2"};
    commands.steps = {{"abi_paths", "/selftests/imc/abi_paths.sh", 180},
                      {"commands", "/selftests/imc/commands.sh", 300},
                      {"record", "/selftests/imc/record.sh", 120}};
    commands.checks = {
        {"pmukit report names the functions of the program",
         {"{pmukit}", "report", "-i", "{guest}/aux.data", "--symfs", "{guest}/symfs"},
         0,
         {"source=model", "nothing lost"},
         "{out}/report"},
        {"they have the shares that they took",
         {"{selftests}/imc/check_split.sh", "{out}/report"},
         0,
         {"split=right"}}};
    return commands;
}

// Records the corpus of tools/perfdata with stock perf.
Scenario imc_corpus()
{
    Scenario corpus;
    corpus.name = "corpus";
    corpus.on_request = true;
    corpus.steps = {{"record_corpus", "/selftests/imc/record_corpus.sh", 300}};
    return corpus;
}

Scenario imc_trace()
{
    Scenario trace;
    trace.name = "split";
    trace.routine = {"6.12", "6.12-arm64"};
    trace.steps = {{"trace", "imc_trace_test", 1200}};
    return trace;
}

Scenario imc_qualify()
{
    Scenario qualify;
    qualify.name = "qualify";
    qualify.routine = {"6.12"};
    qualify.steps = {{"qualify", "/selftests/imc/qualify.sh", 180}};
    return qualify;
}

// Separate from imc_trace(), because this scenario runs by default on more kernels: how perf
// handles two events that share buffers differs by kernel.
Scenario imc_shared()
{
    Scenario shared;
    shared.name = "shared";
    shared.routine = {"6.1", "6.12", "7.2"};
    shared.steps = {{"shared", "imc_shared_test", 300}};
    return shared;
}

Scenario imc_counters(std::string_view name, std::string_view smp,
                      std::vector<std::string_view> kernels)
{
    Scenario counters;
    counters.name = name;
    counters.smp = smp;
    counters.kernels = std::move(kernels);
    counters.routine = {"6.12", "6.12-arm64", "6.12-ppc64el"};
    counters.steps = {{"counters", "imc_test", 900}};
    return counters;
}

Scenario imc_life(std::string_view name, std::string_view smp,
                  std::vector<std::string_view> kernels)
{
    Scenario life;
    life.name = name;
    life.smp = smp;
    life.kernels = std::move(kernels);
    life.routine = {"6.1", "7.2", "6.12-arm64"};
    life.steps = {{"life",
                   "PMUKIT_IMC=/lib/vmrun/imc.ko PMUKIT_ENGINE=/lib/vmrun/imc_engine.ko "
                   "imc_life_test",
                   900}};
    return life;
}

Scenario imc_faults()
{
    Scenario faults;
    faults.name = "faults";
    faults.routine = {"6.1"};
    faults.steps = {{"faults", "PMUKIT_ENGINE=/lib/vmrun/imc_engine.ko imc_faults_test", 300}};
    return faults;
}

// Runs imc with the PMUs of the kernel and of all other drivers, on the devices of the soak test.
Scenario imc_neighbors()
{
    Scenario neighbors;
    neighbors.name = "neighbors";
    neighbors.kernels = kX86Kernels;
    neighbors.routine = {"6.1", "6.12", "7.2"};
    neighbors.beside = {"cache_qos", "cxl_hmu", "hisi_ptt", "uncore_pmon"};
    neighbors.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    neighbors.chassis = {
        {"hisi_ptt --serves 00:10.0", "pcie.0", "18.0"},
        {"pcie_ep --bdf 01:00.0 --root-port 00:10.0", "rp10"},
        {"cxl_hmu --strict --serial 1", "pcie.0", "11.0"},
        {"uncore_pmon", "pcie.0", "19.0"},
    };
    neighbors.steps = {{"neighbors", "/selftests/imc/neighbors.sh", 600}};
    return neighbors;
}

// The engine samples ten times as often as by default, so that the cost of a sample is measurable.
Scenario imc_bench()
{
    Scenario bench;
    bench.name = "bench";
    bench.routine = {"6.12"};
    bench.steps = {{"reload",
                    "rmmod imc_engine && insmod /lib/vmrun/imc_engine.ko cpmc_load=0xfffff381 && "
                    "printf 'TAP version 13\\n1..1\\nok 1 a period of 100 us\\n'",
                    60},
                   {"bench", "imc_bench", 600}};
    return bench;
}

// Runs the engine at the sampling rate that POWER's firmware sets.
Scenario imc_rate()
{
    Scenario rate;
    rate.name = "rate";
    rate.routine = {"6.1", "7.2"};
    rate.steps = {
        {"refused",
         "rmmod imc_engine && "
         "! insmod /lib/vmrun/imc_engine.ko cpmc_load=0xffffff06 2>/dev/null && "
         "dmesg | grep -q 'imc_engine: cpmc_load=0xffffff06: a sample every 7812 ns is more often' "
         "&& insmod /lib/vmrun/imc_engine.ko cpmc_load=0xffffff05 && "
         "printf 'TAP version 13\\n1..1\\nok 1 what is more often than that is refused\\n'",
         60},
        {"rate", "imc_rate_test", 300}};
    return rate;
}

// Records on a disk whose writes and flushes are logged. The host computes from the log what the
// disk contains after a power cut, at many moments, and checks the recordings in it. Newer kernels
// have no module for crc32c.
Scenario imc_power_cut()
{
    constexpr std::string_view kKeep = "4";
    Scenario cut;
    cut.name = "power_cut";
    cut.kernels = {"6.1", "6.12"};
    cut.routine = {"6.12"};
    cut.disk = "16M";
    cut.stock_modules = {"virtio_blk", "crc32c_generic", "ext4"};
    cut.steps = {{"power_cut", fmt::format("/selftests/imc/power_cut.sh {}", kKeep), 180}};
    cut.checks = {{"recordings that were complete survive a power cut",
                   {"{selftests}/power_cut/check_power_cuts.sh", "{pmukit}", "{power_cut}", "{out}",
                    "{guest}", std::string(kKeep), "{seed}", "60"},
                   0,
                   {"good=yes"}}};
    return cut;
}

Scenario imc_stress()
{
    Scenario stress;
    stress.smp = kTwoChips;
    stress.kernels = kX86Kernels;
    stress.steps = {
        stress_step("events",
                    "--pmu '*_imc' --workers 2 --unprivileged 1 --module imc "
                    "--least-opens 10 --least-aux 2"),
        stress_step("machine",
                    "--pmu '*_imc' --workers 2 --module imc --cpu 2 "
                    "--cpu 3 --unload imc_engine=/lib/vmrun/imc_engine.ko,imc=/lib/vmrun/imc.ko "
                    "--read /sys/bus/event_source/devices/trace_imc "
                    "--least-opens 1 --least-aux 1"),
    };
    return stress;
}

}  // namespace

DriverSpec imc_driver()
{
    DriverSpec driver;
    driver.name = "imc";
    // The debug kernels have firmware_class as a module.
    driver.stock_modules = {"firmware_class"};
    driver.modules = {"pmukit_common", "imc", "imc_engine"};
    driver.firmware = {"pmukit/imc-power9.dtb"};
    driver.programs = {"tools/cli/pmukit",
                       "selftests/imc/imc_load",
                       "selftests/imc/imc_test",
                       "selftests/imc/imc_trace_test",
                       "selftests/imc/imc_rate_test",
                       "selftests/imc/imc_shared_test",
                       "selftests/imc/imc_life_test",
                       "selftests/imc/imc_faults_test",
                       "selftests/imc/imc_bench"};
    driver.files = {"selftests/lib/tap.sh",
                    "selftests/imc/abi_paths.sh",
                    "selftests/lib/abi.sh",
                    "selftests/imc/commands.sh",
                    "selftests/imc/record.sh",
                    "selftests/imc/qualify.sh",
                    "selftests/lib/qualify_steps.sh",
                    "selftests/imc/neighbors.sh",
                    "selftests/perfdata/record_corpus.sh",
                    "selftests/power_cut/power_cut.sh",
                    "selftests/imc/check_split.sh",
                    "Documentation/ABI/testing/debugfs-imc_engine",
                    "Documentation/ABI/testing/debugfs-pmukit",
                    "Documentation/ABI/testing/sysfs-bus-event_source-devices-imc",
                    "Documentation/ABI/testing/sysfs-devices-imc_engine"};
    driver.tests = {imc_commands("commands"),
                    imc_trace(),
                    imc_rate(),
                    imc_shared(),
                    imc_qualify(),
                    imc_counters("counters", kTwoChips, kX86Kernels),
                    imc_counters("counters-arm64", kFourCores, kArm64Kernels),
                    imc_counters("counters-ppc64el", kFourCores, kPpc64elKernels),
                    imc_life("life", kTwoChips, kX86Kernels),
                    imc_life("life-arm64", kFourCores, kArm64Kernels),
                    imc_faults(),
                    imc_neighbors(),
                    imc_bench(),
                    imc_power_cut(),
                    imc_corpus()};
    driver.demo = imc_commands("demo");
    driver.examples = {"perf stat -a -e core_imc/CPM_NON_IDLE_INST/ -- imc_load busy 2000",
                       "pmukit record -a -e trace_imc/trace_cycles/ -- imc_load busy 2000",
                       "pmukit report"};
    return driver;
}

DriverSpec imc_tests()
{
    DriverSpec driver = with_stress(imc_driver(), imc_stress(), "--pmu core_imc");
    driver = with_sleep(driver, "--pmu core_imc");
    // These steps are in the scenario "shared", which runs by default on all x86 kernels.
    driver = with_aux_extras(
        driver, "shared",
        {{"aux_extras", "--pmu trace_imc --aux 16"}, {"aux_extras_counting", "--pmu core_imc"}});
    driver = with_reloads(driver, "--pmu trace_imc --aux 16");
    driver = with_failures(
        driver, {{"fail_nth",
                  "--pmu trace_imc --aux 16 --dense 32 --load imc_engine=/lib/vmrun/imc_engine.ko"},
                 {"fail_nth_thread", "--pmu thread_imc --task"},
                 {"fail_nth_core", "--pmu core_imc"},
                 {"fail_nth_nest", "--pmu nest_mcs01_imc"}});
    driver = with_privileges(
        driver, "counters",
        {{"privileges_trace",
          "--pmu trace_imc --policy capability --aux 16 --tree /sys/devices/imc_engine"},
         {"privileges_thread", "--pmu thread_imc --policy capability --task"},
         {"privileges_core", "--pmu core_imc --policy paranoid"},
         {"privileges_nest", "--pmu nest_mcs01_imc --policy paranoid" + trees_of_pmus("nest")}});
    return with_examples(
        driver, {"Documentation/getting-started/imc-start.rst", "Documentation/devices/imc.rst"},
        "6.12", Scenario{});
}

}  // namespace pmukit::vm
