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
 *   any state -> FAILED after CXL_HMU_TIMEOUT_MS, or on an answer that cannot be true
 *
 * The counters are reset at the end of a run, not at its beginning, so that a start has only one
 * operation of the device to wait for.
 *
 * perf starts and stops events with interrupts off, and a device may take 100 ms for an
 * operation. So nothing here waits: each state has one step, which looks once at the device. When
 * it has to be looked at again, the timer does so. Only a start looks a few times more, for some
 * ten microseconds: with a fast device, tracking has then begun when the enabling of the event
 * returns to user space.
 *
 * Locking: everything runs under hmu->lock, but for cxl_hmu_disable_and_wait(), which runs before
 * the PMU is registered.
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
 * How often the list is looked at without being asked by an interrupt: once an epoch, so that
 * little is left when the event stops; more often when there is no interrupt.
 */
#define CXL_HMU_FLUSH_MIN_NS		(2 * NSEC_PER_MSEC)
#define CXL_HMU_FLUSH_MAX_NS		(100 * NSEC_PER_MSEC)
#define CXL_HMU_POLLED_MIN_NS		(1 * NSEC_PER_MSEC)
#define CXL_HMU_POLLED_MAX_NS		(20 * NSEC_PER_MSEC)

/**
 * cxl_hmu_flush_ns - pause until the next unasked look at the list
 * @hmu: an instance with an active event
 *
 * Return: nanoseconds.
 */
u64 cxl_hmu_flush_ns(const struct cxl_hmu *hmu)
{
	u64 epoch_us = cxl_hmu_epoch_us(hmu->active->cfg.epoch) ?: CXL_HMU_EPOCH_DEFAULT_US;
	u64 epoch_ns = epoch_us * NSEC_PER_USEC;

	/* An interrupt at overflow comes too late: without one at a level, poll more often. */
	if (hmu->irq && hmu->caps.int_level)
		return clamp_t(u64, epoch_ns, CXL_HMU_FLUSH_MIN_NS, CXL_HMU_FLUSH_MAX_NS);
	return clamp_t(u64, epoch_ns / 4, CXL_HMU_POLLED_MIN_NS, CXL_HMU_POLLED_MAX_NS);
}

/**
 * cxl_hmu_arm - (re)start the timer on this CPU
 * @hmu: the instance
 * @ns: when
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
 * @stat: what to count
 * @error_msg: error message for the log
 *
 * The next drain reports it to the reader, if there is an event. Nothing is printed here: perf may
 * hold the scheduler's locks.
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
 * Steps. One look at the device each; true: go on with the (new) state at once, false: look
 * again later.
 */

/**
 * cxl_hmu_disable - tell the device to stop tracking; it may take its time
 * @hmu: the instance
 *
 * While it is enabled all but the control bits is read-only, so these are left as they are.
 */
void cxl_hmu_disable(struct cxl_hmu *hmu)
{
	cxl_hmu_write(hmu, CXL_HMU_CFG0, hmu->cfg0);
	hmu->disable_sent = true;
}

/* Is the device idle? Fails the run when it does not answer. */
static bool cxl_hmu_idle(struct cxl_hmu *hmu, u64 *status)
{
	*status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
	if (cxl_hmu_status_absent(*status)) {
		cxl_hmu_fail(hmu, PMUKIT_STAT_TIMEOUTS, "the device does not answer");
		return false;
	}
	return !FIELD_GET(CXL_HMU_STATUS_OPERATION, *status);
}

/* What came between the last drain of a run and the moment the device was disabled. */
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

/* Disabled, with clear counters: on to the event that waits for it. */
static void cxl_hmu_enter_disabled(struct cxl_hmu *hmu)
{
	cxl_hmu_enter(hmu, hmu->active ? CXL_HMU_CONFIGURE : CXL_HMU_OFF);
}

