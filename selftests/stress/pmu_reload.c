// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_reload --pmu PMU [--event TERMS] [--aux PAGES] [--cycles N]
 *            --load 'MODULE=FILE[ PARAMETERS]'...
 *
 * Unloads and loads the modules, given in load order, N times (default: 200), and runs an event of
 * the PMU after each load. While the modules are unloaded, no file or interrupt may have their
 * name. The memory of the kernel must not grow; on a debug kernel kmemleak detects smaller leaks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define RUN_US		1000
#define MOST_MODULES	4
#define WARM_CYCLES	10	/* before the first measurement, to fill caches of the kernel */
#define SLACK_KB	4096

struct reload {
	struct stress_subject subject;
	struct module modules[MOST_MODULES];
	unsigned int nr_modules, cycles;
};

/* Options */

static const struct option options[] = {
	{ "cycles", required_argument, NULL, 'c' },
	{ "load", required_argument, NULL, 'l' },
	{ 0 },
};

static bool take_module(struct reload *reload, const char *text)
{
	return reload->nr_modules < MOST_MODULES &&
	       module_parse(&reload->modules[reload->nr_modules++], text);
}

static bool take(void *data, int option)
{
	struct reload *reload = data;

	if (option == 'l')
		return take_module(reload, optarg);
	reload->cycles = strtoul(optarg, NULL, 0);
	return option == 'c' && reload->cycles;
}

/* Cycles */

static int unload_all(const struct reload *reload)
{
	int err = 0;

	for (unsigned int i = reload->nr_modules; !err && i; i--)
		err = module_unload(reload->modules[i - 1].name);
	return err;
}

static int load_all(const struct reload *reload)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < reload->nr_modules; i++)
		err = module_load_with(reload->modules[i].file, reload->modules[i].parameters);
	return err;
}

/* Waits for the PMU, as devices may be probed after the load returns, and runs an event. */
static int use(struct stress_subject *subject)
{
	struct pmu_event event = { .fd = -1 };
	char path[256];
	int err;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", subject->name);
	err = wait_for_file(path, true) ?:
	      stress_pmu_choose(&subject->pmu, subject->name, subject->terms) ?:
	      stress_subject_start(subject, &event);
	usleep(RUN_US);
	err = err ?: pmu_event_disable(&event);
	pmu_event_close(&event);
	return err;
}

/* Files that a module may create under its name. */
static const char *const places[] = {
	"/sys/module/%s", "/sys/bus/pci/drivers/%s", "/sys/kernel/debug/%s",
	"/sys/kernel/tracing/events/%s", "/sys/kernel/config/%s",
};

static bool has_interrupt(const char *name)
{
	FILE *file = fopen("/proc/interrupts", "r");
	bool found = !file;
	char line[4096];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, name);
	if (file)
		fclose(file);
	return found;
}

static int left_of(const char *name)
{
	char path[256];
	int err = has_interrupt(name) ? -EEXIST : 0;

	for (unsigned int i = 0; !err && i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), places[i], name);
		err = access(path, F_OK) ? 0 : -EEXIST;
	}
	return err;
}

/* Returns -EEXIST if the PMU is still registered, or a file or interrupt of a module exists. */
static int names_are_gone(const struct reload *reload)
{
	int err = pmu_type(reload->subject.name) < 0 ? 0 : -EEXIST;

	for (unsigned int i = 0; !err && i < reload->nr_modules; i++)
		err = left_of(reload->modules[i].name);
	return err;
}

static int cycle(struct reload *reload)
{
	return unload_all(reload) ?: names_are_gone(reload) ?: load_all(reload) ?:
	       use(&reload->subject);
}

static int cycles(struct reload *reload, unsigned int count)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < count; i++) {
		err = cycle(reload);
		if (err)
			ksft_print_msg("%s: cycle %u: %s\n", reload->subject.name, i,
				       strerror(-err));
	}
	return err;
}

/* Returns the memory of the kernel itself in KiB, without programs and files; -1: unknown. */
static long kernel_memory(void)
{
	static const char *const lines[] = { "SUnreclaim", "KernelStack", "PageTables", "Percpu",
					     "VmallocUsed" };
	char name[64];
	long kb, sum = 0;
	unsigned int found = 0;
	FILE *file;

	sync();
	write_text("/proc/sys/vm/drop_caches", "3");
	sleep(2);	/* for memory that is freed after a grace period */
	file = fopen("/proc/meminfo", "r");
	while (file && fscanf(file, "%63[^:]: %ld%*[^\n] ", name, &kb) == 2)
		for (unsigned int i = 0; i < ARRAY_SIZE(lines); i++)
			if (!strcmp(name, lines[i])) {
				sum += kb;
				found++;
			}
	if (file)
		fclose(file);
	return found == ARRAY_SIZE(lines) ? sum : -1;
}

int main(int argc, char **argv)
{
	struct reload reload = { .cycles = 200 };
	long before, after;
	int err;

	if (!stress_subject_parse(&reload.subject, argc, argv, options, take, &reload) ||
	    !reload.nr_modules) {
		fprintf(stderr,
			"usage: pmu_reload --pmu PMU --load MODULE=FILE [options], see the head of its source\n");
		return 2;
	}
	stress_subject_choose(&reload.subject);
	ksft_set_plan(2);
	err = cycles(&reload, WARM_CYCLES);
	before = kernel_memory();
	err = err ?: cycles(&reload, reload.cycles);
	after = kernel_memory();
	ksft_test_result(!err, "%s: unloaded, loaded and used %u times: %s\n", reload.subject.name,
			 reload.cycles, strerror(-err));
	ksft_test_result(before >= 0 && after >= 0 && after - before <= SLACK_KB,
			 "%s: kernel memory does not grow: %ld KiB before, %ld KiB after\n",
			 reload.subject.name, before, after);
	ksft_finished();
}
