// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: copying entries to perf.
 *
 * The interrupt (a buffer is full), the timer and the stop of the event ask for it. All of them end
 * up on the event's CPU with interrupts off, because perf's buffers have one writer:
 *
 *   interrupt ------------.      (other CPU: kick)
 *   timer -----------------+---> hisi_ptt_service() ---> hisi_ptt_drain()
 *   hisi_ptt_drain_last() ------------------------------------^
 *
 * A section takes at most HISI_PTT_SECTION_BYTES; what is left has the timer continue a moment
 * later, so that other interrupts are served between the two. Only full buffers are taken while the
 * device runs. It goes on writing meanwhile: each piece is copied to where no reader sees it yet,
 * then INT_STAT is read, and only when the device cannot have come round to the place that the
 * piece was copied from it is handed over. The last section of a run, when the device is idle,
 * takes all that is there.
 *
 * When all four buffers were full the device is stopped. What lies in them is then whole, but what
 * came before is lost, and nothing tells how much: only a lower bound is counted. The trace begins
 * again when the buffers are taken.
 *
 * A loss stands in the AUX area as a record without data, at the place where the entries are
 * missing: PERF_AUX_FLAG_PARTIAL where the run goes on, PERF_AUX_FLAG_TRUNCATED, which makes perf
 * disable the event, where it ends, both with PERF_AUX_FLAG_COLLISION when its size is not known.
 * How many entries they are is in lost_samples of the event, which PERF_FORMAT_LOST reads and which
 * recorders store at the end. Records of samples have the count of their event in them.
 *
 * Locking: ptt->lock while touching registers and ring; not while calling perf, which may call our
 * stop. ptt->record, ptt->delivering and the flags and counts of the event belong to the event's
 * CPU with interrupts off. Only perf changes ptt->active meanwhile, when it stops the event from
 * inside its last sample: a drain names its event once, and goes on only while that one is active.
 */

#include <linux/interrupt.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "hisi_ptt.h"
#include "hisi_ptt_trace.h"

/* Pause between two sections of one drain */
#define HISI_PTT_CONTINUE_NS		(20 * NSEC_PER_USEC)

/* Interrupts without a cause between two looks, before the interrupt is disabled */
#define HISI_PTT_MAX_SPURIOUS		64

static u64 hisi_ptt_entries(const struct hisi_ptt *ptt, u64 bytes)
{
	return div_u64(bytes, ptt->ring.entry_bytes);
}

/* Losses; on the event's CPU. The event is named: perf may have stopped it since. */

static void hisi_ptt_flag(struct hisi_ptt_event *hev, u64 flags)
{
	hev->flags |= flags;
	hev->aux_flags |= flags;
}

static bool hisi_ptt_event_samples(const struct hisi_ptt_event *hev)
{
	struct perf_event *event = hev->pev.event;

	return is_sampling_event(event) && !pmukit_aux_of_event(event);
}

static void hisi_ptt_lose(struct hisi_ptt *ptt, struct hisi_ptt_event *hev, u64 bytes, u64 flags)
{
	u64 entries = hisi_ptt_entries(ptt, bytes);

	hev->pev.lost += entries;
	if (!hisi_ptt_event_samples(hev))
		atomic64_add(entries, &hev->pev.event->lost_samples);
	hisi_ptt_flag(hev, flags);
	pmukit_stat_add(&ptt->pp, PMUKIT_STAT_LOST, entries);
}

/* More may be lost: the lost count of the event is a lower bound from here on. */
static void hisi_ptt_lose_at_least(struct hisi_ptt *ptt, struct hisi_ptt_event *hev, u64 bytes,
				   u64 flags)
{
	hisi_ptt_lose(ptt, hev, bytes, flags | PMUKIT_HISI_PTT_F_AT_LEAST);
	hev->inexact = true;
	pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_OVERFLOWS);
}

/* Looking at the device; on the event's CPU, under ptt->lock */

