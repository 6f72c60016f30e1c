// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: moving entries to perf.
 *
 * Who asks for it: the interrupt (a buffer is full), the timer, and the stop of the event. All of
 * them end up on the event's CPU with interrupts off, because perf's buffers have one writer:
 *
 *   interrupt ------------.      (other CPU: kick)    .--> hisi_ptt_drain()    copies
 *   timer -----------------+---> hisi_ptt_service() --+
 *   hisi_ptt_drain_last() -------------------------'   `--> hisi_ptt_flip()     publishes
 *
 * Copying: a section takes at most HISI_PTT_SECTION_BYTES; what is left has the timer continue a
 * moment later, so that other interrupts are served between the two. The device goes on writing
 * meanwhile: each piece is copied to where no reader sees it yet, then the device is asked
 * whether it has come round to the place it was copied from, and only then it is handed over.
 *
 * Zero-copy: full quarters of the AUX area are published as they are, in an interrupt that
 * touches the device twice or three times.
 *
 * Locking: ptt->lock while touching registers and ring; not while calling perf, which may call our
 * stop. ptt->record, ptt->delivering and what the event carries belong to the event's CPU with
 * interrupts off. Nobody changes ptt->active there between the two but perf, which may stop the
 * event from inside a sample that was its last one: a drain names its event once, and goes on only
 * while that one is active.
 */

#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "hisi_ptt.h"
#include "hisi_ptt_trace.h"

/* Pause between two sections of one drain */
#define HISI_PTT_CONTINUE_NS		(20 * NSEC_PER_USEC)

/* Looks in a row at which the device talked nonsense or had overrun us, before it is masked */
#define HISI_PTT_MAX_FUTILE		8

/* Interrupts without a cause between two looks, before the interrupt is disabled */
#define HISI_PTT_MAX_SPURIOUS		64

static u64 hisi_ptt_entries(const struct hisi_ptt *ptt, u64 bytes)
{
	return div_u64(bytes, ptt->ring.entry_bytes);
}

/* Looking at the device; on the event's CPU, under ptt->lock */

/* The event is named: perf may have stopped it since. */
static void hisi_ptt_lose(struct hisi_ptt *ptt, struct hisi_ptt_event *hev, u64 bytes, u64 flag)
{
	u64 entries = hisi_ptt_entries(ptt, bytes);

	hev->pev.lost += entries;
	hev->flags |= flag;
	pmukit_stat_add(&ptt->pp, PMUKIT_STAT_LOST, entries);
}

static void hisi_ptt_end_run(struct hisi_ptt *ptt, const char *complaint)
{
	ptt->state = HISI_PTT_ENDED;
	ptt->active->flags |= PMUKIT_HISI_PTT_F_RESET;
	hisi_ptt_complain(ptt, PMUKIT_STAT_RESETS, complaint);
}

/* The run is over, and nobody knows what of the ring is whole. */
static void hisi_ptt_drop(struct hisi_ptt *ptt)
{
	hisi_ptt_lose(ptt, ptt->active, hisi_ptt_ring_drop(&ptt->ring),
		      PMUKIT_HISI_PTT_F_OVERRUN);
}

/*
 * One that is gone writes nothing more. One that answers again has gone on meanwhile, and would
 * come round to what we hold: it is stopped at once.
 */
static void hisi_ptt_end_silent_run(struct hisi_ptt *ptt)
{
	hisi_ptt_end_run(ptt, "the device does not answer");
	if (ptt->halted)
		return;
	hisi_ptt_halt(ptt);
	if (!hisi_ptt_absent(hisi_ptt_read(ptt, HISI_PTT_TRACE_STS)))
		hisi_ptt_drop(ptt);
}

/* Asked when nothing has moved, or moved strangely, which may have that reason. */
static void hisi_ptt_check_enabled(struct hisi_ptt *ptt)
{
	if (!ptt->halted && !(hisi_ptt_read(ptt, HISI_PTT_TRACE_CTRL) & HISI_PTT_TRACE_CTRL_EN))
		hisi_ptt_end_run(ptt, "the device lost its configuration while tracing");
}

/* A device whose interrupts lead to nothing is looked at by the timer only. */
static void hisi_ptt_count_futile(struct hisi_ptt *ptt)
{
	if (++ptt->futile <= HISI_PTT_MAX_FUTILE || ptt->masked)
		return;
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_MASK, HISI_PTT_TRACE_INT_FULL);
	ptt->masked = true;
}

