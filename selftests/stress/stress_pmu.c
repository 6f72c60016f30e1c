// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

/* A folder of the PMU in sysfs, and the function that is called for each of its files. */
struct reader {
	const char *folder;
	void (*each)(struct stress_pmu *pmu, const char *name, const char *text);
};

static void read_folder(struct stress_pmu *pmu, const struct reader *reader)
{
	char path[PATH_MAX], text[256];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/%s", pmu->name, reader->folder);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), PMU_SYSFS "/%s/%s/%s", pmu->name, reader->folder,
			 entry->d_name);
		if (!read_text(path, text, sizeof(text)))
			reader->each(pmu, entry->d_name, text);
	}
	closedir(dir);
}

/* text is, for example, "config1:0-31". Of several bit ranges in it, only the first is used. */
static void add_term(struct stress_pmu *pmu, const char *name, const char *text)
{
	unsigned int word = 0, first, last;
	int at = 0;

	if (pmu->nr_terms == STRESS_MOST_TERMS || strncmp(text, "config", 6))
		return;
	text += 6;
	if (*text != ':')
		word = *text++ - '0';
	if (sscanf(text, ":%u%n-%u", &first, &at, &last) < 2)
		last = first;
	if (!at || word > 2 || first > last || last > 63)
		return;
	pmu->terms[pmu->nr_terms++] = (struct stress_term){ word, first, last - first + 1 };
}

void stress_pmu_add_event(struct stress_pmu *pmu, const char *terms)
{
	struct perf_event_attr attr = { 0 };
	char copy[256], *rest = copy, *term, *value;

	if (pmu->nr_events == STRESS_MOST_EVENTS)
		return;
	snprintf(copy, sizeof(copy), "%s", terms);
	while ((term = strsep(&rest, ","))) {
		value = strchr(term, '=');
		if (value)
			*value++ = '\0';
		if (pmu_set_term(pmu->name, &attr, term, value ? strtoull(value, NULL, 0) : 1))
			return;
	}
	pmu->events[pmu->nr_events][0] = attr.config;
	pmu->events[pmu->nr_events][1] = attr.config1;
	pmu->events[pmu->nr_events++][2] = attr.config2;
}

/* Ignores llc_occupancy.scale and similar files. */
static void add_named_event(struct stress_pmu *pmu, const char *name, const char *text)
{
	if (!strchr(name, '.'))
		stress_pmu_add_event(pmu, text);
}

/* format/ is first: the values of events/ can only be parsed with the terms in format/. */
static const struct reader readers[] = {
	{ "format", add_term },
	{ "events", add_named_event },
};

int stress_pmu_read(struct stress_pmu *pmu, const char *name)
{
	int type = pmu_type(name), cpu = pmu_cpu(name);

	memset(pmu, 0, sizeof(*pmu));
	snprintf(pmu->name, sizeof(pmu->name), "%s", name);
	pmu->type = type;
	if (type < 0)
		return type;
	pmu->cpu = cpu < 0 ? -1 : cpu;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		read_folder(pmu, &readers[i]);
	return 0;
}

int stress_pmu_choose(struct stress_pmu *pmu, const char *name, const char *terms)
{
	int err = stress_pmu_read(pmu, name);

	if (terms) {
		pmu->nr_events = 0;
		stress_pmu_add_event(pmu, terms);
	}
	return err ?: pmu->nr_events ? 0 : -EINVAL;
}

int stress_pmu_some_cpu(const struct stress_pmu *pmu)
{
	return pmu->cpu < 0 ? 0 : pmu->cpu;
}

struct perf_event_attr stress_pmu_first_event(const struct stress_pmu *pmu)
{
	return (struct perf_event_attr){
		.type = pmu->type,
		.config = pmu->events[0][0],
		.config1 = pmu->events[0][1],
		.config2 = pmu->events[0][2],
		.disabled = 1,
	};
}