/* What is still in the buffers is given up. */
static void hisi_ptt_end_run(struct hisi_ptt *ptt, enum pmukit_stat stat, const char *message)
{
	ptt->state = HISI_PTT_ENDED;
	hisi_ptt_lose_at_least(ptt, ptt->active, hisi_ptt_ring_drop(&ptt->ring),
			       PMUKIT_HISI_PTT_F_RESET);
	hisi_ptt_warn(ptt, stat, message);
}

/* One that answers again has gone on meanwhile, and would come round to what is full. */
static void hisi_ptt_end_silent_run(struct hisi_ptt *ptt)
{
	if (!ptt->halted)
		hisi_ptt_halt(ptt);
	hisi_ptt_end_run(ptt, PMUKIT_STAT_RESETS, "the device does not answer");
}

static void hisi_ptt_overrun(struct hisi_ptt *ptt)
{
	u32 wr_sts;

	if (!ptt->halted)
		hisi_ptt_halt(ptt);
	wr_sts = hisi_ptt_read(ptt, HISI_PTT_TRACE_WR_STS);
	if (!ptt->stopped || hisi_ptt_absent(wr_sts)) {
		hisi_ptt_end_run(ptt, PMUKIT_STAT_RESETS,
				 "the device overran its buffers and does not stop");
		return;
	}
	hisi_ptt_lose_at_least(ptt, ptt->active, hisi_ptt_ring_resync(&ptt->ring, wr_sts),
			       PMUKIT_HISI_PTT_F_OVERRUN);
	ptt->state = HISI_PTT_PAUSED;
}

/* Acknowledge before the buffers are taken: one that fills meanwhile interrupts again. */
static void hisi_ptt_look(struct hisi_ptt *ptt)
{
	u32 status;

	lockdep_assert_held(&ptt->lock);

	if (ptt->dead || ptt->state != HISI_PTT_ON)
		return;
	if (ptt->was_reset) {
		hisi_ptt_end_run(ptt, PMUKIT_STAT_RESETS, "the device was reset while tracing");
		return;
	}
	status = hisi_ptt_read(ptt, HISI_PTT_TRACE_INT_STAT) | ptt->halt_status;
	ptt->halt_status = 0;
	if (hisi_ptt_absent(status)) {
		hisi_ptt_end_silent_run(ptt);
		return;
	}

	status &= HISI_PTT_TRACE_INT_FULL;
	if (status)
		hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_STAT, status);
	switch (hisi_ptt_ring_report(&ptt->ring, status)) {
	case HISI_PTT_GOOD:
		break;
	case HISI_PTT_OVERRUN:
		hisi_ptt_overrun(ptt);
		break;
	case HISI_PTT_DISORDER:
		if (!ptt->halted)
			hisi_ptt_halt(ptt);
		hisi_ptt_end_run(ptt, PMUKIT_STAT_REJECTED,
				 "buffers were reported full out of order");
		break;
	}
}

/* How far the last buffer is written is known of an idle device only. */
static void hisi_ptt_look_last(struct hisi_ptt *ptt)
{
	u32 wr_sts;

	if (!ptt->dead && !ptt->halted)
		hisi_ptt_halt(ptt);
	hisi_ptt_look(ptt);
	if (ptt->dead || ptt->state != HISI_PTT_ON)
		return;

	wr_sts = hisi_ptt_read(ptt, HISI_PTT_TRACE_WR_STS);
	if (ptt->stopped && hisi_ptt_ring_finish(&ptt->ring, wr_sts))
		return;
	if (ptt->stopped)
		pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_REJECTED);
	hisi_ptt_lose_at_least(ptt, ptt->active, 0, PMUKIT_HISI_PTT_F_TRUNCATED);
}