/* Acknowledge before the buffers are taken: one that fills meanwhile interrupts again. */
static enum hisi_ptt_verdict hisi_ptt_look_status(struct hisi_ptt *ptt, u32 *status)
{
	enum hisi_ptt_verdict verdict;

	*status = hisi_ptt_read(ptt, HISI_PTT_TRACE_INT_STAT);
	if (hisi_ptt_absent(*status)) {
		*status = 0;
		hisi_ptt_end_silent_run(ptt);
		return HISI_PTT_GOOD;
	}

	*status &= HISI_PTT_TRACE_INT_FULL;
	if (*status)
		hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_STAT, *status);

	verdict = hisi_ptt_ring_report(&ptt->ring, *status);
	if (verdict == HISI_PTT_GOOD) {
		ptt->futile = *status ? 0 : ptt->futile;
		return verdict;
	}

	pmukit_stat_inc(&ptt->pp, verdict == HISI_PTT_OVERRUN ? PMUKIT_STAT_OVERFLOWS :
							      PMUKIT_STAT_REJECTED);
	hisi_ptt_count_futile(ptt);
	return verdict;
}

/* Say once, not every time, that the write pointer is nonsense. */
static void hisi_ptt_locate(struct hisi_ptt *ptt, u32 wr_sts)
{
	if (hisi_ptt_ring_locate(&ptt->ring, wr_sts, ptt->stopped))
		return;
	if (wr_sts != ptt->last_wr_sts)
		pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_REJECTED);
	if (ptt->stopped)
		ptt->active->flags |= PMUKIT_HISI_PTT_F_TRUNCATED;
}

/*
 * Bring the ring up to date. Returns false when entries were lost: the ring then stands where it
 * can go on, but what it holds does not follow what was taken before.
 */
static bool hisi_ptt_look(struct hisi_ptt *ptt)
{
	enum hisi_ptt_verdict verdict;
	u32 status, wr_sts = 0;

	lockdep_assert_held(&ptt->lock);

	if (ptt->dead || ptt->state != HISI_PTT_ON)
		return true;

	verdict = hisi_ptt_look_status(ptt, &status);
	/* A device that was reset meanwhile looks like that as well. */
	if (verdict == HISI_PTT_DISORDER)
		hisi_ptt_check_enabled(ptt);
	if (ptt->state == HISI_PTT_ON) {
		wr_sts = hisi_ptt_read(ptt, HISI_PTT_TRACE_WR_STS);
		if (hisi_ptt_absent(wr_sts))
			hisi_ptt_end_silent_run(ptt);
	}
	if (ptt->state != HISI_PTT_ON) {
		if (verdict != HISI_PTT_GOOD)
			hisi_ptt_drop(ptt);
		return verdict == HISI_PTT_GOOD;
	}

	if (verdict != HISI_PTT_GOOD)
		hisi_ptt_lose(ptt, ptt->active, hisi_ptt_ring_resync(&ptt->ring, verdict, wr_sts),
			      PMUKIT_HISI_PTT_F_OVERRUN);
	else
		hisi_ptt_locate(ptt, wr_sts);
	if (!status && wr_sts == ptt->last_wr_sts)
		hisi_ptt_check_enabled(ptt);
	ptt->last_wr_sts = wr_sts;
	return verdict == HISI_PTT_GOOD;
}

/* Has the device come round to the place we have just copied from? */
static bool hisi_ptt_still_intact(struct hisi_ptt *ptt)
{
	u32 status = 0;

	if (!ptt->dead && !ptt->stopped && ptt->state == HISI_PTT_ON)
		status = hisi_ptt_read(ptt, HISI_PTT_TRACE_INT_STAT);
	return hisi_ptt_ring_intact(&ptt->ring, status);
}

/* What passes until the event goes on elsewhere is not traced: behind the last that was. */
static void hisi_ptt_note_move(const struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	if (pmukit_pmu_moving(&ptt->pp))
		hev->flags |= PMUKIT_HISI_PTT_F_TRUNCATED;
}

/* Copying; on the event's CPU, interrupts off, no lock */

