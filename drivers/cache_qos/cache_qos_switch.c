// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: the probes of the scheduler, and the RMID of each CPU. This file sets the RMID of each
 * CPU: at a context switch, and after the set of monitored tasks, cgroups, CPUs or groups has
 * changed. At a switch the probe of sched_switch sets the RMID, not perf's add and del callbacks:
 * perf swaps whole contexts between a parent and its clones without calling add and del.
 *
 * The probe of sched_switch runs before perf schedules out the previous task's events and before
 * __switch_to(), with interrupts off and the run queue locked: the RMID changes slightly too early.
 */

#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "cache_qos.h"

/*
 * A context switch has the run queue locked, so it does not wait for live->lock. If the lock is
 * taken, the task runs with RMID 0 until an irq_work sets its RMID, as soon as interrupts are on.
 */
static u32 cache_qos_run_slow(struct cache_qos_live *live, struct cache_qos_cpu *cpu,
			      struct cache_qos_task *is, u16 cgroup, bool wait)
{
	u32 rmid;

	if (!cache_qos_lock(&live->lock, wait)) {
		irq_work_queue(&this_cpu_ptr(live->late)->work);
		return 0;
	}
	rmid = cache_qos_resolve_slow(&live->core, cpu, is, cgroup, cache_qos_now_ns());
	raw_spin_unlock(&live->lock);
	return rmid;
}

/* Set the RMID for @task, which this CPU runs or is about to run. Interrupts off. */
static void cache_qos_run(struct cache_qos_live *live, struct task_struct *task, bool wait)
{
	struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	struct cache_qos_task *is = NULL;
	u16 cgroup = CACHE_QOS_NONE;
	u32 rmid;

	if (!cpu->ready || cache_qos_registers_taken(&live->core))
		return;
	if (!is_idle_task(task)) {
		is = cache_qos_task_find(live, task);
		cgroup = cache_qos_cgroup_of(live, task);
	}
	rmid = cache_qos_resolve(&live->core, cpu, is, cgroup);
	if (rmid == CACHE_QOS_MISS)
		rmid = cache_qos_run_slow(live, cpu, is, cgroup, wait);
	cache_qos_carry(&live->core, cpu, rmid);
}

static void cache_qos_on_switch(void *data, bool preempt, struct task_struct *prev,
				struct task_struct *next, unsigned int prev_state)
{
	struct cache_qos_live *live = data;
	struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);

	WRITE_ONCE(cpu->switching, true);
	this_cpu_write(*live->running, next);
	/*
	 * Pairs with cache_qos_resolve_changed(): that function sees @switching, or this CPU sees
	 * the changed configuration.
	 */
	smp_mb();
	cache_qos_run(live, next, false);
	/* Pairs with cache_qos_is_concerned(): a reader that sees false also sees the RMID. */
	smp_store_release(&cpu->switching, false);
}

/**
 * cache_qos_resolve_here - set the RMID of this CPU, because its task may need another RMID
 * @live: driver state
 *
 * perf enables cgroup events in the middle of a switch, where current is still the previous task.
 * So the function uses the next task, which the probe of sched_switch has recorded. While the
 * probes are being unregistered, the record is not updated and the recorded task may have exited:
 * then the function uses current.
 *
 * Context: interrupts off, no raw lock of the driver held.
 */
void cache_qos_resolve_here(struct cache_qos_live *live)
{
	struct task_struct *running = cache_qos_running_on(live, smp_processor_id());

	cache_qos_run(live, running ?: current, true);
}

static void cache_qos_resolve_late(struct irq_work *work)
{
	cache_qos_resolve_here(container_of(work, struct cache_qos_late, work)->live);
}

/**
 * cache_qos_late_fill - prepare the irq_work for switches that find live->lock taken
 * @live: driver state
 */
void cache_qos_late_fill(struct cache_qos_live *live)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct cache_qos_late *late = per_cpu_ptr(live->late, cpu);

		late->work = IRQ_WORK_INIT_HARD(cache_qos_resolve_late);
		late->live = live;
	}
}

static void cache_qos_resolve_ipi(void *data)
{
	cache_qos_resolve_here(data);
}

/**
 * cache_qos_ipi - call a function on some CPUs, and wait
 * @live: driver state; argument of the function
 * @cpus: the CPUs; offline CPUs are skipped
 * @func: runs with interrupts off
 *
 * Context: may sleep.
 */
