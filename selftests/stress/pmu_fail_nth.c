// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_fail_nth --pmu PMU [--event TERMS] [--aux PAGES] [--task | --cgroup FOLDER]
 *              [--bind DRIVER/DEVICE] [--load MODULE=FILE] [--write FILE=[BEFORE,]VALUE]...
 *              [--mkdir FOLDER] [--dense N]
 *
 * Repeats each act with a PMU (such as open or map, see acts[]): in its n-th run, the n-th slab
 * allocation of the act fails, until the act runs without an injected failure. Then does the same
 * with page allocations and with user copies. An act with an injected failure must return an error
 * or succeed; an act without one must succeed. The steps before an act must always succeed, which
 * shows that earlier failures have no lasting effects. kmemleak detects leaks.
 * By default each call fails once. With --dense N, each of the first N calls fails once; then the
 * step to the next failing call grows by one every N calls. Events count on a CPU, in this task
 * (--task) or in a cgroup. Each --write is a separate act; the program first writes BEFORE, if
 * given, without injected failures.
 *
 * Needs fault injection with stack filters (Documentation/fault-injection in the kernel source):
 * only calls with a module on the stack fail. Allocations of kmemleak itself do not fail, because
 * kmemleak would disable itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define DEBUGFS		"/sys/kernel/debug"
/* Limit of the injected failures of one kind in an act; the test fails if an act needs more. */
#define MOST_FAILURES	100000
#define DATA_PAGES	4
#define AROUND_MODULES	(64ULL << 20)	/* margin for modules that are loaded later */
#define BIND_BYTES	128
#define MOST_WRITES	16

struct file_write {
	char file[BIND_BYTES];
	char value[BIND_BYTES];
	char before[BIND_BYTES];	/* value that is written first; empty: none */
};

struct trial {
	struct stress_subject subject;
	bool task;			/* true: events count in this task; false: on a CPU */
	const char *cgroup;		/* folder of a cgroup, or NULL */
	struct pmu_event event;		/* fd -1: closed */
	unsigned int dense;
	char driver[BIND_BYTES], device[BIND_BYTES];
	char module[BIND_BYTES], file[BIND_BYTES];	/* name and file of the module */
	struct file_write writes[MOST_WRITES];
	unsigned int nr_writes;
	const struct file_write *write;	/* the write under test */
	const char *folder;
};

/* Fault injection */

static const char *const injectors[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
#define NR_INJECTORS	ARRAY_SIZE(injectors)

static int set(const char *injector, const char *file, unsigned long long value)
{
	char path[256], text[32];

	snprintf(path, sizeof(path), DEBUGFS "/%s/%s", injector, file);
	snprintf(text, sizeof(text), "%llu", value);
	return write_text(path, text);
}

/* Address range [begin, end) of a kernel function. */
static int find_function(const char *name, unsigned long long *begin, unsigned long long *end)
{
	unsigned long long at;
	char symbol[128];
	FILE *file = fopen("/proc/kallsyms", "r");

	*begin = *end = 0;
	if (!file)
		return -errno;
	while (fscanf(file, "%llx %*c %127s%*[^\n]", &at, symbol) == 2)
		if (!strcmp(symbol, name))
			*begin = at;
	rewind(file);
	while (*begin && fscanf(file, "%llx %*c %127s%*[^\n]", &at, symbol) == 2)
		if (at > *begin && (!*end || at < *end))
			*end = at;
	fclose(file);
	return *end ? 0 : -ENOENT;
}

/* Address range of the loaded modules. */
static int find_modules(unsigned long long *begin, unsigned long long *end)
{
	char text[64];
	glob_t found;

	*begin = ~0ULL;
	*end = 0;
	if (glob("/sys/module/*/sections/.text", 0, NULL, &found))
		return -ENOENT;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		unsigned long long at = 0;

		if (!read_text(found.gl_pathv[i], text, sizeof(text)))
			at = strtoull(text, NULL, 0);
		if (at && at < *begin)
			*begin = at;
		if (at > *end)
			*end = at;
	}
	globfree(&found);
	return *end ? 0 : -ENOENT;
}

