/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For selftests of any PMU: sysfs, perf_event_open() and the two rings of an event, without
 * libraries. Functions return 0 or -errno unless they say otherwise.
 */
#ifndef PMUKIT_SELFTESTS_PMU_EVENT_H
#define PMUKIT_SELFTESTS_PMU_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#define PMU_SYSFS	"/sys/bus/event_source/devices"
#define PMU_DEBUGFS	"/sys/kernel/debug/pmukit"

/* Reads a small file without its line end. */
int read_text(const char *path, char *text, size_t size);
int read_number(const char *path, long long *value);
int write_text(const char *path, const char *text);

int pmu_type(const char *pmu);			/* or -errno */
int pmu_cpu(const char *pmu);			/* the first one of its cpumask, or -errno */

/* Sets a term by its description in format/, which must be one range of bits of one word. */
int pmu_set_term(const char *pmu, struct perf_event_attr *attr, const char *term, __u64 value);

/*
 * As large as the newest kernel's, whatever the headers know: what they lack is set by the number
 * of its word, aux_action (32 bits) by its offset in bytes.
 */
#define PMU_ATTR_WORDS		18
#define PMU_ATTR_CONFIG3	16
#define PMU_ATTR_CONFIG4	17
#define PMU_ATTR_AUX_ACTION	116

union pmu_attr {
	struct perf_event_attr attr;
	__u64 words[PMU_ATTR_WORDS];
};

struct pmu_event {
	int fd;
	struct perf_event_mmap_page *page;	/* NULL: not mapped */
	size_t data_bytes;
	char *aux;				/* NULL: not mapped */
	size_t aux_bytes;
};

int pmu_event_open(struct pmu_event *event, struct perf_event_attr *attr, int pid, int cpu);
/* In the group of another event's file descriptor. */
int pmu_event_open_beside(struct pmu_event *event, struct perf_event_attr *attr, int pid, int cpu,
			  int leader);
/* Of a cgroup, by its folder, on a CPU. */
int pmu_event_open_cgroup(struct pmu_event *event, struct perf_event_attr *attr, const char *folder,
			  int cpu);
/*
 * Is the event, which can be opened so, refused for the first and for the last bit of config3 and
 * config4? -EINVAL is right, and -E2BIG of a kernel that does not know the word.
 */
bool pmu_refuses_extra_config(const struct perf_event_attr *attr, int pid, int cpu);
/* The same of each exclusion by itself: -EINVAL is right. */
bool pmu_refuses_exclusions(const struct perf_event_attr *attr, int pid, int cpu);
/* Of each thing that only samples of a program have: registers, stacks, branches... */
bool pmu_refuses_samples_of_programs(const struct perf_event_attr *attr, int pid, int cpu);
bool pmu_refuses_branches(const struct perf_event_attr *attr, int pid, int cpu);
/*
 * A process that has done start() and keeps what it got until it is killed; the caller does that,
 * and waits for it. Its pid, or what start() failed with.
 */
int pmu_fork_holder(int (*start)(const void *data), const void *data);
int pmu_event_map(struct pmu_event *event, unsigned int data_pages, unsigned int aux_pages);
/* An AUX area in a ring that is mapped already, by means of an event that writes to it. */
int pmu_event_map_aux(struct pmu_event *ring, const struct pmu_event *event,
		      unsigned int aux_pages);
/* The ring of a software event on a CPU; only events of that CPU can be redirected to it. */
int pmu_event_open_ring(struct pmu_event *ring, int cpu, unsigned int data_pages);
int pmu_event_redirect(struct pmu_event *event, const struct pmu_event *ring);
int pmu_event_enable(struct pmu_event *event);
int pmu_event_disable(struct pmu_event *event);
void pmu_event_close(struct pmu_event *event);

/* Takes the oldest record off the data ring. Returns its size, 0 when there is none, or -errno. */
int pmu_event_record(struct pmu_event *event, void *record, size_t size);

/*
 * Takes all records off the data ring, up to one that makes no sense. How many were of a type
 * (PERF_RECORD_...).
 */
unsigned int pmu_event_take(struct pmu_event *event, __u32 type);

/*
 * Copies what is in the AUX ring (at most size bytes) and takes it off. Returns the number of
 * bytes.
 */
size_t pmu_event_aux(struct pmu_event *event, void *bytes, size_t size);

#endif
