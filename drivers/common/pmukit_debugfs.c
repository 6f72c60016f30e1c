// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of each PMU in debugfs, one file per counter: /sys/kernel/debug/pmukit/<PMU>/<counter>.
 *
 * Context: process context. debugfs_remove() waits for readers, so no counter is read after its PMU
 * is freed. Errors are ignored: a PMU works without these files.
 */

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/debugfs.h>
#include <linux/kernel.h>

#include <pmukit/pmu.h>

#include "pmukit_debugfs.h"

static const char *const pmukit_stat_names[] = {
	[PMUKIT_STAT_RECORDS]	= "records",
	[PMUKIT_STAT_ENTRIES]	= "entries",
	[PMUKIT_STAT_LOST]	= "lost",
	[PMUKIT_STAT_OVERFLOWS]	= "overflows",
	[PMUKIT_STAT_RESETS]	= "resets",
	[PMUKIT_STAT_REJECTED]	= "rejected",
	[PMUKIT_STAT_TIMEOUTS]	= "timeouts",
};

static_assert(ARRAY_SIZE(pmukit_stat_names) == PMUKIT_NR_STATS);

static struct dentry *pmukit_debugfs;

static int pmukit_stat_get(void *data, u64 *value)
{
	*value = atomic64_read(data);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(pmukit_stat_fops, pmukit_stat_get, NULL, "%llu\n");

/**
 * pmukit_debugfs_add - show the counters of a PMU
 * @pp: a registered PMU
 */
void pmukit_debugfs_add(struct pmukit_pmu *pp)
{
	unsigned int i;

	pp->debugfs = debugfs_create_dir(pp->name, pmukit_debugfs);
	for (i = 0; i < PMUKIT_NR_STATS; i++)
		debugfs_create_file_unsafe(pmukit_stat_names[i], 0444, pp->debugfs, &pp->stats[i],
					   &pmukit_stat_fops);
}

/**
 * pmukit_debugfs_remove - remove the files of a PMU; on return no read of them is in progress
 * @pp: the PMU
 */
void pmukit_debugfs_remove(struct pmukit_pmu *pp)
{
	debugfs_remove(pp->debugfs);
	pp->debugfs = NULL;
}

/**
 * pmukit_debugfs_init - create the directory for all PMUs
 */
void pmukit_debugfs_init(void)
{
	pmukit_debugfs = debugfs_create_dir("pmukit", NULL);
}

/**
 * pmukit_debugfs_exit - remove the directory
 */
void pmukit_debugfs_exit(void)
{
	debugfs_remove(pmukit_debugfs);
}