static int choose_injector(unsigned int chosen, const unsigned long long modules[2])
{
	int err = 0;

	for (unsigned int i = 0; i < NR_INJECTORS && !err; i++) {
		/* Disable the other injectors by an address range that no stack matches. */
		err = set(injectors[i], "require-start", i == chosen ? modules[0] : 1);
		if (!err)
			err = set(injectors[i], "require-end", i == chosen ? modules[1] : 2);
	}
	return err;
}

static int set_up_injectors(unsigned long long modules[2])
{
	unsigned long long tracker[2], kernel[2];
	int err = find_modules(&modules[0], &modules[1]);

	if (!err)
		err = find_function("__alloc_object", &tracker[0], &tracker[1]);
	if (!err && find_function("_etext", &kernel[0], &kernel[1]))
		kernel[0] = 0;
	modules[0] -= AROUND_MODULES;
	if (modules[0] < kernel[0])
		modules[0] = kernel[0];
	modules[1] += AROUND_MODULES;
	for (unsigned int i = 0; i < NR_INJECTORS && !err; i++) {
		const char *name = injectors[i];

		err = set(name, "verbose", 0) ?: set(name, "stacktrace-depth", 32) ?:
		      set(name, "reject-start", tracker[0]) ?: set(name, "reject-end", tracker[1]);
	}
	/*
	 * By default failslab and fail_page_alloc ignore allocations that may sleep, and
	 * fail_page_alloc ignores order 0.
	 */
	return err ?: write_text(DEBUGFS "/failslab/ignore-gfp-wait", "N") ?:
		      write_text(DEBUGFS "/fail_page_alloc/ignore-gfp-wait", "N") ?:
		      set("fail_page_alloc", "min-order", 0);
}

/* Injects a failure into the n-th call of this process that can fail. If n is 0, into no call. */
static int arm(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	return write_text("/proc/self/fail-nth", text);
}

/* Returns the number of calls until the one that was to fail; 0: the failure was injected. */
static long long disarm(void)
{
	long long left = -1;

	read_number("/proc/self/fail-nth", &left);
	arm(0);
	return left;
}

/* Acts */

static int open_event(struct trial *trial)
{
	struct stress_subject *subject = &trial->subject;
	struct perf_event_attr attr;
	int cpu;

	subject->pmu.type = pmu_type(subject->name);	/* a new number after each bind */
	attr = stress_subject_attr(subject);
	if (subject->aux_pages)
		attr.sample_type = PERF_SAMPLE_RAW;
	if (trial->task)
		return pmu_event_open(&trial->event, &attr, 0, -1);
	cpu = stress_pmu_some_cpu(&subject->pmu);
	if (trial->cgroup)
		return pmu_event_open_cgroup(&trial->event, &attr, trial->cgroup, cpu);
	return pmu_event_open(&trial->event, &attr, -1, cpu);
}

static int map_event(struct trial *trial)
{
	return pmu_event_map(&trial->event, DATA_PAGES, trial->subject.aux_pages);
}

static int enable_event(struct trial *trial)
{
	return pmu_event_enable(&trial->event);
}

static int disable_event(struct trial *trial)
{
	return pmu_event_disable(&trial->event);
}

static int read_event(struct trial *trial)
{
	__u64 count;

	return read(trial->event.fd, &count, sizeof(count)) < 0 ? -errno : 0;
}

static int close_event(struct trial *trial)
{
	pmu_event_close(&trial->event);
	return 0;
}

static int open_and_map(struct trial *trial)
{
	return open_event(trial) ?: map_event(trial);
}

static int open_map_enable(struct trial *trial)
{
	return open_and_map(trial) ?: enable_event(trial);
}

static int tell_driver(struct trial *trial, const char *file)
{
	char path[2 * BIND_BYTES];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/%s", trial->driver, file);
	return write_text(path, trial->device);
}

