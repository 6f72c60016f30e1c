// SPDX-License-Identifier: GPL-2.0-only
/*
 * In each case, entries are lost in a different place. The device itself generates accesses. The
 * test writes the entries that arrived and the counted losses to $OUT/losses (or /out/losses), one
 * file per case, numbered in the order of the cases. cxl_hmu_entries_checker adds entries and
 * losses and compares the sum with the log of the device.
 *   PMUKIT_DEVICE           index of the CXL memory function
 *   PMUKIT_LATE_STATUS_US   how long the device still fills its list after a disable; default 0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmukit/cxl_hmu.h>

#include "hmu_device.h"
#include "hmu_records.h"
#include "kselftest_harness.h"
#include "pmu_event.h"

#define DATA_PAGES	64
#define AUX_PAGES	64
#define EPOCH_US	20000
#define STEP_US		50000
#define QUIET_STEPS	30
#define WAIT_STEPS	400
#define POLL_US		100
#define POLLS		100000
#define STOPS		20
#define STOPS_AT_MOST	1000
#define TIMEOUT_SECONDS	90

/* Terms of the event: threshold 1, all accesses, epochs of 20 ms, units of 4 KiB. */
static const struct {
	const char *name;
	__u64 value;
} terms[] = {
	{ "epoch_type", 0 },  { "access_type", 6 },	 { "hotness_threshold", 1 },
	{ "epoch_scale", 3 }, { "epoch_multiplier", 2 }, { "hotness_granual", HMU_UNIT_LOG2 },
};

/* Result of a read with PERF_FORMAT_LOST */
struct counts {
	__u64 entries;
	__u64 lost_samples;
};

FIXTURE(losses) {
	struct hmu_device device;
	char pmu[64];
	struct pmu_event event;
	struct hmu_tally tally;
	FILE *file;
	unsigned long enables;
	long long lost_before;
	long long records_before;
	long long overflows_before;
};

static int stat_of(const char *pmu, const char *name, long long *value)
{
	char path[256];

	snprintf(path, sizeof(path), PMU_DEBUGFS "/%s/%s", pmu, name);
	return read_number(path, value);
}

static int open_event(const char *pmu, struct pmu_event *event)
{
	struct perf_event_attr attr = {
		.type = pmu_type(pmu), .disabled = 1, .sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW, .read_format = PERF_FORMAT_LOST,
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(terms) && !err; i++)
		err = pmu_set_term(pmu, &attr, terms[i].name, terms[i].value);
	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
}

static const char *out_folder(void)
{
	return getenv("OUT") ?: "/out";
}

FIXTURE_SETUP(losses)
{
	int err;

	self->event.fd = -1;
	if (!getenv("PMUKIT_DEVICE"))
		SKIP(return, "PMUKIT_DEVICE does not name a device with accesses of its own");
	err = hmu_device_find(&self->device, atoi(getenv("PMUKIT_DEVICE")));
	if (err == -ENODEV || geteuid())
		SKIP(return, err ? "no CXL memory function" : "needs root");
	ASSERT_EQ(0, err);
	if (!hmu_device_is_model(&self->device))
		SKIP(return, "not the model: its accesses are not known");
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
	ASSERT_EQ(0, open_event(self->pmu, &self->event));
	ASSERT_EQ(0, stat_of(self->pmu, "lost", &self->lost_before));
	ASSERT_EQ(0, stat_of(self->pmu, "records", &self->records_before));
	ASSERT_EQ(0, stat_of(self->pmu, "overflows", &self->overflows_before));
	hmu_tally_reset(&self->tally);
	self->file = tmpfile();
	ASSERT_NE(NULL, self->file);
	self->tally.entries_to = self->file;
}

FIXTURE_TEARDOWN(losses)
{
	pmu_event_close(&self->event);
	if (self->file)
		fclose(self->file);
}

static int enable(FIXTURE_DATA(losses) *self)
{
	self->enables++;
	return pmu_event_enable(&self->event);
}

/*
 * Collects entries until at least one has arrived and no other follows for some time, then stops
 * the event. So no entry waits in the device or the driver when the event stops.
 */
