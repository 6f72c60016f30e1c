// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests devices that write at full speed and never wait. Their interrupts arrive on time, late, for
 * several buffers at once, or not at all. Every delivered entry must be complete and in order, and
 * every gap must be marked. Packet n of a trace goes to address 4 * n (the model's --flood), so the
 * entries themselves show which packets are missing.
 *
 * Each round writes a line to $OUT/rounds (or /out/rounds), which check_rounds.sh compares with the
 * model's log of written entries:
 *   CORE TRACES DELIVERED LOST AT-LEAST BEFORE
 * AT-LEAST is 1 if the loss is a lower bound. BEFORE is the number of entries before the first gap
 * of unknown size; 0 if the position of this gap is unknown.
 *
 * Failed rounds are not repeated. PMUKIT_ROUNDS: number of rounds with areas of 128 KiB, with areas
 * of 4 MiB, with counts, and with samples; default 2. PMUKIT_LARGE_ROUNDS: number of rounds with
 * areas of 16 MiB, and with areas of 64 MiB; default 1.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "ptt_event.h"

#define DATA_PAGES	128
#define READ_BYTES	(20UL << 20)
#define MAX_BYTES	(READ_BYTES + (84UL << 20))	/* largest area plus the data of a stop */
#define MAX_MARKS	4096
#define MS_OF_A_MIB	32		/* time to write a MiB at a million packets per second */
#define STEP_US		1000
#define TIMEOUT_SECONDS	36000

#define ENTRY_MARK	0xffffffff
#define WRITE_OF_4	0x40000001	/* MWr, three-dword header, one dword of data */
#define ADDRESS_AT	4		/* index of the dword in an entry */

/* Position of a gap in the stream */
struct mark {
	__u64 offset, flags;
};

FIXTURE(flood) {
	struct pmu_event event;
	char pmu[32];
	unsigned char *bytes;
	size_t size;
	struct mark marks[MAX_MARKS];
	int nr_marks;
	long long lost, overruns, traces;
};

/* Each variant is a separate device, identified by its core number. */
FIXTURE_VARIANT(flood) {
	int core;
};

FIXTURE_VARIANT_ADD(flood, on_time) { .core = 10 };
FIXTURE_VARIANT_ADD(flood, one_buffer_late) { .core = 11 };
FIXTURE_VARIANT_ADD(flood, two_buffers_late) { .core = 12 };
FIXTURE_VARIANT_ADD(flood, five_buffers_late) { .core = 13 };
FIXTURE_VARIANT_ADD(flood, merged) { .core = 14 };
FIXTURE_VARIANT_ADD(flood, lost) { .core = 15 };
FIXTURE_VARIANT_ADD(flood, too_fast) { .core = 16 };

FIXTURE_SETUP(flood)
{
	self->event.fd = -1;
	self->bytes = NULL;
	snprintf(self->pmu, sizeof(self->pmu), "hisi_ptt0_%d", variant->core);
	if (pmu_type(self->pmu) < 0 || geteuid())
		SKIP(return, pmu_type(self->pmu) < 0 ? "no such PMU" : "needs root");
	self->bytes = malloc(MAX_BYTES);
	ASSERT_NE(NULL, self->bytes);
}

FIXTURE_TEARDOWN(flood)
{
	pmu_event_close(&self->event);
	free(self->bytes);
}

static int rounds_or(const char *name, int few)
{
	const char *rounds = getenv(name);

	return rounds ? atoi(rounds) : few;
}

static long long traces(const char *pmu)
{
	return ptt_debug_number(pmu, "runs") + ptt_debug_number(pmu, "restarts");
}

static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self, unsigned int pages)
{
	self->size = self->nr_marks = 0;
	self->lost = ptt_debug_number(self->pmu, "lost");
	self->overruns = ptt_debug_number(self->pmu, "overflows");
	self->traces = traces(self->pmu);
	if (pages) {
		ASSERT_EQ(0, ptt_open_counting(self->pmu, &self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, pages));
	}
	ASSERT_EQ(0, pmu_event_enable(&self->event));
}

