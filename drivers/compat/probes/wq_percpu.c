// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 6.17 or newer. */
#include <linux/workqueue.h>

int probe(void);
int probe(void)
{
	return WQ_PERCPU;
}
