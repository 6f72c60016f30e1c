// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests unbind, removal, reset, module unload and CPU offline while an event runs and its AUX area
 * is mapped, twenty times each. After each of these, calls on the old event must not hang or crash,
 * and a new event must record exactly the accesses of the test.
 *   PMUKIT_DEVICE   index of the CXL memory function, default 0
 *   PMUKIT_MODULE   file of the module, for unloading and loading it
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

#define TIMES		20
#define UNBIND		"/sys/bus/pci/drivers/cxl_pci/unbind"
#define BIND		"/sys/bus/pci/drivers/cxl_pci/bind"
#define RESCAN		"/sys/bus/pci/rescan"
#define MODULE		"cxl_hmu"
#define DATA_PAGES	8
#define AUX_PAGES	16
#define ACCESSES	25
#define STEP_US		10000
#define STEPS		500
#define TIMEOUT_SECONDS	300

FIXTURE(life) {
	struct hmu_device device;
	char pmu[64];
	struct pmu_event event;
	struct hmu_tally tally;
};

/* Opens and maps an event with epochs of 10 ms, so that twenty rounds do not take minutes. */
static int open_mapped(const char *pmu, struct pmu_event *event)
{
	struct perf_event_attr attr;
	int err = hmu_plain_terms(pmu, &attr);

	if (!err)
		err = pmu_set_term(pmu, &attr, "epoch_scale", 3);
	if (!err)
		err = pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
	return err ? err : pmu_event_map(event, DATA_PAGES, AUX_PAGES);
}

/* Accesses two units and expects exactly these accesses in the records. */
static void touch_and_compare(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self,
			      struct pmu_event *event, unsigned int unit)
{
	hmu_tally_clear_counts(&self->tally);
	ASSERT_EQ(0, hmu_device_map(&self->device));
	hmu_load(&self->device, unit, ACCESSES);
	hmu_store(&self->device, unit + 1, 1);
	hmu_device_unmap(&self->device);
	hmu_collect_accesses(&self->tally, event, ACCESSES + 1);
	ASSERT_EQ(ACCESSES, self->tally.count[unit]);
	ASSERT_EQ(1, self->tally.count[unit + 1]);
	ASSERT_EQ(ACCESSES + 1, hmu_counted(&self->tally));
	ASSERT_EQ(0, self->tally.malformed);
}

/* Opens the current PMU, whose name may have changed. */
static void open_running(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self,
			 struct pmu_event *event)
{
	ASSERT_EQ(0, hmu_pmu_wait(&self->device, 1));
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
	hmu_tally_reset(&self->tally);
	ASSERT_EQ(0, open_mapped(self->pmu, event));
	ASSERT_EQ(0, hmu_start(event));
}

static void everything_works(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self,
			     unsigned int unit)
{
	struct pmu_event event = { .fd = -1 };

	open_running(_metadata, self, &event);
	touch_and_compare(_metadata, self, &event, unit);
	pmu_event_close(&event);
}

/* Returns the event's count, or 0 if the event cannot be read any more. */
static __u64 dead_count(FIXTURE_DATA(life) *self)
{
	__u64 count = 0;

	if (self->event.fd >= 0)
		(void)!read(self->event.fd, &count, sizeof(count));
	return count;
}

/*
 * Calls on the event may succeed or fail, but must not hang or crash, and the mapped pages must
 * stay valid. The driver has unmapped the device registers, so a wrong access to a register would
 * fault.
 */
static void use_dead_event(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self)
{
	dead_count(self);
	pmu_event_enable(&self->event);
	pmu_event_disable(&self->event);
	hmu_collect(&self->tally, &self->event);
	EXPECT_EQ(0, self->tally.malformed);
	(void)*(volatile char *)self->event.aux;
	((volatile char *)self->event.aux)[self->event.aux_bytes - 1];
}

FIXTURE_SETUP(life)
{
	int err = hmu_device_find(&self->device, hmu_device_index());

	self->event.fd = -1;
	if (err == -ENODEV || geteuid())
		SKIP(return, err ? "no CXL memory function" : "needs root");
	ASSERT_EQ(0, err);
	if (!hmu_device_is_model(&self->device))
		SKIP(return, "not the model: its memory cannot be touched here");
}

FIXTURE_TEARDOWN(life)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
}

/*
 * In every second round the test closes the dead event before the device is bound again. In the
 * other rounds the dead event stays open and must not receive records of the next event.
 */
TEST_F_TIMEOUT(life, new_event_works_after_unbind_and_bind, TIMEOUT_SECONDS)
{
	__u64 count;

	for (unsigned int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, &self->event);
		touch_and_compare(_metadata, self, &self->event, 2 * i);
		ASSERT_EQ(0, write_text(UNBIND, self->device.pci));
		ASSERT_EQ(0, hmu_pmu_wait(&self->device, 0));
		use_dead_event(_metadata, self);
		if (i % 2)
			pmu_event_close(&self->event);
		count = dead_count(self);
		ASSERT_EQ(0, write_text(BIND, self->device.pci));
		everything_works(_metadata, self, 2 * i);
		EXPECT_EQ(count, dead_count(self));
		hmu_tally_reset(&self->tally);
		if (self->event.fd >= 0)
			hmu_collect(&self->tally, &self->event);
		EXPECT_EQ(0, self->tally.records);
		pmu_event_close(&self->event);
	}
}

