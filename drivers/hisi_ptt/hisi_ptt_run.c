// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: starting and stopping the trace.
 *
 *   begin: choose the path, programme the buffers, reset the write pointer, enable
 *   halt:  disable, mask, wait until the device is idle
 *
 * The path is chosen anew at each start, by the AUX area of the event's ring; there may be others:
 *
 *   AUX area mapped, adjacent, head at a quarter, two quarters free   zero-copy
 *   AUX area mapped, anything else                                    copy
 *   no AUX area, sampling event                                       samples
 *   no AUX area, counting event                                       count
 *
 * A zero-copy run may stop anywhere, and the device can only begin at the beginning of a buffer:
 * the next run then copies. Nothing is skipped to get back to a quarter, for the reader would
 * take the gap for data. While somebody listens to the trace event the entries have to be copied
 * anyway.
 *
 * perf does not keep the AUX area for the device: it is free to free it at any time, and has the
 * device stopped before.
 *
 * A device that does not become idle may go on writing into memory that is soon somebody else's:
 * its bus mastering is taken away until it is found idle again.
 *
 * Locking: ptt->lock; hisi_ptt_begin() takes it itself, because it asks perf for the AUX area.
 */

#include <linux/bitfield.h>
#include <linux/iopoll.h>
#include <linux/perf_event.h>

#include "hisi_ptt.h"
#include "hisi_ptt_trace.h"

#define HISI_PTT_IDLE_POLL_US		10
#define HISI_PTT_IDLE_TIMEOUT_US	100
#define HISI_PTT_RESET_POLL_US		1
#define HISI_PTT_RESET_TIMEOUT_US	10

/**
 * hisi_ptt_arm - (re)start the timer on this CPU
 * @ptt: the device
 * @ns: when
 */
void hisi_ptt_arm(struct hisi_ptt *ptt, u64 ns)
{
	lockdep_assert_held(&ptt->lock);

	if (!ptt->dead)
		hrtimer_start(&ptt->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * hisi_ptt_complain - count what went wrong and have the timer say it
 * @ptt: the device
 * @stat: what to count
 * @complaint: a few words for the log
 *
 * Nothing is printed here: perf may hold the scheduler's locks. Once is enough until a trace has
 * started well again: perf tries a start that failed again and again.
 */
void hisi_ptt_complain(struct hisi_ptt *ptt, enum pmukit_stat stat, const char *complaint)
{
	lockdep_assert_held(&ptt->lock);

	pmukit_stat_inc(&ptt->pp, stat);
	ptt->complaint = complaint;
	hisi_ptt_arm(ptt, 0);
}

/* Waiting for the device */

static bool hisi_ptt_wait_idle(struct hisi_ptt *ptt)
{
	u32 status;
	int ret;

	ret = readl_poll_timeout_atomic(ptt->base + HISI_PTT_TRACE_STS, status,
					status & HISI_PTT_TRACE_STS_IDLE,
					HISI_PTT_IDLE_POLL_US, HISI_PTT_IDLE_TIMEOUT_US);
	return !ret && !hisi_ptt_absent(status);
}

/* The write pointer goes to the beginning of buffer 0. */
static bool hisi_ptt_reset(struct hisi_ptt *ptt)
{
	u32 wr_sts;
	int ret;

	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, HISI_PTT_TRACE_CTRL_RST);
	ret = readl_poll_timeout_atomic(ptt->base + HISI_PTT_TRACE_WR_STS, wr_sts, !wr_sts,
					HISI_PTT_RESET_POLL_US, HISI_PTT_RESET_TIMEOUT_US);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, 0);
	return !ret;
}

/**
 * hisi_ptt_quiet - disable the trace and its interrupts, drop what is pending
 * @ptt: a device that is not dead
 */
void hisi_ptt_quiet(struct hisi_ptt *ptt)
{
	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, 0);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_MASK, HISI_PTT_TRACE_INT_FULL);
}

