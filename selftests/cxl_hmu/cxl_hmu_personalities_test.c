// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests devices that deviate from the specification as other implementations do, and devices with
 * unusual properties that the specification allows: the driver must record the test's accesses
 * exactly on each.
 * PMUKIT_SHAPES names the CXL memory functions in the order of their PCI addresses.
 */
#define _GNU_SOURCE
#include <errno.h>
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

#define DATA_PAGES	4
#define AUX_PAGES	16
#define UNITS		300U
#define SETTLE_US	300000	/* a few epochs of 100 ms */
#define LONG_SCALE	5	/* epochs of 1 s: all units are accessed before an epoch ends */
#define LONG_MS		1000
#define LIST		64	/* slots in a small list; one stays free */
#define FULL		(LIST - 1)
#define LEVEL		(LIST / 2)	/* level at which the driver requests an interrupt */
#define BEYOND_LEVEL	40	/* units: more than LEVEL, and few enough for one record */
#define TRIES		3	/* attempts to clear a sticky status bit */
#define QUIET_US	1000000
#define ROUNDS		2
#define UNBIND		"/sys/bus/pci/drivers/cxl_pci/unbind"
#define BIND		"/sys/bus/pci/drivers/cxl_pci/bind"
#define TIMEOUT_SECONDS	120

FIXTURE(personality) {
	struct hmu_device device;
	struct pmu_event event;
	struct hmu_tally tally;
	char pmu[64];
};

/**
 * struct personality - a device and the expected records
 * @shape: name of the device in PMUKIT_SHAPES
 * @always_on: the device has no epochs
 * @rounds: number of rounds that record entries
 * @units: number of units accessed; 0: UNITS
 * @at_once: all units are accessed in one epoch
 * @gaps: an unknown number of entries may be missing; @flags must report this
 * @flags: flags of all records, ORed
 */
FIXTURE_VARIANT(personality) {
	const char *shape;
	bool always_on;
	int rounds;
	unsigned int units;
	bool at_once;
	bool gaps;
	__u64 flags;
};

#define PERSONALITY(_shape, _rounds, ...) \
	FIXTURE_VARIANT_ADD(personality, _shape) { \
		.shape = #_shape, .rounds = _rounds, ##__VA_ARGS__ \
	}

/* The hot list is outside the instance, whose length field has only 16 bits. */
PERSONALITY(far_list, ROUNDS);
PERSONALITY(largest_list, ROUNDS);
PERSONALITY(padded, ROUNDS);		/* the range bitmap has more bits than the capacity needs */
PERSONALITY(newer, ROUNDS);		/* a later version of the CHMU register block */
PERSONALITY(without_epochs, ROUNDS, .always_on = true, .flags = PMUKIT_CXL_HMU_F_ALWAYS_ON);
PERSONALITY(left_enabling, ROUNDS);	/* a previous kernel left an enable in progress */
PERSONALITY(lenient, ROUNDS);		/* no interrupt vector; allows 4-byte reads of entries */
/*
 * The device sets the overflow bit as soon as the list is full, although no entry is lost. So at
 * least one record has the OVERFLOW flag.
 */
PERSONALITY(full, ROUNDS, .units = FULL, .at_once = true, .flags = PMUKIT_CXL_HMU_F_OVERFLOW);
/* The device sends an interrupt only if the list has more entries than LEVEL. */
PERSONALITY(above, ROUNDS, .units = LEVEL, .at_once = true);
PERSONALITY(sticky_status, ROUNDS, .units = BEYOND_LEVEL, .at_once = true);
PERSONALITY(reset_empties_list, ROUNDS);	/* head and tail are 0 after a reset */
/*
 * The tail is invalid after an idle epoch, even if entries wait: the driver must report this, must
 * record only units that were accessed, and must not start a run with an invalid tail.
 */
PERSONALITY(garbage_tail, 1, .gaps = true,
	    .flags = PMUKIT_CXL_HMU_F_TRUNCATED | PMUKIT_CXL_HMU_F_RESET);
