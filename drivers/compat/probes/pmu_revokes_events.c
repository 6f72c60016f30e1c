// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 6.15 or newer. */
#include <linux/perf_event.h>

int probe(struct pmu *pmu, const struct perf_event *event);
int probe(struct pmu *pmu, const struct perf_event *event)
{
	if (event->state == PERF_EVENT_STATE_REVOKED)
		return 0;
	return perf_pmu_unregister(pmu);
}
