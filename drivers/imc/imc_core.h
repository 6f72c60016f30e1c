/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc: the catalogue and the trace buffer as plain data and arithmetic; imc_catalog_core.c and
 * imc_ring_core.c, which a test in user space runs as well.
 */
#ifndef IMC_CORE_H
#define IMC_CORE_H

#include <linux/types.h>

#include "imc_regs.h"

/* What a catalogue may hold at most */
#define IMC_CATALOG_MAX_BYTES	0x100000U
#define IMC_MAX_UNITS		128	/* POWER10 has 61 */
#define IMC_MAX_UNIT_EVENTS	1024
#define IMC_MAX_EVENTS		4096
#define IMC_NAME_BYTES		48	/* of a unit or an event, with its end */
#define IMC_TEXT_BYTES		48	/* of a scale or a unit of measurement */
#define IMC_PATH_BYTES		128
#define IMC_MAX_SKIPPED		8	/* units that are logged one by one */

/**
 * struct imc_event_desc - an event of the catalogue
 * @name: with the prefix, in lower case
 * @value: the event's number: where its counter lies, or what trace is to sample
 * @scale: NULL: none
 * @unit: of measurement; NULL: none
 *
 * Strings but @name lie in the blob.
 */
struct imc_event_desc {
	char name[IMC_NAME_BYTES];
	u32 value;
	const char *scale;
	const char *unit;
};

/**
 * struct imc_unit - a PMU of the catalogue
 * @name: of its node, without what follows an @
 * @type: IMC_TYPE_*
 * @bytes: of counter memory, or of the trace buffer
 * @offset: of the counters from the start of a chip's memory; IMC_TYPE_CHIP only
 * @cb_offset: of the control block from the counters; IMC_TYPE_CHIP only
 * @first_event: in imc_catalog.events
 * @nr_events: how many
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
 * struct imc_skipped - a unit that cannot be used
 * @path: of the node that is wrong: its own or an event's
 * @why: what is wrong with it
 */
struct imc_skipped {
	char path[IMC_PATH_BYTES];
	const char *why;
};

/**
 * struct imc_catalog - what a flattened device tree says
 * @units: filled in, array of IMC_MAX_UNITS
 * @events: filled in, array of IMC_MAX_EVENTS
 * @nr_units: how many
 * @nr_events: how many
 * @nr_skipped: units that are not among @units
 * @skipped: the first of them
 * @path: of the node that is wrong
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
 * struct imc_ring - the reader's side of a trace buffer; the engine goes round in it silently
 * @words: the buffer
 * @records: how many records it has
 * @written: number of the record after the last one seen; its place is that modulo @records
 * @taken: number of the next one to take; those before were taken, lost or rejected
 * @newest_tb: timebase of the last whole record seen; everything newer is unseen, but for one that
 *	may be half-written
 * @last_tb: timebase of the last record seen, whole or not
 * @taken_tb: timebase of the last record taken
 * @torn: number of the record that was found half-written at the last look; ~0: none
 * @restarted: the engine began again, where is not yet known
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
 * struct imc_ring_tally - what became of records that were not taken
 * @lost: overwritten before they were taken
 * @rejected: not what an engine writes
 * @lapped: the engine has gone round since the last look: @lost may be some rounds short
 */
struct imc_ring_tally {
	u64 lost;
	u64 rejected;
	bool lapped;
};

enum imc_ring_state {
	IMC_RING_EMPTY,		/* nothing to take now */
	IMC_RING_PASSED,	/* one was passed over; go on */
	IMC_RING_RECORD,	/* one was taken */
};

void imc_ring_init(struct imc_ring *ring, const void *words, u32 bytes);
void imc_ring_restart(struct imc_ring *ring);
void imc_ring_look(struct imc_ring *ring, struct imc_ring_tally *tally);
enum imc_ring_state imc_ring_take(struct imc_ring *ring, u64 *record,
				  struct imc_ring_tally *tally);
void imc_ring_drop(struct imc_ring *ring, struct imc_ring_tally *tally);
u64 imc_poll_ns(u64 since_ns, u64 records, u32 section);

#endif /* IMC_CORE_H */