static bool hisi_ptt_sink_samples(const struct hisi_ptt *ptt, const struct pmukit_sink *sink)
{
	return !sink->ring && ptt->path != HISI_PTT_COPY && is_sampling_event(sink->pev->event);
}

/* What needs the entries in a record of their own */
static bool hisi_ptt_sink_records(const struct hisi_ptt *ptt, const struct pmukit_sink *sink)
{
	return hisi_ptt_sink_samples(ptt, sink) || trace_hisi_ptt_record_enabled();
}

static u32 hisi_ptt_budget(const struct hisi_ptt *ptt, const struct pmukit_sink *sink, bool last)
{
	u32 budget = HISI_PTT_SECTION_BYTES;

	if (!last && hisi_ptt_sink_records(ptt, sink))
		budget = HISI_PTT_SAMPLE_SECTION_BYTES;
	if (sink->ring)
		return min_t(u64, (u64)sink->room_words * sizeof(u64), budget);
	/* The AUX area is being unmapped. */
	if (ptt->path == HISI_PTT_COPY)
		return 0;
	/* Nothing is copied. */
	if (!hisi_ptt_sink_records(ptt, sink))
		return HISI_PTT_NR_BUFFERS * ptt->ring.buffer_bytes;
	return budget;
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
 * The trace event comes last: before, a sample's sink holds perf's recursion context, and perf as
 * the reader of the trace event would get nothing.
 */
static bool hisi_ptt_deliver_record(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
				    struct pmukit_sink *sink, u32 bytes)
{
	u32 nr_words = HISI_PTT_HEADER_WORDS + bytes / sizeof(u64);
	struct hisi_ptt_header header = {
		.time_ns = hev->pev.event->clock(),
		.flags = hev->flags,
		.sequence = hev->pev.sequence,
		.lost = hev->pev.lost,
		.entries = hisi_ptt_entries(ptt, bytes),
		.entry_bytes = ptt->ring.entry_bytes,
	};

	hisi_ptt_put_header(ptt, &header);
	ptt->record.raw.tag = PMUKIT_RAW_TAG_HISI_PTT;
	/* What a stop inside this sample has to say is for the next run of the event. */
	hev->flags = 0;
	if (hisi_ptt_sink_samples(ptt, sink) &&
	    !pmukit_sink_sample(sink, &ptt->record.raw, nr_words, header.entries)) {
		hev->flags |= header.flags;
		return false;
	}

	hev->pev.sequence++;
	ptt->told |= header.flags;
	pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_RECORDS);
	trace_hisi_ptt_record(ptt->pp.name, &header, ptt->record.words, nr_words);
	return true;
}

/* @records: there is a record of them; whoever came to listen since waits for the next one. */
static void hisi_ptt_deliver(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
			     struct pmukit_sink *sink, u32 bytes, bool records)
{
	u32 entries = hisi_ptt_entries(ptt, bytes);

	if (!hisi_ptt_sink_samples(ptt, sink))
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
	bool records = hisi_ptt_sink_records(ptt, sink);
	const void *from;
	bool intact;
	u32 bytes;

	if (records)
		limit_bytes = min_t(u32, limit_bytes, PMUKIT_HISI_PTT_DATA_BYTES);

	raw_spin_lock(&ptt->lock);
	bytes = hisi_ptt_ring_slice(&ptt->ring, limit_bytes);
	from = ptt->buffers->cpu[ptt->ring.index] + ptt->ring.offset_bytes;
	raw_spin_unlock(&ptt->lock);
	if (!bytes)
		return 0;

	pmukit_sink_stage(sink, from, bytes / sizeof(u64));
	if (records)
		memcpy(&ptt->record.words[HISI_PTT_HEADER_WORDS], from, bytes);
	/* The device is asked once all of it was read, else its answer says nothing of the copy. */
	rmb();

	raw_spin_lock(&ptt->lock);
	intact = hisi_ptt_still_intact(ptt);
	if (intact)
		hisi_ptt_ring_take(&ptt->ring, bytes);
	raw_spin_unlock(&ptt->lock);
	/* The next look finds the overrun and counts it. */
	if (!intact)
		return 0;

	hisi_ptt_deliver(ptt, hev, sink, bytes, records);
	return bytes;
}