/* Once what was left in the buffers after an overrun is taken */
static void hisi_ptt_restart(struct hisi_ptt *ptt)
{
	struct hisi_ptt_event *hev = ptt->active;

	if (ptt->dead || ptt->state != HISI_PTT_PAUSED || ptt->resetting ||
	    hisi_ptt_ring_waiting(&ptt->ring))
		return;
	/* What passed since the device was stopped is missing in front of what comes. */
	if (hisi_ptt_launch(ptt, &hev->cfg)) {
		ptt->state = HISI_PTT_ENDED;
		hisi_ptt_lose_at_least(ptt, hev, 0, PMUKIT_HISI_PTT_F_RESET);
		return;
	}
	ptt->restarts++;
	hisi_ptt_flag(hev, PMUKIT_HISI_PTT_F_OVERRUN | PMUKIT_HISI_PTT_F_AT_LEAST);
}

/* Copying; on the event's CPU, interrupts off, no lock */

/* An AUX area that cannot be opened now is on its way out; nothing is counted for it. */
static bool hisi_ptt_open_sink(struct hisi_ptt_event *hev, struct pmukit_sink *sink)
{
	if (pmukit_aux_of_event(hev->pev.event))
		return pmukit_sink_open_aux(sink, &hev->pev);
	return pmukit_sink_open(sink, &hev->pev);
}

static bool hisi_ptt_sink_samples(const struct pmukit_sink *sink)
{
	return !sink->ring && is_sampling_event(sink->pev->event);
}

/* What needs the entries in a record of their own */
static bool hisi_ptt_sink_records(const struct pmukit_sink *sink)
{
	return hisi_ptt_sink_samples(sink) || trace_hisi_ptt_record_enabled();
}

static u32 hisi_ptt_budget(const struct hisi_ptt *ptt, const struct pmukit_sink *sink, bool last)
{
	u32 budget = HISI_PTT_SECTION_BYTES;

	/* Where entries are only counted nothing is copied. */
	if (last || (!sink->ring && !hisi_ptt_sink_records(sink)))
		budget = (HISI_PTT_NR_BUFFERS + 1) * HISI_PTT_BUFFER_BYTES;
	else if (hisi_ptt_sink_records(sink))
		budget = HISI_PTT_SAMPLE_SECTION_BYTES;
	return sink->ring ? min_t(u64, (u64)sink->room_words * sizeof(u64), budget) : budget;
}

static void hisi_ptt_put_header(struct hisi_ptt *ptt, const struct hisi_ptt_header *header)
{
	u64 words[HISI_PTT_HEADER_WORDS];
	u32 i;

	hisi_ptt_header_encode(header, words);
	for (i = 0; i < HISI_PTT_HEADER_WORDS; i++)
		ptt->record.words[i] = (__force u64)cpu_to_le64(words[i]);
}

/* A sample that does not fit into perf's buffer is not delivered, although perf has counted it. */
static bool hisi_ptt_deliver_sample(struct hisi_ptt *ptt, struct pmukit_sink *sink, u32 nr_words,
				    u32 nr_entries)
{
	struct perf_event *event = sink->pev->event;
	u64 dropped = atomic64_read(&event->lost_samples);

	if (!pmukit_sink_sample(sink, &ptt->record.raw, nr_words, nr_entries))
		return false;
	if (atomic64_read(&event->lost_samples) == dropped)
		return true;
	local64_sub(nr_entries, &event->count);
	return false;
}

/*
 * The trace event comes last: before, a sample's sink holds perf's recursion context, and perf as
 * the reader of the trace event would get nothing.
 */
static bool hisi_ptt_deliver_record(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
				    struct pmukit_sink *sink, u32 bytes)
{
	u32 nr_words = HISI_PTT_HEADER_WORDS + bytes / sizeof(u64);
	u64 inexact = hev->inexact ? PMUKIT_HISI_PTT_F_AT_LEAST : 0;
	struct hisi_ptt_header header = {
		.time_ns = hev->pev.event->clock(),
		.flags = hev->flags | inexact,
		.sequence = hev->pev.sequence,
		.lost = hev->pev.lost,
		.entries = hisi_ptt_entries(ptt, bytes),
		.entry_bytes = ptt->ring.entry_bytes,
	};

