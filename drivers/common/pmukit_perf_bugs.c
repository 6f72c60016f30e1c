// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workarounds for bugs of perf: those that affect a PMU that is removed (1 to 7), an interface that
 * is missing (8), and one that affects groups (9). Only this file uses perf's internal data;
 * decision 0015 explains why. Each function's comment names the bug, the affected kernels and the
 * fix to send upstream.
 *
 *   bug                                            kernels     workaround
 *   1 open events are not detached                 to 6.14     pmukit_give_up_name()
 *   2 software events in a group are missed        to 7.2      pmukit_has_foreign_events()
 *   3 a timer of a freed PMU runs                  to 7.2      pmukit_stop_rotation()
 *   4 unregistering hangs with CPU hotplug         to 6.14     pmukit_perf_unregister()
 *   5 an unregistered PMU is still found           to 6.14     pmukit_wait_for_openers()
 *   6 a task refers to a freed PMU                 to 6.1      pmukit_forget_pmu()
 *   7 a migration moves only one group per call    from 6.15   pmukit_cpu_events()
 *   8 a PMU cannot say when an event did not count to 7.2      pmukit_event_add_running()
 *   9 a leader whose CPU was offline gets siblings to 7.2      pmukit_leader_left()
 *
 * 7.2 was the newest kernel when this table was written. Compile probes (drivers/compat/probes)
 * select the workarounds that a kernel needs. One commit of 6.15 fixes 4 and 5; stable kernels have
 * it too (6.6.83, 6.12.19, 6.13.7). The commit changes no header, so no probe distinguishes these
 * stable kernels from older ones of their series. On them the needless workaround delays the
 * removal of a PMU by 20 ms and disables CPU hotplug meanwhile.
 */

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include <pmukit/pmu.h>

#include "pmukit_perf_bugs.h"

#define PMUKIT_UNREGISTER_GAP_MS	20
#define PMUKIT_OPENERS_RETRY_MS		100

/*
 * The context of a PMU on a CPU: the events scheduled with the PMU, including those of other PMUs,
 * and the timer that rotates them. Each possible CPU has one once the PMU is registered.
 * pmukit_cpu_context() must not be used for PMUs of perf_sw_context: up to Linux 6.1 they share one
 * context.
 */
#if defined(HAVE_PMU_CONTEXT_BY_POINTER)
#define PMUKIT_PMU_HOLDS	1	/* the PMU itself holds a reference */

static struct perf_cpu_pmu_context *pmukit_cpu_context(struct pmu *pmu, unsigned int cpu)
{
	return *per_cpu_ptr(pmu->cpu_pmu_context, cpu);
}
#elif defined(HAVE_PMU_CONTEXT_OF_CPU)
#define PMUKIT_PMU_HOLDS	0

static struct perf_cpu_pmu_context *pmukit_cpu_context(struct pmu *pmu, unsigned int cpu)
{
	return per_cpu_ptr(pmu->cpu_pmu_context, cpu);
}
#else
static struct perf_cpu_context *pmukit_cpu_context(struct pmu *pmu, unsigned int cpu)
{
	return per_cpu_ptr(pmu->pmu_cpu_context, cpu);
}
#endif

/* Bugs 7 and 2: events and references */

/**
 * pmukit_cpu_events - number of events scheduled with a PMU on a CPU
 * @pmu: a registered PMU, not of perf_sw_context
 * @cpu: the CPU
 *
 * Bug: perf_pmu_migrate_context() continues its walk from the group it has just removed, which is
 * no longer linked: one call moves one group.
 * Kernels: from 6.15 (the rewrite of that loop) to 7.2.
 * Fix to send: __perf_pmu_remove() collects the groups before it removes the first.
 *
 * Return: the number of events, which is the number of calls that moves them all.
 */
unsigned int pmukit_cpu_events(struct pmu *pmu, unsigned int cpu)
{
#ifdef HAVE_PMU_CONTEXT_OF_CPU
	return READ_ONCE(pmukit_cpu_context(pmu, cpu)->epc.nr_events);
#else
	return READ_ONCE(pmukit_cpu_context(pmu, cpu)->ctx.nr_events);
#endif
}

/*
 * Number of references to the PMU's context on @cpu: one per event that is in the context, or was
 * in it and is not freed yet. Other references are short-lived.
 */
