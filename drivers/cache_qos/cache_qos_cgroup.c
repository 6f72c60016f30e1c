// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: cgroups that perf events watch. The nearest one of a task is looked for at each
 * context switch, from the task's cgroup upwards: at most as many steps as the tree is deep, each a
 * look into a small table.
 */

#include <linux/cgroup.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>

#include "cache_qos.h"

#ifdef CONFIG_CGROUP_PERF

/* Under RCU, with preemption off, or under the lock */
static struct cache_qos_cgroup *cache_qos_cgroup_find(struct cache_qos_live *live,
						      struct cgroup_subsys_state *css)
{
	struct cache_qos_cgroup *cgroup;

	hash_for_each_possible_rcu_notrace(live->cgroups, cgroup, hash, (unsigned long)css) {
		if (cgroup->css == css)
			return cgroup;
	}
	return NULL;
}

static u16 cache_qos_cgroup_nearest(struct cache_qos_live *live, struct cgroup_subsys_state *css)
{
	for (; css; css = css->parent) {
		struct cache_qos_cgroup *cgroup = cache_qos_cgroup_find(live, css);

		if (cgroup)
			return cgroup->node;
	}
	return CACHE_QOS_NONE;
}

/**
 * cache_qos_cgroup_of - the nearest watched cgroup a task is in
 * @live: everything
 * @task: the task
 *
 * Context: interrupts off.
 *
 * Return: its node, or CACHE_QOS_NONE.
 */
u16 cache_qos_cgroup_of(struct cache_qos_live *live, struct task_struct *task)
{
	u16 node;

	if (!READ_ONCE(live->nr_cgroups))
		return CACHE_QOS_NONE;
	rcu_read_lock();
	node = cache_qos_cgroup_nearest(live, &perf_cgroup_from_task(task, NULL)->css);
	rcu_read_unlock();
	return node;
}

/*
 * Those below a cgroup whose parent is one node get another. It fails only where they come deeper
 * than nodes may be; some are then moved, and moved back by the same with the nodes exchanged.
 */
static int cache_qos_cgroup_adopt(struct cache_qos_live *live, struct cgroup_subsys_state *css,
				  u16 from, u16 to)
{
	struct cache_qos_cgroup *cgroup;
	int bucket, ret = 0;

	hash_for_each(live->cgroups, bucket, cgroup, hash) {
		if (ret || live->core.nodes[cgroup->node].parent != from ||
		    !cgroup_is_descendant(cgroup->css->cgroup, css->cgroup))
			continue;
		ret = cache_qos_node_reparent(&live->core, cgroup->node, to);
	}
	return ret;
}

/**
 * cache_qos_cgroup_key - the key that identifies the cgroup of an event
 * @cgroup: filled in; no reference is taken
 * @event: of a cgroup
 *
 * Return: 0.
 */
int cache_qos_cgroup_key(struct cache_qos_cgroup *cgroup, const struct perf_event *event)
{
	cgroup->css = &event->cgrp->css;
	return 0;
}

/**
 * cache_qos_cgroup_watch - begin to watch a cgroup
 * @live: everything
 * @cgroup: with its key; not watched yet. A reference of its css is taken.
 * @now_ns: time
 *
 * Context: the lock.
 *
 * Return: the monitor or -errno; -ENAMETOOLONG: too many that are watched lie one in the other.
 */
int cache_qos_cgroup_watch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			   u64 now_ns)
{
	struct cgroup_subsys_state *css = cgroup->css;
	u16 parent = cache_qos_cgroup_nearest(live, css->parent);
	int node, ret;

	node = cache_qos_node_make(&live->core, parent);
	if (node < 0)
		return node;
	/* Those that had its parent have it between them from here on. */
	ret = cache_qos_cgroup_adopt(live, css, parent, node);
	if (!ret)
		ret = cache_qos_node_monitor(&live->core, node, true, PMUKIT_CACHE_QOS_KIND_CGROUP,
					     now_ns);
	if (ret) {
		cache_qos_cgroup_adopt(live, css, node, parent);
		cache_qos_node_remove(&live->core, node, now_ns);
		return ret;
	}
	css_get(css);
	cgroup->node = node;
	hash_add_rcu(live->cgroups, &cgroup->hash, (unsigned long)css);
	WRITE_ONCE(live->nr_cgroups, live->nr_cgroups + 1);
	return live->core.nodes[node].monitor;
}

/**
 * cache_qos_cgroup_unwatch - the opposite
 * @live: everything
 * @cgroup: one that is watched; the caller puts its css and waits for RCU before it frees it
 * @now_ns: time
 *
 * Context: the lock.
 */
void cache_qos_cgroup_unwatch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			      u64 now_ns)
{
	u16 parent = live->core.nodes[cgroup->node].parent;

	hash_del_rcu(&cgroup->hash);
	WRITE_ONCE(live->nr_cgroups, live->nr_cgroups - 1);
	cache_qos_cgroup_adopt(live, cgroup->css, cgroup->node, parent);
	cache_qos_node_remove(&live->core, cgroup->node, now_ns);
}

/**
 * cache_qos_cgroup_event - is it an event of a cgroup
 * @event: one that perf has finished to make
 *
 * Return: it is.
 */
bool cache_qos_cgroup_event(const struct perf_event *event)
{
	return event->cgrp;
}

#else

u16 cache_qos_cgroup_of(struct cache_qos_live *live, struct task_struct *task)
{
	return CACHE_QOS_NONE;
}

int cache_qos_cgroup_key(struct cache_qos_cgroup *cgroup, const struct perf_event *event)
{
	return -EOPNOTSUPP;
}

int cache_qos_cgroup_watch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			   u64 now_ns)
{
	return -EOPNOTSUPP;
}

void cache_qos_cgroup_unwatch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			      u64 now_ns)
{
}

bool cache_qos_cgroup_event(const struct perf_event *event)
{
	return false;
}

#endif /* CONFIG_CGROUP_PERF */
