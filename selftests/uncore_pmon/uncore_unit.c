// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmu_event.h"
#include "uncore_unit.h"

#define WAIT_STEP_US	20000
#define WAIT_STEPS	500

int uncore_enable(const char *pci)
{
	int err = pci_write(pci, "enable", "1");

	return err == -EBUSY ? 0 : err;
}

int uncore_map(const char *pci, unsigned int bar, struct uncore_memory *memory)
{
	memory->at = pci_map(pci, bar, &memory->bytes);
	return memory->at ? 0 : -ENODEV;
}

void uncore_unmap(struct uncore_memory *memory)
{
	if (memory->at)
		munmap((void *)memory->at, memory->bytes);
	memory->at = NULL;
}

void uncore_touch(const struct uncore_memory *memory, size_t offset, unsigned int loads,
		  unsigned int stores)
{
	for (unsigned int i = 0; i < loads || i < stores; i++) {
		size_t at = offset + i * UNCORE_LINE_BYTES % UNCORE_DDR_BYTES;

		if (i < loads)
			(void)memory->at[at / sizeof(__u64)];
		if (i < stores)
			memory->at[at / sizeof(__u64)] = i;
	}
}

int uncore_wait(const char *pmu, int wanted)
{
	for (unsigned int i = 0; i < WAIT_STEPS; i++) {
		if ((pmu_type(pmu) >= 0) == wanted)
			return 0;
		usleep(WAIT_STEP_US);
	}
	return -ETIMEDOUT;
}

int uncore_open(const char *pmu, __u64 config, int group)
{
	struct perf_event_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = pmu_type(pmu);
	attr.config = config;
	attr.disabled = group < 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = syscall(SYS_perf_event_open, &attr, -1, pmu_cpu(pmu), group, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int uncore_enable_event(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int uncore_disable_event(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
}

int uncore_read(int fd, struct uncore_count *count)
{
	ssize_t got = read(fd, count, sizeof(*count));

	if (got < 0)
		return -errno;
	return got == sizeof(*count) ? 0 : -ENODATA;
}
