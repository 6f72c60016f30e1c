// SPDX-License-Identifier: GPL-2.0-only
/* Delete this probe when the oldest supported kernel is 7.0 or newer. */
#include <linux/perf_event.h>

u64 probe(const struct perf_event_context *ctx);
u64 probe(const struct perf_event_context *ctx)
{
	return ctx->time.time;
}
