// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: reading a trace buffer that hardware fills without any handshake.
 *
 * The engine writes one record after the other, wraps at the end of the buffer, and reports neither
 * its position nor a wrap. The driver relies on one property: the timebase increases from record to
 * record. So all records from the end of the last poll up to the position of the engine are newer
 * than that poll, and all records after the position are older. The driver finds the position by
 * bisection:
 *
 *   taken          written                    the engine
 *     |               |                            |
 *     v               v                            v
 *   [ seen, unread    | newer than newest_tb ...   | older: previous round ...   ]
 *
 * If the driver polls at least once per round, it knows exactly how many records were written and
 * how many were overwritten, even if it cannot read them all. The reader does not write to the
 * buffer.
 *
 * The contents of the buffer are not trusted: positions are taken modulo its size.
 */

#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <asm/rwonce.h>

#include <linux/minmax.h>
#include <linux/types.h>

#include "imc_core.h"

#define IMC_NOTHING_TORN	(~0ULL)
#define IMC_POLL_MIN_NS		250000ULL
#define IMC_POLL_MAX_NS		10000000ULL

/* Records */

static u64 imc_ring_word(const struct imc_ring *ring, u64 number, u32 word)
{
	u64 at = number % ring->records * IMC_RECORD_WORDS + word;

	return __be64_to_cpu(READ_ONCE(ring->words[at]));
}

static u64 imc_ring_tb(const struct imc_ring *ring, u64 number)
{
	return imc_ring_word(ring, number, IMC_RECORD_TB1);
}

static bool imc_timebases_agree(u64 first, u64 second)
{
	return (first & IMC_RECORD_TB2_TB) == second;
}

/*
 * Copies a record. Returns false if the engine has begun a newer record in its place. The two
 * timebases are the first and the last word of a record. It is not documented which of them the
 * engine writes last, so both are read before and after the other words. If the second timebase
 * changes in between, the engine is just finishing the record, and the copy is marked as not whole.
 */
static bool imc_ring_copy(const struct imc_ring *ring, u64 number, u64 *record)
{
	u32 i;

	record[IMC_RECORD_TB1] = imc_ring_tb(ring, number);
	record[IMC_RECORD_TB2] = imc_ring_word(ring, number, IMC_RECORD_TB2);
	/* Read the timebases before the other words; pairs with the engine's barriers. */
	smp_rmb();
	for (i = IMC_RECORD_TB1 + 1; i < IMC_RECORD_TB2; i++)
		record[i] = imc_ring_word(ring, number, i);
	/* Read the other words before the timebases again. */
	smp_rmb();
	if (imc_ring_word(ring, number, IMC_RECORD_TB2) != record[IMC_RECORD_TB2])
		record[IMC_RECORD_TB2] = ~record[IMC_RECORD_TB1];
	return imc_ring_tb(ring, number) == record[IMC_RECORD_TB1];
}

static bool imc_record_whole(const u64 *record)
{
	return imc_timebases_agree(record[IMC_RECORD_TB1], record[IMC_RECORD_TB2]);
}

/* Position of the engine */

/*
 * Returns the number of records newer than @tb, starting at @from. Bisection requires that all
 * newer records precede all older ones.
 */
