// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define MOST_OPTIONS	16
#define DATA_PAGES	4

/* Values of the common options. Those of a program's additional options are below 256. */
enum { OPTION_PMU = 256, OPTION_EVENT, OPTION_AUX };

static const struct option ours[] = {
	{ "pmu", required_argument, NULL, OPTION_PMU },
	{ "event", required_argument, NULL, OPTION_EVENT },
	{ "aux", required_argument, NULL, OPTION_AUX },
};

static bool take(struct stress_subject *subject, int option)
{
	switch (option) {
	case OPTION_PMU:
		subject->name = optarg;
		return true;
	case OPTION_EVENT:
		subject->terms = optarg;
		return true;
	case OPTION_AUX:
		subject->aux_pages = atoi(optarg);
		return true;
	default:
		return false;
	}
}

bool stress_subject_parse(struct stress_subject *subject, int argc, char **argv,
			  const struct option *others, bool (*other)(void *data, int option),
			  void *data)
{
	struct option all[MOST_OPTIONS] = { 0 };
	size_t count = ARRAY_SIZE(ours);
	int option;

	memcpy(all, ours, sizeof(ours));
	while (others && others->name && count < MOST_OPTIONS - 1)
		all[count++] = *others++;
	while ((option = getopt_long(argc, argv, "", all, NULL)) != -1)
		if (!take(subject, option) && (!other || !other(data, option)))
			return false;
	return optind == argc && subject->name;
}

void stress_subject_choose(struct stress_subject *subject)
{
	int err;

	ksft_print_header();
	err = stress_pmu_choose(&subject->pmu, subject->name, subject->terms);
	if (err)
		ksft_exit_fail_msg("%s: %s\n", subject->name, strerror(-err));
}

struct perf_event_attr stress_subject_attr(const struct stress_subject *subject)
{
	struct perf_event_attr attr = stress_pmu_first_event(&subject->pmu);

	attr.sample_period = subject->aux_pages ? 1 : 0;
	return attr;
}

int stress_subject_open(const struct stress_subject *subject, struct pmu_event *event)
{
	struct perf_event_attr attr = stress_subject_attr(subject);

	return pmu_event_open(event, &attr, -1, stress_pmu_some_cpu(&subject->pmu));
}

int stress_subject_start(const struct stress_subject *subject, struct pmu_event *event)
{
	return stress_subject_open(subject, event) ?:
	       pmu_event_map(event, DATA_PAGES, subject->aux_pages) ?: pmu_event_enable(event);
}
