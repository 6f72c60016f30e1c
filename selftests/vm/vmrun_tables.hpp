// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Properties of guest kernels and of drivers, as data. A new kernel is a row of vmrun_tables.cpp;
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
    std::string_view kernel;   // folder under the cache's guests/
    std::string_view arch;     // amd64, arm64: folder under build/guest/
    std::string_view qemu;     // program
    std::string_view machine;  // -M, without the memory backend
    std::string_view cpu;
    std::string_view tcg;      // -accel without KVM
    std::string_view console;  // kernel's name of the first serial port
    std::string_view memory;
    // Parts of log lines of this kernel that look like warnings but are harmless.
    std::span<const std::string_view> harmless{};
    std::string_view append{};                  // more kernel parameters
    std::span<const std::string_view> lacks{};  // stock modules that this kernel does not have
    bool debug = false;  // KASAN, lockdep, kmemleak: slower; checked at the end
    bool races = false;  // KCSAN in place of KASAN and kmemleak
};

enum class Mode { kTest, kDemo, kShell };

struct GuestStep {
    std::string_view name;
    // For the guest's sh; {seed}, {next_seed} and {seconds} are replaced; prints TAP.
    std::string command;
    // Sufficient for an emulated CPU on a busy host; plus {seconds} if the command uses it.
    unsigned limit_seconds;
};

// A check on the host, of files that the guest has written to {guest} and the models to {out}. More
// placeholders: {kernel}, {kver}, {seed}, {next_seed}, the programs {pmukit}, {model}, {checker},
// {entries_checker}, {topology_checker}, {ptt_checker}, and the folder {selftests}.
struct HostStep {
    std::string name;
    std::vector<std::string> command;
    int exit_code = 0;
    std::vector<std::string_view> must_say{};  // required in the output (stdout and stderr)
    std::string output_to{};                   // file for stdout; empty: only a demo shows it
};

// Devices are on pcie.0 (RCiEP), or each below a pcie-root-port, or each below a cxl-rp of one
// pxb-cxl.
enum class Placement { kIntegrated, kRootPort, kCxlRootPort };

// One device of a chassis: a single process serves all of them, and they see each other's packets.
struct ChassisDevice {
    std::string_view words;  // for pmukit-model chassis --device, without --socket
    std::string_view bus;    // QEMU's name of the device's bus
    std::string_view address{};
    bool plugged = true;  // present at boot; otherwise plugged when the guest requests it
};

// Sizes and address of a tapped node (Scenario::tapped_node), for QEMU's -m and a model's
// --tap-base; {tap_base} and {tap_bytes} in the words of a model. The rest of the guest's memory is
// at lower addresses.
inline constexpr std::string_view kTappedBytes = "256M", kUntappedBytes = "768M",
                                  kTappedBase = "0x30000000";

