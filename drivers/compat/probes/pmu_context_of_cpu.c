// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 6.2 or newer. */
#include <linux/perf_event.h>

unsigned int probe(struct pmu *pmu);
unsigned int probe(struct pmu *pmu)
{
	struct perf_cpu_pmu_context *cpc = (void *)per_cpu_ptr(pmu->cpu_pmu_context, 0);

	return cpc->epc.nr_events;
}
