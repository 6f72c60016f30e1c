// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests how the driver handles faulty devices: one device per fault of the model, all in one
 * machine. PMUKIT_FAULTS names the faults of the CXL memory functions in the order of their PCI
 * addresses. The first device has no fault ("healthy"), and must record exactly after the test of
 * each faulty device.
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

#define UNBIND		"/sys/bus/pci/drivers/cxl_pci/unbind"
#define BIND		"/sys/bus/pci/drivers/cxl_pci/bind"
#define DATA_PAGES	8
#define AUX_PAGES	16
#define UNIT		3
#define ACCESSES	1500	/* the fault reset-mid-run happens after 1000 accesses */
#define UNITS		30	/* units accessed in the tests with a wrong list entry */
#define EPOCHS_US	400000
#define STEP_US		10000
#define STEPS		500
/* The driver may need this much longer for a faulty device than for a healthy one. */
#define LIMIT_MS	5000
#define TIMEOUT_SECONDS	60

enum outcome {
	IGNORED,	/* the device has no PMU, and the log has one line about this */
	GIVES_UP,	/* the driver stops the run, logs one line and counts the fault */
	SURVIVES,	/* all records are well-formed; some may be missing */
	EXACT,		/* each access is recorded, as with a healthy device */
	REJECTS,	/* some entries are counted as rejected and as lost, others arrive */
};

FIXTURE(fault) {
	struct hmu_device healthy;
	struct hmu_device device;
	struct pmu_event event;
	struct hmu_tally tally;
	int log;
};

FIXTURE_VARIANT(fault) {
	const char *name;
	enum outcome outcome;
	const char *stat;	/* GIVES_UP: counter that has increased */
	/* Number of units, each accessed once. 0: one unit is accessed ACCESSES times. */
	unsigned int units;
	__u64 flags;		/* flags of all records, ORed; checked if units is not 0 */
};

#define WITH_LIST(_flags) .units = UNITS, .flags = (_flags)

#define FAULT(_id, _name, _outcome, _stat, ...) \
	FIXTURE_VARIANT_ADD(fault, _id) { \
		.name = _name, .outcome = _outcome, .stat = _stat, ##__VA_ARGS__ \
	}

FAULT(never_idle, "never-idle", IGNORED, NULL);
FAULT(enable_fails, "enable-fails", GIVES_UP, "timeouts");
FAULT(tail_out_of_range, "tail-out-of-range", GIVES_UP, "rejected");
FAULT(head_ignored, "head-ignored", SURVIVES, NULL);
FAULT(width_0, "width-0", IGNORED, NULL);
FAULT(width_64, "width-64", IGNORED, NULL);
FAULT(zero_instances, "zero-instances", IGNORED, NULL);
FAULT(instance_length_beyond_bar, "instance-length-beyond-bar", IGNORED, NULL);
FAULT(offsets_outside, "offsets-outside", IGNORED, NULL);
FAULT(hot_list_size_0, "hot-list-size-0", IGNORED, NULL);
FAULT(hot_list_size_1, "hot-list-size-1", IGNORED, NULL);
FAULT(irq_lost, "irq-lost", EXACT, NULL);
FAULT(irq_storm, "irq-storm", EXACT, NULL);
FAULT(irq_spurious, "irq-spurious", EXACT, NULL);
FAULT(reset_mid_run, "reset-mid-run", GIVES_UP, "resets");
FAULT(all_ones, "all-ones", IGNORED, NULL);
FAULT(all_ones_once_enabled, "all-ones-once-enabled", GIVES_UP, NULL);
FAULT(slow_operations, "slow-operations", EXACT, NULL);
FAULT(values_change_between_reads, "values-change-between-reads", IGNORED, NULL);
FAULT(list_all_ones, "list-all-ones", REJECTS, NULL, WITH_LIST(PMUKIT_CXL_HMU_F_TRUNCATED));
FAULT(dies_in_list, "dies-in-list", GIVES_UP, "resets", WITH_LIST(PMUKIT_CXL_HMU_F_RESET));

struct log_subject {
	const struct hmu_device *device;
	char pmu[64];
};

static bool is_about(const char *line, const void *data)
{
	const struct log_subject *subject = data;

	return (subject->pmu[0] && strstr(line, subject->pmu)) ||
	       (strstr(line, subject->device->pci) && strstr(line, "CHMU"));
}

/* Returns the number of the driver's log lines about the device since the last call. */
static int messages(int log, const struct hmu_device *device)
{
	struct log_subject subject = { .device = device };

	if (hmu_pmu_name(device, 0, subject.pmu, sizeof(subject.pmu)))
		subject.pmu[0] = '\0';
	return log_count(log, is_about, &subject);
}

FIXTURE_SETUP(fault)
{
	int index = index_of_word(getenv("PMUKIT_FAULTS"), variant->name);

	self->event.fd = -1;
	self->log = -1;
	if (!getenv("PMUKIT_FAULTS"))
		SKIP(return, "PMUKIT_FAULTS does not name the faults of the devices");
	ASSERT_LT(0, index) TH_LOG("no device with the fault %s", variant->name);
	ASSERT_EQ(0, hmu_device_locate(&self->device, index));
	ASSERT_EQ(0, hmu_device_find(&self->healthy, 0));
	self->log = log_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(fault)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
	hmu_device_unmap(&self->healthy);
	if (self->log >= 0)
		close(self->log);
}

/* Waits for a log line. The driver gives up if a device is not ready after a second. */
static int wait_for_message(int log, const struct hmu_device *device)
{
	int count = 0;

	for (unsigned int step = 0; step < STEPS && !count; step++) {
		usleep(STEP_US);
		count = messages(log, device);
	}
	return count;
}

