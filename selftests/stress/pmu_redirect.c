// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_redirect --pmu PMU --other PMU --aux PAGES [--event TERMS]
 *
 * An event of the PMU is redirected to the ring of a software event, where an event of the other
 * PMU, which takes the same terms, has set up the AUX area (PERF_EVENT_IOC_SET_OUTPUT). That area
 * is not the PMU's: it must stay as it is, and the event makes samples.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

/* On the CPU of the PMU, for only events of one CPU share a ring. */
static int open_ring(const struct stress_subject *subject, struct pmu_event *ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};

	return pmu_event_open(ring, &attr, -1, stress_pmu_some_cpu(&subject->pmu)) ?:
	       pmu_event_map(ring, DATA_PAGES, 0);
}

static int open_redirected(const struct stress_subject *subject, const struct pmu_event *ring,
			   struct pmu_event *event)
{
	int err = stress_subject_open(subject, event);

	if (!err && ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
		err = -errno;
	return err;
}

/* In the ring, by means of an event that writes to it. */
static int map_aux(const struct stress_subject *subject, struct pmu_event *ring,
		   const struct pmu_event *event)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *map;

	ring->page->aux_offset = ring->data_bytes + page;
	ring->page->aux_size = subject->aux_pages * page;
	map = mmap(NULL, ring->page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd,
		   ring->page->aux_offset);
	if (map == MAP_FAILED)
		return -errno;
	ring->aux = map;
	ring->aux_bytes = ring->page->aux_size;
	return 0;
}

static void test_redirected(const struct stress_subject *subject,
			    const struct stress_subject *other)
{
	struct pmu_event ring = { .fd = -1 }, theirs = { .fd = -1 }, ours = { .fd = -1 };
	unsigned int samples = 0;
	__u64 aux_head = 0;
	int err = open_ring(subject, &ring) ?: open_redirected(other, &ring, &theirs) ?:
		  map_aux(other, &ring, &theirs) ?: open_redirected(subject, &ring, &ours) ?:
		  pmu_event_enable(&ours);

	if (!err) {
		usleep(RUN_US);
		err = pmu_event_disable(&ours);
		aux_head = ring.page->aux_head;
		samples = pmu_event_take_samples(&ring);
	}
	pmu_event_close(&ours);
	pmu_event_close(&theirs);
	pmu_event_close(&ring);
	ksft_test_result(!err && !aux_head && samples,
			 "%s: leaves the AUX area of %s alone: %llu bytes in it, %u samples: %s\n",
			 subject->name, other->name, (unsigned long long)aux_head, samples,
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
