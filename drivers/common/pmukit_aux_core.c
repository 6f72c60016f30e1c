// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX ring arithmetic.
 *
 * perf counts the head in bytes from the start of the event and never wraps it; the position in the
 * ring is the head modulo the ring size. Records consist of whole 64-bit words, so a word never
 * straddles two pages, but a record may wrap at the end of the ring:
 *
 *        page 0            page 1                 page n-1
 *      +------------------+------------------+---+------------------+
 *      | word 2 .. word 9 |                  |   |    word 0  word 1|
 *      +------------------+------------------+---+------------------+
 *       ^ the record continues here                   ^ head
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
 * pmukit_aux_room_words - number of words that may be written
 * @free_bytes: free space as perf reports it
 *
 * perf reports at least one byte less than is free, so the ring never fills to the last word. This
 * matters: perf_aux_output_begin() disables the event if the ring is full.
 *
 * Return: the number of words.
 */
u64 pmukit_aux_room_words(u64 free_bytes)
{
	return free_bytes / sizeof(u64);
}

/**
 * pmukit_aux_word - address of a word
 * @ring: the ring
 * @position_bytes: position of the word, a multiple of 8; need not be wrapped
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
 * @head_bytes: position of the first word, a multiple of 8; need not be wrapped
 * @words: words to write
 * @nr_words: number of words, at most pmukit_aux_room_words() of the free space
 *
 * Writes page by page, because the pages need not be adjacent.
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
