// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: moving hot-list entries to perf.
 *
 * A drain reads at most CXL_HMU_BATCH entries of the hot list and delivers them to perf. A drain is
 * started by the interrupt (the list is half full, or has overflowed), the timer (about once per
 * epoch), the previous drain (it left entries in the list), and the stop of the event. All drains
 * run on the event's CPU with interrupts off, because perf's buffers have one writer:
 *
 *   interrupt ---------.
 *   timer -------------+
 *   kick (other CPU) --+---> cxl_hmu_service() ---> cxl_hmu_drain()
 *   more (irq_work) ---'                                 ^  |
 *         ^                                              |  | entries wait
 *         '----------------------------------------------|--'
 *   cxl_hmu_drain_last() --------------------------------'
 *
 * On a CPU other than the event's, cxl_hmu_service() only sends the kick: a call of the same
 * function on the event's CPU. A run is the time from the start of an event to its stop.
 *
 * Reading a full list takes many drains; interrupts are on between two drains. Each drain queues
 * the next one as irq_work, which does not depend on timer latency. A CPU may run its irq_work
 * before other interrupts, so a long chain of such drains would delay these interrupts. A chain has
 * at most as many drains as a full list needs, and never more than CXL_HMU_BURST_MAX. Then the
 * driver pauses for as long as the chain took, and the timer starts the next drain. So a device
 * that never runs out of entries uses at most half of the CPU's time.
 *
 * A drain first opens a sink (pmukit_sink_open()): the destination of its records, which is the AUX
 * area or samples of the event, or only the event's count. The sink's room_words limits the length
 * of the record. The drain then reads at most as many entries from the device as fit in the record,
 * and delivers the record. Further entries stay in the device. Entries that are read or discarded
 * without being delivered are counted as lost, and the next record reports their number.
 *
 * Locking: hmu->lock is held while registers are accessed, but not while calling perf, which may
 * call the stop callback. hmu->record, hmu->delivering and the fields of the event are used only on
 * the event's CPU with interrupts off. During a drain hmu->active changes only if perf calls the
 * stop callback while the driver delivers a record; that record is then the last of the run. So a
 * drain copies hmu->active when it starts (hev), and delivers no more records once hmu->active
 * differs from the copy.
 */

#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "cxl_hmu.h"
#include "cxl_hmu_trace.h"

/* Maximum number of drains in a chain: about 2 ms of device reads, at 1 us per read */
#define CXL_HMU_BURST_MAX		32U
#define CXL_HMU_PAUSE_MIN_NS		(100 * NSEC_PER_USEC)
#define CXL_HMU_DISABLE_POLL_US		10

/* Maximum number of consecutive drains that read no entry although the status announced some */
#define CXL_HMU_MAX_EMPTY_POLLS	3

#define CXL_HMU_BATCH			(PMUKIT_RECORD_WORDS - CXL_HMU_HEADER_WORDS)

/*
 * + 1: the status read after an all-ones entry. The read of that entry is already counted in
 * CXL_HMU_BATCH.
 */
static_assert(CXL_HMU_BATCH + CXL_HMU_READS_OVERHEAD + 1 <= CXL_HMU_READS_PER_SECTION);
static_assert(CXL_HMU_READS_OVERHEAD <= 6);

/**
 * struct cxl_hmu_batch - entries of one drain
 * @entries: entries copied to hmu->record
 * @taken: entries read from the list: @entries plus at most one rejected entry
 * @waiting: entries left in the list; discarded when the event stops
 */
struct cxl_hmu_batch {
	u32 entries;
	u32 taken;
	u32 waiting;
};

/* Reading entries from the device; on the event's CPU, under hmu->lock */

/* @hev is a parameter because perf may have cleared hmu->active. */
static void cxl_hmu_lose(struct cxl_hmu *hmu, struct cxl_hmu_event *hev, u32 entries)
{
	if (!entries)
		return;
	hev->pev.lost += entries;
	hev->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	pmukit_stat_add(&hmu->pp, PMUKIT_STAT_LOST, entries);
}

/* A device that is not enabled during a run was reset or removed. */
static bool cxl_hmu_still_on(struct cxl_hmu *hmu, u64 status)
{
	if (status & CXL_HMU_STATUS_ENABLED && !cxl_hmu_status_absent(status))
		return true;

	hmu->filling = false;
	cxl_hmu_fail(hmu, PMUKIT_STAT_RESETS, "the device lost its configuration while tracking");
	return false;
}