TEST_F_TIMEOUT(life, new_event_works_after_remove_and_rescan, TIMEOUT_SECONDS)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", self->device.pci);
	for (unsigned int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, &self->event);
		touch_and_compare(_metadata, self, &self->event, 2 * i);
		ASSERT_EQ(0, write_text(path, "1"));
		ASSERT_EQ(0, hmu_pmu_wait(&self->device, 0));
		use_dead_event(_metadata, self);
		if (i % 2)
			pmu_event_close(&self->event);
		ASSERT_EQ(0, write_text(RESCAN, "1"));
		everything_works(_metadata, self, 2 * i);
		pmu_event_close(&self->event);
	}
}

/*
 * A function reset deletes the configuration of the device. The event reports the reset, and counts
 * nothing until it is enabled again.
 */
TEST_F_TIMEOUT(life, function_reset_stops_event_until_next_enable, TIMEOUT_SECONDS)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", self->device.pci);
	for (unsigned int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, &self->event);
		touch_and_compare(_metadata, self, &self->event, 2 * i);
		ASSERT_EQ(0, write_text(path, "1"));
		for (unsigned int step = 0;
		     step < STEPS && !(self->tally.flags & PMUKIT_CXL_HMU_F_RESET); step++) {
			usleep(STEP_US);
			hmu_collect(&self->tally, &self->event);
		}
		ASSERT_EQ(PMUKIT_CXL_HMU_F_RESET, self->tally.flags & PMUKIT_CXL_HMU_F_RESET);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		ASSERT_EQ(0, hmu_start(&self->event));
		touch_and_compare(_metadata, self, &self->event, 2 * i + 100);
		pmu_event_close(&self->event);
		everything_works(_metadata, self, 2 * i);
	}
}

TEST_F_TIMEOUT(life, rmmod_fails_while_an_event_is_open_and_works_after_close, TIMEOUT_SECONDS)
{
	const char *file = getenv("PMUKIT_MODULE");

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	for (unsigned int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, &self->event);
		ASSERT_EQ(-EWOULDBLOCK, module_try_unload(MODULE));
		touch_and_compare(_metadata, self, &self->event, 2 * i);
		pmu_event_close(&self->event);
		ASSERT_EQ(0, module_unload(MODULE));
		ASSERT_EQ(0, hmu_pmu_wait(&self->device, 0));
		ASSERT_EQ(0, module_load(file));
		everything_works(_metadata, self, 2 * i);
	}
}

/*
 * Linux 7.2 releases the module cxl_hmu when it revokes an event, older kernels when the event is
 * closed. pmukit_common has the code that frees the AUX area, so this module must stay loaded until
 * the area is unmapped.
 */
TEST_F_TIMEOUT(life, pmukit_common_stays_loaded_while_an_aux_area_is_mapped, TIMEOUT_SECONDS)
{
	const char *file = getenv("PMUKIT_MODULE");
	int unloaded;

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	open_running(_metadata, self, &self->event);
	ASSERT_EQ(0, write_text(UNBIND, self->device.pci));
	ASSERT_EQ(0, hmu_pmu_wait(&self->device, 0));
	unloaded = !module_try_unload(MODULE);
	ASSERT_EQ(-EWOULDBLOCK, module_try_unload("pmukit_common"));
	use_dead_event(_metadata, self);
	pmu_event_close(&self->event);
	if (!unloaded)
		ASSERT_EQ(0, module_unload(MODULE));
	ASSERT_EQ(0, module_load(file));
	ASSERT_EQ(0, write_text(BIND, self->device.pci));
	everything_works(_metadata, self, 2);
}

/*
 * Opens an event on a CPU that can go offline. If the CPU of the PMU cannot go offline, rebinds the
 * device: the new PMU selects a CPU near the device.
 */
static void open_on_a_cpu_that_can_leave(struct __test_metadata *_metadata,
					 FIXTURE_DATA(life) *self)
{
	open_running(_metadata, self, &self->event);
	if (!cpu_set_online(pmu_cpu(self->pmu), "1"))
		return;
	pmu_event_close(&self->event);
	ASSERT_EQ(0, write_text(UNBIND, self->device.pci));
	ASSERT_EQ(0, hmu_pmu_wait(&self->device, 0));
	ASSERT_EQ(0, write_text(BIND, self->device.pci));
	open_running(_metadata, self, &self->event);
}

TEST_F_TIMEOUT(life, event_continues_across_cpu_offline_and_online, TIMEOUT_SECONDS)
{
	int cpu;

	for (unsigned int i = 0; i < TIMES; i++) {
		open_on_a_cpu_that_can_leave(_metadata, self);
		cpu = pmu_cpu(self->pmu);
		if (cpu_set_online(cpu, "1"))
			SKIP(return, "the PMU's CPU cannot go offline");
		touch_and_compare(_metadata, self, &self->event, 2 * i);
		ASSERT_EQ(0, cpu_set_online(cpu, "0"));
		EXPECT_NE(cpu, pmu_cpu(self->pmu));
		touch_and_compare(_metadata, self, &self->event, 2 * i + 100);
		ASSERT_EQ(0, cpu_set_online(cpu, "1"));
		touch_and_compare(_metadata, self, &self->event, 2 * i + 200);
		pmu_event_close(&self->event);
		everything_works(_metadata, self, 2 * i);
	}
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, hmu_device_index()) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
