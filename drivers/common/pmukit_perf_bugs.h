/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bugs of perf that a PMU which leaves meets, and what keeps clear of them; for pmukit_pmu.c alone.
 */
#ifndef PMUKIT_PERF_BUGS_H
#define PMUKIT_PERF_BUGS_H

#include <linux/types.h>

struct perf_event;
struct pmu;
struct pmukit_pmu;

/*
 * perf_pmu_unregister() detaches the events that are still open. Where it does not, unregistering a
 * PMU with open events corrupts memory.
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

/* Linux 6.1 alone */
#ifdef HAVE_PMU_CONTEXT_OF_CPU
static inline void pmukit_forget_pmu(struct perf_event *event)
{
}
#else
void pmukit_forget_pmu(struct perf_event *event);
#endif

/* Up to Linux 6.14 */
#ifdef HAVE_PMU_REVOKES_EVENTS
static inline void pmukit_wait_for_openers(void)
{
}
#else
void pmukit_wait_for_openers(void);
#endif

#endif /* PMUKIT_PERF_BUGS_H */
