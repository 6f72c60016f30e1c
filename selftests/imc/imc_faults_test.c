// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests invalid catalogs: the engine does not load, one log line names the invalid node of the
 * catalog's device tree, no PMU is registered, and a valid catalog works afterwards. If only one
 * unit is invalid, the PMU of this unit is missing, a log line names the node, and the other units
 * work. The environment variable PMUKIT_ENGINE is the path of imc_engine.ko.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_counter.h"
#include "kselftest_harness.h"
#include "pmu_machine.h"

#define CATALOG		"/lib/firmware/pmukit/imc-power9.dtb"
#define MAX_BYTES	0x10000

/*
 * The test replaces the first occurrence of @find in the catalog by @put. The members from @node on
 * are the expected result.
 */
struct damage {
	const char *find, *put;
	size_t length;
	const char *node, *said;
	const char *missing;	/* name of the missing PMU; NULL: all PMUs are missing */
	int lines;		/* number of log lines, one per affected unit */
};

#define REFUSED(find, put, node, said)	{ find, put, sizeof(find) - 1, node, said, NULL, 1 }
#define SKIPPED(find, put, node, said, missing, lines) \
	{ find, put, sizeof(find) - 1, node, said, missing, lines }

static const struct damage refused[] = {
	REFUSED("\xd0\x0d\xfe\xed", "\xd0\x0d\xfe\xee", "/", "not a flattened device tree"),
	REFUSED("ibm,opal-in-memory-counters", "ibm,opal-in-memory-counterz", "/",
		"no node is compatible"),
	REFUSED("events-prefix", "events-prefiy", "/imc-counters/mcs01@c8",
		"without events-prefix"),
	REFUSED("events-prefix", "events-prefiy", "/", "no unit"),
	REFUSED("event-name", "event-namf", "/imc-counters/nest-mcs01-events/event@8",
		"without event-name"),
};

static const struct damage skipped[] = {
	/* The leading zero byte prevents a match inside "cb_offset". */
	SKIPPED("\0offset", "\0offsez", "/imc-counters/mcs01@c8", "without offset",
		"nest_mcs01_imc", 1),
	SKIPPED("32MHZ_CYC", "32MHZ/CYC", "/imc-counters/core-thread-events/event@88",
		"other than letters", "core_imc", 2),
	SKIPPED("RD_DISP_PORT23", "RD_DISP_PORT01", "/imc-counters/nest-mcs01-events/event@28",
		"of that name already", "nest_mcs01_imc", 1),
	/*
	 * A cb_offset within the parser's limit of 4 MiB, but beyond the memory of the simulated
	 * chip
	 */
	SKIPPED("\0\x03\xfc\0", "\0\x04\0\0", "mcs01", "beyond the 0x1c0000 bytes of chip",
		"nest_mcs01_imc", 1),
	SKIPPED("thread@18", "core@0018", "/imc-counters/core@0018", "of that name already",
		"thread_imc", 1),
};

static const size_t lengths[] = { 0, 1, 39, 40, 400 };

FIXTURE(imc_faults)
{
	char good[MAX_BYTES], bad[MAX_BYTES];
	size_t bytes;
	int log;
};

static size_t read_all(const char *path, char *content)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? 0 : read(file, content, MAX_BYTES);

	close(file);
	return got > 0 ? got : 0;
}

static bool write_all(const char *path, const char *content, size_t bytes)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool whole = file >= 0 && write(file, content, bytes) == (ssize_t)bytes;

	close(file);
	return whole;
}

FIXTURE_SETUP(imc_faults)
{
	if (!getenv("PMUKIT_ENGINE"))
		SKIP(return, "PMUKIT_ENGINE says which module");
	if (!engine_is_loaded())
		SKIP(return, "no engine");
	self->bytes = read_all(CATALOG, self->good);
	ASSERT_GT(self->bytes, 400);
	ASSERT_LT(self->bytes, MAX_BYTES);
	self->log = log_open();
	ASSERT_GE(self->log, 0);
	ASSERT_EQ(module_unload("imc_engine"), 0);
}

