/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The uncore function, the memory of its memory controllers, and events of its PMUs. Functions
 * return 0 or -errno unless documented otherwise.
 */
#ifndef PMUKIT_SELFTESTS_UNCORE_UNIT_H
#define PMUKIT_SELFTESTS_UNCORE_UNIT_H

#include <linux/types.h>
#include <stddef.h>

#include "pci_function.h"

#define UNCORE_VENDOR		0x8086
#define UNCORE_DEVICE		0x09a7
#define UNCORE_DDR_BAR		4
#define UNCORE_DDR_BYTES	(1024 * 1024UL)	/* per memory controller */
#define UNCORE_LINE_BYTES	64
#define EXPANDER_VENDOR		0x1234
#define EXPANDER_DEVICE		0x4348
#define EXPANDER_MEMORY_BAR	2

/* Terms of a memory controller */
#define IMC_READS		0xcf05
#define IMC_WRITES		0xf005
#define IMC_ALL			0xff05
#define IMC_CLOCK		0x0101
#define IMC_HALF_CLOCK		0x0001
#define IMC_CLOCK_THRESHOLD	0x01000101	/* threshold 1 */
#define IMC_FIXED		0x00ff
/* Terms of a CXL port: requests count on counters 0 to 3, data and answers on 4 to 7 */
#define CXLCM_LOADS		0x0802
#define CXLCM_STORES		0x1002
#define CXLCM_LOAD_DATA		0x1041
#define CXLCM_STORE_ANSWERS	0x0841
#define CXLCM_CLOCK		0x0201

struct uncore_memory {
	volatile __u64 *at;
	size_t bytes;
};

struct uncore_count {
	__u64 value, enabled_ns, running_ns;
};

/* Enables the function through sysfs, so that the expander decodes its memory. */
int uncore_enable(const char *pci);
int uncore_map(const char *pci, unsigned int bar, struct uncore_memory *memory);
void uncore_unmap(struct uncore_memory *memory);

/*
 * Makes this number of 8-byte loads and stores, one per line, wrapping around within
 * UNCORE_DDR_BYTES from offset on.
 */
void uncore_touch(const struct uncore_memory *memory, size_t offset, unsigned int loads,
		  unsigned int stores);

/* Waits until the PMU is registered (wanted is 1) or unregistered (wanted is 0). */
int uncore_wait(const char *pmu, int wanted);

/*
 * Opens an event on the PMU's CPU, disabled unless it joins a group. group: file descriptor of the
 * leader, or -1. Returns the file descriptor, or -errno.
 */
int uncore_open(const char *pmu, __u64 config, int group);
int uncore_enable_event(int fd);
int uncore_disable_event(int fd);
int uncore_read(int fd, struct uncore_count *count);

#endif