static int collect_to_the_end(FIXTURE_DATA(losses) *self)
{
	__u64 before = self->tally.total_entries, seen = before;

	for (int step = 0, quiet = 0; step < WAIT_STEPS; step++) {
		usleep(STEP_US);
		hmu_collect(&self->tally, &self->event);
		quiet = self->tally.total_entries == seen ? quiet + 1 : 0;
		seen = self->tally.total_entries;
		if (seen == before)
			quiet = 0;
		if (quiet == QUIET_STEPS)
			return pmu_event_disable(&self->event);
	}
	return -ETIMEDOUT;
}

/*
 * Enables and stops the event once more, without losses, because a record reports the losses that
 * happened before it.
 */
static int announce(FIXTURE_DATA(losses) *self)
{
	int err = enable(self);

	if (!err)
		err = collect_to_the_end(self);
	hmu_collect(&self->tally, &self->event);
	return err;
}

/*
 * Writes the file of the case, which the host compares with the device's log. Copies the entries
 * unchanged. `overflow` is from the driver's counter, because perf may have dropped the records
 * that report an overflow.
 */
static int write_case(FIXTURE_DATA(losses) *self, const char *number_and_name,
		      const struct counts *counts)
{
	char path[256], line[64];
	long long lost, overflows;
	FILE *file;

	if (stat_of(self->pmu, "lost", &lost) || stat_of(self->pmu, "overflows", &overflows))
		return -EIO;
	snprintf(path, sizeof(path), "%s/losses", out_folder());
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/losses/%s", out_folder(), number_and_name);
	file = fopen(path, "w");
	if (!file)
		return -errno;
	fprintf(file, "enables %lu\nhanded %llu\nlost %lld\noverflow %d\n", self->enables,
		counts->entries, lost - self->lost_before, overflows > self->overflows_before);
	rewind(self->file);
	while (fgets(line, sizeof(line), self->file))
		fputs(line, file);
	return fclose(file) ? -errno : 0;
}

static long long lost_since_open(FIXTURE_DATA(losses) *self)
{
	long long lost = -1;

	return stat_of(self->pmu, "lost", &lost) ? -1 : lost - self->lost_before;
}

/*
 * The reader does not read while the event runs: the AUX area fills, then the hot list, and the
 * device drops entries.
 */
TEST_F_TIMEOUT(losses, entries_lost_by_full_aux_area_and_hot_list_are_flagged, TIMEOUT_SECONDS)
{
	struct counts counts;

	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 1));
	ASSERT_EQ(0, enable(self));
	usleep(20 * EPOCH_US);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);
	ASSERT_EQ(0, announce(self));

	ASSERT_EQ(sizeof(counts), read(self->event.fd, &counts, sizeof(counts)));
	EXPECT_EQ(self->tally.total_entries, counts.entries);
	EXPECT_LT(0, lost_since_open(self));
	EXPECT_EQ(lost_since_open(self), self->tally.lost);
	EXPECT_EQ(PMUKIT_CXL_HMU_F_OVERFLOW | PMUKIT_CXL_HMU_F_TRUNCATED, self->tally.flags);
	EXPECT_LT(0, self->tally.gaps_announced);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, write_case(self, "1.aux_full", &counts));
}

/* Waits until perf has lost samples because the ring was full, however slow the device is. */
static int wait_for_lost_samples(const struct pmu_event *event)
{
	struct counts counts;

	for (int step = 0; step < WAIT_STEPS; step++) {
		usleep(STEP_US);
		if (read(event->fd, &counts, sizeof(counts)) != sizeof(counts))
			return -EIO;
		if (counts.lost_samples)
			return 0;
	}
	return -ETIMEDOUT;
}

/*
 * perf counts samples that do not fit into its ring as lost. Lost samples leave gaps in the
 * sequence numbers of the records, except those after the last sample that arrived.
 */
TEST_F_TIMEOUT(losses, samples_lost_because_the_perf_ring_is_full_are_counted, TIMEOUT_SECONDS)
{
	struct counts counts;
	long long records;

	ASSERT_EQ(0, pmu_event_map(&self->event, 1, 0));
	ASSERT_EQ(0, enable(self));
	ASSERT_EQ(0, wait_for_lost_samples(&self->event));
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);
	ASSERT_EQ(0, announce(self));

	ASSERT_EQ(sizeof(counts), read(self->event.fd, &counts, sizeof(counts)));
	EXPECT_LT(self->tally.total_entries, counts.entries);
	EXPECT_LT(0, counts.lost_samples);
	ASSERT_EQ(0, stat_of(self->pmu, "records", &records));
	EXPECT_EQ(records - self->records_before, self->tally.records + counts.lost_samples);
	EXPECT_LT(0, self->tally.sequence_missing);
	EXPECT_GE(counts.lost_samples, self->tally.sequence_missing);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, write_case(self, "2.ring_full", &counts));
}

