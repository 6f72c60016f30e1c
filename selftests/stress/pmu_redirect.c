// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_redirect --pmu PMU --other PMU --aux PAGES [--event TERMS]
 *
 * Redirects an event of the PMU to the ring of a software event (PERF_EVENT_IOC_SET_OUTPUT) whose
 * AUX area belongs to an event of the other PMU, which has the same terms. The PMU must not write
 * to that area: the area must not change, and the event must deliver samples. The area is full, so
 * perf would disable the event if the driver requested space in it. (Up to Linux 6.12 perf would
 * not do so on CPU 0, because it uses the CPU number as the flag to disable the event.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define DATA_PAGES	64
#define RUN_US		1000000

static const struct option options[] = {
	{ "other", required_argument, NULL, 'o' },
	{ 0 },
};

static bool take(void *data, int option)
{
	*(const char **)data = optarg;
	return option == 'o';
}

static int open_redirected(const struct stress_subject *subject, const struct pmu_event *ring,
			   struct pmu_event *event)
{
	return stress_subject_open(subject, event) ?: pmu_event_redirect(event, ring);
}

static void test_redirected(const struct stress_subject *subject,
			    const struct stress_subject *other)
{
	struct pmu_event ring = { .fd = -1 }, theirs = { .fd = -1 }, ours = { .fd = -1 };
	unsigned int first = 0, samples = 0;
	__u64 aux_head = 0;
	int err = pmu_event_open_ring(&ring, stress_pmu_some_cpu(&subject->pmu), DATA_PAGES) ?:
		  open_redirected(other, &ring, &theirs) ?:
		  pmu_event_map_aux(&ring, &theirs, other->aux_pages) ?:
		  open_redirected(subject, &ring, &ours);

	if (!err) {
		ring.page->aux_tail = -ring.aux_bytes;
		err = pmu_event_enable(&ours);
	}
	if (!err) {
		usleep(RUN_US);
		first = pmu_event_take(&ring, PERF_RECORD_SAMPLE);
		usleep(RUN_US);
		err = pmu_event_disable(&ours);
		aux_head = ring.page->aux_head;
		samples = pmu_event_take(&ring, PERF_RECORD_SAMPLE);
	}
	pmu_event_close(&ours);
	pmu_event_close(&theirs);
	pmu_event_close(&ring);
	ksft_test_result(!err && !aux_head && first && samples,
			 "%s: no write to the AUX area of %s: %llu bytes, %u and %u samples: %s\n",
			 subject->name, other->name, (unsigned long long)aux_head, first, samples,
			 strerror(-err));
}

int main(int argc, char **argv)
{
	struct stress_subject subject = { 0 }, other;
	const char *name = NULL;

	if (!stress_subject_parse(&subject, argc, argv, options, take, &name) || !name ||
	    !subject.aux_pages) {
		fprintf(stderr,
			"usage: pmu_redirect --pmu PMU --other PMU --aux PAGES [options], see the head of its source\n");
		return 2;
	}
	stress_subject_choose(&subject);
	other = subject;
	other.name = name;
	if (stress_pmu_choose(&other.pmu, name, subject.terms))
		ksft_exit_fail_msg("%s: is not there\n", name);
	ksft_set_plan(1);
	test_redirected(&subject, &other);
	ksft_finished();
}
