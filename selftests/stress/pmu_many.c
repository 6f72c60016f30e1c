// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_many --pmu PMU [--event TERMS]
 *
 * As many events as there are file descriptors, ten thousand of them: all are opened until there
 * are none left, or the PMU, if it serves one user at a time, tells all others so. When they are
 * closed an event works again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define DESCRIPTORS	10000

struct subject {
	struct stress_pmu pmu;
	const char *name, *terms;
};

static int open_event(const struct subject *subject, struct pmu_event *event)
{
	struct perf_event_attr attr = stress_pmu_first_event(&subject->pmu);

	return pmu_event_open(event, &attr, -1, subject->pmu.cpu < 0 ? 0 : subject->pmu.cpu);
}

static int try_one(const struct subject *subject)
{
	struct pmu_event event = { .fd = -1 };
	int err = open_event(subject, &event) ?: pmu_event_enable(&event) ?:
		  pmu_event_disable(&event);

	pmu_event_close(&event);
	return err;
}

static int allow_descriptors(unsigned int count)
{
	struct rlimit limit = { .rlim_cur = count, .rlim_max = count };

	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

static void test_descriptors(const struct subject *subject)
{
	static struct pmu_event events[DESCRIPTORS + 1];
	unsigned int opened = 0, busy = 0;
	int err = allow_descriptors(DESCRIPTORS);

	for (unsigned int i = 0; (!err || err == -EBUSY) && i <= DESCRIPTORS; i++) {
		events[i].fd = -1;
		err = open_event(subject, &events[i]);
		opened += !err;
		busy += err == -EBUSY;
	}
	for (unsigned int i = 0; i < opened + busy; i++)
		pmu_event_close(&events[i]);
	ksft_test_result(opened && err == (busy ? -EBUSY : -EMFILE),
			 "%s: %u events, %u refused as busy, then: %s\n", subject->name, opened,
			 busy, strerror(-err));
}

static bool parse(struct subject *subject, int argc, char **argv)
{
	static const struct option all[] = {
		{ "pmu", required_argument, NULL, 'p' },
		{ "event", required_argument, NULL, 'e' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", all, NULL)) != -1) {
		if (option == 'p')
			subject->name = optarg;
		else if (option == 'e')
			subject->terms = optarg;
		else
			return false;
	}
	return optind == argc && subject->name;
}

int main(int argc, char **argv)
{
	struct subject subject = { 0 };
	int err;

	if (!parse(&subject, argc, argv)) {
		fprintf(stderr, "usage: pmu_many --pmu PMU [--event TERMS]\n");
		return 2;
	}
	ksft_print_header();
	err = stress_pmu_choose(&subject.pmu, subject.name, subject.terms);
	if (err)
		ksft_exit_fail_msg("%s: %s\n", subject.name, strerror(-err));

	ksft_set_plan(2);
	test_descriptors(&subject);
	err = try_one(&subject);
	ksft_test_result(!err, "%s: an event works after that: %s\n", subject.name, strerror(-err));
	ksft_finished();
}
