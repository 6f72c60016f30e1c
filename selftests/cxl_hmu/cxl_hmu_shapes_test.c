// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests devices whose shape differs from the default of the model: many CHMUs and instances, no
 * interrupt, postponed insertion into the hot list, instances that must not track the same memory.
 * PMUKIT_SHAPES names the shapes of the CXL memory functions in the order of their PCI addresses.
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

#define CHMUS		3
#define INSTANCES	6	/* per CHMU */
#define EVENTS		(CHMUS * INSTANCES)
#define VECTORS		15	/* instance n of the device has vector n modulo VECTORS */
#define DATA_PAGES	4
#define AUX_PAGES	16
#define EPOCHS_US	400000	/* several epochs of 100 ms */
#define SETTLE_US	50000
#define ROUNDS		10
#define TIMEOUT_SECONDS	120

FIXTURE(shapes) {
	struct hmu_device device;
	struct pmu_event events[EVENTS];
	struct hmu_tally tally;
};

FIXTURE_SETUP(shapes)
{
	for (unsigned int i = 0; i < EVENTS; i++)
		self->events[i].fd = -1;
	if (!getenv("PMUKIT_SHAPES"))
		SKIP(return, "PMUKIT_SHAPES does not name the shapes of the devices");
	hmu_tally_reset(&self->tally);
}

FIXTURE_TEARDOWN(shapes)
{
	for (unsigned int i = 0; i < EVENTS; i++)
		pmu_event_close(&self->events[i]);
	hmu_device_unmap(&self->device);
}

static void use(struct __test_metadata *_metadata, FIXTURE_DATA(shapes) *self, const char *shape)
{
	int index = index_of_word(getenv("PMUKIT_SHAPES"), shape);

	ASSERT_LE(0, index) TH_LOG("no device with the shape %s", shape);
	ASSERT_EQ(0, hmu_device_find(&self->device, index));
	ASSERT_EQ(0, hmu_device_map(&self->device));
}

struct term {
	const char *name;
	__u64 value;
};

/*
 * Opens an event with up to two terms that add to the plain terms, or replace them. Returns 0 or
 * -errno.
 */
static int open_with(FIXTURE_DATA(shapes) *self, unsigned int chmu, unsigned int instance,
		     struct term first, struct term second)
{
	struct pmu_event *event = &self->events[chmu * INSTANCES + instance];
	struct perf_event_attr attr;
	char pmu[64];
	int err = hmu_pmu_name_in(&self->device, chmu, instance, pmu, sizeof(pmu));

	if (!err)
		err = hmu_plain_terms(pmu, &attr);
	if (!err && first.name)
		err = pmu_set_term(pmu, &attr, first.name, first.value);
	if (!err && second.name)
		err = pmu_set_term(pmu, &attr, second.name, second.value);
	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
}

static int open_plain(FIXTURE_DATA(shapes) *self, unsigned int chmu, unsigned int instance)
{
	return open_with(self, chmu, instance, (struct term) {}, (struct term) {});
}

static int open_range(FIXTURE_DATA(shapes) *self, unsigned int instance, __u64 base, __u64 size)
{
	return open_with(self, 0, instance, (struct term) { "range_base", base },
			 (struct term) { "range_size", size });
}

static int map_and_start(struct pmu_event *event, unsigned int aux_pages)
{
	int err = pmu_event_map(event, DATA_PAGES, aux_pages);

	return err ? err : hmu_start(event);
}

static void expect_cap(struct __test_metadata *_metadata, FIXTURE_DATA(shapes) *self,
		       const char *cap, const char *value)
{
	char pmu[64], path[256], text[64];

	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, pmu, sizeof(pmu)));
	snprintf(path, sizeof(path), PMU_SYSFS "/%s/caps/%s", pmu, cap);
	ASSERT_EQ(0, read_text(path, text, sizeof(text)));
	EXPECT_STREQ(value, text) TH_LOG("%s", path);
}