static void hisi_ptt_account_section(struct hisi_ptt *ptt, u32 bytes)
{
	atomic64_add(bytes, &ptt->copied_bytes);
	if (bytes > atomic64_read(&ptt->section_max_bytes))
		atomic64_set(&ptt->section_max_bytes, bytes);
}

static u32 hisi_ptt_move(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
			 struct pmukit_sink *sink, bool last)
{
	u32 budget = hisi_ptt_budget(ptt, sink, last);
	u32 moved = 0;
	u32 piece;

	while (moved < budget && ptt->active == hev) {
		piece = hisi_ptt_move_piece(ptt, hev, sink, budget - moved);
		if (!piece)
			break;
		moved += piece;
	}

	if (sink->ring || hisi_ptt_sink_records(ptt, sink))
		hisi_ptt_account_section(ptt, moved);
	return moved;
}

/*
 * PERF_AUX_FLAG_TRUNCATED makes perf disable the event, so it is kept for the end of a run; a gap
 * in a stream that goes on is PERF_AUX_FLAG_PARTIAL. One that is throttled goes on with the next
 * tick, one that moves on its next CPU.
 */
static u64 hisi_ptt_aux_flags(const struct hisi_ptt *ptt, const struct hisi_ptt_event *hev,
			      bool last)
{
	u64 flags = ptt->told | hev->flags;

	if (flags & (PMUKIT_HISI_PTT_F_RESET | PMUKIT_HISI_PTT_F_FILTER_GONE))
		return PERF_AUX_FLAG_TRUNCATED;
	if (last && pmukit_pmu_gone(&ptt->pp))
		return PERF_AUX_FLAG_TRUNCATED;
	if (last && flags && !pmukit_event_throttled(hev->pev.event) &&
	    !pmukit_pmu_moving(&ptt->pp))
		return PERF_AUX_FLAG_TRUNCATED;
	return flags ? PERF_AUX_FLAG_PARTIAL : 0;
}

/* Flags that no entries came after still have to reach the reader. */
static void hisi_ptt_close_sink(struct hisi_ptt *ptt, struct hisi_ptt_event *hev,
				struct pmukit_sink *sink, bool last)
{
	u64 aux_flags;

	if (hev->flags && ptt->active == hev && hisi_ptt_sink_records(ptt, sink))
		hisi_ptt_deliver_record(ptt, hev, sink, 0);

	aux_flags = hisi_ptt_aux_flags(ptt, hev, last);
	if (sink->ring)
		hev->flags = 0;
	/* The reader of an area that has no room is told with the next data. */
	if (sink->ring || ptt->path != HISI_PTT_COPY)
		ptt->told = 0;
	pmukit_sink_close(sink, aux_flags);
}

/*
 * Returns whether to go on soon. When entries wait but none could be moved the reader is behind:
 * looking again before long would not help.
 */
static bool hisi_ptt_drain(struct hisi_ptt *ptt, bool last)
{
	struct hisi_ptt_event *hev = ptt->active;
	struct pmukit_sink sink;
	u32 moved = 0;
	u64 waiting;
	bool open;

	ptt->delivering = true;
	open = pmukit_sink_open(&sink, &hev->pev);

	raw_spin_lock(&ptt->lock);
	hisi_ptt_look(ptt);
	raw_spin_unlock(&ptt->lock);

	if (open)
		moved = hisi_ptt_move(ptt, hev, &sink, last);
	if (last && ptt->active == hev)
		hisi_ptt_note_move(ptt, hev);

	raw_spin_lock(&ptt->lock);
	waiting = hisi_ptt_ring_waiting(&ptt->ring);
	/* A stop inside a sample has counted it. */
	if (last && waiting && ptt->active == hev)
		hisi_ptt_lose(ptt, hev, waiting, PMUKIT_HISI_PTT_F_TRUNCATED);
	if (moved)
		ptt->pause_ns = HISI_PTT_LOOK_MIN_NS;
	else
		ptt->pause_ns = min_t(u64, ptt->pause_ns * 2, HISI_PTT_LOOK_MAX_NS);
	raw_spin_unlock(&ptt->lock);

	if (open)
		hisi_ptt_close_sink(ptt, hev, &sink, last);
	ptt->delivering = false;
	return moved && waiting;
}

/* Zero-copy; on the event's CPU, interrupts off, no lock */

