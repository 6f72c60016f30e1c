/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos: declarations shared by the files of the driver.
 *
 *   cache_qos_main.c     registration of a back-end, setup and teardown of the driver state
 *   cache_qos_msr.c      the hardware back-end
 *   cache_qos_cpu.c      CPUs and domains, CPU hotplug, suspend
 *   cache_qos_switch.c   scheduler probes, and the RMID of each CPU
 *   cache_qos_task.c     the table of tracked tasks
 *   cache_qos_sampler.c  reads the counters, pass by pass
 *   cache_qos_turn.c     turns of monitors, and the running times of their events
 *   cache_qos_watch.c    targets of perf events, and which event reports a value
 *   cache_qos_cgroup.c   finds the nearest watched cgroup of a task
 *   cache_qos_pmu.c      the PMU
 *   cache_qos_name.c     names of monitors
 *   cache_qos_aux.c      the PMU cache_qos_aux: snapshots
 *   cache_qos_group.c    groups
 *   cache_qos_configfs.c configfs interface of groups
 *   cache_qos_sysfs.c    sysfs files of the PMU
 *   cache_qos_debugfs.c  debugfs counters
 *   cache_qos_trace.c    trace events
 *   *_core.c             data and arithmetic of the core (cache_qos_core.h)
 *
 * Locks, outermost first:
 *
 *   probe_mutex     registration of the probes. Never taken under a lock of perf: (un)registering a
 *                   probe takes the CPU hotplug lock, under which perf takes its own locks.
 *   config_mutex    serializes changes of watches, groups and tracked tasks. event_init takes it,
 *                   sometimes under perf's ctx->mutex, so its holder calls nothing in perf and
 *                   does not take the CPU hotplug lock.
 *   (locks of perf and of run queues)
 *   watch->lock     raw, interrupts off: protects the channels of a watch and the counts of their
 *                   events, so that each count has one writer at a time.
 *   live->lock      raw, interrupts off: the core lock of cache_qos_core.h. Also protects the
 *                   lists and tables of watched targets. Its holder wakes up no task and reads no
 *                   counter. A context switch only tries to take it.
 *   domain->lock    raw, interrupts off: cells of a domain (cache_qos_core.h). Innermost.
 *
 * pmu->read only tries to take the last three locks, because waiting for one of them could
 * deadlock: a trace event may call pmu->read on a CPU that holds another lock, for example the lock
 * of cache_qos_sim, while a CPU that holds one of the last three locks waits for this other lock.
 *
 * The tables of tasks and cgroups are changed under live->lock and read under RCU or with
 * preemption off.
 */
#ifndef CACHE_QOS_H
#define CACHE_QOS_H

#include <linux/atomic.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <pmukit/cache_qos.h>
#include <pmukit/cache_qos_backend.h>
#include <pmukit/pmu.h>

#include "cache_qos_core.h"

#define CACHE_QOS_TASK_BITS	10	/* log2 of the buckets in the hash table of tasks */
#define CACHE_QOS_CGROUP_BITS	6
#define CACHE_QOS_POINTS	3	/* probed tracepoints */
#define CACHE_QOS_REFRESH_MS	5000	/* timeout of a reader that waits for a pass */
#define CACHE_QOS_FRESH_NS	1000000	/* readings younger than this are not repeated */
#define CACHE_QOS_LEFT_NS	10000000	/* the same, when a CPU leaves a cgroup */
#define CACHE_QOS_SAMPLE_MS	100	/* default interval between passes */
#define CACHE_QOS_SAMPLE_MS_MIN	10
#define CACHE_QOS_SAMPLE_MS_MAX	1000
#define CACHE_QOS_ROTATE_MS_MIN	100
#define CACHE_QOS_ROTATE_MS_MAX	60000
#define CACHE_QOS_NAME_BYTES	(PMUKIT_CACHE_QOS_NAME_PARTS * PMUKIT_CACHE_QOS_NAME_PART_BYTES)

/**
 * struct cache_qos_entry - a tracked task
 * @node: entry in cache_qos_live.tasks
 * @task: the task; valid until sched_process_free, whose probe removes the entry
 * @is: group and monitors of the task, for the core
 * @events: number of open events of the task; protected by live->lock
 * @rcu: for kfree_rcu()
 */
struct cache_qos_entry {
	struct hlist_node node;
	struct task_struct *task;
	struct cache_qos_task is;
	unsigned int events;
	struct rcu_head rcu;
};

