// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_many --pmu PMU [--event TERMS]
 *
 * Opens events until the limit of ten thousand file descriptors is reached, or, if the PMU supports
 * one event at a time, until ten thousand opens have failed with -EBUSY. After all events are
 * closed, a new event must work.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define DESCRIPTORS	10000

static int try_one(const struct stress_subject *subject)
{
	struct pmu_event event = { .fd = -1 };
	int err = stress_subject_open(subject, &event) ?: pmu_event_enable(&event) ?:
		  pmu_event_disable(&event);

	pmu_event_close(&event);
	return err;
}

static int allow_descriptors(unsigned int count)
{
	struct rlimit limit = { .rlim_cur = count, .rlim_max = count };

	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

static void test_descriptors(const struct stress_subject *subject)
{
	static struct pmu_event events[DESCRIPTORS + 1];
	unsigned int opened = 0, busy = 0;
	int err = allow_descriptors(DESCRIPTORS);

	for (unsigned int i = 0; (!err || err == -EBUSY) && i <= DESCRIPTORS; i++) {
		events[i].fd = -1;
		err = stress_subject_open(subject, &events[i]);
		opened += !err;
		busy += err == -EBUSY;
	}
	for (unsigned int i = 0; i < opened + busy; i++)
		pmu_event_close(&events[i]);
	ksft_test_result(opened && err == (busy ? -EBUSY : -EMFILE),
			 "%s: %u events opened, %u rejected with EBUSY, last error: %s\n",
			 subject->name, opened, busy, strerror(-err));
}

int main(int argc, char **argv)
{
	struct stress_subject subject = { 0 };
	int err;

	if (!stress_subject_parse(&subject, argc, argv, NULL, NULL, NULL)) {
		fprintf(stderr, "usage: pmu_many --pmu PMU [--event TERMS]\n");
		return 2;
	}
	stress_subject_choose(&subject);
	ksft_set_plan(2);
	test_descriptors(&subject);
	err = try_one(&subject);
	ksft_test_result(!err, "%s: a new event works after all are closed: %s\n", subject.name,
			 strerror(-err));
	ksft_finished();
}
