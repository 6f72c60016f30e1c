// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: moving hot-list entries to perf.
 *
 * A drain is started by the interrupt (the list is half full, or overflowed), the timer (once an
 * epoch), the previous drain (more entries than one section may read), and the stop of the event.
 * All run on the event's CPU with interrupts off, because perf's buffers have one writer:
 *
 *   interrupt ---------------.      (other CPU: kick)
 *   timer --------------------+---> cxl_hmu_service() ---> cxl_hmu_drain() ---.
 *   more (irq_work) ---------'  ^-------- entries wait ----------------------'
 *   cxl_hmu_drain_last() ---------------------------------^
 *
 * A full list takes many sections. They follow each other by irq_work, which needs no timer to
 * be on time; between two of them interrupts are on. The CPU may take its own irq_work before other
 * interrupts, so the number is limited: after a list's worth of sections, or CXL_HMU_BURST_MAX, the
 * timer goes on after a pause as long as they took. So even a device that never runs out of entries
 * leaves half of the CPU.
 *
 * A drain first asks perf how long a record may be (sink), then takes no more entries than that
 * from the device, then hands the record over. What does not fit stays in the device. Whatever is
 * taken or thrown away without being handed over is counted, and the next record says so.
 *
 * Locking: hmu->lock while touching registers; not while calling perf, which may call our stop.
 * hmu->record, hmu->delivering and the fields of the event belong to the event's CPU with
 * interrupts off. During a drain only perf changes hmu->active: it may stop the event while it
 * takes a record that was its last one. So a drain reads hmu->active once, and goes on only while
 * it is still that event.
 */

#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "cxl_hmu.h"
#include "cxl_hmu_trace.h"

/* Sections in a row; about two milliseconds of device reads */
#define CXL_HMU_BURST_MAX		32U
#define CXL_HMU_PAUSE_MIN_NS		(100 * NSEC_PER_USEC)
#define CXL_HMU_DISABLE_POLL_US		10

/* Drains in a row that were asked for by the device and found nothing to take */
#define CXL_HMU_MAX_EMPTY_POLLS	3

#define CXL_HMU_BATCH			(PMUKIT_RECORD_WORDS - CXL_HMU_HEADER_WORDS)

/* The status again behind an entry of all ones, which is one of the batch. */
static_assert(CXL_HMU_BATCH + CXL_HMU_READS_OVERHEAD + 1 <= CXL_HMU_READS_PER_SECTION);
static_assert(CXL_HMU_READS_OVERHEAD <= 6);

/**
 * struct cxl_hmu_batch - what one section took from the list
 * @entries: put into hmu->record
 * @taken: read from the list: @entries and those that were rejected
 * @waiting: beyond these; given up when the event stops
 */
struct cxl_hmu_batch {
	u32 entries;
	u32 taken;
	u32 waiting;
};

/* Taking entries from the device; on the event's CPU, under hmu->lock */

/* The event is named: perf may have stopped it since. */
static void cxl_hmu_lose(struct cxl_hmu *hmu, struct cxl_hmu_event *hev, u32 entries)
{
	if (!entries)
		return;
	hev->pev.lost += entries;
	hev->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	pmukit_stat_add(&hmu->pp, PMUKIT_STAT_LOST, entries);
}

/* A device that is not enabled in the middle of a run was reset, or is gone. */
static bool cxl_hmu_still_on(struct cxl_hmu *hmu, u64 status)
{
	if (status & CXL_HMU_STATUS_ENABLED && !cxl_hmu_status_absent(status))
		return true;

	hmu->filling = false;
	cxl_hmu_fail(hmu, PMUKIT_STAT_RESETS, "the device lost its configuration while tracking");
	return false;
}

/*
 * Copy up to @count entries from the head on. An entry of all ones cannot be: its unit would lie
 * beyond any memory. It is the last one that is read: of a device that has gone each further one
 * costs a completion timeout. Returns how many were read, that one included.
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

/* Count and flag an out-of-range tail once per occurrence. */
static void cxl_hmu_check_tail(struct cxl_hmu *hmu, bool valid)
{
	if (!valid && !hmu->tail_rejected) {
		pmukit_stat_inc(&hmu->pp, PMUKIT_STAT_REJECTED);
		hmu->active->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	}
	hmu->tail_rejected = !valid;
}

/*
 * Clear the status bits that were seen, so that the device may interrupt again. A device that goes
 * on interrupting while no entries are taken (its list reads as empty, or the reader's buffer is
 * full) keeps the bits set, and raises no more interrupts, until entries are taken; the timer still
 * polls it.
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

/* Is the device still there, behind an entry of all ones? Then the entry alone is lost. */
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
 * Take up to @limit entries. @last: the device is being disabled; the status read then is used
 * here, and what does not fit is given up.
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

/* Handing records over; on the event's CPU, interrupts off, no lock */

static void cxl_hmu_put_header(struct cxl_hmu *hmu, const struct cxl_hmu_header *header)
{
	u64 words[CXL_HMU_HEADER_WORDS];
	u32 i;

	cxl_hmu_header_encode(header, words);
	for (i = 0; i < CXL_HMU_HEADER_WORDS; i++)
		hmu->record.words[i] = (__force u64)cpu_to_le64(words[i]);
}

