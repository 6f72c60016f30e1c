// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the cxl_hmu PMU from user space: sysfs, rejected events, records, and the release of all
 * references on close. The test itself loads from and stores to the memory of the device, a BAR, so
 * that every count is known. The environment variable PMUKIT_DEVICE selects another CXL memory
 * function than the first.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmukit/cxl_hmu.h>

#include "hmu_device.h"
#include "hmu_event.h"
#include "hmu_records.h"
#include "kselftest_harness.h"
#include "pmu_event.h"

#define PARANOID		"/proc/sys/kernel/perf_event_paranoid"
#define UNBIND			"/sys/bus/pci/drivers/cxl_pci/unbind"
#define BIND			"/sys/bus/pci/drivers/cxl_pci/bind"
#define REFCOUNT		"/sys/module/cxl_hmu/refcnt"
#define UNPRIVILEGED_ID			65534
#define DATA_PAGES		64
#define AUX_PAGES		16
#define EPOCHS_US		400000	/* several epochs of 100 ms */
#define TIMEOUT_SECONDS		60

FIXTURE(cxl_hmu) {
	struct hmu_device device;
	char pmu[64];
	struct pmu_event event;
	struct hmu_tally tally;
};

FIXTURE_SETUP(cxl_hmu)
{
	int err = hmu_device_find(&self->device, hmu_device_index());

	self->event.fd = -1;
	if (err == -ENODEV || geteuid())
		SKIP(return, err ? "no CXL memory function" : "needs root");
	ASSERT_EQ(0, err);
	if (!hmu_device_is_model(&self->device))
		SKIP(return, "not the model: its memory cannot be touched here");
	ASSERT_EQ(0, hmu_device_map(&self->device));
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
	hmu_tally_reset(&self->tally);
}

FIXTURE_TEARDOWN(cxl_hmu)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
}

/* sysfs */

TEST_F(cxl_hmu, one_pmu_per_instance)
{
	char name[64];

	ASSERT_EQ(0, hmu_pmu_name(&self->device, 1, name, sizeof(name)));
	EXPECT_LE(0, pmu_type(self->pmu));
	EXPECT_LE(0, pmu_type(name));
	EXPECT_NE(pmu_type(self->pmu), pmu_type(name));
}

TEST_F(cxl_hmu, format_matches_the_abi)
{
	static const struct {
		const char *name, *bits;
	} promised[] = {
		{ "epoch_type", "config:0-1" },
		{ "access_type", "config:2-9" },
		{ "epoch_scale", "config:10-13" },
		{ "epoch_multiplier", "config:14-25" },
		{ "randomized_downsampling", "config:26" },
		{ "downsampling_factor", "config:27-42" },
		{ "hotness_threshold", "config1:0-31" },
		{ "hotness_granual", "config1:32-63" },
		{ "range_base", "config2:0-31" },
		{ "range_size", "config2:32-63" },
	};
	char path[256], text[64];

	for (size_t i = 0; i < ARRAY_SIZE(promised); i++) {
		snprintf(path, sizeof(path), PMU_SYSFS "/%s/format/%s", self->pmu,
			 promised[i].name);
		ASSERT_EQ(0, read_text(path, text, sizeof(text))) TH_LOG("%s", path);
		EXPECT_STREQ(promised[i].bits, text) TH_LOG("%s", path);
	}
}

TEST_F(cxl_hmu, cpumask_is_one_cpu)
{
	char path[256], text[64], *end;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/cpumask", self->pmu);
	ASSERT_EQ(0, read_text(path, text, sizeof(text)));
	EXPECT_LE(0, strtol(text, &end, 10));
	EXPECT_STREQ("", end);
}

/* Refused events */

FIXTURE(refused) {
	struct hmu_device device;
	char pmu[64];
};

FIXTURE_VARIANT(refused) {
	const char *term;
	__u64 value;
};

FIXTURE_SETUP(refused)
{
	int err = hmu_device_find(&self->device, hmu_device_index());

	if (err == -ENODEV || geteuid())
		SKIP(return, err ? "no CXL memory function" : "needs root");
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
}

