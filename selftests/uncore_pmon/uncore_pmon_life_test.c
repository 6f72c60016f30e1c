// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removes the function, and tries to unload the module, while events run, twenty times each. After
 * each removal the old events must fail cleanly and new events must count exactly.
 *   PMUKIT_MODULE   path of the module, for loading it again
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "uncore_unit.h"

#define TIMES		20
#define MODULE		"uncore_pmon"
#define PMU		"uncore_imc_0"
#define EVENTS		3
#define LOADS		40
#define STORES		15
#define BAR_OF_UNITS	2
#define CONFIG_BAR2	0x18
#define TIMEOUT_SECONDS	300

FIXTURE(life) {
	char pci[PCI_NAME_BYTES];
	int fds[EVENTS];
};

/* Opens and enables a group of two events and a third event. */
static int open_running(int fds[EVENTS])
{
	static const __u64 configs[EVENTS] = { IMC_READS, IMC_WRITES, IMC_ALL };

	for (int i = 0; i < EVENTS; i++) {
		fds[i] = uncore_open(PMU, configs[i], i == 1 ? fds[0] : -1);
		if (fds[i] < 0)
			return fds[i];
	}
	return uncore_enable_event(fds[0]) ?: uncore_enable_event(fds[2]);
}

static void close_all(int fds[EVENTS])
{
	for (int i = 0; i < EVENTS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Makes accesses and compares the increase of each count. */
static void touch_and_compare(struct __test_metadata *_metadata, const char *pci,
			      const int fds[EVENTS])
{
	static const __u64 expected[EVENTS] = { LOADS, STORES, LOADS + STORES };
	struct uncore_count before[EVENTS], after;
	struct uncore_memory ddr;

	for (int i = 0; i < EVENTS; i++)
		ASSERT_EQ(0, uncore_read(fds[i], &before[i]));
	ASSERT_EQ(0, uncore_map(pci, UNCORE_DDR_BAR, &ddr));
	uncore_touch(&ddr, 0, LOADS, STORES);
	uncore_unmap(&ddr);
	for (int i = 0; i < EVENTS; i++) {
		ASSERT_EQ(0, uncore_read(fds[i], &after));
		ASSERT_EQ(expected[i], after.value - before[i].value)
			TH_LOG("event %d, which ran %llu of %llu ns", i,
			       after.running_ns - before[i].running_ns,
			       after.enabled_ns - before[i].enabled_ns);
	}
}

static void everything_works(struct __test_metadata *_metadata, const char *pci)
{
	int fds[EVENTS] = { -1, -1, -1 };

	ASSERT_EQ(0, uncore_wait(PMU, 1));
	ASSERT_EQ(0, open_running(fds));
	touch_and_compare(_metadata, pci, fds);
	close_all(fds);
}

/* Reads must fail: a returned count would look complete. The other calls must not hang or crash. */
static void use_dead_events(struct __test_metadata *_metadata, const int fds[EVENTS])
{
	struct uncore_count count;

	for (int i = 0; i < EVENTS; i++) {
		EXPECT_GT(0, uncore_read(fds[i], &count)) TH_LOG("event %d", i);
		uncore_disable_event(fds[i]);
		uncore_enable_event(fds[i]);
		uncore_read(fds[i], &count);
	}
}

/* Returns how many removed PMUs perf still has, under a name with "pmukit_removed"; or -1. */
static long long leavers(void)
{
	glob_t found;
	long long n;
	int err;

	err = glob("/sys/devices/pmukit_removed.*", GLOB_NOSORT, NULL, &found);
	if (err)
		return err == GLOB_NOMATCH ? 0 : -1;
	n = found.gl_pathc;
	globfree(&found);
	return n;
}

FIXTURE_SETUP(life)
{
	memset(self->fds, -1, sizeof(self->fds));
	if (pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, self->pci) || geteuid())
		SKIP(return, "no uncore function, or not root");
	ASSERT_EQ(0, uncore_wait(PMU, 1));
}

FIXTURE_TEARDOWN(life)
{
	close_all(self->fds);
}

static int remove_function(const char *pci)
{
	return pci_write(pci, "remove", "1") ?: uncore_wait(PMU, 0);
}

static int rescan(void)
{
	return pci_rescan() ?: uncore_wait(PMU, 1);
}

/*
 * The driver renames a removed PMU until perf has unregistered it. After a rescan no PMU may be
 * left under such a name.
 */
TEST_F_TIMEOUT(life, no_removed_pmu_is_left_after_the_rescan, TIMEOUT_SECONDS)
{
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, remove_function(self->pci));
		ASSERT_EQ(0, rescan());
		ASSERT_EQ(0, leavers());
	}
	everything_works(_metadata, self->pci);
}

/* In every second round the test closes the events of the removed PMU before the rescan. */
TEST_F_TIMEOUT(life, new_event_works_after_remove_and_rescan, TIMEOUT_SECONDS)
{
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, open_running(self->fds));
		touch_and_compare(_metadata, self->pci, self->fds);
		ASSERT_EQ(0, remove_function(self->pci));
		use_dead_events(_metadata, self->fds);
		if (i % 2)
			close_all(self->fds);
		ASSERT_EQ(0, rescan());
		everything_works(_metadata, self->pci);
		close_all(self->fds);
	}
}

/* Address that the guest has assigned to the BAR of the units. */
static unsigned long long units_at(const char *pci)
{
	unsigned long long begin = 0;
	char path[128], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", pci);
	file = fopen(path, "r");
	for (int bar = 0; file && bar <= BAR_OF_UNITS; bar++) {
		if (fgets(line, sizeof(line), file) && bar == BAR_OF_UNITS)
			sscanf(line, "%llx", &begin);
	}
	if (file)
		fclose(file);
	return begin;
}

static int write_bar(const char *pci, unsigned int value)
{
	char path[128];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pwrite(fd, &value, sizeof(value), CONFIG_BAR2) != sizeof(value))
		err = -errno;
	close(fd);
	return err;
}

/*
 * If BAR 2 has no address, the kernel assigns a new one at the rescan. The units are at offsets in
 * this BAR, so their addresses change, too.
 */
TEST_F_TIMEOUT(life, new_events_count_exactly_after_the_bar_of_the_units_moves, TIMEOUT_SECONDS)
{
	unsigned long long before = units_at(self->pci), after;

	ASSERT_EQ(0, open_running(self->fds));
	touch_and_compare(_metadata, self->pci, self->fds);
	ASSERT_EQ(0, write_bar(self->pci, 0));
	ASSERT_EQ(0, remove_function(self->pci));
	use_dead_events(_metadata, self->fds);
	ASSERT_EQ(0, rescan());
	everything_works(_metadata, self->pci);
	after = units_at(self->pci);
	EXPECT_NE(before, after);
	EXPECT_NE(0, after);
}

TEST_F_TIMEOUT(life, rmmod_fails_while_an_event_is_open_and_works_after_close, TIMEOUT_SECONDS)
{
	const char *file = getenv("PMUKIT_MODULE");

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, open_running(self->fds));
		ASSERT_EQ(-EWOULDBLOCK, module_try_unload(MODULE));
		touch_and_compare(_metadata, self->pci, self->fds);
		close_all(self->fds);
		ASSERT_EQ(0, module_unload(MODULE));
		ASSERT_EQ(0, uncore_wait(PMU, 0));
		ASSERT_EQ(0, module_load(file));
		everything_works(_metadata, self->pci);
	}
}

int main(int argc, char **argv)
{
	char pci[PCI_NAME_BYTES];

	if (pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, pci))
		ksft_exit_skip("no uncore function\n");
	return test_harness_run(argc, argv);
}
