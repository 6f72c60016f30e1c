// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the driver with invalid tables and units: one function per fault of the model, all in one
 * machine. PMUKIT_FAULTS names the faults of the uncore functions in the order of their PCI
 * addresses; the first is "healthy" and must count exactly after the check of each other function.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "uncore_unit.h"

#define HEALTHY		"uncore_imc_0"
#define TIMEOUT_SECONDS	60
#define UNITS		"/sys/kernel/debug/uncore_pmon/units"

enum outcome {
	NO_TABLE,		/* no line in the log: the driver ignores the function */
	TABLE_REFUSED,		/* one line in the log with the reason */
	ENTRIES_REFUSED,	/* a line per refused entry; the other entries have PMUs */
	ENTRIES_LISTED,		/* a line per listed entry; its registers are not written */
	SURVIVES,		/* the driver must not crash; the PMUs need not be correct */
};

FIXTURE(fault) {
	char healthy[PCI_NAME_BYTES];
	char pci[PCI_NAME_BYTES];
};

FIXTURE_VARIANT(fault) {
	const char *name;
	enum outcome outcome;
	const char *why;	/* reason in the log and in the driver's list */
	int refused;		/* number of refused or listed entries */
};

#define TABLE(_id, _name, _why) \
	FIXTURE_VARIANT_ADD(fault, _id) { .name = _name, .outcome = TABLE_REFUSED, .why = _why }
#define ENTRIES(_id, _name, _refused, _why) \
	FIXTURE_VARIANT_ADD(fault, _id) \
		{ .name = _name, .outcome = ENTRIES_REFUSED, .refused = _refused, .why = _why }
#define LISTED(_id, _name, _listed, _why) \
	FIXTURE_VARIANT_ADD(fault, _id) \
		{ .name = _name, .outcome = ENTRIES_LISTED, .refused = _listed, .why = _why }

FIXTURE_VARIANT_ADD(fault, no_table) { .name = "no-table", .outcome = NO_TABLE };
TABLE(table_inside_bar, "table-inside-bar", "the table is not at the beginning of its BAR");
TABLE(bar_7, "bar-7", "its DVSEC names a BAR number that does not exist");
TABLE(bar_prefetchable, "bar-prefetchable", "the BAR of the table is not plain memory");
TABLE(stride_0, "stride-0", "the stride is below 3 words");
TABLE(stride_1, "stride-1", "the stride is below 3 words");
TABLE(stride_2, "stride-2", "the stride is below 3 words");
TABLE(stride_255, "stride-255", "the units reach beyond the BAR");
TABLE(max_units_0, "max-units-0", "the table has no units");
TABLE(max_units_beyond_bar, "max-units-beyond-bar", "the units reach beyond the BAR");
TABLE(global_word_zero, "global-word-zero", "the table begins with nothing");
TABLE(global_word_ones, "global-word-ones", "the table begins with all ones");
TABLE(global_control_zero, "global-control-zero", "the table begins with nothing");
TABLE(global_control_ones, "global-control-ones", "the table begins with all ones");
TABLE(global_status_ones, "global-status-ones", "the table begins with all ones");
TABLE(table_all_ones, "table-all-ones", "the table begins with all ones");
ENTRIES(unit_word_0_ones, "unit-word-0-ones", 1, "all ones");
ENTRIES(unit_word_1_ones, "unit-word-1-ones", 1, "all ones");
ENTRIES(unit_word_2_ones, "unit-word-2-ones", 1, "all ones");
ENTRIES(control_outside_bars, "control-outside-bars", 1, "its registers are RAM");
LISTED(control_behind_bar, "control-behind-bar", 1, "does not answer");
ENTRIES(window_beyond_bar, "window-beyond-bar", 1, "its registers reach beyond their BAR");
ENTRIES(control_unaligned, "control-unaligned", 1, "registers not aligned");
ENTRIES(duplicate_ids, "duplicate-ids", 1, "type and id stand in the table twice");
ENTRIES(no_counters, "no-counters", 2, "no counters");
ENTRIES(num_counters_255, "num-counters-255", 2, "more than 8 counters");
ENTRIES(width_0, "width-0", 2, "counter width not in 24..64");
ENTRIES(width_65, "width-65", 2, "counter width not in 24..64");
ENTRIES(width_255, "width-255", 2, "counter width not in 24..64");
ENTRIES(control_offset_0, "control-offset-0", 2, "control or counter offset 0");
ENTRIES(counter_offset_0, "counter-offset-0", 2, "control or counter offset 0");
ENTRIES(offsets_overlap, "offsets-overlap", 2, "controls and counters overlap");
ENTRIES(access_type_3, "access-type-3", 2, "unknown access type");
ENTRIES(units_of_a_type_differ, "units-of-a-type-differ", 1, "not as the first unit of its type");
LISTED(registers_all_ones, "registers-all-ones", 3, "does not answer");

FIXTURE_VARIANT_ADD(fault, table_changes_between_reads) {
	.name = "table-changes-between-reads", .outcome = SURVIVES,
};

FIXTURE_VARIANT_ADD(fault, counters_go_backwards) {
	.name = "counters-go-backwards", .outcome = SURVIVES,
};

static int index_of_fault(const char *name)
{
	return index_of_word(getenv("PMUKIT_FAULTS"), name);
}

struct texts {
	const char *one, *other;
};

static bool has_both(const char *line, const void *data)
{
	const struct texts *texts = data;

	return strstr(line, texts->one) && strstr(line, texts->other);
}

