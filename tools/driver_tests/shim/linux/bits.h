/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bit and mask macros under the kernel's names, for the *_core.c files of the drivers. */
#ifndef KSHIM_LINUX_BITS_H
#define KSHIM_LINUX_BITS_H

#define BIT(nr) (1UL << (nr))
#define BIT_ULL(nr) (1ULL << (nr))
#define GENMASK_ULL(high, low) ((~0ULL >> (63 - (high))) & (~0ULL << (low)))
#define GENMASK(high, low) ((unsigned long)GENMASK_ULL(high, low))

#endif
