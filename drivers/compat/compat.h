/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forced into every file of every module (see the top Kbuild): what an older kernel lacks, under
 * its upstream name, and what changed shape, under a compat_ name. The only reader of HAVE_*.
 */
#ifndef PMUKIT_COMPAT_H
#define PMUKIT_COMPAT_H

#include "kernels.h"
#include <pmukit_compat_config.h>

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

/* What it says was meant where it does not exist. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
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
