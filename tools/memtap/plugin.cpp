// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A TCG plugin for QEMU. The plugin passes the guest's loads and stores in a range of physical
// memory to the device model of that memory. It also counts them in a separate tally, against which
// the model is checked. The plugin must be linked with the C library only, because it runs in
// QEMU's process.
//
//   -plugin memtap.so,ring=FILE,tally=FILE
//
// A program in the guest starts a phase with an instruction that does nothing, nopl 'p' 'm' 'k'
// <phase> (%rax). The tally has separate counts for each phase. Phase 0 is all time outside a
// phase.
//
//   # pmukit memory tally 1
//   range 0x30000000 0x10000000
//   sum <phase> <loads> <stores> <outside>        outside: accesses not in the range
//   page <phase> 0x<address> <loads> <stores>
//   handed <accesses>                             passed to the model
//   left <accesses>                               not passed: the model had exited
//   unknown <accesses>                            QEMU knew no physical address
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "memtap/qemu_plugin.hpp"
#include "memtap/ring.hpp"

namespace pmukit::memtap {
namespace {

constexpr unsigned kPageShift = 12;
constexpr unsigned kPhases = 8;
// The byte of the phase follows these bytes.
constexpr unsigned char kMarker[] = {0x0f, 0x1f, 0x80, 'p', 'm', 'k'};
constexpr long kPause_ns = 20'000;
// Limit of the wait for space in a ring, in pauses of at least kPause_ns each: at least 10 s. A
// model that reads nothing for this long has died.
constexpr unsigned kPatience_pauses = 500'000;

// State

struct Counts {
    std::atomic<uint64_t> loads, stores;
};

// Counters of one vCPU. Only that vCPU writes them. They are read when QEMU exits.
struct alignas(64) PerCpu {
    uint64_t outside[kPhases], handed, left, unknown;
};

struct Plugin {
    Layout *layout;
    uint64_t base, bytes, pages;
    const char *tally_path;
    std::atomic<unsigned> phase;
    std::atomic<bool> gone;
    Counts *counts;  // index: phase * pages + page
    PerCpu cpus[kRings];
};

Plugin plugin;

Counts &counts_of(unsigned phase, uint64_t page)
{
    return plugin.counts[phase * plugin.pages + page];
}

// Accesses

void pause_a_little()
{
    const timespec pause{0, kPause_ns};
    ::nanosleep(&pause, nullptr);
}

// Passes an access to the model. Waits while the ring is full. Returns false if the model has
// exited or died.
bool hand_over(Ring &ring, uint64_t word)
{
    for (unsigned waited = 0; !plugin.gone.load(std::memory_order_relaxed); waited++) {
        if (offer(ring, word))
            return true;
        if (plugin.layout->header.reader_left.load(std::memory_order_acquire) ||
            waited > kPatience_pauses)
            plugin.gone.store(true, std::memory_order_relaxed);
        else
            pause_a_little();
    }
    return false;
}

void note(PerCpu &cpu, Ring &ring, const Access &access, unsigned phase)
{
    Counts &counts = counts_of(phase, access.offset >> kPageShift);
    (access.store ? counts.stores : counts.loads).fetch_add(1, std::memory_order_relaxed);
    (hand_over(ring, word_of(access)) ? cpu.handed : cpu.left)++;
}

void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *)
{
    PerCpu &cpu = plugin.cpus[vcpu];
    const unsigned phase = plugin.phase.load(std::memory_order_relaxed);
    const qemu_plugin_hwaddr *address = qemu_plugin_get_hwaddr(info, vaddr);
    if (!address) {
        cpu.unknown++;
        return;
    }
    const uint64_t offset = qemu_plugin_hwaddr_phys_addr(address) - plugin.base;
    if (offset >= plugin.bytes) {
        cpu.outside[phase]++;
        return;
    }
    note(cpu, plugin.layout->rings[vcpu],
         {offset, qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info)}, phase);
}

void on_marker(unsigned, void *phase)
{
    plugin.phase.store(static_cast<unsigned>(reinterpret_cast<uintptr_t>(phase)),
                       std::memory_order_relaxed);
}

// Translation

// Returns the phase that a marker instruction starts, or kPhases if the instruction is no marker.
unsigned phase_of(const qemu_plugin_insn *insn)
{
    unsigned char bytes[sizeof kMarker + 1];
    if (qemu_plugin_insn_data(insn, bytes, sizeof bytes) != sizeof bytes ||
        std::memcmp(bytes, kMarker, sizeof kMarker) != 0 || bytes[sizeof kMarker] >= kPhases)
        return kPhases;
    return bytes[sizeof kMarker];
}

