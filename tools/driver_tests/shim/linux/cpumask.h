/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* linux/spinlock.h simulates the CPUs and their masks. */
#include <linux/spinlock.h>
