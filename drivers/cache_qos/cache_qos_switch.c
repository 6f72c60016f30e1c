// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: the probes of the scheduler, and the RMID of a CPU. Everything that writes
 * PQR_ASSOC is here: at a context switch, or in an interrupt when what is watched has changed.
 * perf's add and del take no part in it: perf swaps whole contexts between a parent and its
 * clones without telling.
 *
 * The probe of sched_switch runs before perf's and before __switch_to(), with interrupts off and
 * the lock of the run queue held: the RMID is right a little too early.
 */

#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "cache_qos.h"

/*
 * Interrupts off. The probe says what the CPU is about to run, and until the next switch that is
 * what it runs.
 */
static void cache_qos_run(struct cache_qos_live *live, struct task_struct *task)
{
	struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	struct cache_qos_task *is = NULL;
	u16 cgroup = CACHE_QOS_NONE;
	u32 rmid;

	if (!cpu->ready || cache_qos_is_taken(&live->core))
		return;
	if (!is_idle_task(task)) {
		is = cache_qos_task_find(live, task);
		cgroup = cache_qos_cgroup_of(live, task);
	}
	rmid = cache_qos_resolve(&live->core, cpu, is, cgroup);
	if (rmid == CACHE_QOS_MISS) {
		raw_spin_lock(&live->lock);
		rmid = cache_qos_resolve_slow(&live->core, cpu, is, cgroup, cache_qos_now_ns());
		raw_spin_unlock(&live->lock);
	}
	cache_qos_carry(&live->core, cpu, rmid);
}

static void cache_qos_on_switch(void *data, bool preempt, struct task_struct *prev,
				struct task_struct *next, unsigned int prev_state)
{
	struct cache_qos_live *live = data;

	this_cpu_write(*live->running, next);
	cache_qos_run(live, next);
}

/**
 * cache_qos_resolve_here - what runs on this CPU may need another RMID
 * @live: everything
 *
 * perf enables events of cgroups in the middle of a switch, where current is still the task that
 * leaves. Once the probes are about to go nobody says any more what runs: what was said last may
 * have ended since.
 *
 * Context: interrupts off, no lock of ours held.
 */
void cache_qos_resolve_here(struct cache_qos_live *live)
{
	struct task_struct *running = NULL;

	if (READ_ONCE(live->attached))
		running = this_cpu_read(*live->running);

	cache_qos_run(live, running ?: current);
}

static void cache_qos_resolve_ipi(void *data)
{
	cache_qos_resolve_here(data);
}

/**
 * cache_qos_resolve_all - on return every CPU has the RMID that what is watched asks for
 * @live: everything
 *
 * A CPU that was between the probe and the switch had interrupts off and takes this one after it;
 * one that switches later sees the new configuration.
 *
 * Context: process context, no raw lock held.
 */
void cache_qos_resolve_all(struct cache_qos_live *live)
{
	on_each_cpu(cache_qos_resolve_ipi, live, 1);
}

/* Tracepoints; modules may look for one, but not name it. */

static const struct {
	const char *name;
	void *probe;
} cache_qos_points[] = {
	{ "sched_switch",	cache_qos_on_switch },
	{ "sched_process_fork",	cache_qos_on_fork },
	{ "sched_process_free",	cache_qos_on_free },
};

static_assert(ARRAY_SIZE(cache_qos_points) == CACHE_QOS_POINTS);

static void cache_qos_point_find(struct tracepoint *tp, void *data)
{
	struct cache_qos_live *live = data;
	u32 i;

	for (i = 0; i < CACHE_QOS_POINTS; i++) {
		if (!strcmp(tp->name, cache_qos_points[i].name))
			live->points[i] = tp;
	}
}

static void cache_qos_detach_from(struct cache_qos_live *live, u32 nr)
{
	unsigned int cpu;

	while (nr--)
		tracepoint_probe_unregister(live->points[nr], cache_qos_points[nr].probe, live);
	tracepoint_synchronize_unregister();
	/* Nobody tells us any more when these tasks end. */
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(*live->running, cpu), NULL);
}

/**
 * cache_qos_attach - be told of switches, forks and ends of tasks
 * @live: everything
 *
 * Context: probe_mutex.
 *
 * Return: 0 or -errno.
 */
int cache_qos_attach(struct cache_qos_live *live)
{
	int ret = 0;
	u32 i;

	for_each_kernel_tracepoint(cache_qos_point_find, live);
	for (i = 0; i < CACHE_QOS_POINTS && !ret; i++) {
		ret = -ENOENT;
		if (live->points[i])
			ret = tracepoint_probe_register(live->points[i], cache_qos_points[i].probe,
							live);
	}
	if (ret)
		cache_qos_detach_from(live, i - 1);
	return ret;
}

/**
 * cache_qos_detach - the opposite; on return nobody is in a probe any more and RMIDs are 0
 * @live: everything
 *
 * Context: probe_mutex.
 */
void cache_qos_detach(struct cache_qos_live *live)
{
	cache_qos_detach_from(live, CACHE_QOS_POINTS);
	cache_qos_resolve_all(live);
}
