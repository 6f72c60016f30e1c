// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: targets of perf events, and which event reports a value.
 *
 * Events with the same target share one monitor. A target is a process (or all tasks for which one
 * opener opened events with the same share term), the CPUs for which an opener opened events, or a
 * cgroup. Of the events that read the same value, one reports the value and the others count 0:
 * perf adds up the counts of threads and CPUs, but the contents of a cache must count once. Samples
 * are not added up (struct cache_qos_channel).
 *
 * The target of a CPU event is resolved when the event is first enabled, because event_init knows
 * neither the cgroup nor the other CPUs for which the opener is about to open events. If the opener
 * has events on all CPUs, the target is the whole machine, which needs no RMID. Enabling an event
 * cannot allocate memory, so the memory is preallocated in the event.
 */

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "cache_qos.h"

#define CACHE_QOS_SHARE_NONE	0xffffffffU	/* each task has a separate monitor */

/* Watches; the caller holds live->lock */

static bool cache_qos_watch_matches(const struct cache_qos_watch *watch,
				    const struct cache_qos_watch *key)
{
	if (watch->target != key->target)
		return false;
	if (key->target == CACHE_QOS_TARGET_CGROUP)
		return watch->cgroup.css == key->cgroup.css;
	return key->share != CACHE_QOS_SHARE_NONE && watch->share == key->share &&
	       watch->opener == key->opener && watch->process == key->process;
}

static struct cache_qos_watch *cache_qos_watch_find(struct cache_qos_live *live,
						    const struct cache_qos_watch *key)
{
	struct cache_qos_watch *watch;

	list_for_each_entry(watch, &live->watches, node) {
		if (cache_qos_watch_matches(watch, key))
			return watch;
	}
	return NULL;
}

/* Make the monitor for a new watch. Return: number of the monitor, or -errno. */
static int cache_qos_watch_monitor(struct cache_qos_live *live, const struct cache_qos_event *ev,
				   enum pmukit_cache_qos_kind kind)
{
	int monitor = cache_qos_monitor_make(&live->core, kind);

	if (monitor < 0)
		return monitor;
	if (ev->limited)
		cache_qos_monitor_limit(&live->core, monitor);
	if (ev->turns)
		cache_qos_turns_join(&live->core, monitor);
	return monitor;
}

/*
 * An event that needs RMIDs all the time cannot share a monitor that takes turns: perf reads its
 * times from another event. Return: 0 or -EBUSY.
 */
static int cache_qos_watch_suits(const struct cache_qos_live *live,
				 const struct cache_qos_watch *watch,
				 const struct cache_qos_event *ev)
{
	return live->core.monitors[watch->monitor].turns && !ev->turns ? -EBUSY : 0;
}

/* Turn the preallocated memory of an event into a watch. */
static struct cache_qos_watch *cache_qos_watch_install(struct cache_qos_live *live,
						       struct cache_qos_event *ev, u16 monitor)
{
	struct cache_qos_watch *watch = ev->spare_watch;

	ev->spare_watch = NULL;
	watch->monitor = monitor;
	live->watch_of[monitor] = watch;
	get_pid(watch->opener);
	get_pid(watch->process);
	list_add_tail_rcu(&watch->node, &live->watches);
	return watch;
}

static void cache_qos_watch_hold(struct cache_qos_event *ev, struct cache_qos_watch *watch)
{
	watch->refs++;
	ev->watch = watch;
}

/* Return: true if this was the last reference; the caller then calls cache_qos_watch_free(). */
static bool cache_qos_watch_drop(struct cache_qos_live *live, struct cache_qos_watch *watch)
{
	u64 now_ns = cache_qos_now_ns();

	if (--watch->refs)
		return false;
	list_del_rcu(&watch->node);
	if (watch->monitor != CACHE_QOS_MACHINE)
		live->watch_of[watch->monitor] = NULL;
	if (watch->target == CACHE_QOS_TARGET_CGROUP)
		cache_qos_cgroup_unwatch(live, &watch->cgroup, now_ns);
	else if (watch->monitor != CACHE_QOS_MACHINE)
		cache_qos_monitor_end(&live->core, watch->monitor, now_ns);
	else
		WRITE_ONCE(live->machine_watches, live->machine_watches - 1);
	return true;
}

