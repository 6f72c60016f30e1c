// SPDX-License-Identifier: GPL-2.0-only
/* cache_qos: defines the trace events; emits the values after a pass, and the events of RMIDs. */

#include "cache_qos.h"

#define CREATE_TRACE_POINTS
#include "cache_qos_trace.h"

static bool cache_qos_trace_value(struct cache_qos_live *live, u16 monitor, u32 event, u16 domain,
				  struct cache_qos_value *value)
{
	int ret = -ENOENT;

	raw_spin_lock_irq(&live->lock);
	if (live->core.monitors[monitor].used)
		ret = cache_qos_monitor_value(&live->core, monitor, event, domain,
					      cache_qos_now_ns(), value);
	raw_spin_unlock_irq(&live->lock);
	return !ret;
}

static void cache_qos_trace_monitor(struct cache_qos_live *live, u16 monitor, u32 event)
{
	const struct cache_qos_name *name = &live->names[monitor];
	u32 d, nr = cache_qos_nr_domains(&live->core);
	struct cache_qos_value value;

	for (d = 0; d < nr; d++) {
		if (cache_qos_trace_value(live, monitor, event, d, &value))
			trace_cache_qos_sample(live->core.domains[d].is.id, monitor,
					       live->core.monitors[monitor].kind, event, &value,
					       name);
	}
}

/**
 * cache_qos_trace_samples - emit the values of all monitors if the trace event is enabled
 * @live: driver state, after a pass
 */
void cache_qos_trace_samples(struct cache_qos_live *live)
{
	u32 event;
	u16 m;

	if (!trace_cache_qos_sample_enabled())
		return;
	for (m = 0; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (!READ_ONCE(live->core.monitors[m].used))
			continue;
		for (event = PMUKIT_CACHE_QOS_EVENT_OCCUPANCY; event <= CACHE_QOS_NR_EVENTS;
		     event++)
			cache_qos_trace_monitor(live, m, event);
	}
}

/**
 * cache_qos_trace_rmid_event - trace an event of an RMID (cache_qos.notify)
 * @cq: core state
 * @news: what happened to the RMID
 * @rmid: the RMID
 *
 * Context: the core lock is held, perhaps also the lock of a run queue.
 */
void cache_qos_trace_rmid_event(struct cache_qos *cq, enum cache_qos_rmid_event news, u32 rmid)
{
	trace_cache_qos_rmid(rmid, news);
}
