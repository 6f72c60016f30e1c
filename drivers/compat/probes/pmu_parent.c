// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 6.7 or newer. */
#include <linux/perf_event.h>

struct device *probe(const struct pmu *pmu);
struct device *probe(const struct pmu *pmu)
{
	return pmu->parent;
}
