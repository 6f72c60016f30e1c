// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bugs of perf that a PMU which leaves meets, and what keeps clear of them. This is the only file
 * that looks into what perf keeps for itself. Decision 0015 says why it is needed.
 *
 *   bug                                            kernels     here
 *   1 open events are not detached                 to 6.14     pmukit_give_up_name()
 *   2 software events in a group are forgotten     to 7.2      pmukit_has_foreign_events()
 *   3 a timer of a freed PMU runs                  to 7.2      pmukit_stop_rotation()
 *   4 unregistering hangs with CPU hotplug         to 6.14     pmukit_perf_unregister()
 *   5 a PMU that is unregistered is found          to 6.14     pmukit_wait_for_openers()
 *   6 a task names a PMU that is freed             to 6.1      pmukit_forget_pmu()
 *   7 one group of events moves a call             from 6.15   pmukit_cpu_events()
 *
 * "To 7.2" is the newest kernel there was. Compile probes choose (drivers/compat/probes); what a
 * kernel does not need is not built for it. 4 and 5 are fixed by one commit of 6.15, which stable
 * kernels have as well (6.6.83, 6.12.19, 6.13.7): it changes no header, so no probe tells them from
 * the others of their series. They lose 20 ms when a PMU leaves, and CPU hotplug meanwhile.
 */

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/device.h>
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
 * What a PMU has of a CPU: the place of the events that are scheduled with it, of whichever PMU
 * they are, and the timer that rotates them. There is one of every possible CPU once the PMU is
 * registered. Not for PMUs of perf_sw_context: up to Linux 6.1 these have one place together.
 */
#if defined(HAVE_PMU_CONTEXT_BY_POINTER)
#define PMUKIT_PMU_HOLDS	1	/* the PMU itself has a reference */

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

/* 7 and 2: events and references */

/**
 * pmukit_cpu_events - how many events are scheduled with a PMU on a CPU
 * @pmu: a registered PMU, not of perf_sw_context
 * @cpu: the CPU
 *
 * Bug: perf_pmu_migrate_context() goes on from the place of the group it has just taken out, which
 * has none any more: one call moves one group.
 * Kernels: from 6.15 (the rewrite of that loop) to 7.2.
 * Fix to send: __perf_pmu_remove() collects the groups before it removes the first.
 *
 * Return: the number of events, with which a caller knows how often to call.
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
 * References to that place: one of each event that is there, or was and is not freed yet. Others
 * come and go in a moment.
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
 * Has the event such a reference for certain? Perf stores its context when nothing can fail any
 * more, behind the reference, and it stays until the end.
 */
static bool pmukit_event_holds(const struct perf_event *event)
{
	return smp_load_acquire(&event->ctx);
}

/**
 * pmukit_has_foreign_events - do events of other PMUs hold a context of this PMU
 * @pp: the PMU, its lock held
 * @dying: an event that is no longer among ours, or NULL; it may not be freed meanwhile
 *
 * Bug: a software event that joins a group is scheduled with the PMU of its leader
 * (perf_event_open() picks group_leader->pmu_ctx->pmu) and stays so. perf does not look for such an
 * event when that PMU is unregistered: it frees the context the event uses (6.1, 6.12), or the PMU
 * the event names (7.2, whose pmu_detach_events() goes through the PMU's own events).
 * Kernels: to 7.2.
 * Fix to send: pmu_detach_events() goes through the events of the PMU's contexts.
 *
 * Our own events are counted before all holders: one of ours that takes its reference in between is
 * mistaken for another PMU's event, never the other way round.
 *
 * Return: true when there are such events, or may be.
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

/* 6: what a task has of software events */

#ifndef HAVE_PMU_CONTEXT_OF_CPU
/**
 * pmukit_forget_pmu - a task does not name the event's PMU any more
 * @event: an event that is destroyed, maybe one that has not been opened
 *
 * Bug: what a task has of software events names the PMU of the first of them until the task is
 * switched to: a task that sleeps may keep it longer than there is the PMU.
 * Kernels: to 6.1 (6.2: "perf: Rewrite core context handling").
 * Fix to send: none; the code is gone.
 *
 * All PMUs of perf_sw_context have the same contexts, so perf puts another in its place then.
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

/* 3 and 4: unregistering */

