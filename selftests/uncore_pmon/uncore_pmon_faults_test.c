// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the driver makes of tables and units that lie: one function a fault of the model, all in one
 * machine. PMUKIT_FAULTS names the faults of the uncore functions in the order of their PCI
 * addresses; the first is "healthy" and must count exactly after each of the others has been looked
 * at.
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
#define BAR_OF_UNITS	2
#define BARS		6

enum outcome {
	TABLE_REFUSED,		/* not bound: one line in the log that says why */
	ENTRIES_REFUSED,	/* a line for each, in log and refused; the others are PMUs */
	SURVIVES,		/* what is registered need not be right */
};

FIXTURE(fault) {
	char healthy[PCI_NAME_BYTES];
	char pci[PCI_NAME_BYTES];
};

FIXTURE_VARIANT(fault) {
	const char *name;
	enum outcome outcome;
	const char *why;	/* what the line says */
	int refused;		/* entries */
	int behind_bar;		/* the line says so when there is a BAR of another function */
};

#define TABLE(_id, _name, _why) \
	FIXTURE_VARIANT_ADD(fault, _id) { .name = _name, .outcome = TABLE_REFUSED, .why = _why }
#define ENTRIES(_id, _name, _refused, _why) \
	FIXTURE_VARIANT_ADD(fault, _id) \
		{ .name = _name, .outcome = ENTRIES_REFUSED, .refused = _refused, .why = _why }
#define ENTRIES_BEHIND(_id, _name, _why) \
	FIXTURE_VARIANT_ADD(fault, _id) \
		{ .name = _name, .outcome = ENTRIES_REFUSED, .refused = 1, .why = _why, \
		  .behind_bar = 1 }

TABLE(no_table, "no-table", "no discovery table");
TABLE(table_inside_bar, "table-inside-bar", "the table is not at the beginning of its BAR");
TABLE(bar_7, "bar-7", "there is no BAR 7");
TABLE(bar_prefetchable, "bar-prefetchable", "BAR 4 is not plain memory");
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
ENTRIES(control_outside_bars, "control-outside-bars", 1,
	"its registers are RAM or somebody else's");
ENTRIES_BEHIND(control_behind_bar, "control-behind-bar", "there is no unit at its control address");
ENTRIES_BEHIND(window_beyond_bar, "window-beyond-bar", "its registers are RAM or somebody else's");
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
ENTRIES(registers_all_ones, "registers-all-ones", 3, "there is no unit at its control address");
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

/* Lines of the kernel's log since boot with both texts in them. */
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

static int is_bound(const char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", pci);
	return access(path, F_OK) == 0;
}

/* Lines of a file of the function's, those with why in them. */
static int refused_lines(const char *pci, const char *why)
{
	char path[128], text[4096], *line, *rest = text;
	int count = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/uncore_pmon/refused", pci);
	if (read_text(path, text, sizeof(text)))
		return -1;
	while ((line = strsep(&rest, "\n")))
		count += *line && strstr(line, why);
	return count;
}

/* First or last byte of a BAR, 0: there is none. */
static unsigned long long bar_edge(const char *pci, int bar, int last)
{
	unsigned long long edges[2] = {};
	char path[128], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", pci);
	file = fopen(path, "r");
	for (int i = 0; file && i <= bar; i++) {
		if (fgets(line, sizeof(line), file) && i == bar)
			sscanf(line, "%llx %llx", &edges[0], &edges[1]);
	}
	if (file)
		fclose(file);
	return edges[!!last];
}

/* Is there a BAR of an uncore function behind that of the units? */
static int bar_follows(const char *pci)
{
	unsigned long long address = bar_edge(pci, BAR_OF_UNITS, 1) + 1;
	char other[PCI_NAME_BYTES];

	for (int i = 0; !pci_find(UNCORE_VENDOR, UNCORE_DEVICE, i, other); i++) {
		for (int bar = 0; bar < BARS; bar++) {
			if (bar_edge(other, bar, 0) && address >= bar_edge(other, bar, 0) &&
			    address <= bar_edge(other, bar, 1))
				return 1;
		}
	}
	return 0;
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

TEST_F_TIMEOUT(fault, is_met_with_one_line, TIMEOUT_SECONDS)
{
	const char *why = variant->why;
	char prefix[PCI_NAME_BYTES + 2];

	if (variant->behind_bar && bar_follows(self->pci))
		why = "its registers are in a BAR of another function";
	snprintf(prefix, sizeof(prefix), "%s:", self->pci);
	switch (variant->outcome) {
	case TABLE_REFUSED:
		EXPECT_FALSE(is_bound(self->pci));
		EXPECT_EQ(1, lines_with(prefix, why));
		EXPECT_EQ(1, lines_with(prefix, "uncore_pmon"));
		break;
	case ENTRIES_REFUSED:
		EXPECT_TRUE(is_bound(self->pci));
		EXPECT_EQ(variant->refused, refused_lines(self->pci, why)) TH_LOG("%s", why);
		EXPECT_EQ(variant->refused, refused_lines(self->pci, ""));
		EXPECT_EQ(variant->refused, lines_with(prefix, "entry "));
		break;
	case SURVIVES:
		EXPECT_TRUE(is_bound(self->pci));
		break;
	}
}

/* The PMU of the function whose units go backwards; its name has the number of its package. */
TEST(backwards_counters_are_said_once_and_not_counted)
{
	int index = index_of_fault("counters-go-backwards"), events[2], found = -1;
	char pci[PCI_NAME_BYTES], pmu[64], path[128];
	struct uncore_count count;
	long long rejected = 0;

	if (index < 0)
		SKIP(return, "no function with that fault");
	ASSERT_EQ(0, pci_find(UNCORE_VENDOR, UNCORE_DEVICE, index, pci));
	for (int die = 1; die < 64 && found < 0; die++) {
		snprintf(pmu, sizeof(pmu), "uncore_imc_0_die%d", die);
		events[0] = pmu_type(pmu) < 0 ? -1 : uncore_open(pmu, IMC_CLOCK, -1);
		if (events[0] < 0)
			continue;
		events[1] = uncore_open(pmu, IMC_READS, -1);
		uncore_enable_event(events[0]);
		uncore_enable_event(events[1]);
		for (int i = 0; i < 5; i++) {
			uncore_read(events[0], &count);
			EXPECT_EQ(0, uncore_read(events[1], &count));
			EXPECT_EQ(0, count.value);
		}
		snprintf(path, sizeof(path), PMU_SYSFS "/%s/stats/rejected", pmu);
		if (!read_number(path, &rejected) && rejected)
			found = die;
		close(events[0]);
		close(events[1]);
	}
	ASSERT_LE(0, found) TH_LOG("no PMU has rejected anything");
	EXPECT_LE(5, rejected);
	snprintf(path, sizeof(path), "%s: a counter went backwards", pmu);
	EXPECT_EQ(1, lines_with("uncore_pmon", path));
}

int main(int argc, char **argv)
{
	char pci[PCI_NAME_BYTES];

	if (pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, pci))
		ksft_exit_skip("no uncore function\n");
	return test_harness_run(argc, argv);
}
