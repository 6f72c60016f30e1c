/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos: what its files share.
 *
 *   cache_qos_main.c     a back-end comes and goes, and everything with it
 *   cache_qos_msr.c      the back-end that is the hardware
 *   cache_qos_cpu.c      CPUs and domains, CPU hotplug, suspend
 *   cache_qos_switch.c   the probes of the scheduler, and the RMID of a CPU
 *   cache_qos_task.c     the tasks that are tracked
 *   cache_qos_sampler.c  reads the counters, pass by pass
 *   cache_qos_watch.c    what perf events watch, and which of them reports
 *   cache_qos_cgroup.c   the nearest watched cgroup of a task
 *   cache_qos_pmu.c      the PMU
 *   cache_qos_name.c     names of monitors
 *   cache_qos_aux.c      the PMU cache_qos_aux: snapshots
 *   cache_qos_group.c    groups
 *   cache_qos_configfs.c groups as users see them
 *   cache_qos_sysfs.c    files of the PMU
 *   cache_qos_debugfs.c  counters of what happened
 *   cache_qos_trace.c    trace events
 *   *_core.c             the arithmetic (cache_qos_core.h)
 *
 * Locks, in the order they are taken:
 *
 *   probe_mutex     whether the probes are there. Outermost; never under a lock of perf, since
 *                   (un)registering a probe takes the hotplug lock.
 *   config_mutex    watches, groups and tracked tasks: changes of what is watched. event_init
 *                   takes it, at times under perf's ctx->mutex, so nothing below it calls perf and
 *                   nothing takes the hotplug lock with it held.
 *   (locks of perf and of run queues)
 *   watch->lock     raw, interrupts off: channels of a watch, and the counts of their events: so a
 *                   count has one writer at a time.
 *   lock            raw, interrupts off: the core, the lists and tables of what is watched.
 *                   Nothing is woken up under it, and no register is read. A switch does not wait
 *                   for it.
 *   lock of a domain  raw, interrupts off: its cells (cache_qos_core.h). Innermost.
 *
 * pmu->read does not wait for the last three: it may come from a trace event that fires while this
 * CPU holds any lock, the simulation's or another watch's, and a holder of ours may wait for that.
 *
 * The table of tasks and that of cgroups are written under lock and read under RCU or with
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

#define CACHE_QOS_TASK_BITS	10	/* of the table of tasks */
#define CACHE_QOS_CGROUP_BITS	6
#define CACHE_QOS_POINTS	3	/* tracepoints */
#define CACHE_QOS_REFRESH_MS	5000	/* a reader that waits for a pass gives up */
#define CACHE_QOS_FRESH_NS	1000000	/* what was read since need not be read again */
#define CACHE_QOS_SAMPLE_MS	100	/* from pass to pass, by default */
#define CACHE_QOS_SAMPLE_MS_MIN	10
#define CACHE_QOS_SAMPLE_MS_MAX	1000
#define CACHE_QOS_NAME_BYTES	(PMUKIT_CACHE_QOS_NAME_PARTS * PMUKIT_CACHE_QOS_NAME_PART_BYTES)

/**
 * struct cache_qos_entry - a task that is tracked
 * @node: place in the table
 * @task: the task; valid until sched_process_free, which takes it out of the table
 * @is: what the core knows of it
 * @events: that are open for it; the lock
 * @rcu: for its end
 */
struct cache_qos_entry {
	struct hlist_node node;
	struct task_struct *task;
	struct cache_qos_task is;
	unsigned int events;
	struct rcu_head rcu;
};

/**
 * struct cache_qos_cgroup - a cgroup that is watched
 * @hash: place in the table
 * @css: its key; a reference is held
 * @node: in the core
 */
struct cache_qos_cgroup {
	struct hlist_node hash;
	struct cgroup_subsys_state *css;
	u16 node;
};

/* What a watch is of */
enum cache_qos_target {
	CACHE_QOS_TARGET_TASKS,		/* of a process, or all that were opened with one share */
	CACHE_QOS_TARGET_CPUS,		/* a CPU, some, or all */
	CACHE_QOS_TARGET_CGROUP,
};

