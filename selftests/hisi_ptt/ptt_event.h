/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of hisi_ptt share: events by their terms, the files of the PMU, traffic that is
 * known, entries that are expected. Functions return 0 or -errno unless they say otherwise.
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

/* What programs store below 00:10.0, in entries of 8 dwords. */
extern const struct ptt_terms ptt_stores_8dw;

int ptt_set_terms(const char *pmu, struct perf_event_attr *attr, const struct ptt_terms *terms);
int ptt_open_counting(const char *pmu, struct pmu_event *event, const struct ptt_terms *terms);
int ptt_open_sampling(const char *pmu, struct pmu_event *event, const struct ptt_terms *terms);

/*
 * Files below the PMU's folder: "caps/buffer_bytes". A number that cannot be read is -1, such a
 * text is empty.
 */
long long ptt_number(const char *pmu, const char *file);
const char *ptt_text(const char *pmu, const char *file);

/* The same of the PMU's folder in debugfs: "lost". */
long long ptt_debug_number(const char *pmu, const char *file);

/*
 * Exactly so many stores of 8 bytes to the endpoint 01:00.0. Stores are posted: the load behind
 * them returns when they have arrived, and only then the trace may stop.
 */
int ptt_make_stores(int stores);

/* How many of the entries (8DW) are such a store. A wrong entry is -1. */
int ptt_count_stores(const unsigned char *bytes, size_t size);

/*
 * Nothing is missing between the stores of one ptt_make_stores(): each goes to the 8 bytes behind
 * the last.
 */
bool ptt_stores_are_in_a_row(const unsigned char *bytes, size_t size);

/*
 * What the event has counted; and lost: entries, but for an event with samples the samples that did
 * not fit into perf's buffer. Or -errno.
 */
long long ptt_count(struct pmu_event *event);
long long ptt_lost(struct pmu_event *event);

/* Takes all records; the AUX flags of all of them. */
__u64 ptt_aux_flags(struct pmu_event *event);

#endif