/**
 * struct cache_qos_cgroup - a watched cgroup
 * @hash: entry in cache_qos_live.cgroups
 * @css: key of the table; a reference is held while the cgroup is watched
 * @node: node in the core
 */
struct cache_qos_cgroup {
	struct hlist_node hash;
	struct cgroup_subsys_state *css;
	u16 node;
};

/* Kinds of targets */
enum cache_qos_target {
	CACHE_QOS_TARGET_TASKS,		/* a process, a thread, or tasks that share a monitor */
	CACHE_QOS_TARGET_CPUS,		/* one, several or all CPUs */
	CACHE_QOS_TARGET_CGROUP,
};

/**
 * struct cache_qos_watch - a target of perf events: a monitor and the events that read it
 * @node: entry in cache_qos_live.watches
 * @target: kind of target. @target with @opener, @share and @process, or with @cgroup, identifies
 *	the watch; these members never change.
 * @opener: process that opened the events; NULL for cgroups
 * @share: value of the share term; unused for cgroups
 * @process: for tasks: the process if @share is 0, the thread if @share is CACHE_QOS_SHARE_NONE
 *	(one watch per thread), NULL for any other @share
 * @cgroup: the cgroup
 * @refs: number of events; protected by live->lock
 * @monitor: monitor in the core; protected by live->lock
 * @cpus: CPUs of the events, for CACHE_QOS_TARGET_CPUS; protected by live->lock
 * @settled: list of the CPU and cgroup events of the watch; protected by live->lock
 * @lock: protects @channels
 * @channels: list of struct cache_qos_channel
 * @rcu: for kfree_rcu()
 */
struct cache_qos_watch {
	struct list_head node;
	enum cache_qos_target target;
	struct pid *opener;
	u32 share;
	struct pid *process;
	struct cache_qos_cgroup cgroup;
	unsigned int refs;
	u16 monitor;
	struct cpumask cpus;
	struct list_head settled;
	raw_spinlock_t lock;		/* channels and their events */
	struct list_head channels;
	struct rcu_head rcu;
};

/**
 * struct cache_qos_channel - events of a watch that read the same value. One event reports the
 *	value and the others count 0, so that sums over events are right. Siblings of sampling
 *	events have separate channels: samples are not summed, so each sibling shows the occupancy.
 *	Each opener also has separate channels: counts of different processes are not summed.
 * @node: entry in cache_qos_watch.channels
 * @events: list of struct cache_qos_event
 * @what: event type (enum pmukit_cache_qos_event)
 * @domain: index of the domain; CACHE_QOS_ALL: sum of all domains
 * @sampled: the events are siblings of sampling events
 * @opener: process that opened the events; each event holds a reference
 * @published: bandwidth: value of the monitor at the last report
 * @monitor: monitor that @published belongs to; cache_qos_watch_cpu() may give the watch another
 *	one
 * @primed: an event of the channel counts, so @published is valid
 */
struct cache_qos_channel {
	struct list_head node;
	struct list_head events;
	u8 what;
	u16 domain;
	bool sampled;
	const struct pid *opener;
	u64 published;
	u16 monitor;
	bool primed;
};

/**
 * struct cache_qos_event - an open event
 * @pev: state common to all PMUs
 * @watch: target of the event, with a reference; protected by live->lock. NULL until a CPU or
 *	cgroup event is first enabled: perf does not set the cgroup earlier.
 * @channel: channel of the event. NULL if @watch is not known yet, and for an inherited event,
 *	whose parent event reports.
 * @node: entry in cache_qos_channel.events
 * @place: entry in cache_qos_live.pending until @watch is known, then in cache_qos_watch.settled;
 *	unused for task events. Protected by live->lock.
 * @tracked: the event is counted in cache_qos_entry.events
 * @off: the event was removed from its CPU for a reason other than a context switch
 * @came_ns: when the event was last added to its CPU; set only if @sampled
 * @what: event type (enum pmukit_cache_qos_event)
 * @domain: the domain term as an index; CACHE_QOS_ALL: no domain term
 * @sampled: the event is a sibling of a sampling event
 * @share: value of the share term
 * @opener: process that opened the event
 * @limited: the opener has no CAP_PERFMON
 * @turns: the monitor of the event may take turns
 * @came: the event was added to its CPU, so @look is valid
 * @look: its times when it was last looked at
 * @valued: @turns, occupancy: the event has had a settled value
 * @cut_ns: occupancy: time running that was taken off the event and the events inherited
 *	from it; to be given back
 * @spare_watch: preallocated memory for a new watch
 * @spare_channel: preallocated memory for a new channel
 */
