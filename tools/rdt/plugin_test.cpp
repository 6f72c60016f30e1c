// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the plugin with a stub of QEMU. The stub executes blocks of instructions and has general
// registers. The only MSR that it knows is the one whose access faults; it ignores all others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "memtap/qemu_plugin.hpp"

using Bytes = std::vector<uint8_t>;
using Callback = std::pair<qemu_plugin_vcpu_udata_cb_t, void *>;

struct qemu_plugin_insn {
    Bytes bytes;
    uint64_t vaddr = 0;
    uint64_t load = 0;  // physical address; 0: none
    unsigned shift = 3;
    std::vector<Callback> before{};
    qemu_plugin_vcpu_mem_cb_t on_memory = nullptr;
};
struct qemu_plugin_tb {
    std::vector<qemu_plugin_insn> insns;
    Callback when_not_0{};
};
struct qemu_plugin_hwaddr {
    uint64_t physical;
};
struct qemu_plugin_register {
    uint64_t value;
};

namespace {

const Bytes kCpuid = {0x0f, 0xa2}, kRdmsr = {0x0f, 0x32}, kWrmsr = {0x0f, 0x30}, kNop = {0x90},
            kMark = {0x0f, 0x1f, 0x80, 'r', 'd', 't', 'm'};
constexpr uint64_t kKernel = 0xffffffff81000000;
constexpr unsigned kCpus = 2;
constexpr const char *kNames[] = {"rax", "rbx", "rcx", "rdx", "cs"};
enum { kRax, kRbx, kRcx, kRdx, kCs };

struct Emulator {
    std::array<std::array<qemu_plugin_register, 5>, kCpus> registers{};
    std::array<uint64_t, kCpus> number{};
    unsigned current = 0;
    qemu_plugin_vcpu_udata_cb_t on_init = nullptr;
    qemu_plugin_vcpu_tb_trans_cb_t on_translation = nullptr;
    qemu_plugin_udata_cb_t on_exit = nullptr;
    qemu_plugin_hwaddr address{};
    std::vector<std::unique_ptr<GByteArray>> buffers;
};
Emulator qemu;

}  // namespace

extern "C" {

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, qemu_plugin_vcpu_udata_cb_t cb, void *)
{
    qemu.on_init = cb;
}
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t cb,
                                           void *)
{
    qemu.on_translation = cb;
}
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, qemu_plugin_udata_cb_t cb, void *)
{
    qemu.on_exit = cb;
}
void qemu_plugin_register_vcpu_tb_exec_cond_cb(qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
                                               qemu_plugin_cb_flags flags, qemu_plugin_cond cond,
                                               qemu_plugin_u64, uint64_t constant, void *userdata)
{
    EXPECT_EQ(flags, QEMU_PLUGIN_CB_RW_REGS);
    EXPECT_EQ(cond, QEMU_PLUGIN_COND_NE);
    EXPECT_EQ(constant, 0u);
    tb->when_not_0 = {cb, userdata};
}
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t cb,
                                            qemu_plugin_cb_flags flags, void *userdata)
{
    EXPECT_EQ(flags, QEMU_PLUGIN_CB_RW_REGS);
    insn->before.emplace_back(cb, userdata);
}
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
                                      qemu_plugin_cb_flags, qemu_plugin_mem_rw, void *)
{
    insn->on_memory = cb;
}
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *tb)
{
    return tb->insns.size();
}
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *tb, size_t index)
{
    return const_cast<qemu_plugin_insn *>(&tb->insns[index]);
}
size_t qemu_plugin_insn_data(const qemu_plugin_insn *insn, void *into, size_t bytes)
{
    const size_t count = std::min(bytes, insn->bytes.size());
    std::copy_n(insn->bytes.begin(), count, static_cast<uint8_t *>(into));
    return count;
}
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn *insn)
{
    return insn->vaddr;
}
qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t)
{
    return nullptr;
}
void qemu_plugin_u64_set(qemu_plugin_u64, unsigned vcpu, uint64_t value)
{
    qemu.number[vcpu] = value;
}
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info)
{
    return info;
}
qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t)
{
    return &qemu.address;
}
bool qemu_plugin_hwaddr_is_io(const qemu_plugin_hwaddr *)
{
    return false;
}
uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr *address)
{
    return address->physical;
}