/*
 * perf's transaction on what the device writes into, for this section only: see pmukit_aux_begin().
 * perf may have freed the area, and another may be in its place.
 */
static bool hisi_ptt_open_aux(struct hisi_ptt *ptt, struct perf_output_handle *handle)
{
	struct pmukit_aux_ring *ring = pmukit_aux_begin(handle, ptt->active->pev.event);

	if (!ring)
		return false;
	if (READ_ONCE(ptt->aux) == container_of(ring, struct hisi_ptt_aux, ring))
		return true;
	perf_aux_output_end(handle, 0);
	return false;
}

static void hisi_ptt_publish(struct hisi_ptt *ptt, struct perf_output_handle *handle, u64 bytes,
			     u64 aux_flags)
{
	u64 entries = hisi_ptt_entries(ptt, bytes);

	local64_add(entries, &ptt->active->pev.event->count);
	pmukit_stat_add(&ptt->pp, PMUKIT_STAT_ENTRIES, entries);

	if (bytes)
		aux_flags |= PMUKIT_HISI_PTT_AUX_ZERO_COPY;
	if (aux_flags)
		perf_aux_output_flag(handle, aux_flags);
	/* What the device wrote before the head announcing it; pairs with the reader's barrier. */
	smp_wmb();
	perf_aux_output_end(handle, bytes);
}

/*
 * What may still be published of a stopped device's quarters. Nothing when it overran one, for a
 * quarter cannot be left out; nothing beyond the room the reader left, where its unread data lie.
 */
static u64 hisi_ptt_zero_copy_rest(struct hisi_ptt *ptt, u64 room, bool overrun)
{
	u64 waiting;

	lockdep_assert_held(&ptt->lock);

	if (!overrun)
		overrun = !hisi_ptt_look(ptt);
	waiting = hisi_ptt_ring_waiting(&ptt->ring);
	if (overrun) {
		hisi_ptt_lose(ptt, ptt->active, waiting, PMUKIT_HISI_PTT_F_OVERRUN);
		return 0;
	}

	/* A device that did not stop may still be writing the quarter it is in. */
	if (!ptt->stopped) {
		hisi_ptt_lose(ptt, ptt->active, ptt->ring.written_bytes,
			      PMUKIT_HISI_PTT_F_TRUNCATED);
		waiting -= ptt->ring.written_bytes;
	}
	room &= ~(u64)(ptt->ring.entry_bytes - 1);
	if (waiting > room)
		hisi_ptt_lose(ptt, ptt->active, waiting - room, PMUKIT_HISI_PTT_F_TRUNCATED);
	return min(waiting, room);
}

/*
 * The end of a zero-copy run: @aux_flags say why, when it is not the stop of the event. One that the
 * device did not end, and whose area is still there, is followed by another: see hisi_ptt_go_on().
 */
static void hisi_ptt_finish_zero_copy(struct hisi_ptt *ptt, bool overrun, u64 aux_flags)
{
	struct perf_output_handle handle;
	bool open = hisi_ptt_open_aux(ptt, &handle);
	u64 bytes;

	raw_spin_lock(&ptt->lock);
	if (!ptt->dead)
		hisi_ptt_halt(ptt);
	/* perf reports one byte less than there is. */
	bytes = hisi_ptt_zero_copy_rest(ptt, open ? (u64)handle.size + 1 : 0, overrun);
	ptt->state = ptt->state == HISI_PTT_ON && ptt->aux ? HISI_PTT_FULL : HISI_PTT_ENDED;
	raw_spin_unlock(&ptt->lock);

	/* Without perf's transaction the flags wait for the next run of the event. */
	if (!open)
		return;
	hisi_ptt_publish(ptt, &handle, bytes,
			 aux_flags | hisi_ptt_aux_flags(ptt, ptt->active, true));
	ptt->active->flags = 0;
}

/*
 * Publish the quarters that are full. The device is in the next one already; it may go on if the
 * one after that is free as well. Returns false when it may not: it has overwritten what the reader
 * had not taken, then nothing was published, or it would, or the area is no longer there.
 */