FIXTURE_TEARDOWN(refused)
{
}

#define REFUSED(_name, _term, _value) \
	FIXTURE_VARIANT_ADD(refused, _name) { .term = _term, .value = _value }

REFUSED(epoch_type_reserved, "epoch_type", 3);
REFUSED(access_type_beyond_the_last, "access_type", 7);
REFUSED(access_type_largest, "access_type", 255);
REFUSED(epoch_scale_beyond_the_last, "epoch_scale", 6);
REFUSED(epoch_scale_largest, "epoch_scale", 15);
REFUSED(downsampling_not_a_power_of_two, "downsampling_factor", 3);
REFUSED(granual_below_the_smallest, "hotness_granual", 7);
REFUSED(granual_beyond_the_largest, "hotness_granual", 32);
REFUSED(granual_absurd, "hotness_granual", 0xffffffff);
REFUSED(threshold_wider_than_the_counter, "hotness_threshold", 0xffffffff);
REFUSED(range_behind_the_memory, "range_base", 0xffffffff);

TEST_F(refused, event_with_invalid_term_gets_einval)
{
	struct perf_event_attr attr;
	struct pmu_event event;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	ASSERT_EQ(0, pmu_set_term(self->pmu, &attr, variant->term, variant->value));
	if (!strcmp(variant->term, "range_base")) {
		ASSERT_EQ(0, pmu_set_term(self->pmu, &attr, "range_size", 1));
	}
	EXPECT_EQ(-EINVAL, pmu_event_open(&event, &attr, -1, pmu_cpu(self->pmu)));
}

TEST_F(cxl_hmu, valid_terms_are_accepted)
{
	EXPECT_EQ(0, hmu_open_plain(self->pmu, &self->event));
}

TEST_F(cxl_hmu, unknown_config_bits_are_refused)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	EXPECT_TRUE(pmu_refuses_extra_config(&attr, -1, pmu_cpu(self->pmu)));
	attr.config |= 1ULL << 63;
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, -1, pmu_cpu(self->pmu)));
}

TEST_F(cxl_hmu, unsupported_sample_types_are_refused)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	EXPECT_TRUE(pmu_refuses_samples_of_programs(&attr, -1, pmu_cpu(self->pmu)));
}

TEST_F(cxl_hmu, exclude_bits_are_refused)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	EXPECT_TRUE(pmu_refuses_exclusions(&attr, -1, pmu_cpu(self->pmu)));
}

TEST_F(cxl_hmu, per_task_events_are_refused)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, 0, -1));
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, 0, pmu_cpu(self->pmu)));
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, -1, -1));
}

TEST_F(cxl_hmu, second_event_gets_ebusy_until_first_is_closed)
{
	struct pmu_event second = { .fd = -1 };

	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	EXPECT_EQ(-EBUSY, hmu_open_plain(self->pmu, &second));
	pmu_event_close(&self->event);
	EXPECT_EQ(0, hmu_open_plain(self->pmu, &second));
	pmu_event_close(&second);
}

static int start_one(const void *pmu)
{
	struct pmu_event event;

	return hmu_open_plain(pmu, &event) ?: pmu_event_map(&event, 1, AUX_PAGES) ?:
	       pmu_event_enable(&event);
}

TEST_F_TIMEOUT(cxl_hmu, instance_is_free_after_the_process_with_its_event_is_killed,
	       TIMEOUT_SECONDS)
{
	pid_t holder = pmu_fork_holder(start_one, self->pmu);

	ASSERT_LT(0, holder);
	EXPECT_EQ(-EBUSY, hmu_open_plain(self->pmu, &self->event));
	EXPECT_EQ(0, kill(holder, SIGKILL));
	ASSERT_EQ(holder, waitpid(holder, NULL, 0));
	EXPECT_EQ(0, hmu_open_plain(self->pmu, &self->event));
}

