// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: copying entries to perf.
 *
 * The interrupt (a buffer is full), the timer and the event's stop callback drain the device. All
 * of them do so on the event's CPU with interrupts off, because perf's buffers have one writer:
 *
 *   interrupt ---------.
 *   timer -------------+---> hisi_ptt_service() ---> hisi_ptt_drain()
 *   kick (other CPU) --'
 *   hisi_ptt_drain_last() ---> hisi_ptt_stop_and_drain()
 *
 * On a CPU other than the event's, hisi_ptt_service() only sends the kick: a call of the same
 * function on the event's CPU.
 *
 * A section is the data that one drain copies with interrupts off, at most HISI_PTT_SECTION_BYTES.
 * The timer copies the rest a moment later, so that other interrupts are served in between. While
 * the device runs, only full buffers are read. The device keeps writing meanwhile. So the driver
 * copies each piece to memory that readers do not see yet, then reads INT_STAT, and delivers the
 * piece only if the device cannot have overwritten the source of the copy. In the last drain of a
 * run the device is idle; that drain copies all that is left.
 *
 * When all four buffers are full, the device may already be overwriting the oldest data. So the
 * driver stops the device; the data then in the buffers is intact. The overwritten data is lost; no
 * register shows how much, so the driver counts a lower bound. The trace restarts once the buffers
 * are drained.
 *
 * The driver reports a loss in the AUX area by a PERF_RECORD_AUX without data at the position of
 * the missing entries. The record has PERF_AUX_FLAG_PARTIAL if the run continues. If the run ends,
 * the record has PERF_AUX_FLAG_TRUNCATED, which makes perf disable the event.
 * PERF_AUX_FLAG_COLLISION means in addition that the size of the loss is unknown. The number of
 * lost entries is added to the event's lost_samples, which PERF_FORMAT_LOST reads and which
 * recorders store at the end. The driver's own records, which samples carry as raw data, contain
 * the event's count of lost entries.
 *
 * Locking: the driver holds ptt->lock while it accesses registers and the ring, but not while it
 * calls perf, which may call the driver's stop callback. ptt->record, ptt->delivering and the
 * event's flags and counts are used only on the event's CPU with interrupts off. During a drain
 * ptt->active changes only if perf stops the event while the driver delivers a sample; that sample
 * is then the last of the run. So a drain reads ptt->active once and continues only while
 * ptt->active is unchanged.
 */

#include <linux/interrupt.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "hisi_ptt.h"
#include "hisi_ptt_trace.h"

/* Delay until the timer drains the next section */
#define HISI_PTT_CONTINUE_NS		(20 * NSEC_PER_USEC)

/*
 * Maximum number of spurious interrupts between two polls by the timer; then the interrupt is
 * disabled
 */
#define HISI_PTT_MAX_SPURIOUS		64

static u64 hisi_ptt_entries(const struct hisi_ptt *ptt, u64 bytes)
{
	return div_u64(bytes, ptt->ring.entry_bytes);
}

/* Losses; on the event's CPU. Callers pass the event, because perf may have cleared ptt->active */

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

/* Called if more than @bytes may be lost: the event's lost count becomes a lower bound. */
static void hisi_ptt_lose_at_least(struct hisi_ptt *ptt, struct hisi_ptt_event *hev, u64 bytes,
				   u64 flags)
{
	hisi_ptt_lose(ptt, hev, bytes, flags | PMUKIT_HISI_PTT_F_AT_LEAST);
	hev->inexact = true;
	pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_OVERFLOWS);
}

/* Checking the device; on the event's CPU, under ptt->lock */

/* Ends the run and discards the data still in the buffers. */
static void hisi_ptt_end_run(struct hisi_ptt *ptt, enum pmukit_stat stat, const char *message)
{
	ptt->state = HISI_PTT_ENDED;
	hisi_ptt_lose_at_least(ptt, ptt->active, hisi_ptt_ring_drop(&ptt->ring),
			       PMUKIT_HISI_PTT_F_RESET);
	hisi_ptt_warn(ptt, stat, message);
}

/*
 * Called if the device does not respond. The driver halts the device nevertheless: it may still be
 * writing to the buffers, and may respond again later.
 */
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