static bool hisi_ptt_publish_full(struct hisi_ptt *ptt, u32 nr_full)
{
	u32 i, quarter_bytes = ptt->ring.buffer_bytes;
	u64 bytes = nr_full * (u64)quarter_bytes;
	struct perf_output_handle handle;
	bool goes_on;

	if (!hisi_ptt_open_aux(ptt, &handle))
		return false;
	if (!hisi_ptt_aux_kept(handle.size, quarter_bytes, nr_full)) {
		pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_OVERFLOWS);
		perf_aux_output_end(&handle, 0);
		return false;
	}
	goes_on = hisi_ptt_aux_goes_on(handle.size - bytes, quarter_bytes);
	hisi_ptt_publish(ptt, &handle, bytes, 0);

	raw_spin_lock(&ptt->lock);
	for (i = 0; i < nr_full; i++)
		hisi_ptt_ring_take(&ptt->ring, quarter_bytes);
	raw_spin_unlock(&ptt->lock);
	return goes_on;
}

static void hisi_ptt_flip(struct hisi_ptt *ptt, bool unasked)
{
	enum hisi_ptt_verdict verdict;
	u32 nr_full, status;
	bool runs;

	raw_spin_lock(&ptt->lock);
	verdict = hisi_ptt_look_status(ptt, &status);
	nr_full = hisi_ptt_ring_nr_full(&ptt->ring);
	if (unasked && !status && ptt->state == HISI_PTT_ON)
		hisi_ptt_check_enabled(ptt);
	runs = ptt->state == HISI_PTT_ON && ptt->aux;
	raw_spin_unlock(&ptt->lock);

	if (verdict != HISI_PTT_GOOD || !runs)
		hisi_ptt_finish_zero_copy(ptt, verdict != HISI_PTT_GOOD, PERF_AUX_FLAG_TRUNCATED);
	else if (nr_full && !hisi_ptt_publish_full(ptt, nr_full))
		hisi_ptt_finish_zero_copy(ptt, false, PERF_AUX_FLAG_TRUNCATED);
}

static bool hisi_ptt_has_room(struct hisi_ptt *ptt)
{
	struct perf_output_handle handle;
	bool room;

	if (!hisi_ptt_open_aux(ptt, &handle))
		return false;
	room = hisi_ptt_aux_goes_on(handle.size, ptt->ring.buffer_bytes);
	perf_aux_output_end(&handle, 0);
	return room;
}

static void hisi_ptt_look_for_room_again(struct hisi_ptt *ptt, u64 ns)
{
	raw_spin_lock(&ptt->lock);
	if (ptt->aux)
		hisi_ptt_arm(ptt, ns);
	raw_spin_unlock(&ptt->lock);
}

/* The event is still started, and its last run was the zero-copy one that ended. */
static void hisi_ptt_stay_full(struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	raw_spin_lock(&ptt->lock);
	WRITE_ONCE(ptt->path, HISI_PTT_ZERO_COPY);
	ptt->active = hev;
	ptt->halted = true;
	ptt->state = HISI_PTT_FULL;
	raw_spin_unlock(&ptt->lock);
}

/*
 * The next run, once the reader has caught up. A kernel that disables an event whose data were cut
 * has stopped it before we come here, and the reader enables it. Linux 6.12, and 6.1 on CPU 0, note
 * that it is to be disabled and do not do it; enabling one that is enabled does nothing. So a device
 * that will not start now is asked again. What was noted would end the event when it next leaves its
 * CPU for a moment, as when a task comes there that has a pinned event.
 */
static void hisi_ptt_go_on(struct hisi_ptt *ptt)
{
	struct hisi_ptt_event *hev = ptt->active;

	if (!hisi_ptt_has_room(ptt)) {
		hisi_ptt_look_for_room_again(ptt, HISI_PTT_LOOK_MAX_NS);
		return;
	}
	hev->pev.event->pending_disable = 0;
	if (hisi_ptt_begin(ptt, hev)) {
		hisi_ptt_stay_full(ptt, hev);
		hisi_ptt_look_for_room_again(ptt, HISI_PTT_WATCH_NS);
	}
}

/* Asking for it */

