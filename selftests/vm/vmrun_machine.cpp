// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_machine.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "vmrun_child.hpp"
#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr seconds kKvmProbeLimit{5};
constexpr seconds kQuietLimit{15};
// First slot of the root bus for the functions of the device models, or for their root ports.
constexpr size_t kFirstSlot = 0x10;
constexpr size_t kSlots = 0x20 - kFirstSlot - 1;  // q35 uses the last slot, 0x1f
// Size of the CXL fixed memory window, which holds the regions of devices below a cxl-rp port.
constexpr std::string_view kCxlWindow = "4G";

#if defined(__x86_64__)
constexpr std::string_view kHostArch = "amd64";
#elif defined(__aarch64__)
constexpr std::string_view kHostArch = "arm64";
#else
constexpr std::string_view kHostArch = "other";
#endif

// Reads the TSC of an x86 host. The emulated CPUs of an x86 guest have the same TSC.
uint64_t ticks()
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

struct Moment {
    steady_clock::time_point time;
    uint64_t ticks;
};

// Reads the steady clock and the TSC. Makes several attempts and returns the fastest one, whose two
// reads are closest together.
Moment read_both_clocks()
{
    Moment best{};
    auto least = steady_clock::duration::max();
    for (int i = 0; i < 16; i++) {
        const auto begin = steady_clock::now();
        const uint64_t now = ticks();
        const auto took = steady_clock::now() - begin;
        if (took < least) {
            least = took;
            best = {begin + took / 2, now};
        }
    }
    return best;
}

uint64_t measure_tsc_khz()
{
    const Moment begin = read_both_clocks();
    std::this_thread::sleep_for(milliseconds(20));
    const Moment end = read_both_clocks();
    const std::chrono::duration<double, std::milli> ms = end.time - begin.time;
    return static_cast<uint64_t>(static_cast<double>(end.ticks - begin.ticks) / ms.count());
}

// The dynamic loader in the cache's root file system, which has a merged /usr.
constexpr std::string_view kLoaders[] = {"usr/lib64/ld-linux-x86-64.so.2",
                                         "usr/lib/ld-linux-aarch64.so.1"};
constexpr std::string_view kLibraryFolders[] = {"usr/lib/x86_64-linux-gnu",
                                                "usr/lib/aarch64-linux-gnu"};
constexpr std::string_view kFirmwareFolders[] = {"usr/share/qemu", "usr/share/seabios"};

std::optional<Emulator> private_emulator(const KernelQuirks &quirks, const fs::path &root)
{
    fs::path program = root / "usr/bin" / quirks.qemu;
    if (!fs::exists(program))
        return std::nullopt;
    for (size_t i = 0; i < std::size(kLoaders); i++) {
        fs::path loader = root / kLoaders[i];
        if (!fs::exists(loader))
            continue;
        Emulator emulator;
        emulator.words = {loader, "--library-path", root / kLibraryFolders[i], program};
        for (std::string_view folder : kFirmwareFolders) {
            emulator.words.push_back("-L");
            emulator.words.push_back(root / folder);
        }
        return emulator;
    }
    return std::nullopt;
}

Result<Emulator> find_program(const KernelQuirks &quirks, const fs::path &cache)
{
    if (auto found = private_emulator(quirks, cache / "roots/build"))
        return *found;

    fs::path scratch = fs::temp_directory_path() / fmt::format("vmrun-version-{}", ::getpid());
    auto code = run_to_end({{std::string(quirks.qemu), "--version"}, scratch, "/dev/null"});
    auto text = read_file(scratch);
    fs::remove(scratch);
    if (code && *code == 0 && text && version_has_vfio_user(*text))
        return Emulator{{std::string(quirks.qemu)}};
    return Error{
        Errc::kEnvironment,
        fmt::format("no {} 10.1 or newer, neither in {} nor on this machine: run 'make setup'",
                    quirks.qemu, (cache / "roots/build").string())};
}

