/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event that most tests use, which counts all accesses, and functions that access the device's
 * memory.
 */
#ifndef PMUKIT_SELFTESTS_HMU_EVENT_H
#define PMUKIT_SELFTESTS_HMU_EVENT_H

#include "hmu_device.h"
#include "hmu_records.h"
#include "pmu_event.h"

#define HMU_WORDS_PER_UNIT	(1UL << (HMU_UNIT_LOG2 - 3))

/* PMUKIT_DEVICE of the environment, else 0. */
unsigned int hmu_device_index(void);

/* Threshold 1, all accesses, epochs of 100 ms, units of 4 KiB. Return 0 or -errno. */
int hmu_plain_terms(const char *pmu, struct perf_event_attr *attr);
int hmu_open_plain(const char *pmu, struct pmu_event *event);

/*
 * Enables the event and waits, so that even a slow device tracks on return: the driver itself waits
 * only briefly, because interrupts are off, and accesses before the device tracks are not counted.
 */
int hmu_start(struct pmu_event *event);

/* Load from (or store to) one unit, spread over its words. */
void hmu_load(const struct hmu_device *device, unsigned long unit, unsigned int times);
void hmu_store(const struct hmu_device *device, unsigned long unit, unsigned int times);

/* The sum of the counts of all entries. */
__u64 hmu_counted(const struct hmu_tally *tally);

/* Collects until the counts reach that many accesses, or for a few seconds. */
void hmu_collect_accesses(struct hmu_tally *tally, struct pmu_event *event, __u64 accesses);

#endif
