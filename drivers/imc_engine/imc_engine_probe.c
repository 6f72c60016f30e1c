// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: probes of kernel tracepoints. The tracepoints are not exported by name, but modules
 * can walk all of them. The build checks the types of the probes against the tracepoints.
 *
 * Probes are attached while the driver has events that need them: sched_switch for core, thread and
 * trace events; mm_page_alloc and mm_page_free for nest events.
 */

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/kmem.h>
#include <trace/events/sched.h>

#include <pmukit/imc_backend.h>

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

#define IMC_ENGINE_SWITCH_FIRST	0
#define IMC_ENGINE_SWITCH_NR	1
#define IMC_ENGINE_PAGE_FIRST	1
#define IMC_ENGINE_PAGE_NR	2

static_assert(IMC_ENGINE_PAGE_FIRST + IMC_ENGINE_PAGE_NR == ARRAY_SIZE(imc_engine_probes));

static void imc_engine_probe_match(struct tracepoint *point, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(imc_engine_probes); i++)
		if (!strcmp(point->name, imc_engine_probes[i].name))
			imc_engine_probes[i].point = point;
}

static void imc_engine_probes_remove(unsigned int first, unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(imc_engine_probes[first + nr].point,
					    imc_engine_probes[first + nr].function, NULL);
	tracepoint_synchronize_unregister();
}

static int imc_engine_probes_add(unsigned int first, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		err = tracepoint_probe_register(imc_engine_probes[first + i].point,
						imc_engine_probes[first + i].function, NULL);
		if (err) {
			imc_engine_probes_remove(first, i);
			return err;
		}
	}
	return 0;
}

/* Users of the probes: engines that have events. The driver serializes the get and put calls. */

static unsigned int imc_engine_switch_users;
static unsigned int imc_engine_attached;

static void imc_engine_attached_add(int nr)
{
	WRITE_ONCE(imc_engine_attached, imc_engine_attached + nr);
}

static int imc_engine_switches_get(void)
{
	int err;

	if (!imc_engine_switch_users) {
		err = imc_engine_probes_add(IMC_ENGINE_SWITCH_FIRST, IMC_ENGINE_SWITCH_NR);
		if (err)
			return err;
		imc_engine_tasks_learn();
		imc_engine_attached_add(IMC_ENGINE_SWITCH_NR);
	}
	imc_engine_switch_users++;
	return 0;
}

static void imc_engine_switches_put(void)
{
	if (--imc_engine_switch_users)
		return;
	imc_engine_tasks_forget();
	imc_engine_probes_remove(IMC_ENGINE_SWITCH_FIRST, IMC_ENGINE_SWITCH_NR);
	imc_engine_attached_add(-IMC_ENGINE_SWITCH_NR);
}

/* Attaches the probes that events of an engine need. */
int imc_engine_probe_get(u32 type)
{
	int err = imc_engine_fail_once();

	if (err)
		return err;
	if (type != PMUKIT_IMC_NEST)
		return imc_engine_switches_get();
	err = imc_engine_probes_add(IMC_ENGINE_PAGE_FIRST, IMC_ENGINE_PAGE_NR);
	if (!err)
		imc_engine_attached_add(IMC_ENGINE_PAGE_NR);
	return err;
}

/* Detaches the probes of an engine; on return none of them runs. */
void imc_engine_probe_put(u32 type)
{
	if (type != PMUKIT_IMC_NEST) {
		imc_engine_switches_put();
		return;
	}
	imc_engine_probes_remove(IMC_ENGINE_PAGE_FIRST, IMC_ENGINE_PAGE_NR);
	imc_engine_attached_add(-IMC_ENGINE_PAGE_NR);
}

/* Number of attached probes */
unsigned int imc_engine_probe_count(void)
{
	return READ_ONCE(imc_engine_attached);
}

/* Looks up the tracepoints. Called before any probe is attached. */
int imc_engine_probe_find(void)
{
	unsigned int i;

	check_trace_callback_type_sched_switch(imc_engine_sched_switch);
	check_trace_callback_type_mm_page_alloc(imc_engine_mm_page_alloc);
	check_trace_callback_type_mm_page_free(imc_engine_mm_page_free);
	for_each_kernel_tracepoint(imc_engine_probe_match, NULL);
	for (i = 0; i < ARRAY_SIZE(imc_engine_probes); i++) {
		if (imc_engine_probes[i].point)
			continue;
		pr_err("imc_engine: no trace event %s\n", imc_engine_probes[i].name);
		return -ENOENT;
	}
	return 0;
}
