// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: groups, which users see through cache_qos_configfs.c. A group is a node of the core;
 * group CACHE_QOS_ROOT is the whole machine and always exists.
 *
 * Context of all functions: process context, may sleep.
 */

#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "cache_qos.h"

/**
 * cache_qos_group_make - create a group, without a monitor and without tasks
 * @live: driver state
 * @parent: parent group
 * @path: path of the group, valid until cache_qos_group_remove()
 *
 * Return: the group, -ENOSPC: too many groups, -ENAMETOOLONG: too deep, or another -errno.
 */
int cache_qos_group_make(struct cache_qos_live *live, u16 parent, const char *path)
{
	int ret;

	ret = cache_qos_users_get(live);
	if (ret)
		return ret;
	mutex_lock(&live->config_mutex);
	raw_spin_lock_irq(&live->lock);
	ret = cache_qos_node_make(&live->core, parent);
	if (ret >= 0)
		live->group_paths[ret] = path;
	raw_spin_unlock_irq(&live->lock);
	mutex_unlock(&live->config_mutex);
	if (ret < 0)
		cache_qos_users_put(live);
	return ret;
}

/* Unlock after each bucket of the table, because the group may have all tasks of the machine. */
static void cache_qos_group_empty(struct cache_qos_live *live, u16 group)
{
	u16 parent = live->core.nodes[group].parent;
	struct cache_qos_entry *entry;
	int bucket;

	for (bucket = 0; bucket < HASH_SIZE(live->tasks); bucket++) {
		raw_spin_lock_irq(&live->lock);
		hlist_for_each_entry(entry, &live->tasks[bucket], node) {
			if (entry->is.node == group)
				cache_qos_task_move(&live->core, &entry->is, parent);
		}
		raw_spin_unlock_irq(&live->lock);
	}
}

/**
 * cache_qos_group_remove - remove a group
 * @live: driver state
 * @group: a group without children, not CACHE_QOS_ROOT; its tasks move to its parent
 */
void cache_qos_group_remove(struct cache_qos_live *live, u16 group)
{
	int ret;

	mutex_lock(&live->config_mutex);
	/* Repeat if a task of the group forked and its child is in a bucket already processed. */
	do {
		cache_qos_group_empty(live, group);
		raw_spin_lock_irq(&live->lock);
		ret = cache_qos_node_remove(&live->core, group, cache_qos_now_ns());
		if (!ret)
			live->group_paths[group] = NULL;
		raw_spin_unlock_irq(&live->lock);
	} while (ret == -EBUSY);
	WARN_ON_ONCE(ret);
	cache_qos_resolve_changed(live);
	cache_qos_tasks_prune(live);
	mutex_unlock(&live->config_mutex);
	cache_qos_users_put(live);
}

/**
 * cache_qos_group_monitor - switch the monitor of a group on or off
 * @live: driver state
 * @group: not CACHE_QOS_ROOT (-EINVAL)
 * @on: true: create a monitor; false: end it
 *
 * Return: 0 even if nothing changes, -EAGAIN: no RMID is available, -EBUSY: other software has the
 * registers.
 */
int cache_qos_group_monitor(struct cache_qos_live *live, u16 group, bool on)
{
	int ret;

	if (on && (cache_qos_registers_taken(&live->core) || live->backend->claimed()))
		return -EBUSY;
	mutex_lock(&live->config_mutex);
	raw_spin_lock_irq(&live->lock);
	ret = cache_qos_node_monitor(&live->core, group, on, PMUKIT_CACHE_QOS_KIND_GROUP,
				     cache_qos_now_ns());
	raw_spin_unlock_irq(&live->lock);
	if (!ret) {
		WRITE_ONCE(live->enabled_ns, cache_qos_now_ns());
		cache_qos_resolve_changed(live);
	}
	mutex_unlock(&live->config_mutex);
	return ret == -EBUSY || ret == -ENOSPC ? -EAGAIN : ret;
}

/**
 * cache_qos_group_number - number of a group's monitor, as in readings and trace events
 * @live: driver state
 * @group: the group
 *
 * Return: the number; CACHE_QOS_NONE: the group has no monitor. The root has CACHE_QOS_MACHINE.
 */
u16 cache_qos_group_number(struct cache_qos_live *live, u16 group)
{
	return READ_ONCE(live->core.nodes[group].monitor);
}

/**
 * cache_qos_group_monitored - check if a group has a monitor of its own
 * @live: driver state
 * @group: the group
 *
 * Return: true if the group has a monitor. The root always has one.
 */
bool cache_qos_group_monitored(struct cache_qos_live *live, u16 group)
{
	return cache_qos_group_number(live, group) != CACHE_QOS_NONE;
}

/* The caller holds config_mutex and calls cache_qos_group_moved() afterwards. */
static int cache_qos_group_move(struct cache_qos_live *live, u16 group, struct task_struct *task)
{
	struct cache_qos_task *is;
	int ret;

	ret = cache_qos_track(live, task);
	if (ret)
		return ret;
	raw_spin_lock_irq(&live->lock);
	is = cache_qos_task_find(live, task);
	if (is)
		cache_qos_task_move(&live->core, is, group);
	raw_spin_unlock_irq(&live->lock);
	return is ? 0 : -ESRCH;
}

static void cache_qos_group_moved(struct cache_qos_live *live, u16 group)
{
	cache_qos_resolve_changed(live);
	if (group == CACHE_QOS_ROOT)
		cache_qos_tasks_prune(live);
}