static void expect_sound(struct __test_metadata *_metadata, const struct hmu_tally *tally)
{
	EXPECT_EQ(0, tally->malformed);
	EXPECT_EQ(0, tally->sequence_gaps);
	EXPECT_EQ(0, tally->lost);
	EXPECT_EQ(0, tally->gaps_announced);
}

static void touch_each_once(const struct hmu_device *device, unsigned int first, unsigned int count)
{
	for (unsigned int unit = first; unit < first + count; unit++)
		hmu_load(device, unit, 1);
}

/* Many CHMUs and instances */

TEST_F_TIMEOUT(shapes, all_instances_of_all_chmus_record_at_once, TIMEOUT_SECONDS)
{
	use(_metadata, self, "many");
	for (unsigned int i = 0; i < EVENTS; i++) {
		ASSERT_EQ(0, open_plain(self, i / INSTANCES, i % INSTANCES)) TH_LOG("%u", i);
		ASSERT_EQ(0, pmu_event_map(&self->events[i], DATA_PAGES, AUX_PAGES));
		ASSERT_EQ(0, pmu_event_enable(&self->events[i]));
	}
	usleep(SETTLE_US);
	hmu_load(&self->device, 5, 30);
	hmu_store(&self->device, 9, 12);
	for (unsigned int i = 0; i < EVENTS; i++) {
		hmu_tally_reset(&self->tally);
		hmu_collect_accesses(&self->tally, &self->events[i], 42);
		EXPECT_EQ(30, self->tally.count[5]) TH_LOG("instance %u", i);
		EXPECT_EQ(12, self->tally.count[9]) TH_LOG("instance %u", i);
		EXPECT_EQ(42, hmu_counted(&self->tally));
		EXPECT_EQ(0, self->tally.flags);
		expect_sound(_metadata, &self->tally);
	}
}

/*
 * With epochs of a second, the device adds nearly all units to the list at the end of one epoch.
 * The list is then more than half full, so the device sends an interrupt.
 */
TEST_F_TIMEOUT(shapes, two_instances_that_share_an_interrupt_vector_both_record, TIMEOUT_SECONDS)
{
	const unsigned int units = 900, other = VECTORS;
	const struct term epoch = { "epoch_scale", 5 };
	struct hmu_tally tally[2];
	char first[64], second[64];
	unsigned int rounds = 0;
	long long before;

	use(_metadata, self, "many");
	ASSERT_EQ(0, hmu_pmu_name_in(&self->device, 0, 0, first, sizeof(first)));
	ASSERT_EQ(0, hmu_pmu_name_in(&self->device, other / INSTANCES, other % INSTANCES, second,
				     sizeof(second)));
	before = interrupts_of(first, second);
	ASSERT_LE(0, before) TH_LOG("%s and %s do not share a vector", first, second);

	ASSERT_EQ(0, open_with(self, 0, 0, epoch, (struct term) {}));
	ASSERT_EQ(0, open_with(self, other / INSTANCES, other % INSTANCES, epoch,
			       (struct term) {}));
	ASSERT_EQ(0, map_and_start(&self->events[0], AUX_PAGES));
	ASSERT_EQ(0, map_and_start(&self->events[other], AUX_PAGES));
	hmu_tally_reset(&tally[0]);
	hmu_tally_reset(&tally[1]);
	while (rounds < ROUNDS && interrupts_of(first, second) == before) {
		rounds++;
		touch_each_once(&self->device, 0, units);
		ASSERT_EQ(0, hmu_collect_entries(&tally[0], &self->events[0], rounds * units));
		ASSERT_EQ(0, hmu_collect_entries(&tally[1], &self->events[other], rounds * units));
	}
	EXPECT_LT(before, interrupts_of(first, second));
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(rounds * units, tally[i].total_entries);
		EXPECT_EQ(rounds * units, hmu_counted(&tally[i]));
		EXPECT_EQ(0, tally[i].flags);
		expect_sound(_metadata, &tally[i]);
	}
}

/* Modes */