// One guest: its devices, the steps in it, the checks on the host.
struct Scenario {
    std::string_view name;  // also of the output folder
    Placement placement = Placement::kIntegrated;
    // One device each: arguments of pmukit-model after the driver's name; {out} is replaced. The
    // output of model n, from 0, is in {out}/model<n>.log.
    std::vector<std::string> models;
    std::vector<GuestStep> steps;
    std::vector<HostStep> checks;
    std::vector<std::string_view> kernels{};  // empty: all
    // Stock kernels on which the scenario is routine: it runs without --all. Empty: all. On debug
    // kernels every scenario is routine.
    std::vector<std::string_view> routine{};
    bool only_all = false;  // not routine on any stock kernel, because it takes too long
    // Runs only if --scenario names it.
    bool on_request = false;
    // In place of models and placement: devices that one process serves (model 0), and the ports
    // and switches above them, for QEMU's -device.
    std::vector<ChassisDevice> chassis{};
    std::vector<std::string_view> bridges{};
    std::vector<std::string_view> objects{};  // QEMU's -object, for devices among bridges
    // Other drivers whose modules and programs are in the guest, too.
    std::vector<std::string_view> beside{};
    // Modules in place of the driver's. A name with a folder is a path below
    // build/modules/<kernel>/.
    std::vector<std::string_view> modules_instead{};
    std::vector<std::string_view> stock_modules{};  // in addition to the driver's
    std::vector<std::string_view> examples{};       // for a shell, in place of the driver's
    // Two NUMA nodes with a CPU each: the CPU near a device in the second node can go offline, even
    // on x86.
    bool two_nodes = false;
    std::string_view smp{};     // QEMU's -smp in place of two CPUs; not with nodes
    std::string_view append{};  // more kernel parameters
    // Parts of log lines that the kernel prints in this scenario and that are harmless.
    std::vector<std::string_view> harmless{};
    // The guest's clock follows its instructions, independent of the host's load. Devices still use
    // the host's clock.
    bool steady = false;
    // Two NUMA nodes: the first has the CPUs, the second has only memory, which stands for the
    // memory of the first model. A plugin of QEMU reports the guest's accesses to this memory to
    // the model: see kTapped* above.
    bool tapped_node = false;
    // Not empty: a processor with RDT, emulated by a plugin of QEMU with these options (tools/rdt).
    // The guest has two L3s if it has two sockets and cpus-per-l3=1.
    std::string_view rdt{};
    // The guest suspends, so the devices of the shared folders must keep their state. Linux 6.12 or
    // newer.
    bool sleeps = false;
    // CPUID reports no hypervisor, for drivers that do not load under a hypervisor.
    bool hides_hypervisor = false;
    // The steps also violate the documentation of a device on purpose; a check expects the
    // violations.
    bool trespasses = false;
};

struct DriverSpec {
    std::string_view name;
    std::vector<std::string_view> stock_modules;  // in load order; built-in ones are skipped
    std::vector<std::string_view> modules;   // of pmukit, in load order, each with its parameters
    std::vector<std::string_view> programs;  // below build/guest/<arch>; copied to /usr/bin
    std::vector<std::string_view> files;     // of the source tree; copied to /selftests/<driver>
    std::vector<Scenario> tests;
    Scenario demo;  // also for a shell, unless a scenario is named
    // Complete commands that a shell prints at its start as examples
    std::vector<std::string_view> examples{};
    // Tests that last at most three minutes on a debug kernel, where `make test` runs one of them.
    std::vector<std::string_view> brief{};
    // Below build/modules/<kernel>/firmware; copied to the guest's /lib/firmware.
    std::vector<std::string_view> firmware{};
    // Violations of the device's documentation, which its model counts, fail a scenario, unless the
    // model has a --fault.
    bool conforms = false;
};

// The driver, with the changes and additions of the scenario.
DriverSpec with_others(const DriverSpec &driver, const Scenario &scenario);

bool runs_on(const Scenario &scenario, const KernelQuirks &kernel);
bool is_routine_on(const Scenario &scenario, const KernelQuirks &kernel);

// Divides the routine scenarios of a kernel into kShards shards; the shard is taken modulo kShards.
// The assignment shifts from kernel to kernel, so that each shard runs a scenario that is routine
// on the three stock x86 kernels on one of these kernels.
inline constexpr uint64_t kShards = 3;
bool is_in_shard(const DriverSpec &driver, const Scenario &scenario, const KernelQuirks &kernel,
                 uint64_t shard);

// The text that `make vm` prints at the start: content of the guest, example commands, and the
// host's folder of the guest's /out.
std::string shell_banner(const DriverSpec &driver, std::string_view scenario,
                         std::string_view kernel_version, std::string_view folder);

// The driver's brief scenario of this number, modulo their count; nullptr if it has none.
const Scenario *brief_scenario(const DriverSpec &driver, uint64_t number);

std::optional<Mode> mode_by_name(std::string_view name);
std::optional<Placement> placement_by_name(std::string_view name);

std::span<const KernelQuirks> kernels();
const KernelQuirks *kernel_by_name(std::string_view name);
std::span<const DriverSpec> drivers();
const DriverSpec *driver_by_name(std::string_view name);

}  // namespace pmukit::vm
