// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: the PMU: checks of new events, and the callbacks of perf. The callbacks do little:
 * context switches set the RMID of a CPU (cache_qos_switch.c), and the sampler updates counts
 * (cache_qos_watch.c).
 *
 * An event is for a task, a task on a CPU, a CPU, or a cgroup on a CPU. Events are in the software
 * context: scheduling one in never fails for lack of a counter, and they can be siblings of a clock
 * event.
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/hardirq.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "cache_qos.h"

#define CACHE_QOS_CONFIG_EVENT	GENMASK_ULL(7, 0)
#define CACHE_QOS_CONFIG_DOMAIN	GENMASK_ULL(23, 8)	/* 0: all, n: id n - 1 */
#define CACHE_QOS_CONFIG1_SHARE	GENMASK_ULL(31, 0)

/* Perf callbacks */

static bool cache_qos_exiting(const struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_TASK && current->flags & PF_EXITING;
}

/*
 * Return: true if an event is removed from its CPU for a reason other than a context switch. At a
 * switch the probe has already recorded the next task. If an event is disabled, or its context
 * rescheduled, the recorded task is current, or NULL if there was no switch since the probe was
 * attached.
 */
static bool cache_qos_stays(struct cache_qos_live *live, const struct perf_event *event)
{
	const struct task_struct *running = this_cpu_read(*live->running);

	if (cache_qos_cgroup_event(event))
		return false;
	return !(event->attach_state & PERF_ATTACH_TASK) || !running || running == current;
}

/*
 * Read counters and update counts for an event with a known watch. Interrupts off. Unless @wait,
 * counts whose lock is taken stay unchanged. @fresh_ns is 0 if the event starts or stops counting.
 */
static void cache_qos_update(struct cache_qos_live *live, struct cache_qos_event *ev, u64 fresh_ns,
			     bool wait)
{
	cache_qos_read_here(live, ev->watch->monitor, fresh_ns, wait);
	cache_qos_watch_publish(live, ev->watch, wait);
}

/*
 * A CPU switches from a cgroup to another one. If events of the cgroup are then disabled, as at
 * the end of perf stat, perf calls no function of the PMU, and the counts stay as they are: they
 * must not be as old as the last pass.
 */
static void cache_qos_leave_cgroup(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	if (cache_qos_read_here(live, ev->watch->monitor, CACHE_QOS_LEFT_NS, false))
		cache_qos_watch_publish(live, ev->watch, false);
}

static void cache_qos_pmu_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

static void cache_qos_pmu_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/* Counters are read when an event is added, so that earlier traffic is not counted. */
static int cache_qos_pmu_add(struct perf_event *event, int flags)
{
	struct cache_qos_live *live = cache_qos_live_of(event);
	struct cache_qos_event *ev = cache_qos_of_event(event);
	int ret = 0;

	if (READ_ONCE(live->dead))
		return -ENODEV;
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	/* Resolve the target only once: perf adds and removes a cgroup event at every switch. */
	if (!(event->attach_state & PERF_ATTACH_TASK) && !ev->channel)
		ret = cache_qos_watch_settle(live, ev);
	if (!ret && cache_qos_turn_takes(live, ev) && cache_qos_leads_others(event))
		ret = -EINVAL;
	if (ret)
		return ret;
	cache_qos_turn_come(live, ev);
	if (ev->off && ev->channel)
		cache_qos_watch_resume(ev);
	ev->off = false;
	if (ev->sampled)
		WRITE_ONCE(ev->came_ns, cache_qos_now_ns());
	if (ev->channel && !ev->channel->primed)
		cache_qos_update(live, ev, 0, true);
	return 0;
}

/*
 * perf calls this at every switch, but counters are read only if the task exits or the event is
 * disabled, to count its last traffic, and at a switch from a cgroup if the last reading is old. An
 * exiting task with an inherited event counts, too: it may be the last task of the process.
 */
