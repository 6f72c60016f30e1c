// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_refresh --pmu PMU [--event TERMS] [--aux PAGES]
 *
 * Tests events that stop after one, two and three samples (PERF_EVENT_IOC_REFRESH), without and
 * with an AUX area. perf may stop such an event while the driver delivers its last sample, so the
 * test also disables the event at times when this delivery may be in progress. Afterwards an event
 * without a limit must work, and the driver must not have counted a stop as a reset of the device.
 *
 * The PMU must produce data continuously.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define MOST_SAMPLES	3
#define DATA_PAGES	64
#define RUN_MS		1000

/* Delays before the disable: some within the first epoch or buffer of the device, some after it. */
static const unsigned int moments_ms[] = {
	0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 25, 30, 40, 60
};

/*
 * Opens, maps and starts an event that stops after @limit samples. The caller must close the event,
 * even after an error.
 */
static int start(const struct stress_subject *subject, unsigned int aux_pages, unsigned int limit,
		 struct pmu_event *event)
{
	struct perf_event_attr attr = stress_subject_attr(subject);
	int err;

	attr.sample_period = 1;
	err = pmu_event_open(event, &attr, -1, stress_pmu_some_cpu(&subject->pmu)) ?:
	      pmu_event_map(event, DATA_PAGES, aux_pages);
	if (!err && ioctl(event->fd, PERF_EVENT_IOC_REFRESH, limit))
		err = -errno;
	return err;
}

/* Runs an event and disables it after run_ms. */
static int run(const struct stress_subject *subject, unsigned int aux_pages, unsigned int limit,
	       unsigned int run_ms, unsigned int *samples)
{
	struct pmu_event event = { .fd = -1 };
	int err = start(subject, aux_pages, limit, &event);

	if (!err) {
		usleep(run_ms * 1000);
		err = pmu_event_disable(&event);
		*samples = pmu_event_take(&event, PERF_RECORD_SAMPLE);
	}
	pmu_event_close(&event);
	return err;
}

/* Some kernels disable the event late, so more samples than the limit are not a failure. */
static void test_limit(const struct stress_subject *subject, unsigned int aux_pages,
		       unsigned int limit)
{
	unsigned int at_last = 0, samples = 0;
	int err = run(subject, aux_pages, limit, RUN_MS, &at_last);

	for (unsigned int i = 0; !err && i < ARRAY_SIZE(moments_ms); i++)
		err = run(subject, aux_pages, limit, moments_ms[i], &samples);
	ksft_test_result(!err && (aux_pages || at_last >= limit),
			 "%s: event stops at %u samples, AUX pages %u: %u samples: %s\n",
			 subject->name, limit, aux_pages, at_last, strerror(-err));
}

/* Tests that an event without a limit counts. */
static void test_ordinary(const struct stress_subject *subject)
{
	struct pmu_event event = { .fd = -1 };
	int err = stress_subject_start(subject, &event);
	__u64 count = 0;

	if (!err) {
		usleep(RUN_MS * 1000);
		err = pmu_event_disable(&event);
	}
	if (!err && read(event.fd, &count, sizeof(count)) < 0)
		err = -errno;
	pmu_event_close(&event);
	ksft_test_result(!err && count, "%s: later event counts: %llu entries: %s\n", subject->name,
			 (unsigned long long)count, strerror(-err));
}

static long long read_resets(const struct stress_subject *subject)
{
	char path[256];
	long long count = -1;

	snprintf(path, sizeof(path), PMU_DEBUGFS "/%s/resets", subject->name);
	read_number(path, &count);
	return count;
}

int main(int argc, char **argv)
{
	struct stress_subject subject = { 0 };
	long long before, after;

	if (!stress_subject_parse(&subject, argc, argv, NULL, NULL, NULL)) {
		fprintf(stderr,
			"usage: pmu_refresh --pmu PMU [options], see the head of its source\n");
		return 2;
	}
	stress_subject_choose(&subject);
	ksft_set_plan(MOST_SAMPLES * (subject.aux_pages ? 2 : 1) + 2);
	before = read_resets(&subject);
	for (unsigned int limit = 1; limit <= MOST_SAMPLES; limit++) {
		test_limit(&subject, 0, limit);
		if (subject.aux_pages)
			test_limit(&subject, subject.aux_pages, limit);
	}
	test_ordinary(&subject);
	after = read_resets(&subject);
	ksft_test_result(before == after, "%s: driver counts no stop as a reset: %lld, %lld\n",
			 subject.name, before, after);
	ksft_finished();
}