/* Number of lines of the kernel log since boot that contain both texts, or -errno. */
static int lines_with(const char *one, const char *other)
{
	struct texts texts = { one, other };
	int log = log_open(), count;

	if (log < 0)
		return log;
	lseek(log, 0, SEEK_SET);
	count = log_count(log, has_both, &texts);
	close(log);
	return count;
}

/* Number of lines of the driver's list that begin with the prefix and contain the other text. */
static int units_with(const char *prefix, const char *other)
{
	FILE *file = fopen(UNITS, "r");
	char line[256];
	int count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += !strncmp(line, prefix, strlen(prefix)) && strstr(line, other);
	if (file)
		fclose(file);
	return file ? count : -1;
}

FIXTURE_SETUP(fault)
{
	int index = index_of_fault(variant->name);

	if (!getenv("PMUKIT_FAULTS"))
		SKIP(return, "PMUKIT_FAULTS does not name the faults of the functions");
	ASSERT_LT(0, index) TH_LOG("no function with the fault %s", variant->name);
	ASSERT_EQ(0, pci_find(UNCORE_VENDOR, UNCORE_DEVICE, index, self->pci));
	ASSERT_EQ(0, pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, self->healthy));
	ASSERT_EQ(0, uncore_wait(HEALTHY, 1));
}

FIXTURE_TEARDOWN(fault)
{
	struct uncore_memory ddr = {};
	struct uncore_count count;
	int fd = uncore_open(HEALTHY, IMC_READS, -1);

	EXPECT_LE(0, fd);
	EXPECT_EQ(0, uncore_enable_event(fd));
	EXPECT_EQ(0, uncore_map(self->healthy, UNCORE_DDR_BAR, &ddr));
	if (ddr.at)
		uncore_touch(&ddr, 0, 100, 50);
	EXPECT_EQ(0, uncore_read(fd, &count));
	EXPECT_EQ(100, count.value) TH_LOG("the healthy one");
	uncore_unmap(&ddr);
	close(fd);
}

TEST_F_TIMEOUT(fault, kernel_log_and_debugfs_list_show_the_expected_outcome, TIMEOUT_SECONDS)
{
	char in_log[PCI_NAME_BYTES + 2], in_list[PCI_NAME_BYTES + 2];

	snprintf(in_log, sizeof(in_log), "%s:", self->pci);
	snprintf(in_list, sizeof(in_list), "%s ", self->pci);
	switch (variant->outcome) {
	case NO_TABLE:
		EXPECT_EQ(0, lines_with(in_log, "uncore_pmon"));
		EXPECT_EQ(0, units_with(in_list, ""));
		break;
	case TABLE_REFUSED:
		EXPECT_EQ(1, lines_with(in_log, variant->why));
		EXPECT_EQ(1, lines_with(in_log, "uncore_pmon"));
		EXPECT_EQ(1, units_with(in_list, variant->why));
		EXPECT_EQ(1, units_with(in_list, ""));
		break;
	case ENTRIES_REFUSED:
		EXPECT_EQ(variant->refused, units_with(in_list, variant->why));
		EXPECT_EQ(variant->refused, units_with(in_list, "rejected: "));
		EXPECT_EQ(variant->refused, lines_with(in_log, "entry "));
		EXPECT_EQ(0, units_with(in_list, "listed: "));
		break;
	case ENTRIES_LISTED:
		EXPECT_EQ(variant->refused, units_with(in_list, variant->why));
		EXPECT_EQ(variant->refused, units_with(in_list, "listed: "));
		EXPECT_EQ(0, units_with(in_list, "rejected: "));
		EXPECT_EQ(variant->refused, lines_with(in_log, "entry "));
		break;
	case SURVIVES:
		EXPECT_LT(0, units_with(in_list, ": uncore_"));
		break;
	}
}

/* The n-th function, from 0, has the memory controllers with ids 2 n and 2 n + 1. */
TEST(counters_that_go_backwards_are_logged_once_and_not_counted)
{
	int index = index_of_fault("counters-go-backwards"), events[2];
	char pmu[64], path[128];
	struct uncore_count count;
	long long rejected = 0;

	if (index < 0)
		SKIP(return, "no function with that fault");
	snprintf(pmu, sizeof(pmu), "uncore_imc_%d", 2 * index);
	events[0] = uncore_open(pmu, IMC_CLOCK, -1);
	events[1] = uncore_open(pmu, IMC_READS, -1);
	ASSERT_LE(0, events[0]);
	ASSERT_LE(0, events[1]);
	uncore_enable_event(events[0]);
	uncore_enable_event(events[1]);
	for (int i = 0; i < 5; i++) {
		uncore_read(events[0], &count);
		EXPECT_EQ(0, uncore_read(events[1], &count));
		EXPECT_EQ(0, count.value);
	}
	close(events[0]);
	close(events[1]);
	snprintf(path, sizeof(path), "/sys/kernel/debug/pmukit/%s/rejected", pmu);
	EXPECT_EQ(0, read_number(path, &rejected));
	EXPECT_LE(5, rejected);
	snprintf(path, sizeof(path), "%s: package 0: a counter went backwards", pmu);
	EXPECT_EQ(1, lines_with("uncore_pmon", path));
}

int main(int argc, char **argv)
{
	char pci[PCI_NAME_BYTES];

	if (pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, pci))
		ksft_exit_skip("no uncore function\n");
	return test_harness_run(argc, argv);
}
