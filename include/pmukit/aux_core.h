/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AUX ring arithmetic: pure C, no kernel calls, so that a test in user space can run it.
 */
#ifndef PMUKIT_AUX_CORE_H
#define PMUKIT_AUX_CORE_H

#include <linux/types.h>

/**
 * struct pmukit_aux_ring - the AUX pages of one event as a ring of 64-bit words
 * @nr_pages: number of pages in the ring, a power of two (perf rejects other numbers)
 * @page_shift: log2 of the page size in bytes
 * @pages: address of each page; they need not be adjacent
 */
struct pmukit_aux_ring {
	u32 nr_pages;
	u32 page_shift;
	void *pages[];
};

u64 pmukit_aux_ring_bytes(const struct pmukit_aux_ring *ring);
u64 pmukit_aux_room_words(u64 free_bytes);
u64 *pmukit_aux_word(const struct pmukit_aux_ring *ring, u64 position_bytes);
void pmukit_aux_write(const struct pmukit_aux_ring *ring, u64 head_bytes,
		      const u64 *words, u32 nr_words);

#endif /* PMUKIT_AUX_CORE_H */
