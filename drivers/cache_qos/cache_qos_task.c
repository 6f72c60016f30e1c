// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: tracked tasks: those in a group and those that an event watches. All other tasks are
 * in the root group and have no entry.
 *
 * struct task_struct has no field for this driver, so entries are in a hash table by address of the
 * task. The probe of sched_process_free removes an entry. The probe runs for every task, a grace
 * period after the task was removed from the task lists and before its memory is freed. After
 * cache_qos_track() has added an entry, it checks that the task is still in the lists: if so, the
 * probe is yet to run and will find the entry.
 */

#include <linux/hash.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cache_qos.h"

/**
 * cache_qos_entry_find - find the entry of a task
 * @live: driver state
 * @task: the task
 *
 * Context: preemption off or RCU read side, for as long as the entry is used; or under live->lock.
 *
 * Return: the entry; NULL: the task is not tracked.
 */
struct cache_qos_entry *cache_qos_entry_find(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_entry *entry;

	hash_for_each_possible_rcu_notrace(live->tasks, entry, node, (unsigned long)task) {
		if (entry->task == task)
			return entry;
	}
	return NULL;
}

/**
 * cache_qos_task_find - find group and monitors of a task
 * @live: driver state
 * @task: the task
 *
 * Context: preemption off or RCU read side, for as long as the result is used; or under live->lock.
 *
 * Return: the core's struct; NULL: the task is not tracked.
 */
struct cache_qos_task *cache_qos_task_find(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_entry *entry = cache_qos_entry_find(live, task);

	return entry ? &entry->is : NULL;
}

/* Remove the entry of a task from the table. The caller holds live->lock and frees the entry. */
static struct cache_qos_entry *cache_qos_untrack(struct cache_qos_live *live,
						 struct task_struct *task)
{
	struct cache_qos_entry *entry = cache_qos_entry_find(live, task);

	if (!entry)
		return NULL;
	hash_del_rcu(&entry->node);
	live->nr_tasks--;
	cache_qos_task_exit(&live->core, &entry->is);
	return entry;
}

static void cache_qos_task_forget(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_entry *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&live->lock, flags);
	entry = cache_qos_untrack(live, task);
	raw_spin_unlock_irqrestore(&live->lock, flags);
	if (entry)
		kfree_rcu(entry, rcu);
}

static struct cache_qos_entry *cache_qos_entry_alloc(struct task_struct *task, gfp_t gfp)
{
	const struct cache_qos_entry new = { .task = task };

	return kmemdup(&new, sizeof(new), gfp);
}

/* Add @entry unless its task has an entry. Return: the task's entry. Called under live->lock. */
static struct cache_qos_entry *cache_qos_entry_add(struct cache_qos_live *live,
						   struct cache_qos_entry *entry)
{
	struct cache_qos_entry *other = cache_qos_entry_find(live, entry->task);

	if (other)
		return other;
	cache_qos_task_init(&live->core, &entry->is);
	hash_add_rcu(live->tasks, &entry->node, (unsigned long)entry->task);
	live->nr_tasks++;
	return entry;
}

/**
 * cache_qos_track - make sure that a task has an entry
 * @live: driver state
 * @task: the task, with a reference
 *
 * The task may exit at any time, which removes its entry: neither a reference nor config_mutex
 * prevents that. So callers look the entry up again, under a lock that they hold while they use it.
 *
 * Context: the caller holds config_mutex; otherwise an unmonitored entry may be pruned at any time.
 *
 * Return: 0, -ENOMEM, or -ESRCH: the task has exited.
 */
