// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: reads the counters in passes. In a pass, a work item on one CPU of each domain reads
 * every RMID that is used or in limbo, a few at a time, so that interrupts are not off for long. No
 * lock is held while counters are read.
 *
 * A pass also checks if other software has taken the registers, finds RMIDs that may be used again,
 * and updates the counts of perf events: perf does not call pmu->read for an event that is not
 * running.
 *
 * While there is no user (an open event or a group), passes continue at long intervals: bandwidth
 * counters must not wrap unnoticed, and RMIDs have to leave limbo.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "cache_qos.h"
#include "cache_qos_trace.h"

/* Intervals between passes while there are no users: no RMID in limbo, and some RMIDs in limbo */
#define CACHE_QOS_IDLE_MS	10000
#define CACHE_QOS_LIMBO_MS	1000
#define CACHE_QOS_YIELDED_MS	1000	/* how often to check if the registers are free again */
#define CACHE_QOS_CHECK_NS	NSEC_PER_SEC	/* how often to check PQR_ASSOC */
#define CACHE_QOS_LIMBO_CHUNK	16	/* live->lock is released after this many RMIDs */

/* Other software that uses the registers */

static void cache_qos_release_ipi(void *data)
{
	struct cache_qos_live *live = data;

	cache_qos_cpu_release(&live->core, smp_processor_id());
}

/**
 * cache_qos_foreign_cpu - find a CPU with an RMID of another tool
 * @live: driver state
 *
 * Return: the CPU; nr_cpu_ids: none.
 */
unsigned int cache_qos_foreign_cpu(const struct cache_qos_live *live)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (READ_ONCE(per_cpu_ptr(live->cpus, cpu)->foreign))
			break;
	}
	return cpu;
}

static void cache_qos_give_way_say(struct cache_qos_live *live)
{
	unsigned int cpu = cache_qos_foreign_cpu(live);

	if (live->core.claimed)
		dev_warn(&live->parent->dev,
			 "resctrl is mounted and has the registers: values are frozen until it is unmounted; 'pmukit record -e resctrl//' records its groups\n");
	else if (cpu >= nr_cpu_ids)
		dev_warn(&live->parent->dev,
			 "another tool (pqos, PCM?) wrote an RMID: values are frozen until all CPUs have RMID 0\n");
	else
		dev_warn(&live->parent->dev,
			 "CPU %u: RMID %u is another tool's (pqos, PCM?): values are frozen until it is 0 again\n",
			 cpu, READ_ONCE(per_cpu_ptr(live->cpus, cpu)->foreign));
}

static void cache_qos_give_way(struct cache_qos_live *live, bool claimed)
{
	raw_spin_lock_irq(&live->lock);
	cache_qos_yield(&live->core, claimed);
	cache_qos_turns_pause(&live->core, true, cache_qos_now_ns());
	live->yields++;
	raw_spin_unlock_irq(&live->lock);
	on_each_cpu(cache_qos_release_ipi, live, 1);
	trace_cache_qos_yield(true);
	cache_qos_give_way_say(live);
}

static void cache_qos_look_ipi(void *data)
{
	struct cache_qos_live *live = data;

	cache_qos_cpu_look(&live->core, smp_processor_id());
}

static bool cache_qos_looks_foreign(int cpu, void *data)
{
	struct cache_qos_live *live = data;

	return READ_ONCE(per_cpu_ptr(live->cpus, cpu)->foreign);
}

/*
 * Check the CPUs on which an RMID of other software was found. Check all CPUs only if none of these
 * CPUs has such an RMID any more.
 */
static bool cache_qos_is_free(struct cache_qos_live *live)
{
	on_each_cpu_cond(cache_qos_looks_foreign, cache_qos_look_ipi, live, 1);
	if (cache_qos_foreign_cpu(live) < nr_cpu_ids)
		return false;
	on_each_cpu(cache_qos_look_ipi, live, 1);
	return cache_qos_foreign_cpu(live) >= nr_cpu_ids;
}

