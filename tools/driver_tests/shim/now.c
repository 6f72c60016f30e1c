// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Default state of the simulated CPUs, for tests that do not define it. */
#include <linux/spinlock.h>

struct kshim_now kshim_now;
