// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every store must be delivered in order or be counted as lost, for events that count, sample or
 * use an AUX area, even if the area is too small or not read. Failed rounds are not repeated.
 *   PMUKIT_ROUNDS   rounds of each test; default: a few
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "ptt_event.h"

#define PMU		"hisi_ptt0_2"
#define DATA_PAGES	64
#define BUFFER_BYTES	(4 << 20)
#define BUFFER_STORES	(BUFFER_BYTES / PTT_ENTRY_BYTES_8DW)
#define MAX_BYTES	(64 << 20)
#define STEP_US		1000
#define TIMEOUT_SECONDS	36000

FIXTURE(exact) {
	struct pmu_event event;
	unsigned char *bytes;
	long long lost, overruns;
};

FIXTURE_SETUP(exact)
{
	self->event.fd = -1;
	self->bytes = NULL;
	if (pmu_type(PMU) < 0 || geteuid())
		SKIP(return, pmu_type(PMU) < 0 ? "no " PMU : "needs root");
	self->bytes = malloc(MAX_BYTES);
	ASSERT_NE(NULL, self->bytes);
}

FIXTURE_TEARDOWN(exact)
{
	pmu_event_close(&self->event);
	free(self->bytes);
}

static int rounds_or(int few)
{
	const char *rounds = getenv("PMUKIT_ROUNDS");

	return rounds ? atoi(rounds) : few;
}

static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(exact) *self, unsigned int pages)
{
	self->lost = ptt_debug_number(PMU, "lost");
	self->overruns = ptt_debug_number(PMU, "overflows");
	ASSERT_EQ(0, ptt_open_counting(PMU, &self->event, &ptt_stores_8dw));
	if (pages) {
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, pages));
	}
	ASSERT_EQ(0, pmu_event_enable(&self->event));
}

/*
 * Expects that the number of delivered entries plus the number of lost entries is the number of
 * stores. The driver's lost count is exact here, because no round fills all four buffers of the
 * device; after such an overrun it would only be a lower bound.
 */
static void expect_sum(struct __test_metadata *_metadata, FIXTURE_DATA(exact) *self,
		       long long stores, long long delivered, long long lost)
{
	EXPECT_EQ(self->overruns, ptt_debug_number(PMU, "overflows"));
	EXPECT_EQ(lost, ptt_debug_number(PMU, "lost") - self->lost);
	EXPECT_EQ(stores, delivered + lost) {
		TH_LOG("delivered %lld, lost %lld", delivered, lost);
	}
}

/* Runs a round that reads the area only at the end. */
static void store_unread(struct __test_metadata *_metadata, FIXTURE_DATA(exact) *self,
			 unsigned int pages, int stores)
{
	size_t size;
	__u64 flags;

	begin(_metadata, self, pages);
	ASSERT_EQ(0, ptt_make_stores(stores));
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	flags = ptt_aux_flags(&self->event);
	size = pmu_event_aux(&self->event, self->bytes, MAX_BYTES);
	EXPECT_TRUE(ptt_stores_are_in_a_row(self->bytes, size));
	expect_sum(_metadata, self, stores, size / PTT_ENTRY_BYTES_8DW, ptt_lost(&self->event));
	/* perf leaves one byte of the area free, so the area holds one entry less. */
	EXPECT_EQ(pages * getpagesize() - PTT_ENTRY_BYTES_8DW, size);
	/* TRUNCATED without another flag: only the last entries are missing, and are counted. */
	EXPECT_EQ(PERF_AUX_FLAG_TRUNCATED, flags);
	pmu_event_close(&self->event);
}

TEST_F_TIMEOUT(exact, small_unread_aux_area_keeps_first_entries_and_rest_is_counted_as_lost,
	       TIMEOUT_SECONDS)
{
	unsigned int entries = 32 * getpagesize() / PTT_ENTRY_BYTES_8DW;

	for (int i = 0; i < rounds_or(5); i++)
		store_unread(_metadata, self, 32, entries * 17 / 16 + i * entries / 16);
}

