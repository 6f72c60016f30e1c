// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// QEMU: which one, started how, watched until it ends.
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

// A QEMU that has the vfio-user-pci device (10.1 or newer): the words that start it.
struct Emulator {
    std::vector<std::string> words;
    bool kvm = false;
    // Of the counter of ticks that emulated x86 CPUs show: the host's own. 0: they have none.
    uint64_t tsc_khz = 0;
};

// A vfio-user device at a place of its own.
struct PlacedDevice {
    std::filesystem::path socket;
    std::string_view bus;
    std::string_view address;
    std::string id{};     // QEMU's name of it
    bool plugged = true;  // from the beginning
};

// A node of memory without CPUs: the plugin tells a model, and a tally, what is done to it.
struct TappedNode {
    std::filesystem::path plugin, ring, tally;
};

// The registers and caches of RDT; the plugin writes what is in them to the log.
struct RdtProcessor {
    std::filesystem::path plugin, log;
    std::string_view options;
};

struct MachineSpec {
    std::filesystem::path image;
    std::filesystem::path initramfs;
    std::filesystem::path out;                   // shared with the guest, writable, tag "out"
    std::filesystem::path stock;                 // shared read-only, tag "stock"
    std::vector<std::filesystem::path> sockets;  // one vfio-user device each
    Placement placement = Placement::kIntegrated;
    std::vector<std::string_view> bridges{};  // QEMU devices, in front of the placed ones
    std::vector<std::string_view> objects{};  // what these need
    std::vector<PlacedDevice> placed{};
    std::filesystem::path monitor{};          // socket on which QEMU listens; empty: none
    bool two_nodes = false;                   // NUMA nodes, a CPU each; so it is with cxl-rp
    std::optional<TappedNode> tapped_node{};  // with both CPUs in the other; never with KVM
    std::optional<RdtProcessor> rdt{};        // likewise
    std::string_view smp{};                   // in place of two CPUs
    bool steady = false;                      // time goes by instructions; never with KVM
    bool hides_hypervisor = false;            // so does cxl-rp
    std::string_view append{};                // more kernel parameters
    bool sleeps = false;                      // is suspended: the shares stand that
    bool terminal = false;                    // console on our terminal
};

// The cache's private one, or else the host's own when it is new enough.
Result<Emulator> find_emulator(const KernelQuirks &quirks, const std::filesystem::path &cache);

// "QEMU emulator version 10.1.2 (...)" -> at least 10.1?
bool version_has_vfio_user(std::string_view version_output);

// What -device takes, and the monitor.
std::string device_json(const PlacedDevice &device);

// Does a guest really run under KVM here? /dev/kvm may be there, take a virtual machine, and fail
// at its first instructions, so the kernel itself is booted until it looks for its root. The answer
// is kept in `memo` until the host reboots.
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

// Observers of a running machine.
class Watcher {
public:
    virtual ~Watcher() = default;
    virtual void on_line(std::string_view line) = 0;              // of the console, as it comes
    virtual void on_quiet(std::chrono::seconds since_start) = 0;  // nothing came for a while
    virtual void on_look() {}  // again and again, several times a second
    virtual std::chrono::steady_clock::time_point deadline() const = 0;  // likewise
};

// Runs until QEMU ends, the deadline passes, or we are interrupted. The console is kept in
// `console_file`, what QEMU itself says in `console_file`.qemu.
Result<MachineRun> run_machine(const std::vector<std::string> &words,
                               const std::filesystem::path &console_file, Watcher &watcher);

// The same with the console on our own terminal and no deadline; returns QEMU's exit code.
Result<int> run_terminal(const std::vector<std::string> &words);

}  // namespace pmukit::vm