/*
 * Copy up to @count entries, starting at the head. An all-ones entry is invalid: its unit would be
 * beyond any memory. The copy stops there, because each further read of a removed device costs a
 * completion timeout. Return: how many entries were read, including the invalid one.
 */
static u32 cxl_hmu_take(struct cxl_hmu *hmu, u32 count, u32 *entries)
{
	u64 *words = &hmu->record.words[CXL_HMU_HEADER_WORDS];
	u32 index = hmu->head;

	for (*entries = 0; *entries < count; (*entries)++) {
		u64 entry = readq(hmu->list + index * sizeof(u64));

		if (entry == U64_MAX)
			return *entries + 1;
		words[*entries] = (__force u64)cpu_to_le64(entry);
		index = cxl_hmu_list_advance(index, 1, hmu->caps.list_size);
	}
	return count;
}

/* Count and flag only the first of several out-of-range tails in a row. */
static void cxl_hmu_check_tail(struct cxl_hmu *hmu, bool valid)
{
	if (!valid && !hmu->tail_rejected) {
		pmukit_stat_inc(&hmu->pp, PMUKIT_STAT_REJECTED);
		hmu->active->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	}
	hmu->tail_rejected = !valid;
}

/*
 * Clear the status bits that were read, so that the device may interrupt again. If the device keeps
 * interrupting while no entries are read (its list reads as empty, or the reader's buffer is full),
 * the bits stay set, so that it raises no more interrupts until entries are read. The timer still
 * polls the list.
 */
static void cxl_hmu_acknowledge(struct cxl_hmu *hmu, u64 status, const struct cxl_hmu_batch *batch)
{
	u64 seen = cxl_hmu_status_clear(status, batch->waiting);

	hmu->empty_polls = batch->taken ? 0 :
			   min(hmu->empty_polls + !!seen, CXL_HMU_MAX_EMPTY_POLLS + 1U);
	if (!seen || hmu->empty_polls > CXL_HMU_MAX_EMPTY_POLLS)
		return;

	if (seen & CXL_HMU_STATUS_OVERFLOW) {
		hmu->active->flags |= PMUKIT_CXL_HMU_F_OVERFLOW;
		pmukit_stat_inc(&hmu->pp, PMUKIT_STAT_OVERFLOWS);
	}
	cxl_hmu_write(hmu, CXL_HMU_STATUS, seen);
}

/*
 * Called after an all-ones entry. Return: true if the device still responds; then only that entry
 * is lost.
 */
static bool cxl_hmu_entry_rejected(struct cxl_hmu *hmu, bool last)
{
	u64 status = cxl_hmu_read(hmu, CXL_HMU_STATUS);

	if (last ? cxl_hmu_status_absent(status) : !cxl_hmu_still_on(hmu, status))
		return false;
	pmukit_stat_inc(&hmu->pp, PMUKIT_STAT_REJECTED);
	cxl_hmu_lose(hmu, hmu->active, 1);
	return true;
}

static void cxl_hmu_move_head(struct cxl_hmu *hmu, u32 head)
{
	if (hmu->head == head)
		return;
	hmu->head = head;
	cxl_hmu_write_head(hmu);
}

/*
 * Read up to @limit entries. @last is NULL, except in the last drain of a run, where it is the
 * status after the disable. The last drain discards the entries beyond @limit.
 */
static void cxl_hmu_collect(struct cxl_hmu *hmu, u32 limit, const u64 *last,
			    struct cxl_hmu_batch *batch)
{
	struct cxl_hmu_plan plan;
	bool valid;
	u64 status;

	*batch = (struct cxl_hmu_batch) {};
	if (hmu->dead || hmu->state != CXL_HMU_ON)
		return;

	status = last ? *last : cxl_hmu_read(hmu, CXL_HMU_STATUS);
	if (!last && !cxl_hmu_still_on(hmu, status))
		return;
	valid = cxl_hmu_list_plan(hmu->head, cxl_hmu_read_tail(hmu), hmu->caps.list_size, limit,
				  last, &plan);
	cxl_hmu_check_tail(hmu, valid);
	if (!valid)
		return;

	batch->taken = cxl_hmu_take(hmu, plan.take, &batch->entries);
	if (batch->taken != batch->entries && !cxl_hmu_entry_rejected(hmu, last))
		return;
	batch->waiting = plan.waiting + plan.take - batch->taken;
	cxl_hmu_move_head(hmu, last ? plan.head : cxl_hmu_list_advance(hmu->head, batch->taken,
								       hmu->caps.list_size));
	cxl_hmu_acknowledge(hmu, status, batch);
}

