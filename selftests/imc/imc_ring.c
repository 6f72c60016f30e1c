// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pmukit/imc.h>

#include "imc_ring.h"

/* PERF_SAMPLE_IP | TID | CPU | RAW, in perf's order */
struct raw_sample {
	struct perf_event_header header;
	__u64 ip;
	__u32 pid, tid;
	__u32 cpu, reserved;
	__u32 raw_bytes;
	struct pmukit_raw_header raw;
	__u64 words[PMUKIT_IMC_WORDS];
};

/* Words of the engine's record in the raw data */
#define RECORD(n)	(PMUKIT_IMC_W_RECORD + (n))
#define RECORD_IP	RECORD(1)
#define RECORD_PIDR	RECORD(2)
#define RECORD_NUMBER	RECORD(6)

long long trace_config(void)
{
	char text[64];
	unsigned long long config;
	int err = read_text(PMU_SYSFS "/trace_imc/events/trace_cycles", text, sizeof(text));

	if (err)
		return err;
	return sscanf(text, "event=0x%llx", &config) == 1 ? (long long)config : -EINVAL;
}

int trace_attr(struct perf_event_attr *attr)
{
	long long config = trace_config();
	int type = pmu_type("trace_imc");

	if (type < 0 || config < 0)
		return type < 0 ? type : (int)config;
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->config = config;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
	attr->disabled = 1;
	return 0;
}

static bool cpu_is_online(int cpu)
{
	char path[128];
	long long online;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return read_number(path, &online) || online;	/* no file: the CPU is always online */
}

int trace_open(struct trace *trace, unsigned int pages, int pid)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr), nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	memset(trace, 0, sizeof(*trace));
	attr.inherit = pid >= 0;
	for (int cpu = 0; !err && cpu < nr_cpus && trace->nr < MAX_CPUS; cpu++) {
		if (!cpu_is_online(cpu))
			continue;
		err = pmu_event_open(&trace->events[trace->nr], &attr, pid, cpu);
		if (err)
			break;
		trace->cpus[trace->nr] = cpu;
		err = pmu_event_map(&trace->events[trace->nr++], pages, 0);
	}
	if (err)
		trace_close(trace);
	return err;
}

int trace_enable(struct trace *trace)
{
	int err = 0;

	for (int i = 0; !err && i < trace->nr; i++)
		err = pmu_event_enable(&trace->events[i]);
	return err;
}

int trace_disable(struct trace *trace)
{
	int err = 0;

	for (int i = 0; !err && i < trace->nr; i++)
		err = pmu_event_disable(&trace->events[i]);
	return err;
}

void trace_unmap(struct trace *trace)
{
	for (int i = 0; i < trace->nr; i++) {
		struct pmu_event *event = &trace->events[i];

		munmap(event->page, event->data_bytes + sysconf(_SC_PAGESIZE));
		event->page = NULL;
	}
}

void trace_close(struct trace *trace)
{
	while (trace->nr)
		pmu_event_close(&trace->events[--trace->nr]);
}

static void fill(struct trace_sample *sample, const struct raw_sample *raw)
{
	__u64 pidr = be64toh(raw->words[RECORD_PIDR]);
	unsigned int mode = raw->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	sample->ip = raw->ip;
	sample->pid = raw->pid;
	sample->tid = raw->tid;
	sample->cpu = raw->cpu;
	sample->user = mode == PERF_RECORD_MISC_USER;
	sample->sequence = le64toh(raw->words[PMUKIT_IMC_W_SEQUENCE]);
	sample->lost = le64toh(raw->words[PMUKIT_IMC_W_LOST]);
	sample->number = be64toh(raw->words[RECORD_NUMBER]);
	sample->damaged = raw->raw.tag != PMUKIT_RAW_TAG_IMC ||
			  be64toh(raw->words[RECORD_IP]) != raw->ip ||
			  (pidr >> 62 & 1) != sample->user ||
			  (mode != PERF_RECORD_MISC_USER && mode != PERF_RECORD_MISC_KERNEL);
}

int trace_read(struct trace *trace, void (*take)(const struct trace_sample *sample, void *data),
	       void *data)
{
	union {
		char bytes[4096];
		struct raw_sample sample;
		struct {
			struct perf_event_header header;
			__u64 id, lost;
		} lost;
	} record;
	struct trace_sample sample;
	int got;

	for (int i = 0; i < trace->nr; i++) {
		while ((got = pmu_event_record(&trace->events[i], &record, sizeof(record))) > 0) {
			switch (record.sample.header.type) {
			case PERF_RECORD_LOST:
				trace->perf_lost += record.lost.lost;
				break;
			case PERF_RECORD_SAMPLE:
				fill(&sample, &record.sample);
				trace->samples++;
				if (take)
					take(&sample, data);
				break;
			default:
				trace->other++;
			}
		}
		if (got < 0)
			return got;
	}
	return 0;
}
