/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos_sim: what its files share.
 *
 * Locking: there is one lock, raw, taken with interrupts off: by the scheduler's probe under the
 * run queue's lock, by the driver's accesses to registers, by the timer and by debugfs. Nothing of
 * the kernel is called under it but a clock.
 */
#ifndef CACHE_QOS_SIM_H
#define CACHE_QOS_SIM_H

#include <linux/sched.h>
#include <linux/types.h>

#include <pmukit/lock.h>

#include "cache_qos_sim_core.h"

#define CACHE_QOS_SIM_NR_PAGES	2048

/**
 * struct cache_qos_sim_page - an entry of the simulation's own record: a task in a cgroup
 * @used: belongs to a task; not reused while it has lines
 * @tid: of the task
 * @tgid: of its process
 * @started: start time of the task, which distinguishes it from another one with the same @tid
 * @cgroup: its id in the unified tree
 * @comm: the name that made the stream
 * @stream: what it does; its owner is the number of the page
 * @accesses: hits and misses
 * @ran_ns: on CPUs
 * @next: page of the same bucket; 0: none
 * @last_ns: when it was last on a CPU
 */
struct cache_qos_sim_page {
	bool used;
	pid_t tid;
	pid_t tgid;
	u64 started;
	u64 cgroup;
	char comm[TASK_COMM_LEN];
	struct cache_qos_sim_stream stream;
	u64 accesses;
	u64 ran_ns;
	u32 next;
	u64 last_ns;
};

/**
 * struct cache_qos_sim_place - the task that runs on a CPU
 * @page: index of its page; 0: no task that uses caches
 * @since_ns: time up to which its accesses are simulated
 * @next: the task that is being switched to, when it has a page; NULL: none
 */
struct cache_qos_sim_place {
	u32 page;
	u64 since_ns;
	const struct task_struct *next;
};

/**
 * struct cache_qos_sim_live - the machine and the tasks that run on it
 * @sim: the machine; owner n is page n
 * @lock: protects all but @claimed
 * @pages: the simulation's own record; page 0 belongs to no task
 * @places: by CPU
 * @frozen: programs stand still
 * @flush_offline: an L3 without CPUs loses its contents
 * @claimed: what the back-end's claimed() returns: another user has the registers
 * @forgotten_units: of pages that were reused for another task
 * @untracked: times that no page was free for a task
 */
struct cache_qos_sim_live {
	struct cache_qos_sim sim;
	struct pmukit_lock lock;
	struct cache_qos_sim_page *pages;
	struct cache_qos_sim_place *places;
	bool frozen;
	bool flush_offline;
	bool claimed;
	u64 forgotten_units;
	u64 untracked;
};

extern struct cache_qos_sim_live cache_qos_sim_live;

/* cache_qos_sim_live.c: the scheduler's tasks use the caches */
int cache_qos_sim_live_prepare(unsigned int tick_ms);
void cache_qos_sim_live_finish(void);
void cache_qos_sim_advance(struct cache_qos_sim_live *live);
void cache_qos_sim_freeze(struct cache_qos_sim_live *live, bool frozen);

/* cache_qos_sim_debugfs.c: the simulation's own record, and fault injection */
void cache_qos_sim_debugfs_prepare(void);
void cache_qos_sim_debugfs_finish(void);

#endif /* CACHE_QOS_SIM_H */
