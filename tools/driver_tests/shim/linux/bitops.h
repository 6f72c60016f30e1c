/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bits of a word and of an array of words, under the kernel's names. No function is atomic. */
#ifndef KSHIM_LINUX_BITOPS_H
#define KSHIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

#define BITS_PER_LONG		((unsigned int)sizeof(unsigned long) * 8)
#define BITS_TO_LONGS(bits)	(((bits) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BIT_MASK(nr)		(1UL << ((nr) % BITS_PER_LONG))
#define BIT_WORD(nr)		((nr) / BITS_PER_LONG)

/* As in the kernel, the result for 0 is undefined. */
static inline unsigned long __ffs(unsigned long word)
{
	return (unsigned long)__builtin_ctzl(word);
}

static inline unsigned long __fls(unsigned long word)
{
	return BITS_PER_LONG - 1 - (unsigned long)__builtin_clzl(word);
}

/* Returns the number of the highest bit that is set, from 1; 0 if no bit is set. */
static inline int fls(unsigned int word)
{
	return word ? 32 - __builtin_clz(word) : 0;
}

static inline int fls64(__u64 word)
{
	return word ? 64 - __builtin_clzll(word) : 0;
}

static inline unsigned int hweight32(unsigned int word)
{
	return (unsigned int)__builtin_popcount(word);
}

static inline unsigned long hweight64(__u64 word)
{
	return (unsigned long)__builtin_popcountll(word);
}

static inline unsigned long hweight_long(unsigned long word)
{
	return (unsigned long)__builtin_popcountl(word);
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[BIT_WORD(nr)] & BIT_MASK(nr);
}

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[BIT_WORD(nr)] |= BIT_MASK(nr);
}

static inline void __clear_bit(unsigned long nr, unsigned long *map)
{
	map[BIT_WORD(nr)] &= ~BIT_MASK(nr);
}

/*
 * Returns the first bit at or after @at that is set (@invert: clear), or @nbits if there is none.
 */
static inline unsigned long kshim_find_bit(const unsigned long *map, unsigned long nbits,
					   unsigned long at, bool invert)
{
	while (at < nbits) {
		unsigned long word = map[BIT_WORD(at)];

		word = (invert ? ~word : word) >> (at % BITS_PER_LONG);
		if (word) {
			at += __ffs(word);
			break;
		}
		at = (at | (BITS_PER_LONG - 1)) + 1;
	}
	return at < nbits ? at : nbits;
}

static inline unsigned long find_next_bit(const unsigned long *map, unsigned long nbits,
					  unsigned long at)
{
	return kshim_find_bit(map, nbits, at, false);
}

static inline unsigned long find_next_zero_bit(const unsigned long *map, unsigned long nbits,
					       unsigned long at)
{
	return kshim_find_bit(map, nbits, at, true);
}

#define find_first_bit(map, nbits)	find_next_bit(map, nbits, 0)
#define find_first_zero_bit(map, nbits)	find_next_zero_bit(map, nbits, 0)

#define for_each_set_bit(bit, map, nbits)					\
	for ((bit) = find_first_bit(map, nbits); (bit) < (nbits);		\
	     (bit) = find_next_bit(map, nbits, (bit) + 1))

#endif
