/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What pmukit_common offers to the drivers: the life of a PMU, the way of a record
 * to its reader, and the sysfs groups all drivers share.
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
	PMUKIT_STAT_RECORDS,	/* records handed to perf */
	PMUKIT_STAT_ENTRIES,	/* entries in them */
	PMUKIT_STAT_LOST,	/* entries read or dropped but never handed over */
	PMUKIT_STAT_OVERFLOWS,	/* times the device said that it dropped some itself */
	PMUKIT_STAT_RESETS,	/* times the device lost its configuration while running */
	PMUKIT_STAT_REJECTED,	/* values of the device that could not be true */
	PMUKIT_STAT_TIMEOUTS,	/* operations the device did not finish in time */
	PMUKIT_NR_STATS
};

/**
 * enum pmukit_scope - what an event of a PMU counts for, as perf's PERF_PMU_SCOPE_*
 * @PMUKIT_SCOPE_SYSTEM: the whole system; all events run on one CPU
 * @PMUKIT_SCOPE_GROUPS: one group of CPUs; events of a group run on one CPU of it
 * @PMUKIT_SCOPE_CPUS: a CPU or a task; events run on the CPU they were opened for
 */
enum pmukit_scope {
	PMUKIT_SCOPE_SYSTEM,
	PMUKIT_SCOPE_GROUPS,
	PMUKIT_SCOPE_CPUS,
};

/**
 * struct pmukit_pmu_ops - what a driver does for the common part
 * @release: last reference gone; frees the object the pmukit_pmu is part of. May sleep.
 * @event_free: the event is gone; frees the object the pmukit_event is part of. May sleep.
 * @same_group: PMUKIT_SCOPE_GROUPS: are two CPUs, both online, of one group; false for a CPU that
 *	is in none, or in none yet, even when both are the same. Any context.
 * @place_changed: optional: all events, with PMUKIT_SCOPE_GROUPS those of its group, run on this
 *	CPU from now on. Called when events have moved there, both CPUs online, and with
 *	PMUKIT_SCOPE_SYSTEM before the PMU is registered; the last time before
 *	pmukit_pmu_remove() returns. May sleep, under hotplug_lock: no perf_event call.
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
 * @ops: the driver's part
 * @max_events: how many events may be open at once; one more gets -EBUSY
 * @scope: which CPUs events count for: see enum pmukit_scope
 * @ends_in_error: an event that is open when the hardware leaves ends in error: what it has
 *	counted until then would pass for all there was. The kernel does not get to revoke it.
 * @cpu: PMUKIT_SCOPE_SYSTEM: the CPU all events run on; changes when that CPU goes offline, and
 *	when one on @node comes while it is on another
 * @cpus: PMUKIT_SCOPE_GROUPS: the same for each group; of several of one group the first
 *	(pmukit_pmu_servers())
 * @stats: see enum pmukit_stat
 * @debugfs: the folder that shows them
 * @ref: the driver holds one reference, the registration with perf another
 * @lock: protects all from @events to @leaving, and @waiting; process context only
 * @events: every event between pmukit_event_open() and its destruction
 * @nr_events: how many these are; a driver may look at it without the lock
 * @nr_dying: events that are no longer among these, while the driver frees what they own
 * @pinned: the event pmukit_pmu_remove() is disabling; it may not be freed meanwhile
 * @unpinned: woken when @pinned changes
 * @gone: the hardware is no longer there; never cleared
 * @moving: the events are on their way to another CPU
 * @revoked: the kernel takes the events that are open
 * @leaving: removal is done; destroying the last event unregisters the PMU
 * @leave_node: place among those that are to be taken from perf
 * @waiting: events of other PMUs use a context of this one; @foreign_work polls until they are gone
 * @foreign_work: that delayed work; the driver's module is held meanwhile
 * @hotplug_node: place in the CPU hotplug state's list
 * @node: NUMA node of the hardware
 * @hotplug_lock: orders registration against CPU hotplug
 * @registered: perf knows the PMU; from here on events follow @cpu and @cpus
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
 * struct pmukit_event - what one open event owns
 * @event: the perf event
 * @sequence: number of the next record since the event was opened
 * @lost: entries that were read or dropped but never delivered, since the event was opened
 * @node: place in pmukit_pmu.events
 * @regs: what a sample says about the CPU; kernel mode and no instruction unless
 *	pmukit_sampling_point() says otherwise
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
 * 7.2 throttles a whole group: it marks an event so before it stops it, and any kernel swallows the
 * samples of one that is marked.
 */
static inline bool pmukit_event_throttled(const struct perf_event *event)
{
	return event->hw.interrupts == U64_MAX;
}

/* The event will go on, on another CPU. */
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

/* The life of a PMU: pmukit_pmu.c */
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

/*
 * One record on its way: space for a raw sample's header, then the words. The words are 8-aligned
 * here and, thanks to the 12 bytes of the header, in perf's stream as well.
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
 * struct pmukit_sink - where the records of one drain go
 * @pev: the event
 * @handle: the open AUX transaction, when @ring is set
 * @ring: the AUX ring; NULL: the record becomes a sample, or is only counted
 * @rctx: perf's recursion context of a sample; negative: none taken
 * @written_bytes: put into the AUX ring so far
 * @room_words: longest record that can be taken now
 */
struct pmukit_sink {
	struct pmukit_event *pev;
	struct perf_output_handle handle;
	const struct pmukit_aux_ring *ring;
	int rctx;
	u64 written_bytes;
	u32 room_words;
};

/* The way of a record to its reader: pmukit_output.c */
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
 * struct pmukit_cap - one file in a PMU's caps/ folder
 * @attr: the file
 * @emit: writes its content without the newline at @at of @buf, returns the length
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
