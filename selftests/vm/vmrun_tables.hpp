// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Properties of guest kernels and of drivers. A new kernel needs only a row in vmrun_tables.cpp;
// the scenarios of a driver are in selftests/<driver>/scenarios.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::vm {

struct KernelQuirks {
    std::string_view kernel;   // folder below guests/ in the cache
    std::string_view arch;     // amd64, arm64 or ppc64el: folder below build/guest/
    std::string_view qemu;     // QEMU's program
    std::string_view machine;  // argument of -M, without the memory backend
    std::string_view cpu;
    std::string_view tcg;      // argument of -accel if KVM is not used
    std::string_view console;  // kernel's name of the first serial port
    std::string_view memory;
    // Parts of log lines of this kernel that look like warnings but are harmless.
    std::span<const std::string_view> harmless{};
    std::string_view append{};                  // more kernel parameters
    std::span<const std::string_view> lacks{};  // stock modules that this kernel does not have
    // The kernel is built with KASAN, lockdep and kmemleak, and is slow. At the end of a scenario,
    // vmrun checks that lockdep is still active.
    bool debug = false;
    bool races = false;  // the kernel has KCSAN in place of KASAN and kmemleak
};

enum class Mode { kTest, kDemo, kShell };

struct GuestStep {
    std::string_view name;
    // A command for the guest's sh that prints TAP; {seed}, {next_seed} and {seconds} are replaced.
    std::string command;
    // Time limit, which must suffice for an emulated CPU on a busy host. If the command uses
    // {seconds}, that time is added to the limit.
    unsigned limit_seconds;
};

// A check that runs on the host. It reads files that the guest has written to {guest}, or that the
// models have written to {out}. More placeholders in its command: {kernel}, {kver}, {seed},
// {next_seed}, the programs {pmukit}, {model}, {checker}, {entries_checker}, {topology_checker},
// {ptt_checker}, {power_cut}, and the folder {selftests}.
struct HostStep {
    std::string name;
    std::vector<std::string> command;
    int exit_code = 0;
    std::vector<std::string_view> must_say{};  // texts that stdout or stderr must contain
    std::string output_to{};                   // file for stdout; empty: a demo prints stdout
};

// Where a scenario's devices are: on pcie.0 (RCiEP), each below a pcie-root-port, or each below a
// cxl-rp of the same pxb-cxl.
enum class Placement { kIntegrated, kRootPort, kCxlRootPort };

// One device of a chassis. A single process emulates all devices of a chassis, and each device
// receives the packets of the others.
struct ChassisDevice {
    // Argument of option --device of `pmukit-model chassis`; vmrun adds --socket.
    std::string_view words;
    std::string_view bus;  // QEMU's name of the device's bus
    std::string_view address{};
    bool plugged = true;  // present at boot; if false, plugged when the guest requests it
};

// Size and address of the memory of a tapped node (Scenario::tapped_node), and size of the guest's
// other memory, which is at lower addresses. {tap_base} and {tap_bytes} in the arguments of a model
// stand for the address and size of the tapped memory.
inline constexpr std::string_view kTappedBytes = "256M", kUntappedBytes = "768M",
                                  kTappedBase = "0x30000000";