/**
 * struct cache_qos_watch - something that perf events watch: a monitor and its readers
 * @node: place in cache_qos_live.watches
 * @target: what kind of thing is watched. With @opener, @share and @process, or with @cgroup, it
 *	identifies the watch; none of them changes.
 * @opener: the process that opened it; not for cgroups
 * @share: the term of that name; not for cgroups
 * @process: for tasks: the process where no share is set, the thread where each thread has a watch
 *	of its own (CACHE_QOS_SHARE_NONE); NULL otherwise
 * @cgroup: the cgroup
 * @refs: events; the lock
 * @monitor: of the core; the lock
 * @cpus: of its events, for CPUs; the lock
 * @settled: its events of CPUs and cgroups; the lock
 * @lock: @channels
 * @channels: struct cache_qos_channel
 * @rcu: for its end
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
 * struct cache_qos_channel - a figure of a watch and the events that ask for it; one reports it,
 *	the others count 0, so that a sum over events is right. Siblings of events that sample are
 *	in channels of their own: a sample stands alone, so each of them shows what is in a cache.
 *	So are the events of each opener: counts of different processes are not summed up.
 * @node: place in cache_qos_watch.channels
 * @events: struct cache_qos_event
 * @what: which figure
 * @domain: of which domain; CACHE_QOS_ALL: of all
 * @sampled: its events are siblings of events that sample
 * @opener: the task that opened them; each of them has a reference
 * @published: bandwidth: the part of the sum that was reported
 * @monitor: whose sum @published is of; a watch may get another (cache_qos_watch_cpu())
 * @primed: @published is valid: an event is enabled
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
 * @pev: the common part
 * @watch: what it watches, with a reference. NULL: not known before it is first enabled, since perf
 *	does not say earlier whether it is for a CPU or a cgroup. The lock.
 * @channel: what it asks for; NULL: not known, or it is inherited and its first one reports
 * @node: place in cache_qos_channel.events
 * @place: in cache_qos_live.pending, while @watch is not known, then in cache_qos_watch.settled; of
 *	tasks in none. The lock.
 * @tracked: it is counted in cache_qos_entry.events
 * @off: it was taken off its CPU other than by a switch
 * @came_ns: when it came to its CPU last; only where it is @sampled
 * @what: which figure
 * @domain: the domain term, as an index; CACHE_QOS_ALL: none
 * @sampled: it is the sibling of an event that samples
 * @share: the term of that name
 * @opener: the task that opened it
 * @limited: the opener has no CAP_PERFMON
 * @spare_watch: memory for a watch of its own
 * @spare_channel: the same
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
	struct cache_qos_watch *spare_watch;
	struct cache_qos_channel *spare_channel;
};

/**
 * struct cache_qos_reader - reads the counters of a domain
 * @work: on @cpu
 * @live: everything
 * @cpu: chosen by the sampler at each pass; nr_cpu_ids: none is online
 * @waited: the pass waits for it
 * @read_ns: when the last complete reading began
 * @writes: of PQR_ASSOC by CPUs of the domain until then
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
 * struct cache_qos_late - of a CPU: a switch found the lock taken and left the RMID to an interrupt
 * @work: that interrupt
 * @live: everything
 */
struct cache_qos_late {
	struct irq_work work;
	struct cache_qos_live *live;
};

/**
 * struct cache_qos_name - the name of a monitor
 * @life: which one of those that had the number (struct cache_qos_monitor)
 * @changed: number of the change that made it what it is; 0: there was none yet
 * @kind: enum pmukit_cache_qos_kind
 * @id: process or thread, or cgroup; 0: none
 * @text: what <pmukit/cache_qos.h> says
 */
struct cache_qos_name {
	u32 life;
	u64 changed;
	u8 kind;
	u64 id;
	char text[CACHE_QOS_NAME_BYTES + 1];
};

/**
 * struct cache_qos_snapshot - what the streams of an L3 get after a pass
 * @now_ns: streams that are due by then get it
 * @named: changes of names that all of these know
 * @nr_names: so many of @records are names; the number of the change is in place of the sequence
 * @domains: with such streams
 * @cpus: with such streams
 * @domain: of which L3 it is
 * @nr: how many records
 * @from: first record of this section
 * @more: a stream is to get another section
 * @records: without their sequence, in the byte order of the CPU
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

#define CACHE_QOS_NR_STATS	20

struct cache_qos_live;
struct cache_qos_stat;

/* A file in debugfs */
struct cache_qos_stat_file {
	struct cache_qos_live *live;
	const struct cache_qos_stat *stat;
};

