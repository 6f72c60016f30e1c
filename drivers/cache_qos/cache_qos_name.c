// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: names of monitors, for the readers of values (streams and the trace event). The name
 * is the target of a watch or the path of a group. While there are readers, the sampler updates
 * names before it emits values, so a monitor has its name from its first value. Paths do not
 * change; the comm of a process does.
 *
 * Locking: names belong to the sampler. Watches and groups are read under live->lock; tasks and
 * cgroups are read without it, with a reference.
 */

#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "cache_qos.h"

/**
 * struct cache_qos_named - a task or cgroup whose name is read without the lock, with a reference
 * @task: a process or thread; NULL: none, or it has exited
 * @css: a cgroup; NULL: none
 */
struct cache_qos_named {
	struct task_struct *task;
	struct cgroup_subsys_state *css;
};

/* A path that is too long loses its start, because its end is more specific. */
static void cache_qos_name_path(struct cache_qos_name *name, const char *path)
{
	size_t bytes = strlen(path);

	strscpy(name->text, path + bytes - min_t(size_t, bytes, CACHE_QOS_NAME_BYTES),
		sizeof(name->text));
}

static void cache_qos_name_group(struct cache_qos_live *live, struct cache_qos_name *name,
				 u16 monitor)
{
	u32 node;

	for (node = 0; node < CACHE_QOS_MAX_NODES; node++) {
		if (live->group_paths[node] && live->core.nodes[node].monitor == monitor)
			cache_qos_name_path(name, live->group_paths[node]);
	}
}

static void cache_qos_name_tasks(const struct cache_qos_watch *watch, struct cache_qos_name *name,
				 struct cache_qos_named *named)
{
	if (watch->process) {
		name->id = pid_nr(watch->process);
		named->task = get_pid_task(watch->process, PIDTYPE_PID);
	} else {
		scnprintf(name->text, sizeof(name->text), "share %u", watch->share);
	}
}

static void cache_qos_name_watch(const struct cache_qos_watch *watch, struct cache_qos_name *name,
				 struct cache_qos_named *named)
{
	switch (watch->target) {
	case CACHE_QOS_TARGET_TASKS:
		cache_qos_name_tasks(watch, name, named);
		break;
	case CACHE_QOS_TARGET_CPUS:
		scnprintf(name->text, sizeof(name->text), "%*pbl", cpumask_pr_args(&watch->cpus));
		break;
	case CACHE_QOS_TARGET_CGROUP:
		named->css = watch->cgroup.css;
		css_get(named->css);
		break;
	}
}

/* A task that has exited keeps its last name. */
static void cache_qos_name_ask(struct cache_qos_live *live, struct cache_qos_name *name,
			       const struct cache_qos_named *named)
{
	char comm[TASK_COMM_LEN];
	int ret;

	if (named->task) {
		get_task_comm(comm, named->task);
		strscpy(name->text, comm, sizeof(name->text));
		put_task_struct(named->task);
	}
	if (named->css) {
		ret = cgroup_path(named->css->cgroup, live->path, sizeof(live->path));
		name->id = cgroup_id(named->css->cgroup);
		cache_qos_name_path(name, ret < 0 ? "?" : live->path);
		css_put(named->css);
	}
}

static bool cache_qos_name_stays(const struct cache_qos_name *name)
{
	return name->kind == PMUKIT_CACHE_QOS_KIND_GROUP ||
	       name->kind == PMUKIT_CACHE_QOS_KIND_CGROUP;
}

static void cache_qos_name_update(struct cache_qos_live *live, u16 monitor)
{
	const struct cache_qos_monitor *is = &live->core.monitors[monitor];
	struct cache_qos_named named = {};
	struct cache_qos_name *name = &live->names[monitor], now = {};
	bool known;

	raw_spin_lock_irq(&live->lock);
	known = name->life == is->life;
	if (known)
		now = *name;
	now.life = is->life;
	now.kind = is->kind;
	if (is->used && !(known && cache_qos_name_stays(name))) {
		if (live->watch_of[monitor])
			cache_qos_name_watch(live->watch_of[monitor], &now, &named);
		else
			cache_qos_name_group(live, &now, monitor);
	}
	raw_spin_unlock_irq(&live->lock);
	cache_qos_name_ask(live, &now, &named);
	if (known && now.id == name->id && !strcmp(now.text, name->text))
		return;
	now.changed = ++live->names_changed;
	*name = now;
}

/**
 * cache_qos_names_update - update the names of all monitors
 * @live: driver state
 *
 * Context: the sampler.
 */
void cache_qos_names_update(struct cache_qos_live *live)
{
	u16 m;

	for (m = CACHE_QOS_MACHINE + 1; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (READ_ONCE(live->core.monitors[m].used))
			cache_qos_name_update(live, m);
	}
}
