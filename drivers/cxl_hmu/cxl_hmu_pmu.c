// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: perf callbacks.
 *
 * Locking: event_init and event_free run in process context and take only block->claim_lock; perf
 * may call event_init under ctx->mutex. add, del, start and stop run on the event's CPU with
 * interrupts off and take hmu->lock.
 */

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "cxl_hmu.h"

static struct cxl_hmu *cxl_hmu_of_event(struct perf_event *event)
{
	return to_cxl_hmu(to_pmukit_pmu(event->pmu));
}

/* Claims: which instance tracks which memory of a block */

static bool cxl_hmu_claims_collide(const struct cxl_hmu_claim *a, const struct cxl_hmu_claim *b)
{
	if (!a->used || !b->used || (a->overlap && b->overlap))
		return false;
	return cxl_hmu_ranges_overlap(&a->cfg, &b->cfg);
}

/* One event per instance. Two instances may track the same memory only if both support overlap. */
static int cxl_hmu_claim(struct cxl_hmu *hmu, const struct cxl_hmu_config *cfg)
{
	struct cxl_hmu_block *block = hmu->block;
	struct cxl_hmu_claim claim = { .used = true, .overlap = hmu->caps.overlap, .cfg = *cfg };
	int ret = 0;
	u32 i;

	spin_lock(&block->claim_lock);
	if (block->claims[hmu->index].used)
		ret = -EBUSY;
	for (i = 0; i < CXL_HMU_MAX_INSTANCES; i++) {
		if (cxl_hmu_claims_collide(&claim, &block->claims[i]))
			ret = -EBUSY;
	}
	if (!ret)
		block->claims[hmu->index] = claim;
	spin_unlock(&block->claim_lock);

	if (ret)
		pr_debug("%s: in use, or another instance tracks the same memory\n", hmu->pp.name);
	return ret;
}

static void cxl_hmu_unclaim(struct cxl_hmu *hmu)
{
	spin_lock(&hmu->block->claim_lock);
	hmu->block->claims[hmu->index].used = false;
	spin_unlock(&hmu->block->claim_lock);
}

/* Opening and freeing events */

static const char *cxl_hmu_event_check(const struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return "counts for the whole system only, not for a task";
	if (compat_attr_extra_config(attr))
		return "unknown bits in config3 or config4";
	return pmukit_sampling_wrong(attr);
}

static int cxl_hmu_event_init(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	struct cxl_hmu *hmu;
	struct cxl_hmu_event *hev;
	const char *wrong;
	int ret;

	if (attr->type != event->pmu->type)
		return -ENOENT;
	/* Physical addresses expose what all processes access. */
	if (!perfmon_capable())
		return -EACCES;

	hmu = cxl_hmu_of_event(event);
	wrong = cxl_hmu_event_check(event);
	if (wrong)
		goto refuse;

	hev = kzalloc_obj(*hev);
	if (!hev)
		return -ENOMEM;

	wrong = cxl_hmu_config_parse(&hmu->caps, attr->config, attr->config1, attr->config2,
				     &hev->cfg);
	if (wrong)
		goto free_event;

	ret = cxl_hmu_claim(hmu, &hev->cfg);
	if (ret)
		goto free_event;
	ret = pmukit_event_open(&hmu->pp, &hev->pev, event);
	if (ret)
		goto unclaim;

	pmukit_sampling_prepare(&hev->pev);
	return 0;

unclaim:
	cxl_hmu_unclaim(hmu);
free_event:
	kfree(hev);
	if (!wrong)
		return ret;
refuse:
	pr_debug("%s: %s\n", hmu->pp.name, wrong);
	return -EINVAL;
}

static void cxl_hmu_event_free(struct pmukit_event *pev)
{
	cxl_hmu_unclaim(cxl_hmu_of_event(pev->event));
	kfree(to_cxl_hmu_event(pev));
}

/* Running events */

static void cxl_hmu_event_start(struct perf_event *event, int flags)
{
	struct cxl_hmu *hmu = cxl_hmu_of_event(event);
	unsigned long irq_flags;

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	event->hw.state = 0;

	raw_spin_lock_irqsave(&hmu->lock, irq_flags);
	if (!hmu->dead)
		cxl_hmu_begin(hmu, to_cxl_hmu_event(to_pmukit_event(event)));
	raw_spin_unlock_irqrestore(&hmu->lock, irq_flags);
}

/* perf drops samples of a stopped event: run the last drain before marking the event as stopped. */
static void cxl_hmu_event_stop(struct perf_event *event, int flags)
{
	struct cxl_hmu *hmu = cxl_hmu_of_event(event);
	unsigned long irq_flags;

	if (event->hw.state & PERF_HES_STOPPED)
		return;

	local_irq_save(irq_flags);
	cxl_hmu_drain_last(hmu);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	raw_spin_lock(&hmu->lock);
	cxl_hmu_end(hmu);
	raw_spin_unlock(&hmu->lock);
	local_irq_restore(irq_flags);
}

static int cxl_hmu_event_add(struct perf_event *event, int flags)
{
	struct cxl_hmu *hmu = cxl_hmu_of_event(event);

	if (pmukit_pmu_gone(&hmu->pp))
		return -ENODEV;

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		cxl_hmu_event_start(event, PERF_EF_RELOAD);
	return 0;
}

static void cxl_hmu_event_del(struct perf_event *event, int flags)
{
	cxl_hmu_event_stop(event, PERF_EF_UPDATE);
}

/* The count is the number of delivered entries. Each delivery updates it; a read does nothing. */
static void cxl_hmu_event_read(struct perf_event *event)
{
}

/* Registration */

static void cxl_hmu_release(struct pmukit_pmu *pp)
{
	struct cxl_hmu *hmu = to_cxl_hmu(pp);

	cxl_hmu_block_put(hmu->block);
	kfree(hmu);
}

static const struct pmukit_pmu_ops cxl_hmu_pmu_ops = {
	.release = cxl_hmu_release,
	.event_free = cxl_hmu_event_free,
};

/**
 * cxl_hmu_pmu_fill - prepare the PMU of a new instance; the caller owns its first reference
 * @hmu: the instance
 */
void cxl_hmu_pmu_fill(struct cxl_hmu *hmu)
{
	pmukit_pmu_init(&hmu->pp, &cxl_hmu_pmu_ops, THIS_MODULE);
	hmu->pp.max_events = 1;

	hmu->pp.pmu.task_ctx_nr = perf_invalid_context;
	hmu->pp.pmu.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_AUX_PREFER_LARGE;
	hmu->pp.pmu.attr_groups = cxl_hmu_attr_groups;
	hmu->pp.pmu.event_init = cxl_hmu_event_init;
	hmu->pp.pmu.add = cxl_hmu_event_add;
	hmu->pp.pmu.del = cxl_hmu_event_del;
	hmu->pp.pmu.start = cxl_hmu_event_start;
	hmu->pp.pmu.stop = cxl_hmu_event_stop;
	hmu->pp.pmu.read = cxl_hmu_event_read;
	hmu->pp.pmu.setup_aux = pmukit_setup_aux;
	hmu->pp.pmu.free_aux = pmukit_free_aux;
	hmu->pp.pmu.check_period = pmukit_check_period;
}