static int is_bound(struct trial *trial)
{
	char path[3 * BIND_BYTES];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/%s", trial->driver,
		 trial->device);
	return !access(path, F_OK);
}

static int unbind(struct trial *trial)
{
	return is_bound(trial) ? tell_driver(trial, "unbind") : 0;
}

static int bind(struct trial *trial)
{
	return tell_driver(trial, "bind");
}

static int bind_and_open(struct trial *trial)
{
	return (is_bound(trial) ? 0 : bind(trial)) ?: open_event(trial);
}

/* Closes the last event of an unbound device, and waits until the PMU is unregistered. */
static int close_and_wait(struct trial *trial)
{
	char path[sizeof(PMU_SYSFS) + BIND_BYTES];

	close_event(trial);
	snprintf(path, sizeof(path), PMU_SYSFS "/%s", trial->subject.name);
	return wait_for_file(path, false);
}

static int unload(struct trial *trial)
{
	int err = module_unload(trial->module);

	return err == -ENOENT ? 0 : err;
}

static int load(struct trial *trial)
{
	return module_load(trial->file);
}

static int write_before(struct trial *trial)
{
	const struct file_write *write = trial->write;

	return write->before[0] ? write_text(write->file, write->before) : 0;
}

static int write_file(struct trial *trial)
{
	return write_text(trial->write->file, trial->write->value);
}

static int make_folder(struct trial *trial)
{
	return mkdir(trial->folder, 0755) ? -errno : 0;
}

static int remove_folder(struct trial *trial)
{
	return rmdir(trial->folder) && errno != ENOENT ? -errno : 0;
}

static int nothing(struct trial *trial)
{
	return 0;
}

/* fertile: the act always makes a slab allocation that can fail. */
static const struct act {
	const char *name;
	int (*before)(struct trial *trial);
	int (*act)(struct trial *trial);
	int (*after)(struct trial *trial);
	bool fertile;
} acts[] = {
	{ "open", nothing, open_event, close_event, true },
	{ "map", open_event, map_event, close_event, false },
	{ "enable", open_and_map, enable_event, close_event, false },
	{ "read", open_map_enable, read_event, close_event, false },
	{ "disable", open_map_enable, disable_event, close_event, false },
	{ "close", open_map_enable, close_event, nothing, false },
	{ "write", write_before, write_file, nothing, false },
	{ "mkdir", nothing, make_folder, remove_folder, true },
	{ "unbind", bind_and_open, unbind, close_and_wait, false },
	{ "bind", unbind, bind, nothing, true },
	{ "load", unload, load, nothing, true },
};

#define NR_ACTS	ARRAY_SIZE(acts)

/* Number of runs of an act: 1 for acts on an event, else the number of options that request it. */
static unsigned int times(const struct trial *trial, const struct act *act)
{
	if (act->act == write_file)
		return trial->nr_writes;
	if (act->act == make_folder)
		return trial->folder ? 1 : 0;
	if (act->act == bind || act->act == unbind)
		return trial->device[0] ? 1 : 0;
	if (act->act == load)
		return trial->module[0] ? 1 : 0;
	return 1;
}

/* Sweeps */

struct tally {
	unsigned int failures;		/* runs of the act with an injected failure */
	unsigned int errors;		/* those of these runs in which the act returned an error */
};

/* Returns an error text, or NULL. */
static const char *sweep(struct trial *trial, const struct act *act, struct tally *tally)
{
	long long left = 0;
	int err = 0;

	for (unsigned int n = 1, step; n <= MOST_FAILURES; n += step) {
		step = 1 + (trial->dense ? n / trial->dense : 0);
		if (act->before(trial))
			return "what comes before it failed after a failure";
		if (arm(n))
			return "no fail-nth";
		err = act->act(trial);
		left = disarm();
		if (act->after(trial))
			return "what comes after it failed";
		if (left)
			return err ? strerror(-err) : NULL;
		tally->failures++;
		tally->errors += !!err;
		if (err > 0)
			return "neither worked nor gave an error";
	}
	return "there is no end of what may fail";
}

