// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "pci_function.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define PCI		"/sys/bus/pci"
#define PAUSE_US	50000
#define PATIENCE_MS	30000
#define DEEPEST		4	/* folders below the one to read */

/* A deed's argument, taken apart at its separator. */
struct target {
	struct stress_random random;
	char first[PATH_MAX];
	char second[PATH_MAX];	/* empty: there was no separator */
};

static void pause_a_moment(struct target *target)
{
	usleep(1 + stress_below(&target->random, PAUSE_US));
}

static int toggle_cpu(struct target *target)
{
	int err = cpu_set_online(atoi(target->first), "0");

	pause_a_moment(target);
	cpu_set_online(atoi(target->first), "1");
	return err;
}

/* "0000:00:18.0", or the first function of a kind: "19e5:a12e" */
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

/* One of the values, or, once in four times, something nobody asked for. */
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

/* How many files had an answer. */
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

/* Events keep a module; that it was busy is as good an answer. */
static int reload(struct target *target)
{
	int err = module_try_unload(target->first);

	if (err)
		return err == -EWOULDBLOCK || err == -EBUSY ? 0 : err;
	pause_a_moment(target);
	return module_load(target->second);
}

static const struct {
	const char *name;
	int (*act)(struct target *target);
	char separator;
	bool may_fail;		/* while others do something to the same thing */
} deeds[STRESS_NR_DEEDS] = {
	[STRESS_CPU] = { "cpu", toggle_cpu, '\0', true },
	[STRESS_BIND] = { "bind", rebind, '/', true },
	[STRESS_REMOVE] = { "remove", remove_and_rescan, '\0', true },
	[STRESS_WRITE] = { "write", write_value, '=', true },
	[STRESS_READ] = { "read", read_all, '\0', true },
	[STRESS_UNLOAD] = { "unload", reload, '=' },
};

const char *stress_deed_name(enum stress_deed deed)
{
	return deed < STRESS_NR_DEEDS ? deeds[deed].name : NULL;
}

int stress_act(enum stress_deed deed, const char *argument, __u64 seed, long long until_ms,
	       __u64 *done)
{
	struct target target = { .random = stress_seeded(seed) };
	char *at;
	int err;

	snprintf(target.first, sizeof(target.first), "%s", argument);
	at = deeds[deed].separator ? strchr(target.first, deeds[deed].separator) : NULL;
	if (at) {
		*at = '\0';
		snprintf(target.second, sizeof(target.second), "%s", at + 1);
	}
	/* What was not possible while others were at it is so when they have ended. */
	while (now_ms() < until_ms || (!*done && now_ms() < until_ms + PATIENCE_MS)) {
		err = deeds[deed].act(&target);
		if (!err)
			++*done;
		else if (!deeds[deed].may_fail)
			return err;
		pause_a_moment(&target);
	}
	return 0;
}