static void cache_qos_watch_free(struct cache_qos_watch *watch)
{
	put_pid(watch->opener);
	put_pid(watch->process);
	if (watch->cgroup.css)
		css_put(watch->cgroup.css);
	kfree_rcu(watch, rcu);
}

/* Channels */

static struct cache_qos_channel *cache_qos_channel_find(struct cache_qos_watch *watch,
							const struct cache_qos_event *ev,
							u16 domain)
{
	struct cache_qos_channel *channel;

	list_for_each_entry(channel, &watch->channels, node) {
		if (channel->what == ev->what && channel->domain == domain &&
		    channel->sampled == ev->sampled && channel->opener == ev->opener)
			return channel;
	}
	return NULL;
}

/* If an event of a CPU has no domain term, the event reads the domain of that CPU. */
static u16 cache_qos_channel_domain(struct cache_qos_live *live, const struct cache_qos_event *ev)
{
	int cpu = ev->pev.event->cpu;

	if (ev->domain != CACHE_QOS_ALL || cpu < 0)
		return ev->domain;
	return READ_ONCE(per_cpu_ptr(live->cpus, cpu)->domain);
}

static void cache_qos_channel_join(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct cache_qos_watch *watch = ev->watch;
	u16 domain = cache_qos_channel_domain(live, ev);
	struct cache_qos_channel *channel;
	unsigned long flags;

	raw_spin_lock_irqsave(&watch->lock, flags);
	channel = cache_qos_channel_find(watch, ev, domain);
	if (!channel) {
		channel = ev->spare_channel;
		ev->spare_channel = NULL;
		channel->what = ev->what;
		channel->domain = domain;
		channel->sampled = ev->sampled;
		channel->opener = ev->opener;
		list_add_tail(&channel->node, &watch->channels);
	}
	list_add_tail(&ev->node, &channel->events);
	ev->channel = channel;
	raw_spin_unlock_irqrestore(&watch->lock, flags);
}

static void cache_qos_channel_leave(struct cache_qos_event *ev)
{
	struct cache_qos_channel *channel = ev->channel;
	unsigned long flags;

	if (!channel)
		return;
	raw_spin_lock_irqsave(&ev->watch->lock, flags);
	list_del(&ev->node);
	if (list_empty(&channel->events))
		list_del(&channel->node);
	else
		channel = NULL;
	raw_spin_unlock_irqrestore(&ev->watch->lock, flags);
	kfree(channel);
}

/* Counts; the caller holds watch->lock */

/*
 * Disabling a group changes the state of its leader only. A closed leader is freed after an RCU
 * grace period, so its state can be read here. Without PERF_ATTACH_GROUP, the event has not joined
 * its group yet or has left it, and group_leader may be stale.
 */
static bool cache_qos_group_is_off(const struct perf_event *event)
{
	int state;

	if (!(READ_ONCE(event->attach_state) & PERF_ATTACH_GROUP))
		return false;
	state = READ_ONCE(READ_ONCE(event->group_leader)->state);
	return state == PERF_EVENT_STATE_OFF || state == PERF_EVENT_STATE_ERROR;
}

/*
 * Return: true if an event counts, whether it is scheduled on a CPU or not. An event whose task has
 * exited still counts while it has child events, inherited by other tasks.
 */
static bool cache_qos_counts(const struct perf_event *event)
{
	if (event->cpu >= 0 && !cpu_online(event->cpu))
		return false;
	if (cache_qos_group_is_off(event))
		return false;
	if (READ_ONCE(event->state) >= PERF_EVENT_STATE_INACTIVE)
		return true;
	return READ_ONCE(event->state) <= PERF_EVENT_STATE_EXIT && event->attr.inherit &&
	       !list_empty(&event->child_list);
}

static bool cache_qos_runs(const struct cache_qos_event *ev)
{
	return READ_ONCE(ev->pev.event->state) == PERF_EVENT_STATE_ACTIVE;
}

/*
 * Return: true if @ev should report rather than @best. perf record opens an event of a task on each
 * CPU and samples on the CPU where the task runs, so the event on that CPU reports the bandwidth,
 * too. If the task sleeps, the event on its last CPU reports.
 */
static bool cache_qos_reports_rather(const struct cache_qos_channel *channel,
				     const struct cache_qos_event *ev,
				     const struct cache_qos_event *best)
{
	bool runs = cache_qos_runs(ev);

	if (channel->sampled && runs != cache_qos_runs(best))
		return runs;
	if (channel->sampled && !runs && READ_ONCE(ev->came_ns) != READ_ONCE(best->came_ns))
		return READ_ONCE(ev->came_ns) > READ_ONCE(best->came_ns);
	return ev->pev.event->cpu < best->pev.event->cpu;
}

