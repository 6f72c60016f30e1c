// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_sim: tasks of the scheduler use the simulated caches. The name of a task selects its
 * accesses (cache_qos_sim_stream_of_name()); the owner of a line is the task in its cgroup.
 * Reference counters do not depend on RMIDs.
 *
 * Simulated time advances for all CPUs at once: at a task switch, before the driver accesses a
 * register, and on a timer. So accesses before a write of PQR_ASSOC have the old RMID. The
 * sched_switch probe of the simulation runs before the driver's probe; from then until the switch
 * no program runs:
 *
 *        task A     probe, sim    probe, driver's: PQR write   switch     task B
 *   -------|-------------|-------------------|--------------------|--------|------->
 *          +- A, old RMID+            no task                     +- B, new RMID
 */

#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "cache_qos_sim.h"

#define CACHE_QOS_SIM_BUCKET_BITS	10
#define CACHE_QOS_SIM_SHARED_BASE	BIT_ULL(62)

static u32 cache_qos_sim_buckets[1 << CACHE_QOS_SIM_BUCKET_BITS];
static struct hrtimer cache_qos_sim_tick;
static u64 cache_qos_sim_tick_ns;
static struct tracepoint *cache_qos_sim_switch_point;

/* Time */

/*
 * Return: true if a CPU is between the simulation's probe and the switch; a hypervisor may delay
 * the CPU there. The scheduler sets on_cpu of the next task after all probes of the switch, and
 * before it runs.
 */
static bool cache_qos_sim_switching(struct cache_qos_sim_place *place, u64 now_ns)
{
	if (!place->next)
		return false;
	if (READ_ONCE(place->next->on_cpu))
		place->next = NULL;
	else
		place->since_ns = now_ns;
	return place->next;
}

static void cache_qos_sim_advance_cpu(struct cache_qos_sim_live *live, u32 cpu, u64 now_ns)
{
	struct cache_qos_sim_place *place = &live->places[cpu];
	struct cache_qos_sim_page *page = &live->pages[place->page];
	u64 ns;

	if (cache_qos_sim_switching(place, now_ns))
		return;
	ns = now_ns > place->since_ns ? now_ns - place->since_ns : 0;
	place->since_ns += ns;
	if (!place->page || live->frozen)
		return;
	page->ran_ns += ns;
	page->last_ns = now_ns;
	page->accesses += cache_qos_sim_run(&live->sim, cpu, &page->stream, ns);
}

/* The caller holds the lock. */
void cache_qos_sim_advance(struct cache_qos_sim_live *live)
{
	u64 now_ns = ktime_get_mono_fast_ns();
	u32 cpu;

	for (cpu = 0; cpu < live->sim.nr_cpus; cpu++)
		cache_qos_sim_advance_cpu(live, cpu, now_ns);
}

void cache_qos_sim_freeze(struct cache_qos_sim_live *live, bool frozen)
{
	cache_qos_sim_advance(live);
	live->frozen = frozen;
}

static enum hrtimer_restart cache_qos_sim_ticked(struct hrtimer *timer)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	unsigned long flags;

	flags = pmukit_lock(&live->lock);
	cache_qos_sim_advance(live);
	pmukit_unlock(&live->lock, flags);
	hrtimer_forward_now(timer, ns_to_ktime(cache_qos_sim_tick_ns));
	return HRTIMER_RESTART;
}

/* Pages: the reference counters of tasks (struct cache_qos_sim_page) */

static u32 *cache_qos_sim_bucket(pid_t tid)
{
	return &cache_qos_sim_buckets[hash_32(tid, CACHE_QOS_SIM_BUCKET_BITS)];
}

static bool cache_qos_sim_runs_somewhere(const struct cache_qos_sim_live *live, u32 number)
{
	u32 cpu;

	for (cpu = 0; cpu < live->sim.nr_cpus; cpu++)
		if (live->places[cpu].page == number)
			return true;
	return false;
}

/*
 * Choose the page for a new task. Return: number of an unused page, or else of the page whose task
 * has no lines and ran longest ago; 0: none.
 */
static u32 cache_qos_sim_page_to_give(const struct cache_qos_sim_live *live)
{
	const struct cache_qos_sim_page *page;
	u32 i, oldest = 0;

	for (i = 1; i < CACHE_QOS_SIM_NR_PAGES; i++) {
		page = &live->pages[i];
		if (!page->used)
			return i;
		if (live->sim.owners[i].lines || cache_qos_sim_runs_somewhere(live, i))
			continue;
		if (!oldest || page->last_ns < live->pages[oldest].last_ns)
			oldest = i;
	}
	return oldest;
}

static void cache_qos_sim_page_forget(struct cache_qos_sim_live *live, u32 number)
{
	struct cache_qos_sim_page *page = &live->pages[number];
	u32 *link = cache_qos_sim_bucket(page->tid);

	if (!page->used)
		return;
	while (*link != number)
		link = &live->pages[*link].next;
	*link = page->next;
	live->forgotten_units += live->sim.owners[number].units[0];
	memset(&live->sim.owners[number], 0, sizeof(live->sim.owners[number]));
	memset(page, 0, sizeof(*page));
}

/*
 * The memory of a task is local to the L3 of @cpu, the CPU on which the task is first seen in this
 * cgroup.
 */