int cache_qos_track(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_entry *entry, *found;

	entry = cache_qos_entry_alloc(task, GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	raw_spin_lock_irq(&live->lock);
	found = cache_qos_entry_add(live, entry);
	raw_spin_unlock_irq(&live->lock);
	if (found != entry)
		kfree(entry);

	/*
	 * cache_qos_on_free() is yet to run for a task that is in the task lists. A task in state
	 * TASK_NEW is not in the lists yet.
	 */
	if (pid_alive(task) || READ_ONCE(task->__state) == TASK_NEW)
		return 0;
	cache_qos_task_forget(live, task);
	return -ESRCH;
}

/**
 * cache_qos_on_free - probe of sched_process_free
 * @data: driver state
 * @task: the task, whose memory is about to be freed
 */
void cache_qos_on_free(void *data, struct task_struct *task)
{
	struct cache_qos_live *live = data;
	struct cache_qos_entry *entry;

	rcu_read_lock();
	entry = cache_qos_entry_find(live, task);
	rcu_read_unlock();
	if (entry)
		cache_qos_task_forget(live, task);
}

/* The group of a task; CACHE_QOS_ROOT if it is not tracked */
static u16 cache_qos_group_of(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_task *is;
	u16 node = CACHE_QOS_ROOT;

	rcu_read_lock();
	is = cache_qos_task_find(live, task);
	if (is)
		node = READ_ONCE(is->node);
	rcu_read_unlock();
	return node;
}

/* A child could not be tracked: mark its group and all ancestors as partial. Under live->lock. */
static void cache_qos_fork_lost(struct cache_qos_live *live, u16 node)
{
	struct cache_qos *cq = &live->core;

	live->lost_forks++;
	for (; node != CACHE_QOS_ROOT; node = cq->nodes[node].parent) {
		if (cq->nodes[node].monitor != CACHE_QOS_NONE)
			cq->monitors[cq->nodes[node].monitor].status |= PMUKIT_CACHE_QOS_S_PARTIAL;
	}
}

/*
 * Put a child into group @node, under live->lock. @entry: a new entry for the child; NULL: out of
 * memory. Return: the child's entry; NULL: the child is not tracked.
 */
static struct cache_qos_entry *cache_qos_fork_place(struct cache_qos_live *live,
						    struct task_struct *child, u16 node,
						    struct cache_qos_entry *entry)
{
	struct cache_qos_entry *found;

	found = entry ? cache_qos_entry_add(live, entry) : cache_qos_entry_find(live, child);
	if (found)
		cache_qos_task_move(&live->core, &found->is, node);
	else
		cache_qos_fork_lost(live, node);
	return found;
}

/**
 * cache_qos_on_fork - probe of sched_process_fork: puts a child into the group of its parent
 * @data: driver state
 * @parent: the parent
 * @child: the child, which has not run yet
 *
 * Inherited events are not handled here: perf opens them for the child.
 */
void cache_qos_on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct cache_qos_live *live = data;
	struct cache_qos_entry *entry, *found = NULL;
	unsigned long flags;
	u16 node;

	if (cache_qos_group_of(live, parent) == CACHE_QOS_ROOT)
		return;
	entry = cache_qos_entry_alloc(child, GFP_ATOMIC | __GFP_NOWARN);

	/* Add and move under one lock: in between, an entry in the root group could be pruned. */
	raw_spin_lock_irqsave(&live->lock, flags);
	node = cache_qos_group_of(live, parent);	/* the parent may have been moved */
	if (node != CACHE_QOS_ROOT)
		found = cache_qos_fork_place(live, child, node, entry);
	raw_spin_unlock_irqrestore(&live->lock, flags);
	if (found != entry)
		kfree(entry);
}

/* Remove one unused entry. Return: the entry, which the caller frees; NULL: none is unused. */
static struct cache_qos_entry *cache_qos_untrack_unused(struct cache_qos_live *live, int bucket)
{
	struct cache_qos_entry *entry, *found = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&live->lock, flags);
	hlist_for_each_entry(entry, &live->tasks[bucket], node) {
		if (entry->events || !cache_qos_task_is_unmonitored(&live->core, &entry->is))
			continue;
		found = cache_qos_untrack(live, entry->task);
		break;
	}
	raw_spin_unlock_irqrestore(&live->lock, flags);
	return found;
}

/**
 * cache_qos_task_closed - an event of a task is closed
 * @live: driver state
 * @task: the task, with a reference; it may have exited
 *
 * If fork() fails half-way, perf closes the events that the child has inherited, and the child is
 * freed without sched_process_free. So the child's entry is removed when the last of these events
 * is closed.
 *
 * Context: the caller holds config_mutex.
 */
void cache_qos_task_closed(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_entry *entry;

	raw_spin_lock_irq(&live->lock);
	entry = cache_qos_entry_find(live, task);
	if (entry && !--entry->events && entry->is.node == CACHE_QOS_ROOT &&
	    READ_ONCE(task->__state) == TASK_NEW)
		entry = cache_qos_untrack(live, task);
	else
		entry = NULL;
	raw_spin_unlock_irq(&live->lock);
	if (entry)
		kfree_rcu(entry, rcu);
}

/**
 * cache_qos_tasks_prune - remove the entries of tasks that are no longer monitored
 * @live: driver state
 *
 * Context: the caller holds config_mutex: no other code uses an entry meanwhile.
 */
void cache_qos_tasks_prune(struct cache_qos_live *live)
{
	struct cache_qos_entry *entry;
	int bucket;

	for (bucket = 0; bucket < HASH_SIZE(live->tasks); bucket++) {
		while ((entry = cache_qos_untrack_unused(live, bucket)))
			kfree_rcu(entry, rcu);
	}
}
