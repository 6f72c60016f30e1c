// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver detaches from a device in the middle of an operation, which the device still
 * completes. The device must not be left enabled. The host checks this in the log of the device, so
 * each test has a separate device, in the order of the tests.
 *   PMUKIT_OPERATION_US   duration of an operation of the devices
 *   PMUKIT_MODULE         file of the module, for unloading and loading it
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "hmu_device.h"
#include "hmu_event.h"
#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"

#define UNBIND		"/sys/bus/pci/drivers/cxl_pci/unbind"
#define MODULE		"cxl_hmu"
#define TIMEOUT_SECONDS	60

enum { UNBOUND, UNLOADED };

FIXTURE(detach) {
	struct hmu_device device;
	struct pmu_event event;
	unsigned int operation_us;
	long long begin;
};

FIXTURE_SETUP(detach)
{
	self->event.fd = -1;
	if (!getenv("PMUKIT_OPERATION_US") || !getenv("PMUKIT_MODULE"))
		SKIP(return, "no PMUKIT_OPERATION_US of the devices, or no PMUKIT_MODULE");
	self->operation_us = atoi(getenv("PMUKIT_OPERATION_US"));
	ASSERT_LT(0, self->operation_us);
}

FIXTURE_TEARDOWN(detach)
{
	pmu_event_close(&self->event);
}

/*
 * The driver resets each device when it attaches. This function waits until the reset is complete,
 * so that the next operation of the device is the enable.
 */
static void begin_to_enable(struct __test_metadata *_metadata, FIXTURE_DATA(detach) *self,
			    unsigned int index)
{
	char pmu[64];

	ASSERT_EQ(0, hmu_device_find(&self->device, index));
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, pmu, sizeof(pmu)));
	ASSERT_EQ(0, hmu_open_plain(pmu, &self->event));
	usleep(2 * self->operation_us);
	self->begin = now_ms();
	ASSERT_EQ(0, pmu_event_enable(&self->event));
}

/* Asserts that the device has not yet completed the enable. */
static void is_under_way(struct __test_metadata *_metadata, FIXTURE_DATA(detach) *self)
{
	ASSERT_GT(self->operation_us / 1000, now_ms() - self->begin);
}

/* Waits until the device has completed the enable, and the disable that must follow. */
static void let_it_end(FIXTURE_DATA(detach) *self)
{
	usleep(4 * self->operation_us);
}

TEST_F_TIMEOUT(detach, unbind_during_enable_leaves_device_disabled, TIMEOUT_SECONDS)
{
	begin_to_enable(_metadata, self, UNBOUND);
	is_under_way(_metadata, self);
	ASSERT_EQ(0, write_text(UNBIND, self->device.pci));
	let_it_end(self);
}

/* At the end the module is loaded again, but this device stays unbound. */
TEST_F_TIMEOUT(detach, unload_during_enable_leaves_device_disabled, TIMEOUT_SECONDS)
{
	begin_to_enable(_metadata, self, UNLOADED);
	pmu_event_close(&self->event);
	is_under_way(_metadata, self);
	ASSERT_EQ(0, module_unload(MODULE));
	let_it_end(self);
	ASSERT_EQ(0, write_text(UNBIND, self->device.pci));
	ASSERT_EQ(0, module_load(getenv("PMUKIT_MODULE")));
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_locate(&device, 0) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