struct cache_qos_event {
	struct pmukit_event pev;
	struct cache_qos_watch *watch;
	struct cache_qos_channel *channel;
	struct list_head node;
	struct list_head place;
	bool tracked;
	bool off;
	u64 came_ns;
	u8 what;
	u16 domain;
	bool sampled;
	u32 share;
	struct pid *opener;
	bool limited;
	bool turns;
	bool came;
	struct cache_qos_look look;
	bool valued;
	atomic64_t cut_ns;
	struct cache_qos_watch *spare_watch;
	struct cache_qos_channel *spare_channel;
};

/**
 * struct cache_qos_reader - work item that reads the counters of a domain
 * @work: runs on @cpu
 * @live: driver state
 * @cpu: CPU that the sampler chose for this pass; nr_cpu_ids: no CPU of the domain is online
 * @waited: the pass waits for this work item
 * @read_ns: start of the last complete reading
 * @writes: number of PQR_ASSOC writes by CPUs of the domain when the last reading started
 */
struct cache_qos_reader {
	struct delayed_work work;
	struct cache_qos_live *live;
	unsigned int cpu;
	bool waited;
	u64 read_ns;
	u64 writes;
};

/**
 * struct cache_qos_late - sets the RMID of a CPU after a context switch that found live->lock taken
 * @work: irq_work that sets the RMID
 * @live: driver state
 */
struct cache_qos_late {
	struct irq_work work;
	struct cache_qos_live *live;
};

/**
 * struct cache_qos_name - name of a monitor
 * @life: value of cache_qos_monitor.life when the monitor had this name
 * @changed: number of the last change of this name; 0: no name yet
 * @kind: enum pmukit_cache_qos_kind
 * @id: id of the process, thread or cgroup; 0: none
 * @text: text as defined in <pmukit/cache_qos.h>
 */
struct cache_qos_name {
	u32 life;
	u64 changed;
	u8 kind;
	u64 id;
	char text[CACHE_QOS_NAME_BYTES + 1];
};

/**
 * struct cache_qos_snapshot - records that the streams (events of cache_qos_aux) of a domain get
 *	after a pass
 * @now_ns: time of the snapshot; streams that are due by then get the snapshot
 * @named: number of the last name change that every due stream has received
 * @nr_names: the first @nr_names records are names; their sequence word holds the number of the
 *	name change until a stream writes them
 * @domains: domains with streams that are due
 * @cpus: CPUs with streams that are due
 * @domain: domain that @records belong to
 * @nr: number of records
 * @from: first record of the current batch
 * @more: a stream needs another batch
 * @records: records without their sequence numbers, in CPU byte order
 */
struct cache_qos_snapshot {
	u64 now_ns;
	DECLARE_BITMAP(domains, CACHE_QOS_MAX_DOMAINS);
	struct cpumask cpus;
	u64 named;
	u16 domain;
	u32 nr_names;
	u32 nr;
	u32 from;
	bool more;
	u64 records[CACHE_QOS_MAX_MONITORS * (PMUKIT_CACHE_QOS_NAME_PARTS + CACHE_QOS_NR_EVENTS)]
		   [PMUKIT_CACHE_QOS_WORDS];
};

#define CACHE_QOS_NR_STATS	22

struct cache_qos_live;
struct cache_qos_stat;

/* A debugfs file */
struct cache_qos_stat_file {
	struct cache_qos_live *live;
	const struct cache_qos_stat *stat;
};