/*
 * The event that reports the value: the best one (cache_qos_reports_rather()), or the oldest of
 * several equally good ones. NULL: no event counts.
 */
static struct perf_event *cache_qos_reporter(const struct cache_qos_channel *channel)
{
	struct cache_qos_event *ev, *best = NULL;

	list_for_each_entry(ev, &channel->events, node) {
		if (cache_qos_counts(ev->pev.event) &&
		    (!best || cache_qos_reports_rather(channel, ev, best)))
			best = ev;
	}
	return best ? best->pev.event : NULL;
}

/* If no event of the channel counts, the events keep the last value. */
static void cache_qos_publish_gauge(struct cache_qos_channel *channel, u64 bytes)
{
	struct perf_event *reporter = cache_qos_reporter(channel);
	struct cache_qos_event *ev;

	if (!reporter)
		return;
	channel->primed = true;
	list_for_each_entry(ev, &channel->events, node) {
		bool reports = channel->sampled || ev->pev.event == reporter;

		local64_set(&ev->pev.event->count, reports ? bytes : 0);
		cache_qos_turn_valued(ev);
	}
}

static void cache_qos_publish_counter(struct cache_qos_channel *channel, u64 bytes)
{
	struct perf_event *reporter = cache_qos_reporter(channel);

	if (reporter && channel->primed)
		local64_add(bytes - channel->published, &reporter->count);
	channel->published = bytes;
	channel->primed = reporter;
}

/* Return: true if the domain has no online CPU: the contents of its cache are in no sum. */
static bool cache_qos_channel_is_offline(const struct cache_qos_live *live,
					 const struct cache_qos_channel *channel)
{
	return channel->domain != CACHE_QOS_ALL &&
	       !READ_ONCE(live->core.domains[channel->domain].nr_cpus);
}

static void cache_qos_publish_offline(struct cache_qos_channel *channel)
{
	struct cache_qos_event *ev;

	list_for_each_entry(ev, &channel->events, node)
		local64_set(&ev->pev.event->count, 0);
}

static void cache_qos_publish(struct cache_qos_live *live, struct cache_qos_watch *watch,
			      struct cache_qos_channel *channel, bool wait)
{
	struct cache_qos_value value;
	int ret;

	if (!cache_qos_lock(&live->lock, wait))
		return;
	/* If the watch has a new monitor, do not compute the difference to the old sum. */
	if (channel->monitor != watch->monitor)
		channel->primed = false;
	channel->monitor = watch->monitor;
	ret = cache_qos_monitor_value(&live->core, channel->monitor, channel->what,
				      channel->domain, cache_qos_now_ns(), &value);
	raw_spin_unlock(&live->lock);
	if (channel->what != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY) {
		if (!ret)
			cache_qos_publish_counter(channel, value.bytes);
		return;
	}
	/* pmu->read cannot return an error: the last good value stays. */
	if (!ret && !(value.status & PMUKIT_CACHE_QOS_S_UNSETTLED))
		cache_qos_publish_gauge(channel, value.bytes);
	else if (cache_qos_channel_is_offline(live, channel))
		cache_qos_publish_offline(channel);
}

/**
 * cache_qos_watch_publish - update the counts of the events of a watch
 * @live: driver state
 * @watch: the watch, which the caller protects from being freed
 * @wait: wait for the locks; otherwise counts whose lock is taken stay unchanged
 *
 * Context: any except NMI; @wait must be false if a trace event may be the caller.
 */
void cache_qos_watch_publish(struct cache_qos_live *live, struct cache_qos_watch *watch, bool wait)
{
	struct cache_qos_channel *channel;
	unsigned long flags;

	local_irq_save(flags);
	if (cache_qos_lock(&watch->lock, wait)) {
		list_for_each_entry(channel, &watch->channels, node)
			cache_qos_publish(live, watch, channel, wait);
		raw_spin_unlock(&watch->lock);
	}
	local_irq_restore(flags);
}

/**
 * cache_qos_watch_resume - an event that was disabled counts again
 * @ev: the event
 *
 * Traffic while the event was disabled is not counted, unless another event of its channel counted
 * meanwhile.
 *
 * Context: interrupts off.
 */
