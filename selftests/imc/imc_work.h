/* SPDX-License-Identifier: GPL-2.0-only */
/* Work in functions that can be identified by the address of an instruction */
#ifndef PMUKIT_SELFTESTS_IMC_WORK_H
#define PMUKIT_SELFTESTS_IMC_WORK_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#define NR_WORKS	8

/* NR_WORKS identical functions at separate addresses; the same units take the same time in each. */
void work(int which, unsigned int units);
/* Returns the function that contains an instruction, or -1. */
int work_of(__u64 ip);

/* Returns the units per millisecond on an idle CPU: the fastest of many measurements. */
unsigned int work_units_per_ms(void);

/* One round: seven parts in work 0, two in work 1, one in work 2 */
void work_split(void);
/* Repeats work_split() without end; @data is unused. */
void work_on(void *data);

/* Starts a process that calls @act, and is killed if its parent dies. Returns its PID, or -1. */
pid_t child_that(void (*act)(void *data), void *data);
void end_child(pid_t pid);

/* Spend about @ms of this thread's CPU time in read(2) or in user mode. Return the time in ns. */
long long work_in_kernel(unsigned int ms);
long long work_in_user(unsigned int ms);

long long thread_ns(void);	/* CLOCK_THREAD_CPUTIME_ID */

#endif
