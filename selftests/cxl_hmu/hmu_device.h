/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds CXL memory functions, their hotness PMUs and the BAR that is their memory. */
#ifndef PMUKIT_SELFTESTS_HMU_DEVICE_H
#define PMUKIT_SELFTESTS_HMU_DEVICE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct hmu_device {
	char pci[32];		/* 0000:00:10.0 */
	char mem[32];		/* mem0; empty: cxl_pci has not bound it (yet) */
	volatile __u64 *memory;	/* BAR 2, NULL until mapped */
	size_t memory_bytes;
};

/*
 * The function number index (from 0, in the order of PCI addresses) that has class 0x050210 and a
 * BAR 2, after waiting a while for cxl_pci to bind it and for a PMU to appear. Returns 0, -ENODEV
 * when there is no such function, -ETIMEDOUT when its PMU did not appear.
 */
int hmu_device_find(struct hmu_device *device, unsigned int index);

/* The same without waiting; mem stays empty. */
int hmu_device_locate(struct hmu_device *device, unsigned int index);

/* Of no other device the memory is a BAR: a test that touches it is for the model. */
bool hmu_device_is_model(const struct hmu_device *device);

int hmu_device_map(struct hmu_device *device);
void hmu_device_unmap(struct hmu_device *device);

/*
 * "cxl_hmu_mem0.0.1", of the first CHMU unless another one is said; the memory's name is read anew,
 * since it may change when the device is bound again.
 */
int hmu_pmu_name_in(const struct hmu_device *device, unsigned int chmu, unsigned int instance,
		    char *name, size_t size);
int hmu_pmu_name(const struct hmu_device *device, unsigned int instance, char *name, size_t size);

/* Waits until the PMU of instance 0 is there (wanted) or not there any more. */
int hmu_pmu_wait(const struct hmu_device *device, int wanted);

#endif
