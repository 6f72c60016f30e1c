// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A TCG plugin for stock QEMU that adds RDT to the guest's processor. It must be linked with the C
// library only, because it runs in QEMU's process.
//
//   -plugin rdt.so,log=FILE[,kernel=1][,NAME=VALUE...]      names: see shape.cpp
//
// kernel=1: loads and stores of the guest's kernel access the L3s, too.
//
// Stock QEMU ignores writes to MSRs it does not know and reads them as 0. A plugin can access
// general registers only. So the plugin reads the operands of WRMSR before the instruction, and
// writes the results of RDMSR and CPUID before the next instruction. For #GP it sets RCX to an MSR
// number for which QEMU raises #GP, and restores RCX when the handler begins.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "memtap/qemu_plugin.hpp"
#include "rdt/cpuid.hpp"
#include "rdt/instruction.hpp"
#include "rdt/log.hpp"
#include "rdt/machine.hpp"

namespace pmukit::rdt {
namespace {

// A register of the APIC that does not exist: QEMU raises #GP whatever mode the APIC is in.
constexpr uint32_t kFaultingMsr = 0x8ff;
constexpr uint64_t kPageBytes = 4096;

enum Name { kRax, kRbx, kRcx, kRdx, kCs, kNames };
constexpr const char *kRegisterNames[kNames] = {"rax", "rbx", "rcx", "rdx", "cs"};

// Action due before the next instruction.
enum Pending : uint64_t { kNothing, kAnswerCpuid, kAnswerRdmsr, kRestoreRcx };

struct PerCpu {
    qemu_plugin_register *registers[kNames];
    GByteArray *buffer;
    Pending pending;
    uint32_t leaf, subleaf;
    uint64_t value;  // result of RDMSR, or RCX before a fault
};

struct Plugin {
    Machine machine;
    Log log;
    Shape shape;
    const char *log_path = nullptr;
    bool kernel = false;
    qemu_plugin_u64 pending{};
    PerCpu cpus[kMaxCpus]{};
};

// Never destroyed: vCPUs may run while the process exits.
alignas(Plugin) unsigned char storage[sizeof(Plugin)];
Plugin &plugin = *new (storage) Plugin;

bool refuse(const char *what, const char *why)
{
    std::fprintf(stderr, "rdt: %s: %s\n", what, why);
    return false;
}

// Registers

uint64_t get(unsigned vcpu, Name name)
{
    const PerCpu &cpu = plugin.cpus[vcpu];
    GByteArray *bytes = g_byte_array_set_size(cpu.buffer, 0);
    uint64_t value = 0;
    if (qemu_plugin_read_register(cpu.registers[name], bytes))
        std::memcpy(&value, bytes->data, bytes->len < sizeof value ? bytes->len : sizeof value);
    return value;
}

void set(unsigned vcpu, Name name, uint64_t value)
{
    const PerCpu &cpu = plugin.cpus[vcpu];
    GByteArray *bytes = g_byte_array_set_size(cpu.buffer, sizeof value);
    std::memcpy(bytes->data, &value, sizeof value);
    if (!qemu_plugin_write_register(cpu.registers[name], bytes))
        refuse(kRegisterNames[name], "QEMU does not let it be written");
}

uint32_t get32(unsigned vcpu, Name name)
{
    return static_cast<uint32_t>(get(vcpu, name));
}

void leave(unsigned vcpu, Pending pending)
{
    plugin.cpus[vcpu].pending = pending;
    qemu_plugin_u64_set(plugin.pending, vcpu, pending);
}

// Instructions

void raise_fault(unsigned vcpu)
{
    plugin.cpus[vcpu].value = get(vcpu, kRcx);
    set(vcpu, kRcx, kFaultingMsr);
    leave(vcpu, kRestoreRcx);
}

// Returns true for an RDT register in kernel mode. In user mode the instruction faults without the
// plugin.
bool is_ours(unsigned vcpu)
{
    return is_of_rdt(get32(vcpu, kRcx)) && !(get(vcpu, kCs) & 3);
}

void on_cpuid(unsigned vcpu, void *)
{
    PerCpu &cpu = plugin.cpus[vcpu];
    cpu.leaf = get32(vcpu, kRax);
    cpu.subleaf = get32(vcpu, kRcx);
    if (changes_leaf(plugin.shape, cpu.leaf))
        leave(vcpu, kAnswerCpuid);
}

void on_rdmsr(unsigned vcpu, void *)
{
    if (!is_ours(vcpu))
        return;
    if (plugin.machine.read(vcpu, get32(vcpu, kRcx), plugin.cpus[vcpu].value))
        leave(vcpu, kAnswerRdmsr);
    else
        raise_fault(vcpu);
}

void on_wrmsr(unsigned vcpu, void *)
{
    if (!is_ours(vcpu))
        return;
    const uint64_t value = uint64_t{get32(vcpu, kRdx)} << 32 | get32(vcpu, kRax);
    if (!plugin.machine.write(vcpu, get32(vcpu, kRcx), value))
        raise_fault(vcpu);
}

void on_mark(unsigned vcpu, void *)
{
    plugin.log.mark(plugin.machine, vcpu, get32(vcpu, kRax));
}

void answer_cpuid(unsigned vcpu)
{
    const PerCpu &cpu = plugin.cpus[vcpu];
    const Leaf found{get32(vcpu, kRax), get32(vcpu, kRbx), get32(vcpu, kRcx), get32(vcpu, kRdx)};
    const Leaf leaf = leaf_of(plugin.shape, cpu.leaf, cpu.subleaf, found);
    set(vcpu, kRax, leaf.eax);
    set(vcpu, kRbx, leaf.ebx);
    set(vcpu, kRcx, leaf.ecx);
    set(vcpu, kRdx, leaf.edx);
}

// Called before the next instruction and before the next block, whichever comes first.
void on_next(unsigned vcpu, void *)
{
    const PerCpu &cpu = plugin.cpus[vcpu];
    const Pending pending = cpu.pending;
    if (pending == kNothing)
        return;
    leave(vcpu, kNothing);
    if (pending == kAnswerCpuid) {
        answer_cpuid(vcpu);
    } else if (pending == kAnswerRdmsr) {
        set(vcpu, kRax, static_cast<uint32_t>(cpu.value));
        set(vcpu, kRdx, cpu.value >> 32);
    } else {
        set(vcpu, kRcx, cpu.value);
    }
}

// Accesses

void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *)
{
    const qemu_plugin_hwaddr *address = qemu_plugin_get_hwaddr(info, vaddr);
    if (!address || qemu_plugin_hwaddr_is_io(address))
        return;
    const uint64_t physical = qemu_plugin_hwaddr_phys_addr(address);
    const uint64_t last = physical + (1ULL << qemu_plugin_mem_size_shift(info)) - 1;
    plugin.machine.access(vcpu, physical);
    // An access that crosses a page counts only in the first page: the physical address of the next
    // page is unknown.
    if (last / kLineBytes != physical / kLineBytes && last / kPageBytes == physical / kPageBytes)
        plugin.machine.access(vcpu, last);
}

// Translation

qemu_plugin_vcpu_udata_cb_t callback_of(Instruction instruction)
{
    switch (instruction) {
        case Instruction::kCpuid:
            return on_cpuid;
        case Instruction::kRdmsr:
            return on_rdmsr;
        case Instruction::kWrmsr:
            return on_wrmsr;
        case Instruction::kMark:
            return on_mark;
        case Instruction::kOther:
            return nullptr;
    }
    return nullptr;
}

// Linux kernel code is in the upper half of the address space.
bool is_watched(const qemu_plugin_insn *insn)
{
    return plugin.kernel || qemu_plugin_insn_vaddr(insn) >> 63 == 0;
}

void on_translation(qemu_plugin_tb *tb, void *)
{
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_next, QEMU_PLUGIN_CB_RW_REGS,
                                              QEMU_PLUGIN_COND_NE, plugin.pending, kNothing,
                                              nullptr);
    bool leaves_something = false;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (leaves_something)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_next, QEMU_PLUGIN_CB_RW_REGS, nullptr);
        uint8_t bytes[kLongestInstruction];
        const size_t count = qemu_plugin_insn_data(insn, bytes, sizeof bytes);
        const auto callback = callback_of(instruction_of(bytes, count));
        if (callback)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_RW_REGS, nullptr);
        leaves_something = callback != nullptr;
        if (is_watched(insn))
            qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, nullptr);
    }
}

