// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: starting and stopping the trace.
 *
 *   launch: reset the write pointer, unmask the interrupts, enable the trace
 *   halt:   disable the trace, wait until the device is idle, read INT_STAT, mask the interrupts
 *
 * A device that does not become idle may still write to its buffers. Until the device is idle, the
 * driver keeps its bus mastering off and the buffers allocated.
 *
 * Locking: ptt->lock.
 */

#include <linux/iopoll.h>

#include "hisi_ptt.h"

#define HISI_PTT_IDLE_POLL_US		10
#define HISI_PTT_IDLE_TIMEOUT_US	100
#define HISI_PTT_RESET_POLL_US		1
#define HISI_PTT_RESET_TIMEOUT_US	10

/**
 * hisi_ptt_arm - (re)start the timer on this CPU
 * @ptt: the device
 * @ns: delay in nanoseconds
 */
void hisi_ptt_arm(struct hisi_ptt *ptt, u64 ns)
{
	lockdep_assert_held(&ptt->lock);

	if (!ptt->dead)
		hrtimer_start(&ptt->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * hisi_ptt_warn - count an error and let the timer print it
 * @ptt: the device
 * @stat: counter of the error
 * @message: text for the log
 *
 * The function itself does not print, because perf may hold the scheduler's locks. The timer does
 * not repeat a message until a trace has started, because perf retries a failed start again and
 * again.
 */
void hisi_ptt_warn(struct hisi_ptt *ptt, enum pmukit_stat stat, const char *message)
{
	lockdep_assert_held(&ptt->lock);

	pmukit_stat_inc(&ptt->pp, stat);
	ptt->message = message;
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

/* Moves the write pointer to the beginning of buffer 0. */
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
 * hisi_ptt_quiet - disable the trace and mask its interrupts, without waiting for the device
 * @ptt: a device that is not dead
 */
void hisi_ptt_quiet(struct hisi_ptt *ptt)
{
	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, 0);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_MASK, HISI_PTT_TRACE_INT_FULL);
}

/**
 * hisi_ptt_halt - stop the trace and wait until the device is idle
 * @ptt: a device that is not dead
 *
 * Reads INT_STAT before masking the interrupts, because the device might not show masked bits in
 * INT_STAT.
 *
 * Return: false if the device did not become idle in time.
 */
bool hisi_ptt_halt(struct hisi_ptt *ptt)
{
	lockdep_assert_held(&ptt->lock);

	ptt->halted = true;
	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, 0);
	ptt->stopped = hisi_ptt_wait_idle(ptt);
	ptt->halt_status = hisi_ptt_read(ptt, HISI_PTT_TRACE_INT_STAT);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_MASK, HISI_PTT_TRACE_INT_FULL);
	if (ptt->stopped)
		return true;

	pci_clear_master(ptt->pdev);
	ptt->master_off = true;
	/*
	 * A device that is gone does not write. If it comes back, its bus mastering is still off.
	 */
	ptt->stopped = hisi_ptt_absent(hisi_ptt_read(ptt, HISI_PTT_TRACE_STS));
	if (ptt->stopped)
		return true;

	hisi_ptt_warn(ptt, PMUKIT_STAT_TIMEOUTS,
		      "the trace does not stop, bus mastering is taken away");
	return false;
}

/* Starting */

/**
 * hisi_ptt_launch - reset the write pointer and enable the trace
 * @ptt: the device; its buffers are allocated
 * @cfg: what to trace
 *
 * Return: 0; -ENODEV; -EBUSY if the last trace still runs or the PCI function is being reset;
 * -ETIMEDOUT.
 */
int hisi_ptt_launch(struct hisi_ptt *ptt, const struct hisi_ptt_config *cfg)
{
	lockdep_assert_held(&ptt->lock);

	if (ptt->dead)
		return -ENODEV;
	if (ptt->resetting)
		return -EBUSY;
	if (!hisi_ptt_wait_idle(ptt)) {
		hisi_ptt_warn(ptt, PMUKIT_STAT_TIMEOUTS, "the trace is not idle");
		return -EBUSY;
	}
	if (ptt->master_off)
		pci_set_master(ptt->pdev);
	ptt->master_off = false;

	if (!hisi_ptt_reset(ptt)) {
		hisi_ptt_warn(ptt, PMUKIT_STAT_TIMEOUTS, "the reset of the trace failed");
		return -ETIMEDOUT;
	}

	hisi_ptt_ring_start(&ptt->ring, HISI_PTT_BUFFER_BYTES, hisi_ptt_entry_bytes(cfg));
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_STAT, HISI_PTT_TRACE_INT_FULL);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_INT_MASK, 0);
	hisi_ptt_write(ptt, HISI_PTT_TRACE_CTRL, hisi_ptt_trace_ctrl(cfg));
	ptt->halted = false;
	ptt->stopped = false;
	ptt->halt_status = 0;
	ptt->was_reset = false;
	ptt->state = HISI_PTT_ON;
	return 0;
}

/**
 * hisi_ptt_begin - start tracing for an event
 * @ptt: the device
 * @hev: the event
 *
 * Context: on the event's CPU, interrupts off.
 *
 * Return: the result of hisi_ptt_launch().
 */
int hisi_ptt_begin(struct hisi_ptt *ptt, struct hisi_ptt_event *hev)
{
	int ret;

	raw_spin_lock(&ptt->lock);
	ptt->active = hev;
	ptt->cpu = smp_processor_id();
	ptt->spurious = 0;
	ptt->irq_again = ptt->irq_off;
	ret = hisi_ptt_launch(ptt, &hev->cfg);
	if (!ret) {
		ptt->runs++;
		ptt->last_logged = NULL;
		hisi_ptt_arm(ptt, ptt->irq_again ? 0 : HISI_PTT_LOOK_NS);
	} else {
		ptt->state = HISI_PTT_OFF;
		ptt->active = NULL;
	}
	raw_spin_unlock(&ptt->lock);
	return ret;
}