/* Restores the catalog; events must work as before. */
FIXTURE_TEARDOWN(imc_faults)
{
	struct pmu_event event = { .fd = -1 };

	close(self->log);
	EXPECT_TRUE(write_all(CATALOG, self->good, self->bytes));
	EXPECT_EQ(module_load(getenv("PMUKIT_ENGINE")), 0);
	EXPECT_EQ(counter_open(&event, "core_imc", "CPM_CCYC", -1, 0), 0);
	pmu_event_close(&event);
}

struct wanted {
	const char *node, *said;
};

static bool is_wanted(const char *line, const void *data)
{
	const struct wanted *wanted = data;
	const char *node = strstr(line, "imc-power9.dtb: ");

	if (!node)
		return false;
	node += strlen("imc-power9.dtb: ");
	return !strncmp(node, wanted->node, strlen(wanted->node)) && strstr(line, wanted->said);
}

static bool any(const char *line, const void *data)
{
	return false;
}

static bool damage_it(char *content, size_t bytes, const struct damage *damage)
{
	char *at = memmem(content, bytes, damage->find, damage->length);

	if (!at)
		return false;
	memcpy(at, damage->put, damage->length);
	return true;
}

/*
 * Loads the engine with a damaged catalog. Returns the result of module_load(); stores the number
 * of matching log lines in @lines.
 */
static int load_damaged(FIXTURE_DATA(imc_faults) *self, const struct damage *damage, int *lines)
{
	const struct wanted wanted = { damage->node, damage->said };
	int ret;

	memcpy(self->bad, self->good, self->bytes);
	if (!damage_it(self->bad, self->bytes, damage) ||
	    !write_all(CATALOG, self->bad, self->bytes))
		return -EIO;
	log_count(self->log, any, NULL);
	ret = module_load(getenv("PMUKIT_ENGINE"));
	*lines = log_count(self->log, is_wanted, &wanted);
	return ret;
}

TEST_F_TIMEOUT(imc_faults, rejects_damaged_catalog_and_logs_which_node_is_invalid, 120)
{
	int lines;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const char *said = refused[i].said;

		EXPECT_EQ(load_damaged(self, &refused[i], &lines), -EINVAL) TH_LOG("%s", said);
		EXPECT_EQ(lines, refused[i].lines) TH_LOG("%s", said);
		EXPECT_EQ(pmu_type("core_imc"), -ENOENT) TH_LOG("%s", said);
		EXPECT_EQ(pmu_type("nest_mcs01_imc"), -ENOENT) TH_LOG("%s", said);
		EXPECT_FALSE(engine_is_loaded());
	}
}

TEST_F_TIMEOUT(imc_faults, skips_invalid_unit_of_the_catalog_and_logs_it, 120)
{
	int lines;

	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++) {
		const char *said = skipped[i].said;

		EXPECT_EQ(load_damaged(self, &skipped[i], &lines), 0) TH_LOG("%s", said);
		EXPECT_EQ(lines, skipped[i].lines) TH_LOG("%s", said);
		EXPECT_EQ(pmu_type(skipped[i].missing), -ENOENT) TH_LOG("%s", said);
		EXPECT_GE(pmu_type("trace_imc"), 0) TH_LOG("%s", said);
		ASSERT_EQ(module_unload("imc_engine"), 0);
	}
}

TEST_F_TIMEOUT(imc_faults, rejects_truncated_catalog, 120)
{
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		ASSERT_TRUE(write_all(CATALOG, self->good, lengths[i]));
		EXPECT_EQ(module_load(getenv("PMUKIT_ENGINE")), -EINVAL)
			TH_LOG("%zu bytes", lengths[i]);
		EXPECT_EQ(pmu_type("core_imc"), -ENOENT);
	}
	ASSERT_EQ(unlink(CATALOG), 0);
	EXPECT_EQ(module_load(getenv("PMUKIT_ENGINE")), -ENOENT);
	EXPECT_EQ(pmu_type("core_imc"), -ENOENT);
}

TEST_HARNESS_MAIN