void cache_qos_ipi(struct cache_qos_live *live, const struct cpumask *cpus, smp_call_func_t func)
{
	atomic64_add(cpumask_weight(cpus), &live->ipis);
	on_each_cpu_mask(cpus, func, live, 1);
}

static u32 cache_qos_expected_on(struct cache_qos_live *live, const struct cache_qos_cpu *cpu,
				 struct task_struct *task)
{
	struct cache_qos_task *is = NULL;
	u16 cgroup = CACHE_QOS_NONE;
	u32 rmid;

	raw_spin_lock_irq(&live->lock);
	if (!is_idle_task(task)) {
		is = cache_qos_task_find(live, task);
		cgroup = cache_qos_cgroup_of(live, task);
	}
	rmid = cache_qos_expected(&live->core, cpu, is, cgroup);
	raw_spin_unlock_irq(&live->lock);
	return rmid;
}

/**
 * cache_qos_running_on - the task that a CPU runs
 * @live: driver state
 * @cpu: a CPU
 *
 * A task_struct stays in memory until the end of an RCU grace period that begins after the task's
 * exit. The function reads live->attached first. If it is set, the probes were registered when the
 * caller's RCU section began. So the recorded task had not exited then, and stays valid until the
 * end of that section, even if it exits meanwhile. If live->attached is not set, the probes may be
 * unregistered: the record is no longer updated, and the recorded task may have exited long before.
 *
 * Context: under rcu_read_lock(), or with interrupts off.
 *
 * Return: the task, valid until rcu_read_unlock(), or NULL if unknown.
 */
struct task_struct *cache_qos_running_on(const struct cache_qos_live *live, unsigned int cpu)
{
	return READ_ONCE(live->attached) ? READ_ONCE(per_cpu(*live->running, cpu)) : NULL;
}

/* Return: true if a CPU carries, or may carry, another RMID than its task needs. */
static bool cache_qos_is_concerned(struct cache_qos_live *live, unsigned int cpu)
{
	const struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);
	struct task_struct *task;
	bool concerned = true;

	if (!READ_ONCE(each->ready))
		return false;
	if (!READ_ONCE(live->attached))
		return READ_ONCE(each->rmid);
	/* switching is read before the task and the RMID, see cache_qos_on_switch(). */
	if (smp_load_acquire(&each->switching))
		return true;
	rcu_read_lock();
	task = cache_qos_running_on(live, cpu);
	if (task)
		concerned = cache_qos_expected_on(live, each, task) != READ_ONCE(each->rmid);
	rcu_read_unlock();
	return concerned;
}

/**
 * cache_qos_resolve_changed - correct the RMID of every CPU after the monitored set has changed
 * @live: driver state
 *
 * Only CPUs with a wrong RMID get an IPI. A CPU between the probe and the switch has interrupts off
 * and takes the IPI after the switch; a CPU that switches later sees the new configuration.
 *
 * Context: process context, no raw lock held.
 */
void cache_qos_resolve_changed(struct cache_qos_live *live)
{
	cpumask_var_t concerned;
	unsigned int cpu;

	/* Pairs with cache_qos_on_switch(): the change comes before the reads of @switching. */
	smp_mb();
	if (!zalloc_cpumask_var(&concerned, GFP_KERNEL)) {
		cache_qos_ipi(live, cpu_online_mask, cache_qos_resolve_ipi);
		return;
	}
	for_each_online_cpu(cpu) {
		if (cache_qos_is_concerned(live, cpu))
			cpumask_set_cpu(cpu, concerned);
	}
	if (!cpumask_empty(concerned))
		cache_qos_ipi(live, concerned, cache_qos_resolve_ipi);
	free_cpumask_var(concerned);
}

/* Tracepoints are looked up by name, because those of the scheduler are not exported to modules. */

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
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(live->late, cpu)->work);
	/* Forget the recorded tasks: without probes the driver does not see them exit. */
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(*live->running, cpu), NULL);
}

/**
 * cache_qos_attach - register the probes for switches, forks and exits of tasks
 * @live: driver state
 *
 * Context: the caller holds probe_mutex.
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
 * cache_qos_detach - unregister the probes; on return none is running and RMIDs are 0
 * @live: driver state
 *
 * Context: the caller holds probe_mutex.
 */
void cache_qos_detach(struct cache_qos_live *live)
{
	cache_qos_detach_from(live, CACHE_QOS_POINTS);
	cache_qos_resolve_changed(live);
}
