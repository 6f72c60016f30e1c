// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: perf callbacks. Units count for the whole system and never interrupt.
 *
 * perf brackets changes of events by pmu_disable and pmu_enable. To share counters among more
 * events it takes off all of them there and adds most of them again, some milliseconds apart, while
 * the time of each goes on; and each access to a unit takes its time too. So an event that is taken
 * off is only noted as leaving. When it comes back to its place nothing has happened; when another
 * one gets the place, or at pmu_enable, its counter is looked at for the last time. Only for events
 * of a group is the unit frozen from the first change on, so that they start and stop together. Of
 * a group whose leader is throttled perf stops one after the other and nothing else: each of those
 * is a change by itself.
 *
 * Locking: event_init runs in process context, sometimes under perf's ctx->mutex. add, del, start
 * and stop run on the events' CPU with interrupts off, read anywhere in the package and in any
 * context; all of them take box->lock. Under it timers are called, whose locks a reader may have:
 * he then goes without. Nobody misses anything: the timer is not set while it is on, and is on
 * while events run.
 */

#include <linux/bits.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "uncore_pmon.h"

static struct uncore_pmon_box *uncore_pmon_box_of(struct pmu *pmu)
{
	return to_uncore_pmon_box(to_pmukit_pmu(pmu));
}

static struct uncore_pmon_event *uncore_pmon_of_event(struct perf_event *event)
{
	return to_uncore_pmon_event(to_pmukit_event(event));
}

/* Counting; under box->lock */

static u32 uncore_pmon_width(const struct uncore_pmon_box *box,
			     const struct uncore_pmon_event *uev)
{
	return uev->cfg.kind == UNCORE_PMON_GENERAL ? box->unit.width_bits : UNCORE_PMON_MC_WIDTH;
}

/* Adds what the counter has counted since the last look; false when nobody answers. */
static bool uncore_pmon_fold(struct uncore_pmon_box *box, struct uncore_pmon_event *uev, int slot)
{
	struct perf_event *event = uev->pev.event;
	u64 before = local64_read(&event->hw.prev_count);
	u64 now, delta;

	if (!uncore_pmon_box_count(box, uev, slot, &now))
		return false;
	local64_set(&event->hw.prev_count, now);
	if (!uev->based)
		uev->based = true;
	else if (uncore_pmon_delta(before, now, uncore_pmon_width(box, uev), &delta))
		local64_add(delta, &event->count);
	else
		uncore_pmon_complain(box, UNCORE_PMON_BACKWARDS);
	return true;
}

static bool uncore_pmon_runs(const struct uncore_pmon_event *uev)
{
	return !(uev->pev.event->hw.state & PERF_HES_STOPPED);
}

static bool uncore_pmon_is_grouped(const struct uncore_pmon_event *uev)
{
	return uev->pev.event->group_leader->nr_siblings;
}

static void uncore_pmon_freeze_for_change(struct uncore_pmon_box *box,
					  const struct uncore_pmon_event *uev)
{
	if (!box->reset)
		uncore_pmon_box_reset(box);
	else if (!box->frozen && uncore_pmon_is_grouped(uev))
		uncore_pmon_box_freeze(box, true);
}

static struct uncore_pmon_event *uncore_pmon_leaver_of(const struct uncore_pmon_box *box, int slot)
{
	struct uncore_pmon_event *uev;

	list_for_each_entry(uev, &box->leaving, leaving) {
		if (uev->home == slot)
			return uev;
	}
	return NULL;
}

/* The last look at the counter of an event that leaves; false when nobody answers. */
static bool uncore_pmon_finish(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	list_del_init(&uev->leaving);
	return uncore_pmon_fold(box, uev, uev->home);
}

/* True when the counter goes on as it did for the one that leaves it: it showed so much then. */
static bool uncore_pmon_slot_take(struct uncore_pmon_box *box, const struct uncore_pmon_event *uev,
				  u64 *shown)
{
	struct uncore_pmon_event *leaver = uncore_pmon_leaver_of(box, uev->slot);

	box->counting |= BIT(uev->slot);
	if (leaver && uncore_pmon_finish(box, leaver) && leaver->cfg.control == uev->cfg.control) {
		*shown = local64_read(&leaver->pev.event->hw.prev_count);
		return true;
	}
	uncore_pmon_box_control(box, uev->slot, uev->cfg.control);
	return false;
}