/* Delivering records; on the event's CPU, interrupts off, no lock */

static void cxl_hmu_put_header(struct cxl_hmu *hmu, const struct cxl_hmu_header *header)
{
	u64 words[CXL_HMU_HEADER_WORDS];
	u32 i;

	cxl_hmu_header_encode(header, words);
	for (i = 0; i < CXL_HMU_HEADER_WORDS; i++)
		hmu->record.words[i] = (__force u64)cpu_to_le64(words[i]);
}

/*
 * A record without entries is only delivered if it has flags. The trace event fires last: until the
 * record is delivered, a sink for samples holds perf's recursion context, and perf would not record
 * the trace event.
 */
static void cxl_hmu_deliver(struct cxl_hmu *hmu, struct cxl_hmu_event *hev,
			    struct pmukit_sink *sink, u32 entries)
{
	u64 flags = hev->flags;
	struct cxl_hmu_header header = {
		.time_ns = hev->pev.event->clock(),
		.sequence = hev->pev.sequence,
		.lost = hev->pev.lost,
		.flags = flags | (hev->cfg.always_on ? PMUKIT_CXL_HMU_F_ALWAYS_ON : 0),
		.entries = entries,
		.counter_width = hmu->caps.counter_width[hev->cfg.unit_log2],
		.unit_log2 = hev->cfg.unit_log2,
		.downsampling_log2 = hev->cfg.downsampling_log2,
	};

	/* hmu->active != hev: perf stopped the event while the previous record was delivered. */
	if (hmu->active != hev || (!entries && !flags))
		return;

	cxl_hmu_put_header(hmu, &header);
	hmu->record.raw.tag = PMUKIT_RAW_TAG_CXL_HMU;
	/*
	 * Clear the flags before the delivery, not after it: a stop during the delivery may set
	 * flags, and they belong to the event's next run.
	 */
	hev->flags = 0;
	if (!pmukit_sink_deliver(sink, &hmu->record, CXL_HMU_HEADER_WORDS + entries, entries)) {
		hev->flags |= flags;
		cxl_hmu_lose(hmu, hev, entries);
		return;
	}

	hev->pev.sequence++;
	pmukit_stat_inc(&hmu->pp, PMUKIT_STAT_RECORDS);
	pmukit_stat_add(&hmu->pp, PMUKIT_STAT_ENTRIES, entries);
	trace_cxl_hmu_record(hmu->pp.name, &header, hmu->record.words);
}

static u32 cxl_hmu_sink_entries(const struct pmukit_sink *sink)
{
	if (sink->room_words <= CXL_HMU_HEADER_WORDS)
		return 0;
	return min_t(u32, sink->room_words - CXL_HMU_HEADER_WORDS, CXL_HMU_BATCH);
}

/*
 * perf disables an event on PERF_AUX_FLAG_TRUNCATED, so this flag is only set when the PMU is
 * removed. PERF_AUX_FLAG_PARTIAL marks a gap in a stream that continues.
 */
static u64 cxl_hmu_aux_flags(const struct cxl_hmu *hmu, bool last, u64 flags)
{
	if (last && pmukit_pmu_gone(&hmu->pp))
		return PERF_AUX_FLAG_TRUNCATED;
	return flags ? PERF_AUX_FLAG_PARTIAL : 0;
}

/*
 * Return: true to run the next drain at once. If entries wait but none could be read, perf's
 * buffer has no space, and an immediate retry would not help.
 */
static bool cxl_hmu_drain(struct cxl_hmu *hmu, const u64 *last)
{
	struct cxl_hmu_event *hev = hmu->active;
	struct cxl_hmu_batch batch;
	struct pmukit_sink sink;
	bool open;
	u64 flags;

	hmu->delivering = true;
	open = pmukit_sink_open(&sink, &hev->pev);

	raw_spin_lock(&hmu->lock);
	cxl_hmu_collect(hmu, open ? cxl_hmu_sink_entries(&sink) : 0, last, &batch);
	if (hmu->error_unreported)
		hev->flags |= PMUKIT_CXL_HMU_F_RESET;
	hmu->error_unreported = false;
	raw_spin_unlock(&hmu->lock);

	flags = hev->flags;
	if (open)
		cxl_hmu_deliver(hmu, hev, &sink, batch.entries);

	if (last && batch.waiting) {
		cxl_hmu_lose(hmu, hev, batch.waiting);
		flags |= hev->flags;
		if (open)
			cxl_hmu_deliver(hmu, hev, &sink, 0);
	}

	if (open)
		pmukit_sink_close(&sink, cxl_hmu_aux_flags(hmu, last, flags));
	hmu->delivering = false;
	return batch.waiting && batch.taken;
}