/* Reads the AUX records that report gaps; none of the records may be lost. */
static void take_marks(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self)
{
	struct {
		struct perf_event_header header;
		__u64 offset, size, flags, more[8000];
	} record;

	while (pmu_event_record(&self->event, &record, sizeof(record)) > 0) {
		ASSERT_NE(PERF_RECORD_LOST, record.header.type);
		if (record.header.type != PERF_RECORD_AUX || !record.flags)
			continue;
		ASSERT_GT(MAX_MARKS, self->nr_marks);
		EXPECT_EQ(0, record.size);
		self->marks[self->nr_marks++] = (struct mark) { record.offset, record.flags };
	}
}

static void take(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self)
{
	self->size += pmu_event_aux(&self->event, self->bytes + self->size,
				    MAX_BYTES - self->size);
	take_marks(_metadata, self);
}

static bool is_whole(const __u32 *entry, const __u32 *first)
{
	static const int same[] = { 1, 2, 3, 5, 6 };

	for (int i = 0; i < 5; i++)
		if (entry[same[i]] != first[same[i]])
			return false;
	return entry[0] == ENTRY_MARK && entry[2] == WRITE_OF_4 && !(entry[ADDRESS_AT] & 3);
}

/*
 * Returns the offset of the first wrong entry. After a mark, packets may be missing. After a mark
 * for a gap of unknown size, the trace may have restarted, at most as often as the driver reports,
 * and may begin with any packet: the buffers of a fast device wrap again before the driver reads
 * the first packet.
 */
static size_t first_wrong(const FIXTURE_DATA(flood) *self)
{
	const __u32 *first = (const __u32 *)self->bytes, *entry;
	long long restarts = traces(self->pmu) - self->traces - 1;
	__u64 next = 0, packet, gap;
	size_t at;
	int mark = 0;

	for (at = 0; at + PTT_ENTRY_BYTES_8DW <= self->size; at += PTT_ENTRY_BYTES_8DW) {
		entry = (const __u32 *)(self->bytes + at);
		packet = entry[ADDRESS_AT] / 4;
		for (gap = 0; mark < self->nr_marks && self->marks[mark].offset <= at; mark++)
			gap |= self->marks[mark].flags;
		if (!is_whole(entry, first) || (packet != next && !gap))
			break;
		if (packet < next && (!(gap & PERF_AUX_FLAG_COLLISION) || restarts-- <= 0))
			break;
		next = packet + 1;
	}
	return at;
}

static void tell_wrong(struct __test_metadata *_metadata, const FIXTURE_DATA(flood) *self,
		       size_t at)
{
	const __u32 *entry = (const __u32 *)(self->bytes + at);

	if (at >= self->size)
		return;
	TH_LOG("entry %zu of %zu: %#x %#x %#x %#x %#x %#x %#x; before it %#x", at / 32,
	       self->size / 32, entry[0], entry[1], entry[2], entry[3], entry[4], entry[5], entry[6],
	       at ? entry[ADDRESS_AT - 8] : 0);
}

static void write_round(struct __test_metadata *_metadata, const char *line)
{
	const char *folder = getenv("OUT") ?: "/out";
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/rounds", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ASSERT_LE(0, fd);
	EXPECT_EQ(strlen(line), write(fd, line, strlen(line)));
	close(fd);
}

static long long lost_in_round(const FIXTURE_DATA(flood) *self)
{
	return ptt_debug_number(self->pmu, "lost") - self->lost;
}

/* Writes the result of a round, after the event was disabled. */
static void conclude(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self, int core,
		     long long delivered, __u64 before)
{
	long long lost = lost_in_round(self);
	bool at_least = ptt_debug_number(self->pmu, "overflows") != self->overruns;
	char line[128];

	snprintf(line, sizeof(line), "%d %lld %lld %lld %d %llu\n", core,
		 traces(self->pmu) - self->traces, delivered, lost, at_least, before);
	write_round(_metadata, line);
	pmu_event_close(&self->event);
}

static const struct mark *first_mark(const FIXTURE_DATA(flood) *self, __u64 flags)
{
	for (int i = 0; i < self->nr_marks; i++)
		if (self->marks[i].flags & flags)
			return &self->marks[i];
	return NULL;
}

