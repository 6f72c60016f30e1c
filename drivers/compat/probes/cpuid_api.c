// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 6.16 or newer. */
#include <asm/cpuid/api.h>

u32 probe(u32 leaf);
u32 probe(u32 leaf)
{
	return cpuid_eax(leaf);
}