/**
 * cache_qos_group_attach - move a task to a group
 * @live: driver state
 * @group: the new group, which replaces the old one
 * @task: the task, with a reference; its later children are in the group, too
 *
 * Return: 0, -ESRCH: the task has exited, -ENOMEM.
 */
int cache_qos_group_attach(struct cache_qos_live *live, u16 group, struct task_struct *task)
{
	int ret;

	mutex_lock(&live->config_mutex);
	ret = cache_qos_group_move(live, group, task);
	cache_qos_group_moved(live, group);
	mutex_unlock(&live->config_mutex);
	return ret;
}

/* Return: a thread of @task's process that is not in the group, with a reference; NULL: none */
static struct task_struct *cache_qos_group_stray(struct cache_qos_live *live, u16 group,
						 struct task_struct *task)
{
	struct task_struct *thread, *found = NULL;

	rcu_read_lock();
	for_each_thread(task, thread) {
		struct cache_qos_task *is = cache_qos_task_find(live, thread);
		u16 node = is ? READ_ONCE(is->node) : CACHE_QOS_ROOT;

		if (node == group || thread->flags & PF_EXITING)
			continue;
		found = thread;
		get_task_struct(found);
		break;
	}
	rcu_read_unlock();
	return found;
}

/**
 * cache_qos_group_attach_process - move all threads of a process to a group
 * @live: driver state
 * @group: the new group
 * @task: a thread of the process, with a reference
 *
 * A thread that is created meanwhile is created in the new group, or is moved as well.
 *
 * Return: 0 or -ENOMEM; a thread that exits meanwhile is skipped.
 */
int cache_qos_group_attach_process(struct cache_qos_live *live, u16 group,
				   struct task_struct *task)
{
	struct task_struct *stray;
	int ret = 0;

	mutex_lock(&live->config_mutex);
	while (!ret && (stray = cache_qos_group_stray(live, group, task))) {
		ret = cache_qos_group_move(live, group, stray);
		if (ret == -ESRCH)
			ret = 0;
		put_task_struct(stray);
		cond_resched();
	}
	cache_qos_group_moved(live, group);
	mutex_unlock(&live->config_mutex);
	return ret;
}

/**
 * cache_qos_group_tasks - list the tasks of a group
 * @live: driver state
 * @group: the group
 * @processes: list only the main thread of each process
 * @pids: result, numbered as in the caller's pid namespace; NULL: only count
 * @max: entries in @pids
 *
 * Return: number of tasks, which may be more than @max.
 */
unsigned int cache_qos_group_tasks(struct cache_qos_live *live, u16 group, bool processes,
				   pid_t *pids, unsigned int max)
{
	struct task_struct *process, *task;
	unsigned int nr = 0;

	rcu_read_lock();
	for_each_process_thread(process, task) {
		struct cache_qos_task *is = cache_qos_task_find(live, task);
		u16 node = is ? READ_ONCE(is->node) : CACHE_QOS_ROOT;
		pid_t pid = task_pid_vnr(task);

		if (node != group || !pid || task->flags & PF_EXITING ||
		    (processes && !thread_group_leader(task)))
			continue;
		if (pids && nr < max)
			pids[nr] = pid;
		nr++;
	}
	rcu_read_unlock();
	return nr;
}

/**
 * cache_qos_group_value - value of a group, not older than sample_ms
 * @live: driver state
 * @group: the group
 * @event: event type
 * @domain: index of a domain, or CACHE_QOS_ALL
 * @value: result
 *
 * To read several values, call cache_qos_refresh() once and use cache_qos_group_peek().
 *
 * Return: 0, -ENODATA: not monitored, or no value, -EIO: hardware error, -EBUSY: other software has
 * the registers, -ETIMEDOUT: waiting for a pass timed out (CACHE_QOS_REFRESH_MS), -EOPNOTSUPP: the
 * hardware does not support the event.
 */
int cache_qos_group_value(struct cache_qos_live *live, u16 group,
			  enum pmukit_cache_qos_event event, u16 domain,
			  struct cache_qos_value *value)
{
	int ret;

	if (!cache_qos_group_monitored(live, group))
		return -ENODATA;
	ret = cache_qos_refresh(live);
	if (ret)
		return ret;
	return cache_qos_group_peek(live, group, event, domain, value);
}

/**
 * cache_qos_group_peek - value of a group, as last read
 * @live: driver state
 * @group: the group
 * @event: event type
 * @domain: index of a domain, or CACHE_QOS_ALL
 * @value: result, also filled in if other software has the registers (PMUKIT_CACHE_QOS_S_YIELDED)
 *
 * Return: as for cache_qos_group_value().
 */
int cache_qos_group_peek(struct cache_qos_live *live, u16 group,
			 enum pmukit_cache_qos_event event, u16 domain,
			 struct cache_qos_value *value)
{
	int ret = -ENODATA;
	u16 monitor;

	raw_spin_lock_irq(&live->lock);
	monitor = live->core.nodes[group].monitor;
	if (monitor != CACHE_QOS_NONE)
		ret = cache_qos_monitor_value(&live->core, monitor, event, domain,
					      cache_qos_now_ns(), value);
	if (live->core.yielded)
		ret = -EBUSY;
	raw_spin_unlock_irq(&live->lock);
	return ret;
}