static void cache_qos_come_back(struct cache_qos_live *live)
{
	if (!live->core.force && !cache_qos_is_free(live))
		return;
	raw_spin_lock_irq(&live->lock);
	cache_qos_resume(&live->core);
	cache_qos_turns_pause(&live->core, false, cache_qos_now_ns());
	raw_spin_unlock_irq(&live->lock);
	cache_qos_cpus_again(live);
	trace_cache_qos_yield(false);
	dev_info(&live->parent->dev, "the registers are free again\n");
}

/* Yield if other software has taken the registers, resume if they are free again. */
static void cache_qos_heed(struct cache_qos_live *live, bool claimed)
{
	if (!live->core.yielded) {
		if (claimed || READ_ONCE(live->core.foreign))
			cache_qos_give_way(live, claimed);
		return;
	}
	/* resctrl may be mounted or unmounted while the registers belong to another tool. */
	WRITE_ONCE(live->core.claimed, claimed);
	if (!claimed)
		cache_qos_come_back(live);
}

static void cache_qos_check_here(struct cache_qos_live *live)
{
	struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);

	cache_qos_check_pqr(&live->core, cpu);
	WRITE_ONCE(cpu->checked_ns, cache_qos_now_ns());
}

/* Record the running task: the CPU switched to that task before the probe was registered. */
static void cache_qos_meet_ipi(void *data)
{
	struct cache_qos_live *live = data;

	cache_qos_check_here(live);
	if (!this_cpu_read(*live->running))
		this_cpu_write(*live->running, current);
}

/**
 * cache_qos_meet_all - after the probes are registered: record the task and check the RMID of each
 *	CPU
 * @live: driver state
 *
 * Context: may sleep. Interrupts all CPUs, even those that no monitor counts.
 */
void cache_qos_meet_all(struct cache_qos_live *live)
{
	cache_qos_ipi(live, cpu_online_mask, cache_qos_meet_ipi);
}

static void cache_qos_check_ipi(void *data)
{
	cache_qos_check_here(data);
}

/*
 * Once a second, check the CPUs that carry an RMID. If a CPU does not switch tasks, no other code
 * detects that other software has overwritten PQR_ASSOC.
 */
static void cache_qos_check_carriers(struct cache_qos_live *live, struct cpumask *carriers)
{
	u64 now_ns = cache_qos_now_ns();
	unsigned int cpu;

	cpumask_clear(carriers);
	for_each_online_cpu(cpu) {
		const struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);

		if (READ_ONCE(each->rmid) && !tick_nohz_full_cpu(cpu) &&
		    now_ns > READ_ONCE(each->checked_ns) + CACHE_QOS_CHECK_NS)
			cpumask_set_cpu(cpu, carriers);
	}
	cache_qos_ipi(live, carriers, cache_qos_check_ipi);
}

/* Reading */

/* Read counters without a lock, then add the readings to their cells. Interrupts off. */
static void cache_qos_read_batch(struct cache_qos_live *live, u16 domain,
				 struct cache_qos_request *requests, u32 nr, bool wait)
{
	u64 now_ns = cache_qos_now_ns();
	u32 i;

	if (!nr)
		return;
	cache_qos_read_rmids(live->backend, &live->core.hw, READ_ONCE(live->paranoid), requests,
			     nr);
	for (i = 0; i < nr; i++)
		cache_qos_fold(&live->core, domain, &requests[i], now_ns, wait);
}

/* Read the next RMIDs, starting at @rmid. Return: the RMID to continue with. */
static u32 cache_qos_read_some(struct cache_qos_live *live, u16 domain, u32 rmid)
{
	struct cache_qos_request requests[CACHE_QOS_MAX_READS];
	const struct cache_qos_cpu *cpu;
	u32 nr = 0;

	local_irq_disable();
	cpu = this_cpu_ptr(live->cpus);
	for (; rmid < live->core.hw.nr_rmid && nr < CACHE_QOS_MAX_READS; rmid++) {
		if (cache_qos_wanted(&live->core, domain, rmid, READ_ONCE(live->pass)))
			cache_qos_ask(&live->core, domain, rmid, &requests[nr++]);
	}
	/* If the chosen CPU went offline, the work item may run in another domain. */
	if (cpu->ready && cpu->domain == domain && !READ_ONCE(live->asleep) &&
	    !cache_qos_registers_taken(&live->core))
		cache_qos_read_batch(live, domain, requests, nr, true);
	local_irq_enable();
	return rmid;
}

