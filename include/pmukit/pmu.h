/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of pmukit_common for the drivers: lifecycle of a PMU, delivery of records, and sysfs
 * groups that all drivers share.
 */
#ifndef PMUKIT_PMU_H
#define PMUKIT_PMU_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <pmukit/aux_core.h>
#include <pmukit/raw.h>

struct dentry;
struct pmukit_event;
struct pmukit_pmu;

/* Counters of one PMU, shown in debugfs under these names in lower case. */
enum pmukit_stat {
	PMUKIT_STAT_RECORDS,	/* records delivered to perf */
	PMUKIT_STAT_ENTRIES,	/* entries in these records */
	PMUKIT_STAT_LOST,	/* entries read or discarded without delivery */
	PMUKIT_STAT_OVERFLOWS,	/* how often the device reported an overflow */
	PMUKIT_STAT_RESETS,	/* how often a running device lost its configuration */
	PMUKIT_STAT_REJECTED,	/* invalid values read from the device */
	PMUKIT_STAT_TIMEOUTS,	/* operations the device did not finish in time */
	PMUKIT_NR_STATS
};

/**
 * enum pmukit_scope - what an event of a PMU counts for, like perf's PERF_PMU_SCOPE_*
 * @PMUKIT_SCOPE_SYSTEM: the whole system; all events run on one CPU
 * @PMUKIT_SCOPE_GROUPS: a group of CPUs; events of a group run on one of its CPUs
 * @PMUKIT_SCOPE_CPUS: a CPU or a task; events run on the CPU they were opened for
 */
enum pmukit_scope {
	PMUKIT_SCOPE_SYSTEM,
	PMUKIT_SCOPE_GROUPS,
	PMUKIT_SCOPE_CPUS,
};

/**
 * struct pmukit_pmu_ops - callbacks of a driver
 * @release: the last reference was dropped: free the object that contains the pmukit_pmu. May
 *	sleep.
 * @event_free: the event was destroyed: free the object that contains the pmukit_event. May sleep.
 * @same_group: with PMUKIT_SCOPE_GROUPS: return true if two online CPUs are in one group. Return
 *	false if a CPU has no group or its group is not known yet, even if both CPUs are the same.
 *	Called in any context.
 * @place_changed: optional: reports that all events (with PMUKIT_SCOPE_GROUPS: all events of the
 *	CPU's group) run on @cpu from now on. Called after the events have moved to @cpu, while the
 *	old and the new CPU are online, and with PMUKIT_SCOPE_SYSTEM also before the PMU is
 *	registered; never after pmukit_pmu_remove() has returned. May sleep, but must not call
 *	perf_event functions, because it runs under hotplug_lock.
 */
struct pmukit_pmu_ops {
	void (*release)(struct pmukit_pmu *pp);
	void (*event_free)(struct pmukit_event *pev);
	bool (*same_group)(struct pmukit_pmu *pp, unsigned int a, unsigned int b);
	void (*place_changed)(struct pmukit_pmu *pp, unsigned int cpu);
};

/**
 * struct pmukit_pmu - a PMU that may outlive its hardware
 * @pmu: what perf sees; the driver fills in the callbacks before pmukit_pmu_register()
 * @ops: callbacks of the driver
 * @max_events: limit of open events; the next one gets -EBUSY
 * @scope: see enum pmukit_scope
 * @ends_in_error: when the hardware is removed, open events end in error instead of being revoked,
 *	because a revoked event keeps a count that looks complete
 * @cpu: with PMUKIT_SCOPE_SYSTEM: the CPU all events run on. Changes when that CPU goes offline,
 *	and when a CPU on @node goes online while @cpu is on another node.
 * @cpus: with PMUKIT_SCOPE_GROUPS: for each group, the CPU that runs the events of the group. If
 *	several CPUs of a group are set, the first is used (pmukit_pmu_servers()).
 * @stats: see enum pmukit_stat
 * @debugfs: directory that shows @stats
 * @ref: the driver holds one reference, the registration with perf another
 * @lock: protects the members from @events to @leaving, and @waiting; process context only
 * @events: every event between pmukit_event_open() and its destruction
 * @nr_events: number of @events; a driver may read it without the lock
 * @nr_dying: events removed from @events whose driver data is still being freed
 * @pinned: the event that pmukit_pmu_disable_events() is disabling; it must not be freed while it
 *	is pinned
 * @unpinned: woken when @pinned is cleared
 * @gone: the hardware is gone; never cleared
 * @moving: events are migrating to another CPU
 * @revoked: perf_pmu_unregister() revokes the open events
 * @leaving: removal is done; destroying the last event unregisters the PMU
 * @leave_node: entry in the list of PMUs to unregister
 * @waiting: events of other PMUs use a context of this PMU; @foreign_work polls until they are gone
 * @foreign_work: delayed work; holds the driver's module while it is scheduled
 * @hotplug_node: entry in the CPU hotplug state's list
 * @node: NUMA node of the hardware
 * @hotplug_lock: serializes registration and the CPU hotplug callback
 * @registered: perf knows the PMU; from then on events follow @cpu and @cpus
 * @name: the name in /sys/bus/event_source/devices
 */
