/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the hisi_ptt tests: events from terms, files of the PMU, known traffic, expected
 * entries. Functions return 0 or -errno unless noted otherwise.
 */
#ifndef PMUKIT_SELFTESTS_PTT_EVENT_H
#define PMUKIT_SELFTESTS_PTT_EVENT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "pmu_event.h"

#define PTT_PORT_FILTER		0x80001ULL	/* 00:10.0 */
#define PTT_DEBUGFS		"/sys/kernel/debug/pmukit"
#define PTT_ENTRY_BYTES_8DW	32
#define PTT_ENTRY_BYTES_4DW	16

struct ptt_terms {
	__u64 filter, direction, type, format;
};

/* Stores of CPUs to functions below 00:10.0, as 8DW entries */
extern const struct ptt_terms ptt_stores_8dw;

int ptt_set_terms(const char *pmu, struct perf_event_attr *attr, const struct ptt_terms *terms);
int ptt_open_counting(const char *pmu, struct pmu_event *event, const struct ptt_terms *terms);
int ptt_open_sampling(const char *pmu, struct pmu_event *event, const struct ptt_terms *terms);

/*
 * Read a file below the PMU's sysfs directory, such as "caps/buffer_bytes". On error they return -1
 * or an empty text.
 */
long long ptt_number(const char *pmu, const char *file);
const char *ptt_text(const char *pmu, const char *file);

/* Reads a file in the PMU's debugfs directory, such as "lost"; -1 on error. */
long long ptt_debug_number(const char *pmu, const char *file);

/*
 * Makes exactly @stores stores of 8 bytes to the endpoint 01:00.0. Stores are posted. So the
 * function then makes a load, which returns only after the stores have arrived. The trace must not
 * stop before that.
 */
int ptt_make_stores(int stores);

/* Counts the stores of ptt_make_stores() among 8DW entries; -1 if an entry is invalid. */
int ptt_count_stores(const unsigned char *bytes, size_t size);

/*
 * Returns true if nothing is missing between the stores of one ptt_make_stores(): each goes to the
 * 8 bytes after the previous one.
 */
bool ptt_stores_are_in_a_row(const unsigned char *bytes, size_t size);

/*
 * ptt_count() returns the event's count. ptt_lost() returns the number of entries that the event
 * has lost; for a sampling event, the number of samples that did not fit into perf's buffer. Both
 * return -errno on failure.
 */
long long ptt_count(struct pmu_event *event);
long long ptt_lost(struct pmu_event *event);

/* Reads all records; returns the AUX flags of all of them, combined. */
__u64 ptt_aux_flags(struct pmu_event *event);

#endif
