/* SPDX-License-Identifier: GPL-2.0-only */
/* What most tests record: events that count everything, and accesses that the test itself makes. */
#ifndef PMUKIT_SELFTESTS_HMU_EVENT_H
#define PMUKIT_SELFTESTS_HMU_EVENT_H

#include "hmu_device.h"
#include "hmu_records.h"
#include "pmu_event.h"

#define HMU_WORDS_PER_UNIT	(1UL << (HMU_UNIT_LOG2 - 3))

/* From PMUKIT_DEVICE in the environment, otherwise 0. */
unsigned int hmu_device_index(void);

/* Everything counts, epochs of 100 ms, units of 4 KiB. 0 or -errno. */
int hmu_plain_terms(const char *pmu, struct perf_event_attr *attr);
int hmu_open_plain(const char *pmu, struct pmu_event *event);

/*
 * Starts tracking. A slow device may be enabled a little later than the event (the driver does not
 * wait long for it with interrupts off), and what a program touches in between is not counted.
 */
int hmu_start(struct pmu_event *event);

/* Loads (or stores) of one unit, spread over its words. */
void hmu_load(const struct hmu_device *device, unsigned long unit, unsigned int times);
void hmu_store(const struct hmu_device *device, unsigned long unit, unsigned int times);

/* The number of accesses all entries stand for. */
__u64 hmu_counted(const struct hmu_tally *tally);

/* Until the records account for that many accesses, or for a few seconds. */
void hmu_collect_accesses(struct hmu_tally *tally, struct pmu_event *event, __u64 accesses);

#endif