/* Number of writes of PQR_ASSOC by the CPUs of a domain */
static u64 cache_qos_writes(const struct cache_qos_live *live, u16 domain)
{
	unsigned int cpu;
	u64 writes = 0;

	for_each_online_cpu(cpu) {
		const struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);

		if (READ_ONCE(each->domain) == domain)
			writes += READ_ONCE(each->writes);
	}
	return writes;
}

/*
 * Assign counters to RMIDs that need them (ABMC). Interrupts are off for one RMID at a time. In the
 * first step (RMID 0), the function first finds counters that are already assigned, and releases
 * those that no RMID needs.
 */
static void cache_qos_bind_all(struct cache_qos_live *live, u16 domain)
{
	const struct cache_qos_cpu *cpu;
	u32 rmid;

	for (rmid = 0; rmid < live->core.hw.nr_rmid; rmid++) {
		if (rmid && !cache_qos_counters_wanted(&live->core, domain, rmid))
			continue;
		local_irq_disable();
		cpu = this_cpu_ptr(live->cpus);
		/* If the chosen CPU went offline, the work item may run in another domain. */
		if (cpu->ready && cpu->domain == domain && !READ_ONCE(live->asleep)) {
			if (!rmid) {
				cache_qos_counters_scan(&live->core, domain);
				cache_qos_counters_release(&live->core, domain, false);
			}
			cache_qos_counters_bind(&live->core, domain, rmid, cache_qos_now_ns());
		}
		local_irq_enable();
	}
}

/* Read the counters of a domain. Runs on a CPU of the domain. */
static void cache_qos_read_work(struct work_struct *work)
{
	struct cache_qos_reader *reader = container_of(to_delayed_work(work),
						       struct cache_qos_reader, work);
	struct cache_qos_live *live = reader->live;
	u16 domain = reader - live->readers;
	u64 now_ns = cache_qos_now_ns();
	u32 rmid = 0;

	WRITE_ONCE(reader->writes, cache_qos_writes(live, domain));
	local_irq_disable();
	cache_qos_check_here(live);
	local_irq_enable();
	if (live->core.hw.counters)
		cache_qos_bind_all(live, domain);
	while (rmid < live->core.hw.nr_rmid) {
		rmid = cache_qos_read_some(live, domain, rmid);
		cond_resched();
	}
	local_irq_disable();
	cache_qos_check_domain(&live->core, domain);
	local_irq_enable();
	WRITE_ONCE(reader->read_ns, now_ns);
}

/* Rank of a CPU for reading the counters of its L3; CPUs that are awake anyway rank highest. */
static int cache_qos_reader_rank(const struct cache_qos_live *live, unsigned int cpu)
{
	const struct task_struct *running = cache_qos_running_on(live, cpu);

	if (tick_nohz_full_cpu(cpu))
		return 1;
	if (cpu == raw_smp_processor_id())
		return 4;
	return running && !is_idle_task(running) ? 3 : 2;
}

static void cache_qos_choose_readers(struct cache_qos_live *live)
{
	int best[CACHE_QOS_MAX_DOMAINS] = {};
	unsigned int cpu;
	u32 d;

	for_each_online_cpu(cpu) {
		const struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);
		int rank;

		if (!READ_ONCE(each->ready))
			continue;
		rcu_read_lock();
		rank = cache_qos_reader_rank(live, cpu);
		rcu_read_unlock();
		if (rank <= best[each->domain])
			continue;
		best[each->domain] = rank;
		live->readers[each->domain].cpu = cpu;
	}
	for (d = 0; d < live->core.nr_domains; d++) {
		if (!best[d])
			live->readers[d].cpu = nr_cpu_ids;
	}
}

static bool cache_qos_is_carried(const struct cache_qos_live *live, u16 domain)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		const struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);

		if (READ_ONCE(each->domain) == domain && READ_ONCE(each->rmid))
			return true;
	}
	return false;
}