/**
 * hisi_ptt_halt - stop the trace and see that nothing is written any more
 * @ptt: a device that is not dead
 *
 * Return: false when the device did not become idle in time.
 */
bool hisi_ptt_halt(struct hisi_ptt *ptt)
{
	lockdep_assert_held(&ptt->lock);

	ptt->halted = true;
	hisi_ptt_quiet(ptt);
	ptt->stopped = hisi_ptt_wait_idle(ptt);
	if (ptt->stopped)
		return true;

	pci_clear_master(ptt->pdev);
	ptt->master_off = true;
	/* Who is gone writes nothing; who only seems to be cannot any more. */
	ptt->stopped = hisi_ptt_absent(hisi_ptt_read(ptt, HISI_PTT_TRACE_STS));
	if (ptt->stopped)
		return true;

	hisi_ptt_complain(ptt, PMUKIT_STAT_TIMEOUTS,
			  "the trace does not stop, bus mastering is taken away");
	return false;
}

/**
 * hisi_ptt_leave_aux - see that nothing is written into an AUX area any more
 * @ptt: the device
 * @aux: the area, which perf is about to free
 *
 * Context: any but NMI.
 */
void hisi_ptt_leave_aux(struct hisi_ptt *ptt, const struct hisi_ptt_aux *aux)
{
	unsigned long irq_flags;

	raw_spin_lock_irqsave(&ptt->lock, irq_flags);
	if (ptt->aux == aux) {
		if (ptt->path == HISI_PTT_ZERO_COPY && ptt->state != HISI_PTT_OFF &&
		    !ptt->halted && !ptt->dead)
			hisi_ptt_halt(ptt);
		WRITE_ONCE(ptt->aux, NULL);
	}
	raw_spin_unlock_irqrestore(&ptt->lock, irq_flags);
}

/* Starting */

static void hisi_ptt_programme(struct hisi_ptt *ptt, const dma_addr_t *dma, u32 first, u32 bytes)
{
	u32 at, i;
	u64 addr;

	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++) {
		addr = dma[(first + i) % HISI_PTT_NR_BUFFERS];
		at = i * HISI_PTT_TRACE_ADDR_STRIDE;
		hisi_ptt_write(ptt, HISI_PTT_TRACE_ADDR_BASE_LO + at, lower_32_bits(addr));
		hisi_ptt_write(ptt, HISI_PTT_TRACE_ADDR_BASE_HI + at, upper_32_bits(addr));
	}
	hisi_ptt_write(ptt, HISI_PTT_TRACE_ADDR_SIZE, bytes);
}

static int hisi_ptt_launch(struct hisi_ptt *ptt, const struct hisi_ptt_config *cfg,
			   const dma_addr_t *dma, u32 first, u32 bytes)
{
	lockdep_assert_held(&ptt->lock);

	if (ptt->dead)
		return -ENODEV;
	if (!hisi_ptt_wait_idle(ptt)) {
		hisi_ptt_complain(ptt, PMUKIT_STAT_TIMEOUTS, "the trace is not idle");
		return -EBUSY;
	}
	if (ptt->master_off)
		pci_set_master(ptt->pdev);
	ptt->master_off = false;

	hisi_ptt_programme(ptt, dma, first, bytes);
	if (!hisi_ptt_reset(ptt)) {
		hisi_ptt_complain(ptt, PMUKIT_STAT_TIMEOUTS, "the reset of the trace failed");
		return -ETIMEDOUT;
	}

	hisi_ptt_ring_start(&ptt->ring, bytes, hisi_ptt_entry_bytes(cfg));
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_STAT, HISI_PTT_TRACE_INT_FULL);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_MASK, 0);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, hisi_ptt_trace_ctrl(cfg));
	return 0;
}

