// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests devices that die while an event runs and its AUX area is mapped: from one access to the
 * next, every read returns all ones. The test asks vmrun on the console to end the model of a CXL
 * memory function; the model of the first function keeps running. A dead function stays dead in
 * this guest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmukit/cxl_hmu.h>

#include "hmu_device.h"
#include "hmu_event.h"
#include "hmu_records.h"
#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"

#define DATA_PAGES	8
#define AUX_PAGES	16
#define ACCESSES	30
#define STEP_US		20000
#define STEPS		500
#define EPOCHS_US	200000	/* two epochs of 100 ms */
#define TIMEOUT_SECONDS	300

FIXTURE(death) {
	struct hmu_device healthy;
	struct pmu_event event;
	struct hmu_tally tally;
	unsigned int deaths;
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
	ASSERT_EQ(0, hmu_device_find(&self->healthy, 0));
	self->log = log_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(death)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->healthy);
	if (self->log >= 0)
		close(self->log);
}

static void record(struct __test_metadata *_metadata, FIXTURE_DATA(death) *self,
		   struct hmu_device *device, struct pmu_event *event)
{
	char pmu[64];

	ASSERT_EQ(0, hmu_pmu_name(device, 0, pmu, sizeof(pmu)));
	hmu_tally_reset(&self->tally);
	ASSERT_EQ(0, hmu_open_plain(pmu, event));
	ASSERT_EQ(0, pmu_event_map(event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(event));
	ASSERT_EQ(0, hmu_device_map(device));
	hmu_load(device, 1, ACCESSES);
	hmu_device_unmap(device);
	hmu_collect_accesses(&self->tally, event, ACCESSES);
	ASSERT_EQ(ACCESSES, self->tally.count[1]);
	ASSERT_EQ(ACCESSES, hmu_counted(&self->tally));
	ASSERT_EQ(0, self->tally.malformed);
}

/*
 * Waits until the driver, which polls the device once per epoch, detects that the device is gone.
 */
static void wait_for_the_end(FIXTURE_DATA(death) *self)
{
	for (unsigned int step = 0; step < STEPS && !(self->tally.flags & PMUKIT_CXL_HMU_F_RESET);
	     step++) {
		usleep(STEP_US);
		hmu_collect(&self->tally, &self->event);
	}
}

static bool names_pmu(const char *line, const void *pmu)
{
	return strstr(line, pmu);
}

/*
 * Waits for some epochs, then expects one log line about the PMU since the last call. After many
 * deaths in a row the kernel suppresses lines, so only the first death must have its line.
 */
static void expect_one_line(struct __test_metadata *_metadata, FIXTURE_DATA(death) *self,
			    const char *pmu, unsigned int death)
{
	int lines;

	usleep(EPOCHS_US);
	lines = log_count(self->log, names_pmu, pmu);
	EXPECT_GE(1, lines) TH_LOG("death %u", death);
	if (death == 1)
		EXPECT_EQ(1, lines);
}

TEST_F_TIMEOUT(death, dead_device_reports_a_reset_and_other_device_still_records, TIMEOUT_SECONDS)
{
	struct pmu_event other;
	struct hmu_device device;
	char path[128], pmu[64];
	__u64 count;

	for (unsigned int i = 1; i <= self->deaths; i++) {
		/* Dead functions are removed, so the next one has index 1 again. */
		ASSERT_EQ(0, hmu_device_find(&device, 1)) TH_LOG("death %u", i);
		ASSERT_EQ(0, hmu_pmu_name(&device, 0, pmu, sizeof(pmu)));
		record(_metadata, self, &device, &self->event);
		log_count(self->log, names_pmu, pmu);
		ASSERT_EQ(0, ask_vmrun("end model", i));
		wait_for_the_end(self);
		ASSERT_EQ(PMUKIT_CXL_HMU_F_RESET, self->tally.flags & PMUKIT_CXL_HMU_F_RESET);
		expect_one_line(_metadata, self, pmu, i);

		(void)!read(self->event.fd, &count, sizeof(count));
		pmu_event_disable(&self->event);
		pmu_event_enable(&self->event);
		expect_one_line(_metadata, self, pmu, i);
		if (i % 2)
			pmu_event_close(&self->event);
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", device.pci);
		ASSERT_EQ(0, write_text(path, "1"));
		other.fd = -1;
		record(_metadata, self, &self->healthy, &other);
		pmu_event_close(&other);
		pmu_event_close(&self->event);
	}
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, 0) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