static void uncore_pmon_counter_start(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	bool has_slot = uev->slot != UNCORE_PMON_NO_SLOT;
	u64 now = 0;

	if (has_slot)
		uncore_pmon_freeze_for_change(box, uev);
	if (!list_empty(&uev->leaving)) {
		if (uev->slot == uev->home) {
			list_del_init(&uev->leaving);
			box->counting |= has_slot ? BIT(uev->slot) : 0;
			return;
		}
		uncore_pmon_finish(box, uev);
	}
	uev->based = has_slot && uncore_pmon_slot_take(box, uev, &now);
	if (!uev->based)
		uev->based = uncore_pmon_box_count(box, uev, uev->slot, &now);
	local64_set(&uev->pev.event->hw.prev_count, now);
}

static void uncore_pmon_counter_stop(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	if (uev->slot != UNCORE_PMON_NO_SLOT) {
		uncore_pmon_freeze_for_change(box, uev);
		box->counting &= ~BIT(uev->slot);
	}
	uev->home = uev->slot;
	list_add_tail(&uev->leaving, &box->leaving);
}

static void uncore_pmon_timer_start(struct uncore_pmon_box *box)
{
	pmukit_lock_calls(&box->lock, true);
	hrtimer_start(&box->timer, ns_to_ktime(box->fold_ns), HRTIMER_MODE_REL_PINNED_HARD);
	pmukit_lock_calls(&box->lock, false);
}

static void uncore_pmon_timer_go_on(struct uncore_pmon_box *box)
{
	pmukit_lock_calls(&box->lock, true);
	hrtimer_forward_now(&box->timer, ns_to_ktime(box->fold_ns));
	pmukit_lock_calls(&box->lock, false);
}

static void uncore_pmon_timer_stop(struct uncore_pmon_box *box)
{
	pmukit_lock_calls(&box->lock, true);
	hrtimer_try_to_cancel(&box->timer);
	pmukit_lock_calls(&box->lock, false);
}

/* After a change: what nobody has taken over stops, and a unit without events stands still. */
static void uncore_pmon_settle(struct uncore_pmon_box *box)
{
	struct uncore_pmon_event *uev, *next;
	int slot;

	list_for_each_entry_safe(uev, next, &box->leaving, leaving)
		uncore_pmon_finish(box, uev);
	for (slot = 0; slot < UNCORE_PMON_NR_SLOTS; slot++) {
		if (box->controls[slot] && !(box->counting & BIT(slot)))
			uncore_pmon_box_control(box, slot, 0);
	}
	if (box->reset && box->frozen != !box->counting)
		uncore_pmon_box_freeze(box, !box->counting);
	if (!box->nr_running)
		uncore_pmon_timer_stop(box);
}

/* On the events' CPU, with interrupts off. What was due meanwhile is done at once. */
static void uncore_pmon_timer_follow(void *data)
{
	struct uncore_pmon_box *box = data;
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	if (box->nr_running && !box->dead && !hrtimer_is_queued(&box->timer)) {
		pmukit_lock_calls(&box->lock, true);
		hrtimer_start_expires(&box->timer, HRTIMER_MODE_ABS_PINNED_HARD);
		pmukit_lock_calls(&box->lock, false);
	}
	pmukit_unlock(&box->lock, flags);
}

/*
 * Where the last event came before the first left, the timer was never off, and is still with the
 * CPU before: with that it would go to any other one, perhaps of another package.
 */
static void uncore_pmon_place_changed(struct pmukit_pmu *pp, unsigned int cpu)
{
	struct uncore_pmon_box *box = to_uncore_pmon_box(pp);

	hrtimer_cancel(&box->timer);
	smp_call_function_single(cpu, uncore_pmon_timer_follow, box, true);
}

/*
 * Meanwhile the events may have stopped here and begun again on another CPU, which has started the
 * timer there: then it is not this one's to go on with.
 */
