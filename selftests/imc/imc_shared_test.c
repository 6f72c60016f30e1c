// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two events of trace_imc on one CPU share one AUX area (PERF_EVENT_IOC_SET_OUTPUT). For each
 * event, each record of the engine must be in the area once, or be counted as lost. vmrun checks in
 * the kernel log that perf does not warn about two writers. In other tests two events have separate
 * rings; perf stops one event during a delivery (PERF_EVENT_IOC_REFRESH), and the second continues.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_counter.h"
#include "imc_ring.h"
#include "imc_work.h"
#include "kselftest_harness.h"

#define CPU		0
#define OTHER_CPU	1
#define MOST		8192	/* limit of the engine's records per test */
#define LARGE_PAGES	128
#define SMALL_PAGES	4
#define ENDS		20
#define INHERITOR_MS	300
#define MOST_LIMIT	3	/* largest refresh limit that is tested */
#define MAX_SAMPLE_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define ENOUGH		20
#define TRIES		20
#define THROTTLED_NS	100000	/* sample period: ten times as fast as perf's limit in the test */

struct area {
	__u64 first;			/* number of the engine's first record */
	unsigned char seen[MOST];	/* seen[n]: how often record first + n was in the area */
	long long records;
	unsigned int damaged;
};

FIXTURE(imc_shared)
{
	struct pmu_event owner, other;
	struct area area;
	long long written, handed, lost;
	pid_t child;
};

FIXTURE_SETUP(imc_shared)
{
	self->owner.fd = -1;
	self->other.fd = -1;
	if (!engine_is_loaded())
		SKIP(return, "no engine");
	self->child = child_that(work_on, NULL);
	ASSERT_GT(self->child, 0);
}

FIXTURE_TEARDOWN(imc_shared)
{
	if (self->child > 0)
		end_child(self->child);
	pmu_event_close(&self->other);
	pmu_event_close(&self->owner);
}

/* Opens both events as a group: one call starts both, so that they get the same records. */
static int open_both(struct pmu_event *owner, struct pmu_event *other, unsigned int aux_pages)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr);

	if (!err)
		err = pmu_event_open(owner, &attr, -1, CPU);
	if (!err)
		err = pmu_event_map(owner, 16, aux_pages);
	attr.disabled = 0;
	if (!err)
		err = pmu_event_open_beside(other, &attr, -1, CPU, owner->fd);
	if (!err && ioctl(other->fd, PERF_EVENT_IOC_SET_OUTPUT, owner->fd))
		err = -errno;
	return err;
}

static void take(struct area *area, const __u64 *record)
{
	__u64 number = be64toh(record[6]);

	if (!area->records++)
		area->first = number;
	area->damaged += (be64toh(record[0]) & ((1ULL << 42) - 1)) != be64toh(record[7]);
	if (number - area->first < MOST)
		area->seen[number - area->first]++;
	else
		area->damaged++;
}

static void read_area(struct pmu_event *owner, struct area *area)
{
	static __u64 words[LARGE_PAGES * 65536 / 8];
	size_t bytes;

	while ((bytes = pmu_event_aux(owner, words, sizeof(words))) > 0) {
		area->damaged += bytes % 64 != 0;
		for (size_t at = 0; at < bytes / 64; at++)
			take(area, words + at * 8);
	}
}

static long long seen_times(const struct area *area, int times)
{
	long long numbers = 0;

	for (int i = 0; i < MOST; i++)
		numbers += area->seen[i] == times;
	return numbers;
}

static long long count_of(struct pmu_event *event)
{
	__u64 count;

	return read(event->fd, &count, sizeof(count)) == sizeof(count) ? (long long)count : -1;
}

/* @sign 0: reads the counters. @sign -1: replaces them by their increase since that read. */
static void tally(FIXTURE_DATA(imc_shared) *self, int sign)
{
	self->written = reference_number("cpu", CPU, "records") + sign * self->written;
	self->handed = trace_stat("records") + sign * self->handed;
	self->lost = trace_stat("lost") + sign * self->lost;
}

TEST_F(imc_shared, both_events_get_each_record_once_in_a_shared_aux_area)
{
	ASSERT_EQ(open_both(&self->owner, &self->other, LARGE_PAGES), 0);
	tally(self, 0);
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	for (int i = 0; i < 20; i++) {
		reference_wait_records(CPU, 50);
		read_area(&self->owner, &self->area);
	}
	ASSERT_EQ(pmu_event_disable(&self->owner), 0);
	read_area(&self->owner, &self->area);
	tally(self, -1);
	TH_LOG("written %lld, in the area %lld, lost %lld", self->written, self->area.records,
	       self->lost);
	EXPECT_GE(self->written, 1000);
	EXPECT_EQ(seen_times(&self->area, 2), self->written);
	EXPECT_EQ(self->area.records, 2 * self->written);
	EXPECT_EQ(self->area.records, self->handed);
	EXPECT_EQ(count_of(&self->owner), self->written);
	EXPECT_EQ(count_of(&self->other), self->written);
	EXPECT_EQ(self->lost, 0);
	EXPECT_EQ(self->area.damaged, 0);
}