/* Moves the test off the event's CPU, which is busy while the driver reads entries of an epoch. */
static int leave_the_events_cpu(FIXTURE_DATA(losses) *self)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(!pmu_cpu(self->pmu), &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* Waits until the first entries of an epoch have arrived; the device may still hold the others. */
static int wait_for_entries(FIXTURE_DATA(losses) *self, __u64 head)
{
	for (int poll = 0; poll < POLLS; poll++) {
		if (__atomic_load_n(&self->event.page->aux_head, __ATOMIC_ACQUIRE) != head)
			return 0;
		usleep(POLL_US);
	}
	return -ETIMEDOUT;
}

/*
 * The test stops the event when an epoch has ended and its entries are on the list, or about to be.
 * Whether some entries still wait then depends on the speed of device and driver, so the test
 * repeats this until entries were lost. The host checks the entries of every run.
 */
TEST_F_TIMEOUT(losses, entries_still_in_the_device_at_stop_are_counted_as_lost, TIMEOUT_SECONDS)
{
	struct counts counts;
	__u64 head;

	ASSERT_EQ(0, leave_the_events_cpu(self));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	for (unsigned int i = 0; i < STOPS || (i < STOPS_AT_MOST && !lost_since_open(self)); i++) {
		head = self->event.page->aux_head;
		ASSERT_EQ(0, enable(self));
		ASSERT_EQ(0, wait_for_entries(self, head));
		usleep(i % STOPS * POLL_US);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		hmu_collect(&self->tally, &self->event);
	}
	ASSERT_EQ(0, announce(self));

	ASSERT_EQ(sizeof(counts), read(self->event.fd, &counts, sizeof(counts)));
	EXPECT_EQ(self->tally.total_entries, counts.entries);
	EXPECT_LT(0, lost_since_open(self));
	EXPECT_EQ(lost_since_open(self), self->tally.lost);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, write_case(self, "3.stop_while_waiting", &counts));
}

static unsigned int late_status_us(void)
{
	return atoi(getenv("PMUKIT_LATE_STATUS_US") ?: "0");
}

/*
 * Waits until the device has stopped and the driver has probably counted the remaining entries.
 * Returns the losses. If the driver counts these entries later, the test below does not check the
 * flag of this stop.
 */
static long long lost_once_stopped(FIXTURE_DATA(losses) *self)
{
	usleep(late_status_us() + STEP_US);
	return lost_since_open(self);
}

/*
 * A device may continue for some time after the disable request. Entries that it adds too late for
 * the last record are lost: the driver must count them, and the last record must report a loss.
 */
TEST_F_TIMEOUT(losses, entries_added_after_the_stop_are_flagged_and_counted_as_lost,
	       TIMEOUT_SECONDS)
{
	struct counts counts;
	long long lost;
	__u64 head;

	ASSERT_EQ(0, leave_the_events_cpu(self));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	for (unsigned int i = 0; i < 10; i++) {
		head = self->event.page->aux_head;
		lost = lost_since_open(self);
		self->tally.flags = 0;
		ASSERT_EQ(0, enable(self));
		ASSERT_EQ(0, wait_for_entries(self, head));
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		hmu_collect(&self->tally, &self->event);
		if (lost_once_stopped(self) != lost) {
			EXPECT_EQ(PMUKIT_CXL_HMU_F_TRUNCATED,
				  self->tally.flags & PMUKIT_CXL_HMU_F_TRUNCATED)
				TH_LOG("stop %u", i);
		} else {
			EXPECT_EQ(0, late_status_us()) TH_LOG("nothing came after stop %u", i);
		}
	}
	ASSERT_EQ(0, announce(self));

	ASSERT_EQ(sizeof(counts), read(self->event.fd, &counts, sizeof(counts)));
	EXPECT_EQ(self->tally.total_entries, counts.entries);
	EXPECT_GE(lost_since_open(self), self->tally.lost);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, write_case(self, "4.after_the_stop", &counts));
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, atoi(getenv("PMUKIT_DEVICE") ?: "0")) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