/* An event of each of two instances counts the same accesses. */
TEST_F_TIMEOUT(cxl_hmu, events_of_two_instances_count_the_same_accesses, TIMEOUT_SECONDS)
{
	struct pmu_event second = { .fd = -1 };
	struct hmu_tally tally;
	char name[64];

	hmu_tally_reset(&tally);
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 1, name, sizeof(name)));
	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, hmu_open_plain(name, &second));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, pmu_event_map(&second, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(&self->event));
	ASSERT_EQ(0, hmu_start(&second));
	hmu_load(&self->device, 21, 17);
	hmu_collect_accesses(&self->tally, &self->event, 17);
	hmu_collect_accesses(&tally, &second, 17);
	EXPECT_EQ(17, self->tally.count[21]);
	EXPECT_EQ(17, hmu_counted(&self->tally));
	EXPECT_EQ(17, tally.count[21]);
	EXPECT_EQ(17, hmu_counted(&tally));
	pmu_event_close(&second);
}

/* With perf_event_paranoid at -1, only the driver's own check can reject the event. */
TEST_F(cxl_hmu, unprivileged_users_get_eacces)
{
	char paranoid[16];
	int err;

	ASSERT_EQ(0, read_text(PARANOID, paranoid, sizeof(paranoid)));
	ASSERT_EQ(0, write_text(PARANOID, "-1"));
	err = setresuid(-1, UNPRIVILEGED_ID, -1) ? -errno : hmu_open_plain(self->pmu, &self->event);
	ASSERT_EQ(0, setresuid(-1, 0, -1));
	EXPECT_EQ(0, write_text(PARANOID, paranoid));
	EXPECT_EQ(-EACCES, err);
}

TEST_F(cxl_hmu, aux_overwrite_mode_is_refused)
{
	size_t page = sysconf(_SC_PAGESIZE);

	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, pmu_event_map(&self->event, 1, 0));
	self->event.page->aux_offset = 2 * page;
	self->event.page->aux_size = 4 * page;
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, self->event.fd, 2 * page));
	EXPECT_NE(MAP_FAILED, mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED,
				   self->event.fd, 2 * page));
}

/* Records */

FIXTURE(recording) {
	struct hmu_device device;
	char pmu[64];
	struct pmu_event event;
	struct hmu_tally tally;
};

FIXTURE_VARIANT(recording) {
	unsigned int aux_pages;		/* pages of the AUX area; 0: records are in samples */
};

FIXTURE_VARIANT_ADD(recording, aux) { .aux_pages = AUX_PAGES };
FIXTURE_VARIANT_ADD(recording, samples) { .aux_pages = 0 };

FIXTURE_SETUP(recording)
{
	int err = hmu_device_find(&self->device, hmu_device_index());

	self->event.fd = -1;
	if (err == -ENODEV || geteuid())
		SKIP(return, err ? "no CXL memory function" : "needs root");
	ASSERT_EQ(0, err);
	if (!hmu_device_is_model(&self->device))
		SKIP(return, "not the model: its memory cannot be touched here");
	ASSERT_EQ(0, hmu_device_map(&self->device));
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, variant->aux_pages));
	hmu_tally_reset(&self->tally);
}

FIXTURE_TEARDOWN(recording)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
}

static void expect_sound(struct __test_metadata *_metadata, const struct hmu_tally *tally)
{
	EXPECT_EQ(0, tally->malformed);
	EXPECT_EQ(0, tally->sequence_gaps);
	EXPECT_EQ(0, tally->lost);
	EXPECT_EQ(0, tally->lost_samples);
	EXPECT_EQ(0, tally->gaps_announced);
	EXPECT_EQ(0, tally->flags);
}

