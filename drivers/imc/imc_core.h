/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc: interface of imc_catalog_core.c and imc_ring_core.c, which parse the catalog and read the
 * trace buffer. They call no kernel functions, so that user-space tests can run them.
 */
#ifndef IMC_CORE_H
#define IMC_CORE_H

#include <linux/types.h>

#include "imc_regs.h"

/* Limits of a catalog */
#define IMC_CATALOG_MAX_BYTES	0x100000U
#define IMC_MAX_UNITS		128	/* POWER10 has 61 */
#define IMC_MAX_UNIT_EVENTS	1024
#define IMC_MAX_EVENTS		4096
#define IMC_NAME_BYTES		48	/* name of a unit or an event, with terminator */
#define IMC_TEXT_BYTES		48	/* scale or unit of measurement, with terminator */
#define IMC_PATH_BYTES		128
#define IMC_MAX_SKIPPED		8	/* skipped units that are logged one by one */

/**
 * struct imc_event_desc - an event of the catalog
 * @name: name with the prefix, in lower case
 * @value: offset of the event's counter; of a trace event: what the hardware samples
 * @scale: scale; NULL: none
 * @unit: unit of measurement; NULL: none
 *
 * @scale and @unit point into the blob.
 */
struct imc_event_desc {
	char name[IMC_NAME_BYTES];
	u32 value;
	const char *scale;
	const char *unit;
};

/**
 * struct imc_unit - a PMU of the catalog
 * @name: name of its node, without the unit address
 * @type: IMC_TYPE_*
 * @bytes: length of the counter memory or of the trace buffer
 * @offset: offset of the counters from the start of a chip's memory; IMC_TYPE_CHIP only
 * @cb_offset: offset of the control block from the counters; IMC_TYPE_CHIP only
 * @first_event: index of the first event in imc_catalog.events
 * @nr_events: number of events
 */
struct imc_unit {
	char name[IMC_NAME_BYTES];
	u32 type;
	u32 bytes;
	u32 offset;
	u32 cb_offset;
	u32 first_event;
	u32 nr_events;
};

/**
 * struct imc_skipped - a unit that was skipped
 * @path: path of the faulty node: the node of the unit or of one of its events
 * @why: reason
 */
struct imc_skipped {
	char path[IMC_PATH_BYTES];
	const char *why;
};

/**
 * struct imc_catalog - a parsed catalog
 * @units: filled in, array of IMC_MAX_UNITS
 * @events: filled in, array of IMC_MAX_EVENTS
 * @nr_units: number of @units
 * @nr_events: number of @events
 * @nr_skipped: number of skipped units
 * @skipped: the first skipped units
 * @path: path of the node at which parsing failed
 */
struct imc_catalog {
	struct imc_unit *units;
	struct imc_event_desc *events;
	u32 nr_units;
	u32 nr_events;
	u32 nr_skipped;
	struct imc_skipped skipped[IMC_MAX_SKIPPED];
	char path[IMC_PATH_BYTES];
};

const char *imc_catalog_parse(const void *blob, size_t bytes, struct imc_catalog *catalog);
bool imc_unit_lies_in(const struct imc_unit *unit, u64 bytes);
bool imc_unit_has_counter(const struct imc_unit *unit, u64 offset);
bool imc_unit_samples(const struct imc_catalog *catalog, const struct imc_unit *unit, u64 value);

/**
 * struct imc_ring - reader of a trace buffer; the engine does not report its position or a wrap
 * @words: the buffer
 * @records: length of the buffer in records
 * @written: number of the last record seen, plus 1. A record's number modulo @records is its index
 *	in the buffer.
 * @taken: number of the next record to read; earlier ones were read, lost or rejected
 * @newest_tb: timebase of the last whole record seen. Newer records are unseen, except for at most
 *	one that was seen half-written.
 * @last_tb: timebase of the last record seen, whole or not
 * @taken_tb: timebase of the last record read
 * @torn: number of the last record that was found half-written; ~0: none
 * @restarted: the engine was restarted and its position is not yet known
 */
struct imc_ring {
	const __be64 *words;
	u32 records;
	u64 written;
	u64 taken;
	u64 newest_tb;
	u64 last_tb;
	u64 taken_tb;
	u64 torn;
	bool restarted;
};

/**
 * struct imc_ring_tally - counts of records that were not read
 * @lost: records that were overwritten or dropped before they were read
 * @rejected: records that were invalid
 * @lapped: the engine lapped the reader since the last poll: @lost may be too low by a multiple of
 *	the buffer's length
 */
struct imc_ring_tally {
	u64 lost;
	u64 rejected;
	bool lapped;
};

enum imc_ring_state {
	IMC_RING_EMPTY,		/* no record to read now */
	IMC_RING_PASSED,	/* a record was skipped; call again */
	IMC_RING_RECORD,	/* a record was read */
};

void imc_ring_init(struct imc_ring *ring, const void *words, u32 bytes);
void imc_ring_restart(struct imc_ring *ring);
void imc_ring_look(struct imc_ring *ring, struct imc_ring_tally *tally);
enum imc_ring_state imc_ring_take(struct imc_ring *ring, u64 *record,
				  struct imc_ring_tally *tally);
void imc_ring_drop(struct imc_ring *ring, struct imc_ring_tally *tally);
u64 imc_poll_ns(u64 since_ns, u64 records, u32 section);

#endif /* IMC_CORE_H */
