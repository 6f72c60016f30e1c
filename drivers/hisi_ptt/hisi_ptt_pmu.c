// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: perf callbacks.
 *
 * event_init does not change the device's trace settings or the state of a running trace: while an
 * event traces, perf may call event_init for a second event, which is refused.
 *
 * Locking: event_init and the freeing of an event run in process context, event_init sometimes
 * under perf's ctx->mutex; they take only dma_mutex, filter_lock and ptt->lock. add, del, start and
 * stop run on the event's CPU with interrupts off.
 */

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "hisi_ptt.h"

static struct hisi_ptt *hisi_ptt_of_event(struct perf_event *event)
{
	return to_hisi_ptt(to_pmukit_pmu(event->pmu));
}

/* Opening and freeing events */

static const char *hisi_ptt_event_check(const struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return "traces the whole system only, not a task";
	if (compat_attr_extra_config(attr))
		return "unknown bits in config3 or config4";
	return pmukit_sampling_wrong(attr);
}

static const char *hisi_ptt_event_parse(struct hisi_ptt *ptt, const struct perf_event *event,
					struct hisi_ptt_config *cfg)
{
	const char *wrong = hisi_ptt_event_check(event);

	if (!wrong)
		wrong = hisi_ptt_config_parse(event->attr.config, event->attr.config1,
					      event->attr.config2, cfg);
	if (!wrong && !hisi_ptt_filter_available(ptt, cfg))
		wrong = "filter is not in root_port_filters or requester_filters";
	return wrong;
}

static int hisi_ptt_event_create(struct hisi_ptt *ptt, struct perf_event *event,
				 const struct hisi_ptt_config *cfg)
{
	struct hisi_ptt_event *hev;
	int ret;

	hev = kzalloc_obj(*hev);
	if (!hev)
		return -ENOMEM;
	hev->cfg = *cfg;

	ret = hisi_ptt_dma_open(ptt);
	if (ret)
		goto free_event;
	ret = pmukit_event_open(&ptt->pp, &hev->pev, event);
	if (ret)
		goto free_event;

	pmukit_sampling_prepare(&hev->pev);
	return 0;

free_event:
	kfree(hev);
	return ret;
}

static int hisi_ptt_event_init(struct perf_event *event)
{
	struct hisi_ptt_config cfg;
	struct hisi_ptt *ptt;
	const char *wrong;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	/* Packets, and the addresses in them, expose accesses of the whole system. */
	if (!perfmon_capable())
		return -EACCES;

	ptt = hisi_ptt_of_event(event);
	wrong = hisi_ptt_event_parse(ptt, event, &cfg);
	if (wrong) {
		pr_debug("%s: %s\n", ptt->pp.name, wrong);
		return -EINVAL;
	}
	return hisi_ptt_event_create(ptt, event, &cfg);
}

static void hisi_ptt_event_free(struct pmukit_event *pev)
{
	kfree(to_hisi_ptt_event(pev));
}

/* The minimum is the default AUX size of perf record for an unprivileged user. */
static void *hisi_ptt_setup_aux(struct perf_event *event, void **pages, int nr_pages,
				bool overwrite)
{
	if ((u64)nr_pages << PAGE_SHIFT >= HISI_PTT_AUX_BYTES_MIN)
		return pmukit_setup_aux(event, pages, nr_pages, overwrite);

	pr_debug("%s: an AUX area has at least %u bytes\n", hisi_ptt_of_event(event)->pp.name,
		 HISI_PTT_AUX_BYTES_MIN);
	return NULL;
}

/* Running events */

/* Called with interrupts off. */
static int hisi_ptt_start_event(struct perf_event *event)
{
	int ret;

	event->hw.state = 0;
	ret = hisi_ptt_begin(hisi_ptt_of_event(event), to_hisi_ptt_event(to_pmukit_event(event)));
	if (ret)
		event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	return ret;
}

static void hisi_ptt_event_start(struct perf_event *event, int flags)
{
	unsigned long irq_flags;

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	local_irq_save(irq_flags);
	if (hisi_ptt_start_event(event))
		hisi_ptt_report_failed_start(hisi_ptt_of_event(event),
				    to_hisi_ptt_event(to_pmukit_event(event)));
	local_irq_restore(irq_flags);
}