/* Return: true if values of the machine are wanted, for which all RMIDs must be read. */
static bool cache_qos_wants_machine(const struct cache_qos_live *live)
{
	return READ_ONCE(live->machine_watches) || READ_ONCE(live->aux_pp.nr_events) ||
	       trace_cache_qos_sample_enabled();
}

/* Maximum age of readings in a domain that no monitor uses */
static u64 cache_qos_lag_ns(const struct cache_qos_live *live)
{
	u64 lag_ns = READ_ONCE(live->core.nr_atoms[CACHE_QOS_LIMBO]) ? CACHE_QOS_LIMBO_MS :
									CACHE_QOS_IDLE_MS;

	lag_ns *= NSEC_PER_MSEC;
	/* Monitors wait for RMIDs that are in limbo. */
	if (cache_qos_turn_waits(&live->core))
		lag_ns = min(lag_ns, live->core.rotate_ns);
	return min(lag_ns, live->core.hw.wrap_ns / 2);
}

/*
 * Return: true if the pass has to wait for the reading of a domain. If no CPU of the domain has
 * carried an RMID since the last reading, values change slowly, by evictions only. Such a domain is
 * read when one of its CPUs is awake, and the pass does not wait.
 */
static bool cache_qos_is_due(const struct cache_qos_live *live, u16 domain)
{
	const struct cache_qos_reader *reader = &live->readers[domain];

	return reader->cpu == raw_smp_processor_id() || cache_qos_wants_machine(live) ||
	       cache_qos_is_carried(live, domain) ||
	       cache_qos_writes(live, domain) != READ_ONCE(reader->writes) ||
	       cache_qos_now_ns() > READ_ONCE(reader->read_ns) + cache_qos_lag_ns(live);
}

static void cache_qos_read_begin(struct cache_qos_live *live, u16 domain, bool all)
{
	struct cache_qos_reader *reader = &live->readers[domain];

	reader->waited = false;
	if (reader->cpu >= nr_cpu_ids)
		return;
	if (!all && !cache_qos_is_due(live, domain)) {
		queue_delayed_work_on(reader->cpu, live->read_workqueue, &reader->work, 1);
		return;
	}
	reader->waited = true;
	atomic64_add(reader->cpu != raw_smp_processor_id(), &live->wakes);
	mod_delayed_work_on(reader->cpu, live->read_workqueue, &reader->work, 0);
}

static void cache_qos_read_all(struct cache_qos_live *live, bool all)
{
	u32 d, nr = live->core.nr_domains;

	cache_qos_choose_readers(live);
	for (d = 0; d < nr; d++)
		cache_qos_read_begin(live, d, all);
	for (d = 0; d < nr; d++) {
		if (live->readers[d].waited)
			flush_delayed_work(&live->readers[d].work);
	}
}

static void cache_qos_evaluate(struct cache_qos_live *live)
{
	u32 d, rmid;

	for (d = 0; d < live->core.nr_domains; d++) {
		raw_spin_lock_irq(&live->lock);
		cache_qos_collect(&live->core, d);
		raw_spin_unlock_irq(&live->lock);
	}
	raw_spin_lock_irq(&live->lock);
	cache_qos_mark_suspects(&live->core);
	raw_spin_unlock_irq(&live->lock);
	for (rmid = 0; rmid < live->core.hw.nr_rmid; rmid += CACHE_QOS_LIMBO_CHUNK) {
		raw_spin_lock_irq(&live->lock);
		cache_qos_limbo_pass(&live->core, rmid, CACHE_QOS_LIMBO_CHUNK, cache_qos_now_ns());
		raw_spin_unlock_irq(&live->lock);
	}
}

/* Passes */

static unsigned int cache_qos_interval_ms(const struct cache_qos_live *live)
{
	u64 half_ms = div_u64(live->core.hw.wrap_ns, 2 * NSEC_PER_MSEC);
	unsigned int ms = CACHE_QOS_IDLE_MS;

	if (READ_ONCE(live->core.yielded))
		ms = CACHE_QOS_YIELDED_MS;
	else if (atomic_read(&live->users))
		ms = READ_ONCE(live->sample_ms);
	else if (READ_ONCE(live->core.nr_atoms[CACHE_QOS_LIMBO]))
		ms = CACHE_QOS_LIMBO_MS;
	return max_t(u64, min_t(u64, ms, half_ms), 1);
}

