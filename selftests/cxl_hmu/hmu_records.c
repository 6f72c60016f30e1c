// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <pmukit/cxl_hmu.h>
#include <string.h>
#include <unistd.h>

#include "hmu_records.h"

#define FIXED_WORDS	2
#define WAIT_STEP_US	20000
#define WAIT_STEPS	250

static __u64 field(__u64 word, unsigned int shift, unsigned int bits)
{
	return (word >> shift) & ((1ULL << bits) - 1);
}

static void add_entry(struct hmu_tally *tally, __u64 entry, unsigned int width)
{
	__u64 unit = entry >> width;

	tally->total_entries++;
	if (tally->entries_to)
		fprintf(tally->entries_to, "%016llx\n", entry);
	if (unit >= HMU_UNITS) {
		tally->malformed++;
		return;
	}
	tally->entries[unit]++;
	tally->count[unit] += entry & ((1ULL << width) - 1);
}

/*
 * Returns the length of the first record in words, 0 if it is incomplete. Computes the length as in
 * the CXL HMU RFC. The RFC does not define the extra words, but a reader that follows the RFC must
 * also find the next record.
 */
static size_t record_words(const __u64 *words, size_t available)
{
	size_t size;

	if (available < FIXED_WORDS)
		return 0;
	size = FIXED_WORDS + (words[0] & 0xffff);
	return size <= available ? size : 0;
}

/* Checks sequence and lost count of a record; neither restarts while the event is open. */
static void follow_stream(struct hmu_tally *tally, __u64 sequence, __u64 lost)
{
	if (sequence != tally->next_sequence) {
		tally->sequence_gaps++;
		tally->sequence_missing += sequence - tally->next_sequence;
	}
	tally->next_sequence = sequence + 1;
	if (lost < tally->lost)
		tally->malformed++;
	tally->lost = lost;
}

/* `more`: the words of a record after its two fixed words. */
static unsigned int unit_log2(const __u64 *more)
{
	return field(more[PMUKIT_CXL_HMU_X_UNIT], PMUKIT_CXL_HMU_UNIT_LOG2_SHIFT, 8);
}

static void add_record(struct hmu_tally *tally, const __u64 *words)
{
	unsigned int width = field(words[0], PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT, 8);
	size_t extra = field(words[0], PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT, 8);
	size_t entries = field(words[0], PMUKIT_CXL_HMU_W0_WORDS_SHIFT, 16) - extra;
	const __u64 *more = words + FIXED_WORDS;

	tally->records++;
	if (words[1] != PMUKIT_CXL_HMU_MARK || !(words[0] & PMUKIT_CXL_HMU_W0_COUNTS_EXTRA) ||
	    extra < PMUKIT_CXL_HMU_EXTRA_WORDS ||
	    extra > field(words[0], PMUKIT_CXL_HMU_W0_WORDS_SHIFT, 16) ||
	    !width || width > 63 || unit_log2(more) != HMU_UNIT_LOG2) {
		tally->malformed++;
		return;
	}
	follow_stream(tally, more[PMUKIT_CXL_HMU_X_SEQUENCE], more[PMUKIT_CXL_HMU_X_LOST]);
	tally->flags |= more[PMUKIT_CXL_HMU_X_FLAGS];
	for (size_t i = 0; i < entries; i++)
		add_entry(tally, more[extra + i], width);
}

static void add_words(struct hmu_tally *tally, const __u64 *words, size_t count)
{
	size_t size;

	for (size_t at = 0; (size = record_words(words + at, count - at)) != 0; at += size)
		add_record(tally, words + at);
}

/*
 * AUX data is a stream: one read may end in the middle of a record, and the next read completes it.
 */
static void collect_aux(struct hmu_tally *tally, struct pmu_event *event)
{
	size_t got, at, size, count;

	do {
		got = pmu_event_aux(event, (char *)tally->kept + tally->kept_bytes,
				    sizeof(tally->kept) - tally->kept_bytes);
		tally->kept_bytes += got;
		count = tally->kept_bytes / sizeof(__u64);
		for (at = 0; (size = record_words(tally->kept + at, count - at)) != 0; at += size)
			add_record(tally, tally->kept + at);
		tally->kept_bytes -= at * sizeof(__u64);
		memmove(tally->kept, tally->kept + at, tally->kept_bytes);
	} while (got);
}

/* The sample type is PERF_SAMPLE_RAW: a header, a 32-bit size, and the raw data of this size. */
static void add_sample(struct hmu_tally *tally, const char *record, size_t size)
{
	const size_t payload = sizeof(struct perf_event_header) + sizeof(__u32);
	struct pmukit_raw_header raw;
	__u64 words[65536 / sizeof(__u64)];
	__u32 raw_bytes;
	size_t count;

	memcpy(&raw_bytes, record + sizeof(struct perf_event_header), sizeof(raw_bytes));
	if (payload + raw_bytes > size || raw_bytes < sizeof(raw)) {
		tally->malformed++;
		return;
	}
	memcpy(&raw, record + payload, sizeof(raw));
	count = (raw_bytes - sizeof(raw)) / sizeof(__u64);
	memcpy(words, record + payload + sizeof(raw), count * sizeof(__u64));
	if (raw.tag != PMUKIT_RAW_TAG_CXL_HMU || !record_words(words, count))
		tally->malformed++;
	else
		add_words(tally, words, count);
}

static void add_perf_record(struct hmu_tally *tally, const char *record, size_t size)
{
	struct perf_event_header header;
	/* PERF_RECORD_AUX has offset, size and flags; PERF_RECORD_LOST has id and count. */
	__u64 words[3];

	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE)
		add_sample(tally, record, size);
	if (header.type != PERF_RECORD_AUX && header.type != PERF_RECORD_LOST)
		return;
	memset(words, 0, sizeof(words));
	memcpy(words, record + sizeof(header),
	       size - sizeof(header) < sizeof(words) ? size - sizeof(header) : sizeof(words));
	if (header.type == PERF_RECORD_LOST)
		tally->lost_samples += words[1];
	else if (words[2] & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL))
		tally->gaps_announced++;
}

void hmu_tally_reset(struct hmu_tally *tally)
{
	memset(tally, 0, sizeof(*tally));
}

void hmu_tally_clear_counts(struct hmu_tally *tally)
{
	memset(tally->count, 0, sizeof(tally->count));
	memset(tally->entries, 0, sizeof(tally->entries));
	tally->total_entries = 0;
}

void hmu_collect(struct hmu_tally *tally, struct pmu_event *event)
{
	char record[65536];
	int size;

	while ((size = pmu_event_record(event, record, sizeof(record))) > 0)
		add_perf_record(tally, record, size);
	if (size < 0)
		tally->malformed++;
	if (event->aux)
		collect_aux(tally, event);
}

int hmu_collect_entries(struct hmu_tally *tally, struct pmu_event *event, __u64 entries)
{
	for (int i = 0; i < WAIT_STEPS; i++) {
		hmu_collect(tally, event);
		if (tally->total_entries + tally->lost >= entries)
			return 0;
		usleep(WAIT_STEP_US);
	}
	return -ETIMEDOUT;
}
