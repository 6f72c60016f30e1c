/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks: each is a separate process, and the test owns its memory. */
#ifndef KSHIM_LINUX_SCHED_SIGNAL_H
#define KSHIM_LINUX_SCHED_SIGNAL_H

#include <stdbool.h>
#include <sys/types.h>

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	bool alive;
	struct task_struct *next;
};

#define TASK_NEW	1U
#define PF_EXITING	1U

extern struct task_struct *kshim_tasks;

#define pid_alive(task)			((task)->alive)
#define task_pid_vnr(task)		((task)->alive ? 1 : 0)
#define thread_group_leader(task)	true
#define get_task_struct(task)		((void)(task))
#define put_task_struct(task)		((void)(task))
#define cond_resched()			((void)0)
#define for_each_thread(task, thread)	for (thread = task; thread; thread = NULL)
#define for_each_process_thread(process, task)						\
	for (process = task = kshim_tasks; process; process = task = task->next)

#endif
