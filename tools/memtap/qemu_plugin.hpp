// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The part of QEMU's TCG plugin interface, version 7 (QEMU 11.0 or newer), that the plugins of this
// project use. This header is written by hand, because no distribution packages QEMU's header. QEMU
// checks qemu_plugin_version before it calls a plugin, and rejects a version that it does not
// support.
#pragma once

#include <cstddef>
#include <cstdint>

// Exports a symbol that QEMU looks up; all other symbols are hidden.
#define PMUKIT_EXPORT __attribute__((visibility("default")))

extern "C" {

inline constexpr int kQemuPluginVersion = 7;

// Types that only QEMU defines
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_register;
struct qemu_plugin_scoreboard;
using qemu_plugin_id_t = uint64_t;
using qemu_plugin_meminfo_t = uint32_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
enum qemu_plugin_cond { QEMU_PLUGIN_COND_NE = 3 };

// A 64-bit number for each vCPU. Generated code can compare the number with a constant.
struct qemu_plugin_u64 {
    qemu_plugin_scoreboard *score;
    size_t offset;
};

// Types of GLib, which QEMU uses
struct GArray {
    char *data;
    unsigned len;
};
struct GByteArray {
    uint8_t *data;
    unsigned len;
};
unsigned g_array_get_element_size(GArray *array);
GByteArray *g_byte_array_sized_new(unsigned bytes);
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned bytes);
char *g_array_free(GArray *array, int free_elements);

struct qemu_plugin_reg_descriptor {
    qemu_plugin_register *handle;
    const char *name, *feature;
};

struct qemu_info_t {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system;  // valid only if system_emulation is true
};

// Since version 7 of the interface, every callback has user data, and none has the plugin's id.
using qemu_plugin_udata_cb_t = void (*)(void *userdata);
using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned vcpu, void *userdata);
using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_tb *tb, void *userdata);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu, qemu_plugin_meminfo_t info,
                                           uint64_t vaddr, void *userdata);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb,
                                           void *userdata);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_udata_cb_t cb,
                                       void *userdata);
// Calls `cb` before the block if `cond` holds between the vCPU's number and the constant.
void qemu_plugin_register_vcpu_tb_exec_cond_cb(qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
                                               qemu_plugin_cb_flags flags, qemu_plugin_cond cond,
                                               qemu_plugin_u64 number, uint64_t constant,
                                               void *userdata);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t cb,
                                            qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw rw,
                                      void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *userdata);

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *tb);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *tb, size_t index);
// Copies at most `bytes` bytes of the instruction to `into`, and returns the number of bytes
// copied.
size_t qemu_plugin_insn_data(const qemu_plugin_insn *insn, void *into, size_t bytes);
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn *insn);

qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_bytes);
void qemu_plugin_u64_set(qemu_plugin_u64 number, unsigned vcpu, uint64_t value);

// Returns the registers of the calling vCPU, as elements of type qemu_plugin_reg_descriptor. Only
// callbacks whose flags allow access to registers may call this. The caller frees the array.
GArray *qemu_plugin_get_registers();
bool qemu_plugin_read_register(qemu_plugin_register *handle, GByteArray *appended_to);
bool qemu_plugin_write_register(qemu_plugin_register *handle, GByteArray *value);

unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);  // log2 of the width in bytes
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
// Returns nullptr if the address is unknown. The result is valid until the callback returns.
qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr *address);

}  // extern "C"