	hisi_ptt_put_header(ptt, &header);
	ptt->record.raw.tag = PMUKIT_RAW_TAG_HISI_PTT;
	/* What a stop inside this sample has to say is for the next run of the event. */
	hev->flags = 0;
	if (hisi_ptt_sink_samples(sink) &&
	    !hisi_ptt_deliver_sample(ptt, sink, nr_words, header.entries)) {
		hev->flags |= header.flags;
		return false;
	}

	hev->pev.sequence++;
	pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_RECORDS);
	trace_hisi_ptt_record(ptt->pp.name, &header, ptt->record.words, nr_words);
	return true;
}

/* @records: there is a record of them; an event that started since waits for the next one. */
static void hisi_ptt_deliver(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
			     struct pmukit_sink *sink, u32 bytes, bool records)
{
	u32 entries = hisi_ptt_entries(ptt, bytes);

	if (!hisi_ptt_sink_samples(sink))
		pmukit_sink_commit(sink, bytes / sizeof(u64), entries);
	if (records && !hisi_ptt_deliver_record(ptt, hev, sink, bytes)) {
		hisi_ptt_lose(ptt, hev, bytes, PMUKIT_HISI_PTT_F_TRUNCATED);
		return;
	}
	pmukit_stat_add(&ptt->pp, PMUKIT_STAT_ENTRIES, entries);
}

/* One piece without a gap in memory. Returns its length, 0: there is none. */
static u32 hisi_ptt_move_piece(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
			       struct pmukit_sink *sink, u32 limit_bytes)
{
	bool records = hisi_ptt_sink_records(sink);
	const void *from;
	bool intact;
	u32 bytes;

	if (records)
		limit_bytes = min_t(u32, limit_bytes, PMUKIT_HISI_PTT_DATA_BYTES);

	raw_spin_lock(&ptt->lock);
	bytes = hisi_ptt_ring_slice(&ptt->ring, limit_bytes);
	from = ptt->buffers[ptt->ring.index].cpu + ptt->ring.offset_bytes;
	raw_spin_unlock(&ptt->lock);
	if (!bytes)
		return 0;

	pmukit_sink_stage(sink, from, bytes / sizeof(u64));
	if (records)
		memcpy(&ptt->record.words[HISI_PTT_HEADER_WORDS], from, bytes);
	/* The device is asked once all of it was read, else its answer says nothing of the copy. */
	rmb();

	raw_spin_lock(&ptt->lock);
	intact = ptt->stopped;
	if (!intact) {
		hisi_ptt_look(ptt);
		intact = ptt->state == HISI_PTT_ON && hisi_ptt_ring_intact(&ptt->ring);
	}
	if (intact)
		hisi_ptt_ring_take(&ptt->ring, bytes);
	raw_spin_unlock(&ptt->lock);
	if (!intact)
		return 0;

	hisi_ptt_deliver(ptt, hev, sink, bytes, records);
	return bytes;
}

static void hisi_ptt_account_section(struct hisi_ptt *ptt, u32 bytes, u64 ns, bool last)
{
	ptt->copied_bytes += bytes;
	if (last) {
		ptt->last_max_ns = max(ptt->last_max_ns, ns);
		return;
	}
	ptt->sections++;
	ptt->sections_ns += ns;
	ptt->section_max_bytes = max_t(u64, ptt->section_max_bytes, bytes);
	ptt->section_max_ns = max(ptt->section_max_ns, ns);
}

static u32 hisi_ptt_move(struct hisi_ptt *ptt, struct hisi_ptt_event *hev, bool last)
{
	u64 begin_ns = ktime_get_mono_fast_ns();
	struct pmukit_sink sink;
	u32 budget, moved = 0;
	bool copied;
	u32 piece;

	if (!hisi_ptt_open_sink(hev, &sink))
		return 0;
	budget = hisi_ptt_budget(ptt, &sink, last);
	copied = sink.ring || hisi_ptt_sink_records(&sink);
	while (moved < budget && ptt->active == hev) {
		piece = hisi_ptt_move_piece(ptt, hev, &sink, budget - moved);
		if (!piece)
			break;
		moved += piece;
	}
	pmukit_sink_close(&sink, 0);

	if (copied && moved)
		hisi_ptt_account_section(ptt, moved, ktime_get_mono_fast_ns() - begin_ns, last);
	return moved;
}