/*
 * Head and tail are one register of 4 bytes. With the accesses of the specification, the list
 * always seems empty.
 */
PERSONALITY(joint_registers, 0);

static void use(struct __test_metadata *_metadata, struct hmu_device *device, char *pmu,
		size_t size, const char *shape)
{
	int index = index_of_word(getenv("PMUKIT_SHAPES"), shape);

	ASSERT_LE(0, index) TH_LOG("no device with the shape %s", shape);
	ASSERT_EQ(0, hmu_device_find(device, index));
	ASSERT_EQ(0, hmu_device_map(device));
	ASSERT_EQ(0, hmu_pmu_name(device, 0, pmu, size));
}

FIXTURE_SETUP(personality)
{
	self->event.fd = -1;
	if (!getenv("PMUKIT_SHAPES"))
		SKIP(return, "PMUKIT_SHAPES does not name the shapes of the devices");
	use(_metadata, &self->device, self->pmu, sizeof(self->pmu), variant->shape);
	hmu_tally_reset(&self->tally);
}

FIXTURE_TEARDOWN(personality)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
}

/* Opens an event with threshold 1: each unit is accessed once, so its recorded count is 1. */
static int open_event(const char *pmu, struct pmu_event *event, bool always_on, bool at_once)
{
	static const char * const absent[] = { "epoch_scale", "epoch_multiplier" };
	struct perf_event_attr attr;
	int err = hmu_plain_terms(pmu, &attr);

	if (!err && at_once)
		err = pmu_set_term(pmu, &attr, "epoch_scale", LONG_SCALE);
	if (!err && always_on)
		err = pmu_set_term(pmu, &attr, "epoch_type", 1);
	for (size_t i = 0; !err && always_on && i < ARRAY_SIZE(absent); i++)
		err = pmu_set_term(pmu, &attr, absent[i], 0);
	if (!err)
		err = pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
	return err ? err : pmu_event_map(event, DATA_PAGES, AUX_PAGES);
}

static void touch_units(const struct hmu_device *device, unsigned int units)
{
	for (unsigned int unit = 0; unit < units; unit++)
		hmu_load(device, unit, 1);
}

TEST_F_TIMEOUT(personality, driver_records_the_expected_entries_and_flags, TIMEOUT_SECONDS)
{
	unsigned int units = variant->units ?: UNITS;
	__u64 expected = 0;
	long long begin;

	ASSERT_EQ(0, open_event(self->pmu, &self->event, variant->always_on, variant->at_once));
	for (int round = 0; round < ROUNDS; round++) {
		expected += round < variant->rounds ? units : 0;
		begin = now_ms();
		ASSERT_EQ(0, hmu_start(&self->event));
		touch_units(&self->device, units);
		if (variant->at_once)
			ASSERT_GT(LONG_MS, now_ms() - begin);
		if (!variant->gaps)
			hmu_collect_accesses(&self->tally, &self->event, expected);
		usleep(SETTLE_US);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		hmu_collect(&self->tally, &self->event);
	}
	EXPECT_GE(expected, self->tally.total_entries);
	EXPECT_EQ(self->tally.total_entries, hmu_counted(&self->tally));
	for (unsigned int unit = 0; unit < units; unit++) {
		EXPECT_GE(variant->rounds, self->tally.count[unit]) TH_LOG("unit %u", unit);
	}
	if (!variant->gaps)
		EXPECT_EQ(expected, self->tally.total_entries);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_EQ(variant->flags, self->tally.flags);
}

/* Devices whose status bits and interrupts differ from the specification */

FIXTURE(announced) {
	struct hmu_device device;
	struct pmu_event event;
	struct hmu_tally tally;
	char pmu[64];
	long long interrupts;
};

FIXTURE_SETUP(announced)
{
	self->event.fd = -1;
	if (!getenv("PMUKIT_SHAPES"))
		SKIP(return, "PMUKIT_SHAPES does not name the shapes of the devices");
	hmu_tally_reset(&self->tally);
}

