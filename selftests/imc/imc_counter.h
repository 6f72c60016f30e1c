/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting events of the imc PMUs by name, and software events. Functions return 0 or -errno. */
#ifndef PMUKIT_SELFTESTS_IMC_COUNTER_H
#define PMUKIT_SELFTESTS_IMC_COUNTER_H

#include <stdbool.h>

#include "pmu_event.h"

/* Returns the config of an event by its name in events/, or -errno. */
long long event_config(const char *pmu, const char *event);
int counter_attr(const char *pmu, const char *event, struct perf_event_attr *attr);

/* counter_open() and software_open() open an event that is disabled. */
int counter_open(struct pmu_event *counter, const char *pmu, const char *event, int pid, int cpu);
int software_open(struct pmu_event *counter, unsigned long long config, int pid, int cpu);
/* Returns the count, or -errno. */
long long counter_read(struct pmu_event *counter);

/* Fills in up to @max CPUs of a PMU's cpumask and returns their total number, or -errno. */
int pmu_cpus(const char *pmu, int *cpus, int max);

/* Binds the caller to one CPU. */
int run_on(int cpu);

#endif