/*
 * One that is throttled goes on with the next tick, one that moves on its next CPU: their streams
 * are not cut.
 */
static u64 hisi_ptt_aux_flags(const struct hisi_ptt *ptt, const struct hisi_ptt_event *hev,
			      bool end)
{
	u64 collision = hev->aux_flags & PMUKIT_HISI_PTT_F_AT_LEAST ? PERF_AUX_FLAG_COLLISION : 0;

	if (hev->aux_flags & (PMUKIT_HISI_PTT_F_RESET | PMUKIT_HISI_PTT_F_FILTER_GONE))
		end = true;
	else if (pmukit_event_throttled(hev->pev.event) || pmukit_pmu_moving(&ptt->pp))
		end = false;
	return collision | (end ? PERF_AUX_FLAG_TRUNCATED : PERF_AUX_FLAG_PARTIAL);
}

/*
 * Reports a loss by a record without entries, before the entries that follow it. @end: nothing
 * follows. A loss that perf's buffer cannot take now is reported later.
 */
static void hisi_ptt_report_loss(struct hisi_ptt *ptt, struct hisi_ptt_event *hev, bool end)
{
	u64 aux_flags = hev->aux_flags ? hisi_ptt_aux_flags(ptt, hev, end) : 0;
	struct pmukit_sink sink;

	if (!(hev->flags | hev->aux_flags) || !hisi_ptt_open_sink(hev, &sink))
		return;
	if (!hisi_ptt_sink_records(&sink))
		hev->flags = 0;
	else if (hev->flags)
		hisi_ptt_deliver_record(ptt, hev, &sink, 0);
	hev->aux_flags = 0;
	pmukit_sink_close(&sink, aux_flags);
}

/* Returns how soon to go on. */
static u64 hisi_ptt_drain(struct hisi_ptt *ptt)
{
	struct hisi_ptt_event *hev = ptt->active;
	u64 waiting;
	u32 moved;

	ptt->delivering = true;
	raw_spin_lock(&ptt->lock);
	hisi_ptt_look(ptt);
	raw_spin_unlock(&ptt->lock);

	hisi_ptt_report_loss(ptt, hev, false);
	moved = hisi_ptt_move(ptt, hev, false);

	raw_spin_lock(&ptt->lock);
	if (ptt->active == hev)
		hisi_ptt_restart(ptt);
	waiting = hisi_ptt_ring_waiting(&ptt->ring);
	raw_spin_unlock(&ptt->lock);
	ptt->delivering = false;

	if (!waiting)
		return HISI_PTT_LOOK_NS;
	return moved ? HISI_PTT_CONTINUE_NS : HISI_PTT_RETRY_NS;
}

/*
 * Since Linux 6.16 perf throttles the whole group of an event, and writes PERF_RECORD_THROTTLE only
 * for the event that sampled too fast: nothing says that one with an AUX area stood still.
 */
static bool hisi_ptt_throttled_silently(const struct hisi_ptt_event *hev)
{
	return pmukit_event_throttled(hev->pev.event) && !hisi_ptt_event_samples(hev);
}

/* What passes until the event, or the trace, goes on is missing behind the last that was traced. */
static void hisi_ptt_note_pause(struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	if (ptt->state == HISI_PTT_PAUSED)
		hisi_ptt_flag(hev, PMUKIT_HISI_PTT_F_OVERRUN | PMUKIT_HISI_PTT_F_AT_LEAST);
	if (pmukit_pmu_moving(&ptt->pp) || hisi_ptt_throttled_silently(hev))
		hisi_ptt_lose_at_least(ptt, hev, 0, PMUKIT_HISI_PTT_F_TRUNCATED);
}

