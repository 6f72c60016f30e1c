// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: reading a trace buffer that hardware fills without any handshake.
 *
 * The engine writes records one behind the other, goes on at the beginning when it reaches the end,
 * and reports neither its position nor a wrap. The driver relies on one property: the timebase
 * rises from record to record. So, from the position where the last read ended, newer records
 * follow up to the position of the engine; beyond it all are older. That position is found by
 * bisection:
 *
 *   taken          written                    the engine
 *     |               |                            |
 *     v               v                            v
 *   [ read later ...  | newer than newest_tb ...   | older: the round before ... ]
 *
 * With a look in every round the number of records written is exact, whether they can be taken or
 * not, and so is the number of those that were overwritten. The reader writes nothing: a record
 * is never touched while the engine may be there.
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
 * Copies a record. False: another one has begun in its place. The two timebases stand at the ends
 * of a record, and which of them is written last is not documented: so both are read before and
 * after what is between. A second one that changes is that of a record just being finished.
 */
static bool imc_ring_copy(const struct imc_ring *ring, u64 number, u64 *record)
{
	u32 i;

	record[IMC_RECORD_TB1] = imc_ring_tb(ring, number);
	record[IMC_RECORD_TB2] = imc_ring_word(ring, number, IMC_RECORD_TB2);
	/* The ends before the middle; pairs with the engine's barriers. */
	smp_rmb();
	for (i = IMC_RECORD_TB1 + 1; i < IMC_RECORD_TB2; i++)
		record[i] = imc_ring_word(ring, number, i);
	/* The middle before the ends again. */
	smp_rmb();
	if (imc_ring_word(ring, number, IMC_RECORD_TB2) != record[IMC_RECORD_TB2])
		record[IMC_RECORD_TB2] = ~record[IMC_RECORD_TB1];
	return imc_ring_tb(ring, number) == record[IMC_RECORD_TB1];
}

static bool imc_record_whole(const u64 *record)
{
	return imc_timebases_agree(record[IMC_RECORD_TB1], record[IMC_RECORD_TB2]);
}

/* Where the engine is */

/* How many records from @from on are newer than @tb, provided that newer ones come first. */
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
 * The record seen last has been overwritten: the engine has gone round since. Behind its place
 * come the records of the round before.
 */
static u64 imc_ring_count_lapped(const struct imc_ring *ring)
{
	u64 first_tb = imc_ring_tb(ring, ring->written);
	u64 second_round;

	second_round = first_tb ? imc_ring_count_newer(ring, ring->written, first_tb - 1) : 0;
	return ring->records + second_round % ring->records;
}

/*
 * Whether an engine goes on where it was, or at the beginning, when LDBAR is written again is not
 * documented: both places are looked at, and the older of two new records was the first.
 */
static void imc_ring_find_start(struct imc_ring *ring)
{
	u64 round = ring->written + ring->records - 1;
	u64 beginning = round - round % ring->records;
	u64 here_tb = imc_ring_tb(ring, ring->written);
	u64 there_tb = imc_ring_tb(ring, beginning);
	bool here = here_tb > ring->newest_tb;
	/* One that was seen half-written is not new. */
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
 * A record that cannot be true must not pass for newer than all that will ever come, nor for the
 * place of the engine when it is of the round before. So what is seen ends with a whole record, but
 * for one that may be half-written.
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
 * imc_ring_look - see what the engine has written
 * @ring: the reader
 * @tally: added to
 *
 * To be called at least once while the engine goes round once.
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

/* Taking */

/* A record that is not whole: is it still being written? Only the last one can be. */
static bool imc_ring_await(struct imc_ring *ring)
{
	bool again = ring->torn == ring->taken;

	ring->torn = ring->taken;
	return !again && ring->taken + 1 == ring->written;
}

/**
 * imc_ring_take - take the oldest record
 * @ring: the reader
 * @record: IMC_RECORD_WORDS words, in the byte order of the CPU
 * @tally: added to
 *
 * One that was overwritten since the look, or cannot be true, is passed over.
 *
 * Return: IMC_RING_EMPTY also when the last one is not yet complete.
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
 * imc_ring_drop - give up what has not been taken
 * @ring: the reader
 * @tally: added to
 */
void imc_ring_drop(struct imc_ring *ring, struct imc_ring_tally *tally)
{
	tally->lost += ring->written - ring->taken;
	ring->taken = ring->written;
}

/**
 * imc_ring_restart - the engine is about to be started, with LDBAR newly written
 * @ring: its reader
 *
 * What is there is not what will come, whether it was seen or not: a record that was not would
 * be taken for the place where the engine goes on.
 */
void imc_ring_restart(struct imc_ring *ring)
{
	struct imc_ring_tally unowned = {};

	imc_ring_look(ring, &unowned);
	imc_ring_drop(ring, &unowned);
	ring->restarted = true;
}

/**
 * imc_ring_init - the reader of a buffer that is all zero
 * @ring: filled in
 * @words: the buffer
 * @bytes: its length, some records
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
 * imc_poll_ns - when to look again
 * @since_ns: time since the last look
 * @records: that came in that time
 * @section: most records that one look may take
 *
 * Return: the time in which about half a section will come, within bounds.
 */
u64 imc_poll_ns(u64 since_ns, u64 records, u32 section)
{
	u64 bounded_ns = min_t(u64, since_ns, 1000000000ULL);

	if (!records)
		return IMC_POLL_MAX_NS;
	return max_t(u64, IMC_POLL_MIN_NS,
		     min_t(u64, IMC_POLL_MAX_NS, bounded_ns * (section / 2) / records));
}