/*
 * A record without entries is only worth it when it has something to say. The trace event comes
 * last: before, a sample's sink holds perf's recursion context, and perf as the reader of the
 * trace event would get nothing.
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

	/* perf stopped the event in the record before. */
	if (hmu->active != hev || (!entries && !flags))
		return;

	cxl_hmu_put_header(hmu, &header);
	hmu->record.raw.tag = PMUKIT_RAW_TAG_CXL_HMU;
	/* What a stop inside this record has to say is for the next run of the event. */
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
 * PERF_AUX_FLAG_TRUNCATED makes perf disable the event, so it is kept for the end of the PMU; a
 * gap in a stream that goes on is PERF_AUX_FLAG_PARTIAL.
 */
static u64 cxl_hmu_aux_flags(const struct cxl_hmu *hmu, bool last, u64 flags)
{
	if (last && pmukit_pmu_gone(&hmu->pp))
		return PERF_AUX_FLAG_TRUNCATED;
	return flags ? PERF_AUX_FLAG_PARTIAL : 0;
}

/*
 * Returns whether to go on soon. When entries wait but none could be taken the reader is behind:
 * looking again before long would not help.
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

/* Asking for a drain */

static u32 cxl_hmu_burst_limit(const struct cxl_hmu *hmu)
{
	return min(hmu->caps.list_size / CXL_HMU_BATCH + 1, CXL_HMU_BURST_MAX);
}

/* The timer goes on. The device is silent until then: its bits stay set, and new ones send. */
static bool cxl_hmu_pauses(const struct cxl_hmu *hmu)
{
	return hmu->burst > cxl_hmu_burst_limit(hmu);
}

/* After a drain on the event's CPU: @more, or the next look at the list. */
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
 * On any CPU, interrupts off: the next step of the run, or a drain on the event's CPU. Timer,
 * more and kick are set going under the lock while the instance is not dead: so they can be
 * waited for once it is.
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
		/* -EBUSY: a kick is on its way, which will do. */
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
	/* The service has started the timer again where it is needed. */
	return HRTIMER_NORESTART;
}

/**
 * cxl_hmu_interrupt - the handler; the vector may be shared with cxl_pci and other instances
 * @irq: unused
 * @data: the instance
 *
 * Return: IRQ_NONE when this instance has no interrupt pending.
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

	/* All ones is not our interrupt; the timer will find the device gone. */
	if (cxl_hmu_status_absent(status))
		status = 0;
	status &= CXL_HMU_STATUS_OVERFLOW | CXL_HMU_STATUS_LEVEL;
	if (status && !pauses)
		cxl_hmu_service(hmu);
	local_irq_restore(irq_flags);

	return status ? IRQ_HANDLED : IRQ_NONE;
}

/* Returns the status behind it; 0: there was nothing to disable. */
static u64 cxl_hmu_disable_active(struct cxl_hmu *hmu)
{
	bool looked = hmu->state == CXL_HMU_ENABLING;
	u64 status = CXL_HMU_STATUS_BUSY;
	int i;

	lockdep_assert_held(&hmu->lock);

	if (hmu->dead)
		return 0;
	/* Enabled since the last look, or about to be: what it may have found is announced. */
	if (looked)
		cxl_hmu_run(hmu);
	if (hmu->state == CXL_HMU_ENABLING)
		hmu->active->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	if (hmu->state != CXL_HMU_ON)
		return 0;
	if (!looked && !cxl_hmu_still_on(hmu, cxl_hmu_read(hmu, CXL_HMU_STATUS)))
		return 0;

	cxl_hmu_disable(hmu);
	for (i = 0; status & CXL_HMU_STATUS_BUSY && i < CXL_HMU_DISABLE_POLLS; i++) {
		if (i)
			udelay(CXL_HMU_DISABLE_POLL_US);
		status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
		if (cxl_hmu_status_absent(status))
			break;
	}
	/* What comes after this drain is counted in lost only: announce it. */
	if (status & CXL_HMU_STATUS_BUSY)
		hmu->active->flags |= PMUKIT_CXL_HMU_F_TRUNCATED;
	return status;
}

/*
 * perf stops the event inside its last record: what the device still holds is given up. In the last
 * drain the device is disabled already, and the drain has taken or given up what it held.
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
 * cxl_hmu_drain_last - disable the device and take what it holds, as far as one section allows
 * @hmu: an instance whose event is being stopped
 *
 * Context: the stop callback: event's CPU, interrupts off, no lock. When perf calls it from
 * inside a drain of ours, that drain's record was the last one.
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
 * cxl_hmu_drain_init - make timer, more and kick ready
 * @hmu: a new instance
 */
void cxl_hmu_drain_init(struct cxl_hmu *hmu)
{
	hrtimer_setup(&hmu->timer, cxl_hmu_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hmu->more = IRQ_WORK_INIT_HARD(cxl_hmu_more);
	INIT_CSD(&hmu->kick, cxl_hmu_kicked, hmu);
}

/**
 * cxl_hmu_drain_shutdown - wait for everything that may still look at the instance
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