static void hisi_ptt_stop_and_drain(struct hisi_ptt *ptt)
{
	struct hisi_ptt_event *hev = ptt->active;
	u64 waiting;

	ptt->delivering = true;
	raw_spin_lock(&ptt->lock);
	hisi_ptt_look_last(ptt);
	raw_spin_unlock(&ptt->lock);

	/* An overrun that this look found lies before what is left. */
	hisi_ptt_report_loss(ptt, hev, false);
	hisi_ptt_move(ptt, hev, true);
	hisi_ptt_note_pause(ptt, hev);

	/* Where perf has stopped the event inside a sample nothing is left. */
	raw_spin_lock(&ptt->lock);
	waiting = hisi_ptt_ring_drop(&ptt->ring);
	raw_spin_unlock(&ptt->lock);
	if (waiting)
		hisi_ptt_lose(ptt, hev, waiting, PMUKIT_HISI_PTT_F_TRUNCATED);
	hisi_ptt_report_loss(ptt, hev, true);
	ptt->delivering = false;
}

/* Asking for it */

/* On any CPU, interrupts off. */
static void hisi_ptt_service(struct hisi_ptt *ptt, bool unasked)
{
	const char *message;
	u64 pause_ns;
	int cpu = -1;

	raw_spin_lock(&ptt->lock);
	message = ptt->message == ptt->last_logged ? NULL : ptt->message;
	if (message)
		ptt->last_logged = message;
	ptt->message = NULL;
	if (unasked)
		ptt->spurious = 0;
	if (!ptt->dead && ptt->active)
		cpu = ptt->cpu;
	raw_spin_unlock(&ptt->lock);

	if (message)
		pr_warn_ratelimited("%s: %s\n", ptt->pp.name, message);
	if (cpu < 0)
		return;
	if (cpu != smp_processor_id()) {
		/* -EBUSY: a kick is on its way, which will do. */
		smp_call_function_single_async(cpu, &ptt->kick);
		return;
	}

	pause_ns = hisi_ptt_drain(ptt);

	raw_spin_lock(&ptt->lock);
	if (ptt->state == HISI_PTT_ON || ptt->state == HISI_PTT_PAUSED)
		hisi_ptt_arm(ptt, pause_ns);
	raw_spin_unlock(&ptt->lock);
}

static void hisi_ptt_kicked(void *data)
{
	hisi_ptt_service(data, false);
}

/*
 * The interrupt gets another chance after a start. Not inside the start: under perf's locks the
 * lock of an interrupt may not be taken.
 */
static void hisi_ptt_irq_resume(struct hisi_ptt *ptt)
{
	bool resume;

	raw_spin_lock(&ptt->lock);
	resume = ptt->irq_again && !ptt->dead;
	ptt->irq_again = false;
	if (resume)
		WRITE_ONCE(ptt->irq_off, false);
	raw_spin_unlock(&ptt->lock);

	if (resume)
		enable_irq(ptt->irq);
}

static enum hrtimer_restart hisi_ptt_timer(struct hrtimer *timer)
{
	struct hisi_ptt *ptt = container_of(timer, struct hisi_ptt, timer);

	hisi_ptt_irq_resume(ptt);
	hisi_ptt_service(ptt, true);
	/* The service has started the timer again where it is needed. */
	return HRTIMER_NORESTART;
}

/*
 * A device that goes on interrupting for nothing would keep its CPU busy for ever, masked or not.
 * The timer does without the interrupt. In the handler, without a lock.
 */
static void hisi_ptt_irq_give_up(struct hisi_ptt *ptt)
{
	disable_irq_nosync(ptt->irq);

	raw_spin_lock(&ptt->lock);
	WRITE_ONCE(ptt->irq_off, true);
	hisi_ptt_warn(ptt, PMUKIT_STAT_REJECTED,
		      "interrupts without a cause, disabled until the next start");
	raw_spin_unlock(&ptt->lock);
}

/**
 * hisi_ptt_interrupt - the handler
 * @irq: unused
 * @data: the device
 *
 * What is reported while no trace runs is acknowledged and forgotten.
 *
 * Return: IRQ_NONE when no buffer is full.
 */
