// SPDX-License-Identifier: GPL-2.0-only
/* Never delete this probe: it proves that a probe can compile at all. */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/perf_event.h>

int probe(struct perf_event *event);
int probe(struct perf_event *event)
{
	return event->cpu;
}
