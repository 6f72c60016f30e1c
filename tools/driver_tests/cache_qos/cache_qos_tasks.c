// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Builds two source files of the driver with stubs for the kernel and for the rest of the driver.
 * The driver's own header is replaced, because it would need all of perf.
 */
#define CACHE_QOS_H	/* suppresses drivers/cache_qos/cache_qos.h */

#include <asm/rwonce.h>
#include <errno.h>
#include <linux/hash.h>
#include <linux/sched/signal.h>
#include <linux/types.h>

#include "cache_qos/cache_qos_core.h"
#include "cache_qos_tasks.h"

#define WARN_ON_ONCE(condition)	((void)(condition))
#define mutex_lock(mutex)	((void)(mutex))
#define mutex_unlock(mutex)	((void)(mutex))
#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)

static void before_lock(void);

#define raw_spin_lock_irq(lock)			((void)(lock), before_lock())
#define raw_spin_unlock_irq(lock)		((void)(lock))
#define raw_spin_lock_irqsave(lock, flags)	((void)(lock), (flags) = 0, before_lock())
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(lock), (void)(flags))

struct cache_qos_entry {
	struct hlist_node node;
	struct task_struct *task;
	struct cache_qos_task is;
	unsigned int events;
};

struct cache_qos_live {
	struct cache_qos core;
	int lock, config_mutex;
	const struct pmukit_cache_qos_backend *backend;
	DECLARE_HASHTABLE(tasks, 4);
	unsigned int nr_tasks;
	u64 lost_forks;
	u64 enabled_ns;
	const char *group_paths[CACHE_QOS_MAX_NODES];
};

struct cache_qos_entry *cache_qos_entry_find(struct cache_qos_live *live, struct task_struct *task);
struct cache_qos_task *cache_qos_task_find(struct cache_qos_live *live, struct task_struct *task);
int cache_qos_track(struct cache_qos_live *live, struct task_struct *task);
void cache_qos_on_free(void *data, struct task_struct *task);
void cache_qos_on_fork(void *data, struct task_struct *parent, struct task_struct *child);
void cache_qos_task_closed(struct cache_qos_live *live, struct task_struct *task);
void cache_qos_tasks_prune(struct cache_qos_live *live);
int cache_qos_group_peek(struct cache_qos_live *live, u16 group, enum pmukit_cache_qos_event event,
			 u16 domain, struct cache_qos_value *value);

/* The code under test does not depend on time. */
static u64 cache_qos_now_ns(void)
{
	return 0;
}

static int cache_qos_users_get(struct cache_qos_live *live)
{
	(void)live;
	return 0;
}

static void cache_qos_users_put(struct cache_qos_live *live)
{
	(void)live;
}

static void cache_qos_resolve_changed(struct cache_qos_live *live)
{
	(void)live;
}

static int cache_qos_refresh(struct cache_qos_live *live)
{
	(void)live;
	return 0;
}

#include "cache_qos/cache_qos_task.c"
#include "cache_qos/cache_qos_group.c"

struct task_struct *kshim_tasks;

static struct cache_qos_live live;
static struct cache_qos_atom atoms[2];
static struct task_struct task, child;
static unsigned int locks_left;
static u16 removed;

void tasks_begin(void)
{
	const struct cache_qos_hw hw = { .nr_rmid = 2 };

	memset(&live, 0, sizeof(live));
	memset(atoms, 0, sizeof(atoms));
	cache_qos_init(&live.core, NULL, &hw, atoms, NULL, 0);
	task = (struct task_struct){ .alive = true };
	child = (struct task_struct){ .alive = true };
	kshim_tasks = &task;
	locks_left = 0;
	removed = CACHE_QOS_ROOT;
}

/*
 * Removes the task from the task lists. sched_process_free follows at once, as after a grace
 * period.
 */
void tasks_end_now(void)
{
	if (!task.alive)
		return;
	locks_left = 0;
	task.alive = false;
	task.flags |= PF_EXITING;
	cache_qos_on_free(&live, &task);
}

void tasks_end_before_lock(unsigned int n)
{
	locks_left = n;
}

static void before_lock(void)
{
	u16 group = removed;

	removed = CACHE_QOS_ROOT;
	if (group != CACHE_QOS_ROOT)
		cache_qos_group_remove(&live, group);
	if (locks_left && !--locks_left)
		tasks_end_now();
}

void tasks_fork(void)
{
	cache_qos_on_fork(&live, &task, &child);
}

void tasks_fork_beside_removal(u16 group)
{
	removed = group;
	cache_qos_on_fork(&live, &task, &child);
}

void tasks_end_child(void)
{
	cache_qos_on_free(&live, &child);
}

int tasks_make_group(void)
{
	return cache_qos_group_make(&live, CACHE_QOS_ROOT, "group");
}

int tasks_attach(u16 group)
{
	return cache_qos_group_attach(&live, group, &task);
}

int tasks_attach_process(u16 group)
{
	return cache_qos_group_attach_process(&live, group, &task);
}

void tasks_remove_group(u16 group)
{
	cache_qos_group_remove(&live, group);
}

u32 tasks_in(u16 group)
{
	return live.core.nodes[group].tasks;
}

u32 tasks_tracked(void)
{
	return live.nr_tasks;
}