/* On the event's CPU, interrupts off. Returns whether to go on soon. */
static bool hisi_ptt_serve(struct hisi_ptt *ptt, bool unasked)
{
	bool unheard;

	if (ptt->path != HISI_PTT_ZERO_COPY)
		return hisi_ptt_drain(ptt, false);

	hisi_ptt_flip(ptt, unasked);
	/* The interrupt may be given up on another CPU. */
	unheard = ptt->masked || READ_ONCE(ptt->irq_off);
	ptt->pause_ns = unheard ? HISI_PTT_LOOK_MIN_NS : HISI_PTT_WATCH_NS;
	if (ptt->state == HISI_PTT_FULL)
		ptt->pause_ns = HISI_PTT_LOOK_MAX_NS;
	return false;
}

static bool hisi_ptt_needs_service(const struct hisi_ptt *ptt)
{
	return ptt->state == HISI_PTT_ON || ptt->state == HISI_PTT_FULL;
}

/* On any CPU, interrupts off. */
static void hisi_ptt_service(struct hisi_ptt *ptt, bool unasked)
{
	const char *complaint;
	int cpu = -1;
	bool more;

	raw_spin_lock(&ptt->lock);
	complaint = ptt->complaint == ptt->said ? NULL : ptt->complaint;
	if (complaint)
		ptt->said = complaint;
	ptt->complaint = NULL;
	if (unasked)
		ptt->spurious = 0;
	if (!ptt->dead && hisi_ptt_needs_service(ptt))
		cpu = ptt->cpu;
	raw_spin_unlock(&ptt->lock);

	if (complaint)
		pr_warn_ratelimited("%s: %s\n", ptt->pp.name, complaint);
	if (cpu < 0)
		return;
	if (cpu != smp_processor_id()) {
		/* -EBUSY: a kick is on its way, which will do. */
		smp_call_function_single_async(cpu, &ptt->kick);
		return;
	}

	if (ptt->state == HISI_PTT_FULL) {
		hisi_ptt_go_on(ptt);
		return;
	}
	more = hisi_ptt_serve(ptt, unasked);

	raw_spin_lock(&ptt->lock);
	if (hisi_ptt_needs_service(ptt))
		hisi_ptt_arm(ptt, more ? HISI_PTT_CONTINUE_NS : ptt->pause_ns);
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
	hisi_ptt_complain(ptt, PMUKIT_STAT_REJECTED,
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

static void hisi_ptt_halt_and_drain(struct hisi_ptt *ptt)
{
	raw_spin_lock(&ptt->lock);
	if (!ptt->dead)
		hisi_ptt_halt(ptt);
	raw_spin_unlock(&ptt->lock);

	hisi_ptt_drain(ptt, true);
}

/* perf stops the event inside its last sample: what the device wrote beyond it is lost. */
static void hisi_ptt_stop_inside(struct hisi_ptt *ptt)
{
	u64 waiting;

	raw_spin_lock(&ptt->lock);
	/* The last drain has done that already. */
	if (!ptt->dead && !ptt->halted) {
		hisi_ptt_halt(ptt);
		hisi_ptt_look(ptt);
	}
	waiting = hisi_ptt_ring_waiting(&ptt->ring);
	if (waiting)
		hisi_ptt_lose(ptt, ptt->active, waiting, PMUKIT_HISI_PTT_F_TRUNCATED);
	raw_spin_unlock(&ptt->lock);
}

/**
 * hisi_ptt_drain_last - stop the trace and hand over what is left, as far as one section allows
 * @ptt: a device whose event is being stopped
 *
 * Context: the stop callback: event's CPU, interrupts off, no lock. When perf calls it from
 * inside a drain of ours, that drain's record was the last one and what is left is lost.
 */
void hisi_ptt_drain_last(struct hisi_ptt *ptt)
{
	if (!ptt->active || ptt->state == HISI_PTT_OFF)
		return;

	/* Where the device itself leaves nobody looks after filters any more. */
	if (!pmukit_pmu_gone(&ptt->pp) && !hisi_ptt_filter_available(ptt, &ptt->active->cfg))
		ptt->active->flags |= PMUKIT_HISI_PTT_F_FILTER_GONE;

	if (ptt->delivering) {
		hisi_ptt_stop_inside(ptt);
	} else if (ptt->path != HISI_PTT_ZERO_COPY) {
		hisi_ptt_halt_and_drain(ptt);
	} else if (ptt->state == HISI_PTT_ON) {
		hisi_ptt_note_move(ptt, ptt->active);
		hisi_ptt_finish_zero_copy(ptt, false, 0);
	}
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
