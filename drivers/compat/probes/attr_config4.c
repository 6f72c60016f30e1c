// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 7.2 or newer. */
#include <linux/perf_event.h>

u64 probe(const struct perf_event_attr *attr);
u64 probe(const struct perf_event_attr *attr)
{
	return attr->config4;
}