TEST_F_TIMEOUT(recording, counts_equal_the_accesses, TIMEOUT_SECONDS)
{
	__u64 expected[HMU_UNITS] = { 0 }, sum = 0;

	ASSERT_EQ(0, hmu_start(&self->event));
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int unit = i * 19 % HMU_UNITS, loads = 1 + i % 7, stores = i % 4;

		hmu_load(&self->device, unit, loads);
		hmu_store(&self->device, unit, stores);
		expected[unit] += loads + stores;
		sum += loads + stores;
	}
	hmu_collect_accesses(&self->tally, &self->event, sum);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);

	expect_sound(_metadata, &self->tally);
	for (unsigned int unit = 0; unit < HMU_UNITS; unit++) {
		ASSERT_EQ(expected[unit], self->tally.count[unit])
			TH_LOG("unit %u", unit);
	}
}

/*
 * The model needs 20 us for an enable; the driver waits up to 40 us until the enable is complete.
 */
TEST_F_TIMEOUT(recording, first_access_after_enable_is_counted, TIMEOUT_SECONDS)
{
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	hmu_load(&self->device, 42, 1);
	hmu_collect_accesses(&self->tally, &self->event, 1);
	EXPECT_EQ(1, self->tally.count[42]);
	expect_sound(_metadata, &self->tally);
}

TEST_F_TIMEOUT(recording, last_unit_of_memory_is_recorded, TIMEOUT_SECONDS)
{
	unsigned long last = self->device.memory_bytes / (HMU_WORDS_PER_UNIT * 8) - 1;

	if (last >= HMU_UNITS)
		last = HMU_UNITS - 1;
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 0, 3);
	hmu_load(&self->device, last, 5);
	hmu_collect_accesses(&self->tally, &self->event, 8);
	ASSERT_EQ(0, pmu_event_disable(&self->event));

	expect_sound(_metadata, &self->tally);
	EXPECT_EQ(3, self->tally.count[0]);
	EXPECT_EQ(5, self->tally.count[last]);
	EXPECT_EQ(8, hmu_counted(&self->tally));
}

TEST_F_TIMEOUT(recording, event_count_equals_number_of_entries, TIMEOUT_SECONDS)
{
	__u64 count = 0;

	ASSERT_EQ(0, hmu_start(&self->event));
	for (unsigned int unit = 0; unit < 64; unit++)
		hmu_load(&self->device, unit, 1);
	hmu_collect_accesses(&self->tally, &self->event, 64);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);
	ASSERT_EQ(sizeof(count), read(self->event.fd, &count, sizeof(count)));

	EXPECT_EQ(64, self->tally.total_entries);
	EXPECT_EQ(64, count);
}

TEST_F_TIMEOUT(recording, next_run_has_no_accesses_from_before_its_enable, TIMEOUT_SECONDS)
{
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 1, 4);
	hmu_collect_accesses(&self->tally, &self->event, 4);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);
	EXPECT_EQ(4, self->tally.count[1]);

	hmu_load(&self->device, 2, 4);		/* must not be recorded: the event is disabled */
	hmu_tally_clear_counts(&self->tally);
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 3, 4);
	hmu_collect_accesses(&self->tally, &self->event, 4);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);

	EXPECT_EQ(0, self->tally.count[1]);
	EXPECT_EQ(0, self->tally.count[2]);
	EXPECT_EQ(4, self->tally.count[3]);
	expect_sound(_metadata, &self->tally);
}

TEST_F_TIMEOUT(recording, recorded_counts_are_exact_after_twenty_enables_and_disables,
	       TIMEOUT_SECONDS)
{
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		hmu_load(&self->device, i, 1);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
	}
	hmu_collect(&self->tally, &self->event);
	hmu_tally_clear_counts(&self->tally);
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 100, 9);
	hmu_collect_accesses(&self->tally, &self->event, 9);
	EXPECT_EQ(9, self->tally.count[100]);
	EXPECT_EQ(9, hmu_counted(&self->tally));
	expect_sound(_metadata, &self->tally);
}

