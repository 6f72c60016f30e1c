// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX ring arithmetic.
 *
 * perf counts the head in bytes from the start of the event and never wraps it; the place in the
 * ring is the head modulo the ring's size. All records are whole 64-bit words, so a word never
 * straddles two pages, though a record may straddle the end of the ring:
 *
 *        page 0            page 1                 page n-1
 *      +------------------+------------------+---+------------------+
 *      | ord 2 .. word 9  |                  |   |          word 0 w|
 *      +------------------+------------------+---+------------------+
 *       ^ goes on here                                    ^ head
 */

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include <pmukit/aux_core.h>

/**
 * pmukit_aux_ring_bytes - size of the ring
 * @ring: the ring
 *
 * Return: bytes, a power of two.
 */
u64 pmukit_aux_ring_bytes(const struct pmukit_aux_ring *ring)
{
	return (u64)ring->nr_pages << ring->page_shift;
}

/**
 * pmukit_aux_room_words - how many words may be written
 * @free_bytes: free space as perf reports it
 *
 * perf's figure is at least one byte less than what is free, so the ring never fills to the last
 * word. That matters: on an entirely full ring perf_aux_output_begin() disables the event.
 *
 * Return: the number of words.
 */
u64 pmukit_aux_room_words(u64 free_bytes)
{
	return free_bytes / sizeof(u64);
}

/**
 * pmukit_aux_word - where a word lies
 * @ring: the ring
 * @position_bytes: head of the word, a multiple of 8; need not be wrapped
 *
 * Return: its address.
 */
u64 *pmukit_aux_word(const struct pmukit_aux_ring *ring, u64 position_bytes)
{
	u64 offset = position_bytes & (pmukit_aux_ring_bytes(ring) - 1);
	u64 in_page = offset & (((u64)1 << ring->page_shift) - 1);
	u64 *page = ring->pages[offset >> ring->page_shift];

	return page + in_page / sizeof(u64);
}

/**
 * pmukit_aux_write - write words at the head, wrapping at the end of the ring
 * @ring: the ring
 * @head_bytes: where to begin, a multiple of 8; need not be wrapped
 * @words: what to write
 * @nr_words: how many, at most pmukit_aux_room_words() of what perf reported free
 *
 * A page at a time: the pages need not be adjacent.
 */
void pmukit_aux_write(const struct pmukit_aux_ring *ring, u64 head_bytes,
		      const u64 *words, u32 nr_words)
{
	u64 page_bytes = (u64)1 << ring->page_shift;
	u64 left = nr_words * sizeof(u64);

	while (left) {
		u64 run = min_t(u64, left, page_bytes - (head_bytes & (page_bytes - 1)));

		memcpy(pmukit_aux_word(ring, head_bytes), words, run);
		words += run / sizeof(u64);
		head_bytes += run;
		left -= run;
	}
}