/*
 * Checks which buffers are full. Acknowledges their bits before the buffers are read, so that a
 * buffer that becomes full during the drain raises another interrupt.
 */
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

/*
 * Halts the device first, because the fill level of the last buffer is known only while the device
 * is idle.
 */
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

/* Restarts the trace after an overrun, once the buffers are drained. */
static void hisi_ptt_restart(struct hisi_ptt *ptt)
{
	struct hisi_ptt_event *hev = ptt->active;

	if (ptt->dead || ptt->state != HISI_PTT_PAUSED || ptt->resetting ||
	    hisi_ptt_ring_waiting(&ptt->ring))
		return;
	/*
	 * The packets since the stop are lost. The flags set below make the next drain report this
	 * before it delivers entries.
	 */
	if (hisi_ptt_launch(ptt, &hev->cfg)) {
		ptt->state = HISI_PTT_ENDED;
		hisi_ptt_lose_at_least(ptt, hev, 0, PMUKIT_HISI_PTT_F_RESET);
		return;
	}
	ptt->restarts++;
	hisi_ptt_flag(hev, PMUKIT_HISI_PTT_F_OVERRUN | PMUKIT_HISI_PTT_F_AT_LEAST);
}

/* Copying; on the event's CPU, interrupts off, no lock */

/* Returns false if the event's AUX area is full or being unmapped; nothing is then delivered. */
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

/* Returns true if the entries are copied into records: for samples, or for the trace event. */
static bool hisi_ptt_sink_records(const struct pmukit_sink *sink)
{
	return hisi_ptt_sink_samples(sink) || trace_hisi_ptt_record_enabled();
}

static u32 hisi_ptt_budget(const struct hisi_ptt *ptt, const struct pmukit_sink *sink, bool last)
{
	u32 budget = HISI_PTT_SECTION_BYTES;

	/* No limit in the last drain of a run, or if entries are only counted, not copied. */
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

/*
 * Returns false if the sample was dropped. The event's count includes the entries of a dropped
 * sample, so the function subtracts them.
 */
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
 * Emits the trace event last: until the sample is written, its sink holds perf's recursion context,
 * and perf would not record the trace event.
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
	/*
	 * Clear the flags before the delivery, not after it: a stop during the delivery may set
	 * flags, and they belong to the event's next run.
	 */
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

/*
 * @records: true if the piece was also copied to ptt->record. If the trace event was enabled after
 * the copy, the next piece is the first for which the trace event fires.
 */
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

/* Copies one contiguous piece. Returns its length, 0 if none was delivered. */
static u32 hisi_ptt_move_piece(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
			       struct pmukit_sink *sink, u32 limit_bytes)
{
	bool records = hisi_ptt_sink_records(sink);
	const void *from;
	bool idle, taken;
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
	/* Complete the copy before reading INT_STAT, which shows if the source was intact. */
	rmb();

	raw_spin_lock(&ptt->lock);
	idle = ptt->stopped;
	if (!idle)
		hisi_ptt_look(ptt);
	taken = (idle || ptt->state == HISI_PTT_ON) && hisi_ptt_ring_take(&ptt->ring, bytes, idle);
	raw_spin_unlock(&ptt->lock);
	if (!taken)
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
 * A throttled event continues at the next tick. An event that moves to another CPU continues there.
 * In both cases the stream does not end.
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
 * Reports a loss by a record without entries, before the next entries are delivered. @end: no more
 * entries are delivered. If perf's buffer is full, the loss is reported later.
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

/* Returns the delay until the timer continues, in ns. */
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
 * for the group leader. So an event that writes no samples (it counts, or has an AUX area) can be
 * paused because of another event of its group, and no record of perf shows the pause unless the
 * event is the leader.
 */
static bool hisi_ptt_throttled_silently(const struct hisi_ptt_event *hev)
{
	return pmukit_event_throttled(hev->pev.event) && !hisi_ptt_event_samples(hev);
}

/*
 * Sets flags that report that packets are lost between the last traced entry and the moment when
 * the event or the trace continues.
 */
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

	/* If hisi_ptt_look_last() found an overrun, report it before the remaining entries. */
	hisi_ptt_report_loss(ptt, hev, false);
	hisi_ptt_move(ptt, hev, true);
	hisi_ptt_note_pause(ptt, hev);

	/* If perf stopped the event while a sample was delivered, the ring is already empty. */
	raw_spin_lock(&ptt->lock);
	waiting = hisi_ptt_ring_drop(&ptt->ring);
	raw_spin_unlock(&ptt->lock);
	if (waiting)
		hisi_ptt_lose(ptt, hev, waiting, PMUKIT_HISI_PTT_F_TRUNCATED);
	hisi_ptt_report_loss(ptt, hev, true);
	ptt->delivering = false;
}

/* Triggering a drain */

/* Called on any CPU with interrupts off. @unasked: the timer is the caller. */
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
		/* -EBUSY: a kick is already pending, which is enough. */
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
 * Enables the interrupt again after a start. Runs in the timer, not in the start callback:
 * enable_irq() takes the lock of the irq_desc, which is not allowed under perf's locks.
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
	/* hisi_ptt_service() has started the timer again if needed. */
	return HRTIMER_NORESTART;
}

