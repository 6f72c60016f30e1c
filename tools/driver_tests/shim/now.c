// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The state of the simulated CPUs, for tests that do not define it themselves. */
#include <linux/spinlock.h>

struct kshim_now kshim_now;
