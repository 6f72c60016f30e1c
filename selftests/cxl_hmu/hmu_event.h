/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event that most tests use, which counts all accesses to the memory of a device, and functions
 * that access this memory.
 */
#ifndef PMUKIT_SELFTESTS_HMU_EVENT_H
#define PMUKIT_SELFTESTS_HMU_EVENT_H

#include "hmu_device.h"
#include "hmu_records.h"
#include "pmu_event.h"

#define HMU_WORDS_PER_UNIT	(1UL << (HMU_UNIT_LOG2 - 3))

/* Returns the number in the environment variable PMUKIT_DEVICE, or 0 if it is not set. */
unsigned int hmu_device_index(void);

/* Event terms: threshold 1, all accesses, epochs of 100 ms, units of 4 KiB. Return 0 or -errno. */
int hmu_plain_terms(const char *pmu, struct perf_event_attr *attr);
int hmu_open_plain(const char *pmu, struct pmu_event *event);

/*
 * Enables the event, and returns when even a slow device tracks accesses. The driver itself waits
 * only briefly, because interrupts are off. A device counts no access before it tracks accesses.
 */
int hmu_start(struct pmu_event *event);

/* Make @times loads from (or stores to) one unit, spread over the words of the unit. */
void hmu_load(const struct hmu_device *device, unsigned long unit, unsigned int times);
void hmu_store(const struct hmu_device *device, unsigned long unit, unsigned int times);

/* Returns the sum of the counts of all entries. */
__u64 hmu_counted(const struct hmu_tally *tally);

/* Collects until the counts add up to @accesses. Gives up after a few seconds. */
void hmu_collect_accesses(struct hmu_tally *tally, struct pmu_event *event, __u64 accesses);

#endif
