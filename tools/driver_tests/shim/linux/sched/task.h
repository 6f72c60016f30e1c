/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* linux/sched/signal.h defines the tasks. */
#include <linux/sched/signal.h>
