// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 6.16 or newer. */
#include <asm/msr.h>

int probe(unsigned int cpu, u64 *value);
int probe(unsigned int cpu, u64 *value)
{
	return rdmsrq_safe_on_cpu(cpu, 0, value) ?: wrmsrq_safe_on_cpu(cpu, 0, *value);
}
