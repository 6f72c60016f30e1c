/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc_engine: structures and functions that the engine's files share. A fact is a value that only
 * grows, such as elapsed time; a post adds the growth of a fact to a counter in memory.
 *
 * Locking: a core's lock is innermost. It is taken with interrupts off, by the sched_switch probe
 * (under the run queue's lock), by ticks, and by starts and stops. While the engine holds the lock,
 * it calls no kernel functions except to read clocks.
 */
#ifndef IMC_ENGINE_H
#define IMC_ENGINE_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "imc_engine_core.h"

/* Interval at which a running engine posts counters to memory */
#define IMC_ENGINE_POST_NS	4000000

/**
 * struct imc_engine_core - a core; it has the number of its first CPU that came online
 * @lock: protects all members below, and the threads of @cpus
 * @cpus: CPUs of the core; only grows
 * @mode: what HTM runs: 0 (nothing), PMUKIT_IMC_CORE or PMUKIT_IMC_TRACE
 * @pdbar: address of the core's counters; 0: none
 * @scom: TRACE_IMC_SCOM
 * @state: accounting state
 * @posted: facts at the last post to memory
 * @reference: reference counters: increments of each counter since load
 * @rounds: number of posts
 */
struct imc_engine_core {
	raw_spinlock_t lock;
	cpumask_var_t cpus;
	u32 mode;
	u64 pdbar;
	u64 scom;
	struct imc_engine_core_state state;
	struct imc_engine_facts posted;
	u64 reference[IMC_ENGINE_NR_SLOTS];
	u64 rounds;
};

/**
 * struct imc_engine_thread - a CPU
 * @core: set once, before the CPU is first used; NULL: the CPU was never online
 * @chip: ID of the chip
 * @online: ticks may run on this CPU
 * @watched: the sched_switch probe has reported each switch on this CPU since @task was set
 * @ldbar: the LDBAR register
 * @task: the running task; NULL: unknown, and counted as idle in @state
 * @task_faults: page faults of @task when last accounted
 * @task_user_ns: user time of @task when last accounted
 * @state: accounting state
 * @posted: facts at the last post to the memory at LDBAR
 * @trace: position in the trace buffer at LDBAR
 * @traced_ns: time up to which records were written or dropped
 * @tick: timer that replaces the hardware; fires on this CPU while the core's HTM runs
 * @period_ns: period of @tick; accessed on this CPU only
 * @ticks: number of ticks
 * @late: number of trace records dropped because the tick was late
 * @blind: number of trace ticks without a record, because the interrupted registers were not
 *	available
 * @reference: reference counters: increments of each counter through LDBAR since load
 * @kick: function call from another CPU that starts the tick on this CPU
 * @kicked: @kick is pending
 */
struct imc_engine_thread {
	struct imc_engine_core *core;
	u32 chip;
	bool online;
	bool watched;
	u64 ldbar;
	struct task_struct *task;
	u64 task_faults;
	u64 task_user_ns;
	struct imc_engine_thread_state state;
	struct imc_engine_facts posted;
	struct imc_engine_trace trace;
	u64 traced_ns;
	struct hrtimer tick;
	u64 period_ns;
	u64 ticks;
	u64 late;
	u64 blind;
	u64 reference[IMC_ENGINE_NR_SLOTS];
	call_single_data_t kick;
	atomic_t kicked;
};

DECLARE_PER_CPU(struct imc_engine_thread, imc_engine_threads);

/* imc_engine_htm.c: cores and threads */
int imc_engine_htm_prepare(u32 cpmc_load);
void imc_engine_htm_finish(void);
int imc_engine_htm_init(u32 type, phys_addr_t address, unsigned int cpu);
int imc_engine_htm_start(u32 type, unsigned int cpu);
int imc_engine_htm_stop(unsigned int cpu);
void imc_engine_set_ldbar(unsigned int cpu, u64 value);
int imc_engine_cpu_online(unsigned int cpu);
int imc_engine_cpu_offline(unsigned int cpu);
void imc_engine_task_switch(struct task_struct *next);
void imc_engine_tasks_learn(void);
void imc_engine_tasks_forget(void);
void imc_engine_thread_account(struct imc_engine_thread *thread);
struct imc_engine_core *imc_engine_core_by_number(unsigned int number);

static inline struct imc_engine_thread *imc_engine_thread_of(unsigned int cpu)
{
	return per_cpu_ptr(&imc_engine_threads, cpu);
}

/* imc_engine_nest.c: chips */
struct pmukit_imc_chip;

/**
 * struct imc_engine_chip_reference - reference counters of a chip's engine
 * @id: ID of the chip
 * @status: IMC_ENGINE_STATUS_*
 * @speed: speed in the control block
 * @rounds: number of posts
 * @slots: increments of each counter since load
 */
struct imc_engine_chip_reference {
	u32 id;
	u64 status;
	u64 speed;
	u64 rounds;
	u64 slots[IMC_ENGINE_NR_NEST_SLOTS];
};

int imc_engine_nest_prepare(void);
void imc_engine_nest_finish(void);
int imc_engine_nest_command(unsigned int cpu, u64 command);
unsigned int imc_engine_chips(struct pmukit_imc_chip *chips, unsigned int max);
int imc_engine_chip_of(unsigned int cpu);
void imc_engine_pages(enum imc_engine_nest_fact fact, unsigned int order);
bool imc_engine_chip_read(unsigned int index, struct imc_engine_chip_reference *reference);

/* imc_engine_probe.c: probes of kernel tracepoints */
int imc_engine_probe_find(void);
int imc_engine_probe_get(u32 type);
void imc_engine_probe_put(u32 type);
unsigned int imc_engine_probe_count(void);

/* imc_engine_debugfs.c: debugfs and sysfs */
int imc_engine_debugfs_prepare(void);
void imc_engine_debugfs_finish(void);
int imc_engine_fail_once(void);

#endif /* IMC_ENGINE_H */
