// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "pci_function.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define PCI		"/sys/bus/pci"
#define PAUSE_US	50000
#define LONG_PAUSE_US	500000	/* time to open events of a PMU that was added again */
#define PATIENCE_MS	30000
#define DEEPEST		4	/* levels of folders that are read below a folder */
#define OPENS_PER_LOOK		64	/* between two reads of a PMU's type number */
/* Limit of the events that must be opened between two removals of a PMU; the number is random. */
#define MOST_OPENS	8
#define WAIT_MS		30000	/* longest wait for opened events */
#define MOST_MODULES	2
#define MOST_GROUPS	4
#define MOST_GROUP_ACTS	8	/* writes per group */
#define NEIGHBOURS	16	/* PIDs to choose from: the parent's and those after it */

/* A deed's argument, split at its separator. */
struct target {
	struct stress_random random;
	char first[PATH_MAX];
	char second[PATH_MAX];		/* empty: there was no separator */
	/* Event of the PMU that was seen last, which may be unregistered. attr.size 0: none yet. */
	struct perf_event_attr attr;
	struct stress_progress *progress;
};

static void pause_up_to(struct target *target, unsigned int us)
{
	usleep(1 + stress_below(&target->random, us));
}

static void pause_a_moment(struct target *target)
{
	pause_up_to(target, PAUSE_US);
}

static int toggle_cpu(struct target *target)
{
	int err;

	__atomic_fetch_add(&target->progress->offlines, 1, __ATOMIC_SEQ_CST);
	err = cpu_set_online(atoi(target->first), "0");
	pause_a_moment(target);
	cpu_set_online(atoi(target->first), "1");
	return err;
}

/* @said is a name such as "0000:00:18.0", or "19e5:a12e" for the first function with these IDs. */
static const char *function_name(const char *said, char name[PCI_NAME_BYTES])
{
	unsigned int vendor, device;
	int end = 0;

	if (sscanf(said, "%4x:%4x%n", &vendor, &device, &end) == 2 && !said[end] &&
	    !pci_find(vendor, device, 0, name))
		return name;
	return said;
}

static int rebind(struct target *target)
{
	char path[PATH_MAX + 64], name[PCI_NAME_BYTES];
	const char *function = function_name(target->second, name);
	int err;

	snprintf(path, sizeof(path), PCI "/drivers/%s/unbind", target->first);
	err = write_text(path, function);
	pause_a_moment(target);
	snprintf(path, sizeof(path), PCI "/drivers/%s/bind", target->first);
	write_text(path, function);
	return err;
}

static int remove_and_rescan(struct target *target)
{
	char name[PCI_NAME_BYTES];
	int err = pci_write(function_name(target->first, name), "remove", "1");

	pause_a_moment(target);
	pci_rescan();
	return err;
}

/* Writes one of the listed values or, one time in four, a malformed or unlisted value. */
static int write_value(struct target *target)
{
	static const char *const nonsense[] = {
		"", "\n", "-1", "3", "4294967296", "0x", "a", " 1 2 ", "99999999999999999999",
	};
	char copy[PATH_MAX], *rest = copy, *value = NULL, *chosen = NULL;
	unsigned int seen = 0;

	snprintf(copy, sizeof(copy), "%s", target->second);
	while ((value = strsep(&rest, ",")))
		if (stress_one_in(&target->random, ++seen))
			chosen = value;
	if (!stress_one_in(&target->random, 4))
		return write_text(target->first, chosen);
	write_text(target->first,
		   nonsense[stress_below(&target->random, ARRAY_SIZE(nonsense))]);
	return 0;
}

/* Number of files that could be read. */
static unsigned int read_folder(const char *path, unsigned int depth)
{
	char below[PATH_MAX], text[4096];
	unsigned int answers = 0;
	struct dirent *entry;
	DIR *dir = depth ? opendir(path) : NULL;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		int bytes = snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);

		if (entry->d_name[0] == '.' || bytes >= (int)sizeof(below))
			continue;
		if (entry->d_type == DT_DIR)
			answers += read_folder(below, depth - 1);
		else if (entry->d_type == DT_REG && !read_text(below, text, sizeof(text)))
			answers++;
	}
	closedir(dir);
	return answers;
}