/* The device reports a unit each time its count reaches the threshold. */
TEST_F_TIMEOUT(shapes, always_on_mode_reports_unit_each_time_it_reaches_threshold, TIMEOUT_SECONDS)
{
	use(_metadata, self, "many");
	ASSERT_EQ(0, open_with(self, 0, 0, (struct term) { "epoch_type", 1 },
			       (struct term) { "hotness_threshold", 4 }));
	ASSERT_EQ(0, map_and_start(&self->events[0], AUX_PAGES));
	hmu_load(&self->device, 7, 42);
	hmu_load(&self->device, 8, 3);
	ASSERT_EQ(0, hmu_collect_entries(&self->tally, &self->events[0], 10));
	usleep(EPOCHS_US);
	hmu_collect(&self->tally, &self->events[0]);
	EXPECT_EQ(10, self->tally.entries[7]);
	EXPECT_EQ(10, self->tally.total_entries);
	EXPECT_EQ(PMUKIT_CXL_HMU_F_ALWAYS_ON, self->tally.flags);
	expect_sound(_metadata, &self->tally);
}

/*
 * Accesses eight units in turn, with a downsampling factor of eight. Without randomization the
 * device counts every eighth access, which is always to the same unit.
 */
static void touch_alternately(struct __test_metadata *_metadata, FIXTURE_DATA(shapes) *self,
			  unsigned int randomized)
{
	ASSERT_EQ(0, open_with(self, 0, 0, (struct term) { "downsampling_factor", 8 },
			       (struct term) { "randomized_downsampling", randomized }));
	ASSERT_EQ(0, map_and_start(&self->events[0], AUX_PAGES));
	hmu_tally_reset(&self->tally);
	for (unsigned int i = 0; i < 1600; i++)
		hmu_load(&self->device, i % 8, 1);
	usleep(EPOCHS_US);
	ASSERT_EQ(0, pmu_event_disable(&self->events[0]));
	hmu_collect(&self->tally, &self->events[0]);
	expect_sound(_metadata, &self->tally);
	pmu_event_close(&self->events[0]);
}

TEST_F_TIMEOUT(shapes, randomized_downsampling_counts_all_units_accessed_in_turn, TIMEOUT_SECONDS)
{
	use(_metadata, self, "many");
	touch_alternately(_metadata, self, 0);
	EXPECT_EQ(200, self->tally.count[7]);
	EXPECT_EQ(200, hmu_counted(&self->tally));

	touch_alternately(_metadata, self, 1);
	for (unsigned int unit = 0; unit < 8; unit++) {
		EXPECT_LT(0, self->tally.count[unit]) TH_LOG("unit %u", unit);
	}
	EXPECT_LT(100, hmu_counted(&self->tally));
	EXPECT_GT(400, hmu_counted(&self->tally));
}

/* No interrupt */

TEST_F_TIMEOUT(shapes, hot_list_is_polled_if_the_device_has_no_interrupt, TIMEOUT_SECONDS)
{
	const unsigned int units = 900;
	char pmu[64];

	use(_metadata, self, "polled");
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, pmu, sizeof(pmu)));
	expect_cap(_metadata, self, "interrupts", "none");
	EXPECT_EQ(-1, interrupts_of(pmu, pmu));

	ASSERT_EQ(0, open_plain(self, 0, 0));
	ASSERT_EQ(0, map_and_start(&self->events[0], AUX_PAGES));
	touch_each_once(&self->device, 0, units);
	ASSERT_EQ(0, hmu_collect_entries(&self->tally, &self->events[0], units));
	EXPECT_EQ(units, self->tally.total_entries);
	EXPECT_EQ(units, hmu_counted(&self->tally));
	EXPECT_EQ(0, self->tally.flags);
	expect_sound(_metadata, &self->tally);
}

/* Postponed insertion into the hot list, and an epoch per counter */

/*
 * An AUX area of one page and a list of 64 slots hold fewer than @units entries, so the rest of the
 * entries waits in the device.
 */