/* The quarter that the head is in becomes the device's buffer 0. */
static void hisi_ptt_take_aux(struct hisi_ptt *ptt, struct hisi_ptt_aux *aux, u64 head, u32 bytes)
{
	raw_spin_lock(&ptt->lock);
	WRITE_ONCE(ptt->aux, aux);
	ptt->aux_first = head / bytes % HISI_PTT_NR_BUFFERS;
	raw_spin_unlock(&ptt->lock);
}

/* Can the device write into the area? It is taken while perf's transaction holds it. */
static bool hisi_ptt_try_zero_copy(struct hisi_ptt *ptt, struct perf_event *event)
{
	struct perf_output_handle handle;
	struct pmukit_aux_ring *ring;
	struct hisi_ptt_aux *aux;
	bool fits;
	u32 bytes;

	ring = pmukit_aux_begin(&handle, event);
	if (!ring)
		return false;

	aux = container_of(ring, struct hisi_ptt_aux, ring);
	bytes = READ_ONCE(aux->quarter_bytes);
	fits = bytes && !trace_hisi_ptt_record_enabled() &&
	       hisi_ptt_aux_starts(handle.head, handle.size, bytes);
	if (fits)
		hisi_ptt_take_aux(ptt, aux, handle.head, bytes);
	perf_aux_output_end(&handle, 0);
	return fits;
}

static enum hisi_ptt_path hisi_ptt_choose(struct hisi_ptt *ptt, struct perf_event *event)
{
	if (pmukit_aux_of_event(event))
		return hisi_ptt_try_zero_copy(ptt, event) ? HISI_PTT_ZERO_COPY : HISI_PTT_COPY;
	return is_sampling_event(event) ? HISI_PTT_SAMPLE : HISI_PTT_COUNT;
}

static int hisi_ptt_start_path(struct hisi_ptt *ptt, const struct hisi_ptt_config *cfg)
{
	lockdep_assert_held(&ptt->lock);

	if (ptt->path == HISI_PTT_ZERO_COPY) {
		/* Freed since it was taken. */
		if (!ptt->aux)
			return -EBUSY;
		return hisi_ptt_launch(ptt, cfg, ptt->aux->dma, ptt->aux_first,
				       ptt->aux->quarter_bytes);
	}

	ptt->buffers = ptt->path == HISI_PTT_COPY && ptt->large.bytes ? &ptt->large : &ptt->small;
	return hisi_ptt_launch(ptt, cfg, ptt->buffers->dma, 0, ptt->buffers->bytes);
}

/**
 * hisi_ptt_begin - start tracing for an event
 * @ptt: the device
 * @hev: its event
 *
 * Context: on the event's CPU, interrupts off.
 *
 * Return: 0, -ENODEV, -EBUSY when the last trace still runs or the AUX area goes, -ETIMEDOUT.
 */
int hisi_ptt_begin(struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	enum hisi_ptt_path path = hisi_ptt_choose(ptt, hev->pev.event);
	int ret;

	raw_spin_lock(&ptt->lock);
	WRITE_ONCE(ptt->path, path);
	ptt->active = hev;
	ptt->cpu = smp_processor_id();
	ptt->halted = false;
	ptt->stopped = false;
	ptt->masked = false;
	ptt->futile = 0;
	ptt->spurious = 0;
	ptt->irq_again = ptt->irq_off;
	ptt->last_wr_sts = 0;
	ptt->pause_ns = path == HISI_PTT_ZERO_COPY ? HISI_PTT_WATCH_NS : HISI_PTT_LOOK_MIN_NS;
	ret = hisi_ptt_start_path(ptt, &hev->cfg);
	if (!ret) {
		ptt->state = HISI_PTT_ON;
		ptt->said = NULL;
		hisi_ptt_arm(ptt, ptt->irq_again ? 0 : ptt->pause_ns);
	} else {
		ptt->state = HISI_PTT_OFF;
		ptt->active = NULL;
	}
	raw_spin_unlock(&ptt->lock);

	if (!ret)
		atomic64_inc(&ptt->runs[path]);
	return ret;
}