static bool cxl_hmu_step_quiesce(struct cxl_hmu *hmu)
{
	u64 status;

	if (!cxl_hmu_idle(hmu, &status))
		return false;

	/* Again when it was sent: a device may drop it while another operation is in progress. */
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

/* The counter width goes with the unit size, and the event was checked against it. */
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

/* All of it, every time: bits of a former run must not stay set. */
static bool cxl_hmu_step_bitmap(struct cxl_hmu *hmu)
{
	u32 end = min(hmu->bitmap_next + CXL_HMU_BITMAP_WRITES, hmu->caps.bitmap_qwords);
	u32 i;

	for (i = hmu->bitmap_next; i < end; i++)
		writeq(cxl_hmu_bitmap_qword(&hmu->active->cfg, i), hmu->bitmap + i * sizeof(u64));
	hmu->bitmap_next = end;
	/* The device is not waited for here: a long bitmap has the time it takes. */
	cxl_hmu_enter(hmu, end < hmu->caps.bitmap_qwords ? CXL_HMU_BITMAP : CXL_HMU_ENABLE);
	return hmu->state == CXL_HMU_ENABLE;
}

/* Empty the list: it may still hold what a former run left. */
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
	/* What disabled an earlier run does not disable this one, wherever it is stopped. */
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

/* States without a step are at rest. */
static bool (*const cxl_hmu_steps[CXL_HMU_NR_STATES])(struct cxl_hmu *hmu) = {
	[CXL_HMU_QUIESCE]	= cxl_hmu_step_quiesce,
	[CXL_HMU_RESET]		= cxl_hmu_step_reset,
	[CXL_HMU_RESETTING]	= cxl_hmu_step_resetting,
	[CXL_HMU_CONFIGURE]	= cxl_hmu_step_configure,
	[CXL_HMU_BITMAP]	= cxl_hmu_step_bitmap,
	[CXL_HMU_ENABLE]	= cxl_hmu_step_enable,
	[CXL_HMU_ENABLING]	= cxl_hmu_step_enabling,
};

/* As far as the device lets us; looks up to @spins times more when it has to be waited for. */
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
 * A look may take long itself, as when a hypervisor runs something else: only one that began after
 * the deadline gives the device up.
 */
static void cxl_hmu_run_spinning(struct cxl_hmu *hmu, int spins)
{
	ktime_t began = ktime_get();

	lockdep_assert_held(&hmu->lock);

	cxl_hmu_steps_run(hmu, spins);
	if (hmu->state == CXL_HMU_ON) {
		/* In the timer: an interrupt may have come before we knew that it is on. */
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
 * cxl_hmu_run - go on as far as the device lets us
 * @hmu: an instance that is not dead
 */
void cxl_hmu_run(struct cxl_hmu *hmu)
{
	cxl_hmu_run_spinning(hmu, 0);
}

/**
 * cxl_hmu_settle - see the device disabled and its counters reset, in the timer
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
 * @hev: its event
 *
 * Context: on the event's CPU, interrupts off. The device may be enabled later than on return.
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
 * cxl_hmu_end - the event is gone
 * @hmu: the instance
 */
void cxl_hmu_end(struct cxl_hmu *hmu)
{
	lockdep_assert_held(&hmu->lock);

	hmu->active = NULL;
	if (hmu->dead || hmu->state == CXL_HMU_OFF)
		return;
	/* Only looked at again by the next start, but it may have been enabled at last. */
	if (hmu->state == CXL_HMU_FAILED) {
		cxl_hmu_disable(hmu);
		return;
	}
	cxl_hmu_settle(hmu);
}

/**
 * cxl_hmu_disable_and_wait - disable an instance, and wait until it is
 * @hmu: an instance whose PMU is not registered yet, or one that is dead
 * @take_enabled: also one that firmware or another driver may have enabled
 *
 * The request is sent until the device has it: one that arrives while another operation is in
 * progress may be dropped. The operation and the disable behind it have the timeout each.
 *
 * Context: may sleep.
 *
 * Return: 0, -EBUSY when it is left enabled, -ENXIO when the device does not answer, -ETIMEDOUT.
 */
int cxl_hmu_disable_and_wait(struct cxl_hmu *hmu, bool take_enabled)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), CXL_HMU_ATTACH_TIMEOUT_MS);
	bool sent = false, late;
	u64 status;

	hmu->cfg0 = cxl_hmu_read(hmu, CXL_HMU_CFG0) &
		    ~(CXL_HMU_CFG0_ENABLE | CXL_HMU_CFG0_RESET);
	/* Only a look that began after the deadline gives up: the CPU may be late too. */
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
