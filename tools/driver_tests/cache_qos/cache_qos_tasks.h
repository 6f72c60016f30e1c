/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The driver's table of tasks and its groups (cache_qos_task.c, cache_qos_group.c). A test can make
 * a task exit just before the driver takes its n-th lock.
 */
#ifndef KSHIM_CACHE_QOS_TASKS_H
#define KSHIM_CACHE_QOS_TASKS_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a test with an empty table and a task that is not tracked. */
void tasks_begin(void);
/* Makes the task exit, and a grace period end, just before the driver takes its n-th next lock. */
void tasks_end_before_lock(unsigned int n);
void tasks_end_now(void);

/* Forks the task; perf opens no event for the child. */
void tasks_fork(void);
/* Like tasks_fork(), but removes the group just before the driver takes the lock. */
void tasks_fork_beside_removal(u16 group);
void tasks_end_child(void);

int tasks_make_group(void);
int tasks_attach(u16 group);
int tasks_attach_process(u16 group);
void tasks_remove_group(u16 group);

/* Counts of the driver: tasks in a group, and tracked tasks. */
u32 tasks_in(u16 group);
u32 tasks_tracked(void);

#ifdef __cplusplus
}
#endif

#endif
