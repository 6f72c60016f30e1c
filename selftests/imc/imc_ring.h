/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads samples of trace_imc on all CPUs. Each sample has a record of the engine as raw data. */
#ifndef PMUKIT_SELFTESTS_IMC_RING_H
#define PMUKIT_SELFTESTS_IMC_RING_H

#include <linux/types.h>
#include <stdbool.h>

#include "pmu_event.h"

#define MAX_CPUS	8

struct trace_sample {
	__u64 ip;
	__u32 pid, tid, cpu;
	bool user;		/* the sample's header has PERF_RECORD_MISC_USER */
	bool damaged;		/* raw data is invalid or contradicts the sample */
	__u64 sequence;		/* number of the sample in its event */
	__u64 lost;		/* losses that the event has reported so far */
	__u64 number;		/* the engine's record number on this CPU */
};

struct trace {
	struct pmu_event events[MAX_CPUS];
	int cpus[MAX_CPUS];
	int nr;
	long long samples;
	long long perf_lost;	/* number of lost samples, from PERF_RECORD_LOST */
	long long other;	/* records that are neither samples nor PERF_RECORD_LOST */
};

/* Opens an event on each online CPU, disabled. Returns 0 or -errno. */
int trace_open(struct trace *trace, unsigned int pages, int pid);
int trace_enable(struct trace *trace);
int trace_disable(struct trace *trace);
/* Reads all samples and passes each to @take, if not NULL. Returns 0 or -errno. */
int trace_read(struct trace *trace, void (*take)(const struct trace_sample *sample, void *data),
	       void *data);
void trace_unmap(struct trace *trace);
void trace_close(struct trace *trace);

/* Returns the config value of the event trace_cycles, or -errno. */
long long trace_config(void);
/* Fills in @attr for a sampling trace event, disabled. Returns 0 or -errno. */
int trace_attr(struct perf_event_attr *attr);

#endif
