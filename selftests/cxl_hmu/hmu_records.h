/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects cxl_hmu records from an event and adds their entries up; the layout is
 * <pmukit/cxl_hmu.h>.
 */
#ifndef PMUKIT_SELFTESTS_HMU_RECORDS_H
#define PMUKIT_SELFTESTS_HMU_RECORDS_H

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>

#include "pmu_event.h"

#define HMU_UNITS	4096		/* of 4 KiB: the 16 MiB the tests look at */
#define HMU_UNIT_LOG2	12

struct hmu_tally {
	__u64 count[HMU_UNITS];		/* accesses, by unit */
	__u64 entries[HMU_UNITS];	/* how often the unit was on the hot list */
	__u64 records;
	__u64 total_entries;
	__u64 next_sequence;
	__u64 sequence_gaps;
	__u64 sequence_missing;		/* records in those gaps */
	__u64 lost;			/* since the event was opened, as the newest record says */
	__u64 flags;			/* of all records together */
	__u64 malformed;		/* records that contradict the header, entries of no unit */
	__u64 gaps_announced;		/* by PERF_AUX_FLAG_PARTIAL or _TRUNCATED */
	__u64 lost_samples;		/* from PERF_RECORD_LOST */
	FILE *entries_to;		/* entries as they come, 16 digits a line; or NULL */
	size_t kept_bytes;		/* of a record that is not all there yet */
	__u64 kept[8192];
};

void hmu_tally_reset(struct hmu_tally *tally);

/* Forgets the counts so far; the stream goes on where it was. */
void hmu_tally_clear_counts(struct hmu_tally *tally);

/* Takes everything that is in the rings now. */
void hmu_collect(struct hmu_tally *tally, struct pmu_event *event);

/*
 * Collects until that many entries have been seen or reported lost; gives up after a few seconds. 0
 * or -ETIMEDOUT.
 */
int hmu_collect_entries(struct hmu_tally *tally, struct pmu_event *event, __u64 entries);

#endif
