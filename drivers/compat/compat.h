/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forced into every file of every module (see the top Kbuild): what an older kernel lacks, under
 * its upstream name, and what changed shape, under a compat_ name. The only reader of HAVE_*.
 */
#ifndef PMUKIT_COMPAT_H
#define PMUKIT_COMPAT_H

#include "kernels.h"
#include <pmukit_compat_config.h>

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

/* Before there was a header of its own, <asm/processor.h> had it. */
#ifdef HAVE_CPUID_API
#include <asm/cpuid/api.h>
#endif

/* AUX memory comes in large chunks by itself where the flag does not exist. */
#ifndef HAVE_PMU_CAP_AUX_PREFER_LARGE
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/* Only the form with default flags is used here. */
#ifndef HAVE_KZALLOC_OBJ
#define kzalloc_obj(_object)	((typeof(_object) *)kzalloc(sizeof(_object), GFP_KERNEL))
#endif

/* Of x86 only, where the names are free for macros. */
#ifndef HAVE_RDMSRQ
#define rdmsrq_safe		rdmsrl_safe
#define wrmsrq_safe		wrmsrl_safe
#define rdmsrq_safe_on_cpu	rdmsrl_safe_on_cpu
#define wrmsrq_safe_on_cpu	wrmsrl_safe_on_cpu
#endif

/*
 * What a PMU has of a CPU: the place of the events that are scheduled with it, whoever's they are,
 * and the timer that rotates them. There is one of every possible CPU once the PMU is registered.
 */
#if defined(HAVE_PMU_CONTEXT_BY_POINTER)
#define COMPAT_PMU_HOLDS	1	/* the PMU itself has a reference */

static inline struct perf_cpu_pmu_context *compat_cpu_context(struct pmu *pmu, unsigned int cpu)
{
	return *per_cpu_ptr(pmu->cpu_pmu_context, cpu);
}
#elif defined(HAVE_PMU_CONTEXT_OF_CPU)
#define COMPAT_PMU_HOLDS	0

static inline struct perf_cpu_pmu_context *compat_cpu_context(struct pmu *pmu, unsigned int cpu)
{
	return per_cpu_ptr(pmu->cpu_pmu_context, cpu);
}
#else
static inline struct perf_cpu_context *compat_cpu_context(struct pmu *pmu, unsigned int cpu)
{
	return per_cpu_ptr(pmu->pmu_cpu_context, cpu);
}
#endif

/*
 * compat_cpu_events - how many events are scheduled with a PMU on a CPU
 * compat_cpu_holders - how many references to that place there are, one of each event that is
 *			there, or was and is not freed yet; others come and go in a moment
 * compat_event_holds - has an event such a reference for certain; it may not be freed meanwhile
 *
 * Not for PMUs of perf_sw_context: up to Linux 6.1 these have one place together.
 */
#ifdef HAVE_PMU_CONTEXT_OF_CPU
static inline unsigned int compat_cpu_events(struct pmu *pmu, unsigned int cpu)
{
	const struct perf_cpu_pmu_context *cpc = compat_cpu_context(pmu, cpu);

	return READ_ONCE(cpc->epc.nr_events);
}

static inline unsigned int compat_cpu_holders(struct pmu *pmu, unsigned int cpu)
{
	const struct perf_cpu_pmu_context *cpc = compat_cpu_context(pmu, cpu);

	if (!READ_ONCE(cpc->epc.ctx))
		return 0;
	return atomic_read(&cpc->epc.refcount) - COMPAT_PMU_HOLDS;
}
#else
static inline unsigned int compat_cpu_events(struct pmu *pmu, unsigned int cpu)
{
	return READ_ONCE(compat_cpu_context(pmu, cpu)->ctx.nr_events);
}

static inline unsigned int compat_cpu_holders(struct pmu *pmu, unsigned int cpu)
{
	return refcount_read(&compat_cpu_context(pmu, cpu)->ctx.refcount) - 1;
}
#endif

/* Perf stores it when nothing can fail any more; it stays until the end. */
static inline bool compat_event_holds(const struct perf_event *event)
{
	/* Perf takes the reference before. */
	return smp_load_acquire(&event->ctx);
}

/*
 * compat_forget_pmu - a task does not name the event's PMU any more
 *
 * Up to Linux 6.1 what a task has of software events names the PMU of the first of them, until the
 * task is switched to: a task that sleeps may keep it longer than there is the PMU. All PMUs of
 * perf_sw_context have the same contexts, so perf itself puts another in its place then.
 *
 * Context: destruction of an event, also of one that has not been opened.
 */