/* The test reads the area when it is full: each event takes space that the second one needs. */
TEST_F(imc_shared, records_that_do_not_fit_into_the_aux_area_are_counted_as_lost)
{
	ASSERT_EQ(open_both(&self->owner, &self->other, SMALL_PAGES), 0);
	tally(self, 0);
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	reference_wait_records(CPU, SMALL_PAGES * sysconf(_SC_PAGESIZE) / 64 * 2);
	read_area(&self->owner, &self->area);
	reference_wait_records(CPU, 50);
	ASSERT_EQ(pmu_event_disable(&self->owner), 0);
	/* The events stop again and again while records are waiting and the area is full. */
	for (int i = 0; i < ENDS; i++) {
		ASSERT_EQ(pmu_event_enable(&self->owner), 0);
		reference_wait_records(CPU, 30);
		ASSERT_EQ(pmu_event_disable(&self->owner), 0);
	}
	read_area(&self->owner, &self->area);
	tally(self, -1);
	TH_LOG("written %lld, in the area %lld, lost %lld", self->written, self->area.records,
	       self->lost);
	EXPECT_GT(self->lost, 0);
	EXPECT_GT(seen_times(&self->area, 2), 0);
	EXPECT_EQ(self->area.records, self->handed);
	EXPECT_EQ(self->handed + self->lost, 2 * self->written);
	EXPECT_EQ(count_of(&self->owner) + count_of(&self->other), self->handed);
	EXPECT_EQ(self->area.damaged, 0);
}

/* Tasks */

static void work_a_while(void *data)
{
	if (!run_on(OTHER_CPU))
		work(0, INHERITOR_MS * work_units_per_ms());
}

/*
 * perf maps no AUX area for an event that is inherited and counts on all CPUs, but lets it share
 * the area of an event that is not inherited. Copies of the event that child tasks inherit may run
 * on other CPUs, so they must not write into the area.
 */
static int open_for_task(struct pmu_event *owner, struct pmu_event *other)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr);

	if (!err)
		err = pmu_event_open(owner, &attr, 0, -1);
	if (!err)
		err = pmu_event_map(owner, 64, LARGE_PAGES);
	attr.inherit = 1;
	if (!err)
		err = pmu_event_open(other, &attr, 0, -1);
	if (!err && ioctl(other->fd, PERF_EVENT_IOC_SET_OUTPUT, owner->fd))
		err = -errno;
	return err;
}

static void count_of_task(const struct trace_sample *sample, void *data)
{
	pid_t *task = data;

	if (sample->pid != *task)
		*task = 0;
}

TEST_F(imc_shared, inherited_events_write_samples_instead_of_aux_data)
{
	struct trace ring = { .nr = 1 };
	pid_t task, seen;

	/* The engine numbers records per CPU, and read_area() supports records of one CPU only. */
	ASSERT_EQ(run_on(CPU), 0);
	ASSERT_EQ(open_for_task(&self->owner, &self->other), 0);
	tally(self, 0);
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	ASSERT_EQ(pmu_event_enable(&self->other), 0);
	task = child_that(work_a_while, NULL);
	ASSERT_EQ(waitpid(task, NULL, 0), task);
	ASSERT_EQ(pmu_event_disable(&self->other), 0);
	ASSERT_EQ(pmu_event_disable(&self->owner), 0);
	tally(self, -1);
	read_area(&self->owner, &self->area);
	ring.events[0] = self->owner;
	seen = task;
	ASSERT_EQ(trace_read(&ring, count_of_task, &seen), 0);
	TH_LOG("handed over %lld, in the area %lld, samples %lld, lost %lld", self->handed,
	       self->area.records, ring.samples, self->lost);
	EXPECT_GT(ring.samples, 20);
	EXPECT_EQ(seen, task);
	EXPECT_EQ(self->area.records + ring.samples + ring.perf_lost, self->handed);
	EXPECT_EQ(self->area.damaged, 0);
}

/* Refresh limit (PERF_EVENT_IOC_REFRESH) */

static int open_limited(struct pmu_event *limited, struct pmu_event *other, unsigned int aux_pages)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr);

	if (!err)
		err = pmu_event_open(limited, &attr, -1, CPU);
	if (!err)
		err = pmu_event_map(limited, 64, aux_pages);
	if (!err)
		err = pmu_event_open(other, &attr, -1, CPU);
	if (!err)
		err = pmu_event_map(other, 64, 0);
	if (!err)
		err = pmu_event_enable(other);
	return err;
}