/*
 * Bug: perf rotates events by a timer for each PMU and CPU. A write to perf_event_mux_interval_ms
 * arms them all, for as long as it says, and they are freed with the PMU while they run.
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
		/* What is active already is not armed again. */
		raw_spin_lock_irqsave(&context->hrtimer_lock, flags);
		context->hrtimer_active = 1;
		raw_spin_unlock_irqrestore(&context->hrtimer_lock, flags);
		hrtimer_cancel(&context->hrtimer);
	}
}

/**
 * pmukit_perf_unregister - take a PMU from perf
 * @pmu: a registered PMU; without open events where the kernel does not revoke them
 *
 * Bug: perf_pmu_unregister() waits for openers of events with pmus_lock held. Two ways to hang are
 * in it:
 *
 * - perf_swevent_init(), an opener, waits for the hotplug lock, which a CPU that leaves holds while
 *   it waits for pmus_lock in perf_event_exit_cpu_context(). So no CPU may come or go meanwhile: it
 *   gets -EBUSY, as while a PCI driver probes.
 * - perf_swevent_init() waits for pmus_lock itself. A driver cannot prevent it; openers that queued
 *   up behind one call must be through before the next one, so calls keep a distance.
 *
 * Kernels: to 6.14 (6.15: 2565e42539b1 "perf/core: Fix pmus_lock vs. pmus_srcu ordering"); not
 * 6.6.83, 6.12.19 and later ones of these series, where this is needless and does no harm.
 * Fix to send: that commit, to 6.1.
 *
 * Context: may sleep; one call at a time.
 *
 * Return: 0 or what perf_pmu_unregister() says.
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

/* 5: openers */

#ifndef HAVE_PMU_REVOKES_EVENTS
static int pmukit_last_event_init(struct perf_event *event)
{
	return -ENOENT;
}

/* Comes and goes at once, and has no events. Nothing frees it. */
static struct pmu pmukit_last = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.event_init = pmukit_last_event_init,
};

static int pmukit_last_comes_and_goes(void)
{
	int ret;

	/* It can do without a device, where there is a word for that. */
#ifdef PMU_NULL_DEV
	pmukit_last.dev = PMU_NULL_DEV;
#else
	/* One that is set may be taken for one that is there. */
	pmukit_last.dev = NULL;
#endif
	ret = perf_pmu_register(&pmukit_last, "pmukit_last", -1);
	return ret ? ret : pmukit_perf_unregister(&pmukit_last);
}

/**
 * pmukit_wait_for_openers - before a PMU that perf had is freed; not without it
 *
 * Bug: perf_pmu_unregister() takes the PMU's number away after it has waited for openers: one that
 * looked it up in between is in perf_try_init_event() with a PMU that is unregistered, and may
 * sleep there.
 * Kernels: to 6.14, by the same commit: it takes the number away first.
 * Fix to send: that commit, to 6.1.
 *
 * What openers hold is perf's own, but the end of any PMU waits for it: another one comes and goes.
 *
 * Context: may sleep, for as long as memory is short; one call at a time, beside no
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

/* 1 and 2: the name of a PMU that has to stay */

/**
 * pmukit_give_up_name - let the name in sysfs be used again, before the PMU is unregistered
 * @pp: a registered PMU whose hardware is gone, with events of its own or of other PMUs
 *
 * Bug: perf_pmu_unregister() does not detach open events, so a PMU that has some must stay.
 * Kernels: to 6.14 (6.15: "perf: Make perf_pmu_unregister() useable"); later ones for events of
 * other PMUs.
 * Fix to send: that of pmukit_has_foreign_events().
 *
 * perf has no call to rename a registered PMU, and device_rename() leaves the link of the bus
 * behind. So perf gets another device to unregister later: one outside the bus, that no tool looks
 * at. It is released by the function of the one it replaces, which is part of the kernel image and
 * frees it.
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