static void cache_qos_pmu_del(struct perf_event *event, int flags)
{
	struct cache_qos_live *live = cache_qos_live_of(event);
	struct cache_qos_event *ev = cache_qos_of_event(event);

	cache_qos_pmu_stop(event, 0);
	cache_qos_turn_account(live, ev);
	ev->off = cache_qos_stays(live, event);
	if (cache_qos_exiting(event))
		cache_qos_update(live, ev, CACHE_QOS_FRESH_NS, true);
	else if (ev->off && ev->channel)
		cache_qos_update(live, ev, 0, true);
	else if (ev->channel && cache_qos_cgroup_event(event))
		cache_qos_leave_cgroup(live, ev);
}

/*
 * The leader of the event's group may be a trace event, which may fire while this CPU holds any
 * lock, even one of the driver's. So this function does not wait for locks: if one is taken, the
 * count of the last pass stays.
 */
static void cache_qos_pmu_read(struct perf_event *event)
{
	struct cache_qos_live *live = cache_qos_live_of(event);
	struct cache_qos_event *ev = cache_qos_of_event(event);

	if (in_nmi())
		return;
	cache_qos_turn_account(live, ev);
	if (ev->channel)
		cache_qos_update(live, ev, READ_ONCE(live->sample_ms) * NSEC_PER_MSEC, false);
}

/* Opening */

/*
 * perf refuses exclude_* flags only after event_init (PERF_PMU_CAP_NO_EXCLUDE), and perf stat tries
 * an event with such flags first. If event_init accepted it, the event's RMID would be in limbo
 * when perf stat opens the event without the flags.
 */
static const char *cache_qos_event_wrong(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->config & ~(CACHE_QOS_CONFIG_EVENT | CACHE_QOS_CONFIG_DOMAIN) ||
	    attr->config1 & ~CACHE_QOS_CONFIG1_SHARE || attr->config2 ||
	    compat_attr_extra_config(attr))
		return "unknown bits in the configuration";
	if (FIELD_GET(CACHE_QOS_CONFIG_EVENT, attr->config) - 1 >= CACHE_QOS_NR_EVENTS)
		return "there is no such event";
	if (has_branch_stack(event))
		return "there are no branches";
	if (event_has_any_exclude_flag(event))
		return "nothing can be excluded";
	/* perf would exchange counts of parent and child, but one event counts for all tasks. */
	if (attr->inherit && attr->inherit_stat)
		return "the tasks of an inherited event have no counts of their own";
	return NULL;
}

static int cache_qos_event_fill(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	const struct perf_event_attr *attr = &ev->pev.event->attr;
	u32 domain = FIELD_GET(CACHE_QOS_CONFIG_DOMAIN, attr->config);
	int cpu = ev->pev.event->cpu;

	ev->what = FIELD_GET(CACHE_QOS_CONFIG_EVENT, attr->config);
	ev->share = FIELD_GET(CACHE_QOS_CONFIG1_SHARE, attr->config1);
	ev->sampled = is_sampling_event(ev->pev.event->group_leader);
	if (!cache_qos_event_there(&live->core.hw, ev->what)) {
		pr_debug("cache_qos: this CPU does not have event %u\n", ev->what);
		return -EOPNOTSUPP;
	}
	ev->domain = domain ? cache_qos_domain_find(&live->core, domain - 1) : CACHE_QOS_ALL;
	if (ev->domain == CACHE_QOS_NONE) {
		pr_debug("cache_qos: there is no domain %u\n", domain - 1);
		return -EINVAL;
	}
	/* A CPU that came online and cannot be used has no domain. */
	if (cpu >= 0 && READ_ONCE(per_cpu_ptr(live->cpus, cpu)->domain) == CACHE_QOS_NONE) {
		pr_debug("cache_qos: CPU %d does not take part\n", cpu);
		return -ENODEV;
	}
	return 0;
}

/*
 * Decide if the monitor of an event may take turns. perf reads the times of all events of a group
 * from the leader: a group takes turns only if all its events have the same monitor, and all or
 * none of them are occupancy, whose times differ (cache_qos_turn.c). Return: 0 or -EINVAL.
 */