/**
 * struct cache_qos_live - driver state while a back-end is registered
 * @ref: held by the registration and by the two PMUs, which may outlive the registration
 * @core: core state; protected by @lock
 * @lock: the core lock
 * @backend: the back-end, which must not be called once @dead is set
 * @backend_name: name of the back-end
 * @dead: the back-end was unregistered; never cleared
 * @up: the CPU hotplug callbacks are installed
 * @asleep: the machine is suspended or about to be: counters are not read
 * @pm: notifier block for suspend and resume
 * @parent: parent device of the PMUs
 * @cpus: per-CPU state of the core
 * @cpu_pointers: pointers to @cpus by CPU number, for the core
 * @running: per CPU: the running task, as last passed to the sched_switch probe; NULL: not known
 * @late: per CPU: sets the RMID after a context switch that found @lock taken
 * @hotplug_node: node of the CPU hotplug instance
 * @probe_mutex: protects @attached and @serving
 * @users: number of events and groups; increased under @probe_mutex, decreased without it
 * @attached: the probes are registered
 * @serving: the back-end is usable and not about to be unregistered; otherwise
 *	cache_qos_users_get() fails
 * @detach: unregisters the probes some time after the last user is gone
 * @points: tracepoints: sched_switch, sched_process_fork, sched_process_free
 * @tasks: hash table of struct cache_qos_entry
 * @nr_tasks: entries in @tasks
 * @lost_forks: number of children that could not be tracked or watched
 * @cgroups: hash table of struct cache_qos_cgroup
 * @nr_cgroups: entries in @cgroups; read without @lock
 * @config_mutex: serializes changes of watches, groups and tracked tasks
 * @watches: list of struct cache_qos_watch; changed under @lock, read under @lock or RCU
 * @pending: list of CPU and cgroup events that were never enabled; protected by @lock
 * @asked: scratch mask: CPUs that an opener has events on; protected by @lock
 * @machine_watches: number of watches of the whole machine; changed under @lock
 * @workqueue: for @sampler and @detach
 * @read_workqueue: for @readers
 * @readers: indexed by domain
 * @asked_ns: when a file of a group was last read
 * @all_read_ns: start of the last pass that read all domains
 * @enabled_ns: when the monitor of a group was last switched on or off
 * @ipis: IPIs sent
 * @wakes: number of readings queued on another CPU; each wakes or interrupts that CPU
 * @sampler: work item of the next pass
 * @pass: number of the last pass that started
 * @done: number of the last pass that completed
 * @passed: wait queue of readers that wait for a pass; woken up after each pass
 * @sample_ms: interval between passes
 * @max_bytes_per_second: upper bound for the bandwidth of an L3
 * @asked_events: BIT(enum cache_qos_index): events that the rdt parameter enables in spite of
 *	errata
 * @paranoid: read QM_EVTSEL back after each read
 * @yields: how often the driver yielded the registers
 * @streams: per CPU: list of the cache_qos_aux events on that CPU
 * @stream_cpus: CPUs whose list in @streams is not empty
 * @watch_of: indexed by monitor: the monitor's watch; NULL: the monitor is unused or belongs to a
 *	group. Protected by @lock.
 * @group_paths: indexed by node: path of the group, owned by its configfs folder. Protected by
 *	@lock.
 * @names: indexed by monitor; only the sampler uses @names, @names_changed and @path
 * @names_changed: number of the last name change
 * @path: buffer for a path
 * @snapshot: records for the streams that are due
 * @stat_files: private data of the files in @pp.debugfs
 * @pp: the PMU cache_qos; has a separate reference count
 * @aux_pp: the PMU cache_qos_aux; has a separate reference count
 */
struct cache_qos_live {
	struct kref ref;
	struct cache_qos core;
	raw_spinlock_t lock;		/* core, tasks, cgroups */
	const struct pmukit_cache_qos_backend *backend;
	char backend_name[16];
	bool dead;
	bool up;
	bool asleep;
	struct notifier_block pm;
	struct platform_device *parent;
	struct cache_qos_cpu __percpu *cpus;
	struct cache_qos_cpu **cpu_pointers;
	struct task_struct * __percpu *running;
	struct cache_qos_late __percpu *late;
	struct hlist_node hotplug_node;

	struct mutex probe_mutex;	/* attached, serving; increase of users */
	atomic_t users;
	bool attached;
	bool serving;
	struct work_struct detach;
	struct tracepoint *points[CACHE_QOS_POINTS];

	DECLARE_HASHTABLE(tasks, CACHE_QOS_TASK_BITS);
	unsigned int nr_tasks;
	u64 lost_forks;
	DECLARE_HASHTABLE(cgroups, CACHE_QOS_CGROUP_BITS);
	unsigned int nr_cgroups;

	struct mutex config_mutex;	/* watches, groups, tracked tasks */
	struct list_head watches;
	struct list_head pending;
	struct cpumask asked;

	unsigned int machine_watches;
	struct workqueue_struct *workqueue;
	struct workqueue_struct *read_workqueue;
	struct cache_qos_reader readers[CACHE_QOS_MAX_DOMAINS];
	u64 asked_ns;
	u64 all_read_ns;
	u64 enabled_ns;
	atomic64_t ipis;
	atomic64_t wakes;
	struct delayed_work sampler;
	u32 pass;
	u32 done;
	wait_queue_head_t passed;
	unsigned int sample_ms;
	u64 max_bytes_per_second;
	u32 asked_events;
	bool paranoid;
	u64 yields;