static unsigned int pmukit_cpu_holders(struct pmu *pmu, unsigned int cpu)
{
#ifdef HAVE_PMU_CONTEXT_OF_CPU
	const struct perf_cpu_pmu_context *cpc = pmukit_cpu_context(pmu, cpu);

	if (!READ_ONCE(cpc->epc.ctx))
		return 0;
	return atomic_read(&cpc->epc.refcount) - PMUKIT_PMU_HOLDS;
#else
	return refcount_read(&pmukit_cpu_context(pmu, cpu)->ctx.refcount) - 1;
#endif
}

/*
 * Return: true if the event certainly holds a reference to a context. perf sets event->ctx after it
 * has taken the reference, once opening the event cannot fail any more, and keeps event->ctx set
 * until the event is freed.
 */
static bool pmukit_event_holds(const struct perf_event *event)
{
	return smp_load_acquire(&event->ctx);
}

/**
 * pmukit_has_foreign_events - check whether events of other PMUs hold a context of this PMU
 * @pp: the PMU, its lock held
 * @dying: an event that is no longer in @pp->events and is not freed during the call; may be NULL
 *
 * Bug: a software event that joins a group is scheduled with the PMU of its leader
 * (perf_event_open() picks group_leader->pmu_ctx->pmu), even after the leader is closed. perf does
 * not look for such an event when that PMU is unregistered: it frees the context that the event
 * uses (6.1, 6.12), or the PMU that the event refers to (7.2, whose pmu_detach_events() walks the
 * PMU's own events).
 * Kernels: to 7.2.
 * Fix to send: pmu_detach_events() walks the events of the PMU's contexts.
 *
 * The PMU's own events are counted before all references. An own event that takes its reference in
 * between looks like a foreign one; a foreign event never looks like an own one.
 *
 * Return: true if there are events of other PMUs, or may be.
 */
bool pmukit_has_foreign_events(struct pmukit_pmu *pp, const struct perf_event *dying)
{
	unsigned int cpu, ours = dying && pmukit_event_holds(dying), holders = 0;
	struct pmukit_event *pev;

	lockdep_assert_held(&pp->lock);

	if (pp->pmu.task_ctx_nr == perf_sw_context)
		return false;
	if (pp->moving)
		return true;
	list_for_each_entry(pev, &pp->events, node)
		ours += pmukit_event_holds(pev->event);
	for_each_possible_cpu(cpu)
		holders += pmukit_cpu_holders(&pp->pmu, cpu);
	return holders > ours;
}

/* Bug 6: a task's context of software events */

#ifndef HAVE_PMU_CONTEXT_OF_CPU
/**
 * pmukit_forget_pmu - make the task of an event stop referring to the event's PMU
 * @event: an event that is being destroyed, possibly before it was completely opened
 *
 * Bug: a task's context of software events refers to the PMU of the first such event until the task
 * is scheduled in. If the task sleeps, the context may refer to the PMU after it is freed.
 * Kernels: to 6.1 (6.2: "perf: Rewrite core context handling").
 * Fix to send: none; the code is gone.
 *
 * All PMUs of perf_sw_context share their contexts. So the function stores the PMU of the CPU's
 * context, as perf does when the task is scheduled in.
 */
void pmukit_forget_pmu(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;
	struct perf_event_context *ctx;
	unsigned long flags;

	if (pmu->task_ctx_nr != perf_sw_context)
		return;
	rcu_read_lock();
	ctx = event->ctx;
	if (!ctx && event->hw.target)
		ctx = rcu_dereference(event->hw.target->perf_event_ctxp[perf_sw_context]);
	if (ctx && ctx->task) {
		raw_spin_lock_irqsave(&ctx->lock, flags);
		if (ctx->pmu == pmu)
			ctx->pmu = pmukit_cpu_context(pmu, 0)->ctx.pmu;
		raw_spin_unlock_irqrestore(&ctx->lock, flags);
	}
	rcu_read_unlock();
}
#endif

/* Bugs 3 and 4: unregistering */

/*
 * Bug: perf rotates events with one timer per PMU and CPU. A write to perf_event_mux_interval_ms
 * arms all of them for the interval written, and perf frees them with the PMU even if they are
 * armed.
 * Kernels: to 7.2.
 * Fix to send: hrtimer_cancel() in perf_pmu_free().
 */
