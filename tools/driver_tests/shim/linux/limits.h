/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's limits of its short integer names on top of the system's <linux/limits.h>. */
#ifndef KSHIM_LINUX_LIMITS_H
#define KSHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>

#define U32_MAX ((__u32)~0U)
#define U64_MAX ((__u64)~0ULL)

#endif