static int read_all(struct target *target)
{
	return read_folder(target->first, DEEPEST) ? 0 : -ENOENT;
}

static unsigned int parse_modules(char *text, struct module modules[MOST_MODULES])
{
	unsigned int count = 0;
	char *next;

	while (count < MOST_MODULES && (next = strsep(&text, ",")) &&
	       module_parse(&modules[count], next))
		count++;
	return count;
}

/*
 * Unloads and loads the first module, and sometimes also the modules that it depends on. Returns
 * -EAGAIN if events use the first module, which is a valid result.
 */
static int reload(struct target *target)
{
	struct module modules[MOST_MODULES];
	char text[PATH_MAX];
	unsigned int count, gone = 0;
	int err = -EINVAL, loaded = 0;

	snprintf(text, sizeof(text), "%s", target->first);
	count = parse_modules(text, modules);
	while (gone < count && !(gone && stress_one_in(&target->random, 2))) {
		err = module_try_unload(modules[gone].name);
		if (err)
			break;
		gone++;
	}
	if (gone)
		pause_a_moment(target);
	for (unsigned int i = gone; !loaded && i; i--)
		loaded = module_load_with(modules[i - 1].file, modules[i - 1].parameters);
	if (gone || loaded)
		return loaded;
	return err == -EWOULDBLOCK || err == -EBUSY ? -EAGAIN : err;
}

/* Groups of configfs */

static const struct {
	const char *file, *text;	/* text NULL: one of NEIGHBOURS pids */
} group_writes[] = {
	{ "monitor_cache", "1" }, { "monitor_cache", "1" }, { "cacheqos.monitor_cache", "0" },
	{ "monitor_cache", "2" }, { "tasks", "0" }, { "procs", "0" }, { "tasks", "-0" },
	{ "tasks", "0,1,x" }, { "tasks", NULL }, { "procs", NULL }, { "tasks", NULL },
};

static void write_to_group(struct target *target, const char *group)
{
	unsigned int which = stress_below(&target->random, ARRAY_SIZE(group_writes));
	char path[PATH_MAX + 128], process[32];

	snprintf(path, sizeof(path), "%s/%s", group, group_writes[which].file);
	snprintf(process, sizeof(process), "%d",
		 getppid() + (int)stress_below(&target->random, NEIGHBOURS));
	write_text(path, group_writes[which].text ?: process);
}

/*
 * Makes a group, sometimes with an inner group. Other actors may use the same groups at the same
 * time. Moves tasks into the groups, switches monitoring, reads all files, and removes the groups
 * with their tasks.
 */
static int use_group(struct target *target)
{
	char group[PATH_MAX + 32], inner[PATH_MAX + 64];
	const char *chosen = group;
	int err;

	snprintf(group, sizeof(group), "%s/stress%u", target->first,
		 stress_below(&target->random, MOST_GROUPS));
	snprintf(inner, sizeof(inner), "%s/inner", group);
	err = mkdir(group, 0755) ? -errno : 0;
	if (stress_one_in(&target->random, 2) && !mkdir(inner, 0755))
		chosen = inner;
	for (unsigned int n = stress_below(&target->random, MOST_GROUP_ACTS); n; n--)
		write_to_group(target, stress_one_in(&target->random, 4) ? group : chosen);
	if (stress_one_in(&target->random, 4))
		read_folder(group, DEEPEST);
	rmdir(inner);
	if (rmdir(group) && !err)
		err = -errno;
	return err;
}

static bool is_expected_of_a_stale_type(int err)
{
	return !err || err == ENOENT || err == ENODEV || err == EBUSY;
}

/*
 * Opens events by the last type number of the PMU, even if the PMU is no longer registered. The
 * events join a group, because perf_event_open() then waits for the mutex of the group's context
 * after it has looked up the PMU. Returns -EAGAIN if no event could be opened.
 */
