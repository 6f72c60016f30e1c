/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc_engine: facts about the machine, and the arithmetic of counters, records and the nest control
 * block. Pure C without kernel calls, so that user-space tests can run it.
 */
#ifndef IMC_ENGINE_CORE_H
#define IMC_ENGINE_CORE_H

#include <linux/types.h>

#include "imc_engine_regs.h"

/* Shortest valid sampling period: the shortest that POWER's firmware uses */
#define IMC_ENGINE_PERIOD_MIN_NS	7843

/* Shortest time between ticks. If the sampling period is shorter, a tick writes all due records. */
#define IMC_ENGINE_TICK_NS		100000

/* Records due longer ago than this are dropped, except for the last one. */
#define IMC_ENGINE_ARREARS_NS		1000000

/* Facts about a thread or a core: values that only grow */
enum imc_engine_fact {
	IMC_ENGINE_ELAPSED_NS,
	IMC_ENGINE_NON_IDLE_NS,		/* thread: not idle; core: at least one thread not idle */
	IMC_ENGINE_TASK_NS,		/* thread: not idle; core: sum over its threads */
	IMC_ENGINE_BUSY_0_NS,		/* no thread of the core is busy */
	IMC_ENGINE_BUSY_1_NS,		/* exactly one thread is busy */
	IMC_ENGINE_BUSY_2_NS,		/* two or more threads are busy */
	IMC_ENGINE_SWITCHES,
	IMC_ENGINE_FAULTS,
	IMC_ENGINE_USER_NS,		/* user time of tasks, as the kernel accounts it */
	IMC_ENGINE_NR_FACTS
};

struct imc_engine_facts {
	u64 value[IMC_ENGINE_NR_FACTS];
};

/**
 * struct imc_engine_core_state - accounting state of a core
 * @stamp_ns: time up to which @facts are accounted
 * @busy: number of threads of the core that run a task
 * @facts: facts of the core
 */
struct imc_engine_core_state {
	u64 stamp_ns;
	unsigned int busy;
	struct imc_engine_facts facts;
};

/**
 * struct imc_engine_thread_state - accounting state of a thread, without the facts of its core
 * @busy: the thread runs a task
 * @since_ns: time up to which @task_ns is accounted
 * @task_ns: time spent on tasks
 * @switches: task switches
 * @faults: page faults of its tasks
 * @user_ns: user time of its tasks, as the kernel accounts it
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
 * @name: name of its event in the catalog
 * @offset: offset from the address in PDBAR or LDBAR
 * @fact: fact that it counts
 * @multiplier: the count is fact * @multiplier / @divisor
 * @divisor: see @multiplier
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
 * struct imc_engine_trace - position of a thread in its trace buffer
 * @at: index of the next record
 * @records: records written since load
 * @timebase: timebase of the last record
 */
struct imc_engine_trace {
	u32 at;
	u64 records;
	u64 timebase;
};

/**
 * struct imc_engine_due - records that a tick must write
 * @count: number of records
 * @first_ns: due time of the first record; the others follow one period apart
 * @late: number of earlier records that are dropped
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
 * @name: name of its event
 * @offset: offset from the chip's first counter
 * @fact: fact that it counts
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
