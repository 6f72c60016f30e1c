/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos_sim: declarations shared by its files.
 *
 * Locking: there is one raw lock, taken with interrupts off by the sched_switch probe (under the
 * run queue lock), by the driver's register accesses, by the timer, by hotplug callbacks and by
 * debugfs. Its holder takes no other lock.
 */
#ifndef CACHE_QOS_SIM_H
#define CACHE_QOS_SIM_H

#include <linux/sched.h>
#include <linux/types.h>

#include <pmukit/lock.h>

#include "cache_qos_sim_core.h"

#define CACHE_QOS_SIM_NR_PAGES	2048

/**
 * struct cache_qos_sim_page - reference counters of a task in a cgroup, called a page
 * @used: the page belongs to a task; it is not reused while the task has lines in a cache
 * @tid: thread id
 * @tgid: process id
 * @started: start time of the task, which distinguishes tasks with the same @tid
 * @cgroup: id of the cgroup in the unified hierarchy
 * @comm: name of the task when @stream was set
 * @stream: accesses of the task; stream.owner is the number of this page
 * @accesses: number of accesses, hits and misses
 * @ran_ns: time on CPUs
 * @next: next page in the hash bucket; 0: end
 * @last_ns: when the task last ran
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
 * @page: index in cache_qos_sim_live.pages of the task's reference counters; 0: the task does not
 *	use caches
 * @since_ns: time up to which the task's accesses are simulated
 * @next: the task that the CPU is switching to, if that task has a page; otherwise NULL
 */
struct cache_qos_sim_place {
	u32 page;
	u64 since_ns;
	const struct task_struct *next;
};

/**
 * struct cache_qos_sim_live - the machine and the tasks that run on it
 * @sim: the machine; the task of page n is owner n
 * @lock: protects everything except @claimed
 * @pages: reference counters; page 0 belongs to no task
 * @places: indexed by CPU
 * @frozen: tasks make no accesses
 * @flush_offline: an L3 without online CPUs loses its contents
 * @claimed: what the back-end's claimed() returns; true: other software has the registers
 * @forgotten_units: total traffic, in lines, of pages that were reused for another task
 * @untracked: how often no page was free for a task
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

/* cache_qos_sim_live.c: real tasks use the simulated caches */
int cache_qos_sim_live_prepare(unsigned int tick_ms);
void cache_qos_sim_live_finish(void);
void cache_qos_sim_advance(struct cache_qos_sim_live *live);
void cache_qos_sim_freeze(struct cache_qos_sim_live *live, bool frozen);

/* cache_qos_sim_debugfs.c: reference counters and fault injection */
void cache_qos_sim_debugfs_prepare(void);
void cache_qos_sim_debugfs_finish(void);

#endif /* CACHE_QOS_SIM_H */
