// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What differs between guest kernels and between drivers, as data. A new kernel is a row of
// vmrun_tables.cpp; the scenarios of a driver are in selftests/<driver>/scenarios.cpp.
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
    std::string_view machine;  // -M, memory backend apart
    std::string_view cpu;
    std::string_view tcg;      // -accel when there is no KVM
    std::string_view console;  // kernel's name of the first serial port
    std::string_view memory;
    // Log lines of this kernel that look worse than they are.
    std::span<const std::string_view> harmless{};
    std::string_view append{};                  // more kernel parameters
    std::span<const std::string_view> lacks{};  // stock modules it was built without
    bool debug = false;  // KASAN, lockdep, kmemleak: slower, and they are asked at the end
    bool races = false;  // KCSAN in place of KASAN and kmemleak
};

enum class Mode { kTest, kDemo, kShell };

struct GuestStep {
    std::string_view name;
    // For the guest's sh; {seed}, {next_seed} and {seconds} are replaced; prints TAP.
    std::string command;
    // Enough for an emulated CPU on a busy machine; {seconds} are added if the command has them.
    unsigned limit_seconds;
};

// A check on the host, of what the guest left in {guest} and the models in {out}. More
// placeholders: {kernel}, {kver}, {seed}, {next_seed}, the programs {pmukit}, {model}, {checker},
// {entries_checker}, {topology_checker}, {ptt_checker}, and the folder {selftests}.
struct HostStep {
    std::string name;
    std::vector<std::string> command;
    int exit_code = 0;
    std::vector<std::string_view> must_say{};  // each is in the output (stdout and stderr)
    std::string output_to{};                   // keeps stdout; otherwise a demo shows it
};

// On pcie.0 (RCiEP), each behind its own pcie-root-port, or each behind its own cxl-rp of one
// pxb-cxl.
enum class Placement { kIntegrated, kRootPort, kCxlRootPort };

// One device of a chassis: a single process serves all of them, and they see each other's packets.
struct ChassisDevice {
    std::string_view words;  // as pmukit-model chassis --device takes them, without --socket
    std::string_view bus;    // what QEMU calls the place it goes to
    std::string_view address{};
    bool plugged = true;  // from the beginning; otherwise when the guest asks for it
};

// Where a tapped node is, as QEMU's -m and a model's --tap-base have it; {tap_base} and
// {tap_bytes} in the words of a model. In front of it lies the rest of the guest's memory.
inline constexpr std::string_view kTappedBytes = "256M", kUntappedBytes = "768M",
                                  kTappedBase = "0x30000000";

