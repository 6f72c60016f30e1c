/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Limits of the kernel's short integer types, in addition to the system's <linux/limits.h>. */
#ifndef KSHIM_LINUX_LIMITS_H
#define KSHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>

#define U32_MAX ((__u32)~0U)
#define U64_MAX ((__u64)~0ULL)

#endif