static void pmukit_stop_rotation(struct pmu *pmu)
{
	unsigned int cpu;

#ifndef HAVE_PMU_CONTEXT_OF_CPU
	if (pmu->task_ctx_nr == perf_sw_context)
		return;
#endif
	for_each_possible_cpu(cpu) {
		typeof(pmukit_cpu_context(pmu, cpu)) context = pmukit_cpu_context(pmu, cpu);
		unsigned long flags;

		hrtimer_cancel(&context->hrtimer);
		/* perf does not arm a timer that is marked active. */
		raw_spin_lock_irqsave(&context->hrtimer_lock, flags);
		context->hrtimer_active = 1;
		raw_spin_unlock_irqrestore(&context->hrtimer_lock, flags);
		hrtimer_cancel(&context->hrtimer);
	}
}

/**
 * pmukit_perf_unregister - unregister a PMU
 * @pmu: a registered PMU; without open events unless the kernel revokes them
 *
 * Bug: perf_pmu_unregister() holds pmus_lock while it waits for openers, the tasks that are opening
 * an event. It can hang in two ways:
 *
 * - An opener in perf_swevent_init() waits for the hotplug lock. A CPU that goes offline holds that
 *   lock while it waits for pmus_lock in perf_event_exit_cpu_context(). So CPU hotplug is disabled
 *   here: hotplug requests fail with -EBUSY, as they do while a PCI driver probes.
 * - An opener in perf_swevent_init() waits for pmus_lock itself. A driver cannot prevent that.
 *   Openers that queued during one call must finish before the next call, so the function sleeps
 *   before each call.
 *
 * Kernels: to 6.14 (6.15: 2565e42539b1 "perf/core: Fix pmus_lock vs. pmus_srcu ordering"). 6.6.83,
 * 6.12.19 and later kernels of these series have the fix; the workaround is needless there, but
 * harmless.
 * Fix to send: that commit, to stable 6.1.
 *
 * Context: may sleep; one call at a time.
 *
 * Return: 0 or the error of perf_pmu_unregister().
 */
int pmukit_perf_unregister(struct pmu *pmu)
{
	pmukit_stop_rotation(pmu);
#ifdef HAVE_PMU_REVOKES_EVENTS
	return perf_pmu_unregister(pmu);
#else
	msleep(PMUKIT_UNREGISTER_GAP_MS);
	cpu_hotplug_disable();
	perf_pmu_unregister(pmu);
	cpu_hotplug_enable();
	return 0;
#endif
}

/* Bug 5: openers, the tasks that are opening an event */

#ifndef HAVE_PMU_REVOKES_EVENTS
static int pmukit_last_event_init(struct perf_event *event)
{
	return -ENOENT;
}

/*
 * A PMU that never has events. pmukit_wait_for_openers() registers it and unregisters it at once.
 * The structure is static, so it is never freed.
 */
static struct pmu pmukit_last = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.event_init = pmukit_last_event_init,
};

static int pmukit_last_comes_and_goes(void)
{
	int ret;

	/*
	 * pmukit_last needs no device in sysfs; newer kernels (PMU_NULL_DEV) can register a PMU
	 * without one.
	 */
#ifdef PMU_NULL_DEV
	pmukit_last.dev = PMU_NULL_DEV;
#else
	/* perf may mistake a stale pointer for an existing device. */
	pmukit_last.dev = NULL;
#endif
	ret = perf_pmu_register(&pmukit_last, "pmukit_last", -1);
	return ret ? ret : pmukit_perf_unregister(&pmukit_last);
}

/**
 * pmukit_wait_for_openers - wait for tasks that are opening an event and may have found an
 *	unregistered PMU
 *
 * Call this before the PMU is freed.
 *
 * Bug: perf_pmu_unregister() removes the PMU's number after it has waited for openers. An opener
 * that looked the number up in between is in perf_try_init_event() with an unregistered PMU, and
 * may sleep there.
 * Kernels: to 6.14; commit 2565e42539b1 removes the number first.
 * Fix to send: that commit, to stable 6.1.
 *
 * Openers are in a read section of pmus_srcu, which is private to perf. Unregistering any PMU waits
 * for such sections, so this function registers and unregisters another PMU.
 *
 * Context: may sleep, until memory is available; one call at a time, not concurrently with
 * pmukit_perf_unregister().
 */
void pmukit_wait_for_openers(void)
{
	int ret;

	while ((ret = pmukit_last_comes_and_goes())) {
		pr_warn_once("pmukit: waiting for openers of events needs a PMU: error %d\n", ret);
		msleep(PMUKIT_OPENERS_RETRY_MS);
	}
}
#endif

/* Bugs 1 and 2: the name of a PMU that must stay registered */

