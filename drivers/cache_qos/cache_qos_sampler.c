// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: reads the counters, pass by pass: every RMID that is in use or in limbo, in every
 * domain on a CPU of its own, a few at a time so that interrupts are not off for long.
 *
 * A pass also finds out whether somebody else has come for the registers, whether they are still
 * as we left them, which RMIDs may be used again, and brings the counts of perf events up to
 * date: perf does not ask a driver about an event that is not running.
 *
 * With no user the passes go on, seldom: bandwidth counters must not go round unseen, and limbo is
 * to end.
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

#define CACHE_QOS_IDLE_MS	10000	/* nobody asks */
#define CACHE_QOS_LIMBO_MS	1000	/* nobody asks, but RMIDs are in limbo */
#define CACHE_QOS_YIELDED_MS	1000	/* are the registers free again? */

/* Somebody else */

static void cache_qos_release_ipi(void *data)
{
	struct cache_qos_live *live = data;

	cache_qos_cpu_release(&live->core, smp_processor_id());
}

/**
 * cache_qos_foreign_cpu - a CPU with an RMID of another tool
 * @live: everything
 *
 * Return: nr_cpu_ids: there is none.
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

	if (live->core.claimed || cpu >= nr_cpu_ids)
		dev_warn(&live->parent->dev,
			 "resctrl is mounted and has the registers: values are frozen until it is unmounted\n");
	else
		dev_warn(&live->parent->dev,
			 "CPU %u: RMID %u is another tool's (pqos, PCM?): values are frozen until it is 0 again\n",
			 cpu, READ_ONCE(per_cpu_ptr(live->cpus, cpu)->foreign));
}

static void cache_qos_give_way(struct cache_qos_live *live, bool claimed)
{
	raw_spin_lock_irq(&live->lock);
	cache_qos_yield(&live->core, claimed);
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

/* First the CPUs that had one, and the others only once these are free. */
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
	raw_spin_unlock_irq(&live->lock);
	cache_qos_cpus_again(live);
	trace_cache_qos_yield(false);
	dev_info(&live->parent->dev, "the registers are free again\n");
}

/* What another user of the registers changes for us. */
static void cache_qos_heed(struct cache_qos_live *live, bool claimed)
{
	if (!live->core.yielded && (claimed || READ_ONCE(live->core.foreign)))
		cache_qos_give_way(live, claimed);
	else if (live->core.yielded && !claimed)
		cache_qos_come_back(live);
}

/* Also: a task may have changed its cgroup without a switch. */
static void cache_qos_check_ipi(void *data)
{
	struct cache_qos_live *live = data;

	cache_qos_check_pqr(&live->core, this_cpu_ptr(live->cpus));
	cache_qos_resolve_here(live);
}

/**
 * cache_qos_check_all - what has become of PQR_ASSOC of each CPU
 * @live: everything
 *
 * Context: may sleep.
 */
void cache_qos_check_all(struct cache_qos_live *live)
{
	on_each_cpu(cache_qos_check_ipi, live, 1);
}

/* Reading */

/*
 * Under the lock: what is read later is folded later, or a counter would seem to go back, that is
 * once round.
 */
static void cache_qos_read_one(struct cache_qos_live *live, u16 domain, u32 rmid)
{
	struct cache_qos_sample sample;
	u64 now_ns = cache_qos_now_ns();

	cache_qos_read_rmid(live->backend, &live->core.hw,
			    cache_qos_events_wanted(&live->core, domain, rmid), rmid,
			    READ_ONCE(live->paranoid), &sample);
	cache_qos_fold(&live->core, domain, rmid, &sample, now_ns);
}

static void cache_qos_read_ipi(void *data)
{
	struct cache_qos_batch *batch = data;
	struct cache_qos_live *live = batch->live;
	const struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	u32 i;

	for (i = 0; i < batch->nr && cpu->ready; i++) {
		raw_spin_lock(&live->lock);
		cache_qos_read_one(live, cpu->domain, batch->rmid[i]);
		raw_spin_unlock(&live->lock);
	}
}

/* One CPU of each domain, one without a tick to lose if there is one */
static void cache_qos_readers(struct cache_qos_live *live, struct cpumask *readers)
{
	unsigned int of[CACHE_QOS_MAX_DOMAINS];
	unsigned int cpu;
	u32 d;

	cpumask_clear(readers);
	for (d = 0; d < live->core.nr_domains; d++)
		of[d] = nr_cpu_ids;
	for_each_online_cpu(cpu) {
		const struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);

		if (!READ_ONCE(each->ready))
			continue;
		if (of[each->domain] >= nr_cpu_ids ||
		    (tick_nohz_full_cpu(of[each->domain]) && !tick_nohz_full_cpu(cpu)))
			of[each->domain] = cpu;
	}
	for (d = 0; d < live->core.nr_domains; d++) {
		if (of[d] < nr_cpu_ids)
			cpumask_set_cpu(of[d], readers);
	}
}

static void cache_qos_read_all(struct cache_qos_live *live, const struct cpumask *readers)
{
	struct cache_qos_batch batch = { .live = live };
	u32 rmid;

	for (rmid = 0; rmid < live->core.hw.nr_rmid; rmid++) {
		if (cache_qos_wanted(&live->core, rmid, live->pass))
			batch.rmid[batch.nr++] = rmid;
		if (batch.nr < CACHE_QOS_BATCH)
			continue;
		on_each_cpu_mask(readers, cache_qos_read_ipi, &batch, true);
		batch.nr = 0;
	}
	if (batch.nr)
		on_each_cpu_mask(readers, cache_qos_read_ipi, &batch, true);
}