// Returns kernel parameters with the TSC frequency. If an emulated CPU stalls while Linux
// calibrates the TSC, Linux assumes a wrong frequency and its clock is wrong (in one case 66 times
// too fast). If the CPU stalls between two reads of the clock watchdog, Linux 7.2 marks the TSC as
// unstable and patches the kernel, which was seen to hang the guest.
std::string known_tsc(const Emulator &emulator, const MachineSpec &spec)
{
    if (!emulator.tsc_khz || emulator.kvm || spec.steady)
        return "";
    return fmt::format(" tsc_early_khz={} tsc=reliable", emulator.tsc_khz);
}

class ProbeWatcher : public Watcher {
public:
    void on_line(std::string_view) override {}
    void on_quiet(seconds) override {}
    steady_clock::time_point deadline() const override { return deadline_; }

private:
    steady_clock::time_point deadline_ = steady_clock::now() + kKvmProbeLimit;
};

std::string boot_id()
{
    auto id = read_file("/proc/sys/kernel/random/boot_id");
    return id ? *id : std::string();
}

// A comma in a QEMU option value is doubled.
std::string option_value(const fs::path &path)
{
    std::string escaped;
    for (char c : path.string())
        escaped += c == ',' ? std::string(",,") : std::string(1, c);
    return escaped;
}

// Adds a shared folder that survives a suspend of the guest. The folder's device is below a
// separate port, because only a PCI Express device can declare that it keeps its state in D3hot
// (No_Soft_Reset); other devices lose their state.
void add_share_that_sleeps(std::vector<std::string> &words, const fs::path &path,
                           std::string_view tag, bool read_only)
{
    words.insert(
        words.end(),
        {"-fsdev",
         fmt::format("local,id=fs_{},path={},security_model=none,multidevs=remap{}", tag,
                     option_value(path), read_only ? ",readonly=on" : ""),
         "-device",
         fmt::format("pcie-root-port,id=port_{0},bus=pcie.0,chassis=9,slot={1}", tag,
                     read_only ? 1 : 0),
         "-device",
         fmt::format(
             "virtio-9p-pci,fsdev=fs_{0},mount_tag={0},bus=port_{0},x-pcie-pm-no-soft-reset=on",
             tag)});
}

void add_share(std::vector<std::string> &words, const fs::path &path, std::string_view tag,
               bool read_only)
{
    words.push_back("-virtfs");
    words.push_back(fmt::format("local,path={},mount_tag={},security_model=none,multidevs=remap{}",
                                option_value(path), tag, read_only ? ",readonly=on" : ""));
}

// If there are more devices than slots, each slot has eight functions.
std::string address_of(size_t number, size_t count)
{
    size_t functions = count > kSlots ? 8 : 1;
    return fmt::format("{:x}.{:x}", kFirstSlot + number / functions, number % functions);
}

// Adds the CXL host bridge above the cxl-rp ports. Its bus number differs from those of the ports.
void add_cxl_bridge(std::vector<std::string> &words)
{
    words.insert(words.end(),
                 {"-device", "pxb-cxl,id=cxl,bus=pcie.0,addr=f.0,bus_nr=64,numa_node=1", "-M",
                  fmt::format("cxl-fmw.0.targets.0=cxl,cxl-fmw.0.size={}", kCxlWindow)});
}

std::string port_words(Placement placement, std::string_view port, std::string_view address,
                       size_t number)
{
    if (placement == Placement::kCxlRootPort)
        return fmt::format("cxl-rp,id={},bus=cxl,port={},chassis=1,slot={}", port, number, number);
    return fmt::format("pcie-root-port,id={},bus=pcie.0,addr={},multifunction=on,chassis=0,slot={}",
                       port, address, number);
}