/* Unbinds the device and binds it again. Returns the duration of the bind, or -1. */
static long long bind_again_ms(const struct hmu_device *device)
{
	long long begin;

	if (write_text(UNBIND, device->pci))
		return -1;
	begin = now_ms();
	return write_text(BIND, device->pci) ? -1 : now_ms() - begin;
}

static void touch(const struct hmu_device *device, unsigned int units)
{
	if (!units)
		hmu_load(device, UNIT, ACCESSES);
	for (unsigned int unit = 0; unit < units; unit++)
		hmu_load(device, unit, 1);
}

static void record(struct __test_metadata *_metadata, struct hmu_device *device,
		   unsigned int units, struct pmu_event *event, struct hmu_tally *tally)
{
	char pmu[64];

	ASSERT_EQ(0, hmu_pmu_wait(device, 1));
	ASSERT_EQ(0, hmu_pmu_name(device, 0, pmu, sizeof(pmu)));
	ASSERT_EQ(0, hmu_device_map(device));
	hmu_tally_reset(tally);
	ASSERT_EQ(0, hmu_open_plain(pmu, event));
	ASSERT_EQ(0, pmu_event_map(event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(event));
	usleep(EPOCHS_US);	/* so that slow operations can end */
	touch(device, units);
	usleep(EPOCHS_US);
	hmu_collect(tally, event);
}

static void expect_exact(struct __test_metadata *_metadata, const struct hmu_tally *tally)
{
	EXPECT_EQ(ACCESSES, tally->count[UNIT]);
	EXPECT_EQ(ACCESSES, hmu_counted(tally));
	EXPECT_EQ(0, tally->malformed);
	EXPECT_EQ(0, tally->lost);
	EXPECT_EQ(0, tally->flags);
}

static void expect_healthy(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self)
{
	struct pmu_event event = { .fd = -1 };

	record(_metadata, &self->healthy, 0, &event, &self->tally);
	hmu_collect_accesses(&self->tally, &event, ACCESSES);
	expect_exact(_metadata, &self->tally);
	pmu_event_close(&event);
}

static long long stat_of(const struct hmu_device *device, const char *name)
{
	long long value = -1;
	char path[256], pmu[64];

	if (hmu_pmu_name(device, 0, pmu, sizeof(pmu)))
		return -1;
	snprintf(path, sizeof(path), PMU_DEBUGFS "/%s/%s", pmu, name);
	return read_number(path, &value) ? -1 : value;
}

/* Each unit was hot once: its entry must have arrived, or be counted as rejected and as lost. */
static void expect_rejected(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self,
			    unsigned int units)
{
	ASSERT_EQ(0, hmu_collect_entries(&self->tally, &self->event, units));
	EXPECT_LT(0, self->tally.total_entries);
	EXPECT_LT(0, self->tally.lost);
	EXPECT_EQ(units, self->tally.total_entries + self->tally.lost);
	EXPECT_EQ(self->tally.total_entries, hmu_counted(&self->tally));
	EXPECT_EQ(self->tally.lost, stat_of(&self->device, "rejected"));
	EXPECT_EQ(self->tally.lost, stat_of(&self->device, "lost"));
}

/* Stops and closes the event. No fault of the device may delay this beyond the limit. */
static void stop_and_close(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self)
{
	long long begin = now_ms();

	EXPECT_EQ(0, pmu_event_disable(&self->event));
	EXPECT_GT(LIMIT_MS, now_ms() - begin);
	hmu_collect(&self->tally, &self->event);
	EXPECT_EQ(0, self->tally.malformed);
	pmu_event_close(&self->event);
	EXPECT_GT(2 * LIMIT_MS, now_ms() - begin);
}

TEST_F_TIMEOUT(fault, driver_handles_device_with_this_fault_as_expected, TIMEOUT_SECONDS)
{
	bool wanted = variant->outcome != IGNORED;
	long long healthy_ms = bind_again_ms(&self->healthy), ms;

	ASSERT_LE(0, healthy_ms);
	ASSERT_EQ(0, hmu_pmu_wait(&self->healthy, 1));
	messages(self->log, &self->device);
	ms = bind_again_ms(&self->device);
	ASSERT_LE(0, ms);
	EXPECT_GT(healthy_ms + LIMIT_MS, ms);
	TH_LOG("bound in %lld ms, a healthy device in %lld ms", ms, healthy_ms);
	if (!wanted) {
		char pmu[64];

		EXPECT_EQ(1, messages(self->log, &self->device));
		ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, pmu, sizeof(pmu)));
		EXPECT_GT(0, pmu_type(pmu)) TH_LOG("there is a PMU");
	} else {
		record(_metadata, &self->device, variant->units, &self->event, &self->tally);
		if (variant->outcome == EXACT) {
			hmu_collect_accesses(&self->tally, &self->event, ACCESSES);
			expect_exact(_metadata, &self->tally);
		}
		if (variant->outcome == REJECTS)
			expect_rejected(_metadata, self, variant->units);
		if (variant->outcome == GIVES_UP) {
			EXPECT_EQ(1, wait_for_message(self->log, &self->device));
		}
		stop_and_close(_metadata, self);
		EXPECT_EQ(0, messages(self->log, &self->device));
		if (variant->units)
			EXPECT_EQ(variant->flags, self->tally.flags);
		if (variant->stat) {
			EXPECT_LT(0, stat_of(&self->device, variant->stat));
		}
	}
	expect_healthy(_metadata, self);
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, 0) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
