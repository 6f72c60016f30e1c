// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: debugfs counters, one per file, in addition to those that all PMUs have:
 * /sys/kernel/debug/pmukit/cache_qos/<counter>.
 *
 * Context: process context. The folder is removed with the PMU, and debugfs waits for readers.
 */

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/debugfs.h>
#include <linux/kernel.h>

#include "cache_qos.h"

static u64 cache_qos_cpu_sum(const struct cache_qos_live *live, size_t field)
{
	unsigned int cpu;
	u64 sum = 0;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(const u64 *)((const char *)live->cpu_pointers[cpu] + field));
	return sum;
}

static u64 cache_qos_violations(const struct cache_qos_live *live)
{
	u64 sum = 0;
	u32 d;

	for (d = 0; d < live->core.nr_domains; d++)
		sum += live->core.domains[d].violations;
	return sum;
}

/* Define the function that returns a counter; its caller holds live->lock. */
#define CACHE_QOS_STAT(_name, _value)							\
	static u64 cache_qos_stat_##_name(const struct cache_qos_live *live)		\
	{										\
		return _value;								\
	}

CACHE_QOS_STAT(rmids_free, live->core.nr_atoms[CACHE_QOS_FREE])
CACHE_QOS_STAT(rmids_used, live->core.nr_atoms[CACHE_QOS_USED])
CACHE_QOS_STAT(rmids_limbo, live->core.nr_atoms[CACHE_QOS_LIMBO])
CACHE_QOS_STAT(pqr_writes, cache_qos_cpu_sum(live, offsetof(struct cache_qos_cpu, writes)))
CACHE_QOS_STAT(pqr_faults, cache_qos_cpu_sum(live, offsetof(struct cache_qos_cpu, faults)))
CACHE_QOS_STAT(hijacks, cache_qos_cpu_sum(live, offsetof(struct cache_qos_cpu, hijacks)))
CACHE_QOS_STAT(unavailable, cache_qos_count_reads(&live->core).unavailable)
CACHE_QOS_STAT(errors, cache_qos_count_reads(&live->core).errors)
CACHE_QOS_STAT(stolen, cache_qos_count_reads(&live->core).stolen)
CACHE_QOS_STAT(uncertain, cache_qos_count_reads(&live->core).uncertain)
CACHE_QOS_STAT(partial, live->core.stats.partial)
CACHE_QOS_STAT(dirty, live->core.stats.dirty)
CACHE_QOS_STAT(violations, cache_qos_violations(live))
CACHE_QOS_STAT(lost_forks, live->lost_forks)
CACHE_QOS_STAT(yields, live->yields)
CACHE_QOS_STAT(tasks, live->nr_tasks)
CACHE_QOS_STAT(probes, READ_ONCE(live->attached) ? CACHE_QOS_POINTS : 0)
CACHE_QOS_STAT(passes, READ_ONCE(live->done))
CACHE_QOS_STAT(ipis, atomic64_read(&live->ipis))
CACHE_QOS_STAT(wakes, atomic64_read(&live->wakes))
CACHE_QOS_STAT(turns, live->core.stats.turns)
CACHE_QOS_STAT(waiting, live->core.nr_waiting)

static const struct cache_qos_stat {
	const char *name;
	u64 (*of)(const struct cache_qos_live *live);
} cache_qos_stats_shown[] = {
	{ "rmids_free", cache_qos_stat_rmids_free },
	{ "rmids_used", cache_qos_stat_rmids_used },
	{ "rmids_limbo", cache_qos_stat_rmids_limbo },
	{ "pqr_writes", cache_qos_stat_pqr_writes },
	{ "pqr_faults", cache_qos_stat_pqr_faults },
	{ "hijacks", cache_qos_stat_hijacks },
	{ "unavailable", cache_qos_stat_unavailable },
	{ "errors", cache_qos_stat_errors },
	{ "stolen", cache_qos_stat_stolen },
	{ "uncertain", cache_qos_stat_uncertain },
	{ "partial", cache_qos_stat_partial },
	{ "dirty", cache_qos_stat_dirty },
	{ "violations", cache_qos_stat_violations },
	{ "lost_forks", cache_qos_stat_lost_forks },
	{ "yields", cache_qos_stat_yields },
	{ "tasks", cache_qos_stat_tasks },
	{ "probes", cache_qos_stat_probes },
	{ "passes", cache_qos_stat_passes },
	{ "ipis", cache_qos_stat_ipis },
	{ "wakes", cache_qos_stat_wakes },
	{ "turns", cache_qos_stat_turns },
	{ "waiting", cache_qos_stat_waiting },
};

static_assert(ARRAY_SIZE(cache_qos_stats_shown) == CACHE_QOS_NR_STATS);

static int cache_qos_stat_get(void *data, u64 *value)
{
	struct cache_qos_stat_file *file = data;

	raw_spin_lock_irq(&file->live->lock);
	*value = file->stat->of(file->live);
	raw_spin_unlock_irq(&file->live->lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(cache_qos_stat_fops, cache_qos_stat_get, NULL, "%llu\n");

/**
 * cache_qos_debugfs_add - create the debugfs files
 * @live: driver state, whose PMU is registered; removing the PMU removes the files
 */
void cache_qos_debugfs_add(struct cache_qos_live *live)
{
	unsigned int i;

	for (i = 0; i < CACHE_QOS_NR_STATS; i++) {
		live->stat_files[i] = (struct cache_qos_stat_file) {
			.live = live,
			.stat = &cache_qos_stats_shown[i],
		};
		debugfs_create_file_unsafe(cache_qos_stats_shown[i].name, 0400, live->pp.debugfs,
					   &live->stat_files[i], &cache_qos_stat_fops);
	}
}