void on_translation(qemu_plugin_tb *tb, void *)
{
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (const unsigned phase = phase_of(insn); phase < kPhases)
            qemu_plugin_register_vcpu_insn_exec_cb(
                insn, on_marker, QEMU_PLUGIN_CB_NO_REGS,
                reinterpret_cast<void *>(static_cast<uintptr_t>(phase)));
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, nullptr);
    }
}

// The tally

void print_phase(FILE *file, unsigned phase)
{
    uint64_t loads = 0, stores = 0, outside = 0;
    for (const PerCpu &cpu : plugin.cpus)
        outside += cpu.outside[phase];
    for (uint64_t page = 0; page < plugin.pages; page++) {
        const Counts &counts = counts_of(phase, page);
        if (counts.loads + counts.stores == 0)
            continue;
        loads += counts.loads;
        stores += counts.stores;
        std::fprintf(file, "page %u 0x%llx %llu %llu\n", phase,
                     static_cast<unsigned long long>(plugin.base + (page << kPageShift)),
                     static_cast<unsigned long long>(counts.loads),
                     static_cast<unsigned long long>(counts.stores));
    }
    std::fprintf(file, "sum %u %llu %llu %llu\n", phase, static_cast<unsigned long long>(loads),
                 static_cast<unsigned long long>(stores), static_cast<unsigned long long>(outside));
}

void print_total(FILE *file, const char *name, uint64_t PerCpu::*member)
{
    uint64_t total = 0;
    for (const PerCpu &cpu : plugin.cpus)
        total += cpu.*member;
    std::fprintf(file, "%s %llu\n", name, static_cast<unsigned long long>(total));
}

void on_exit(void *)
{
    FILE *file = std::fopen(plugin.tally_path, "w");
    if (!file) {
        std::perror(plugin.tally_path);
        return;
    }
    std::fprintf(file, "# pmukit memory tally 1\nrange 0x%llx 0x%llx\n",
                 static_cast<unsigned long long>(plugin.base),
                 static_cast<unsigned long long>(plugin.bytes));
    for (unsigned phase = 0; phase < kPhases; phase++)
        print_phase(file, phase);
    print_total(file, "handed", &PerCpu::handed);
    print_total(file, "left", &PerCpu::left);
    print_total(file, "unknown", &PerCpu::unknown);
    if (std::fclose(file) != 0)
        std::perror(plugin.tally_path);
}

// Installation

// Returns the text after "name=", or nullptr if the argument does not begin with "name=".
const char *value_of(const char *argument, const char *name)
{
    const size_t length = std::strlen(name);
    if (std::strncmp(argument, name, length) != 0 || argument[length] != '=')
        return nullptr;
    return argument + length + 1;
}

bool refuse(const char *why)
{
    std::fprintf(stderr, "memtap: %s\n", why);
    return false;
}

bool map_rings(const char *path)
{
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || ::lseek(file, 0, SEEK_END) != static_cast<off_t>(sizeof(Layout)))
        return refuse("ring= names no file that a device model made");
    void *at = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (at == MAP_FAILED)
        return refuse("cannot map the rings");
    plugin.layout = static_cast<Layout *>(at);
    const Header &header = plugin.layout->header;
    plugin.base = header.base;
    plugin.bytes = header.bytes;
    plugin.pages = (header.bytes + (1u << kPageShift) - 1) >> kPageShift;
    return header.magic == kMagic || refuse("the ring file has another version");
}

bool settle(int argc, char **argv)
{
    const char *ring = nullptr;
    for (int i = 0; i < argc; i++) {
        if (const char *value = value_of(argv[i], "ring"))
            ring = value;
        else if (const char *path = value_of(argv[i], "tally"))
            plugin.tally_path = path;
        else
            return refuse("takes ring=FILE,tally=FILE and nothing else");
    }
    if (!ring || !plugin.tally_path)
        return refuse("needs ring=FILE and tally=FILE");
    if (!map_rings(ring))
        return false;
    plugin.counts =
        static_cast<Counts *>(std::calloc(kPhases * plugin.pages, sizeof *plugin.counts));
    return plugin.counts || refuse("no memory for the tally");
}

}  // namespace
}  // namespace pmukit::memtap

extern "C" PMUKIT_EXPORT const int qemu_plugin_version;
const int qemu_plugin_version = kQemuPluginVersion;

extern "C" PMUKIT_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
                                                 int argc, char **argv)
{
    using namespace pmukit::memtap;
    if (!info->system_emulation || info->system.max_vcpus > static_cast<int>(kRings)) {
        refuse("supports only system emulation with up to 8 CPUs");
        return 1;
    }
    if (!settle(argc, argv))
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
    qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
    return 0;
}
