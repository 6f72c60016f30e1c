// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two events of trace_imc on one CPU, with one AUX area between them (PERF_EVENT_IOC_SET_OUTPUT):
 * each record of the engine is there once for each event, or counted as lost. That perf does not
 * warn of two writers is seen by who reads the kernel's log.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "imc_book.h"
#include "imc_ring.h"
#include "imc_work.h"
#include "kselftest_harness.h"

#define CPU		0
#define MOST		8192	/* records of the engine in a test */
#define LARGE_PAGES	128
#define SMALL_PAGES	4

struct area {
	__u64 first;			/* number of the engine's first record */
	unsigned char seen[MOST];	/* how often, by number from there */
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
	if (!book_is_there())
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

/* As a group, so that one call begins both and no record lies between. */
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

/* From here on, or with a sign of -1: since then. */
static void tally(FIXTURE_DATA(imc_shared) *self, int sign)
{
	self->written = book_number("cpu", CPU, "records") + sign * self->written;
	self->handed = trace_stat("records") + sign * self->handed;
	self->lost = trace_stat("lost") + sign * self->lost;
}

TEST_F(imc_shared, each_record_comes_once_for_each)
{
	ASSERT_EQ(open_both(&self->owner, &self->other, LARGE_PAGES), 0);
	tally(self, 0);
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	for (int i = 0; i < 20; i++) {
		book_wait_records(CPU, 50);
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

/* Nobody reads until the area is full: what one has put there the other has no room for. */
TEST_F(imc_shared, what_finds_no_room_is_counted)
{
	ASSERT_EQ(open_both(&self->owner, &self->other, SMALL_PAGES), 0);
	tally(self, 0);
	ASSERT_EQ(pmu_event_enable(&self->owner), 0);
	book_wait_records(CPU, SMALL_PAGES * sysconf(_SC_PAGESIZE) / 64 * 2);
	read_area(&self->owner, &self->area);
	book_wait_records(CPU, 50);
	ASSERT_EQ(pmu_event_disable(&self->owner), 0);
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

TEST_HARNESS_MAIN
