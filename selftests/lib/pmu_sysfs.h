/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For selftests of any PMU: its files in sysfs. Functions return 0 or -errno unless documented
 * otherwise. Programs without the kselftest harness use them, too.
 */
#ifndef PMUKIT_SELFTESTS_PMU_SYSFS_H
#define PMUKIT_SELFTESTS_PMU_SYSFS_H

#include <stddef.h>

#define PMU_SYSFS	"/sys/bus/event_source/devices"
#define PMU_DEBUGFS	"/sys/kernel/debug/pmukit"

/* Reads a small file into text and removes the newlines at the end. */
int read_text(const char *path, char *text, size_t size);
int read_number(const char *path, long long *value);
int write_text(const char *path, const char *text);

int pmu_type(const char *pmu);			/* type number of the PMU, or -errno */
int pmu_cpu(const char *pmu);			/* first CPU of the cpumask, or -errno */

#endif