static void cache_qos_judge(struct cache_qos_live *live)
{
	u32 d;

	raw_spin_lock_irq(&live->lock);
	cache_qos_mark_suspects(&live->core);
	cache_qos_limbo_pass(&live->core, cache_qos_now_ns());
	raw_spin_unlock_irq(&live->lock);
	for (d = 0; d < live->core.nr_domains; d++) {
		raw_spin_lock_irq(&live->lock);
		cache_qos_check_domain(&live->core, d);
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

static void cache_qos_pass(struct cache_qos_live *live)
{
	cpumask_var_t readers;
	bool claimed;

	if (READ_ONCE(live->asleep))
		return;
	if (!zalloc_cpumask_var(&readers, GFP_KERNEL))
		return;
	/* Before the lock of CPU hotplug: who unmounts resctrl takes that lock under its own. */
	claimed = live->backend->claimed();
	cpus_read_lock();
	cache_qos_heed(live, claimed);
	if (!live->core.yielded) {
		if (atomic_read(&live->users))
			cache_qos_check_all(live);
		cache_qos_readers(live, readers);
		cache_qos_read_all(live, readers);
		cache_qos_judge(live);
	}
	cpus_read_unlock();
	free_cpumask_var(readers);
	cache_qos_watches_publish(live);
	cache_qos_trace_samples(live);
	cache_qos_streams_write(live);
}

static void cache_qos_sampler_work(struct work_struct *work)
{
	struct cache_qos_live *live = container_of(to_delayed_work(work), struct cache_qos_live,
						   sampler);

	WRITE_ONCE(live->pass, live->pass + 1);
	cache_qos_pass(live);
	smp_store_release(&live->done, live->pass);	/* what was read is there */
	wake_up_all(&live->passed);
	queue_delayed_work(live->workqueue, &live->sampler,
			   msecs_to_jiffies(cache_qos_interval_ms(live)));
}

/**
 * cache_qos_sampler_hurry - the next pass is to begin now
 * @live: everything
 */
void cache_qos_sampler_hurry(struct cache_qos_live *live)
{
	mod_delayed_work(live->workqueue, &live->sampler, 0);
}

static bool cache_qos_passed(const struct cache_qos_live *live, u32 pass)
{
	/* With the number comes what was read. */
	return (s32)(smp_load_acquire(&live->done) - pass) >= 0;
}

/**
 * cache_qos_refresh - wait for a pass that begins after this call
 * @live: everything
 *
 * Those who ask at the same time wait for the same pass.
 *
 * Context: may sleep.
 *
 * Return: 0 or -ETIMEDOUT.
 */
int cache_qos_refresh(struct cache_qos_live *live)
{
	u32 wanted = READ_ONCE(live->pass) + 1;
	long left;

	cache_qos_sampler_hurry(live);
	left = wait_event_timeout(live->passed, cache_qos_passed(live, wanted),
				  msecs_to_jiffies(CACHE_QOS_REFRESH_MS));
	return left ? 0 : -ETIMEDOUT;
}

/**
 * cache_qos_sampler_start - begin to read; on return one pass is complete
 * @live: everything
 */
void cache_qos_sampler_start(struct cache_qos_live *live)
{
	INIT_DELAYED_WORK(&live->sampler, cache_qos_sampler_work);
	queue_delayed_work(live->workqueue, &live->sampler, 0);
	flush_delayed_work(&live->sampler);
}

/**
 * cache_qos_sampler_stop - the opposite
 * @live: everything
 */
void cache_qos_sampler_stop(struct cache_qos_live *live)
{
	cancel_delayed_work_sync(&live->sampler);
}

/* One monitor, on this CPU, now */

/* Under the lock: the RMIDs of a monitor that were not read since */
static u32 cache_qos_stale_rmids(const struct cache_qos_live *live, u16 monitor, u16 domain,
				 u64 since_ns, u32 *rmids)
{
	const struct cache_qos *cq = &live->core;
	u32 event = __ffs(cq->hw.events), nr = 0, rmid;

	for (rmid = 1; rmid < cq->hw.nr_rmid && nr < CACHE_QOS_BATCH; rmid++) {
		if (cache_qos_has(&cq->atoms[rmid].members, monitor) &&
		    cq->domains[domain].cells[rmid].time_ns[event] < since_ns)
			rmids[nr++] = rmid;
	}
	return nr;
}

/**
 * cache_qos_read_here - read the RMIDs of a monitor in the domain of this CPU
 * @live: everything
 * @monitor: not CACHE_QOS_MACHINE, whose RMIDs are too many
 * @fresh_ns: what was read so short a time ago is not read again
 * @wait: for the lock; otherwise nothing is read where it is taken
 *
 * At most CACHE_QOS_BATCH of them; the rest is as old as the last pass.
 *
 * Context: interrupts off, not in an NMI, no lock of ours held.
 */
void cache_qos_read_here(struct cache_qos_live *live, u16 monitor, u64 fresh_ns, bool wait)
{
	const struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	u32 rmids[CACHE_QOS_BATCH];
	u32 nr, i;

	if (monitor == CACHE_QOS_MACHINE || !cpu->ready || READ_ONCE(live->asleep) ||
	    !cache_qos_lock(&live->lock, wait))
		return;
	nr = cache_qos_stale_rmids(live, monitor, cpu->domain, cache_qos_now_ns() - fresh_ns,
				   rmids);
	for (i = 0; i < nr; i++)
		cache_qos_read_one(live, cpu->domain, rmids[i]);
	raw_spin_unlock(&live->lock);
}
