/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks are in linux/sched/signal.h. */
#include <linux/sched/signal.h>
