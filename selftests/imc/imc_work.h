/* SPDX-License-Identifier: GPL-2.0-only */
/* Work of known kinds, in functions that an instruction address identifies. */
#ifndef PMUKIT_SELFTESTS_IMC_WORK_H
#define PMUKIT_SELFTESTS_IMC_WORK_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#define NR_WORKS	8

/* Works alike, each in a place of its own. Each takes as long as any other for the same units. */
void work(int which, unsigned int units);
/* Which of them an instruction belongs to, or -1. */
int work_of(__u64 ip);

/* How many units take a millisecond of a CPU that nothing else wants: the quickest of many. */
unsigned int work_units_per_ms(void);

/* One round of seven parts in work 0, two in work 1, one in work 2. */
void work_split(void);
/* The same for ever; data is not looked at. */
void work_on(void *data);

/* A process that does this and ends, with its parent at the latest. Its number, or -1. */
pid_t child_that(void (*act)(void *data), void *data);
void end_child(pid_t pid);

/* About ms of this thread's time in read(2); of its own. Returns the time it took, in ns. */
long long work_in_kernel(unsigned int ms);
long long work_in_user(unsigned int ms);

long long thread_ns(void);	/* CLOCK_THREAD_CPUTIME_ID */

#endif