	struct list_head __percpu *streams;
	struct cpumask stream_cpus;
	struct cache_qos_watch *watch_of[CACHE_QOS_MAX_MONITORS];
	const char *group_paths[CACHE_QOS_MAX_NODES];
	struct cache_qos_name names[CACHE_QOS_MAX_MONITORS];
	u64 names_changed;
	char path[PATH_MAX];
	struct cache_qos_snapshot snapshot;
	struct cache_qos_stat_file stat_files[CACHE_QOS_NR_STATS];
	struct pmukit_pmu pp;
	struct pmukit_pmu aux_pp;
};

/* Needs no lock: domains are added and never removed. */
static inline u32 cache_qos_nr_domains(const struct cache_qos *cq)
{
	/* Pairs with cache_qos_domain_add(): the domains below this number are initialized. */
	return smp_load_acquire(&cq->nr_domains);
}

static inline struct cache_qos_live *to_cache_qos_live(struct pmukit_pmu *pp)
{
	return container_of(pp, struct cache_qos_live, pp);
}

static inline struct cache_qos_live *cache_qos_live_of(struct perf_event *event)
{
	return to_cache_qos_live(to_pmukit_pmu(event->pmu));
}

static inline struct cache_qos_event *cache_qos_of_event(struct perf_event *event)
{
	return container_of(to_pmukit_event(event), struct cache_qos_event, pev);
}

/* Return: true if values come from a simulation or from an emulated processor. */
static inline bool cache_qos_is_model(const struct cache_qos_live *live)
{
	return strcmp(live->backend_name, "msr") || live->core.hw.emulated;
}

static inline bool cache_qos_is_gauge(const struct cache_qos_event *ev)
{
	return ev->what == PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
}

/*
 * CLOCK_MONOTONIC, the only clock of the driver. It is not read with ktime_get_ns(): a trace event
 * may call pmu->read while this CPU updates the clock, and ktime_get_ns() would then wait forever.
 * The fast clock may step back by some ns.
 */
static inline u64 cache_qos_now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

/* Take a lock, or only try to if @wait is false. Return: true if the lock was taken. */
static inline bool cache_qos_lock(raw_spinlock_t *lock, bool wait)
{
	if (!wait)
		return raw_spin_trylock(lock);
	raw_spin_lock(lock);
	return true;
}

/* cache_qos_main.c */
int cache_qos_users_get(struct cache_qos_live *live);
void cache_qos_users_put(struct cache_qos_live *live);
void cache_qos_live_put(struct cache_qos_live *live);

/* cache_qos_msr.c */
int cache_qos_msr_register(void);
void cache_qos_msr_unregister(void);

/* cache_qos_cpu.c */
int cache_qos_hw_probe(const struct pmukit_cache_qos_backend *backend, u32 asked,
		       struct cache_qos_hw *hw);
int cache_qos_cpus_start(struct cache_qos_live *live);
void cache_qos_cpus_stop(struct cache_qos_live *live);
void cache_qos_cpus_free(struct cache_qos_live *live);
void cache_qos_cpus_again(struct cache_qos_live *live);
int cache_qos_hotplug_register(void);
void cache_qos_hotplug_unregister(void);

/* cache_qos_switch.c */
int cache_qos_attach(struct cache_qos_live *live);
void cache_qos_detach(struct cache_qos_live *live);
void cache_qos_resolve_here(struct cache_qos_live *live);
struct task_struct *cache_qos_running_on(const struct cache_qos_live *live, unsigned int cpu);
void cache_qos_resolve_changed(struct cache_qos_live *live);
void cache_qos_ipi(struct cache_qos_live *live, const struct cpumask *cpus, smp_call_func_t func);
void cache_qos_late_fill(struct cache_qos_live *live);

/* cache_qos_task.c */
struct cache_qos_task *cache_qos_task_find(struct cache_qos_live *live, struct task_struct *task);
struct cache_qos_entry *cache_qos_entry_find(struct cache_qos_live *live, struct task_struct *task);
int cache_qos_track(struct cache_qos_live *live, struct task_struct *task);
void cache_qos_on_fork(void *data, struct task_struct *parent, struct task_struct *child);
void cache_qos_on_free(void *data, struct task_struct *task);
void cache_qos_task_closed(struct cache_qos_live *live, struct task_struct *task);
void cache_qos_tasks_prune(struct cache_qos_live *live);

