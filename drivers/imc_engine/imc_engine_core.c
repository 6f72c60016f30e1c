// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: the arithmetic of counters, records and the nest control block.
 *
 * A fact is a value that only grows, such as elapsed time. A post adds the difference between two
 * values of a fact to a counter in memory. Each value is converted to the counter's unit before the
 * subtraction, so that the next post adds what the current post loses by rounding.
 *
 * A trace buffer is written like this; the engine does not signal a wrap to its beginning:
 *
 *      +--------+--------+--------+--------+     +--------+
 *      | newest | oldest |        |        | ... |        |   4096 << BUFFERSIZE records
 *      +--------+--------+--------+--------+     +--------+
 *               ^ at
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "imc_engine_core.h"

#define IMC_ENGINE_LINE_BYTES	128

/* Facts */

/* A clock that went backwards counts as stopped. */
static u64 imc_engine_elapsed(u64 since_ns, u64 now_ns)
{
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

void imc_engine_account(struct imc_engine_core_state *core, u64 now_ns)
{
	u64 ns = imc_engine_elapsed(core->stamp_ns, now_ns);
	u64 *fact = core->facts.value;

	core->stamp_ns += ns;
	fact[IMC_ENGINE_ELAPSED_NS] += ns;
	fact[IMC_ENGINE_BUSY_0_NS + min_t(unsigned int, core->busy, 2)] += ns;
	fact[IMC_ENGINE_TASK_NS] += ns * core->busy;
	if (core->busy)
		fact[IMC_ENGINE_NON_IDLE_NS] += ns;
}

void imc_engine_account_thread(struct imc_engine_core_state *core,
			       struct imc_engine_thread_state *thread, u64 now_ns)
{
	u64 ns;

	imc_engine_account(core, now_ns);
	ns = imc_engine_elapsed(thread->since_ns, core->stamp_ns);
	thread->since_ns += ns;
	if (thread->busy)
		thread->task_ns += ns;
}

void imc_engine_set_busy(struct imc_engine_core_state *core,
			 struct imc_engine_thread_state *thread, bool busy, u64 now_ns)
{
	imc_engine_account_thread(core, thread, now_ns);
	core->busy += busy;
	core->busy -= thread->busy;
	thread->busy = busy;
}

/* Facts of a thread: elapsed and BUSY_n times of its core, and the facts of its own tasks */
void imc_engine_thread_facts(const struct imc_engine_core_state *core,
			     const struct imc_engine_thread_state *thread,
			     struct imc_engine_facts *facts)
{
	*facts = core->facts;
	facts->value[IMC_ENGINE_NON_IDLE_NS] = thread->task_ns;
	facts->value[IMC_ENGINE_TASK_NS] = thread->task_ns;
	facts->value[IMC_ENGINE_SWITCHES] = thread->switches;
	facts->value[IMC_ENGINE_FAULTS] = thread->faults;
	facts->value[IMC_ENGINE_USER_NS] = thread->user_ns;
}

/* Counters */

/* In this engine a processor cycle takes 1 ns, and an instruction takes one cycle. */
#define IMC_ENGINE_SLOT(_name, _offset, _fact, _multiplier, _divisor)			\
	{ _name, IMC_ENGINE_OFFSET_CORE + (_offset), _fact, _multiplier, _divisor }
#define IMC_ENGINE_NS_SLOT(_name, _offset, _fact)					\
	IMC_ENGINE_SLOT(_name, _offset, _fact, 1, IMC_ENGINE_SCALE_CORE)

const struct imc_engine_slot imc_engine_slots[IMC_ENGINE_NR_SLOTS] = {
	IMC_ENGINE_NS_SLOT("CPM_CCYC", 0x80, IMC_ENGINE_ELAPSED_NS),
	IMC_ENGINE_SLOT("CPM_32MHZ_CYC", 0x88, IMC_ENGINE_ELAPSED_NS,
			4, 125 * IMC_ENGINE_SCALE_CORE),
	IMC_ENGINE_NS_SLOT("CPM_NON_IDLE_PCYC", 0x18, IMC_ENGINE_NON_IDLE_NS),
	IMC_ENGINE_NS_SLOT("CPM_NON_IDLE_INST", 0x10, IMC_ENGINE_TASK_NS),
	IMC_ENGINE_NS_SLOT("CPM_0THRD_NON_IDLE_PCYC", 0xc8, IMC_ENGINE_BUSY_0_NS),
	IMC_ENGINE_NS_SLOT("CPM_1THRD_NON_IDLE_PCYC", 0x108, IMC_ENGINE_BUSY_1_NS),
	IMC_ENGINE_NS_SLOT("CPM_2THRD_NON_IDLE_PCYC", 0x148, IMC_ENGINE_BUSY_2_NS),
	IMC_ENGINE_NS_SLOT("CPM_1THRD_NON_IDLE_INST", 0x100, IMC_ENGINE_BUSY_1_NS),
	/* Events that POWER9 has for threads as well as for cores */
	IMC_ENGINE_NS_SLOT("CPM_CS_PCYC_USER", 0x1000, IMC_ENGINE_USER_NS),
	IMC_ENGINE_NS_SLOT("CPM_CS_INST_USER", 0x1008, IMC_ENGINE_USER_NS),
	IMC_ENGINE_SLOT("CPM_CS_32MHZ_CYC_USER", 0x10c8, IMC_ENGINE_USER_NS,
			4, 125 * IMC_ENGINE_SCALE_CORE),
	/* Invented events, at offsets that are free in POWER9's catalog */
	IMC_ENGINE_SLOT("CPM_ENGINE_CONTEXT_SWITCHES", 0x20, IMC_ENGINE_SWITCHES, 1, 1),
	IMC_ENGINE_SLOT("CPM_ENGINE_PAGE_FAULTS", 0x28, IMC_ENGINE_FAULTS, 1, 1),
	IMC_ENGINE_SLOT("CPM_ENGINE_TASK_CLOCK", 0x30, IMC_ENGINE_TASK_NS, 1, 1),
};

/* value * multiplier / divisor without a product that overflows */
static u64 imc_engine_scale(u64 value, u32 multiplier, u32 divisor)
{
	return value / divisor * multiplier + value % divisor * multiplier / divisor;
}

u64 imc_engine_slot_delta(const struct imc_engine_slot *slot, const struct imc_engine_facts *from,
			  const struct imc_engine_facts *to)
{
	return imc_engine_scale(to->value[slot->fact], slot->multiplier, slot->divisor) -
	       imc_engine_scale(from->value[slot->fact], slot->multiplier, slot->divisor);
}

/* Trace */

/* Value that skiboot writes to TRACE_IMC_SCOM on POWER9, except for the period */
u64 imc_engine_scom(u32 cpmc_load)
{
	return FIELD_PREP(IMC_ENGINE_SCOM_SAMPSEL, IMC_ENGINE_SAMPSEL_CPMC2) |
	       FIELD_PREP(IMC_ENGINE_SCOM_CPMC_LOAD, (u64)cpmc_load) |
	       FIELD_PREP(IMC_ENGINE_SCOM_CPMC1SEL, IMC_ENGINE_CPMC1SEL_P9) |
	       FIELD_PREP(IMC_ENGINE_SCOM_CPMC2SEL, IMC_ENGINE_CPMC2SEL_32MHZ);
}

/* Time from CPMC_LOAD to the overflow at 2^32; a cycle of the 32 MHz clock takes 31.25 ns. */
u64 imc_engine_period_ns(u64 scom)
{
	u64 events = BIT_ULL(32) - FIELD_GET(IMC_ENGINE_SCOM_CPMC_LOAD, scom);

	return imc_engine_scale(events, 125, 4);
}

u32 imc_engine_buffer_records(u64 scom)
{
	return IMC_ENGINE_BUFFER_RECORDS <<
	       min_t(u32, FIELD_GET(IMC_ENGINE_SCOM_BUFFERSIZE, scom), IMC_ENGINE_BUFFERSIZE_MAX);
}

/* The timebase counts at 512 MHz, the frequency on POWER. */
u64 imc_engine_timebase(u64 ns)
{
	return imc_engine_scale(ns, 64, 125);
}

u64 imc_engine_32mhz(u64 ns)
{
	return imc_engine_scale(ns, 4, 125);
}

/*
 * Returns the first sampling time after now on a fixed grid. CPMC also counts while a thread is not
 * traced, so the sampling times do not depend on the start of the trace. If they did, a task that
 * never runs for a whole period would never be sampled.
 */
u64 imc_engine_next_tick(u64 now_ns, u64 period_ns, u64 phase_ns)
{
	if (now_ns < phase_ns)
		return phase_ns;
	return phase_ns + ((now_ns - phase_ns) / period_ns + 1) * period_ns;
}

/* Returns the smallest multiple of the period that is at least IMC_ENGINE_TICK_NS. */
u64 imc_engine_tick_ns(u64 period_ns)
{
	return (IMC_ENGINE_TICK_NS + period_ns - 1) / period_ns * period_ns;
}

/* Returns the sampling times after @since_ns, up to @now_ns. */
struct imc_engine_due imc_engine_trace_due(u64 since_ns, u64 now_ns, u64 period_ns, u64 phase_ns)
{
	u64 first_ns = imc_engine_next_tick(since_ns, period_ns, phase_ns);
	u64 next_ns = imc_engine_next_tick(now_ns, period_ns, phase_ns);
	u64 moments = next_ns > first_ns ? (next_ns - first_ns) / period_ns : 0;
	struct imc_engine_due due = {};

	due.count = min_t(u64, moments, max_t(u64, 1, IMC_ENGINE_ARREARS_NS / period_ns));
	due.first_ns = next_ns - due.count * period_ns;
	due.late = moments - due.count;
	return due;
}

/* Composes the next record, in CPU byte order. Returns its index in the buffer. */
u32 imc_engine_trace_record(struct imc_engine_trace *trace, u64 scom, u64 now_ns, u64 ip,
			    bool user, u64 switches, u64 words[IMC_ENGINE_RECORD_WORDS])
{
	u32 at = trace->at;

	/* Readers find the newest record by its timebase, so it must have the highest one. */
	trace->timebase = max_t(u64, imc_engine_timebase(now_ns), trace->timebase + 1);
	words[IMC_ENGINE_RECORD_TB1] = trace->timebase;
	words[IMC_ENGINE_RECORD_IP] = ip;
	words[IMC_ENGINE_RECORD_PIDR] = IMC_ENGINE_RECORD_HV | (user ? IMC_ENGINE_RECORD_PR : 0);
	words[IMC_ENGINE_RECORD_CPMC1] = now_ns;
	words[IMC_ENGINE_RECORD_CPMC1 + 1] = imc_engine_32mhz(now_ns);
	words[IMC_ENGINE_RECORD_CPMC1 + 2] = switches;
	words[IMC_ENGINE_RECORD_CPMC1 + 3] = trace->records;
	words[IMC_ENGINE_RECORD_TB2] = trace->timebase & IMC_ENGINE_RECORD_TB2_MASK;
	trace->records++;
	trace->at = (at + 1) % imc_engine_buffer_records(scom);
	return at;
}

/* Nest */

/* Memory controllers count lines of 128 bytes; the fabric (PB) counts its cycles. */
const struct imc_engine_nest_slot imc_engine_nest_slots[IMC_ENGINE_NR_NEST_SLOTS] = {
	{ "PM_MCS01_128B_RD_DISP_PORT01", IMC_ENGINE_OFFSET_MCS01 + 0x08,
	  IMC_ENGINE_NEST_PAGES_FREED },
	{ "PM_MCS01_128B_WR_DISP_PORT01", IMC_ENGINE_OFFSET_MCS01 + 0x10,
	  IMC_ENGINE_NEST_PAGES_TAKEN },
	{ "PM_MCS01_128B_RD_DISP_PORT23", IMC_ENGINE_OFFSET_MCS01 + 0x28,
	  IMC_ENGINE_NEST_BLOCK_PAGES_FREED },
	{ "PM_MCS01_128B_WR_DISP_PORT23", IMC_ENGINE_OFFSET_MCS01 + 0x30,
	  IMC_ENGINE_NEST_BLOCK_PAGES_TAKEN },
	{ "PM_PB_CYC", IMC_ENGINE_OFFSET_POWERBUS0 + 0x78, IMC_ENGINE_NEST_NS },
};

static u64 imc_engine_nest_value(const struct imc_engine_nest_slot *slot, u32 page_bytes,
				 const struct imc_engine_nest_facts *facts)
{
	u32 each = slot->fact == IMC_ENGINE_NEST_NS ? 2 /* GHz */ :
						      page_bytes / IMC_ENGINE_LINE_BYTES;

	return imc_engine_scale(facts->value[slot->fact], each, IMC_ENGINE_SCALE_NEST);
}

u64 imc_engine_nest_delta(const struct imc_engine_nest_slot *slot, u32 page_bytes,
			  const struct imc_engine_nest_facts *from,
			  const struct imc_engine_nest_facts *to)
{
	return imc_engine_nest_value(slot, page_bytes, to) -
	       imc_engine_nest_value(slot, page_bytes, from);
}

u64 imc_engine_nest_status(u64 status, u64 command)
{
	switch (command) {
	case IMC_ENGINE_COMMAND_RESUME:
	case IMC_ENGINE_COMMAND_CLEAR:
		return IMC_ENGINE_STATUS_RUNNING;
	case IMC_ENGINE_COMMAND_PAUSE:
		return IMC_ENGINE_STATUS_PAUSED;
	default:
		return status;
	}
}

/* An invalid speed counts as the slowest one. */
u64 imc_engine_nest_interval_ns(u64 speed)
{
	static const u32 us[IMC_ENGINE_SPEED_MAX + 1] = {
		128, 256, 1000, 4000, 16000, 64000, 256000, 1000000,
	};

	return us[min_t(u64, speed, IMC_ENGINE_SPEED_MAX)] * 1000ULL;
}