static void fill_until_entries_wait(struct __test_metadata *_metadata, FIXTURE_DATA(shapes) *self,
				    unsigned int units)
{
	use(_metadata, self, "postponed");
	expect_cap(_metadata, self, "postponed_insertion", "1");
	expect_cap(_metadata, self, "epoch_scope", "counter");
	ASSERT_EQ(0, open_plain(self, 0, 0));
	ASSERT_EQ(0, map_and_start(&self->events[0], 1));
	touch_each_once(&self->device, 0, units);
	usleep(EPOCHS_US);
}

TEST_F_TIMEOUT(shapes, postponed_entries_arrive_after_the_list_has_space, TIMEOUT_SECONDS)
{
	const unsigned int units = 900;

	fill_until_entries_wait(_metadata, self, units);
	ASSERT_EQ(0, hmu_collect_entries(&self->tally, &self->events[0], units));
	EXPECT_EQ(units, self->tally.total_entries);
	EXPECT_EQ(units, hmu_counted(&self->tally));
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_EQ(PMUKIT_CXL_HMU_F_OVERFLOW, self->tally.flags);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.malformed);
}

/*
 * A disabled device discards the entries that wait, and does not report how many. Before the stop,
 * a record has reported with the OVERFLOW flag that entries wait.
 */
TEST_F_TIMEOUT(shapes, entries_postponed_at_stop_are_not_in_the_next_run, TIMEOUT_SECONDS)
{
	const unsigned int units = 900, late = 10;

	fill_until_entries_wait(_metadata, self, units);
	ASSERT_EQ(0, pmu_event_disable(&self->events[0]));
	hmu_collect(&self->tally, &self->events[0]);
	EXPECT_LT(0, self->tally.total_entries);
	hmu_tally_clear_counts(&self->tally);

	ASSERT_EQ(0, hmu_start(&self->events[0]));
	touch_each_once(&self->device, 2000, late);
	hmu_collect_accesses(&self->tally, &self->events[0], late);
	for (unsigned int unit = 2000; unit < 2000 + late; unit++) {
		EXPECT_EQ(1, self->tally.count[unit]) TH_LOG("unit %u", unit);
	}
	EXPECT_EQ(late, hmu_counted(&self->tally));
	EXPECT_LT(0, self->tally.lost);
	EXPECT_EQ(PMUKIT_CXL_HMU_F_OVERFLOW | PMUKIT_CXL_HMU_F_TRUNCATED, self->tally.flags);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.malformed);
}

/* Instances that must not track the same memory */

TEST_F_TIMEOUT(shapes, second_event_with_overlapping_range_gets_ebusy, TIMEOUT_SECONDS)
{
	use(_metadata, self, "unshared");
	expect_cap(_metadata, self, "range_overlap", "0");
	ASSERT_EQ(0, open_plain(self, 0, 0));
	EXPECT_EQ(-EBUSY, open_plain(self, 0, 1));
	EXPECT_EQ(-EBUSY, open_range(self, 1, 0, 1));
	pmu_event_close(&self->events[0]);

	ASSERT_EQ(0, open_range(self, 0, 0, 1));
	EXPECT_EQ(-EBUSY, open_range(self, 1, 0, 1));
	EXPECT_EQ(-EBUSY, open_range(self, 1, 0, 2));
	ASSERT_EQ(0, open_range(self, 1, 1, 1));
	ASSERT_EQ(0, map_and_start(&self->events[0], AUX_PAGES));
	ASSERT_EQ(0, map_and_start(&self->events[1], AUX_PAGES));
	hmu_load(&self->device, 4, 20);
	hmu_collect_accesses(&self->tally, &self->events[0], 20);
	EXPECT_EQ(20, self->tally.count[4]);
	EXPECT_EQ(20, hmu_counted(&self->tally));
	hmu_tally_reset(&self->tally);
	hmu_collect(&self->tally, &self->events[1]);
	EXPECT_EQ(0, self->tally.total_entries);
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, 0) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
