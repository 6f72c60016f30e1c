// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hmu_device.h"
#include "pmu_sysfs.h"

#define PCI_SYSFS		"/sys/bus/pci/devices"
#define CLASS_CXL_MEMORY	0x050210
#define MEMORY_RESOURCE		"resource2"
#define MODEL_VENDOR		0x1234
#define MODEL_DEVICE		0x4348
#define WAIT_STEP_US		20000
#define WAIT_STEPS		500	/* an emulated probe takes seconds */

static int is_cxl_memory(const struct dirent *entry)
{
	long long class;
	char path[300];

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/class", entry->d_name);
	if (entry->d_name[0] == '.' || read_number(path, &class) || class != CLASS_CXL_MEMORY)
		return 0;
	snprintf(path, sizeof(path), PCI_SYSFS "/%s/" MEMORY_RESOURCE, entry->d_name);
	return access(path, F_OK) == 0;
}

static int is_mem(const struct dirent *entry)
{
	const char *number = entry->d_name + 3;

	return !strncmp(entry->d_name, "mem", 3) && *number &&
	       strspn(number, "0123456789") == strlen(number);
}

/*
 * Sorts the names in the directory @path that @filter accepts, and copies the @index-th of them to
 * @name. Returns 0 or -ENODEV.
 */
static int nth_name(const char *path, int (*filter)(const struct dirent *), unsigned int index,
		    char *name, size_t size)
{
	struct dirent **entries;
	int count = scandir(path, &entries, filter, alphasort);
	int err = -ENODEV;

	if (count < 0)
		return -ENODEV;
	for (int i = 0; i < count; i++) {
		if ((unsigned int)i == index &&
		    snprintf(name, size, "%s", entries[i]->d_name) < (int)size)
			err = 0;
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int find_mem(const char *pci, char *mem, size_t size)
{
	char path[300];

	snprintf(path, sizeof(path), PCI_SYSFS "/%s", pci);
	return nth_name(path, is_mem, 0, mem, size);
}

int hmu_pmu_name_in(const struct hmu_device *device, unsigned int chmu, unsigned int instance,
		    char *name, size_t size)
{
	char mem[sizeof(device->mem)];
	int err = find_mem(device->pci, mem, sizeof(mem));

	if (err)
		return err;
	snprintf(name, size, "cxl_hmu_%s.%u.%u", mem, chmu, instance);
	return 0;
}

int hmu_pmu_name(const struct hmu_device *device, unsigned int instance, char *name, size_t size)
{
	return hmu_pmu_name_in(device, 0, instance, name, size);
}

/*
 * True if events of a PMU in sysfs can be opened. Linux 7.2 shows a PMU in sysfs before perf finds
 * it by its type number, so check for its counters in debugfs, which the driver creates later.
 */
static bool is_registered(const char *pmu)
{
	char path[128];

	snprintf(path, sizeof(path), PMU_DEBUGFS "/%s", pmu);
	return !access(path, F_OK) || access(PMU_DEBUGFS, F_OK);
}

int hmu_pmu_wait(const struct hmu_device *device, int wanted)
{
	char name[64];

	for (int i = 0; i < WAIT_STEPS; i++) {
		int there = !hmu_pmu_name(device, 0, name, sizeof(name)) && pmu_type(name) >= 0;

		if (there && wanted)
			there = is_registered(name);
		if (there == wanted)
			return 0;
		usleep(WAIT_STEP_US);
	}
	return -ETIMEDOUT;
}

int hmu_device_locate(struct hmu_device *device, unsigned int index)
{
	memset(device, 0, sizeof(*device));
	return nth_name(PCI_SYSFS, is_cxl_memory, index, device->pci, sizeof(device->pci));
}

/*
 * Returns a flag that is set once a test has waited for a PMU until the timeout. All tests of a
 * program, which are separate processes, share the flag.
 */
static bool *waited_in_vain(void)
{
	static bool *shared;

	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? NULL : shared;
}

/* Waits for the PMU, unless an earlier test has already waited until the timeout. */
static int wait_once(const struct hmu_device *device)
{
	bool *in_vain = waited_in_vain();
	char name[64];
	int err;

	if (in_vain && *in_vain)
		return hmu_pmu_name(device, 0, name, sizeof(name)) ||
		       pmu_type(name) < 0 ? -ETIMEDOUT : 0;
	err = hmu_pmu_wait(device, 1);
	if (err && in_vain)
		*in_vain = true;
	return err;
}

bool hmu_device_is_model(const struct hmu_device *device)
{
	long long vendor = 0, id = 0;
	char path[300];

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/vendor", device->pci);
	if (read_number(path, &vendor))
		return false;
	snprintf(path, sizeof(path), PCI_SYSFS "/%s/device", device->pci);
	return !read_number(path, &id) && vendor == MODEL_VENDOR && id == MODEL_DEVICE;
}

int hmu_device_find(struct hmu_device *device, unsigned int index)
{
	int err = hmu_device_locate(device, index);

	if (err)
		return err;
	err = wait_once(device);
	if (err)
		return err;
	return find_mem(device->pci, device->mem, sizeof(device->mem));
}

int hmu_device_map(struct hmu_device *device)
{
	struct stat status;
	char path[300];
	void *map;
	int fd;

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/" MEMORY_RESOURCE, device->pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status)) {
		close(fd);
		return -errno;
	}
	map = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -errno;
	device->memory = map;
	device->memory_bytes = status.st_size;
	return 0;
}

void hmu_device_unmap(struct hmu_device *device)
{
	if (device->memory)
		munmap((void *)device->memory, device->memory_bytes);
	device->memory = NULL;
}
