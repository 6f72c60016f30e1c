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
 * COMPAT_PMU_REVOKES: perf_pmu_unregister() detaches the events that are still open. Where it
 * is false, unregistering a PMU with open events corrupts memory.
 */
#ifdef HAVE_PMU_REVOKES_EVENTS
#define COMPAT_PMU_REVOKES	true

static inline int compat_pmu_unregister(struct pmu *pmu)
{
	return perf_pmu_unregister(pmu);
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
 *   up behind one call must be through before the next one, so calls keep a distance. They come
 *   from an ordered workqueue.
 */
static inline int compat_pmu_unregister(struct pmu *pmu)
{
	msleep(COMPAT_UNREGISTER_GAP_MS);
	cpu_hotplug_disable();
	perf_pmu_unregister(pmu);
	cpu_hotplug_enable();
	return 0;
}
#endif

/*
 * compat_cpu_events - how many events, of whatever PMU, have their place with this PMU on a CPU
 *
 * Not for PMUs of perf_sw_context, which share that place.
 */
#if defined(HAVE_PMU_CONTEXT_BY_POINTER)
static inline unsigned int compat_cpu_events(struct pmu *pmu, unsigned int cpu)
{
	const struct perf_cpu_pmu_context *cpc = *per_cpu_ptr(pmu->cpu_pmu_context, cpu);

	return cpc ? READ_ONCE(cpc->epc.nr_events) : 0;
}
#elif defined(HAVE_PMU_CONTEXT_OF_CPU)
static inline unsigned int compat_cpu_events(struct pmu *pmu, unsigned int cpu)
{
	return READ_ONCE(per_cpu_ptr(pmu->cpu_pmu_context, cpu)->epc.nr_events);
}
#else
static inline unsigned int compat_cpu_events(struct pmu *pmu, unsigned int cpu)
{
	return READ_ONCE(per_cpu_ptr(pmu->pmu_cpu_context, cpu)->ctx.nr_events);
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