// One guest: the devices in it, what runs inside, what is checked on the host.
struct Scenario {
    std::string_view name;  // also that of the folder for its output
    Placement placement = Placement::kIntegrated;
    // One device each: arguments of pmukit-model after the driver's name; {out} is replaced. What
    // the n-th model prints is kept in {out}/model<n>.log, counted from 0.
    std::vector<std::string> models;
    std::vector<GuestStep> steps;
    std::vector<HostStep> checks;
    std::vector<std::string_view> kernels{};  // empty: all
    // Stock kernels on which a plain run takes it; the others come with --all, debug kernels always
    // take everything. Empty: all.
    std::vector<std::string_view> routine{};
    bool only_all = false;  // too long for a plain run on any stock kernel
    // Makes something rather than tests it: only when it is named.
    bool on_request = false;
    // In place of models and placement: what one process serves, as model 0, and the ports and
    // switches it hangs on, as QEMU's -device takes them.
    std::vector<ChassisDevice> chassis{};
    std::vector<std::string_view> bridges{};
    std::vector<std::string_view> objects{};  // QEMU's -object, for devices among bridges
    // Other drivers in the guest: their modules and programs.
    std::vector<std::string_view> beside{};
    // Modules in place of the driver's. One with a folder is below build/modules/<kernel>/ there.
    std::vector<std::string_view> modules_instead{};
    std::vector<std::string_view> stock_modules{};  // besides the driver's
    std::vector<std::string_view> examples{};       // of a shell, in place of the driver's
    // Two NUMA nodes with a CPU each: a device that is said to be near the second has a CPU that
    // can go offline on x86 as well.
    bool two_nodes = false;
    std::string_view smp{};     // QEMU's -smp in place of two CPUs; not with nodes
    std::string_view append{};  // more kernel parameters
    // Parts of lines that the kernel itself prints when this is done to it.
    std::vector<std::string_view> harmless{};
    // The guest's time goes by its instructions, so that what else the host does cannot be seen in
    // it. Devices have the host's clock all the same.
    bool steady = false;
    // Two NUMA nodes: the first has the CPUs, the second is memory alone, that of the first model.
    // A plugin of the emulator reports the guest's accesses to it to the model: see kTapped* above.
    bool tapped_node = false;
    // Not empty: the processor is one of Intel's with RDT, by a plugin of the emulator that takes
    // these options (tools/rdt). The guest sees two L3s if it has two sockets and cpus-per-l3=1.
    std::string_view rdt{};
    // It is suspended: what results leave it by keeps its state meanwhile. From Linux 6.12 on.
    bool sleeps = false;
    // The processor does not say that it is emulated: for drivers that refuse one that does.
    bool hides_hypervisor = false;
    // Its steps also do what the documentation of a device does not allow, to see what comes of it;
    // a check says what that was.
    bool trespasses = false;
};

struct DriverSpec {
    std::string_view name;
    std::vector<std::string_view>
        stock_modules;                       // in the order they are loaded; built-in ones pass
    std::vector<std::string_view> modules;   // ours, in order, each with its parameters
    std::vector<std::string_view> programs;  // paths below build/guest/<arch>; all go to /usr/bin
    std::vector<std::string_view> files;     // of the source tree; all go to /selftests/<driver>
    std::vector<Scenario> tests;
    Scenario demo;  // also what a shell finds, unless a scenario is named
    // Commands that a shell prints on entering, each complete: one records, one explains.
    std::vector<std::string_view> examples{};
    // Of tests: those that last at most three minutes on a debug kernel, where `make test` takes
    // one.
    std::vector<std::string_view> brief{};
    // Below build/modules/<kernel>/firmware; found in the guest's /lib/firmware.
    std::vector<std::string_view> firmware{};
    // What the documentation of a device does not allow, and its model counts as a violation, fails
    // a scenario; not where the model has a --fault.
    bool conforms = false;
};

// What is in the guest of a scenario: the driver with what the scenario wants of others.
DriverSpec with_others(const DriverSpec &driver, const Scenario &scenario);

bool runs_on(const Scenario &scenario, const KernelQuirks &kernel);
bool is_routine_on(const Scenario &scenario, const KernelQuirks &kernel);

// The routine of a kernel in kShards shards, counted around: a scenario comes once. In the same
// shard the next kernel has other ones, so that a scenario of all kernels is in each shard on one
// of them.
inline constexpr uint64_t kShards = 3;
bool is_in_shard(const DriverSpec &driver, const Scenario &scenario, const KernelQuirks &kernel,
                 uint64_t shard);

// What `make vm` shows on entering: what is in the guest, commands to try, and the folder on the
// host that is /out inside.
std::string shell_banner(const DriverSpec &driver, std::string_view scenario,
                         std::string_view kernel_version, std::string_view folder);

// The number-th brief one of the driver, counted around; nullptr if it has none.
const Scenario *brief_scenario(const DriverSpec &driver, uint64_t number);

std::optional<Mode> mode_by_name(std::string_view name);
std::optional<Placement> placement_by_name(std::string_view name);

std::span<const KernelQuirks> kernels();
const KernelQuirks *kernel_by_name(std::string_view name);
std::span<const DriverSpec> drivers();
const DriverSpec *driver_by_name(std::string_view name);

}  // namespace pmukit::vm