/*
 * Disables the interrupt: a device may send spurious interrupts without end, even if INT_MASK masks
 * them; they would occupy the CPU. From then on only the timer drains the device. Called in the
 * handler, without a lock.
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
 * hisi_ptt_interrupt - interrupt handler
 * @irq: unused
 * @data: the device
 *
 * While no trace runs, full buffers are acknowledged and ignored.
 *
 * Return: IRQ_NONE if no buffer is full.
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
	/* All ones: the device is gone and raised no interrupt. The timer reports the failure. */
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

/* perf stops the event while a sample is delivered: the entries after that sample are lost. */
static void hisi_ptt_stop_inside(struct hisi_ptt *ptt)
{
	u64 waiting;

	raw_spin_lock(&ptt->lock);
	/*
	 * If the device is already halted (after an overrun, or by the last drain of a run), nothing
	 * is left to look at.
	 */
	if (!ptt->halted)
		hisi_ptt_look_last(ptt);
	waiting = hisi_ptt_ring_drop(&ptt->ring);
	if (waiting)
		hisi_ptt_lose(ptt, ptt->active, waiting, PMUKIT_HISI_PTT_F_TRUNCATED);
	hisi_ptt_note_pause(ptt, ptt->active);
	raw_spin_unlock(&ptt->lock);
}

/**
 * hisi_ptt_drain_last - stop the trace and deliver the remaining entries
 * @ptt: a device whose event is being stopped
 *
 * Context: the stop callback: event's CPU, interrupts off, no lock. If perf calls the stop callback
 * while a drain delivers a record, that record is the last one, and the remaining entries are lost.
 */
void hisi_ptt_drain_last(struct hisi_ptt *ptt)
{
	if (!ptt->active || ptt->state == HISI_PTT_OFF)
		return;

	/*
	 * When a device is removed, its filters are removed before its events. The reason to report
	 * is then the removal of the device, not the missing filter.
	 */
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
 * hisi_ptt_report_failed_start - report that an event could not be started
 * @ptt: the device
 * @hev: the event; perf's start callback cannot return an error
 *
 * If the event has an AUX area, a PERF_RECORD_AUX reports the failure and ends the event. Otherwise
 * the event's next record reports the failure.
 *
 * Context: the start callback: event's CPU, interrupts off, no lock.
 */
void hisi_ptt_report_failed_start(struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	hisi_ptt_lose_at_least(ptt, hev, 0, PMUKIT_HISI_PTT_F_RESET);
	if (pmukit_aux_of_event(hev->pev.event))
		hisi_ptt_report_loss(ptt, hev, true);
}

/**
 * hisi_ptt_drain_init - initialize timer and kick
 * @ptt: a new device
 */
void hisi_ptt_drain_init(struct hisi_ptt *ptt)
{
	hrtimer_setup(&ptt->timer, hisi_ptt_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	INIT_CSD(&ptt->kick, hisi_ptt_kicked, ptt);
}

/**
 * hisi_ptt_drain_shutdown - cancel the timer and wait for kicks
 * @ptt: a dead device whose interrupt is freed
 *
 * Context: may sleep.
 */
void hisi_ptt_drain_shutdown(struct hisi_ptt *ptt)
{
	hrtimer_cancel(&ptt->timer);
	pmukit_kick_sync();
}