/**
 * struct cache_qos_live - a back-end and all that goes with it
 * @ref: held by the registration and by the PMUs, which may live longer
 * @core: the state; under the lock
 * @lock: the lock
 * @backend: not to be called when @dead
 * @backend_name: its name
 * @dead: the back-end has left; never cleared
 * @up: CPUs take part
 * @asleep: the machine is about to be, or is, suspended: counter values are not used
 * @pm: notifier block for suspend and resume
 * @parent: of the PMU in sysfs
 * @cpus: by number; the core's
 * @cpu_pointers: the same, as the core wants it
 * @running: by CPU: the task it runs, as last passed to the probe of sched_switch; NULL: not known
 * @late: by CPU
 * @hotplug_node: place in the CPU hotplug state's list
 * @probe_mutex: @attached, @serving
 * @users: watches and groups; goes up under @probe_mutex, and down anywhere
 * @attached: the probes are there
 * @serving: the back-end is up and is not about to leave; otherwise cache_qos_users_get() fails
 * @detach: takes them away, some time after the last user
 * @points: sched_switch, sched_process_fork, sched_process_free
 * @tasks: struct cache_qos_entry
 * @nr_tasks: how many
 * @lost_forks: children that could not be tracked: no memory
 * @cgroups: struct cache_qos_cgroup
 * @nr_cgroups: how many; read without the lock
 * @config_mutex: serializes changes of what is watched
 * @watches: struct cache_qos_watch; changed under the lock, read there or under RCU
 * @pending: struct cache_qos_event; the lock
 * @asked: CPUs an opener asks for, while they are looked at; the lock
 * @machine_watches: that are of the machine; the lock
 * @workqueue: of @sampler and @detach
 * @read_workqueue: of @readers
 * @readers: by domain
 * @asked_ns: when a file was read last
 * @all_read_ns: when the last pass began that read all domains
 * @enabled_ns: when a group was given a monitor last
 * @ipis: interrupts sent to CPUs
 * @wakes: CPUs woken up or interrupted to read counters
 * @sampler: the next pass
 * @pass: number of the last pass that has begun
 * @done: number of the last that is complete
 * @passed: woken at the end of a pass
 * @sample_ms: from pass to pass
 * @max_bytes_per_second: no L3 moves more
 * @asked_events: BIT(enum cache_qos_index): the owner wants them in spite of errata
 * @paranoid: read QM_EVTSEL back
 * @yields: times another user took the registers
 * @streams: by CPU: events of cache_qos_aux that are there
 * @stream_cpus: CPUs with such
 * @watch_of: by monitor: the watch it belongs to; NULL: a group's monitor, or unused. The lock.
 * @group_paths: by node: of a group; its folder's memory. The lock.
 * @names: by monitor; the sampler's, as the two behind it
 * @names_changed: number of the last change
 * @path: memory for a path
 * @snapshot: what they get
 * @stat_files: what is behind the files of @pp.debugfs
 * @pp: the PMU; its reference count is its own
 * @aux_pp: cache_qos_aux; the same
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

	struct mutex probe_mutex;	/* attached; users goes up */
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

/* Without the lock: domains are added, and never taken away. */
static inline u32 cache_qos_nr_domains(const struct cache_qos *cq)
{
	/* With the number come the domains. */
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

/* Where values come from: a simulation, or registers of a processor that is emulated itself */
static inline bool cache_qos_is_model(const struct cache_qos_live *live)
{
	return strcmp(live->backend_name, "msr") || live->core.hw.emulated;
}

/*
 * The only clock here, CLOCK_MONOTONIC: a trace event may come to pmu->read while this CPU is
 * setting the clock, and ktime_get_ns() would wait for it. It may step back by some ns.
 */
static inline u64 cache_qos_now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

/* A lock of ours, which is not waited for where @wait is false. Return: it is taken. */
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
			   u64 now_ns);
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
void cache_qos_read_here(struct cache_qos_live *live, u16 monitor, u64 fresh_ns, bool wait);

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

/* cache_qos_configfs.c; where the kernel has no configfs there are no groups but the root */
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