struct pmukit_pmu {
	struct pmu pmu;
	const struct pmukit_pmu_ops *ops;
	unsigned int max_events;
	enum pmukit_scope scope;
	bool ends_in_error;
	unsigned int cpu;
	struct cpumask cpus;
	atomic64_t stats[PMUKIT_NR_STATS];
	struct dentry *debugfs;

	struct kref ref;
	spinlock_t lock;		/* events to leaving, waiting */
	struct list_head events;
	unsigned int nr_events;
	unsigned int nr_dying;
	struct perf_event *pinned;
	wait_queue_head_t unpinned;
	bool gone;
	bool moving;
	bool revoked;
	bool leaving;
	struct list_head leave_node;
	bool waiting;
	struct delayed_work foreign_work;
	struct hlist_node hotplug_node;
	int node;
	struct mutex hotplug_lock;	/* registration against hotplug */
	bool registered;
	char name[64];
};

/**
 * struct pmukit_event - driver data of an open event
 * @event: the perf event
 * @sequence: number of the next record; the first record of an event has number 0
 * @lost: entries that were read or discarded without being delivered, since the event was opened
 * @node: entry in pmukit_pmu.events
 * @regs: registers in a sample: kernel mode without an instruction pointer, unless
 *	pmukit_sampling_point() sets others
 */
struct pmukit_event {
	struct perf_event *event;
	u64 sequence;
	u64 lost;
	struct list_head node;
	struct pt_regs regs;
};

static inline struct pmukit_pmu *to_pmukit_pmu(struct pmu *pmu)
{
	return container_of(pmu, struct pmukit_pmu, pmu);
}

static inline struct pmukit_event *to_pmukit_event(struct perf_event *event)
{
	return event->pmu_private;
}

/*
 * perf sets hw.interrupts of a throttled event to U64_MAX, and drops the samples of such an event.
 * Linux 7.2 throttles whole groups: it sets the value in each event before it stops the event.
 */
static inline bool pmukit_event_throttled(const struct perf_event *event)
{
	return event->hw.interrupts == U64_MAX;
}

/* True while events migrate: a stopped event will continue on another CPU. */
static inline bool pmukit_pmu_moving(const struct pmukit_pmu *pp)
{
	return READ_ONCE(pp->moving);
}

static inline bool pmukit_pmu_gone(const struct pmukit_pmu *pp)
{
	return READ_ONCE(pp->gone);
}

static inline void pmukit_stat_add(struct pmukit_pmu *pp, enum pmukit_stat stat, u64 n)
{
	atomic64_add(n, &pp->stats[stat]);
}

static inline void pmukit_stat_inc(struct pmukit_pmu *pp, enum pmukit_stat stat)
{
	atomic64_inc(&pp->stats[stat]);
}

