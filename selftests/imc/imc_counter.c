// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imc_counter.h"

long long event_config(const char *pmu, const char *event)
{
	unsigned long long config;
	char path[256], text[64], *name;
	int err;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/events/%s", pmu, event);
	/* File names in events/ are in lower case, even if the catalog has names in upper case. */
	for (name = strrchr(path, '/'); *name; name++)
		*name = tolower(*name);
	err = read_text(path, text, sizeof(text));
	if (err)
		return err;
	return sscanf(text, "event=0x%llx", &config) == 1 ? (long long)config : -EINVAL;
}

int counter_attr(const char *pmu, const char *event, struct perf_event_attr *attr)
{
	long long config = event_config(pmu, event);
	int type = pmu_type(pmu);

	if (type < 0 || config < 0)
		return type < 0 ? type : (int)config;
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->config = config;
	attr->disabled = 1;
	return 0;
}

int counter_open(struct pmu_event *counter, const char *pmu, const char *event, int pid, int cpu)
{
	struct perf_event_attr attr;
	int err = counter_attr(pmu, event, &attr);

	return err ? err : pmu_event_open(counter, &attr, pid, cpu);
}

int software_open(struct pmu_event *counter, unsigned long long config, int pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.disabled = 1,
	};

	return pmu_event_open(counter, &attr, pid, cpu);
}

long long counter_read(struct pmu_event *counter)
{
	unsigned long long count;

	if (read(counter->fd, &count, sizeof(count)) != sizeof(count))
		return -errno;
	return count;
}

int pmu_cpus(const char *pmu, int *cpus, int max)
{
	char path[256], text[256], *rest = text, *range;
	int first, last, nr = 0, err;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/cpumask", pmu);
	err = read_text(path, text, sizeof(text));
	if (err)
		return err;
	while ((range = strsep(&rest, ",")) && *range) {
		last = -1;
		if (sscanf(range, "%d-%d", &first, &last) < 1)
			return -EINVAL;
		for (int cpu = first; cpu <= (last < first ? first : last); cpu++, nr++)
			if (nr < max)
				cpus[nr] = cpu;
	}
	return nr;
}

int run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}