void cache_qos_watch_resume(struct cache_qos_event *ev)
{
	struct cache_qos_event *other;
	bool alone = true;

	raw_spin_lock(&ev->watch->lock);
	list_for_each_entry(other, &ev->channel->events, node)
		alone = alone && (other == ev || !cache_qos_counts(other->pev.event));
	if (alone)
		ev->channel->primed = false;
	raw_spin_unlock(&ev->watch->lock);
}

/**
 * cache_qos_watches_publish - update the counts of the events of all watches
 * @live: driver state
 */
void cache_qos_watches_publish(struct cache_qos_live *live)
{
	struct cache_qos_watch *watch;

	rcu_read_lock();
	list_for_each_entry_rcu(watch, &live->watches, node)
		cache_qos_watch_publish(live, watch, true);
	rcu_read_unlock();
}

/* CPU and cgroup events, when they are first enabled; the caller holds live->lock */

/* Return: true if the opener has events on all online CPUs. */
static bool cache_qos_covers(struct cache_qos_live *live, const struct cache_qos_watch *watch)
{
	struct cache_qos_event *ev;

	cpumask_copy(&live->asked, &watch->cpus);
	list_for_each_entry(ev, &live->pending, place) {
		if (ev->opener == watch->opener && ev->share == watch->share &&
		    !cache_qos_cgroup_event(ev->pev.event))
			cpumask_set_cpu(ev->pev.event->cpu, &live->asked);
	}
	return cpumask_subset(cpu_online_mask, &live->asked);
}

/* Add a CPU to a watch. A watch of all CPUs gets the machine's monitor, which needs no RMID. */
static int cache_qos_watch_cpu(struct cache_qos_live *live, struct cache_qos_watch *watch,
			       unsigned int cpu)
{
	if (watch->monitor == CACHE_QOS_MACHINE)
		return 0;
	if (!cache_qos_covers(live, watch))
		return cache_qos_cpu_watch(&live->core, cpu, watch->monitor, cache_qos_now_ns());
	live->watch_of[watch->monitor] = NULL;
	cache_qos_monitor_end(&live->core, watch->monitor, cache_qos_now_ns());
	watch->monitor = CACHE_QOS_MACHINE;
	WRITE_ONCE(live->machine_watches, live->machine_watches + 1);
	return 0;
}

static struct cache_qos_watch *cache_qos_watch_of_cpu(struct cache_qos_live *live,
						      struct cache_qos_event *ev)
{
	struct cache_qos_watch *key = ev->spare_watch, *watch;
	int monitor;

	key->target = CACHE_QOS_TARGET_CPUS;
	key->opener = ev->opener;
	key->share = ev->share;
	watch = cache_qos_watch_find(live, key);
	if (watch)
		return watch;
	monitor = cache_qos_watch_monitor(live, ev, PMUKIT_CACHE_QOS_KIND_CPU);
	if (monitor < 0)
		return ERR_PTR(monitor);
	return cache_qos_watch_install(live, ev, monitor);
}

static struct cache_qos_watch *cache_qos_watch_of_cgroup(struct cache_qos_live *live,
							 struct cache_qos_event *ev)
{
	struct cache_qos_watch *key = ev->spare_watch, *watch;
	int monitor;

	key->target = CACHE_QOS_TARGET_CGROUP;
	monitor = cache_qos_cgroup_key(&key->cgroup, ev->pev.event);
	if (monitor)
		return ERR_PTR(monitor);
	watch = cache_qos_watch_find(live, key);
	if (watch) {
		key->cgroup.css = NULL;
		return watch;
	}
	monitor = cache_qos_cgroup_watch(live, &key->cgroup, ev->limited, ev->turns,
					 cache_qos_now_ns());
	if (monitor < 0) {
		key->cgroup.css = NULL;
		return ERR_PTR(monitor);
	}
	return cache_qos_watch_install(live, ev, monitor);
}