void add_devices(std::vector<std::string> &words, const MachineSpec &spec)
{
    if (spec.placement == Placement::kCxlRootPort)
        add_cxl_bridge(words);
    size_t count = spec.sockets.size();
    for (size_t number = 0; number < count; number++) {
        std::string address = address_of(number, count), port = fmt::format("rp{}", number);
        bool integrated = spec.placement == Placement::kIntegrated;
        if (!integrated)
            words.insert(words.end(),
                         {"-device", port_words(spec.placement, port, address, number)});
        words.insert(words.end(),
                     {"-device", integrated ? device_json({spec.sockets[number], "pcie.0", address})
                                            : device_json({spec.sockets[number], port, {}})});
    }
    for (std::string_view object : spec.objects)
        words.insert(words.end(), {"-object", std::string(object)});
    for (std::string_view bridge : spec.bridges)
        words.insert(words.end(), {"-device", std::string(bridge)});
    for (const PlacedDevice &device : spec.placed)
        if (device.plugged)
            words.insert(words.end(), {"-device", device_json(device)});
}

}  // namespace

// QEMU accepts the socket of a vfio-user device only in JSON.
std::string device_json(const PlacedDevice &device)
{
    nlohmann::json json = {{"driver", "vfio-user-pci"},
                           {"socket", {{"type", "unix"}, {"path", device.socket.string()}}},
                           {"bus", device.bus}};
    if (!device.address.empty()) {
        json["addr"] = device.address;
        json["multifunction"] = true;
    }
    if (!device.id.empty())
        json["id"] = device.id;
    return json.dump();
}

bool version_has_vfio_user(std::string_view version_output)
{
    constexpr std::string_view kBefore = "version ";
    size_t at = version_output.find(kBefore);
    if (at == std::string_view::npos)
        return false;
    std::string number(version_output.substr(at + kBefore.size(), 16));
    char *end = nullptr;
    unsigned long major = std::strtoul(number.c_str(), &end, 10);
    unsigned long minor = *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
    return major > 10 || (major == 10 && minor >= 1);
}

Result<Emulator> find_emulator(const KernelQuirks &quirks, const fs::path &cache)
{
    Result<Emulator> emulator = find_program(quirks, cache);
    if (emulator && kHostArch == "amd64" && quirks.arch == kHostArch)
        emulator->tsc_khz = measure_tsc_khz();
    return emulator;
}

bool kvm_works(const Emulator &emulator, const KernelQuirks &quirks, const fs::path &image,
               const fs::path &memo)
{
    if (quirks.arch != kHostArch || ::access("/dev/kvm", R_OK | W_OK) != 0)
        return false;
    std::string id = boot_id();
    auto known = read_file(memo);
    if (known && !id.empty() && known->starts_with(id))
        return known->ends_with("yes\n");

    std::vector<std::string> words = emulator.words;
    for (std::string_view word : {"-nodefaults", "-no-user-config", "-display", "none", "-serial",
                                  "stdio", "-no-reboot", "-accel", "kvm", "-m", "512M", "-cpu"})
        words.emplace_back(word);
    words.insert(words.end(),
                 {std::string(quirks.cpu), "-M", std::string(quirks.machine), "-kernel", image,
                  "-append", fmt::format("console={} panic=-1", quirks.console)});
    fs::path scratch = memo;
    scratch += ".console";
    ProbeWatcher watcher;
    auto run = run_machine(words, scratch, watcher);
    fs::remove(scratch);
    fs::remove(fs::path(scratch) += ".qemu");
    bool works = run && run->ending == Ending::kPoweredOff &&
                 run->console.find("VFS: ") != std::string::npos;
    if (auto kept = write_file(memo, id + (works ? "yes\n" : "no\n")); !kept)
        return works;  // the next run of vmrun tests KVM again
    return works;
}