// One guest: its devices, the steps that run in the guest, and the checks that run on the host.
struct Scenario {
    std::string_view name;  // also the name of the output folder
    Placement placement = Placement::kIntegrated;
    // Arguments of pmukit-model after the driver's name, one element per device; {out} is replaced.
    // The output of model n, counted from 0, is in {out}/model<n>.log.
    std::vector<std::string> models;
    std::vector<GuestStep> steps;
    std::vector<HostStep> checks;
    std::vector<std::string_view> kernels{};  // kernels that can run the scenario; empty: all
    // Stock kernels on which the scenario is routine, that is, runs without --all. Empty: all. On
    // debug kernels every scenario is routine.
    std::vector<std::string_view> routine{};
    bool only_all = false;  // not routine on any stock kernel, because it takes too long
    // The scenario runs only if --scenario names it.
    bool on_request = false;
    // Used in place of `models` and `placement`: devices that one process emulates (model 0), and
    // the ports and switches above these devices, for QEMU's -device.
    std::vector<ChassisDevice> chassis{};
    std::vector<std::string_view> bridges{};
    // Arguments of QEMU's -object: objects that the devices in `bridges` use.
    std::vector<std::string_view> objects{};
    // Other drivers whose modules and programs the guest has, too.
    std::vector<std::string_view> beside{};
    // Modules to load in place of the driver's modules. A name with a folder is a path below
    // build/modules/<kernel>/.
    std::vector<std::string_view> modules_instead{};
    std::vector<std::string_view> stock_modules{};  // added to the driver's stock modules
    // Example commands that a shell prints, in place of the driver's examples.
    std::vector<std::string_view> examples{};
    // NUMA nodes. If there are several, each has one CPU and, without `smp`, one socket. The CPU of
    // the second node, and so the CPU nearest to a device there, can go offline even on x86, where
    // CPU 0 cannot.
    unsigned nodes = 1;
    std::string_view smp{};     // argument of -smp, in place of two CPUs
    std::string_view append{};  // more kernel parameters
    // Parts of log lines that the kernel prints in this scenario and that are harmless.
    std::vector<std::string_view> harmless{};
    // The guest's clock follows the number of its instructions and does not depend on the host's
    // load. Devices still use the host's clock.
    bool steady = false;
    // Two NUMA nodes: the first has the CPUs, the second only memory, which represents the memory
    // of the first model's device. A plugin of QEMU reports the guest's accesses to this memory to
    // that model: see kTappedBase above.
    bool tapped_node = false;
    // Options of the QEMU plugin in tools/rdt, which emulates RDT. Empty: the CPU has no RDT. The
    // guest has two L3 caches if it has two sockets and cpus-per-l3=1.
    std::string_view rdt{};
    // The guest suspends, so the devices of the shared folders must keep their state. Needs Linux
    // 6.12 or newer.
    bool sleeps = false;
    // Size of a disk with an ext4 file system, /dev/vda, for mke2fs. Empty: no disk.
    // {out}/disk.begin is its content at the boot, and {out}/disk.log has its writes and flushes:
    // see selftests/power_cut.
    std::string_view disk{};
    // CPUID reports no hypervisor. Needed for drivers that do not load under a hypervisor.
    bool hides_hypervisor = false;
    // Some steps violate the documentation of a device on purpose, and a check expects the
    // violations.
    bool trespasses = false;
};

struct DriverSpec {
    std::string_view name;
    std::vector<std::string_view> stock_modules;  // in load order; built-in modules are skipped
    std::vector<std::string_view> modules;   // of pmukit, in load order, each with its parameters
    std::vector<std::string_view> programs;  // below build/guest/<arch>; copied to /usr/bin
    std::vector<std::string_view> files;     // of the source tree; copied to /selftests/<driver>
    std::vector<Scenario> tests;
    Scenario demo;  // a shell uses it, too, unless the user names another scenario
    // Those of `programs` that a demo has, if no scenario is named. Empty: all.
    std::vector<std::string_view> demo_programs{};
    // Complete commands that a shell prints at its start as examples
    std::vector<std::string_view> examples{};
    // Names of scenarios that last at most three minutes on a debug kernel, where `make test` runs
    // one of them.
    std::vector<std::string_view> brief{};
    // Below build/modules/<kernel>/firmware; copied to the guest's /lib/firmware.
    std::vector<std::string_view> firmware{};
    // The device model counts violations of the device's documentation by the driver. If `conforms`
    // is true, a scenario fails on any violation, except one of a model with a --fault.
    bool conforms = false;
};

// Returns the driver with what the scenario changes: Scenario::beside, modules_instead,
// stock_modules and examples.
DriverSpec with_others(const DriverSpec &driver, const Scenario &scenario);

// Returns whether the kernel is in the scenario's list. runs_on() excludes the scenarios that run
// only on request.
bool can_run_on(const Scenario &scenario, const KernelQuirks &kernel);
bool runs_on(const Scenario &scenario, const KernelQuirks &kernel);
bool is_routine_on(const Scenario &scenario, const KernelQuirks &kernel);

// Returns whether a routine scenario is in the shard; the shard number is taken modulo kShards. A
// scenario is in a different shard on each of the three stock x86 kernels. If it is routine on all
// three, each shard therefore runs it on exactly one kernel.
inline constexpr uint64_t kShards = 3;
bool is_in_shard(const DriverSpec &driver, const Scenario &scenario, const KernelQuirks &kernel,
                 uint64_t shard);

// Returns the text that `make vm` prints at the start: content of the guest, example commands, and
// the host's folder that the guest sees as /out.
std::string shell_banner(const DriverSpec &driver, std::string_view scenario,
                         std::string_view kernel_version, std::string_view folder);

// Returns the driver's brief scenario of this number, modulo their count; nullptr if the driver has
// none.
const Scenario *brief_scenario(const DriverSpec &driver, uint64_t number);

std::optional<Mode> mode_by_name(std::string_view name);
std::optional<Placement> placement_by_name(std::string_view name);

std::span<const KernelQuirks> kernels();
const KernelQuirks *kernel_by_name(std::string_view name);
std::span<const DriverSpec> drivers();
const DriverSpec *driver_by_name(std::string_view name);

}  // namespace pmukit::vm