static enum hrtimer_restart uncore_pmon_timer(struct hrtimer *timer)
{
	struct uncore_pmon_box *box = container_of(timer, struct uncore_pmon_box, timer);
	struct uncore_pmon_event *uev;
	unsigned long flags;
	bool again;

	flags = pmukit_lock(&box->lock);
	again = box->nr_running && !box->dead && !hrtimer_is_queued(timer);
	list_for_each_entry(uev, &box->added, node) {
		if (again && uncore_pmon_runs(uev))
			uncore_pmon_fold(box, uev, uev->slot);
	}
	if (again)
		uncore_pmon_timer_go_on(box);
	pmukit_unlock(&box->lock, flags);

	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static void uncore_pmon_event_run(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	if (uncore_pmon_runs(uev))
		return;
	uev->pev.event->hw.state = 0;
	box->nr_running++;
	if (box->dead)
		return;
	uncore_pmon_counter_start(box, uev);
	/* From here, so that the timer is on the events' CPU; not anew for each turn of theirs. */
	if (!hrtimer_is_queued(&box->timer))
		uncore_pmon_timer_start(box);
}

static void uncore_pmon_event_halt(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	if (!uncore_pmon_runs(uev))
		return;
	if (!box->dead)
		uncore_pmon_counter_stop(box, uev);
	uev->pev.event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	box->nr_running--;
}

/* No pmu_enable follows: who throttles the leader of a group stops all of it, and that is all. */
static void uncore_pmon_settle_alone(struct uncore_pmon_box *box)
{
	if (!READ_ONCE(box->changing) && !box->dead)
		uncore_pmon_settle(box);
}

/* Slots; under box->lock */

/*
 * Gives the new event a slot, by moving others where that helps; the one that it had before where
 * that is free, since it may not have left its counter yet.
 */
static bool uncore_pmon_place_event(struct uncore_pmon_box *box, struct uncore_pmon_event *new)
{
	struct uncore_pmon_event *events[UNCORE_PMON_NR_SLOTS + 1];
	u32 slots[UNCORE_PMON_NR_SLOTS + 1];
	s8 slot[UNCORE_PMON_NR_SLOTS + 1];
	struct uncore_pmon_event *uev;
	bool home_free = true;
	u32 nr = 0, i;

	list_for_each_entry(uev, &box->added, node) {
		if (uev->slot == UNCORE_PMON_NO_SLOT)
			continue;
		home_free = home_free && uev->slot != new->home;
		events[nr++] = uev;
	}
	events[nr++] = new;
	for (i = 0; i < nr; i++) {
		slots[i] = events[i]->cfg.slots;
		slot[i] = events[i]->slot;
	}
	if (home_free)
		slot[nr - 1] = new->home;
	if (!uncore_pmon_assign(slots, slot, nr))
		return false;

	for (i = 0; i < nr; i++) {
		if (slot[i] != events[i]->slot && events[i] != new && uncore_pmon_runs(events[i]))
			uncore_pmon_counter_stop(box, events[i]);
	}
	for (i = 0; i < nr; i++) {
		if (slot[i] == events[i]->slot)
			continue;
		events[i]->slot = slot[i];
		if (events[i] != new && uncore_pmon_runs(events[i]))
			uncore_pmon_counter_start(box, events[i]);
	}
	return true;
}

/* Opening and freeing events */

static const char *uncore_pmon_event_check(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return "counts for the whole system only (-a), not for a task";
	if (is_sampling_event(event))
		return "counts only, there are no samples";
	if (compat_attr_extra_config(attr))
		return "unknown bits in config3 or config4";
	return NULL;
}

static void uncore_pmon_group_add(const struct uncore_pmon_event *uev, u32 *slots, u32 *nr)
{
	if (uev->cfg.slots && *nr <= UNCORE_PMON_NR_SLOTS)
		slots[(*nr)++] = uev->cfg.slots;
}

/* Could all events of the group count at once, if nothing else did? */
static bool uncore_pmon_group_fits(struct perf_event *event, const struct uncore_pmon_event *new)
{
	struct perf_event *leader = event->group_leader, *sibling;
	u32 slots[UNCORE_PMON_NR_SLOTS + 1];
	s8 slot[UNCORE_PMON_NR_SLOTS + 1];
	u32 nr = 0;

	uncore_pmon_group_add(new, slots, &nr);
	if (leader == event)
		return true;
	if (leader->pmu == event->pmu)
		uncore_pmon_group_add(uncore_pmon_of_event(leader), slots, &nr);
	for_each_sibling_event(sibling, leader) {
		if (sibling->pmu == event->pmu)
			uncore_pmon_group_add(uncore_pmon_of_event(sibling), slots, &nr);
	}
	memset(slot, UNCORE_PMON_NO_SLOT, sizeof(slot));
	return nr <= UNCORE_PMON_NR_SLOTS && uncore_pmon_assign(slots, slot, nr);
}

static int uncore_pmon_event_create(struct uncore_pmon_box *box, struct perf_event *event,
				    const struct uncore_pmon_config *cfg)
{
	struct uncore_pmon_event *uev;
	int ret = -EINVAL;

	uev = kzalloc_obj(*uev);
	if (!uev)
		return -ENOMEM;
	uev->cfg = *cfg;
	uev->slot = UNCORE_PMON_NO_SLOT;
	uev->home = UNCORE_PMON_NO_SLOT;
	INIT_LIST_HEAD(&uev->leaving);

	if (!uncore_pmon_group_fits(event, uev)) {
		pr_debug("%s: the group needs more counters than there are\n", box->pp.name);
		goto free_event;
	}
	ret = pmukit_event_open(&box->pp, &uev->pev, event);
	if (ret)
		goto free_event;
	event->event_caps |= PERF_EV_CAP_READ_ACTIVE_PKG;
	/* An NMI may read it once it is active, which it is before it is added. */
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	return 0;

free_event:
	kfree(uev);
	return ret;
}

static int uncore_pmon_event_init(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	struct uncore_pmon_config cfg;
	struct uncore_pmon_box *box;
	const char *wrong;

	if (attr->type != event->pmu->type)
		return -ENOENT;

	box = uncore_pmon_box_of(event->pmu);
	wrong = uncore_pmon_event_check(event);
	if (!wrong)
		wrong = uncore_pmon_config_parse(&box->unit, box->kinds, attr->config,
						 attr->config1, attr->config2, &cfg);
	if (wrong) {
		pr_debug("%s: %s\n", box->pp.name, wrong);
		return -EINVAL;
	}
	return uncore_pmon_event_create(box, event, &cfg);
}

static void uncore_pmon_event_free(struct pmukit_event *pev)
{
	kfree(to_uncore_pmon_event(pev));
}

/* Running events */

/* Nothing changes before an event does. */
static void uncore_pmon_pmu_disable(struct pmu *pmu)
{
	WRITE_ONCE(uncore_pmon_box_of(pmu)->changing, true);
}

static void uncore_pmon_pmu_enable(struct pmu *pmu)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of(pmu);
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	WRITE_ONCE(box->changing, false);
	uncore_pmon_settle_alone(box);
	pmukit_unlock(&box->lock, flags);
}