static void try_act(struct trial *trial, const struct act *act,
		    const unsigned long long modules[2])
{
	char what[2 * BIND_BYTES + 4] = "";
	unsigned int slab = 0;

	if (act->act == write_file)
		snprintf(what, sizeof(what), " %s=%s", trial->write->file, trial->write->value);
	for (unsigned int i = 0; i < NR_INJECTORS; i++) {
		struct tally tally = { 0 };
		const char *wrong = "cannot be set";

		if (!choose_injector(i, modules))
			wrong = sweep(trial, act, &tally);
		pmu_event_close(&trial->event);
		ksft_test_result(!wrong, "%s%s: %s: %u failures, %u errors%s%s\n", act->name, what,
				 injectors[i], tally.failures, tally.errors, wrong ? ": " : "",
				 wrong ?: "");
		if (!i)
			slab = tally.failures;
	}
	if (act->fertile)
		ksft_test_result(slab, "%s: at least one slab allocation failed\n", act->name);
}

/* Options */

/* "A=B" or "A/B" */
static bool split(char separator, char first[BIND_BYTES], char second[BIND_BYTES])
{
	char *at = strchr(optarg, separator);

	if (!at)
		return false;
	snprintf(first, BIND_BYTES, "%.*s", (int)(at - optarg), optarg);
	snprintf(second, BIND_BYTES, "%s", at + 1);
	return true;
}

/* FILE=VALUE or FILE=BEFORE,VALUE */
static bool take_write(struct trial *trial)
{
	struct file_write *write = &trial->writes[trial->nr_writes];
	char *comma;

	if (trial->nr_writes == MOST_WRITES || !split('=', write->file, write->value))
		return false;
	comma = strchr(write->value, ',');
	if (comma) {
		*comma = '\0';
		strcpy(write->before, write->value);
		memmove(write->value, comma + 1, strlen(comma + 1) + 1);
	}
	trial->nr_writes++;
	return true;
}

static const struct option options[] = {
	{ "task", no_argument, NULL, 't' },
	{ "cgroup", required_argument, NULL, 'c' },
	{ "bind", required_argument, NULL, 'b' },
	{ "load", required_argument, NULL, 'l' },
	{ "write", required_argument, NULL, 'w' },
	{ "mkdir", required_argument, NULL, 'm' },
	{ "dense", required_argument, NULL, 'd' },
	{ 0 },
};

static bool take(void *data, int option)
{
	struct trial *trial = data;

	switch (option) {
	case 'b':
		return split('/', trial->driver, trial->device);
	case 'l':
		return split('=', trial->module, trial->file);
	case 't':
		trial->task = true;
		return true;
	case 'c':
		trial->cgroup = optarg;
		return true;
	case 'w':
		return take_write(trial);
	case 'm':
		trial->folder = optarg;
		return true;
	case 'd':
		trial->dense = atoi(optarg);
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct trial trial = { .event.fd = -1 };
	unsigned long long modules[2];
	unsigned int plan = 0;
	int err;

	if (!stress_subject_parse(&trial.subject, argc, argv, options, take, &trial)) {
		fprintf(stderr,
			"usage: pmu_fail_nth --pmu PMU [options], see the head of its source\n");
		return 2;
	}
	stress_subject_choose(&trial.subject);
	err = set_up_injectors(modules);
	if (err)
		ksft_exit_fail_msg("the kernel's fault injection: %s\n", strerror(-err));

	for (unsigned int i = 0; i < NR_ACTS; i++)
		plan += times(&trial, &acts[i]) * (NR_INJECTORS + acts[i].fertile);
	ksft_set_plan(plan + 1);
	for (unsigned int i = 0; i < NR_ACTS; i++)
		for (unsigned int n = 0; n < times(&trial, &acts[i]); n++) {
			trial.write = &trial.writes[n];
			try_act(&trial, &acts[i], modules);
		}
	err = open_map_enable(&trial);
	ksft_test_result(!err, "an event can be enabled after all injected failures\n");
	close_event(&trial);
	ksft_finished();
}