TEST_F_TIMEOUT(cxl_hmu, access_type_1_counts_loads_only, TIMEOUT_SECONDS)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	ASSERT_EQ(0, pmu_set_term(self->pmu, &attr, "access_type", 1));
	ASSERT_EQ(0, pmu_event_open(&self->event, &attr, -1, pmu_cpu(self->pmu)));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 7, 3);
	hmu_store(&self->device, 7, 5);
	hmu_store(&self->device, 8, 5);
	hmu_load(&self->device, 9, 1);
	hmu_collect_accesses(&self->tally, &self->event, 4);
	EXPECT_EQ(3, self->tally.count[7]);
	EXPECT_EQ(0, self->tally.count[8]);
	EXPECT_EQ(1, self->tally.count[9]);
}

TEST_F_TIMEOUT(cxl_hmu, units_below_the_threshold_are_not_recorded, TIMEOUT_SECONDS)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, hmu_plain_terms(self->pmu, &attr));
	/* Epochs of a second, so that probably no epoch ends between these loads. */
	ASSERT_EQ(0, pmu_set_term(self->pmu, &attr, "epoch_scale", 5));
	ASSERT_EQ(0, pmu_set_term(self->pmu, &attr, "hotness_threshold", 4));
	ASSERT_EQ(0, pmu_event_open(&self->event, &attr, -1, pmu_cpu(self->pmu)));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 5, 3);
	hmu_load(&self->device, 6, 40);
	hmu_collect_accesses(&self->tally, &self->event, 40);
	EXPECT_EQ(0, self->tally.count[5]);
	EXPECT_EQ(40, self->tally.count[6]);
}

/* The smallest area is one page. perf allocates the largest, 4 MiB, in several pieces. */
TEST_F_TIMEOUT(cxl_hmu, aux_areas_of_every_size_work, TIMEOUT_SECONDS)
{
	for (unsigned int pages = 1; pages <= 1024; pages *= 2) {
		ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
		ASSERT_EQ(0, pmu_event_map(&self->event, 1, pages)) TH_LOG("%u pages", pages);
		ASSERT_EQ(0, hmu_start(&self->event));
		hmu_tally_reset(&self->tally);
		hmu_load(&self->device, 33, 13);
		hmu_collect_accesses(&self->tally, &self->event, 13);
		EXPECT_EQ(13, self->tally.count[33]) TH_LOG("%u pages", pages);
		EXPECT_EQ(13, hmu_counted(&self->tally));
		expect_sound(_metadata, &self->tally);
		pmu_event_close(&self->event);
	}
}

static void touch_each_once(const struct hmu_device *device, unsigned int first, unsigned int count)
{
	for (unsigned int unit = first; unit < first + count; unit++)
		hmu_load(device, unit, 1);
}

/*
 * Each unit is accessed once, so it has exactly one entry on the hot list. An AUX area of 4 KiB
 * holds about half of the entries; the rest waits in the device and is discarded when the event
 * stops. The next record reports how many entries were discarded.
 */
TEST_F_TIMEOUT(cxl_hmu, entries_lost_because_the_aux_area_is_full_are_counted, TIMEOUT_SECONDS)
{
	const unsigned int units = 900, late = 10;

	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 1));
	ASSERT_EQ(0, hmu_start(&self->event));
	touch_each_once(&self->device, 0, units);
	usleep(EPOCHS_US);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	hmu_collect(&self->tally, &self->event);
	EXPECT_LT(0, self->tally.total_entries);
	EXPECT_GT(units, self->tally.total_entries);

	ASSERT_EQ(0, hmu_start(&self->event));
	touch_each_once(&self->device, 2000, late);
	hmu_collect_entries(&self->tally, &self->event, units + late);
	EXPECT_EQ(units + late, self->tally.total_entries + self->tally.lost);
	EXPECT_LT(0, self->tally.lost);
	EXPECT_EQ(PMUKIT_CXL_HMU_F_TRUNCATED, self->tally.flags);
	EXPECT_LT(0, self->tally.gaps_announced);
	EXPECT_EQ(0, self->tally.malformed);
	for (unsigned int unit = 0; unit < HMU_UNITS; unit++) {
		EXPECT_GE(1, self->tally.entries[unit])
			TH_LOG("unit %u twice", unit);
	}
}