static void uncore_pmon_event_start(struct perf_event *event, int how)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of(event->pmu);
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	uncore_pmon_event_run(box, uncore_pmon_of_event(event));
	uncore_pmon_settle_alone(box);
	pmukit_unlock(&box->lock, flags);
}

static void uncore_pmon_event_stop(struct perf_event *event, int how)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of(event->pmu);
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	uncore_pmon_event_halt(box, uncore_pmon_of_event(event));
	uncore_pmon_settle_alone(box);
	pmukit_unlock(&box->lock, flags);
}

/* A PMU goes on elsewhere when the last CPU of its package leaves. */
static bool uncore_pmon_is_reached(const struct uncore_pmon_box *box)
{
	return box->unit.access != UNCORE_PMON_ACCESS_MSR ||
	       topology_physical_package_id(smp_processor_id()) == box->package;
}

static int uncore_pmon_event_add(struct perf_event *event, int how)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of(event->pmu);
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	unsigned long flags;
	int ret = 0;

	flags = pmukit_lock(&box->lock);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (box->dead || pmukit_pmu_gone(&box->pp) || !uncore_pmon_is_reached(box)) {
		ret = -ENODEV;
	} else if (uev->cfg.slots && !uncore_pmon_place_event(box, uev)) {
		ret = -EAGAIN;
	} else {
		list_add_tail(&uev->node, &box->added);
		if (how & PERF_EF_START)
			uncore_pmon_event_run(box, uev);
	}
	pmukit_unlock(&box->lock, flags);
	return ret;
}

