/* SPDX-License-Identifier: GPL-2.0-only */
/* What the engine says it did: imc_engine/ in debugfs; probes that it and the driver have. */
#ifndef PMUKIT_SELFTESTS_IMC_REFERENCE_H
#define PMUKIT_SELFTESTS_IMC_REFERENCE_H

#include <stdbool.h>

bool engine_is_loaded(void);

/* The value of a word on a page ("cpu0", "core0", "chip0"), or -1. */
long long reference_number(const char *page, int number, const char *word);
/* The same as text; empty when there is none. */
void reference_text(const char *page, int number, const char *word, char *text, int size);
/* Of all pages of a kind. */
long long reference_sum(const char *page, const char *word);
/* Until the engine has written so many records more for a CPU, two minutes at most. */
void reference_wait_records(int cpu, long long records);
/* Until all that happened before is in the counters of a chip that is running, as long at most. */
void reference_wait_posted(int chip);

int cpus_online(void);		/* how many */
int core_of(int cpu);		/* the engine's number of it, or -1 */

/* A counter of trace_imc, from debugfs */
long long trace_stat(const char *name);

/* How many probes are attached, or -errno */
int probes_of_driver(void);
int probes_of_engine(void);
/* None is; waits for those that were, 30 seconds at most. */
bool probes_are_gone(void);
/* The engine's next attempt to attach its own fails with this error. */
int probes_fail_once(int error);

#endif
