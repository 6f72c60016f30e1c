/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares the delivered part of the engine's trace with the counters of engine and driver. */
#ifndef PMUKIT_SELFTESTS_IMC_FOLLOW_H
#define PMUKIT_SELFTESTS_IMC_FOLLOW_H

#include <linux/types.h>
#include <stdbool.h>

#include "imc_ring.h"

/* Check of consecutive samples */
struct sequence {
	__u64 next[MAX_CPUS];	/* sequence number that the next sample of the event must have */
	__u64 gaps;
	__u64 number[MAX_CPUS];	/* the engine's number of the record in the last sample */
	__u64 lost[MAX_CPUS];
	__u64 missing;		/* engine records missing between samples */
	__u64 reported;		/* losses reported from the first to the last sample of a CPU */
	bool begun[MAX_CPUS];
	unsigned int damaged, backwards;
};

/* A callback for trace_read() that checks each sample; data is a struct sequence. */
void follow(const struct trace_sample *sample, void *data);

/* Check of consecutive records in an AUX area */
struct stream {
	__u64 number, tb, missing;
	long long records;
	unsigned int damaged, backwards;
};

/* Reads all data in the area. */
void read_stream(struct pmu_event *event, struct stream *s);

struct tally {
	long long written, handed, lost, rejected;
};

void tally_now(struct tally *tally);
void tally_since(struct tally *tally);	/* replaces each value by its increase since then */

#endif