/* Scheduling drains */

static u32 cxl_hmu_burst_limit(const struct cxl_hmu *hmu)
{
	return min(hmu->caps.list_size / CXL_HMU_BATCH + 1, CXL_HMU_BURST_MAX);
}

/*
 * Return: true while the chain of drains is paused, until the timer runs. No drain clears status
 * bits during the pause, so the device sends at most one interrupt per bit.
 */
static bool cxl_hmu_pauses(const struct cxl_hmu *hmu)
{
	return hmu->burst > cxl_hmu_burst_limit(hmu);
}

/*
 * After a drain on the event's CPU: queue the next drain, or start the timer for the next poll.
 */
static void cxl_hmu_continue(struct cxl_hmu *hmu, bool more)
{
	ktime_t now;

	lockdep_assert_held(&hmu->lock);

	if (!more) {
		hmu->burst = 0;
		cxl_hmu_arm(hmu, cxl_hmu_flush_ns(hmu));
		return;
	}
	if (cxl_hmu_pauses(hmu))
		return;

	now = ktime_get();
	if (!hmu->burst++)
		hmu->burst_start = now;
	if (cxl_hmu_pauses(hmu))
		cxl_hmu_arm(hmu, max_t(u64, ktime_to_ns(ktime_sub(now, hmu->burst_start)),
				       CXL_HMU_PAUSE_MIN_NS));
	else
		irq_work_queue(&hmu->more);
}

/*
 * Called on any CPU with interrupts off. While the device tracks, drain it if this is the event's
 * CPU, else send the kick. While a start or stop is in progress, run its next step on this CPU.
 * hmu->timer, hmu->more and hmu->kick are started under the lock and only while the instance is not
 * dead, so that a detach can mark the instance dead and then wait for them.
 */
static void cxl_hmu_service(struct cxl_hmu *hmu)
{
	const char *error_msg;
	bool here = false;
	bool more;

	raw_spin_lock(&hmu->lock);
	error_msg = hmu->error_msg;
	hmu->error_msg = NULL;
	if (!hmu->dead && hmu->state == CXL_HMU_ON) {
		here = hmu->cpu == smp_processor_id();
		/* -EBUSY: the call is already queued. */
		if (!here)
			smp_call_function_single_async(hmu->cpu, &hmu->kick);
	} else if (!hmu->dead) {
		cxl_hmu_run(hmu);
	}
	raw_spin_unlock(&hmu->lock);

	if (error_msg)
		pr_warn_ratelimited("%s: %s\n", hmu->pp.name, error_msg);
	if (!here)
		return;

	more = cxl_hmu_drain(hmu, NULL);

	raw_spin_lock(&hmu->lock);
	if (!hmu->dead && hmu->state == CXL_HMU_ON)
		cxl_hmu_continue(hmu, more);
	raw_spin_unlock(&hmu->lock);
}

static void cxl_hmu_kicked(void *data)
{
	cxl_hmu_service(data);
}

static void cxl_hmu_more(struct irq_work *more)
{
	cxl_hmu_service(container_of(more, struct cxl_hmu, more));
}

static enum hrtimer_restart cxl_hmu_timer(struct hrtimer *timer)
{
	struct cxl_hmu *hmu = container_of(timer, struct cxl_hmu, timer);

	raw_spin_lock(&hmu->lock);
	hmu->burst = 0;
	raw_spin_unlock(&hmu->lock);
	cxl_hmu_service(hmu);
	/* cxl_hmu_service() has restarted the timer if it is needed. */
	return HRTIMER_NORESTART;
}

/**
 * cxl_hmu_interrupt - handler of a vector that cxl_pci and other instances may share
 * @irq: unused
 * @data: the instance
 *
 * Return: IRQ_NONE if this instance has no interrupt pending.
 */
