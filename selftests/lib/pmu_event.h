/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For selftests of any PMU: perf_event_open() and the two rings of an event, without libraries.
 * Functions return 0 or -errno unless documented otherwise.
 */
#ifndef PMUKIT_SELFTESTS_PMU_EVENT_H
#define PMUKIT_SELFTESTS_PMU_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "pmu_sysfs.h"

/* Sets a term of attr. Its file in format/ must name one bit range of config, config1 or 2. */
int pmu_set_term(const char *pmu, struct perf_event_attr *attr, const char *term, __u64 value);

/*
 * A perf_event_attr as large as that of the newest kernel, even if the headers are older. To set
 * fields that the headers lack: PMU_ATTR_CONFIG* are indexes of words[], PMU_ATTR_AUX_ACTION is the
 * offset in bytes of aux_action (32 bits).
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
/* Opens an event in the group of leader, the file descriptor of another event. */
int pmu_event_open_beside(struct pmu_event *event, struct perf_event_attr *attr, int pid, int cpu,
			  int leader);
/* Opens an event on a CPU for the cgroup with this folder. */
int pmu_event_open_cgroup(struct pmu_event *event, struct perf_event_attr *attr, const char *folder,
			  int cpu);
/*
 * Returns true if perf rejects the event, which must be valid otherwise, with the first and with
 * the last bit of config3 and of config4: with -EINVAL, or with -E2BIG if the kernel does not know
 * the word.
 */
bool pmu_refuses_extra_config(const struct perf_event_attr *attr, int pid, int cpu);
/* Returns true if perf accepts the event, but rejects it with -EINVAL if any exclude_* bit is 1. */
bool pmu_refuses_exclusions(const struct perf_event_attr *attr, int pid, int cpu);
/*
 * Returns true if perf accepts the event, but rejects it with -EINVAL if it samples data of the
 * running program: registers, the user stack, branches, or with precise_ip.
 */
bool pmu_refuses_samples_of_programs(const struct perf_event_attr *attr, int pid, int cpu);
/* Does only the part of pmu_refuses_samples_of_programs() for branches. */
bool pmu_refuses_branches(const struct perf_event_attr *attr, int pid, int cpu);
/*
 * Forks a process that calls start() and keeps its resources until the caller kills it and waits
 * for it. Returns its pid, or the error of start().
 */
int pmu_fork_holder(int (*start)(const void *data), const void *data);
int pmu_event_map(struct pmu_event *event, unsigned int data_pages, unsigned int aux_pages);
/*
 * Maps an AUX area for `ring`, whose data pages are mapped already, by mmap() on the descriptor of
 * `event`: `ring` itself, or an event that is redirected to it.
 */
int pmu_event_map_aux(struct pmu_event *ring, const struct pmu_event *event,
		      unsigned int aux_pages);
/*
 * Opens a software event on a CPU with a ring, to which events of the same CPU can be redirected.
 */
int pmu_event_open_ring(struct pmu_event *ring, int cpu, unsigned int data_pages);
int pmu_event_redirect(struct pmu_event *event, const struct pmu_event *ring);
int pmu_event_enable(struct pmu_event *event);
int pmu_event_disable(struct pmu_event *event);
void pmu_event_close(struct pmu_event *event);

/* Removes the oldest record from the data ring. Returns its size, 0 if there is none, or -errno. */
int pmu_event_record(struct pmu_event *event, void *record, size_t size);

/*
 * Removes all records from the data ring, up to an invalid one. Returns how many of them have this
 * type (PERF_RECORD_...).
 */
unsigned int pmu_event_take(struct pmu_event *event, __u32 type);

/*
 * Copies at most size bytes from the AUX ring and removes them. Returns the number of bytes.
 */
size_t pmu_event_aux(struct pmu_event *event, void *bytes, size_t size);

#endif
