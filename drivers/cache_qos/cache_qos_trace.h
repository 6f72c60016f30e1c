/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos: trace events for the values that a pass of the sampler reads, for changes of an RMID's
 * state, and for yielding the registers to other software. Stock perf records the trace events
 * (-e 'cache_qos:*'); they need no PMU event.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cache_qos

#if !defined(CACHE_QOS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CACHE_QOS_TRACE_H

#include <linux/tracepoint.h>

#include "cache_qos.h"

/* Makes the format files, which user space reads, show values instead of names of enums. */
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_KIND_MACHINE);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_KIND_GROUP);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_KIND_TASK);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_KIND_CPU);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_KIND_CGROUP);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_EVENT_OCCUPANCY);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_EVENT_TOTAL);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_EVENT_LOCAL);
TRACE_DEFINE_ENUM(PMUKIT_CACHE_QOS_EVENT_REMOTE);
TRACE_DEFINE_ENUM(CACHE_QOS_RMID_EVENT_ALLOC);
TRACE_DEFINE_ENUM(CACHE_QOS_RMID_EVENT_LIMBO);
TRACE_DEFINE_ENUM(CACHE_QOS_RMID_EVENT_FREE);
TRACE_DEFINE_ENUM(CACHE_QOS_RMID_EVENT_DIRTY);

TRACE_EVENT(cache_qos_sample,
	TP_PROTO(u32 domain, u32 monitor, u32 kind, u32 event,
		 const struct cache_qos_value *value, const struct cache_qos_name *name),

	TP_ARGS(domain, monitor, kind, event, value, name),

	TP_STRUCT__entry(
		__field(u64, bytes)
		__field(u64, bound)
		__field(u64, age_ns)
		__field(u32, domain)
		__field(u32, monitor)
		__field(u32, status)
		__field(u32, generation)
		__field(u8, kind)
		__field(u8, event)
		__field(u32, life)
		__field(u64, id)
		__dynamic_array(char, name, strlen(name->text) + 1)
	),

	TP_fast_assign(
		__entry->bytes = value->bytes;
		__entry->bound = value->bound;
		__entry->age_ns = value->age_ns;
		__entry->domain = domain;
		__entry->monitor = monitor;
		__entry->status = value->status;
		__entry->generation = value->generation;
		__entry->kind = kind;
		__entry->event = event;
		__entry->life = name->life;
		__entry->id = name->id;
		memcpy(__get_dynamic_array(name), name->text, strlen(name->text) + 1);
	),

	TP_printk("domain=%u monitor=%u kind=%s event=%s bytes=%llu bound=%llu age_ns=%llu status=0x%x generation=%u life=%u id=%llu name=%s",
		  __entry->domain, __entry->monitor,
		  __print_symbolic(__entry->kind,
				   { PMUKIT_CACHE_QOS_KIND_MACHINE, "machine" },
				   { PMUKIT_CACHE_QOS_KIND_GROUP, "group" },
				   { PMUKIT_CACHE_QOS_KIND_TASK, "task" },
				   { PMUKIT_CACHE_QOS_KIND_CPU, "cpu" },
				   { PMUKIT_CACHE_QOS_KIND_CGROUP, "cgroup" }),
		  __print_symbolic(__entry->event,
				   { PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, "llc_occupancy" },
				   { PMUKIT_CACHE_QOS_EVENT_TOTAL, "total_bytes" },
				   { PMUKIT_CACHE_QOS_EVENT_LOCAL, "local_bytes" },
				   { PMUKIT_CACHE_QOS_EVENT_REMOTE, "remote_bytes" }),
		  __entry->bytes, __entry->bound, __entry->age_ns, __entry->status,
		  __entry->generation, __entry->life, __entry->id, __get_str(name))
);

TRACE_EVENT(cache_qos_rmid,
	TP_PROTO(u32 rmid, enum cache_qos_rmid_event news),

	TP_ARGS(rmid, news),

	TP_STRUCT__entry(
		__field(u32, rmid)
		__field(u32, news)
	),

	TP_fast_assign(
		__entry->rmid = rmid;
		__entry->news = news;
	),

	TP_printk("rmid=%u %s", __entry->rmid,
		  __print_symbolic(__entry->news,
				   { CACHE_QOS_RMID_EVENT_ALLOC, "alloc" },
				   { CACHE_QOS_RMID_EVENT_LIMBO, "limbo" },
				   { CACHE_QOS_RMID_EVENT_FREE, "free" },
				   { CACHE_QOS_RMID_EVENT_DIRTY, "dirty" }))
);

TRACE_EVENT(cache_qos_yield,
	TP_PROTO(bool yielded),

	TP_ARGS(yielded),

	TP_STRUCT__entry(
		__field(bool, yielded)
	),

	TP_fast_assign(
		__entry->yielded = yielded;
	),

	TP_printk("%s", __entry->yielded ? "yielded" : "resumed")
);

#endif /* CACHE_QOS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cache_qos_trace
#include <trace/define_trace.h>
