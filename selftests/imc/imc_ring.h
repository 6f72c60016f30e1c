/* SPDX-License-Identifier: GPL-2.0-only */
/* trace_imc on every CPU, read by ourselves: each sample with what the engine wrote. */
#ifndef PMUKIT_SELFTESTS_IMC_RING_H
#define PMUKIT_SELFTESTS_IMC_RING_H

#include <linux/types.h>
#include <stdbool.h>

#include "pmu_event.h"

#define MAX_CPUS	8

struct trace_sample {
	__u64 ip;
	__u32 pid, tid, cpu;
	bool user;		/* the sample's, not the record's */
	bool damaged;		/* payload and sample disagree */
	__u64 sequence;		/* of the event */
	__u64 lost;		/* reported so far */
	__u64 number;		/* the engine's, of this CPU */
};

struct trace {
	struct pmu_event events[MAX_CPUS];
	int cpus[MAX_CPUS];
	int nr;
	long long samples;
	long long perf_lost;	/* PERF_RECORD_LOST */
	long long other;	/* records of another kind */
};

/* On all CPUs that are online, disabled. 0 or -errno. */
int trace_open(struct trace *trace, unsigned int pages, int pid);
int trace_enable(struct trace *trace);
int trace_disable(struct trace *trace);
/* Gives each sample that is there to take, if not NULL. 0 or -errno. */
int trace_read(struct trace *trace, void (*take)(const struct trace_sample *sample, void *data),
	       void *data);
void trace_unmap(struct trace *trace);
void trace_close(struct trace *trace);

/* config of trace_cycles, or -errno */
long long trace_config(void);
/* attr of a sampling trace event, disabled. 0 or -errno. */
int trace_attr(struct perf_event_attr *attr);

#endif