irqreturn_t hisi_ptt_interrupt(int irq, void *data)
{
	struct hisi_ptt *ptt = data;
	unsigned long irq_flags;
	bool enough = false;
	u32 status = 0;

	local_irq_save(irq_flags);
	raw_spin_lock(&ptt->lock);
	if (!ptt->dead)
		status = hisi_ptt_read(ptt, HISI_PTT_TRACE_INT_STAT);
	/* All ones is not our interrupt; the timer will find the device gone. */
	if (hisi_ptt_absent(status))
		status = 0;
	status &= HISI_PTT_TRACE_INT_FULL;
	if (status && ptt->state != HISI_PTT_ON)
		hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_STAT, status);
	if (status)
		ptt->spurious = 0;
	else
		enough = ++ptt->spurious > HISI_PTT_MAX_SPURIOUS && !ptt->irq_off;
	raw_spin_unlock(&ptt->lock);

	if (enough)
		hisi_ptt_irq_give_up(ptt);
	if (status)
		hisi_ptt_service(ptt, false);
	local_irq_restore(irq_flags);

	return status ? IRQ_HANDLED : IRQ_NONE;
}

/* perf stops the event inside its last sample: what the device wrote beyond it is lost. */
static void hisi_ptt_stop_inside(struct hisi_ptt *ptt)
{
	u64 waiting;

	raw_spin_lock(&ptt->lock);
	/* The last drain has done that already. */
	if (!ptt->halted)
		hisi_ptt_look_last(ptt);
	waiting = hisi_ptt_ring_drop(&ptt->ring);
	if (waiting)
		hisi_ptt_lose(ptt, ptt->active, waiting, PMUKIT_HISI_PTT_F_TRUNCATED);
	hisi_ptt_note_pause(ptt, ptt->active);
	raw_spin_unlock(&ptt->lock);
}

/**
 * hisi_ptt_drain_last - stop the trace and hand over what is left
 * @ptt: a device whose event is being stopped
 *
 * Context: the stop callback: event's CPU, interrupts off, no lock. When perf calls it from
 * inside a drain of ours, that drain's record was the last one and what is left is lost.
 */
void hisi_ptt_drain_last(struct hisi_ptt *ptt)
{
	if (!ptt->active || ptt->state == HISI_PTT_OFF)
		return;

	/* The filters of a device that is being removed are not kept up to date. */
	if (pmukit_pmu_gone(&ptt->pp))
		ptt->active->aux_flags |= PMUKIT_HISI_PTT_F_RESET;
	else if (!hisi_ptt_filter_available(ptt, &ptt->active->cfg))
		hisi_ptt_flag(ptt->active, PMUKIT_HISI_PTT_F_FILTER_GONE);

	if (ptt->delivering)
		hisi_ptt_stop_inside(ptt);
	else
		hisi_ptt_stop_and_drain(ptt);
}

/**
 * hisi_ptt_drain_none - say that nothing is traced from here on
 * @ptt: the device
 * @hev: an event that could not be started, for which perf has no errno
 *
 * An event with an AUX area ends with a record that says so; others say it in their next record.
 *
 * Context: the start callback: event's CPU, interrupts off, no lock.
 */
void hisi_ptt_drain_none(struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	hisi_ptt_lose_at_least(ptt, hev, 0, PMUKIT_HISI_PTT_F_RESET);
	if (pmukit_aux_of_event(hev->pev.event))
		hisi_ptt_report_loss(ptt, hev, true);
}

/**
 * hisi_ptt_drain_init - make timer and kick ready
 * @ptt: a new device
 */
void hisi_ptt_drain_init(struct hisi_ptt *ptt)
{
	hrtimer_setup(&ptt->timer, hisi_ptt_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	INIT_CSD(&ptt->kick, hisi_ptt_kicked, ptt);
}

/**
 * hisi_ptt_drain_shutdown - wait for everything that may still look at the device
 * @ptt: a dead device whose interrupt is freed
 *
 * Context: may sleep.
 */
void hisi_ptt_drain_shutdown(struct hisi_ptt *ptt)
{
	hrtimer_cancel(&ptt->timer);
	pmukit_kick_sync();
}
