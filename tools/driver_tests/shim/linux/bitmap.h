/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Bitmaps under the kernel's names. As in the kernel, the functions ignore the bits from @nbits to
 * the end of the last word.
 */
#ifndef KSHIM_LINUX_BITMAP_H
#define KSHIM_LINUX_BITMAP_H

#include <string.h>

#include <linux/bitops.h>

/*
 * Mask of the bits of the last word that belong to the bitmap: all bits if the bitmap ends with the
 * word.
 */
#define BITMAP_LAST_WORD_MASK(nbits)	(~0UL >> (-(nbits) & (BITS_PER_LONG - 1)))

/* Returns word @i of a bitmap, with the bits beyond the bitmap cleared. */
static inline unsigned long kshim_bitmap_word(const unsigned long *map, unsigned int i,
					      unsigned int nbits)
{
	return map[i] & (i + 1 == BITS_TO_LONGS(nbits) ? BITMAP_LAST_WORD_MASK(nbits) : ~0UL);
}

static inline void bitmap_zero(unsigned long *map, unsigned int nbits)
{
	memset(map, 0, BITS_TO_LONGS(nbits) * sizeof(*map));
}

static inline void bitmap_fill(unsigned long *map, unsigned int nbits)
{
	memset(map, 0xff, BITS_TO_LONGS(nbits) * sizeof(*map));
}

static inline void bitmap_copy(unsigned long *to, const unsigned long *from, unsigned int nbits)
{
	memcpy(to, from, BITS_TO_LONGS(nbits) * sizeof(*to));
}

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int nbits)
{
	unsigned int i;

	for (i = start; i < start + nbits; i++)
		__set_bit(i, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start, unsigned int nbits)
{
	unsigned int i;

	for (i = start; i < start + nbits; i++)
		__clear_bit(i, map);
}

static inline bool bitmap_empty(const unsigned long *map, unsigned int nbits)
{
	return find_first_bit(map, nbits) == nbits;
}

static inline bool bitmap_full(const unsigned long *map, unsigned int nbits)
{
	return find_first_zero_bit(map, nbits) == nbits;
}

static inline bool bitmap_equal(const unsigned long *a, const unsigned long *b, unsigned int nbits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++) {
		if (kshim_bitmap_word(a, i, nbits) != kshim_bitmap_word(b, i, nbits))
			return false;
	}
	return true;
}

static inline bool bitmap_subset(const unsigned long *part, const unsigned long *whole,
				 unsigned int nbits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++) {
		if (kshim_bitmap_word(part, i, nbits) & ~whole[i])
			return false;
	}
	return true;
}

static inline bool bitmap_intersects(const unsigned long *a, const unsigned long *b,
				     unsigned int nbits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++) {
		if (kshim_bitmap_word(a, i, nbits) & b[i])
			return true;
	}
	return false;
}

static inline void bitmap_or(unsigned long *to, const unsigned long *a, const unsigned long *b,
			     unsigned int nbits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		to[i] = a[i] | b[i];
}

static inline bool bitmap_and(unsigned long *to, const unsigned long *a, const unsigned long *b,
			      unsigned int nbits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		to[i] = kshim_bitmap_word(a, i, nbits) & b[i];
	return !bitmap_empty(to, nbits);
}

static inline bool bitmap_andnot(unsigned long *to, const unsigned long *a, const unsigned long *b,
				 unsigned int nbits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		to[i] = kshim_bitmap_word(a, i, nbits) & ~b[i];
	return !bitmap_empty(to, nbits);
}

static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int nbits)
{
	unsigned int weight = 0, i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		weight += (unsigned int)hweight_long(kshim_bitmap_word(map, i, nbits));
	return weight;
}

#endif
