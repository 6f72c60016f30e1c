// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: starting and stopping an instance (CXL 3.2 section 8.2.8, programming sequence).
 *
 *        begin              disabled           clear, event
 *   OFF -------> QUIESCE ------------> RESET -------------> CONFIGURE -> BITMAP -> ENABLE
 *    ^              ^                RESETTING                                        |
 *    |              | end                |  clear, no event                           v
 *    |              `---- ON <-----------+------------------------------------- ENABLING
 *    `-----------------------------------'
 *
 *   any state -> FAILED after CXL_HMU_TIMEOUT_MS, or on an impossible register value
 *
 * "clear": the device's counters are reset. A run is the time from begin to end. The counters are
 * reset at the end of a run, not at its beginning, so that a start waits for one device operation
 * only. If the counters are already clear, QUIESCE skips the reset.
 *
 * perf starts and stops events with interrupts off, and a device may take 100 ms for an operation.
 * So no function here waits for an operation: each state has one step, which polls the device at
 * most once, and the timer polls again. Only a start polls up to 4 times more, for 40 us in all, so
 * that with a fast device, tracking has begun when the system call that enables the event returns.
 *
 * Locking: all functions run under hmu->lock, except cxl_hmu_disable_and_wait(), which runs before
 * the PMU is registered or on a dead instance.
 */

#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>

#include "cxl_hmu.h"

#define CXL_HMU_TIMEOUT_MS		1000
#define CXL_HMU_ATTACH_TIMEOUT_MS	300
#define CXL_HMU_POLL_MIN_NS		(50 * NSEC_PER_USEC)
#define CXL_HMU_POLL_MAX_NS		(2 * NSEC_PER_MSEC)
#define CXL_HMU_STEPS_PER_SECTION	8
#define CXL_HMU_SPINS			4
#define CXL_HMU_SPIN_US			10
#define CXL_HMU_BITMAP_WRITES		64

/*
 * Limits of the interval at which the timer polls the list: one epoch, so that few entries are left
 * when the event stops; a quarter of an epoch if no interrupt reports the fill level.
 */
#define CXL_HMU_FLUSH_MIN_NS		(2 * NSEC_PER_MSEC)
#define CXL_HMU_FLUSH_MAX_NS		(100 * NSEC_PER_MSEC)
#define CXL_HMU_POLLED_MIN_NS		(1 * NSEC_PER_MSEC)
#define CXL_HMU_POLLED_MAX_NS		(20 * NSEC_PER_MSEC)

/**
 * cxl_hmu_flush_ns - delay until the next poll of the list
 * @hmu: an instance with an active event
 *
 * Return: nanoseconds.
 */
u64 cxl_hmu_flush_ns(const struct cxl_hmu *hmu)
{
	u64 epoch_us = cxl_hmu_epoch_us(hmu->active->cfg.epoch) ?: CXL_HMU_EPOCH_DEFAULT_US;
	u64 epoch_ns = epoch_us * NSEC_PER_USEC;

	/* An overflow interrupt is too late: without a level interrupt, poll more often. */
	if (hmu->irq && hmu->caps.int_level)
		return clamp_t(u64, epoch_ns, CXL_HMU_FLUSH_MIN_NS, CXL_HMU_FLUSH_MAX_NS);
	return clamp_t(u64, epoch_ns / 4, CXL_HMU_POLLED_MIN_NS, CXL_HMU_POLLED_MAX_NS);
}

/**
 * cxl_hmu_arm - (re)start the timer on this CPU
 * @hmu: the instance
 * @ns: delay in nanoseconds
 */