namespace {

// The memory is a file, because vfio-user passes guest memory to the device model as a file.
std::string memory_words(std::string_view id, std::string_view bytes)
{
    return fmt::format("memory-backend-memfd,id={},size={},share=on", id, bytes);
}

void add_tapped_node(std::vector<std::string> &words, const TappedNode &node)
{
    words.insert(words.end(),
                 {"-object", memory_words("m", kUntappedBytes), "-object",
                  memory_words("tapped", kTappedBytes), "-numa", "node,nodeid=0,cpus=0-1,memdev=m",
                  "-numa", "node,nodeid=1,memdev=tapped", "-plugin",
                  fmt::format("{},ring={},tally={}", option_value(node.plugin),
                              option_value(node.ring), option_value(node.tally))});
}

// CPU models Sapphire Rapids and Turin: Linux supports their RDT monitoring. Features other than
// RDT are those of the CPU that QEMU emulates.
constexpr std::string_view kRdtIntel =
    ",vendor=GenuineIntel,family=6,model=143,stepping=8,level=0x1f";
constexpr std::string_view kRdtAmd = ",vendor=AuthenticAMD,family=26,model=2,stepping=1,level=0x10";

// The host need not sync the image: after a power cut of the guest, only the log counts.
void add_disk(std::vector<std::string> &words, const LoggedDisk &disk)
{
    words.insert(words.end(),
                 {"-blockdev",
                  fmt::format("driver=file,node-name=disk-image,cache.no-flush=on,filename={}",
                              option_value(disk.image)),
                  "-blockdev",
                  fmt::format("driver=file,node-name=disk-log,cache.no-flush=on,filename={}",
                              option_value(disk.log)),
                  "-blockdev", "driver=blklogwrites,node-name=disk,file=disk-image,log=disk-log",
                  "-device", "virtio-blk-pci,drive=disk"});
}

std::string_view rdt_cpu(const RdtProcessor &rdt)
{
    return rdt.options.find("vendor=amd") == rdt.options.npos ? kRdtIntel : kRdtAmd;
}

std::string cpu_words(const KernelQuirks &quirks, const MachineSpec &spec)
{
    // Linux commits a CXL region only if it can flush the CPU caches, which it refuses under a
    // hypervisor.
    const bool bare = spec.placement == Placement::kCxlRootPort || spec.hides_hypervisor;
    return fmt::format("{}{}{}", quirks.cpu, spec.rdt ? rdt_cpu(*spec.rdt) : "",
                       bare ? ",-hypervisor" : "");
}

// If CPUs share a thread, QEMU passes wrong CPU numbers to plugins.
constexpr std::string_view kRdtTcg = "tcg,thread=multi";

void add_rdt(std::vector<std::string> &words, const RdtProcessor &rdt)
{
    words.insert(words.end(), {"-plugin", fmt::format("{},log={},{}", option_value(rdt.plugin),
                                                      option_value(rdt.log), rdt.options)});
}

}  // namespace

// The guest's clock advances 2^3 ns per instruction, slightly less than an emulated CPU needs on an
// idle host.
constexpr const char *kSteadyTime = "shift=3";

