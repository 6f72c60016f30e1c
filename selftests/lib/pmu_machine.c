// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pmu_event.h"
#include "pmu_machine.h"

#define CONSOLE		"/dev/console"
#define STEP_US		10000
#define STEPS		500
#define FILE_STEPS	3000	/* 30 s, because a hot-plug slot needs five to power off */

int module_load_with(const char *file, const char *parameters)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0))
		err = -errno;
	close(fd);
	return err;
}

int module_load(const char *file)
{
	return module_load_with(file, "");
}

int module_try_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

int module_unload(const char *name)
{
	int err = -EWOULDBLOCK;

	for (unsigned int step = 0; err == -EWOULDBLOCK && step < STEPS; step++) {
		err = module_try_unload(name);
		if (err)
			usleep(STEP_US);
	}
	return err;
}

bool module_parse(struct module *module, const char *text)
{
	const char *blank = strchr(text, ' ');

	module->parameters = blank ? blank + 1 : "";
	return sscanf(text, "%159[^=]=%159[^ ]", module->name, module->file) == 2;
}

int cpu_set_online(int cpu, const char *online)
{
	char path[128];
	int err = -EBUSY;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	for (unsigned int step = 0; err == -EBUSY && step < STEPS; step++) {
		err = write_text(path, online);
		if (err == -EBUSY)
			usleep(STEP_US);
	}
	return err;
}

int ask_vmrun(const char *verb_and_noun, int number)
{
	char request[64];

	snprintf(request, sizeof(request), "vm: %s %d\n", verb_and_noun, number);
	return write_text(CONSOLE, request);
}

int wait_for_file(const char *path, bool there)
{
	for (unsigned int step = 0; step < FILE_STEPS; step++) {
		if (!access(path, F_OK) == there)
			return 0;
		usleep(STEP_US);
	}
	return -ETIMEDOUT;
}

long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log < 0)
		return -errno;
	if (lseek(log, 0, SEEK_END) < 0) {
		close(log);
		return -EIO;
	}
	return log;
}

/* Each read returns one line; EPIPE means that lines were overwritten before they were read. */
int log_count(int log, bool (*wanted)(const char *line, const void *data), const void *data)
{
	char line[8192];
	int count = 0;
	ssize_t got;

	while ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		line[got > 0 ? got : 0] = '\0';
		count += wanted(line, data);
	}
	return count;
}

long long interrupts_of(const char *first, const char *second)
{
	FILE *file = fopen("/proc/interrupts", "r");
	long long sum = -1;
	char line[4096], *at, *end;

	while (file && sum < 0 && fgets(line, sizeof(line), file)) {
		if (!strstr(line, first) || !strstr(line, second) || !strchr(line, ':'))
			continue;
		sum = 0;
		for (at = strchr(line, ':') + 1; ; at = end) {
			long long count = strtoll(at, &end, 10);

			if (end == at || *end != ' ')
				break;
			sum += count;
		}
	}
	if (file)
		fclose(file);
	return sum;
}

int index_of_word(const char *words, const char *word)
{
	char *copy = strdup(words ?: ""), *rest = copy, *next;
	int index = 0, found = -1;

	while (copy && (next = strsep(&rest, " "))) {
		if (!strcmp(next, word))
			found = index;
		index++;
	}
	free(copy);
	return found;
}