static long long samples_of(struct pmu_event *event)
{
	struct trace ring = { .nr = 1, .events[0] = *event };

	return trace_read(&ring, NULL, NULL) ? -1 : ring.samples;
}

/*
 * Some kernels stop the event only after the driver has delivered all records of its current drain,
 * so the number of samples may exceed the limit.
 */
TEST_F(imc_shared, refresh_limit_stops_only_its_own_event)
{
	long long before, at_limit;

	ASSERT_EQ(open_limited(&self->owner, &self->other, 0), 0);
	for (int limit = 1; limit <= MOST_LIMIT; limit++) {
		before = count_of(&self->owner);
		ASSERT_EQ(ioctl(self->owner.fd, PERF_EVENT_IOC_REFRESH, limit), 0);
		reference_wait_records(CPU, 300);
		at_limit = count_of(&self->owner) - before;
		TH_LOG("limit %d: %lld samples", limit, at_limit);
		EXPECT_GE(at_limit, limit);
		EXPECT_LT(at_limit, 250);
		EXPECT_EQ(samples_of(&self->owner), at_limit);
		EXPECT_GE(samples_of(&self->other), 250);
	}
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	reference_wait_records(CPU, 100);
	EXPECT_GE(samples_of(&self->owner), 50) TH_LOG("without a limit");
	EXPECT_GE(samples_of(&self->other), 50);
}

/* AUX data does not count as samples, so the limit is never reached. */
TEST_F(imc_shared, refresh_limit_does_not_stop_an_aux_event)
{
	ASSERT_EQ(open_limited(&self->owner, &self->other, LARGE_PAGES), 0);
	for (int limit = 1; limit <= MOST_LIMIT; limit++) {
		ASSERT_EQ(ioctl(self->owner.fd, PERF_EVENT_IOC_REFRESH, limit), 0);
		reference_wait_records(CPU, 100);
		ASSERT_EQ(pmu_event_disable(&self->owner), 0);
		read_area(&self->owner, &self->area);
		EXPECT_GE(self->area.records, 50 * limit);
		EXPECT_GE(samples_of(&self->other), 50);
	}
	EXPECT_EQ(self->area.damaged, 0);
}

/*
 * If a leader samples too often, perf stops the leader until the next tick; Linux 7.2 also stops
 * its whole group. Even then, each sample that an event counts as delivered must be in its ring.
 */
static int open_led(struct pmu_event *leader, struct pmu_event *led)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = THROTTLED_NS,
		.disabled = 1,
	};
	int err = pmu_event_open(leader, &attr, -1, CPU);

	if (!err)
		err = pmu_event_map(leader, 256, 0);
	if (!err)
		err = trace_attr(&attr);
	attr.disabled = 0;
	if (!err)
		err = pmu_event_open_beside(led, &attr, -1, CPU, leader->fd);
	return err ? err : pmu_event_map(led, 256, 0);
}

TEST_F(imc_shared, count_equals_number_of_samples_while_the_group_leader_is_throttled)
{
	struct trace ring = { .nr = 1 };
	unsigned int throttled = 0;
	char rate[32];

	ASSERT_EQ(read_text(MAX_SAMPLE_RATE, rate, sizeof(rate)), 0);
	ASSERT_EQ(write_text(MAX_SAMPLE_RATE, "1000"), 0);
	ASSERT_EQ(open_led(&self->owner, &self->other), 0);
	tally(self, 0);
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	/*
	 * Waits until perf has throttled the leader: on a busy host there may be few samples per
	 * tick. The comparison below includes all records that are written during this wait.
	 */
	for (int try = 0; try < TRIES && (!throttled || count_of(&self->other) <= ENOUGH); try++) {
		reference_wait_records(CPU, 1000);
		throttled += pmu_event_take(&self->owner, PERF_RECORD_THROTTLE);
	}
	ASSERT_EQ(pmu_event_disable(&self->owner), 0);
	tally(self, -1);
	ASSERT_EQ(write_text(MAX_SAMPLE_RATE, rate), 0);
	ring.events[0] = self->other;
	ASSERT_EQ(trace_read(&ring, NULL, NULL), 0);
	TH_LOG("written %lld, samples %lld, lost %lld", self->written, ring.samples, self->lost);
	EXPECT_LT(0, throttled);
	EXPECT_GT(ring.samples + self->lost, ENOUGH);
	EXPECT_EQ(ring.samples + ring.perf_lost, count_of(&self->other));
	EXPECT_EQ(ring.samples + ring.perf_lost, self->handed);
}

TEST_HARNESS_MAIN