std::vector<std::string> machine_words(const Emulator &emulator, const KernelQuirks &quirks,
                                       const MachineSpec &spec)
{
    std::vector<std::string> words = emulator.words;
    auto add = [&words](std::initializer_list<std::string> more) {
        words.insert(words.end(), more);
    };
    std::string memory(quirks.memory);
    add({"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"});
    if (spec.steady)
        add({"-accel", "tcg,thread=single", "-icount", kSteadyTime});
    else
        add({"-accel", emulator.kvm ? "kvm" : std::string(spec.rdt ? kRdtTcg : quirks.tcg)});
    bool cxl = spec.placement == Placement::kCxlRootPort;
    const unsigned nodes = std::max(spec.nodes, cxl ? 2U : 1U);
    add({"-cpu", cpu_words(quirks, spec), "-smp",
         !spec.smp.empty() ? std::string(spec.smp)
         : nodes > 1       ? fmt::format("{0},sockets={0}", nodes)
                           : "2",
         "-m", memory});
    if (spec.tapped_node) {
        add({"-M", std::string(quirks.machine)});
        add_tapped_node(words, *spec.tapped_node);
    } else if (nodes > 1) {
        add({"-object", memory_words("m", memory)});
        add({"-M", fmt::format("{}{}", quirks.machine, cxl ? ",cxl=on" : "")});
        // The CXL host bridge is in the node of the second CPU, because on every architecture the
        // second CPU can go offline.
        add({"-numa", "node,nodeid=0,cpus=0,memdev=m"});
        for (unsigned node = 1; node < nodes; node++)
            add({"-numa", fmt::format("node,nodeid={0},cpus={0}", node)});
    } else {
        add({"-object", memory_words("m", memory)});
        add({"-M", fmt::format("{},memory-backend=m", quirks.machine)});
    }
    if (spec.rdt)
        add_rdt(words, *spec.rdt);
    if (spec.disk)
        add_disk(words, *spec.disk);
    add({"-kernel", spec.image, "-initrd", spec.initramfs});
    // With loglevel=5, the console shows only warnings and above; init saves the whole log. The
    // other options are for busy hosts, which delay an emulated CPU: the stall and lockup detectors
    // have longer timeouts, and Linux does not check the timer at boot on x86.
    add({"-append",
         fmt::format("console={} panic=-1 oops=panic loglevel=5 log_buf_len=4M "
                     "rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 "
                     "no_timer_check{} {} {}",
                     quirks.console, known_tsc(emulator, spec), quirks.append, spec.append)});
    if (spec.terminal)
        add({"-serial", "mon:stdio"});
    else
        add({"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"});
    if (!spec.monitor.empty())
        add({"-qmp", fmt::format("unix:{},server=on,wait=off", option_value(spec.monitor))});
    const auto share = spec.sleeps ? add_share_that_sleeps : add_share;
    share(words, spec.out, "out", false);
    share(words, spec.stock, "stock", true);
    add_devices(words, spec);
    return words;
}

namespace {

// Splits the console's output into lines for the watcher, and stores all of it in a file.
class ConsoleReader {
public:
    ConsoleReader(const fs::path &file, Watcher &watcher)
        : file_(file, std::ios::binary | std::ios::trunc), watcher_(watcher)
    {
    }

    void take(std::string_view bytes)
    {
        file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
        whole_ += bytes;
        for (size_t end; (end = whole_.find('\n', line_)) != std::string::npos; line_ = end + 1)
            watcher_.on_line(std::string_view(whole_).substr(line_, end - line_));
    }
    std::string finish() { return std::move(whole_); }

private:
    std::ofstream file_;
    Watcher &watcher_;
    std::string whole_;
    size_t line_ = 0;
};

// Returns false at the end of the output.
bool read_some(int fd, ConsoleReader &reader)
{
    char bytes[8192];
    ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got > 0)
        reader.take({bytes, static_cast<size_t>(got)});
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

Result<MachineRun> run_machine(const std::vector<std::string> &words, const fs::path &console_file,
                               Watcher &watcher)
{
    Command command{words};
    command.pipe_output = true;
    command.errors = console_file;
    command.errors += ".qemu";
    auto child = Child::start(command);
    if (!child)
        return child.error();

    MachineRun run;
    ConsoleReader reader(console_file, watcher);
    auto begin = steady_clock::now(), last_heard = begin;
    bool open = true;
    while (open) {
        pollfd wait_for{child->output(), POLLIN, 0};
        int ready = ::poll(&wait_for, 1, 200);
        auto now = steady_clock::now();
        watcher.on_look();
        if (ready > 0) {
            open = read_some(child->output(), reader);
            last_heard = now;
        }
        if (interrupted() || now > watcher.deadline()) {
            run.ending = interrupted() ? Ending::kInterrupted : Ending::kHung;
            break;
        }
        if (now - last_heard > kQuietLimit) {
            watcher.on_quiet(std::chrono::duration_cast<seconds>(now - begin));
            last_heard = now;
        }
    }
    if (!open)
        child->wait(seconds(10));
    run.exit_code = child->stop(seconds(3));
    run.console = reader.finish();
    return run;
}

Result<int> run_terminal(const std::vector<std::string> &words)
{
    Command command{words};
    command.terminal = true;
    return run_to_end(command);
}

}  // namespace pmukit::vm