static void conclude_area(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self, int core)
{
	const struct mark *unknown;
	size_t wrong;

	ASSERT_EQ(0, pmu_event_disable(&self->event));
	take(_metadata, self);
	wrong = first_wrong(self);
	EXPECT_EQ(self->size, wrong) {
		tell_wrong(_metadata, self, wrong);
	}
	EXPECT_LT(0, self->size);
	EXPECT_GT(MAX_BYTES, self->size) TH_LOG("more came than the test has room for");
	/* A loss has a mark, and a loss of unknown size has a mark with PERF_AUX_FLAG_COLLISION. */
	if (lost_in_round(self)) {
		EXPECT_NE(NULL, first_mark(self, ~0ULL));
	}
	EXPECT_EQ(lost_in_round(self), ptt_lost(&self->event));
	unknown = first_mark(self, PERF_AUX_FLAG_COLLISION);
	EXPECT_EQ(ptt_debug_number(self->pmu, "overflows") != self->overruns, unknown != NULL);
	conclude(_metadata, self, core, self->size / PTT_ENTRY_BYTES_8DW,
		 unknown ? unknown->offset / PTT_ENTRY_BYTES_8DW : 0);
}

/*
 * Runs a round that reads the area only at the end. The trace writes 1/16 to 1/2 more than fits
 * into the area.
 */
static void round_unread(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self, int core,
			 unsigned int mib_16, int round)
{
	begin(_metadata, self, mib_16 * 65536 / getpagesize());
	usleep(1000 * MS_OF_A_MIB * mib_16 / 16 * (17 + round % 8) / 16 + 2000);
	conclude_area(_metadata, self, core);
}

static void round_read(struct __test_metadata *_metadata, FIXTURE_DATA(flood) *self, int core,
		       unsigned int mib_16)
{
	begin(_metadata, self, mib_16 * 65536 / getpagesize());
	for (int step = 0; step < 400 && self->size < READ_BYTES; step++) {
		usleep(STEP_US);
		take(_metadata, self);
	}
	conclude_area(_metadata, self, core);
}

/* The sizes of the areas are in sixteenths of a MiB. */
TEST_F_TIMEOUT(flood, small_aux_areas_contain_only_valid_entries, TIMEOUT_SECONDS)
{
	static const unsigned int mib_16[] = { 2, 64 };

	for (int i = 0; i < 2 * rounds_or("PMUKIT_ROUNDS", 2); i++) {
		if (i / 2 % 2)
			round_read(_metadata, self, variant->core, mib_16[i % 2]);
		else
			round_unread(_metadata, self, variant->core, mib_16[i % 2], i / 4);
	}
}

TEST_F_TIMEOUT(flood, large_aux_areas_contain_only_valid_entries, TIMEOUT_SECONDS)
{
	static const unsigned int mib_16[] = { 256, 1024 };

	for (int i = 0; i < 2 * rounds_or("PMUKIT_LARGE_ROUNDS", 1); i++) {
		if (i / 2 % 2)
			round_read(_metadata, self, variant->core, mib_16[i % 2]);
		else
			round_unread(_metadata, self, variant->core, mib_16[i % 2], i / 4);
	}
}

TEST_F_TIMEOUT(flood, event_count_and_lost_entries_add_up_to_written_entries, TIMEOUT_SECONDS)
{
	for (int i = 0; i < rounds_or("PMUKIT_ROUNDS", 2); i++) {
		ASSERT_EQ(0, ptt_open_counting(self->pmu, &self->event, &ptt_stores_8dw));
		begin(_metadata, self, 0);
		usleep(200 * STEP_US);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		EXPECT_EQ(lost_in_round(self), ptt_lost(&self->event));
		conclude(_metadata, self, variant->core, ptt_count(&self->event), 0);
	}
}

/*
 * Most samples do not fit into the ring. The driver's lost count has the entries that perf drops;
 * the count of the event does not have them.
 */
TEST_F_TIMEOUT(flood, sampled_and_lost_entries_add_up_to_written_entries, TIMEOUT_SECONDS)
{
	for (int i = 0; i < rounds_or("PMUKIT_ROUNDS", 2); i++) {
		ASSERT_EQ(0, ptt_open_sampling(self->pmu, &self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
		begin(_metadata, self, 0);
		usleep(50 * STEP_US);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		conclude(_metadata, self, variant->core, ptt_count(&self->event), 0);
	}
}

TEST_HARNESS_MAIN
