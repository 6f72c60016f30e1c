/* SPDX-License-Identifier: GPL-2.0-only */
/* What was delivered of the engine's trace, held against what the engine and the driver say. */
#ifndef PMUKIT_SELFTESTS_IMC_FOLLOW_H
#define PMUKIT_SELFTESTS_IMC_FOLLOW_H

#include <linux/types.h>
#include <stdbool.h>

#include "imc_ring.h"

/* Samples, in order */
struct sequence {
	__u64 next[MAX_CPUS];	/* of the event */
	__u64 gaps;
	__u64 number[MAX_CPUS];	/* of the engine */
	__u64 lost[MAX_CPUS];
	__u64 missing;		/* records of the engine between two samples */
	__u64 reported;		/* by how much the losses rose from the first of a CPU to the last */
	bool begun[MAX_CPUS];
	unsigned int damaged, backwards;
};

/* For trace_read(); data is a struct sequence. */
void follow(const struct trace_sample *sample, void *data);

/* Records of an AUX area, in order */
struct stream {
	__u64 number, tb, missing;
	long long records;
	unsigned int damaged, backwards;
};

/* Takes what is in the area. */
void read_stream(struct pmu_event *event, struct stream *s);

struct tally {
	long long written, handed, lost, rejected;
};

void tally_now(struct tally *tally);
void tally_since(struct tally *tally);	/* what it was then becomes the difference */

#endif
