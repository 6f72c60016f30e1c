/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included in every file of every module (see the top Kbuild). Functions that older kernels lack
 * are defined here under their upstream names; interfaces that changed have wrappers with a compat_
 * prefix. Outside of this file only drivers/common/pmukit_perf_bugs.[ch] read HAVE_*.
 */
#ifndef PMUKIT_COMPAT_H
#define PMUKIT_COMPAT_H

#include "kernels.h"
#include <pmukit_compat_config.h>

#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

/* Older kernels have the CPUID functions in <asm/processor.h>. */
#ifdef HAVE_CPUID_API
#include <asm/cpuid/api.h>
#endif

/* Kernels without this flag always allocate AUX memory in large chunks. */
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

/* Workqueues of kernels without the flag are per-CPU by default. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* The modules use kzalloc_obj() only without its optional flags. */
#ifndef HAVE_KZALLOC_OBJ
#define kzalloc_obj(_object)	((typeof(_object) *)kzalloc(sizeof(_object), GFP_KERNEL))
#endif

/* x86 only. Older kernels have the same functions under other names. */
#ifndef HAVE_RDMSRQ
#define rdmsrq_safe		rdmsrl_safe
#define wrmsrq_safe		wrmsrl_safe
#define rdmsrq_safe_on_cpu	rdmsrl_safe_on_cpu
#define wrmsrq_safe_on_cpu	wrmsrl_safe_on_cpu
#endif

/*
 * A PMU that may outlive its hardware must not be a child of the hardware's device in sysfs. So the
 * parent is set only on kernels that revoke events, where the PMU is removed first.
 */
static inline void compat_pmu_set_parent(struct pmu *pmu, struct device *parent)
{
#if defined(HAVE_PMU_PARENT) && defined(HAVE_PMU_REVOKES_EVENTS)
	pmu->parent = parent;
#endif
}

/* Return: non-zero if any configuration word after config2 is not 0. */
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