void cxl_hmu_arm(struct cxl_hmu *hmu, u64 ns)
{
	lockdep_assert_held(&hmu->lock);

	if (!hmu->dead)
		hrtimer_start(&hmu->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

static void cxl_hmu_enter(struct cxl_hmu *hmu, enum cxl_hmu_state state)
{
	hmu->state = state;
	hmu->deadline = ktime_add_ms(ktime_get(), CXL_HMU_TIMEOUT_MS);
	hmu->poll_ns = CXL_HMU_POLL_MIN_NS;
}

/**
 * cxl_hmu_fail - fail the run; the timer logs the reason once
 * @hmu: the instance
 * @stat: counter to increment
 * @error_msg: error message for the log
 *
 * If there is an event, the next drain reports the failure to the reader. Nothing is printed here,
 * because perf may hold the scheduler's locks.
 */
void cxl_hmu_fail(struct cxl_hmu *hmu, enum pmukit_stat stat, const char *error_msg)
{
	lockdep_assert_held(&hmu->lock);

	pmukit_stat_inc(&hmu->pp, stat);
	hmu->error_unreported = true;
	hmu->error_msg = error_msg;
	cxl_hmu_enter(hmu, CXL_HMU_FAILED);
	cxl_hmu_arm(hmu, 0);
}

/*
 * Steps, one per state; a step polls the device at most once. Return: true to run the step of the
 * state (perhaps a new one) at once, false to run it later.
 */

/**
 * cxl_hmu_disable - request the device to stop tracking, which may take time
 * @hmu: the instance
 *
 * While the device is enabled, its configuration is read-only except for the control bits, so the
 * other bits are written unchanged.
 */
void cxl_hmu_disable(struct cxl_hmu *hmu)
{
	cxl_hmu_write(hmu, CXL_HMU_CFG0, hmu->cfg0);
	hmu->disable_sent = true;
}

/* Return: true if no operation is in progress. If the device does not respond, the run fails. */
static bool cxl_hmu_idle(struct cxl_hmu *hmu, u64 *status)
{
	*status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
	if (cxl_hmu_status_absent(*status)) {
		cxl_hmu_fail(hmu, PMUKIT_STAT_TIMEOUTS, "the device does not answer");
		return false;
	}
	return !FIELD_GET(CXL_HMU_STATUS_OPERATION, *status);
}

/*
 * Count as lost the entries that arrived between the last drain of a run and the moment the device
 * was disabled.
 */
static void cxl_hmu_count_leftovers(struct cxl_hmu *hmu)
{
	u32 tail;

	if (!hmu->filling)
		return;
	hmu->filling = false;

	tail = cxl_hmu_read_tail(hmu);
	if (tail < hmu->caps.list_size)
		pmukit_stat_add(&hmu->pp, PMUKIT_STAT_LOST,
				cxl_hmu_list_used(hmu->head, tail, hmu->caps.list_size));
}

/* The device is disabled and its counters are clear: configure it if an event is waiting. */
static void cxl_hmu_enter_disabled(struct cxl_hmu *hmu)
{
	cxl_hmu_enter(hmu, hmu->active ? CXL_HMU_CONFIGURE : CXL_HMU_OFF);
}

static bool cxl_hmu_step_quiesce(struct cxl_hmu *hmu)
{
	u64 status;

	if (!cxl_hmu_idle(hmu, &status))
		return false;

	/* Repeat the request: a device may drop it while another operation is in progress. */
	if (status & CXL_HMU_STATUS_ENABLED) {
		cxl_hmu_disable(hmu);
		return false;
	}

	cxl_hmu_count_leftovers(hmu);
	if (hmu->counters_clear)
		cxl_hmu_enter_disabled(hmu);
	else
		cxl_hmu_enter(hmu, CXL_HMU_RESET);
	return true;
}

static bool cxl_hmu_step_reset(struct cxl_hmu *hmu)
{
	cxl_hmu_write(hmu, CXL_HMU_CFG0, hmu->cfg0 | CXL_HMU_CFG0_RESET);
	cxl_hmu_enter(hmu, CXL_HMU_RESETTING);
	return true;
}

static bool cxl_hmu_step_resetting(struct cxl_hmu *hmu)
{
	u64 status;

	if (!cxl_hmu_idle(hmu, &status))
		return false;

	hmu->counters_clear = true;
	cxl_hmu_enter_disabled(hmu);
	return true;
}

/*
 * The counter width depends on the unit size. The event's threshold was checked against the width
 * found at attach, so any other width fails the run.
 */
static bool cxl_hmu_step_configure(struct cxl_hmu *hmu)
{
	const struct cxl_hmu_config *cfg = &hmu->active->cfg;
	u64 status;

	cxl_hmu_write(hmu, CXL_HMU_CFG1, cxl_hmu_cfg1(cfg));
	cxl_hmu_write(hmu, CXL_HMU_CFG2, cxl_hmu_cfg2(&hmu->caps));
	if (!cxl_hmu_idle(hmu, &status))
		return false;
	if (FIELD_GET(CXL_HMU_STATUS_COUNTER_WIDTH, status) !=
	    hmu->caps.counter_width[cfg->unit_log2]) {
		cxl_hmu_fail(hmu, PMUKIT_STAT_REJECTED, "the counter width has changed");
		return false;
	}

	hmu->bitmap_next = 0;
	cxl_hmu_enter(hmu, CXL_HMU_BITMAP);
	return true;
}

/* Write the whole bitmap each time: bits of an earlier run must not stay set. */
static bool cxl_hmu_step_bitmap(struct cxl_hmu *hmu)
{
	u32 end = min(hmu->bitmap_next + CXL_HMU_BITMAP_WRITES, hmu->caps.bitmap_qwords);
	u32 i;

	for (i = hmu->bitmap_next; i < end; i++)
		writeq(cxl_hmu_bitmap_qword(&hmu->active->cfg, i), hmu->bitmap + i * sizeof(u64));
	hmu->bitmap_next = end;
	/*
	 * Each part restarts the deadline, which limits the device's delay, not the time to write a
	 * long bitmap.
	 */
	cxl_hmu_enter(hmu, end < hmu->caps.bitmap_qwords ? CXL_HMU_BITMAP : CXL_HMU_ENABLE);
	return hmu->state == CXL_HMU_ENABLE;
}

/* Empty the list: it may still hold entries of an earlier run. */
static bool cxl_hmu_step_enable(struct cxl_hmu *hmu)
{
	u32 tail = cxl_hmu_read_tail(hmu);

	if (tail >= hmu->caps.list_size) {
		cxl_hmu_fail(hmu, PMUKIT_STAT_REJECTED, "the tail is outside the hot list");
		return false;
	}
	hmu->head = tail;
	cxl_hmu_write_head(hmu);
	cxl_hmu_write(hmu, CXL_HMU_STATUS, CXL_HMU_STATUS_OVERFLOW | CXL_HMU_STATUS_LEVEL);
	hmu->cfg0 = cxl_hmu_cfg0(&hmu->active->cfg, &hmu->caps, hmu->irq);
	cxl_hmu_write(hmu, CXL_HMU_CFG0, hmu->cfg0 | CXL_HMU_CFG0_ENABLE);
	/* The disable request of an earlier run does not apply to this one. */
	hmu->disable_sent = false;
	hmu->filling = true;
	hmu->counters_clear = false;
	cxl_hmu_enter(hmu, CXL_HMU_ENABLING);
	return true;
}

static bool cxl_hmu_step_enabling(struct cxl_hmu *hmu)
{
	u64 status;

	if (!cxl_hmu_idle(hmu, &status) || !(status & CXL_HMU_STATUS_ENABLED))
		return false;

	cxl_hmu_enter(hmu, CXL_HMU_ON);
	return true;
}

/* OFF, ON and FAILED have no step. */
static bool (*const cxl_hmu_steps[CXL_HMU_NR_STATES])(struct cxl_hmu *hmu) = {
	[CXL_HMU_QUIESCE]	= cxl_hmu_step_quiesce,
	[CXL_HMU_RESET]		= cxl_hmu_step_reset,
	[CXL_HMU_RESETTING]	= cxl_hmu_step_resetting,
	[CXL_HMU_CONFIGURE]	= cxl_hmu_step_configure,
	[CXL_HMU_BITMAP]	= cxl_hmu_step_bitmap,
	[CXL_HMU_ENABLE]	= cxl_hmu_step_enable,
	[CXL_HMU_ENABLING]	= cxl_hmu_step_enabling,
};

/* Run steps until one has to wait for the device; poll up to @spins times more before giving up. */
static void cxl_hmu_steps_run(struct cxl_hmu *hmu, int spins)
{
	int i;

	for (i = 0; i < CXL_HMU_STEPS_PER_SECTION && cxl_hmu_steps[hmu->state]; ) {
		if (cxl_hmu_steps[hmu->state](hmu)) {
			i++;
			continue;
		}
		if (!spins--)
			return;
		udelay(CXL_HMU_SPIN_US);
	}
}

/*
 * A poll may itself be delayed, for example by a hypervisor, so the run only fails after a poll
 * that began after the deadline.
 */
static void cxl_hmu_run_spinning(struct cxl_hmu *hmu, int spins)
{
	ktime_t began = ktime_get();

	lockdep_assert_held(&hmu->lock);

	cxl_hmu_steps_run(hmu, spins);
	if (hmu->state == CXL_HMU_ON) {
		/* In the timer (@spins is 0), drain at once: interrupts before ON were ignored. */
		cxl_hmu_arm(hmu, spins ? cxl_hmu_flush_ns(hmu) : 0);
		return;
	}
	if (!cxl_hmu_steps[hmu->state])
		return;

	if (ktime_after(began, hmu->deadline)) {
		cxl_hmu_fail(hmu, PMUKIT_STAT_TIMEOUTS, "an operation takes too long");
		return;
	}
	cxl_hmu_arm(hmu, hmu->poll_ns);
	hmu->poll_ns = min_t(u64, hmu->poll_ns * 2, CXL_HMU_POLL_MAX_NS);
}

/**
 * cxl_hmu_run - run steps until one has to wait for the device
 * @hmu: an instance that is not dead
 */
void cxl_hmu_run(struct cxl_hmu *hmu)
{
	cxl_hmu_run_spinning(hmu, 0);
}

/**
 * cxl_hmu_settle - disable the device and reset its counters, from the timer
 * @hmu: an instance without an active event
 */
void cxl_hmu_settle(struct cxl_hmu *hmu)
{
	lockdep_assert_held(&hmu->lock);

	cxl_hmu_enter(hmu, CXL_HMU_QUIESCE);
	cxl_hmu_arm(hmu, 0);
}

/**
 * cxl_hmu_begin - start tracking for an event
 * @hmu: the instance
 * @hev: the event
 *
 * Context: on the event's CPU, interrupts off. The enable may still be in progress on return.
 */
void cxl_hmu_begin(struct cxl_hmu *hmu, struct cxl_hmu_event *hev)
{
	lockdep_assert_held(&hmu->lock);

	hmu->active = hev;
	hmu->cpu = smp_processor_id();
	hmu->tail_rejected = false;
	hmu->empty_polls = 0;
	hmu->burst = 0;
	hmu->error_unreported = false;
	hmu->disable_sent = false;
	cxl_hmu_enter(hmu, CXL_HMU_QUIESCE);
	cxl_hmu_run_spinning(hmu, CXL_HMU_SPINS);
}

/**
 * cxl_hmu_end - stop tracking for the active event
 * @hmu: the instance
 */
void cxl_hmu_end(struct cxl_hmu *hmu)
{
	lockdep_assert_held(&hmu->lock);

	hmu->active = NULL;
	if (hmu->dead || hmu->state == CXL_HMU_OFF)
		return;
	/*
	 * A failed instance runs no step until the next start, but the device may have become
	 * enabled: disable it here.
	 */
	if (hmu->state == CXL_HMU_FAILED) {
		cxl_hmu_disable(hmu);
		return;
	}
	cxl_hmu_settle(hmu);
}

/**
 * cxl_hmu_disable_and_wait - disable an instance and wait until it is disabled
 * @hmu: an instance whose PMU is not registered yet, or a dead one
 * @take_enabled: disable the instance even if firmware or another driver may have enabled it
 *
 * The request is repeated until the device accepts it: a device may drop a request while another
 * operation is in progress. The timeout applies to that operation and to the disable, separately.
 *
 * Context: may sleep.
 *
 * Return: 0; -EBUSY if the instance is left enabled; -ENXIO if the device does not respond;
 * -ETIMEDOUT.
 */
int cxl_hmu_disable_and_wait(struct cxl_hmu *hmu, bool take_enabled)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), CXL_HMU_ATTACH_TIMEOUT_MS);
	bool sent = false, late;
	u64 status;

	hmu->cfg0 = cxl_hmu_read(hmu, CXL_HMU_CFG0) &
		    ~(CXL_HMU_CFG0_ENABLE | CXL_HMU_CFG0_RESET);
	/* Only give up after a poll that began after the deadline: this CPU may be late, too. */
	do {
		late = ktime_after(ktime_get(), deadline);
		status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
		if (cxl_hmu_status_absent(status))
			return -ENXIO;
		if (!FIELD_GET(CXL_HMU_STATUS_OPERATION, status)) {
			if (!(status & CXL_HMU_STATUS_ENABLED))
				return 0;
			if (!take_enabled)
				return -EBUSY;
			if (!sent) {
				deadline = ktime_add_ms(ktime_get(), CXL_HMU_ATTACH_TIMEOUT_MS);
				late = false;
			}
			sent = true;
			cxl_hmu_disable(hmu);
		}
		usleep_range(100, 1000);
	} while (!late);

	return -ETIMEDOUT;
}