FIXTURE_TEARDOWN(announced)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
}

static void record(struct __test_metadata *_metadata, FIXTURE_DATA(announced) *self,
		   const char *shape)
{
	use(_metadata, &self->device, self->pmu, sizeof(self->pmu), shape);
	ASSERT_EQ(0, open_event(self->pmu, &self->event, false, true));
	self->interrupts = interrupts_of(self->pmu, self->pmu);
	ASSERT_LE(0, self->interrupts) TH_LOG("it has no vector");
}

/* Returns the number of interrupts since the last call. */
static long long new_interrupts(FIXTURE_DATA(announced) *self)
{
	long long before = self->interrupts;

	self->interrupts = interrupts_of(self->pmu, self->pmu);
	return self->interrupts - before;
}

/* Accesses @units units in one epoch and collects all of their entries. */
static void touch_at_once(struct __test_metadata *_metadata, FIXTURE_DATA(announced) *self,
			  unsigned int units)
{
	long long begin = now_ms();

	hmu_tally_clear_counts(&self->tally);
	ASSERT_EQ(0, hmu_start(&self->event));
	touch_units(&self->device, units);
	ASSERT_GT(LONG_MS, now_ms() - begin);
	hmu_collect_accesses(&self->tally, &self->event, units);
	ASSERT_EQ(units, self->tally.total_entries);
}

/*
 * The device sends an interrupt only if the list has more entries than the level. At the level the
 * driver finds the entries with its poll, once per epoch.
 */
TEST_F_TIMEOUT(announced, entries_up_to_the_interrupt_level_arrive_by_polling, TIMEOUT_SECONDS)
{
	record(_metadata, self, "above");
	touch_at_once(_metadata, self, LEVEL);
	EXPECT_EQ(0, new_interrupts(self));
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	touch_at_once(_metadata, self, LEVEL + 1);
	EXPECT_LT(0, new_interrupts(self));
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_EQ(0, self->tally.flags);
}

/*
 * The device sends an interrupt when it sets the sticky status bit, and again each time the driver
 * tries to clear the bit. The driver tries once after it has read the entries, and TRIES times when
 * it finds no more entries. If the bit is still set from an earlier run, setting it again causes no
 * interrupt, but the driver's attempt to clear the bit at the start does.
 */
TEST_F_TIMEOUT(announced, sticky_status_bit_causes_a_limited_number_of_interrupts, TIMEOUT_SECONDS)
{
	long long came;

	record(_metadata, self, "sticky_status");
	touch_at_once(_metadata, self, BEYOND_LEVEL);
	usleep(SETTLE_US);
	came = new_interrupts(self);
	EXPECT_LT(0, came);
	EXPECT_GE(TRIES + 1 + TRIES, came);
	usleep(QUIET_US);
	EXPECT_EQ(0, new_interrupts(self));
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_EQ(0, self->tally.flags);
}

/* The log */

static bool is_about_the_version(const char *line, const void *pci)
{
	return strstr(line, pci) && strstr(line, "CHMU") && strstr(line, "version");
}

TEST(newer_chmu_version_is_logged_once)
{
	struct hmu_device device;
	char pmu[64];
	int log;

	if (!getenv("PMUKIT_SHAPES"))
		SKIP(return, "PMUKIT_SHAPES does not name the shapes of the devices");
	use(_metadata, &device, pmu, sizeof(pmu), "newer");
	hmu_device_unmap(&device);
	log = log_open();
	ASSERT_LE(0, log);
	ASSERT_EQ(0, write_text(UNBIND, device.pci));
	ASSERT_EQ(0, hmu_pmu_wait(&device, 0));
	ASSERT_EQ(0, write_text(BIND, device.pci));
	ASSERT_EQ(0, hmu_pmu_wait(&device, 1));
	EXPECT_EQ(1, log_count(log, is_about_the_version, device.pci));
	close(log);
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, 0) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
