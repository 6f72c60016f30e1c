/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * FIELD_GET and FIELD_PREP without the kernel's compile-time checks. The build of the modules
 * performs these checks.
 */
#ifndef KSHIM_LINUX_BITFIELD_H
#define KSHIM_LINUX_BITFIELD_H

#define FIELD_GET(mask, word) \
	((unsigned long long)((word) & (mask)) >> __builtin_ctzll(mask))
#define FIELD_PREP(mask, value) \
	(((unsigned long long)(value) << __builtin_ctzll(mask)) & (mask))

#endif
