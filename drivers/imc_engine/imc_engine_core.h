/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc_engine: what the engine knows of the machine, and the arithmetic of counters, records and
 * the nest's control block. Pure C without kernel calls, so that a test in user space can run it.
 */
#ifndef IMC_ENGINE_CORE_H
#define IMC_ENGINE_CORE_H

#include <linux/types.h>

#include "imc_engine_regs.h"

/* Periods shorter than that of POWER's firmware are refused. */
#define IMC_ENGINE_PERIOD_MIN_NS	7843

/* Ticks are no closer than this: where the period is, each writes what came due since the last. */
#define IMC_ENGINE_TICK_NS		100000

/* What came due longer ago than this, and before the last of it, is given up. */
#define IMC_ENGINE_ARREARS_NS		1000000

/* All that is known of a thread or a core; they only grow. */
enum imc_engine_fact {
	IMC_ENGINE_ELAPSED_NS,
	IMC_ENGINE_NON_IDLE_NS,		/* thread: not idle; core: one of its threads is not */
	IMC_ENGINE_TASK_NS,		/* thread: the same; core: summed over its threads */
	IMC_ENGINE_BUSY_0_NS,		/* no thread of the core is busy */
	IMC_ENGINE_BUSY_1_NS,		/* exactly one */
	IMC_ENGINE_BUSY_2_NS,		/* more */
	IMC_ENGINE_SWITCHES,
	IMC_ENGINE_FAULTS,
	IMC_ENGINE_USER_NS,		/* of tasks in user mode, as the kernel accounts it */
	IMC_ENGINE_NR_FACTS
};

struct imc_engine_facts {
	u64 value[IMC_ENGINE_NR_FACTS];
};

/**
 * struct imc_engine_core_state - a core through time
 * @stamp_ns: up to when the facts are
 * @busy: how many of its threads run a task
 * @facts: of the core
 */
struct imc_engine_core_state {
	u64 stamp_ns;
	unsigned int busy;
	struct imc_engine_facts facts;
};

/**
 * struct imc_engine_thread_state - a thread through time; time itself is its core's
 * @busy: it runs a task
 * @since_ns: up to when @task_ns is
 * @task_ns: time spent on tasks
 * @switches: times that it got another task
 * @faults: page faults of its tasks
 * @user_ns: what the kernel accounted to its tasks as spent in user mode
 */
struct imc_engine_thread_state {
	bool busy;
	u64 since_ns;
	u64 task_ns;
	u64 switches;
	u64 faults;
	u64 user_ns;
};

void imc_engine_account(struct imc_engine_core_state *core, u64 now_ns);
void imc_engine_account_thread(struct imc_engine_core_state *core,
			       struct imc_engine_thread_state *thread, u64 now_ns);
void imc_engine_set_busy(struct imc_engine_core_state *core,
			 struct imc_engine_thread_state *thread, bool busy, u64 now_ns);
void imc_engine_thread_facts(const struct imc_engine_core_state *core,
			     const struct imc_engine_thread_state *thread,
			     struct imc_engine_facts *facts);

/* Counters of a core and of a thread */

/**
 * struct imc_engine_slot - one counter in memory
 * @name: its event's, as the catalogue has it
 * @offset: from where PDBAR or LDBAR points
 * @fact: what it counts
 * @multiplier: its unit: fact * @multiplier / @divisor
 * @divisor: see there
 */
struct imc_engine_slot {
	const char *name;
	u32 offset;
	enum imc_engine_fact fact;
	u32 multiplier;
	u32 divisor;
};

#define IMC_ENGINE_NR_SLOTS	14

extern const struct imc_engine_slot imc_engine_slots[IMC_ENGINE_NR_SLOTS];

u64 imc_engine_slot_delta(const struct imc_engine_slot *slot, const struct imc_engine_facts *from,
			  const struct imc_engine_facts *to);

/* Trace */

/**
 * struct imc_engine_trace - a thread's place in its buffer
 * @at: the next record
 * @records: written since the engine was loaded
 * @timebase: of the last one
 */
struct imc_engine_trace {
	u32 at;
	u64 records;
	u64 timebase;
};

/**
 * struct imc_engine_due - records that a tick is to write
 * @count: how many
 * @first_ns: when the first of them was due; the others follow, a period apart
 * @late: how many before it are given up
 */
struct imc_engine_due {
	u64 count;
	u64 first_ns;
	u64 late;
};

u64 imc_engine_scom(u32 cpmc_load);
u64 imc_engine_period_ns(u64 scom);
u32 imc_engine_buffer_records(u64 scom);
u64 imc_engine_timebase(u64 ns);
u64 imc_engine_32mhz(u64 ns);
u64 imc_engine_tick_ns(u64 period_ns);
u64 imc_engine_next_tick(u64 now_ns, u64 period_ns, u64 phase_ns);
struct imc_engine_due imc_engine_trace_due(u64 since_ns, u64 now_ns, u64 period_ns, u64 phase_ns);
u32 imc_engine_trace_record(struct imc_engine_trace *trace, u64 scom, u64 now_ns, u64 ip,
			    bool user, u64 switches, u64 words[IMC_ENGINE_RECORD_WORDS]);

/* Nest */

enum imc_engine_nest_fact {
	IMC_ENGINE_NEST_PAGES_FREED,
	IMC_ENGINE_NEST_PAGES_TAKEN,
	IMC_ENGINE_NEST_BLOCK_PAGES_FREED,
	IMC_ENGINE_NEST_BLOCK_PAGES_TAKEN,
	IMC_ENGINE_NEST_NS,
	IMC_ENGINE_NR_NEST_FACTS
};

struct imc_engine_nest_facts {
	u64 value[IMC_ENGINE_NR_NEST_FACTS];
};

/**
 * struct imc_engine_nest_slot - one counter in a chip's memory
 * @name: its event's
 * @offset: from the chip's first counter
 * @fact: what it counts
 */
struct imc_engine_nest_slot {
	const char *name;
	u32 offset;
	enum imc_engine_nest_fact fact;
};

#define IMC_ENGINE_NR_NEST_SLOTS	5

extern const struct imc_engine_nest_slot imc_engine_nest_slots[IMC_ENGINE_NR_NEST_SLOTS];

u64 imc_engine_nest_delta(const struct imc_engine_nest_slot *slot, u32 page_bytes,
			  const struct imc_engine_nest_facts *from,
			  const struct imc_engine_nest_facts *to);
u64 imc_engine_nest_status(u64 status, u64 command);
u64 imc_engine_nest_interval_ns(u64 speed);

#endif /* IMC_ENGINE_CORE_H */