static void cache_qos_sim_page_begin(struct cache_qos_sim_live *live, u32 number,
				     const struct task_struct *task, u64 cgroup, u32 cpu)
{
	struct cache_qos_sim_page *page = &live->pages[number];
	u32 *bucket = cache_qos_sim_bucket(task->pid);

	page->used = true;
	page->tid = task->pid;
	page->tgid = task->tgid;
	page->started = task->start_time;
	page->cgroup = cgroup;
	page->stream.owner = number;
	page->stream.home = live->sim.cpus[cpu].domain;
	page->next = *bucket;
	*bucket = number;
}

static u32 cache_qos_sim_page_find(const struct cache_qos_sim_live *live,
				   const struct task_struct *task, u64 cgroup)
{
	const struct cache_qos_sim_page *page;
	u32 i;

	for (i = *cache_qos_sim_bucket(task->pid); i; i = page->next) {
		page = &live->pages[i];
		if (page->tid == task->pid && page->started == task->start_time &&
		    page->cgroup == cgroup)
			return i;
	}
	return 0;
}

static u64 cache_qos_sim_cgroup_of(const struct task_struct *task)
{
	u64 id;

	rcu_read_lock();
	id = cgroup_id(task_dfl_cgroup((struct task_struct *)task));
	rcu_read_unlock();
	return id;
}

static u32 cache_qos_sim_page_get(struct cache_qos_sim_live *live, const struct task_struct *task,
				  u32 cpu)
{
	u64 cgroup = cache_qos_sim_cgroup_of(task);
	u32 number = cache_qos_sim_page_find(live, task, cgroup);

	if (number)
		return number;
	number = cache_qos_sim_page_to_give(live);
	if (!number) {
		live->untracked++;
		return 0;
	}
	cache_qos_sim_page_forget(live, number);
	cache_qos_sim_page_begin(live, number, task, cgroup, cpu);
	return number;
}

/*
 * Number of the cache_qos_sim_page of the next task; 0: the task uses no caches, or no page is
 * free. If the task has changed its name, the new name also sets a new stream.
 */
static u32 cache_qos_sim_page_of(struct cache_qos_sim_live *live, const struct task_struct *task,
				 u32 cpu)
{
	struct cache_qos_sim_stream stream = {};
	struct cache_qos_sim_page *page;
	char comm[TASK_COMM_LEN];
	u32 number;

	strscpy(comm, task->comm, sizeof(comm));
	if (!cache_qos_sim_stream_of_name(comm, cache_qos_sim_unit(&live->sim), &stream))
		return 0;
	number = cache_qos_sim_page_get(live, task, cpu);
	if (!number)
		return 0;
	page = &live->pages[number];
	if (strcmp(page->comm, comm)) {
		stream.owner = number;
		stream.home = page->stream.home;
		stream.base = stream.shared ? CACHE_QOS_SIM_SHARED_BASE : (u64)task->pid << 32;
		page->stream = stream;
		strscpy(page->comm, comm, sizeof(page->comm));
	}
	return number;
}

/* Switches */

static bool cache_qos_sim_may_stream(const struct task_struct *task)
{
	return task->comm[0] == 'c' && task->comm[1] == 'q' && task->comm[2] == '-';
}

/*
 * Interrupts are off, and the run queue is locked. Most switches are between tasks without a
 * stream, so these switches do not take the lock. A task with a page is switched out before it is
 * freed, so place->next is never stale.
 */
static void cache_qos_sim_sched_switch(void *data, bool preempt, struct task_struct *prev,
				       struct task_struct *next, unsigned int prev_state)
{
	struct cache_qos_sim_live *live = data;
	u32 cpu = raw_smp_processor_id();
	struct cache_qos_sim_place *place = &live->places[cpu];
	unsigned long flags;

	if (!READ_ONCE(place->page) && !cache_qos_sim_may_stream(next))
		return;
	flags = pmukit_lock(&live->lock);
	cache_qos_sim_advance(live);
	WRITE_ONCE(place->page, cache_qos_sim_page_of(live, next, cpu));
	place->next = place->page ? next : NULL;
	pmukit_unlock(&live->lock, flags);
}

static void cache_qos_sim_find_switch(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sched_switch"))
		cache_qos_sim_switch_point = point;
}

/* Load and unload */

int cache_qos_sim_live_prepare(unsigned int tick_ms)
{
	int err;

	check_trace_callback_type_sched_switch(cache_qos_sim_sched_switch);
	for_each_kernel_tracepoint(cache_qos_sim_find_switch, NULL);
	if (!cache_qos_sim_switch_point) {
		pr_err("cache_qos_sim: no trace event sched_switch\n");
		return -ENOENT;
	}
	/* Runs before the driver's probe, which writes registers. */
	err = tracepoint_probe_register_prio(cache_qos_sim_switch_point, cache_qos_sim_sched_switch,
					     &cache_qos_sim_live, TRACEPOINT_DEFAULT_PRIO + 1);
	if (err)
		return err;
	cache_qos_sim_tick_ns = tick_ms * (u64)NSEC_PER_MSEC;
	hrtimer_setup(&cache_qos_sim_tick, cache_qos_sim_ticked, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
	hrtimer_start(&cache_qos_sim_tick, ns_to_ktime(cache_qos_sim_tick_ns),
		      HRTIMER_MODE_REL_HARD);
	return 0;
}

void cache_qos_sim_live_finish(void)
{
	hrtimer_cancel(&cache_qos_sim_tick);
	tracepoint_probe_unregister(cache_qos_sim_switch_point, cache_qos_sim_sched_switch,
				    &cache_qos_sim_live);
	tracepoint_synchronize_unregister();
}