static int cache_qos_settle(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	bool cgroup = cache_qos_cgroup_event(ev->pev.event);
	struct cache_qos_watch *watch = ev->watch;
	int ret = 0;

	if (!watch) {
		watch = cgroup ? cache_qos_watch_of_cgroup(live, ev) :
				 cache_qos_watch_of_cpu(live, ev);
		if (!IS_ERR(watch))
			ret = cache_qos_watch_suits(live, watch, ev);
		if (IS_ERR(watch) || ret)
			return ret ?: PTR_ERR(watch);
		cache_qos_watch_hold(ev, watch);
		list_move_tail(&ev->place, &watch->settled);
	}
	if (watch->target == CACHE_QOS_TARGET_CPUS) {
		cpumask_set_cpu(ev->pev.event->cpu, &watch->cpus);
		ret = cache_qos_watch_cpu(live, watch, ev->pev.event->cpu);
	}
	/* The turn of another monitor may concern other CPUs: it begins after the next pass. */
	cache_qos_turns_start(&live->core, watch->monitor, cache_qos_now_ns());
	return ret;
}

/*
 * An event is closed: stop watching its CPU, unless another event of the watch is on the same CPU.
 * A watch of the machine does not change. Return: true if the CPU needs another RMID.
 */
static bool cache_qos_leave_cpu(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct cache_qos_watch *watch = ev->watch;
	unsigned int cpu = ev->pev.event->cpu;
	struct cache_qos_event *other;

	list_del_init(&ev->place);
	if (!watch || watch->target != CACHE_QOS_TARGET_CPUS ||
	    watch->monitor == CACHE_QOS_MACHINE)
		return false;
	list_for_each_entry(other, &watch->settled, place) {
		if (other->pev.event->cpu == cpu)
			return false;
	}
	cpumask_clear_cpu(cpu, &watch->cpus);
	cache_qos_cpu_unwatch(&live->core, cpu, watch->monitor);
	return true;
}

/**
 * cache_qos_watch_settle - resolve the target of an event that is enabled
 * @live: driver state
 * @ev: the event; called on its CPU, interrupts off
 *
 * Return: 0, or -errno: no RMID is available, or other software has the registers. The event then
 * does not run.
 */
int cache_qos_watch_settle(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	int ret;

	raw_spin_lock(&live->lock);
	ret = cache_qos_registers_taken(&live->core) ? -EBUSY : cache_qos_settle(live, ev);
	raw_spin_unlock(&live->lock);
	if (ret)
		return ret;
	cache_qos_channel_join(live, ev);
	cache_qos_resolve_here(live);
	return 0;
}

/* Task events, when they are opened */

/* Increment the number of open events in the entry of the event's task. Called under live->lock. */
static void cache_qos_event_track(struct cache_qos_event *ev, struct cache_qos_entry *entry)
{
	entry->events++;
	ev->tracked = true;
}

static int cache_qos_watch_task(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct task_struct *task = ev->pev.event->hw.target;
	struct cache_qos_watch *key = ev->spare_watch, *watch;
	struct cache_qos_entry *entry;
	bool drop = false;
	int ret;

	key->target = CACHE_QOS_TARGET_TASKS;
	key->opener = ev->opener;
	key->share = ev->share;

	raw_spin_lock_irq(&live->lock);
	/* The task may exit now, but RCU does not free its pid while interrupts are off. */
	key->process = ev->share == CACHE_QOS_SHARE_NONE ? task_pid(task) :
		       ev->share			 ? NULL :
							   task_tgid(task);
	ret = -ESRCH;
	entry = cache_qos_entry_find(live, task);
	if (!entry)
		goto unlock;
	watch = cache_qos_watch_find(live, key);
	if (!watch) {
		ret = cache_qos_watch_monitor(live, ev, PMUKIT_CACHE_QOS_KIND_TASK);
		if (ret < 0)
			goto unlock;
		watch = cache_qos_watch_install(live, ev, ret);
	}
	ret = cache_qos_watch_suits(live, watch, ev);
	if (ret)
		goto unlock;
	cache_qos_watch_hold(ev, watch);
	ret = cache_qos_task_watch(&live->core, &entry->is, watch->monitor, true,
				   cache_qos_now_ns());
	if (ret) {
		ev->watch = NULL;
		drop = cache_qos_watch_drop(live, watch);
	} else {
		cache_qos_event_track(ev, entry);
		cache_qos_turns_start(&live->core, CACHE_QOS_NONE, cache_qos_now_ns());
	}
unlock:
	raw_spin_unlock_irq(&live->lock);
	if (drop)
		cache_qos_watch_free(watch);
	return ret;
}

static int cache_qos_open_task(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	int ret;

	ret = cache_qos_track(live, ev->pev.event->hw.target);
	if (ret)
		return ret;
	ret = cache_qos_watch_task(live, ev);
	if (ret)
		return ret;
	cache_qos_channel_join(live, ev);
	cache_qos_resolve_changed(live);
	return 0;
}