/* Lifecycle of a PMU: pmukit_pmu.c */
void pmukit_pmu_init(struct pmukit_pmu *pp, const struct pmukit_pmu_ops *ops, struct module *owner);
int pmukit_pmu_register(struct pmukit_pmu *pp, struct device *parent);
void pmukit_pmu_disable_events(struct pmukit_pmu *pp);
void pmukit_pmu_remove(struct pmukit_pmu *pp);
void pmukit_pmu_get(struct pmukit_pmu *pp);
void pmukit_pmu_put(struct pmukit_pmu *pp);
void pmukit_pmu_flush(void);
void pmukit_kick_sync(void);
void pmukit_pmu_servers(struct pmukit_pmu *pp, struct cpumask *servers);
int pmukit_event_open(struct pmukit_pmu *pp, struct pmukit_event *pev, struct perf_event *event);

/* Running times of events, for drivers whose events count only part of the time they are active */
u64 pmukit_event_running_ns(const struct perf_event *event);
void pmukit_event_add_running(struct perf_event *event, s64 ns);

/*
 * A record under construction: header of a raw sample, then the words. The words are 8-byte aligned
 * here and, because the header has 12 bytes, in perf's stream as well.
 */
#define PMUKIT_RECORD_WORDS	64

struct pmukit_record {
	u32 pad;
	struct pmukit_raw_header raw;
	u64 words[PMUKIT_RECORD_WORDS];		/* little-endian */
};

static_assert(sizeof(struct pmukit_raw_header) == 12);
static_assert(offsetof(struct pmukit_record, words) == 16);

/**
 * struct pmukit_sink - destination of the records of one drain
 * @pev: the event
 * @handle: the open AUX transaction, if @ring is set
 * @ring: the AUX ring; NULL: the record becomes a sample, or is only counted
 * @rctx: perf's recursion context of a sample; negative: not held
 * @written_bytes: bytes written to the AUX ring so far
 * @room_words: length of the longest record that can be delivered now
 */
struct pmukit_sink {
	struct pmukit_event *pev;
	struct perf_output_handle handle;
	const struct pmukit_aux_ring *ring;
	int rctx;
	u64 written_bytes;
	u32 room_words;
};

/* Delivery of records: pmukit_output.c */
const void *pmukit_aux_of_event(const struct perf_event *event);
void *pmukit_aux_begin(struct perf_output_handle *handle, struct perf_event *event);
void *pmukit_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
void pmukit_free_aux(void *aux);
int pmukit_check_period(struct perf_event *event, u64 value);
const char *pmukit_sampling_wrong(const struct perf_event_attr *attr);
void pmukit_sampling_prepare(struct pmukit_event *pev);
void pmukit_sampling_point(struct pmukit_event *pev, u64 ip, bool user);
bool pmukit_sink_open_aux(struct pmukit_sink *sink, struct pmukit_event *pev);
bool pmukit_sink_open(struct pmukit_sink *sink, struct pmukit_event *pev);
void pmukit_sink_stage(struct pmukit_sink *sink, const u64 *words, u32 nr_words);
void pmukit_sink_commit(struct pmukit_sink *sink, u32 nr_words, u32 nr_entries);
bool pmukit_sink_sample(struct pmukit_sink *sink, struct pmukit_raw_header *raw, u32 nr_words,
			u32 nr_entries);
bool pmukit_sink_deliver(struct pmukit_sink *sink, struct pmukit_record *record,
			 u32 nr_words, u32 nr_entries);
void pmukit_sink_close(struct pmukit_sink *sink, u64 aux_flags);

/* sysfs: pmukit_sysfs.c */
extern const struct attribute_group pmukit_cpumask_group;

/**
 * struct pmukit_cap - one file in a PMU's caps/ directory
 * @attr: the file
 * @emit: writes the content, without the newline, at offset @at of @buf; returns the length
 */
struct pmukit_cap {
	struct device_attribute attr;
	int (*emit)(struct pmukit_pmu *pp, char *buf, int at);
};

ssize_t pmukit_cap_show(struct device *dev, struct device_attribute *attr, char *buf);
int pmukit_emit_bits(char *buf, int at, u64 mask);

#define PMUKIT_CAP(_name, _emit)						\
	static struct pmukit_cap _name = {					\
		.attr = __ATTR(_name, 0444, pmukit_cap_show, NULL),		\
		.emit = _emit,							\
	}

#endif /* PMUKIT_PMU_H */