/* No entry is lost: the device holds the entries that do not fit into the AUX area. */
TEST_F_TIMEOUT(cxl_hmu, no_entry_is_lost_if_the_aux_area_is_read_late, TIMEOUT_SECONDS)
{
	const unsigned int units = 900;

	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 1));
	ASSERT_EQ(0, hmu_start(&self->event));
	touch_each_once(&self->device, 0, units);
	usleep(EPOCHS_US);
	hmu_collect_entries(&self->tally, &self->event, units);
	EXPECT_EQ(units, self->tally.total_entries);
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.malformed);
}

/*
 * There are more hot units than AUX area and hot list hold together: the device drops some and does
 * not report how many.
 */
TEST_F_TIMEOUT(cxl_hmu, hot_list_overflow_is_flagged, TIMEOUT_SECONDS)
{
	const unsigned int units = 900, rounds = 3;

	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 1));
	ASSERT_EQ(0, hmu_start(&self->event));
	for (unsigned int round = 0; round < rounds; round++) {
		touch_each_once(&self->device, round * units, units);
		usleep(EPOCHS_US);
	}
	hmu_collect_entries(&self->tally, &self->event, units * rounds);
	EXPECT_EQ(PMUKIT_CXL_HMU_F_OVERFLOW, self->tally.flags & PMUKIT_CXL_HMU_F_OVERFLOW);
	EXPECT_GT(units * rounds, self->tally.total_entries);
	EXPECT_LT(units, self->tally.total_entries);
	EXPECT_EQ(0, self->tally.malformed);
}

/* After close */

TEST_F_TIMEOUT(cxl_hmu, close_releases_all_references_to_the_module, TIMEOUT_SECONDS)
{
	long long references = -1;

	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
		ASSERT_EQ(0, pmu_event_map(&self->event, 1, i % 2 ? 4 : 0));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		hmu_load(&self->device, i, 2);
		pmu_event_close(&self->event);
	}
	for (unsigned int i = 0; i < 100 && references; i++) {
		ASSERT_EQ(0, read_number(REFCOUNT, &references));
		usleep(20000);
	}
	EXPECT_EQ(0, references);
}

TEST_F(cxl_hmu, rmmod_is_refused_while_an_event_is_open)
{
	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "cxl_hmu", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_LE(0, pmu_type(self->pmu));
}

TEST_F_TIMEOUT(cxl_hmu, new_event_records_after_unbind_of_running_event, TIMEOUT_SECONDS)
{
	struct pmu_event again = { .fd = -1 };
	__u64 count;

	ASSERT_EQ(0, hmu_open_plain(self->pmu, &self->event));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(&self->event));
	hmu_load(&self->device, 1, 4);
	ASSERT_EQ(0, write_text(UNBIND, self->device.pci));

	EXPECT_EQ(0, hmu_pmu_wait(&self->device, 0)) TH_LOG("the PMU is still there");
	/* Calls on the dead event may succeed or fail, but nothing may hang or crash. */
	(void)!read(self->event.fd, &count, sizeof(count));
	pmu_event_enable(&self->event);
	pmu_event_disable(&self->event);
	hmu_collect(&self->tally, &self->event);
	EXPECT_EQ(0, self->tally.malformed);

	ASSERT_EQ(0, write_text(BIND, self->device.pci));
	ASSERT_EQ(0, hmu_pmu_wait(&self->device, 1));
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
	ASSERT_EQ(0, hmu_open_plain(self->pmu, &again));
	ASSERT_EQ(0, pmu_event_map(&again, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, hmu_start(&again));
	hmu_tally_reset(&self->tally);
	hmu_load(&self->device, 11, 6);
	hmu_collect_accesses(&self->tally, &again, 6);
	EXPECT_EQ(6, self->tally.count[11]);
	EXPECT_EQ(6, hmu_counted(&self->tally));
	pmu_event_close(&again);
}

/* A missing device is no failure on a real machine; vmrun counts any skip as a failure. */
int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, hmu_device_index()) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
