// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 7.2 or newer. */
#include <linux/perf_event.h>

int probe(void);
int probe(void)
{
	return PERF_PMU_CAP_AUX_PREFER_LARGE;
}