static void cache_qos_look_after_cpus(struct cache_qos_live *live)
{
	cpumask_var_t carriers;

	/* A task may have changed its cgroup without a context switch. */
	if (READ_ONCE(live->nr_cgroups))
		cache_qos_resolve_changed(live);
	if (!zalloc_cpumask_var(&carriers, GFP_KERNEL))
		return;
	cache_qos_check_carriers(live, carriers);
	free_cpumask_var(carriers);
}

/* Return: true if a file of a group was read recently. More reads are likely: read all domains. */
static bool cache_qos_is_asked(const struct cache_qos_live *live, u64 now_ns)
{
	return now_ns < READ_ONCE(live->asked_ns) + 2 * READ_ONCE(live->sample_ms) * NSEC_PER_MSEC;
}

static void cache_qos_pass(struct cache_qos_live *live)
{
	u64 now_ns = cache_qos_now_ns();
	bool all = !atomic_read(&live->users) || cache_qos_is_asked(live, now_ns);
	bool claimed;

	if (READ_ONCE(live->asleep))
		return;
	/*
	 * claimed() takes s_umount, and unmounting resctrl takes cpus_read_lock() under s_umount:
	 * call it before cpus_read_lock().
	 */
	claimed = live->backend->claimed();
	cpus_read_lock();
	cache_qos_heed(live, claimed);
	if (!live->core.yielded) {
		if (atomic_read(&live->users))
			cache_qos_look_after_cpus(live);
		raw_spin_lock_irq(&live->lock);
		cache_qos_carried(&live->core, cache_qos_now_ns());
		raw_spin_unlock_irq(&live->lock);
		cache_qos_read_all(live, all);
		cache_qos_evaluate(live);
		if (live->core.rotate_ns)
			cache_qos_rotate(live);
	}
	cpus_read_unlock();
	if (all)
		WRITE_ONCE(live->all_read_ns, now_ns);
	cache_qos_watches_publish(live);
	if (READ_ONCE(live->aux_pp.nr_events) || trace_cache_qos_sample_enabled())
		cache_qos_names_update(live);
	cache_qos_trace_samples(live);
	cache_qos_streams_write(live);
}

static void cache_qos_sampler_work(struct work_struct *work)
{
	struct cache_qos_live *live = container_of(to_delayed_work(work), struct cache_qos_live,
						   sampler);

	WRITE_ONCE(live->pass, live->pass + 1);
	cache_qos_pass(live);
	smp_store_release(&live->done, live->pass);	/* pairs with cache_qos_passed() */
	wake_up_all(&live->passed);
	queue_delayed_work(live->workqueue, &live->sampler,
			   msecs_to_jiffies(cache_qos_interval_ms(live)));
}

/**
 * cache_qos_sampler_hurry - start the next pass now
 * @live: driver state
 */
void cache_qos_sampler_hurry(struct cache_qos_live *live)
{
	mod_delayed_work(live->workqueue, &live->sampler, 0);
}

static bool cache_qos_passed(const struct cache_qos_live *live, u32 pass)
{
	/* Pairs with cache_qos_sampler_work(): the readings of the pass are visible. */
	return (s32)(smp_load_acquire(&live->done) - pass) >= 0;
}

/*
 * Return: true if the readings are younger than sample_ms, and were taken after the monitor of a
 * group was last switched on or off.
 */
static bool cache_qos_is_fresh(const struct cache_qos_live *live)
{
	u64 read_ns = READ_ONCE(live->all_read_ns);

	return read_ns > READ_ONCE(live->enabled_ns) &&
	       read_ns + READ_ONCE(live->sample_ms) * NSEC_PER_MSEC > cache_qos_now_ns();
}

/**
 * cache_qos_refresh - make sure that the readings of all domains are younger than sample_ms
 * @live: driver state
 *
 * Concurrent readers wait for the same pass.
 *
 * Context: may sleep.
 *
 * Return: 0 or -ETIMEDOUT.
 */
