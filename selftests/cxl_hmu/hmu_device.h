/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds CXL memory functions, their hotness PMUs and the BAR with their memory. */
#ifndef PMUKIT_SELFTESTS_HMU_DEVICE_H
#define PMUKIT_SELFTESTS_HMU_DEVICE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct hmu_device {
	char pci[32];		/* PCI address, such as 0000:00:10.0 */
	char mem[32];		/* such as mem0; empty: cxl_pci has not bound the function */
	volatile __u64 *memory;	/* BAR 2, NULL until mapped */
	size_t memory_bytes;
};

/*
 * Finds the index-th function (from 0, in the order of PCI addresses) that has class 0x050210 and a
 * BAR 2. Waits some time until cxl_pci has bound the function and a PMU exists. Returns 0, -ENODEV
 * if there is no such function, -ETIMEDOUT if its PMU did not appear.
 */
int hmu_device_find(struct hmu_device *device, unsigned int index);

/* Finds the function as hmu_device_find() does, but does not wait for a PMU; mem stays empty. */
int hmu_device_locate(struct hmu_device *device, unsigned int index);

/*
 * True if the device is the model. Only the model has its memory in a BAR, so tests that access
 * memory need the model.
 */
bool hmu_device_is_model(const struct hmu_device *device);

int hmu_device_map(struct hmu_device *device);
void hmu_device_unmap(struct hmu_device *device);

/*
 * Write the name of a PMU, such as "cxl_hmu_mem0.0.1"; hmu_pmu_name() is for the first CHMU. Both
 * functions read the name of the memory device again, because it may change at a rebind.
 */
int hmu_pmu_name_in(const struct hmu_device *device, unsigned int chmu, unsigned int instance,
		    char *name, size_t size);
int hmu_pmu_name(const struct hmu_device *device, unsigned int instance, char *name, size_t size);

/* Waits until the PMU of instance 0 exists (wanted is 1) or is gone (wanted is 0). */
int hmu_pmu_wait(const struct hmu_device *device, int wanted);

#endif
