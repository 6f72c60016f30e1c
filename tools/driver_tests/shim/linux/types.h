/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's short integer types, in addition to the system's <linux/types.h>. */
#ifndef KSHIM_LINUX_TYPES_H
#define KSHIM_LINUX_TYPES_H

#include_next <linux/types.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s64 s64;

/* As in the kernel, linux/bitops.h defines BITS_TO_LONGS(). */
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

#endif