int cache_qos_refresh(struct cache_qos_live *live)
{
	u32 wanted = READ_ONCE(live->pass) + 1;
	long left;

	WRITE_ONCE(live->asked_ns, cache_qos_now_ns());
	if (cache_qos_is_fresh(live))
		return 0;
	cache_qos_sampler_hurry(live);
	left = wait_event_timeout(live->passed, cache_qos_passed(live, wanted),
				  msecs_to_jiffies(CACHE_QOS_REFRESH_MS));
	return left ? 0 : -ETIMEDOUT;
}

/**
 * cache_qos_sampler_start - start passes; on return one pass is complete
 * @live: driver state
 */
void cache_qos_sampler_start(struct cache_qos_live *live)
{
	u32 d;

	/* Deferrable: the work does not wake up an idle CPU. */
	for (d = 0; d < CACHE_QOS_MAX_DOMAINS; d++) {
		INIT_DEFERRABLE_WORK(&live->readers[d].work, cache_qos_read_work);
		live->readers[d].live = live;
	}
	INIT_DELAYED_WORK(&live->sampler, cache_qos_sampler_work);
	queue_delayed_work(live->workqueue, &live->sampler, 0);
	flush_delayed_work(&live->sampler);
}

/**
 * cache_qos_sampler_stop - stop passes
 * @live: driver state
 *
 * If resctrl was mounted since the last pass, the driver yields, so that it does not release
 * counters that resctrl has assigned since.
 */
void cache_qos_sampler_stop(struct cache_qos_live *live)
{
	u32 d;

	cancel_delayed_work_sync(&live->sampler);
	for (d = 0; d < CACHE_QOS_MAX_DOMAINS; d++)
		cancel_delayed_work_sync(&live->readers[d].work);
	if (live->core.yielded || !live->backend->claimed())
		return;
	cpus_read_lock();
	cache_qos_give_way(live, true);
	cpus_read_unlock();
}

/* Immediate reading of one monitor on this CPU */

/*
 * Fill in requests for RMIDs of a monitor that were not read since @since_ns. Return: number of
 * requests. The caller holds live->lock.
 */
static u32 cache_qos_stale_rmids(const struct cache_qos_live *live, u16 monitor, u16 domain,
				 u64 since_ns, struct cache_qos_request *requests)
{
	const struct cache_qos *cq = &live->core;
	u32 event = __ffs(cq->hw.events), nr = 0, rmid;

	for_each_set_bit(rmid, cq->monitors[monitor].rmids, cq->hw.nr_rmid) {
		if (READ_ONCE(cq->domains[domain].cells[rmid].time_ns[event]) >= since_ns)
			continue;
		cache_qos_ask(cq, domain, rmid, &requests[nr++]);
		if (nr == CACHE_QOS_MAX_READS)
			break;
	}
	return nr;
}

/**
 * cache_qos_read_here - read the RMIDs of a monitor in the domain of this CPU
 * @live: driver state
 * @monitor: number of the monitor; CACHE_QOS_MACHINE is not read, because it has too many RMIDs
 * @fresh_ns: RMIDs that were read within this time are not read again
 * @wait: wait for live->lock; if false, nothing is read while the lock is taken
 *
 * Reads at most CACHE_QOS_MAX_READS RMIDs; the rest is as old as the last pass.
 *
 * Context: interrupts off, not in an NMI, no raw lock of the driver held.
 *
 * Return: true if counters were read.
 */
bool cache_qos_read_here(struct cache_qos_live *live, u16 monitor, u64 fresh_ns, bool wait)
{
	const struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	struct cache_qos_request requests[CACHE_QOS_MAX_READS];
	u32 nr;

	if (monitor == CACHE_QOS_MACHINE || !cpu->ready || READ_ONCE(live->asleep) ||
	    cache_qos_registers_taken(&live->core) ||
	    !cache_qos_lock(&live->lock, wait))
		return false;
	nr = cache_qos_stale_rmids(live, monitor, cpu->domain, cache_qos_now_ns() - fresh_ns,
				   requests);
	raw_spin_unlock(&live->lock);
	cache_qos_read_batch(live, cpu->domain, requests, nr, wait);
	return nr;
}
