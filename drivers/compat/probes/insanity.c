// SPDX-License-Identifier: GPL-2.0-only
/* Never delete this probe: it proves that a missing member and a missing function are errors. */
#include <linux/perf_event.h>

int probe(struct perf_event *event);
int probe(struct perf_event *event)
{
	return pmukit_no_such_function(event->pmukit_no_such_member);
}