irqreturn_t cxl_hmu_interrupt(int irq, void *data)
{
	struct cxl_hmu *hmu = data;
	unsigned long irq_flags;
	bool pauses = false;
	u64 status = 0;

	local_irq_save(irq_flags);
	raw_spin_lock(&hmu->lock);
	if (!hmu->dead && hmu->state == CXL_HMU_ON) {
		status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
		pauses = cxl_hmu_pauses(hmu);
	}
	raw_spin_unlock(&hmu->lock);

	/* All ones: the device is gone and raised no interrupt. The timer reports the failure. */
	if (cxl_hmu_status_absent(status))
		status = 0;
	status &= CXL_HMU_STATUS_OVERFLOW | CXL_HMU_STATUS_LEVEL;
	if (status && !pauses)
		cxl_hmu_service(hmu);
	local_irq_restore(irq_flags);

	return status ? IRQ_HANDLED : IRQ_NONE;
}

/* Return: the status after the disable; 0 if the device was not tracking. */
static u64 cxl_hmu_disable_active(struct cxl_hmu *hmu)
{
	bool was_enabling = hmu->state == CXL_HMU_ENABLING;
	u64 status = CXL_HMU_STATUS_BUSY;
	int i;

	lockdep_assert_held(&hmu->lock);

	if (hmu->dead)
		return 0;
	/*
	 * If the device is still being enabled, read its status once more. If the enabling is still
	 * not complete, the entries that the device collects are lost: flag the next record as
	 * truncated.
	 */
	if (was_enabling)
		cxl_hmu_run(hmu);
	if (hmu->state == CXL_HMU_ENABLING)
		hmu->active->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	if (hmu->state != CXL_HMU_ON)
		return 0;
	if (!was_enabling && !cxl_hmu_still_on(hmu, cxl_hmu_read(hmu, CXL_HMU_STATUS)))
		return 0;

	cxl_hmu_disable(hmu);
	for (i = 0; status & CXL_HMU_STATUS_BUSY && i < CXL_HMU_DISABLE_POLLS; i++) {
		if (i)
			udelay(CXL_HMU_DISABLE_POLL_US);
		status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
		if (cxl_hmu_status_absent(status))
			break;
	}
	/*
	 * Still busy: the device is still being disabled, and may add entries after the last drain.
	 * No record has them; cxl_hmu_count_leftovers() adds them to the PMU's lost counter later.
	 * So flag the last record as truncated.
	 */
	if (status & CXL_HMU_STATUS_BUSY)
		hmu->active->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	return status;
}

/*
 * Called if perf stops the event while a record is delivered: discard the entries that the device
 * still holds. If the disable was already sent, the record belongs to the last drain of the run,
 * and that drain handles the entries itself.
 */
static void cxl_hmu_stop_inside(struct cxl_hmu *hmu)
{
	struct cxl_hmu_batch batch;
	u64 status;

	raw_spin_lock(&hmu->lock);
	if (!hmu->disable_sent) {
		status = cxl_hmu_disable_active(hmu);
		cxl_hmu_collect(hmu, 0, &status, &batch);
		cxl_hmu_lose(hmu, hmu->active, batch.waiting);
	}
	raw_spin_unlock(&hmu->lock);
}

/**
 * cxl_hmu_drain_last - disable the device and run the last drain of the run
 * @hmu: an instance whose event is being stopped
 *
 * Context: the stop callback: event's CPU, interrupts off, no lock. If perf calls the stop callback
 * from inside a drain, the record of that drain is the last one.
 */
void cxl_hmu_drain_last(struct cxl_hmu *hmu)
{
	u64 status;

	if (!hmu->active)
		return;
	if (hmu->delivering) {
		cxl_hmu_stop_inside(hmu);
		return;
	}

	raw_spin_lock(&hmu->lock);
	status = cxl_hmu_disable_active(hmu);
	raw_spin_unlock(&hmu->lock);
	cxl_hmu_drain(hmu, &status);
}

/**
 * cxl_hmu_drain_init - initialize timer, irq_work and cross-CPU call
 * @hmu: a new instance
 */
void cxl_hmu_drain_init(struct cxl_hmu *hmu)
{
	hrtimer_setup(&hmu->timer, cxl_hmu_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hmu->more = IRQ_WORK_INIT_HARD(cxl_hmu_more);
	INIT_CSD(&hmu->kick, cxl_hmu_kicked, hmu);
}

/**
 * cxl_hmu_drain_shutdown - wait until timer, irq_work and cross-CPU call are done
 * @hmu: a dead instance whose interrupt is freed
 *
 * Context: may sleep.
 */
void cxl_hmu_drain_shutdown(struct cxl_hmu *hmu)
{
	hrtimer_cancel(&hmu->timer);
	irq_work_sync(&hmu->more);
	pmukit_kick_sync();
}
