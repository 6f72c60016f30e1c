// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Selects, starts and supervises QEMU.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "vmrun_tables.hpp"

namespace pmukit::vm {

// A QEMU that has the vfio-user-pci device (10.1 or newer), and the command words that start it.
struct Emulator {
    std::vector<std::string> words;
    bool kvm = false;
    // TSC frequency of emulated x86 CPUs on an x86 host, equal to that of the host; else 0.
    uint64_t tsc_khz = 0;
};

// A vfio-user device on a given bus, at a given address.
struct PlacedDevice {
    std::filesystem::path socket;
    std::string_view bus;
    std::string_view address;
    std::string id{};     // QEMU's name of the device
    bool plugged = true;  // present at boot
};

// A NUMA node without CPUs. A plugin of QEMU reports accesses to the node's memory to a device
// model, and counts them in the file `tally`.
struct TappedNode {
    std::filesystem::path plugin, ring, tally;
};

// The plugin of QEMU that emulates RDT registers and caches, and writes their content to `log`.
struct RdtProcessor {
    std::filesystem::path plugin, log;
    std::string_view options;
};

// A disk of which QEMU logs all writes and flushes.
struct LoggedDisk {
    std::filesystem::path image, log;
};

struct MachineSpec {
    std::filesystem::path image;
    std::filesystem::path initramfs;
    std::filesystem::path out;    // folder that the guest can write, with the 9p tag "out"
    std::filesystem::path stock;  // folder that the guest can read, with the 9p tag "stock"
    std::vector<std::filesystem::path> sockets;  // one per vfio-user device
    Placement placement = Placement::kIntegrated;
    std::vector<std::string_view> bridges{};  // QEMU devices above those of `placed`
    std::vector<std::string_view> objects{};  // QEMU objects that the bridges need
    std::vector<PlacedDevice> placed{};
    std::filesystem::path monitor{};  // socket on which QEMU listens; empty: none
    // NUMA nodes, with one CPU each if there are several. With kCxlRootPort there are always two.
    unsigned nodes = 1;
    std::optional<TappedNode> tapped_node{};  // another NUMA node has both CPUs; KVM is not used
    std::optional<RdtProcessor> rdt{};        // KVM is not used
    std::optional<LoggedDisk> disk{};
    std::string_view smp{};  // argument of QEMU's -smp; empty: two CPUs
    bool steady = false;     // the clock advances with executed instructions; KVM is not used
    // CPUID of the guest reports no hypervisor. With kCxlRootPort it never does.
    bool hides_hypervisor = false;
    std::string_view append{};  // additional kernel parameters
    bool sleeps = false;        // the guest suspends; shared folders keep their state
    bool terminal = false;      // console on vmrun's terminal
};

// Finds the private emulator of the cache, or that of the host if it is new enough.
Result<Emulator> find_emulator(const KernelQuirks &quirks, const std::filesystem::path &cache);

// Returns true if a text such as "QEMU emulator version 10.1.2 (...)" has version 10.1 or newer.
bool version_has_vfio_user(std::string_view version_output);

// Returns the device in JSON, for QEMU's option -device and for its monitor.
std::string device_json(const PlacedDevice &device);

// Returns true if a guest runs under KVM on this host. Even if /dev/kvm exists, a guest may fail at
// its first instructions, so this function boots the kernel until it looks for its root file
// system. The file `memo` caches the result until the host reboots.
bool kvm_works(const Emulator &emulator, const KernelQuirks &quirks,
               const std::filesystem::path &image, const std::filesystem::path &memo);

std::vector<std::string> machine_words(const Emulator &emulator, const KernelQuirks &quirks,
                                       const MachineSpec &spec);

enum class Ending { kPoweredOff, kHung, kInterrupted };

struct MachineRun {
    Ending ending = Ending::kPoweredOff;
    int exit_code = 0;
    std::string console;
};

// Observer of a running machine.
class Watcher {
public:
    virtual ~Watcher() = default;
    virtual void on_line(std::string_view line) = 0;              // each line of the console
    virtual void on_quiet(std::chrono::seconds since_start) = 0;  // no output for a while
    virtual void on_look() {}                                     // called several times a second
    // Returns when run_machine() must end QEMU. Called several times a second.
    virtual std::chrono::steady_clock::time_point deadline() const = 0;
};

// Runs QEMU until it ends, the deadline passes, or vmrun is interrupted. Writes the console to
// `console_file`, and QEMU's own messages to `console_file`.qemu.
Result<MachineRun> run_machine(const std::vector<std::string> &words,
                               const std::filesystem::path &console_file, Watcher &watcher);

// Runs QEMU with the console on vmrun's terminal and no deadline; returns QEMU's exit code.
Result<int> run_terminal(const std::vector<std::string> &words);

}  // namespace pmukit::vm
