// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmu_sysfs.h"

int read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, text, size - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return got;
	while (got > 0 && text[got - 1] == '\n')
		got--;
	text[got] = '\0';
	return 0;
}

int read_number(const char *path, long long *value)
{
	char text[64], *end;
	int err = read_text(path, text, sizeof(text));

	if (err)
		return err;
	*value = strtoll(text, &end, 0);
	return end == text ? -EINVAL : 0;
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err = -errno;
	close(fd);
	return err;
}

int pmu_type(const char *pmu)
{
	long long type;
	char path[256];
	int err;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/type", pmu);
	err = read_number(path, &type);
	return err ? err : (int)type;
}

int pmu_cpu(const char *pmu)
{
	long long cpu;
	char path[256];
	int err;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/cpumask", pmu);
	err = read_number(path, &cpu);
	return err ? err : (int)cpu;
}
