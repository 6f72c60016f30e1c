// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: what the kernel tells of its activity. Its trace events are not exported one by one;
 * modules may walk all of them. The types of the probes are checked against the trace events'.
 */

#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/kmem.h>
#include <trace/events/sched.h>

#include "imc_engine.h"

static void imc_engine_sched_switch(void *data, bool preempt, struct task_struct *prev,
				    struct task_struct *next, unsigned int prev_state)
{
	imc_engine_task_switch(next);
}

static void imc_engine_mm_page_alloc(void *data, struct page *page, unsigned int order,
				     gfp_t gfp_flags, int migratetype)
{
	if (page)
		imc_engine_pages(order ? IMC_ENGINE_NEST_BLOCK_PAGES_TAKEN :
				 IMC_ENGINE_NEST_PAGES_TAKEN, order);
}

static void imc_engine_mm_page_free(void *data, struct page *page, unsigned int order)
{
	imc_engine_pages(order ? IMC_ENGINE_NEST_BLOCK_PAGES_FREED : IMC_ENGINE_NEST_PAGES_FREED,
			 order);
}

static struct imc_engine_probe {
	const char *name;
	void *function;
	struct tracepoint *point;
} imc_engine_probes[] = {
	{ "sched_switch", imc_engine_sched_switch },
	{ "mm_page_alloc", imc_engine_mm_page_alloc },
	{ "mm_page_free", imc_engine_mm_page_free },
};

static void imc_engine_probe_find(struct tracepoint *point, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(imc_engine_probes); i++)
		if (!strcmp(point->name, imc_engine_probes[i].name))
			imc_engine_probes[i].point = point;
}

static void imc_engine_probes_remove(unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(imc_engine_probes[nr].point,
					    imc_engine_probes[nr].function, NULL);
	tracepoint_synchronize_unregister();
}

int imc_engine_probe_prepare(void)
{
	unsigned int i;
	int err;

	check_trace_callback_type_sched_switch(imc_engine_sched_switch);
	check_trace_callback_type_mm_page_alloc(imc_engine_mm_page_alloc);
	check_trace_callback_type_mm_page_free(imc_engine_mm_page_free);
	for_each_kernel_tracepoint(imc_engine_probe_find, NULL);
	for (i = 0; i < ARRAY_SIZE(imc_engine_probes); i++) {
		err = -ENOENT;
		if (imc_engine_probes[i].point)
			err = tracepoint_probe_register(imc_engine_probes[i].point,
							imc_engine_probes[i].function, NULL);
		if (err) {
			pr_err("imc_engine: no trace event %s: %d\n", imc_engine_probes[i].name,
			       err);
			imc_engine_probes_remove(i);
			return err;
		}
	}
	return 0;
}

void imc_engine_probe_finish(void)
{
	imc_engine_probes_remove(ARRAY_SIZE(imc_engine_probes));
}