/**
 * pmukit_give_up_name - release the name in sysfs for reuse before the PMU is unregistered
 * @pp: a registered PMU whose hardware is gone; its own events, or events of other PMUs, may be
 *	open
 *
 * Bug: perf_pmu_unregister() does not detach open events, so a PMU with open events must stay
 * registered.
 * Kernels: to 6.14, with any open event. Since 6.15 ("perf: Make perf_pmu_unregister() useable")
 * perf detaches the PMU's own events, so only events of other PMUs keep the PMU registered.
 * Fix to send: the one described at pmukit_has_foreign_events().
 *
 * perf has no call to rename a registered PMU, and device_rename() does not rename the link of the
 * bus. So the function gives the PMU another device, outside of the bus, where no tool looks; perf
 * unregisters it later. The new device is freed by the release function of the old one, which is
 * part of the kernel image.
 */
void pmukit_give_up_name(struct pmukit_pmu *pp)
{
	static atomic_t serial = ATOMIC_INIT(0);
	struct device *old = pp->pmu.dev;
	struct device *stand_in;

	stand_in = kzalloc_obj(*stand_in);
	if (!stand_in)
		goto keep_name;

	device_initialize(stand_in);
	stand_in->release = old->release;
	if (dev_set_name(stand_in, "pmukit_removed.%d.%s", atomic_inc_return(&serial), pp->name))
		goto put_stand_in;
	if (device_add(stand_in))
		goto put_stand_in;

	pp->pmu.dev = stand_in;
	device_del(old);
	put_device(old);
	return;

put_stand_in:
	put_device(stand_in);
keep_name:
	dev_warn(old, "the name stays in use until the last event is closed: out of memory\n");
}

/* Bug 8: the running time of an event */

/*
 * The time of the event's context that perf counts as enabled, and as running while the event is
 * active
 */
static u64 pmukit_context_time(const struct perf_event *event)
{
#ifdef HAVE_PERF_TIME_CTX
#define PMUKIT_TIME(_of)	((_of)->time.time)
#else
#define PMUKIT_TIME(_of)	((_of)->time)
#endif
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp)
		return PMUKIT_TIME(per_cpu_ptr(event->cgrp->info, event->cpu));
#endif
	return PMUKIT_TIME(event->ctx);
#undef PMUKIT_TIME
}

/**
 * pmukit_event_running_ns - the running time of an event as perf counts it, up to now
 * @event: the event
 *
 * Context: callback of the PMU: perf has just updated the time, and holds ctx->lock.
 *
 * Return: nanoseconds, without those of child events.
 */
u64 pmukit_event_running_ns(const struct perf_event *event)
{
	u64 since = event->state == PERF_EVENT_STATE_ACTIVE ?
			    pmukit_context_time(event) - event->tstamp :
			    0;

	return event->total_time_running + since;
}
EXPORT_SYMBOL_GPL(pmukit_event_running_ns);

/**
 * pmukit_event_add_running - correct the running time that all reads of an event report
 * @event: an event that was opened, not inherited
 * @ns: nanoseconds to add, negative for time in which an active event did not count
 *
 * Bug: perf counts an event as running while it is scheduled on a CPU. A PMU can refuse an event
 * when it is scheduled, but cannot say later that the event no longer counts, or counts again.
 * Kernels: to 7.2.
 * Fix to send: a function by which a PMU stops and starts the running time of an active event.
 *
 * The time is added to that of ended child events: every read includes it, and it is atomic.
 *
 * Context: any.
 */
void pmukit_event_add_running(struct perf_event *event, s64 ns)
{
	atomic64_add(ns, &event->child_total_time_running);
}
EXPORT_SYMBOL_GPL(pmukit_event_add_running);

/* Bug 9: groups of a CPU that was offline */

/**
 * pmukit_leader_left - test if the CPU of a new event's group leader went offline
 * @event: an event that is being opened
 *
 * Bug: perf takes the events of a CPU that goes offline out of their context and dissolves their
 * groups, but accepts siblings for such a leader once the CPU is back. Closing the leader does not
 * find these siblings: they use its freed memory. Software events alone are enough, so a module
 * can only keep its own events out of it, except if the CPU leaves just then.
 * Kernels: to 7.2.
 * Fix to send: perf_event_open() rejects a leader without PERF_ATTACH_CONTEXT.
 *
 * Return: true if the event must be rejected.
 */
bool pmukit_leader_left(const struct perf_event *event)
{
	const struct perf_event *leader = event->group_leader;

	return leader != event && !(READ_ONCE(leader->attach_state) & PERF_ATTACH_CONTEXT);
}