// Installation

void on_init(unsigned vcpu, void *)
{
    PerCpu &cpu = plugin.cpus[vcpu];
    cpu.buffer = g_byte_array_sized_new(sizeof(uint64_t));
    GArray *all = qemu_plugin_get_registers();
    for (unsigned i = 0; i < all->len; i++) {
        qemu_plugin_reg_descriptor descriptor;
        std::memcpy(&descriptor, all->data + i * g_array_get_element_size(all), sizeof descriptor);
        for (int name = 0; name < kNames; name++)
            if (std::strcmp(descriptor.name, kRegisterNames[name]) == 0)
                cpu.registers[name] = descriptor.handle;
    }
    g_array_free(all, 1);
    for (int name = 0; name < kNames; name++)
        if (!cpu.registers[name])
            refuse(kRegisterNames[name], "QEMU has no register of this name");
}

void on_exit(void *)
{
    if (!plugin.log.end(plugin.machine))
        std::perror(plugin.log_path);
}

bool settle(uint32_t cpus, int argc, char **argv)
{
    const char *log = nullptr;
    Shape shape;
    shape.cpus = cpus;
    for (int i = 0; i < argc; i++) {
        if (std::strncmp(argv[i], "log=", 4) == 0)
            log = argv[i] + 4;
        else if (std::strcmp(argv[i], "kernel=1") == 0)
            plugin.kernel = true;
        else if (!take_option(shape, argv[i]))
            return refuse(argv[i], "unknown option or invalid value");
    }
    if (!log)
        return refuse("log=FILE", "is missing");
    if (const char *fault = fault_of(shape))
        return refuse("a processor has", fault);
    if (!plugin.log.open(log, shape))
        return refuse(log, std::strerror(errno));
    plugin.log_path = log;
    plugin.shape = shape;
    return plugin.machine.make(shape) || refuse("caches", "no memory");
}

}  // namespace
}  // namespace pmukit::rdt

extern "C" PMUKIT_EXPORT const int qemu_plugin_version;
const int qemu_plugin_version = kQemuPluginVersion;

extern "C" PMUKIT_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
                                                 int argc, char **argv)
{
    using namespace pmukit::rdt;
    if (!info->system_emulation || std::strcmp(info->target_name, "x86_64") != 0) {
        refuse(info->target_name, "only x86_64 system emulation is supported");
        return 1;
    }
    if (!settle(static_cast<uint32_t>(info->system.max_vcpus), argc, argv))
        return 1;
    plugin.pending = {qemu_plugin_scoreboard_new(sizeof(uint64_t)), 0};
    qemu_plugin_register_vcpu_init_cb(id, on_init, nullptr);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
    qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
    return 0;
}
