// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: cgroups that perf events watch. Each context switch looks for the nearest watched
 * cgroup of the task, from the task's cgroup upwards: one lookup in a small hash table per level.
 */

#include <linux/cgroup.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>

#include "cache_qos.h"

#ifdef CONFIG_CGROUP_PERF

/* Called under RCU, with preemption off, or under live->lock. */
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
 * cache_qos_cgroup_of - find the nearest watched cgroup of a task
 * @live: driver state
 * @task: the task
 *
 * Context: interrupts off.
 *
 * Return: node of the cgroup, or CACHE_QOS_NONE.
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
 * Change the parent of watched cgroups below @css from node @from to node @to. Fails only if a node
 * would be too deep. Some nodes have then been moved, and a second call with @from and @to
 * exchanged moves them back.
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
 * cache_qos_cgroup_key - set the key that identifies the cgroup of an event
 * @cgroup: cgroup whose key is set; no reference is taken
 * @event: an event of a cgroup
 *
 * Return: 0; -EOPNOTSUPP: the kernel is built without CONFIG_CGROUP_PERF.
 */
int cache_qos_cgroup_key(struct cache_qos_cgroup *cgroup, const struct perf_event *event)
{
	cgroup->css = &event->cgrp->css;
	return 0;
}

/**
 * cache_qos_cgroup_watch - start to watch a cgroup
 * @live: driver state
 * @cgroup: the cgroup, with its key; not watched yet. A reference of its css is taken.
 * @limited: the monitor is that of a user without CAP_PERFMON
 * @turns: the monitor takes turns
 * @now_ns: current time
 *
 * Context: the caller holds live->lock.
 *
 * Return: the monitor or -errno; -ENAMETOOLONG: the watched cgroups are nested too deeply.
 */
int cache_qos_cgroup_watch(struct cache_qos_live *live, struct cache_qos_cgroup *cgroup,
			   bool limited, bool turns, u64 now_ns)
{
	struct cgroup_subsys_state *css = cgroup->css;
	u16 parent = cache_qos_cgroup_nearest(live, css->parent);
	int node, ret;

	node = cache_qos_node_make(&live->core, parent);
	if (node < 0)
		return node;
	/* This cgroup becomes the parent of the watched cgroups directly below it. */
	ret = cache_qos_cgroup_adopt(live, css, parent, node);
	if (!ret)
		ret = cache_qos_node_watch(&live->core, node, limited, turns, now_ns);
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
 * cache_qos_cgroup_unwatch - stop watching a cgroup
 * @live: driver state
 * @cgroup: a watched cgroup; the caller puts its css, and waits for RCU before it frees the cgroup
 * @now_ns: current time
 *
 * Context: the caller holds live->lock.
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
 * cache_qos_cgroup_event - check if an event is for a cgroup
 * @event: an event that perf has completely set up
 *
 * Return: true if the event is for a cgroup.
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
			   bool limited, bool turns, u64 now_ns)
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