static void uncore_pmon_event_del(struct perf_event *event, int how)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of(event->pmu);
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	uncore_pmon_event_halt(box, uev);
	list_del(&uev->node);
	uev->slot = UNCORE_PMON_NO_SLOT;
	pmukit_unlock(&box->lock, flags);
}

/* Perf may do this from within any other of these, or an NMI: the count then stays as it is. */
static void uncore_pmon_event_read(struct perf_event *event)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of(event->pmu);
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	unsigned long flags;

	if (!pmukit_lock_from_within(&box->lock, &flags))
		return;
	if (!box->dead && uncore_pmon_runs(uev))
		uncore_pmon_fold(box, uev, uev->slot);
	pmukit_unlock(&box->lock, flags);
}

/* Registration */

static void uncore_pmon_release(struct pmukit_pmu *pp)
{
	struct uncore_pmon_box *box = to_uncore_pmon_box(pp);

	uncore_pmon_sysfs_free(box);
	kfree(box);
}

static const struct pmukit_pmu_ops uncore_pmon_pmu_ops = {
	.release = uncore_pmon_release,
	.event_free = uncore_pmon_event_free,
	.place_changed = uncore_pmon_place_changed,
};

/**
 * uncore_pmon_pmu_fill - prepare the PMU of a new unit; its first reference is the caller's
 * @box: the unit
 */
void uncore_pmon_pmu_fill(struct uncore_pmon_box *box)
{
	struct pmu *pmu = &box->pp.pmu;

	pmukit_pmu_init(&box->pp, &uncore_pmon_pmu_ops, THIS_MODULE);
	box->pp.max_events = UINT_MAX;
	pmukit_lock_init(&box->lock);
	INIT_LIST_HEAD(&box->added);
	INIT_LIST_HEAD(&box->leaving);
	hrtimer_setup(&box->timer, uncore_pmon_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	init_irq_work(&box->saying, uncore_pmon_print_complaints);
	box->fold_ns = uncore_pmon_fold_ns(box->unit.width_bits);

	pmu->task_ctx_nr = perf_invalid_context;
	pmu->capabilities = PERF_PMU_CAP_NO_EXCLUDE;
	pmu->attr_groups = box->groups;
	pmu->event_init = uncore_pmon_event_init;
	pmu->pmu_disable = uncore_pmon_pmu_disable;
	pmu->pmu_enable = uncore_pmon_pmu_enable;
	pmu->add = uncore_pmon_event_add;
	pmu->del = uncore_pmon_event_del;
	pmu->start = uncore_pmon_event_start;
	pmu->stop = uncore_pmon_event_stop;
	pmu->read = uncore_pmon_event_read;
}

/**
 * uncore_pmon_pmu_kill - from here on nothing of ours touches the registers
 * @box: a unit whose PMU was removed, or never registered
 *
 * An event may have been enabled again since the PMU was removed, so the unit is frozen; but for
 * MSRs, which may be those of another package here.
 */
void uncore_pmon_pmu_kill(struct uncore_pmon_box *box)
{
	struct uncore_pmon_event *uev, *next;
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	list_for_each_entry_safe(uev, next, &box->leaving, leaving)
		list_del_init(&uev->leaving);
	if (box->reset && box->unit.access != UNCORE_PMON_ACCESS_MSR)
		uncore_pmon_box_freeze(box, true);
	box->dead = true;
	pmukit_unlock(&box->lock, flags);
	hrtimer_cancel(&box->timer);
	irq_work_sync(&box->saying);
}