/* In each round the entries fill more than one buffer of the device. */
TEST_F_TIMEOUT(exact, unread_aux_area_of_buffer_size_keeps_first_and_rest_is_counted_as_lost,
	       TIMEOUT_SECONDS)
{
	for (int i = 0; i < rounds_or(1); i++)
		store_unread(_metadata, self, BUFFER_BYTES / getpagesize(),
			     BUFFER_STORES + 20000);
}

/* Reads while another process stores, and again after it has exited. Returns the entries read. */
static long long read_while_stored(struct __test_metadata *_metadata, FIXTURE_DATA(exact) *self,
				   int stores)
{
	size_t size = 0;
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(ptt_make_stores(stores) != 0);
	while (!waitpid(child, &status, WNOHANG)) {
		size += pmu_event_aux(&self->event, self->bytes + size, MAX_BYTES - size);
		usleep(STEP_US);
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, pmu_event_disable(&self->event));
	size += pmu_event_aux(&self->event, self->bytes + size, MAX_BYTES - size);
	EXPECT_TRUE(ptt_stores_are_in_a_row(self->bytes, size));
	return size / PTT_ENTRY_BYTES_8DW;
}

TEST_F_TIMEOUT(exact, entries_are_in_aux_area_read_during_run_or_counted_as_lost, TIMEOUT_SECONDS)
{
	static const unsigned int pages[] = { 32, 1024, 4096 };
	long long delivered;

	for (int i = 0; i < 3 * rounds_or(1); i++) {
		begin(_metadata, self, pages[i % 3]);
		delivered = read_while_stored(_metadata, self, BUFFER_STORES + 10000);
		expect_sum(_metadata, self, BUFFER_STORES + 10000, delivered,
			   ptt_lost(&self->event));
		pmu_event_close(&self->event);
	}
}

TEST_F_TIMEOUT(exact, event_count_includes_every_store, TIMEOUT_SECONDS)
{
	for (int i = 0; i < rounds_or(2); i++) {
		begin(_metadata, self, 0);
		ASSERT_EQ(0, ptt_make_stores(60000));
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		EXPECT_EQ(60000, ptt_count(&self->event));
		expect_sum(_metadata, self, 60000, 60000, ptt_lost(&self->event));
		pmu_event_close(&self->event);
	}
}

/*
 * Most samples do not fit into the ring. The driver's lost count has the entries that perf drops;
 * the count of the event does not have them.
 */
TEST_F_TIMEOUT(exact, samples_are_delivered_or_counted_as_lost, TIMEOUT_SECONDS)
{
	long long lost;

	for (int i = 0; i < rounds_or(2); i++) {
		self->lost = ptt_debug_number(PMU, "lost");
		self->overruns = ptt_debug_number(PMU, "overflows");
		ASSERT_EQ(0, ptt_open_sampling(PMU, &self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		ASSERT_EQ(0, ptt_make_stores(20000));
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		lost = ptt_debug_number(PMU, "lost") - self->lost;
		EXPECT_LT(0, ptt_count(&self->event));
		EXPECT_LT(0, lost);
		expect_sum(_metadata, self, 20000, ptt_count(&self->event), lost);
		/* PERF_FORMAT_LOST counts samples, which have many entries each. */
		EXPECT_LT(0, ptt_lost(&self->event));
		EXPECT_GT(lost, ptt_lost(&self->event));
		pmu_event_close(&self->event);
	}
}

/*
 * Tests the maximum that the driver copies at once with interrupts off. The in-tree driver copies a
 * whole buffer of 4 MiB.
 */
TEST_F_TIMEOUT(exact, driver_copies_at_most_64_kib_at_once, TIMEOUT_SECONDS)
{
	begin(_metadata, self, 1024);
	read_while_stored(_metadata, self, BUFFER_STORES + 1000);
	EXPECT_EQ(65536, ptt_debug_number(PMU, "section_max_bytes"));
}

TEST_HARNESS_MAIN