/* perf drops samples of a stopped event: drain before marking the event stopped. */
static void hisi_ptt_event_stop(struct perf_event *event, int flags)
{
	struct hisi_ptt *ptt = hisi_ptt_of_event(event);
	unsigned long irq_flags;

	if (event->hw.state & PERF_HES_STOPPED)
		return;

	local_irq_save(irq_flags);
	hisi_ptt_drain_last(ptt);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	raw_spin_lock(&ptt->lock);
	ptt->state = HISI_PTT_OFF;
	ptt->active = NULL;
	raw_spin_unlock(&ptt->lock);
	local_irq_restore(irq_flags);
}

static int hisi_ptt_event_add(struct perf_event *event, int flags)
{
	struct hisi_ptt *ptt = hisi_ptt_of_event(event);
	struct hisi_ptt_event *hev = to_hisi_ptt_event(to_pmukit_event(event));
	unsigned long irq_flags;
	int ret = 0;

	if (pmukit_pmu_gone(&ptt->pp) || !hisi_ptt_filter_available(ptt, &hev->cfg))
		return -ENODEV;

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	local_irq_save(irq_flags);
	if (flags & PERF_EF_START)
		ret = hisi_ptt_start_event(event);
	local_irq_restore(irq_flags);
	return ret;
}

static void hisi_ptt_event_del(struct perf_event *event, int flags)
{
	hisi_ptt_event_stop(event, PERF_EF_UPDATE);
}

/*
 * The count is the number of delivered entries; each drain updates it. While the event runs, only
 * full buffers are delivered.
 */
static void hisi_ptt_event_read(struct perf_event *event)
{
}

/* Registration */

static void hisi_ptt_release(struct pmukit_pmu *pp)
{
	struct hisi_ptt *ptt = to_hisi_ptt(pp);

	pci_dev_put(ptt->pdev);
	kfree(ptt);
}

/*
 * Routes the interrupt to the events' CPU, so that the handler can drain there. If routing fails,
 * hisi_ptt_service() kicks that CPU. The start callback cannot route the interrupt:
 * irq_set_affinity() takes the lock of the irq_desc, which is not allowed under perf's locks.
 */
static void hisi_ptt_place_changed(struct pmukit_pmu *pp, unsigned int cpu)
{
	irq_set_affinity(to_hisi_ptt(pp)->irq, cpumask_of(cpu));
}

static const struct pmukit_pmu_ops hisi_ptt_pmu_ops = {
	.release = hisi_ptt_release,
	.event_free = hisi_ptt_event_free,
	.place_changed = hisi_ptt_place_changed,
};

/**
 * hisi_ptt_pmu_fill - prepare the PMU of a new device; the caller owns the first reference
 * @ptt: the device
 */
void hisi_ptt_pmu_fill(struct hisi_ptt *ptt)
{
	pmukit_pmu_init(&ptt->pp, &hisi_ptt_pmu_ops, THIS_MODULE);
	ptt->pp.max_events = 1;

	ptt->pp.pmu.task_ctx_nr = perf_invalid_context;
	ptt->pp.pmu.capabilities = PERF_PMU_CAP_NO_EXCLUDE;
	ptt->pp.pmu.attr_groups = hisi_ptt_attr_groups;
	ptt->pp.pmu.event_init = hisi_ptt_event_init;
	ptt->pp.pmu.add = hisi_ptt_event_add;
	ptt->pp.pmu.del = hisi_ptt_event_del;
	ptt->pp.pmu.start = hisi_ptt_event_start;
	ptt->pp.pmu.stop = hisi_ptt_event_stop;
	ptt->pp.pmu.read = hisi_ptt_event_read;
	ptt->pp.pmu.setup_aux = hisi_ptt_setup_aux;
	ptt->pp.pmu.free_aux = pmukit_free_aux;
	ptt->pp.pmu.check_period = pmukit_check_period;
}
