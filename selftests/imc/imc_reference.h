/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reference counters of the engine, from imc_engine/ in debugfs, and the number of probes that the
 * engine and the driver have attached.
 */
#ifndef PMUKIT_SELFTESTS_IMC_REFERENCE_H
#define PMUKIT_SELFTESTS_IMC_REFERENCE_H

#include <stdbool.h>

bool engine_is_loaded(void);

/* Returns the value of @word in the file @page@number ("cpu0", "core0", "chip0"), or -1. */
long long reference_number(const char *page, int number, const char *word);
/* Copies the value of @word to @text as a string, which is empty if the file lacks @word. */
void reference_text(const char *page, int number, const char *word, char *text, int size);
/* Returns the sum of the values of @word in the files @page0, @page1 and so on. */
long long reference_sum(const char *page, const char *word);
/* Waits until the engine has written @records more records for the CPU, two minutes at most. */
void reference_wait_records(int cpu, long long records);
/* Waits until the counters of a running chip include all past activity, two minutes at most. */
void reference_wait_posted(int chip);

int cpus_online(void);		/* number of online CPUs */
int core_of(int cpu);		/* the engine's number of the CPU's core, or -1 */

/* A counter of trace_imc, from debugfs */
long long trace_stat(const char *name);

/* Number of attached probes, or -errno */
int probes_of_driver(void);
int probes_of_engine(void);
/* Waits until no probe is attached, 30 seconds at most. Returns true if none is. */
bool probes_are_gone(void);
/* Makes the engine's next attempt to attach probes fail with @error. */
int probes_fail_once(int error);

#endif