static u64 imc_ring_count_newer(const struct imc_ring *ring, u64 from, u64 tb)
{
	u64 low = 0, high = ring->records;

	while (low < high) {
		u64 middle = (low + high) / 2;

		if (imc_ring_tb(ring, from + middle) > tb)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The engine has lapped the reader and overwritten the last record seen. Returns the number of
 * records written since that record: all records of one round, plus the records of the next round
 * up to the position of the engine. The records after that position are older.
 */
static u64 imc_ring_count_lapped(const struct imc_ring *ring)
{
	u64 first_tb = imc_ring_tb(ring, ring->written);
	u64 second_round;

	second_round = first_tb ? imc_ring_count_newer(ring, ring->written, first_tb - 1) : 0;
	return ring->records + second_round % ring->records;
}

/*
 * When LDBAR is written again, the engine continues at its old position or at the beginning of the
 * buffer; which one is not documented. So the reader checks both positions. If both have a new
 * record, the older one was written first.
 */
static void imc_ring_find_start(struct imc_ring *ring)
{
	u64 round = ring->written + ring->records - 1;
	u64 beginning = round - round % ring->records;
	u64 here_tb = imc_ring_tb(ring, ring->written);
	u64 there_tb = imc_ring_tb(ring, beginning);
	bool here = here_tb > ring->newest_tb;
	/*
	 * If the last record that a poll saw was half-written, its timebase is above newest_tb,
	 * although the engine wrote the record before the restart.
	 */
	bool there = there_tb > ring->newest_tb && there_tb != ring->last_tb;

	ring->restarted = !here && !there;
	if (there && (!here || there_tb < here_tb)) {
		ring->written = beginning;
		ring->taken = beginning;
	}
}

static bool imc_ring_is_newer(const struct imc_ring *ring, u64 number)
{
	u64 tb = imc_ring_tb(ring, number);

	return tb > ring->newest_tb &&
	       imc_timebases_agree(tb, imc_ring_word(ring, number, IMC_RECORD_TB2));
}

/*
 * An invalid record must not set newest_tb: its timebase could be too large and hide all later
 * records. An invalid record of the previous round must not mark the position of the engine. So the
 * last record seen is a whole one, or is half-written and follows a whole one.
 */
static void imc_ring_see(struct imc_ring *ring, u64 newer)
{
	u64 whole = newer, least = newer - min_t(u64, newer, ring->records);
	bool half;

	while (whole > least && !imc_ring_is_newer(ring, ring->written + whole - 1))
		whole--;
	half = whole < newer && imc_ring_tb(ring, ring->written + whole) > ring->newest_tb;
	ring->written += whole;
	if (whole > least)
		ring->newest_tb = imc_ring_tb(ring, ring->written - 1);
	ring->written += half;
	ring->last_tb = imc_ring_tb(ring, ring->written - 1);
}

static void imc_ring_overwrite(struct imc_ring *ring, struct imc_ring_tally *tally)
{
	u64 waiting = ring->written - ring->taken;

	if (waiting <= ring->records)
		return;
	tally->lost += waiting - ring->records;
	ring->taken = ring->written - ring->records;
}

/**
 * imc_ring_look - poll for records that the engine has written
 * @ring: the reader
 * @tally: counts are added to it
 *
 * Must be called at least once in the time in which the engine fills the buffer.
 */
void imc_ring_look(struct imc_ring *ring, struct imc_ring_tally *tally)
{
	u64 newer;

	if (ring->restarted)
		imc_ring_find_start(ring);
	if (imc_ring_tb(ring, ring->written) <= ring->newest_tb)
		return;
	newer = imc_ring_count_newer(ring, ring->written, ring->newest_tb);
	if (newer == ring->records) {
		newer = imc_ring_count_lapped(ring);
		tally->lapped = true;
	}
	imc_ring_see(ring, newer);
	imc_ring_overwrite(ring, tally);
}

/* Reading */

/*
 * Returns true if the record to read is incomplete because the engine may still be writing it. That
 * is possible only for the last record. Returns true only once per record.
 */
static bool imc_ring_await(struct imc_ring *ring)
{
	bool again = ring->torn == ring->taken;

	ring->torn = ring->taken;
	return !again && ring->taken + 1 == ring->written;
}

/**
 * imc_ring_take - read the oldest record
 * @ring: the reader
 * @record: IMC_RECORD_WORDS words, in CPU byte order
 * @tally: counts are added to it
 *
 * Skips a record that is invalid or was overwritten since the poll.
 *
 * Return: IMC_RING_*. If only the last record is left and it is not yet complete, the function
 * returns IMC_RING_EMPTY.
 */
enum imc_ring_state imc_ring_take(struct imc_ring *ring, u64 *record,
				  struct imc_ring_tally *tally)
{
	bool still;

	if (ring->taken == ring->written)
		return IMC_RING_EMPTY;

	still = imc_ring_copy(ring, ring->taken, record);
	if (!still || record[IMC_RECORD_TB1] > max_t(u64, ring->newest_tb, ring->last_tb)) {
		ring->taken++;
		tally->lost++;
		return IMC_RING_PASSED;
	}
	if (record[IMC_RECORD_TB1] > ring->taken_tb && imc_record_whole(record)) {
		ring->taken++;
		ring->taken_tb = record[IMC_RECORD_TB1];
		return IMC_RING_RECORD;
	}
	if (imc_ring_await(ring))
		return IMC_RING_EMPTY;
	ring->taken++;
	tally->rejected++;
	return IMC_RING_PASSED;
}

/**
 * imc_ring_drop - drop the unread records
 * @ring: the reader
 * @tally: counts are added to it
 */
void imc_ring_drop(struct imc_ring *ring, struct imc_ring_tally *tally)
{
	tally->lost += ring->written - ring->taken;
	ring->taken = ring->written;
}

/**
 * imc_ring_restart - prepare for a start of the engine, before LDBAR is written
 * @ring: the reader
 *
 * Polls and drops all old records. If one of them were later taken for a new record, the reader
 * would assume a wrong position of the engine.
 */
void imc_ring_restart(struct imc_ring *ring)
{
	struct imc_ring_tally unowned = {};

	imc_ring_look(ring, &unowned);
	imc_ring_drop(ring, &unowned);
	ring->restarted = true;
}

/**
 * imc_ring_init - initialize the reader of a buffer that is all zero
 * @ring: filled in
 * @words: the buffer
 * @bytes: length of the buffer
 */
void imc_ring_init(struct imc_ring *ring, const void *words, u32 bytes)
{
	*ring = (struct imc_ring) {
		.words = words,
		.records = bytes / (IMC_RECORD_WORDS * sizeof(u64)),
		.torn = IMC_NOTHING_TORN,
	};
}

/**
 * imc_poll_ns - delay until the next poll
 * @since_ns: time since the last poll
 * @records: records that arrived in that time
 * @section: maximum number of records that one drain reads
 *
 * Return: the time in which about @section / 2 records will arrive, within bounds.
 */
u64 imc_poll_ns(u64 since_ns, u64 records, u32 section)
{
	u64 bounded_ns = min_t(u64, since_ns, 1000000000ULL);

	if (!records)
		return IMC_POLL_MAX_NS;
	return max_t(u64, IMC_POLL_MIN_NS,
		     min_t(u64, IMC_POLL_MAX_NS, bounded_ns * (section / 2) / records));
}