GArray *qemu_plugin_get_registers()
{
    auto *all = new qemu_plugin_reg_descriptor[std::size(kNames)];
    for (size_t i = 0; i < std::size(kNames); i++)
        all[i] = {&qemu.registers[qemu.current][i], kNames[i], "core"};
    return new GArray{reinterpret_cast<char *>(all), std::size(kNames)};
}
bool qemu_plugin_read_register(qemu_plugin_register *handle, GByteArray *bytes)
{
    bytes->data = reinterpret_cast<uint8_t *>(&handle->value);
    bytes->len = sizeof handle->value;
    return true;
}
bool qemu_plugin_write_register(qemu_plugin_register *handle, GByteArray *value)
{
    std::copy_n(value->data, sizeof handle->value, reinterpret_cast<uint8_t *>(&handle->value));
    return true;
}
unsigned g_array_get_element_size(GArray *)
{
    return sizeof(qemu_plugin_reg_descriptor);
}
char *g_array_free(GArray *array, int)
{
    delete[] reinterpret_cast<qemu_plugin_reg_descriptor *>(array->data);
    delete array;
    return nullptr;
}
GByteArray *g_byte_array_sized_new(unsigned)
{
    qemu.buffers.push_back(std::make_unique<GByteArray>());
    return qemu.buffers.back().get();
}
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned bytes)
{
    static uint64_t memory[kCpus];
    array->data = reinterpret_cast<uint8_t *>(&memory[qemu.current]);
    array->len = bytes;
    return array;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);
}

namespace {

int install(const char *target, std::vector<std::string> arguments)
{
    std::vector<char *> words;
    for (std::string &argument : arguments)
        words.push_back(argument.data());
    qemu_info_t info{};
    info.target_name = target;
    info.system_emulation = true;
    info.system.max_vcpus = kCpus;
    return qemu_plugin_install(1, &info, static_cast<int>(words.size()), words.data());
}

// The plugin lives as long as the process, so each test uses different RMIDs.
class Plugin : public testing::Test {
protected:
    Plugin()
    {
        EXPECT_EQ(
            install("x86_64", {"log=" + log_, "cpus-per-l3=1", "unit=64", "l2=0", "rmids=64"}), 0);
        for (qemu.current = 0; qemu.current < kCpus; qemu.current++)
            qemu.on_init(qemu.current, nullptr);
        qemu.current = 0;
    }
    ~Plugin() override
    {
        end();
        std::filesystem::remove(log_);
    }

    void end()
    {
        if (!ended_)
            qemu.on_exit(nullptr);
        ended_ = true;
    }

    uint64_t &reg(int name)
    {
        return qemu.registers[qemu.current][static_cast<size_t>(name)].value;
    }

    // Executes an instruction as QEMU does. Returns false if it faults.
    bool execute(const qemu_plugin_insn &insn)
    {
        if (insn.bytes == kCpuid) {
            reg(kRax) = reg(kRbx) = reg(kRcx) = reg(kRdx) = 0x10;
        } else if (insn.bytes == kRdmsr || insn.bytes == kWrmsr) {
            if (reg(kRcx) == 0x8ff || reg(kCs) & 3)
                return false;
            if (insn.bytes == kRdmsr)
                reg(kRax) = reg(kRdx) = 0;
        }
        return true;
    }

    // Runs a block. If an instruction faults, runs the handler's first block and returns false.
    bool run(qemu_plugin_tb tb)
    {
        qemu.on_translation(&tb, nullptr);
        if (qemu.number[qemu.current])
            tb.when_not_0.first(qemu.current, tb.when_not_0.second);
        for (qemu_plugin_insn &insn : tb.insns) {
            for (const Callback &callback : insn.before)
                callback.first(qemu.current, callback.second);
            seen_ = reg(kRcx);
            if (!execute(insn)) {
                run({{{kNop, kKernel}}, {}});
                return false;
            }
            qemu.address.physical = insn.load;
            if (insn.load && insn.on_memory)
                insn.on_memory(qemu.current, insn.shift, 0, nullptr);
        }
        return true;
    }
    bool wrmsr(uint32_t msr, uint64_t value)
    {
        reg(kRcx) = msr;
        reg(kRax) = static_cast<uint32_t>(value);
        reg(kRdx) = value >> 32;
        return run({{{kWrmsr, kKernel}, {kNop, kKernel}}, {}});
    }
    uint64_t rdmsr(uint32_t msr)
    {
        reg(kRcx) = msr;
        EXPECT_TRUE(run({{{kRdmsr, kKernel}, {kNop, kKernel}}, {}}));
        return reg(kRdx) << 32 | reg(kRax);
    }
    void load(uint64_t physical, uint64_t vaddr = 0x400000, unsigned shift = 3)
    {
        run({{{kNop, vaddr, physical, shift}}, {}});
    }
    uint64_t lines(uint64_t rmid)
    {
        EXPECT_TRUE(wrmsr(0xc8d, rmid << 32 | 1));
        return rdmsr(0xc8e);
    }
    std::string text() const
    {
        std::ostringstream text;
        text << std::ifstream(log_).rdbuf();
        return text.str();
    }

