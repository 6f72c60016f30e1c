// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pci_function.h"
#include "pmu_event.h"

#define PCI_SYSFS	"/sys/bus/pci/devices"

static int has_id(const char *name, const char *file, unsigned int wanted)
{
	char path[300];
	long long id;

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/%s", name, file);
	return !read_number(path, &id) && id == wanted;
}

int pci_find(unsigned int vendor, unsigned int device, unsigned int index,
	     char name[PCI_NAME_BYTES])
{
	struct dirent **entries;
	int count = scandir(PCI_SYSFS, &entries, NULL, alphasort), err = -ENODEV;

	for (int i = 0; i < count; i++) {
		if (err && has_id(entries[i]->d_name, "vendor", vendor) &&
		    has_id(entries[i]->d_name, "device", device) && !index--) {
			snprintf(name, PCI_NAME_BYTES, "%.31s", entries[i]->d_name);
			err = 0;
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return err;
}

int pci_write(const char *name, const char *file, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/%s", name, file);
	return write_text(path, text);
}

int pci_rescan(void)
{
	return write_text("/sys/bus/pci/rescan", "1");
}

int pci_command(const char *name, unsigned int bits)
{
	__u16 command;
	char path[300];
	int fd, err = 0;

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/config", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		err = -EIO;
	command |= bits;
	if (!err && pwrite(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		err = -EIO;
	close(fd);
	return err;
}

__u64 pci_load(const volatile void *at, unsigned long width)
{
	switch (width) {
	case 1:
		return *(const volatile __u8 *)at;
	case 2:
		return *(const volatile __u16 *)at;
	case 4:
		return *(const volatile __u32 *)at;
	default:
		return *(const volatile __u64 *)at;
	}
}

void pci_store(volatile void *at, unsigned long width, __u64 value)
{
	switch (width) {
	case 1:
		*(volatile __u8 *)at = value;
		break;
	case 2:
		*(volatile __u16 *)at = value;
		break;
	case 4:
		*(volatile __u32 *)at = value;
		break;
	default:
		*(volatile __u64 *)at = value;
		break;
	}
}

void *pci_map(const char *name, unsigned int bar, size_t *bytes)
{
	void *map = MAP_FAILED;
	struct stat status;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/resource%u", name, bar);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status)) {
		*bytes = status.st_size;
		map = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}