/* cache_qos_cgroup.c */
u16 cache_qos_cgroup_of(struct cache_qos_live *live, struct task_struct *task);
int cache_qos_cgroup_key(struct cache_qos_cgroup *cgroup, const struct perf_event *event);
int cache_qos_cgroup_watch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			   bool limited, bool turns, u64 now_ns);
void cache_qos_cgroup_unwatch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			      u64 now_ns);
bool cache_qos_cgroup_event(const struct perf_event *event);

/* cache_qos_sampler.c */
void cache_qos_sampler_start(struct cache_qos_live *live);
void cache_qos_sampler_stop(struct cache_qos_live *live);
void cache_qos_meet_all(struct cache_qos_live *live);
unsigned int cache_qos_foreign_cpu(const struct cache_qos_live *live);
int cache_qos_refresh(struct cache_qos_live *live);
void cache_qos_sampler_hurry(struct cache_qos_live *live);
bool cache_qos_read_here(struct cache_qos_live *live, u16 monitor, u64 fresh_ns, bool wait);

/* cache_qos_turn.c */
void cache_qos_rotate(struct cache_qos_live *live);
bool cache_qos_turn_takes(const struct cache_qos_live *live, const struct cache_qos_event *ev);
bool cache_qos_leads_others(struct perf_event *event);
void cache_qos_turn_come(struct cache_qos_live *live, struct cache_qos_event *ev);
void cache_qos_turn_account(struct cache_qos_live *live, struct cache_qos_event *ev);
void cache_qos_turn_valued(struct cache_qos_event *ev);

/* cache_qos_watch.c */
int cache_qos_watch_open(struct cache_qos_live *live, struct cache_qos_event *ev);
void cache_qos_watch_close(struct cache_qos_live *live, struct cache_qos_event *ev);
int cache_qos_watch_settle(struct cache_qos_live *live, struct cache_qos_event *ev);
void cache_qos_watch_publish(struct cache_qos_live *live, struct cache_qos_watch *watch,
			     bool wait);
void cache_qos_watch_resume(struct cache_qos_event *ev);
void cache_qos_watches_publish(struct cache_qos_live *live);

/* cache_qos_pmu.c */
void cache_qos_pmu_fill(struct cache_qos_live *live);

/* cache_qos_name.c */
void cache_qos_names_update(struct cache_qos_live *live);

/* cache_qos_aux.c */
void cache_qos_aux_fill(struct cache_qos_live *live);
void cache_qos_streams_write(struct cache_qos_live *live);

/* cache_qos_sysfs.c */
extern const struct attribute_group *cache_qos_groups[];
int cache_qos_emit_holder(const struct cache_qos_live *live, char *buf, int at);

/* cache_qos_debugfs.c */
void cache_qos_debugfs_add(struct cache_qos_live *live);

/* cache_qos_group.c: all may sleep */
int cache_qos_group_make(struct cache_qos_live *live, u16 parent, const char *path);
void cache_qos_group_remove(struct cache_qos_live *live, u16 group);
int cache_qos_group_monitor(struct cache_qos_live *live, u16 group, bool on);
u16 cache_qos_group_number(struct cache_qos_live *live, u16 group);
bool cache_qos_group_monitored(struct cache_qos_live *live, u16 group);
int cache_qos_group_attach(struct cache_qos_live *live, u16 group, struct task_struct *task);
int cache_qos_group_attach_process(struct cache_qos_live *live, u16 group,
				   struct task_struct *task);
unsigned int cache_qos_group_tasks(struct cache_qos_live *live, u16 group, bool processes,
				   pid_t *pids, unsigned int max);
int cache_qos_group_value(struct cache_qos_live *live, u16 group,
			  enum pmukit_cache_qos_event event, u16 domain,
			  struct cache_qos_value *value);
int cache_qos_group_peek(struct cache_qos_live *live, u16 group,
			 enum pmukit_cache_qos_event event, u16 domain,
			 struct cache_qos_value *value);

/* cache_qos_configfs.c; a kernel without configfs has only the root group */
#if IS_ENABLED(CONFIG_CONFIGFS_FS)
int cache_qos_configfs_register(struct cache_qos_live *live);
void cache_qos_configfs_unregister(void);
#else
static inline int cache_qos_configfs_register(struct cache_qos_live *live)
{
	return 0;
}

static inline void cache_qos_configfs_unregister(void)
{
}
#endif

/* cache_qos_trace.c */
void cache_qos_trace_samples(struct cache_qos_live *live);
void cache_qos_trace_rmid_event(struct cache_qos *cq, enum cache_qos_rmid_event news, u32 rmid);

#endif /* CACHE_QOS_H */