static int open_by_number(struct target *target)
{
	struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(clock),
					 .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1 };
	const char *terms = *target->second ? target->second : NULL;
	struct stress_pmu pmu;
	int leader, fd, err = stress_pmu_choose(&pmu, target->first, terms);
	bool opened = false;

	if (!err) {
		target->attr = stress_pmu_first_event(&pmu);
		target->attr.size = sizeof(target->attr);
	} else if (!target->attr.size) {
		return err;
	}
	leader = syscall(SYS_perf_event_open, &clock, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (leader < 0)
		return -errno;
	err = 0;
	for (unsigned int i = 0; is_expected_of_a_stale_type(err) && i < OPENS_PER_LOOK; i++) {
		fd = syscall(SYS_perf_event_open, &target->attr, -1, 0, leader,
			     PERF_FLAG_FD_CLOEXEC);
		err = fd < 0 ? errno : 0;
		if (fd < 0)
			continue;
		close(fd);
		opened = true;
		__atomic_fetch_add(&target->progress->opened, 1, __ATOMIC_RELAXED);
	}
	close(leader);
	if (!is_expected_of_a_stale_type(err))
		return -err;
	return opened ? 0 : -EAGAIN;
}

static const struct {
	const char *name;
	int (*act)(struct target *target);
	unsigned int pause_us;	/* longest pause after the deed */
	char separator;
	bool may_fail;		/* an error is valid: other actors change the same object */
	bool takes_away;	/* removes a PMU */
} deeds[STRESS_NR_DEEDS] = {
	[STRESS_CPU] = { "cpu", toggle_cpu, PAUSE_US, '\0', true },
	[STRESS_BIND] = { "bind", rebind, LONG_PAUSE_US, '/', true, true },
	[STRESS_REMOVE] = { "remove", remove_and_rescan, LONG_PAUSE_US, '\0', true, true },
	[STRESS_WRITE] = { "write", write_value, PAUSE_US, '=', true },
	[STRESS_READ] = { "read", read_all, PAUSE_US, '\0', true },
	[STRESS_UNLOAD] = { "unload", reload, LONG_PAUSE_US, '\0', false, true },
	[STRESS_GROUP] = { "group", use_group, PAUSE_US, '\0', true },
	[STRESS_OPEN_BY_NUMBER] = { "open-by-number", open_by_number, 1, '=', true },
};

const char *stress_deed_name(enum stress_deed deed)
{
	return deed < STRESS_NR_DEEDS ? deeds[deed].name : NULL;
}

/* Waits until some events were opened since the last removal of a PMU, so that PMUs are in use. */
static void wait_for_opens(const struct stress_progress *progress, long long until_ms)
{
	for (long long now = now_ms(); now < until_ms; now = now_ms()) {
		if (__atomic_load_n(&progress->opened, __ATOMIC_RELAXED) >=
			    __atomic_load_n(&progress->wanted, __ATOMIC_RELAXED) ||
		    now >= __atomic_load_n(&progress->since_ms, __ATOMIC_RELAXED) + WAIT_MS)
			return;
		usleep(PAUSE_US / 10);
	}
}

static void end_deed(struct target *target)
{
	struct stress_progress *progress = target->progress;
	__u64 more = 1 + stress_below(&target->random, MOST_OPENS);

	__atomic_store_n(&progress->since_ms, now_ms(), __ATOMIC_RELAXED);
	__atomic_store_n(&progress->wanted, __atomic_load_n(&progress->opened, __ATOMIC_RELAXED) + more,
			 __ATOMIC_RELAXED);
}

int stress_act(enum stress_deed deed, const char *argument, __u64 seed, long long until_ms,
	       __u64 *done, struct stress_progress *progress)
{
	struct target target = { .random = stress_seeded(seed), .progress = progress };
	char *at;
	int err;

	snprintf(target.first, sizeof(target.first), "%s", argument);
	at = deeds[deed].separator ? strchr(target.first, deeds[deed].separator) : NULL;
	if (at) {
		*at = '\0';
		snprintf(target.second, sizeof(target.second), "%s", at + 1);
	}
	/* A deed that failed because of other actors can succeed once they have ended. */
	while (now_ms() < until_ms || (!*done && now_ms() < until_ms + PATIENCE_MS)) {
		if (deeds[deed].takes_away)
			wait_for_opens(progress, until_ms);
		err = deeds[deed].act(&target);
		if (!err)
			++*done;
		else if (!deeds[deed].may_fail && err != -EAGAIN)
			return err;
		if (deeds[deed].takes_away && err != -EAGAIN)
			end_deed(&target);
		pause_up_to(&target, deeds[deed].pause_us);
	}
	return 0;
}
