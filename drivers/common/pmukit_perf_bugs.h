/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workarounds for bugs of perf, for pmukit_pmu.c only. Those for drivers are in <pmukit/pmu.h>.
 */
#ifndef PMUKIT_PERF_BUGS_H
#define PMUKIT_PERF_BUGS_H

#include <linux/types.h>

struct perf_event;
struct pmu;
struct pmukit_pmu;

/*
 * True if perf_pmu_unregister() detaches open events. Otherwise unregistering a PMU with open
 * events corrupts memory.
 */
#ifdef HAVE_PMU_REVOKES_EVENTS
#define PMUKIT_PMU_REVOKES	true
#else
#define PMUKIT_PMU_REVOKES	false
#endif

unsigned int pmukit_cpu_events(struct pmu *pmu, unsigned int cpu);
bool pmukit_has_foreign_events(struct pmukit_pmu *pp, const struct perf_event *dying);
int pmukit_perf_unregister(struct pmu *pmu);
void pmukit_give_up_name(struct pmukit_pmu *pp);
bool pmukit_leader_left(const struct perf_event *event);

/* Needed on Linux 6.1 only */
#ifdef HAVE_PMU_CONTEXT_OF_CPU
static inline void pmukit_forget_pmu(struct perf_event *event)
{
}
#else
void pmukit_forget_pmu(struct perf_event *event);
#endif

/* Needed up to Linux 6.14 */
#ifdef HAVE_PMU_REVOKES_EVENTS
static inline void pmukit_wait_for_openers(void)
{
}
#else
void pmukit_wait_for_openers(void);
#endif

#endif /* PMUKIT_PERF_BUGS_H */
