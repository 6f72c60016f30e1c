// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests devices that die while an event runs and its AUX area is mapped: from one access to the
 * next every read returns all ones. On request through the console, vmrun ends the model of any
 * device except the first one. A dead device stays dead in this guest. Device n has core number n
 * and is the only device on bus n + 1; all devices generate the same traffic while they are traced.
 *   PMUKIT_DEATHS   number of devices that may die
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "ptt_event.h"

#define HEALTHY		"hisi_ptt0_0"
#define DATA_PAGES	8
#define AUX_PAGES	32
#define ENTRIES		100
#define STEP_US		20000
#define STEPS		500
#define SETTLE_US	150000
#define TIMEOUT_SECONDS	300

/* All inbound packets of the generator */
static const struct ptt_terms everything_in = { PTT_PORT_FILTER, 0, 7, 0 };

FIXTURE(death) {
	struct pmu_event event;
	unsigned char *bytes;
	int deaths;
	int log;
};

FIXTURE_SETUP(death)
{
	self->event.fd = -1;
	self->log = -1;
	if (!getenv("PMUKIT_DEATHS"))
		SKIP(return, "PMUKIT_DEATHS does not say how many devices may die");
	self->deaths = atoi(getenv("PMUKIT_DEATHS"));
	ASSERT_LT(0, self->deaths);
	self->bytes = malloc(AUX_PAGES * getpagesize());
	ASSERT_NE(NULL, self->bytes);
	ASSERT_LE(0, pmu_type(HEALTHY));
	self->log = log_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(death)
{
	pmu_event_close(&self->event);
	free(self->bytes);
	if (self->log >= 0)
		close(self->log);
}

static size_t take(FIXTURE_DATA(death) *self, struct pmu_event *event)
{
	return pmu_event_aux(event, self->bytes, AUX_PAGES * getpagesize()) / PTT_ENTRY_BYTES_4DW;
}

static void open_mapped(struct __test_metadata *_metadata, const char *pmu, struct pmu_event *event)
{
	ASSERT_EQ(0, ptt_open_counting(pmu, event, &everything_in));
	ASSERT_EQ(0, pmu_event_map(event, DATA_PAGES, AUX_PAGES));
}

/* Records until enough entries have arrived. */
static void record(struct __test_metadata *_metadata, FIXTURE_DATA(death) *self,
		   struct pmu_event *event)
{
	size_t entries = 0;

	for (int step = 0; step < STEPS && entries < ENTRIES; step++) {
		ASSERT_EQ(0, pmu_event_enable(event));
		usleep(STEP_US);
		ASSERT_EQ(0, pmu_event_disable(event));
		entries += take(self, event);
	}
	ASSERT_LE(ENTRIES, entries);
	ptt_aux_flags(event);
}

/*
 * Waits until the driver, which polls the device every few milliseconds, ends the run because the
 * device does not respond. Returns the AUX flags of all records.
 */
static __u64 flags_at_the_end(FIXTURE_DATA(death) *self)
{
	__u64 flags = 0;

	for (int step = 0; step < STEPS && !(flags & PERF_AUX_FLAG_TRUNCATED); step++) {
		usleep(STEP_US);
		take(self, &self->event);
		flags |= ptt_aux_flags(&self->event);
	}
	return flags;
}

static bool is_about(const char *line, const void *pmu)
{
	char name[40];

	snprintf(name, sizeof(name), "%s:", (const char *)pmu);
	return strstr(line, name);
}

/*
 * Expects one log line about the PMU since the last call. After many deaths the kernel suppresses
 * lines, so only the first death must have its line.
 */
static void expect_one_line(struct __test_metadata *_metadata, FIXTURE_DATA(death) *self,
			    const char *pmu, int death)
{
	int lines = log_count(self->log, is_about, pmu);

	EXPECT_GE(1, lines) TH_LOG("death %d", death);
	if (death == 1)
		EXPECT_EQ(1, lines);
}

TEST_F_TIMEOUT(death, dead_device_ends_its_running_event, TIMEOUT_SECONDS)
{
	struct pmu_event other = { .fd = -1 };
	char path[128], pmu[32], text[16];

	for (int i = 1; i <= self->deaths; i++) {
		snprintf(pmu, sizeof(pmu), "hisi_ptt0_%d", i);
		open_mapped(_metadata, pmu, &self->event);
		record(_metadata, self, &self->event);
		/*
		 * QEMU aborts if the model ends while an access to the device is in progress. To
		 * make this unlikely, record so little that only the driver's timer reads a
		 * register, every 4 ms. The fault all-ones-once-started tests devices that die with
		 * more accesses.
		 */
		pmu_event_close(&self->event);
		open_mapped(_metadata, pmu, &self->event);
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		usleep(SETTLE_US);
		ASSERT_EQ(0, ask_vmrun("end model", i));
		ASSERT_TRUE(flags_at_the_end(self) & PERF_AUX_FLAG_TRUNCATED) TH_LOG("death %d", i);
		ASSERT_EQ(1, ptt_debug_number(pmu, "resets"));
		snprintf(path, sizeof(path), PMU_SYSFS "/%s/tune/qos_tx_cpl", pmu);
		ASSERT_EQ(-ENODEV, read_text(path, text, sizeof(text)));
		ASSERT_EQ(-ENODEV, write_text(path, "1"));

		ptt_count(&self->event);
		pmu_event_disable(&self->event);
		usleep(SETTLE_US);
		expect_one_line(_metadata, self, pmu, i);
		/* Starting the dead device is a separate error, which logs a separate line. */
		if (i % 4 == 0) {
			pmu_event_enable(&self->event);
			usleep(SETTLE_US);
			expect_one_line(_metadata, self, pmu, i);
		}
		if (i % 2)
			pmu_event_close(&self->event);
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:%02x:00.0/remove", i + 1);
		ASSERT_EQ(0, write_text(path, "1"));
		ASSERT_GT(0, pmu_type(pmu));
		open_mapped(_metadata, HEALTHY, &other);
		record(_metadata, self, &other);
		pmu_event_close(&other);
		pmu_event_close(&self->event);
	}
}

TEST_HARNESS_MAIN
