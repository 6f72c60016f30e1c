// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* For cores that take locks and tests that do not care. */
#include <linux/spinlock.h>

struct kshim_now kshim_now;
