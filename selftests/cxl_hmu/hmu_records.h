/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects cxl_hmu records of an event and sums up their entries; <pmukit/cxl_hmu.h> defines the
 * format.
 */
#ifndef PMUKIT_SELFTESTS_HMU_RECORDS_H
#define PMUKIT_SELFTESTS_HMU_RECORDS_H

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>

#include "pmu_event.h"

#define HMU_UNITS	4096		/* units of 4 KiB: the tests use 16 MiB */
#define HMU_UNIT_LOG2	12

struct hmu_tally {
	__u64 count[HMU_UNITS];		/* accesses per unit */
	__u64 entries[HMU_UNITS];	/* entries per unit */
	__u64 records;
	__u64 total_entries;
	__u64 next_sequence;
	__u64 sequence_gaps;
	__u64 sequence_missing;		/* number of records missing in all sequence gaps */
	__u64 lost;			/* entries lost since the open; in the last record */
	__u64 flags;			/* flags of all records, ORed */
	__u64 malformed;		/* invalid records, and entries without a valid unit */
	__u64 gaps_announced;		/* gaps flagged by PERF_AUX_FLAG_PARTIAL or _TRUNCATED */
	__u64 lost_samples;		/* sum of the counts in PERF_RECORD_LOST */
	FILE *entries_to;		/* file that gets each entry as 16 digits; NULL: no file */
	size_t kept_bytes;		/* bytes of an incomplete record in kept */
	__u64 kept[8192];
};

void hmu_tally_reset(struct hmu_tally *tally);

/* Clears the counts; sequence and lost count continue. */
void hmu_tally_clear_counts(struct hmu_tally *tally);

/* Collects all records that are in the data ring and the AUX area of the event. */
void hmu_collect(struct hmu_tally *tally, struct pmu_event *event);

/*
 * Collects until @entries entries have arrived or are reported as lost. Gives up after a few
 * seconds. Returns 0 or -ETIMEDOUT.
 */
int hmu_collect_entries(struct hmu_tally *tally, struct pmu_event *event, __u64 entries);

#endif
