// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 7.2 or newer. */
#include <linux/slab.h>

int *probe(void);
int *probe(void)
{
	int *number = kzalloc_obj(*number);

	return number;
}