#ifdef HAVE_PMU_CONTEXT_OF_CPU
static inline void compat_forget_pmu(struct perf_event *event)
{
}
#else
static inline void compat_forget_pmu(struct perf_event *event)
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
			ctx->pmu = compat_cpu_context(pmu, 0)->ctx.pmu;
		raw_spin_unlock_irqrestore(&ctx->lock, flags);
	}
	rcu_read_unlock();
}
#endif

/*
 * perf rotates events by a timer for each PMU and CPU. It frees them with the PMU, and a write to
 * perf_event_mux_interval_ms arms them all, for as long as it says.
 */
static inline void compat_stop_rotation(struct pmu *pmu)
{
	unsigned int cpu;

#ifndef HAVE_PMU_CONTEXT_OF_CPU
	if (pmu->task_ctx_nr == perf_sw_context)
		return;
#endif
	for_each_possible_cpu(cpu) {
		typeof(compat_cpu_context(pmu, cpu)) context = compat_cpu_context(pmu, cpu);
		unsigned long flags;

		hrtimer_cancel(&context->hrtimer);
		/* What is active already is not armed again. */
		raw_spin_lock_irqsave(&context->hrtimer_lock, flags);
		context->hrtimer_active = 1;
		raw_spin_unlock_irqrestore(&context->hrtimer_lock, flags);
		hrtimer_cancel(&context->hrtimer);
	}
}

/*
 * COMPAT_PMU_REVOKES: perf_pmu_unregister() detaches the events that are still open. Where it
 * is false, unregistering a PMU with open events corrupts memory.
 */
#ifdef HAVE_PMU_REVOKES_EVENTS
#define COMPAT_PMU_REVOKES	true

static inline int compat_pmu_unregister(struct pmu *pmu)
{
	compat_stop_rotation(pmu);
	return perf_pmu_unregister(pmu);
}

static inline int compat_pmu_wait_for_openers(struct pmu *last)
{
	return 0;
}
#else
#define COMPAT_PMU_REVOKES	false
#define COMPAT_UNREGISTER_GAP_MS	20

/*
 * 6.1 waits for openers of events with pmus_lock held. Two ways to hang are in it:
 * - perf_swevent_init(), an opener, waits for the hotplug lock, which a CPU that leaves holds while
 *   it waits for pmus_lock in perf_event_exit_cpu_context(). So no CPU may come or go meanwhile:
 *   it gets -EBUSY, as while a PCI driver probes.
 * - perf_swevent_init() waits for pmus_lock itself. A driver cannot prevent it; openers who queued
 *   up behind one call must be through before the next one, so calls keep a distance. The
 *   caller sees to it that there is one at a time.
 */
static inline int compat_pmu_unregister(struct pmu *pmu)
{
	compat_stop_rotation(pmu);
	msleep(COMPAT_UNREGISTER_GAP_MS);
	cpu_hotplug_disable();
	perf_pmu_unregister(pmu);
	cpu_hotplug_enable();
	return 0;
}

/*
 * 6.1 has a PMU found by its number until after it has waited for openers: who looked it up in
 * between is in perf_try_init_event() with one that is unregistered, and may sleep there. They are
 * waited for when another PMU goes, @last, which nobody frees. 6.12 would not need that, but cannot
 * be told from those in between. It can do without a device for @last.
 */
static inline int compat_pmu_wait_for_openers(struct pmu *last)
{
	int ret;

#ifdef PMU_NULL_DEV
	last->dev = PMU_NULL_DEV;
#else
	/* One that is set may be taken for one that is there. */
	last->dev = NULL;
#endif
	ret = perf_pmu_register(last, "pmukit_last", -1);
	return ret ? ret : compat_pmu_unregister(last);
}
#endif

/*
 * The parent is set only where the PMU's device is certain to go before its parent: a PMU that
 * has to outlive its hardware must not be its child in sysfs.
 */
static inline void compat_pmu_set_parent(struct pmu *pmu, struct device *parent)
{
#if defined(HAVE_PMU_PARENT) && defined(HAVE_PMU_REVOKES_EVENTS)
	pmu->parent = parent;
#endif
}

/* The configuration words a kernel has beyond config2, all in one: non-zero is "something set". */
static inline u64 compat_attr_extra_config(const struct perf_event_attr *attr)
{
	u64 extra = 0;

#ifdef HAVE_ATTR_CONFIG3
	extra |= attr->config3;
#endif
#ifdef HAVE_ATTR_CONFIG4
	extra |= attr->config4;
#endif
	return extra;
}

#endif /* PMUKIT_COMPAT_H */