    std::string log_ =
        (std::filesystem::temp_directory_path() / ("rdt_plugin_" + std::to_string(::getpid())))
            .string();
    bool ended_ = false;
    uint64_t seen_ = 0;  // RCX when the last instruction ran
};

TEST_F(Plugin, SetsCpuidResultBeforeNextInstructionOrBlock)
{
    reg(kRax) = 0xf;
    reg(kRcx) = 1;
    run({{{kCpuid, kKernel}, {kNop, kKernel}}, {}});
    EXPECT_EQ(reg(kRbx), 64u);
    EXPECT_EQ(reg(kRcx), 63u);
    EXPECT_EQ(reg(kRdx), 7u);
    reg(kRax) = 0x7;
    reg(kRcx) = 0;
    run({{{kCpuid, kKernel}}, {}});
    EXPECT_EQ(reg(kRbx), 0x10u);
    run({{{kNop, kKernel}}, {}});
    EXPECT_EQ(reg(kRbx), 0x9010u);
    reg(kRbx) = 1;
    run({{{kNop, kKernel}}, {}});
    EXPECT_EQ(reg(kRbx), 1u);
    reg(kRax) = 0x1;
    run({{{kCpuid, kKernel}, {kNop, kKernel}}, {}});
    EXPECT_EQ(reg(kRbx), 0x10u);
}

TEST_F(Plugin, RegistersArePerCpu)
{
    EXPECT_TRUE(wrmsr(0xc8f, 3ULL << 32 | 9));
    qemu.current = 1;
    EXPECT_EQ(rdmsr(0xc8f), 0u);
    qemu.current = 0;
    EXPECT_EQ(rdmsr(0xc8f), 3ULL << 32 | 9);
    EXPECT_EQ(rdmsr(0xc90), 0xffffu);
}

TEST_F(Plugin, InvalidMsrAccessFaultsAndRestoresRcx)
{
    EXPECT_FALSE(wrmsr(0xc8f, 64));
    EXPECT_EQ(reg(kRcx), 0xc8fu);
    EXPECT_FALSE(wrmsr(0xc90, 5));
    EXPECT_EQ(reg(kRcx), 0xc90u);
    reg(kRcx) = 0xc98;  // mask of a class that does not exist
    EXPECT_FALSE(run({{{kRdmsr, kKernel}}, {}}));
    EXPECT_EQ(reg(kRcx), 0xc98u);
    EXPECT_TRUE(wrmsr(0xc90, 6));
    EXPECT_EQ(seen_, 0xc90u);
    EXPECT_EQ(rdmsr(0xc90), 6u);
}

TEST_F(Plugin, IgnoresMsrAccessesInUserModeAndToOtherMsrs)
{
    EXPECT_TRUE(wrmsr(0xc0000102, 77));
    EXPECT_EQ(rdmsr(0xc0000102), 0u);
    EXPECT_TRUE(wrmsr(0xc8f, 10));
    reg(kCs) = 0x33;
    EXPECT_FALSE(wrmsr(0xc8f, 9));
    reg(kCs) = 0x10;
    EXPECT_EQ(rdmsr(0xc8f), 10u);
}

TEST_F(Plugin, UserAccessesFillTheL3)
{
    EXPECT_TRUE(wrmsr(0xc8f, 11));
    load(0x10000);
    load(0x10008);
    load(0x1007c);           // crosses a line
    load(0x20ffc);           // crosses a page
    load(0x30000, kKernel);  // kernel code is not watched
    EXPECT_EQ(lines(11), 4u);
    load(0x40000, 0x400000, 6);
    EXPECT_EQ(lines(11), 5u);
}

TEST_F(Plugin, WritesTheLogAtMarkerInstructionsAndExit)
{
    EXPECT_TRUE(wrmsr(0xc8f, 2ULL << 32 | 12));
    load(0x50000);
    reg(kRax) = 42;
    run({{{kMark, 0x400000}}, {}});
    EXPECT_NE(text().find("\nmark 42 0 12 2\n"), std::string::npos) << text();
    EXPECT_NE(text().find("\nrmid 0 12 64 64 64\n"), std::string::npos) << text();
    EXPECT_EQ(text().find("end\n"), std::string::npos);
    load(0x60000);
    end();
    const std::string whole = text(), last = whole.substr(whole.find("\nend\n"));
    EXPECT_NE(last.find("\nrmid 0 12 128 128 128\n"), std::string::npos) << whole;
}

TEST_F(Plugin, RejectsOtherTargetsAndInvalidOptions)
{
    EXPECT_NE(install("aarch64", {"log=" + log_}), 0);
    EXPECT_NE(install("x86_64", {}), 0);
    EXPECT_NE(install("x86_64", {"log=" + log_, "rmids=1"}), 0);
    EXPECT_NE(install("x86_64", {"log=" + log_, "colour=red"}), 0);
    EXPECT_NE(install("x86_64", {"log=/no/such/folder/log"}), 0);
}

}  // namespace