static int cache_qos_event_turns(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct perf_event *event = ev->pev.event, *leader = event->group_leader;
	const struct cache_qos_event *first;

	if (!live->core.rotate_ns || leader->pmu != event->pmu)
		return 0;
	ev->turns = true;
	if (leader == event)
		return 0;
	first = cache_qos_of_event(leader);
	if (first->share == ev->share && cache_qos_is_gauge(first) == cache_qos_is_gauge(ev))
		return 0;
	pr_debug("cache_qos: with rotate_ms, a group is all occupancy or all bandwidth\n");
	return -EINVAL;
}

/* If other software takes the registers after the check below, the next pass detects it. */
static int cache_qos_event_open(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct perf_event *event = ev->pev.event;
	int ret;

	if (!event->parent) {
		ret = cache_qos_users_get(live);
		if (ret)
			return ret;
		ret = -EBUSY;
		if (cache_qos_registers_taken(&live->core) || live->backend->claimed())
			goto put_users;
	}
	ret = cache_qos_watch_open(live, ev);
	if (ret)
		goto put_users;
	ret = pmukit_event_open(&live->pp, &ev->pev, event);
	if (ret)
		goto close;
	return 0;

close:
	cache_qos_watch_close(live, ev);
put_users:
	if (!event->parent)
		cache_qos_users_put(live);
	return ret;
}

static int cache_qos_event_init(struct perf_event *event)
{
	struct cache_qos_live *live;
	struct cache_qos_event *ev;
	const char *wrong;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	wrong = cache_qos_event_wrong(event);
	if (wrong) {
		pr_debug("cache_qos: %s\n", wrong);
		return -EINVAL;
	}
	if (is_sampling_event(event))
		return -EOPNOTSUPP;

	live = cache_qos_live_of(event);
	ev = kzalloc_obj(*ev);
	if (!ev)
		return -ENOMEM;
	ev->pev.event = event;
	ret = cache_qos_event_fill(live, ev);
	if (!ret)
		ret = cache_qos_event_turns(live, ev);
	if (!ret)
		ret = cache_qos_event_open(live, ev);
	if (ret)
		kfree(ev);
	return ret;
}

static void cache_qos_event_free(struct pmukit_event *pev)
{
	struct cache_qos_live *live = cache_qos_live_of(pev->event);
	bool child = pev->event->parent;

	cache_qos_watch_close(live, container_of(pev, struct cache_qos_event, pev));
	kfree(container_of(pev, struct cache_qos_event, pev));
	if (!child)
		cache_qos_users_put(live);
}

/* Registration */

static void cache_qos_pmu_release(struct pmukit_pmu *pp)
{
	cache_qos_live_put(to_cache_qos_live(pp));
}

static const struct pmukit_pmu_ops cache_qos_pmu_ops = {
	.release	= cache_qos_pmu_release,
	.event_free	= cache_qos_event_free,
};

/**
 * cache_qos_pmu_fill - prepare the PMU; the caller owns its first reference
 * @live: driver state
 */
void cache_qos_pmu_fill(struct cache_qos_live *live)
{
	struct pmu *pmu = &live->pp.pmu;

	pmukit_pmu_init(&live->pp, &cache_qos_pmu_ops, THIS_MODULE);
	live->pp.scope = PMUKIT_SCOPE_CPUS;
	live->pp.max_events = UINT_MAX;
	strscpy(live->pp.name, "cache_qos", sizeof(live->pp.name));

	pmu->task_ctx_nr = perf_sw_context;
	pmu->capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_NO_EXCLUDE;
	pmu->attr_groups = cache_qos_groups;
	pmu->event_init = cache_qos_event_init;
	pmu->add = cache_qos_pmu_add;
	pmu->del = cache_qos_pmu_del;
	pmu->start = cache_qos_pmu_start;
	pmu->stop = cache_qos_pmu_stop;
	pmu->read = cache_qos_pmu_read;
}