/* Returns 0 even if the child cannot be tracked, so that fork() succeeds: the value is partial. */
static int cache_qos_open_child(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct perf_event *event = ev->pev.event;
	struct cache_qos_watch *watch = cache_qos_of_event(event->parent)->watch;
	struct cache_qos_entry *entry;
	int ret;

	ret = cache_qos_track(live, event->hw.target);
	raw_spin_lock_irq(&live->lock);
	cache_qos_watch_hold(ev, watch);
	entry = cache_qos_entry_find(live, event->hw.target);
	if (entry) {
		cache_qos_event_track(ev, entry);
		ret = cache_qos_task_watch(&live->core, &entry->is, watch->monitor, false,
					   cache_qos_now_ns());
	}
	if (ret) {
		live->lost_forks++;
		live->core.monitors[watch->monitor].status |= PMUKIT_CACHE_QOS_S_PARTIAL;
	}
	raw_spin_unlock_irq(&live->lock);
	return 0;
}

static void cache_qos_open_cpu(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	raw_spin_lock_irq(&live->lock);
	list_add_tail(&ev->place, &live->pending);
	raw_spin_unlock_irq(&live->lock);
}

static int cache_qos_spare_alloc(struct cache_qos_event *ev)
{
	ev->spare_watch = kzalloc_obj(*ev->spare_watch);
	ev->spare_channel = kzalloc_obj(*ev->spare_channel);
	if (!ev->spare_watch || !ev->spare_channel)
		return -ENOMEM;
	raw_spin_lock_init(&ev->spare_watch->lock);
	INIT_LIST_HEAD(&ev->spare_watch->channels);
	INIT_LIST_HEAD(&ev->spare_watch->settled);
	INIT_LIST_HEAD(&ev->spare_channel->events);
	return 0;
}

static void cache_qos_spare_free(struct cache_qos_event *ev)
{
	kfree(ev->spare_watch);
	kfree(ev->spare_channel);
	put_pid(ev->opener);
}

/**
 * cache_qos_watch_open - set up the target of a new event
 * @live: driver state
 * @ev: the event, with its terms filled in
 *
 * Context: process context, sometimes under perf's ctx->mutex.
 *
 * Return: 0, or -errno without side effects.
 */
int cache_qos_watch_open(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct perf_event *event = ev->pev.event;
	int ret;

	INIT_LIST_HEAD(&ev->place);
	if (event->parent) {
		mutex_lock(&live->config_mutex);
		ret = cache_qos_open_child(live, ev);
		mutex_unlock(&live->config_mutex);
		return ret;
	}

	ret = cache_qos_spare_alloc(ev);
	if (ret)
		goto free_spare;
	ev->opener = get_pid(task_tgid(current));
	ev->limited = !perfmon_capable();
	mutex_lock(&live->config_mutex);
	if (event->attach_state & PERF_ATTACH_TASK)
		ret = cache_qos_open_task(live, ev);
	else
		cache_qos_open_cpu(live, ev);
	mutex_unlock(&live->config_mutex);
	if (ret)
		goto free_spare;
	return 0;

free_spare:
	cache_qos_spare_free(ev);
	return ret;
}

/**
 * cache_qos_watch_close - release the target of an event
 * @live: driver state
 * @ev: the event
 *
 * A task that inherited the event stays watched until the task exits or the watch ends: perf may
 * have swapped the events of the task with those of another task.
 *
 * Context: process context.
 */
void cache_qos_watch_close(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct cache_qos_watch *watch;
	bool left, last = false;

	mutex_lock(&live->config_mutex);
	if (ev->tracked)
		cache_qos_task_closed(live, ev->pev.event->hw.target);
	cache_qos_channel_leave(ev);
	raw_spin_lock_irq(&live->lock);
	watch = ev->watch;
	left = cache_qos_leave_cpu(live, ev);
	if (watch)
		last = cache_qos_watch_drop(live, watch);
	raw_spin_unlock_irq(&live->lock);
	if (left || last)
		cache_qos_resolve_changed(live);
	if (last) {
		cache_qos_tasks_prune(live);
		cache_qos_watch_free(watch);
	}
	mutex_unlock(&live->config_mutex);
	cache_qos_spare_free(ev);
}
