// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptt_event.h"

#define MEMORY_BYTES	(1 << 20)
#define STORE_DWORDS	2	/* length of a store; no other access of pcie_load has it */
#define FMT_4_DWORDS	0x20000000

const struct ptt_terms ptt_stores_8dw = { PTT_PORT_FILTER, 1, 1, 1 };

int ptt_set_terms(const char *pmu, struct perf_event_attr *attr, const struct ptt_terms *terms)
{
	int type = pmu_type(pmu), err;

	if (type < 0)
		return type;
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->disabled = 1;
	attr->read_format = PERF_FORMAT_LOST;
	err = pmu_set_term(pmu, attr, "filter", terms->filter);
	err = err ? err : pmu_set_term(pmu, attr, "direction", terms->direction);
	err = err ? err : pmu_set_term(pmu, attr, "type", terms->type);
	return err ? err : pmu_set_term(pmu, attr, "format", terms->format);
}

int ptt_open_counting(const char *pmu, struct pmu_event *event, const struct ptt_terms *terms)
{
	struct perf_event_attr attr;
	int err = ptt_set_terms(pmu, &attr, terms);

	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
}

int ptt_open_sampling(const char *pmu, struct pmu_event *event, const struct ptt_terms *terms)
{
	struct perf_event_attr attr;
	int err = ptt_set_terms(pmu, &attr, terms);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
}

long long ptt_number(const char *pmu, const char *file)
{
	char path[256];
	long long value = -1;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/%s", pmu, file);
	return read_number(path, &value) ? -1 : value;
}

long long ptt_debug_number(const char *pmu, const char *file)
{
	char path[256];
	long long value = -1;

	snprintf(path, sizeof(path), PTT_DEBUGFS "/%s/%s", pmu, file);
	return read_number(path, &value) ? -1 : value;
}

const char *ptt_text(const char *pmu, const char *file)
{
	static char text[256];
	char path[256];

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/%s", pmu, file);
	return read_text(path, text, sizeof(text)) ? "" : text;
}

int ptt_make_stores(int stores)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "pcie_load --function 01:00.0 --reads 1 --width 8 --writes %d >/dev/null", stores);
	return system(command);
}

struct entry {
	__u32 words[PTT_ENTRY_BYTES_8DW / 4];
};

static struct entry entry_at(const unsigned char *bytes, size_t at)
{
	struct entry entry;

	memcpy(&entry, bytes + at, sizeof(entry));
	return entry;
}

/* A memory write has the Fmt "with data" and Type 0. */
static bool is_memory_write(const struct entry *entry)
{
	return entry->words[0] == 0xffffffff && !entry->words[6] &&
	       (entry->words[2] & 0xdf000000) == 0x40000000;
}

static bool is_store(const struct entry *entry)
{
	return (entry->words[2] & 0x3ff) == STORE_DWORDS;
}

/* Returns the address of a memory request, whose header has three or four dwords. */
static __u64 address_of(const struct entry *entry)
{
	const __u32 *header = entry->words + 2;

	return header[0] & FMT_4_DWORDS ? (__u64)header[2] << 32 | header[3] : header[2];
}

int ptt_count_stores(const unsigned char *bytes, size_t size)
{
	int stores = 0;

	for (size_t at = 0; at + PTT_ENTRY_BYTES_8DW <= size; at += PTT_ENTRY_BYTES_8DW) {
		struct entry entry = entry_at(bytes, at);

		if (!is_memory_write(&entry))
			return -1;
		stores += is_store(&entry);
	}
	return stores;
}

bool ptt_stores_are_in_a_row(const unsigned char *bytes, size_t size)
{
	__u64 next = 0;

	for (size_t at = 0; at + PTT_ENTRY_BYTES_8DW <= size; at += PTT_ENTRY_BYTES_8DW) {
		struct entry entry = entry_at(bytes, at);

		if (!is_store(&entry))
			continue;
		if (next && address_of(&entry) != next)
			return false;
		next = address_of(&entry) + 4 * STORE_DWORDS;
		/* Stores wrap at the end of the endpoint's memory. */
		if (!(next & (MEMORY_BYTES - 1)))
			next -= MEMORY_BYTES;
	}
	return true;
}

/* Layout of read(), as set by ptt_set_terms() */
struct numbers {
	long long count, lost;
};

static int read_numbers(struct pmu_event *event, struct numbers *numbers)
{
	return read(event->fd, numbers, sizeof(*numbers)) == sizeof(*numbers) ? 0 : -errno;
}

long long ptt_count(struct pmu_event *event)
{
	struct numbers numbers;

	return read_numbers(event, &numbers) ?: numbers.count;
}

long long ptt_lost(struct pmu_event *event)
{
	struct numbers numbers;

	return read_numbers(event, &numbers) ?: numbers.lost;
}

__u64 ptt_aux_flags(struct pmu_event *event)
{
	struct {
		struct perf_event_header header;
		__u64 offset, size, flags, more[8000];
	} record;
	__u64 flags = 0;

	while (pmu_event_record(event, &record, sizeof(record)) > 0)
		flags |= record.header.type == PERF_RECORD_AUX ? record.flags : 0;
	return flags;
}
