/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Powers of two under the kernel's names. */
#ifndef KSHIM_LINUX_LOG2_H
#define KSHIM_LINUX_LOG2_H

#include <linux/bitops.h>

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* As in the kernel, the result for 0 is undefined. */
static inline int ilog2(__u64 n)
{
	return fls64(n) - 1;
}

/* Returns 0 if @n is 0 or 1. */
static inline int order_base_2(__u64 n)
{
	return n > 1 ? fls64(n - 1) : 0;
}

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n > 1 ? 1UL << fls64(n - 1) : 1;
}

static inline unsigned long rounddown_pow_of_two(unsigned long n)
{
	return 1UL << ilog2(n);
}

#endif
