// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: opening events: privileges, valid terms, mutually exclusive types.
 *
 * A core has one engine, which counts for the core, counts for its threads, or traces. Open events
 * of one of these types, on any CPU, claim all engines for the type. So an event of another type
 * fails to open, instead of counting 0.
 *
 * Context: process context, sometimes under perf's ctx->mutex (see imc_probe.c).
 */

#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "imc.h"

/* Claims */

static int imc_claim(struct imc *imc, u32 type)
{
	int ret = 0;

	if (type == IMC_TYPE_CHIP)
		return 0;

	spin_lock(&imc->claim_lock);
	if (imc->nr_claims && imc->claimed != type) {
		ret = -EBUSY;
	} else {
		WRITE_ONCE(imc->claimed, type);
		imc->nr_claims++;
	}
	spin_unlock(&imc->claim_lock);
	return ret;
}

static void imc_unclaim(struct imc *imc, u32 type)
{
	if (type == IMC_TYPE_CHIP)
		return;

	spin_lock(&imc->claim_lock);
	imc->nr_claims--;
	spin_unlock(&imc->claim_lock);
}

/* Checks of an event's attributes. Each returns an error text, or NULL if the event is valid. */

static const char *imc_counter_wrong(const struct imc_pmu *ipmu, struct perf_event *event)
{
	if (is_sampling_event(event))
		return "counts only, there are no samples";
	if (!imc_unit_has_counter(ipmu->unit, event->attr.config))
		return "there is no counter at this offset";
	return NULL;
}

static const char *imc_system_wrong(const struct imc_pmu *ipmu, struct perf_event *event)
{
	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return "counts for a CPU (-a, -C), not for a task";
	/* PERF_PMU_CAP_NO_EXCLUDE rejects these flags, but only after the engine is claimed. */
	if (event_has_any_exclude_flag(event))
		return "counts in all modes";
	return imc_counter_wrong(ipmu, event);
}

static const char *imc_thread_wrong(const struct imc_pmu *ipmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (!(event->attach_state & PERF_ATTACH_TASK))
		return "counts for a task, not for a CPU";
	if (attr->exclude_user || attr->exclude_kernel || attr->exclude_hv || attr->exclude_idle)
		return "counts in all modes";
	return imc_counter_wrong(ipmu, event);
}

static const char *imc_trace_wrong(const struct imc_pmu *ipmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (!imc_unit_samples(&ipmu->imc->catalog, ipmu->unit, attr->config))
		return "firmware samples what is in events/ and nothing else";
	/* perf sends at most one signal until the task continues, but a drain has many records. */
	if (attr->sigtrap)
		return "no signals";
	return pmukit_sampling_wrong(attr);
}

static const char *imc_event_wrong(const struct imc_pmu *ipmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->config1 || attr->config2 || compat_attr_extra_config(attr))
		return "unknown bits beyond config";
	if (ipmu->unit->type == IMC_TYPE_TRACE)
		return imc_trace_wrong(ipmu, event);
	if (ipmu->unit->type == IMC_TYPE_THREAD)
		return imc_thread_wrong(ipmu, event);
	return imc_system_wrong(ipmu, event);
}

/*
 * Thread and trace events need privileges, because they show other tasks and kernel addresses.
 * Inherited events are not checked again: refusing one would make fork() fail in a task that has
 * dropped its privileges.
 */
static int imc_event_allowed(const struct imc_pmu *ipmu, struct perf_event *event)
{
	u32 type = ipmu->unit->type;

	if (type != IMC_TYPE_THREAD && type != IMC_TYPE_TRACE)
		return 0;
	if (!event->parent && !perfmon_capable())
		return -EACCES;
	/* trace_imc cannot count without sampling. The error is that of the in-tree driver. */
	if (type == IMC_TYPE_TRACE && !event->attr.sample_period)
		return -ENOENT;
	return 0;
}

static int imc_event_place(struct imc_pmu *ipmu, const struct perf_event *event)
{
	if (ipmu->unit->type == IMC_TYPE_CHIP && !imc_chip_of(ipmu->imc, event->cpu))
		return -ENODEV;
	return 0;
}

/* Opening and freeing */

/*
 * A PMU exists before the init of the back-end's module has succeeded, and may exist after the
 * back-end is unregistered. At these times a reference to the module does not keep the back-end's
 * memory valid. So the driver accesses imc->backend only between these times, while imc->serving is
 * set.
 */
static bool imc_hold_backend(struct imc *imc)
{
	bool held;

	spin_lock(&imc->claim_lock);
	held = imc->serving && try_module_get(imc->backend->owner);
	spin_unlock(&imc->claim_lock);
	return held;
}

static int imc_event_open(struct imc_pmu *ipmu, struct perf_event *event, struct imc_event *ev)
{
	int ret;

	ret = imc_claim(ipmu->imc, ipmu->unit->type);
	if (ret) {
		pr_debug("%s: core, thread and trace events exclude each other\n", ipmu->pp.name);
		return ret;
	}
	ret = -ENODEV;
	if (!imc_hold_backend(ipmu->imc))
		goto unclaim;
	ret = imc_event_place(ipmu, event);
	if (ret)
		goto put_owner;
	ret = imc_probes_get(ipmu->imc, event);
	if (ret)
		goto put_owner;
	ret = pmukit_event_open(&ipmu->pp, &ev->pev, event);
	if (ret)
		goto put_probes;
	return 0;

put_probes:
	imc_probes_put(ipmu->imc, ipmu->unit->type);
put_owner:
	module_put(ipmu->imc->backend->owner);
unclaim:
	imc_unclaim(ipmu->imc, ipmu->unit->type);
	return ret;
}

/**
 * imc_event_init - the event_init callback of all PMUs of this driver
 * @event: the new event
 *
 * Return: 0 or -errno.
 */
int imc_event_init(struct perf_event *event)
{
	struct imc_event *ev;
	struct imc_pmu *ipmu;
	const char *wrong;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	ipmu = imc_pmu_of(event);
	ret = imc_event_allowed(ipmu, event);
	if (ret)
		return ret;
	wrong = imc_event_wrong(ipmu, event);
	if (wrong) {
		pr_debug("%s: %s\n", ipmu->pp.name, wrong);
		return -EINVAL;
	}

	ev = kzalloc_obj(*ev);
	if (!ev)
		return -ENOMEM;
	ret = imc_event_open(ipmu, event, ev);
	if (ret) {
		kfree(ev);
		return ret;
	}
	pmukit_sampling_prepare(&ev->pev);
	/*
	 * perf marks an event active before it calls add. An NMI that reads or stops the event in
	 * between must find it stopped.
	 */
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	return 0;
}

/**
 * imc_event_free - free a destroyed event
 * @pev: part of a struct imc_event
 */
void imc_event_free(struct pmukit_event *pev)
{
	struct imc_pmu *ipmu = imc_pmu_of(pev->event);
	struct module *owner = ipmu->imc->backend->owner;

	imc_probes_put(ipmu->imc, ipmu->unit->type);
	imc_unclaim(ipmu->imc, ipmu->unit->type);
	kfree(container_of(pev, struct imc_event, pev));
	/* Put the module last: without this reference the back-end may be unregistered. */
	module_put(owner);
}
