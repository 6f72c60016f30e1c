// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: perf callbacks. Units count for the whole package and never interrupt.
 *
 * perf calls pmu_disable before and pmu_enable after it changes events. The first change of a
 * grouped event freezes the unit until pmu_enable, so that a group starts and stops together.
 * Single events do not freeze the unit, so that multiplexing does not stop the other events.
 * Controls are cleared only at pmu_enable, so that an event that returns to its counter costs no
 * write. If perf throttles a group leader, it stops the events of the group one by one, without
 * pmu_disable: each stop is a separate change.
 *
 * Locking: event_init runs in process context, sometimes under perf's ctx->mutex. The other
 * callbacks take box->lock: add, del, start, stop and pmu_enable on the events' CPU with interrupts
 * off, read on any CPU of the package and in any context. A holder of the lock may call hrtimer
 * functions, while perf may call read with hrtimer locks held. So read does not wait for a holder
 * that calls hrtimer functions, but returns without updating the count. The timer still reads all
 * counters in time, because the timer is queued as long as events run.
 */

#include <linux/bits.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "uncore_pmon.h"

static struct uncore_pmon_pmu *uncore_pmon_of_pmu(struct pmu *pmu)
{
	return to_uncore_pmon_pmu(to_pmukit_pmu(pmu));
}

static struct uncore_pmon_event *uncore_pmon_of_event(struct perf_event *event)
{
	return to_uncore_pmon_event(to_pmukit_event(event));
}

/**
 * uncore_pmon_box_of_package - find the box of a PMU in a package
 * @pmu: the PMU
 * @package: the package
 *
 * Context: any, once the PMU is registered.
 *
 * Return: the box, or NULL.
 */
struct uncore_pmon_box *uncore_pmon_box_of_package(const struct uncore_pmon_pmu *pmu, int package)
{
	struct uncore_pmon_box *box;

	list_for_each_entry(box, &pmu->boxes, node) {
		if (box->package == package)
			return box;
	}
	return NULL;
}

static struct uncore_pmon_box *uncore_pmon_box_of_cpu(const struct uncore_pmon_pmu *pmu,
						      unsigned int cpu)
{
	return uncore_pmon_box_of_package(pmu, topology_physical_package_id(cpu));
}

/* Counting; under box->lock */

static u32 uncore_pmon_width(const struct uncore_pmon_box *box,
			     const struct uncore_pmon_event *uev)
{
	return uev->cfg.kind == UNCORE_PMON_GENERAL ? box->unit.width_bits : UNCORE_PMON_MC_WIDTH;
}

/* Adds the difference since the last successful read of the counter to the event's count. */
static void uncore_pmon_fold(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	struct perf_event *event = uev->pev.event;
	u64 before = local64_read(&event->hw.prev_count);
	u64 now, delta;

	if (!uncore_pmon_box_count(box, uev, &now))
		return;
	local64_set(&event->hw.prev_count, now);
	if (!uev->based)
		uev->based = true;
	else if (uncore_pmon_delta(before, now, uncore_pmon_width(box, uev), &delta))
		local64_add(delta, &event->count);
	else
		uncore_pmon_warn(box, UNCORE_PMON_BACKWARDS);
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

static void uncore_pmon_counter_start(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	u64 now = 0;

	if (uev->slot != UNCORE_PMON_NO_SLOT) {
		uncore_pmon_freeze_for_change(box, uev);
		box->counting |= BIT(uev->slot);
		if (box->controls[uev->slot] != uev->cfg.control)
			uncore_pmon_box_control(box, uev->slot, uev->cfg.control);
	}
	uev->based = uncore_pmon_box_count(box, uev, &now);
	local64_set(&uev->pev.event->hw.prev_count, now);
}

static void uncore_pmon_counter_stop(struct uncore_pmon_box *box, struct uncore_pmon_event *uev)
{
	if (uev->slot != UNCORE_PMON_NO_SLOT) {
		uncore_pmon_freeze_for_change(box, uev);
		box->counting &= ~BIT(uev->slot);
	}
	uncore_pmon_fold(box, uev);
}

static void uncore_pmon_timer_start(struct uncore_pmon_box *box)
{
	pmukit_lock_calls(&box->lock, true);
	hrtimer_start(&box->timer, ns_to_ktime(box->pmu->fold_ns), HRTIMER_MODE_REL_PINNED_HARD);
	pmukit_lock_calls(&box->lock, false);
}

static void uncore_pmon_timer_go_on(struct uncore_pmon_box *box)
{
	pmukit_lock_calls(&box->lock, true);
	hrtimer_forward_now(&box->timer, ns_to_ktime(box->pmu->fold_ns));
	pmukit_lock_calls(&box->lock, false);
}

static void uncore_pmon_timer_stop(struct uncore_pmon_box *box)
{
	pmukit_lock_calls(&box->lock, true);
	hrtimer_try_to_cancel(&box->timer);
	pmukit_lock_calls(&box->lock, false);
}

/*
 * Completes a change of events: stops counters without an event. Freezes the unit if no counter
 * counts, otherwise unfreezes the unit.
 */
static void uncore_pmon_settle(struct uncore_pmon_box *box)
{
	int slot;

	for (slot = 0; slot < UNCORE_PMON_NR_SLOTS; slot++) {
		if (box->controls[slot] && !(box->counting & BIT(slot)))
			uncore_pmon_box_control(box, slot, 0);
	}
	if (box->reset && box->frozen != !box->counting)
		uncore_pmon_box_freeze(box, !box->counting);
	if (!box->nr_running)
		uncore_pmon_timer_stop(box);
}

/*
 * Queues the timer on this CPU, to which the events have moved. A timer that has expired meanwhile
 * fires at once. Interrupts are off.
 */
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
 * Moves the timer to the CPU to which the events have moved. If events move one by one, the timer
 * does not stop and is still queued on the old CPU. When that CPU goes offline, the timer would
 * migrate to any CPU, even of another package.
 */
static void uncore_pmon_place_changed(struct pmukit_pmu *pp, unsigned int cpu)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of_cpu(to_uncore_pmon_pmu(pp), cpu);

	hrtimer_cancel(&box->timer);
	smp_call_function_single(cpu, uncore_pmon_timer_follow, box, true);
}

/**
 * uncore_pmon_timer - read all counters in use
 * @timer: timer of a box
 *
 * If the events have moved to another CPU, and that CPU has queued the timer, this call neither
 * reads the counters nor restarts the timer.
 *
 * Return: HRTIMER_RESTART or HRTIMER_NORESTART.
 */
enum hrtimer_restart uncore_pmon_timer(struct hrtimer *timer)
{
	struct uncore_pmon_box *box = container_of(timer, struct uncore_pmon_box, timer);
	struct uncore_pmon_event *uev;
	unsigned long flags;
	bool again;

	flags = pmukit_lock(&box->lock);
	again = box->nr_running && !box->dead && !hrtimer_is_queued(timer);
	list_for_each_entry(uev, &box->added, node) {
		if (again && uncore_pmon_runs(uev))
			uncore_pmon_fold(box, uev);
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
	/* Start the timer on the events' CPU; do not restart it at each rotation. */
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

/* Completes a change unless pmu_enable does so: perf throttles a group without pmu_disable. */
static void uncore_pmon_settle_alone(struct uncore_pmon_box *box)
{
	if (!READ_ONCE(box->changing) && !box->dead)
		uncore_pmon_settle(box);
}

/* Slots; under box->lock */

/* Assigns a slot to the new event; may move other events. Returns false if no slot can be found. */
static bool uncore_pmon_place_event(struct uncore_pmon_box *box, struct uncore_pmon_event *new)
{
	struct uncore_pmon_event *events[UNCORE_PMON_NR_SLOTS + 1];
	u32 slots[UNCORE_PMON_NR_SLOTS + 1];
	s8 slot[UNCORE_PMON_NR_SLOTS + 1];
	struct uncore_pmon_event *uev;
	u32 nr = 0, i;

	list_for_each_entry(uev, &box->added, node) {
		if (uev->slot != UNCORE_PMON_NO_SLOT)
			events[nr++] = uev;
	}
	events[nr++] = new;
	for (i = 0; i < nr; i++) {
		slots[i] = events[i]->cfg.slots;
		slot[i] = events[i]->slot;
	}
	if (!uncore_pmon_assign(slots, slot, nr))
		return false;

	for (i = 0; i < nr; i++) {
		if (slot[i] != events[i]->slot && uncore_pmon_runs(events[i]))
			uncore_pmon_counter_stop(box, events[i]);
	}
	for (i = 0; i < nr; i++) {
		if (slot[i] == events[i]->slot)
			continue;
		events[i]->slot = slot[i];
		if (uncore_pmon_runs(events[i]))
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

/* Returns true if all events of the group fit on the unit together, without other events. */
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

static int uncore_pmon_event_create(struct uncore_pmon_pmu *pmu, struct perf_event *event,
				    const struct uncore_pmon_config *cfg)
{
	struct uncore_pmon_event *uev = kzalloc_obj(*uev);
	int ret = -EINVAL;

	if (!uev)
		return -ENOMEM;
	uev->cfg = *cfg;
	uev->slot = UNCORE_PMON_NO_SLOT;
	uev->box = uncore_pmon_box_of_cpu(pmu, event->cpu);
	if (!uev->box) {
		pr_debug("%s: no such unit in the package of CPU %d\n", pmu->pp.name, event->cpu);
		ret = -ENODEV;
		goto free_event;
	}
	if (!uncore_pmon_group_fits(event, uev)) {
		pr_debug("%s: the group needs more counters than there are\n", pmu->pp.name);
		goto free_event;
	}
	ret = pmukit_event_open(&pmu->pp, &uev->pev, event);
	if (ret)
		goto free_event;
	event->event_caps |= PERF_EV_CAP_READ_ACTIVE_PKG;
	/* perf marks an event active before it calls add, and an NMI may read an active event. */
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
	struct uncore_pmon_pmu *pmu;
	const char *wrong;

	if (attr->type != event->pmu->type)
		return -ENOENT;

	pmu = uncore_pmon_of_pmu(event->pmu);
	wrong = uncore_pmon_event_check(event);
	if (!wrong)
		wrong = uncore_pmon_config_parse(&pmu->unit, pmu->kinds, attr->config,
						 attr->config1, attr->config2, &cfg);
	if (wrong) {
		pr_debug("%s: %s\n", pmu->pp.name, wrong);
		return -EINVAL;
	}
	return uncore_pmon_event_create(pmu, event, &cfg);
}

static void uncore_pmon_event_free(struct pmukit_event *pev)
{
	kfree(to_uncore_pmon_event(pev));
}

/* Running events */

/* pmu_disable accesses no register: the first change of a grouped event freezes the unit. */
static void uncore_pmon_pmu_disable(struct pmu *pmu)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of_cpu(uncore_pmon_of_pmu(pmu),
							     smp_processor_id());

	if (box)
		WRITE_ONCE(box->changing, true);
}

static void uncore_pmon_pmu_enable(struct pmu *pmu)
{
	struct uncore_pmon_box *box = uncore_pmon_box_of_cpu(uncore_pmon_of_pmu(pmu),
							     smp_processor_id());
	unsigned long flags;

	if (!box)
		return;
	flags = pmukit_lock(&box->lock);
	WRITE_ONCE(box->changing, false);
	uncore_pmon_settle_alone(box);
	pmukit_unlock(&box->lock, flags);
}

static void uncore_pmon_event_start(struct perf_event *event, int how)
{
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	unsigned long flags;

	flags = pmukit_lock(&uev->box->lock);
	uncore_pmon_event_run(uev->box, uev);
	uncore_pmon_settle_alone(uev->box);
	pmukit_unlock(&uev->box->lock, flags);
}

static void uncore_pmon_event_stop(struct perf_event *event, int how)
{
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	unsigned long flags;

	flags = pmukit_lock(&uev->box->lock);
	uncore_pmon_event_halt(uev->box, uev);
	uncore_pmon_settle_alone(uev->box);
	pmukit_unlock(&uev->box->lock, flags);
}

static int uncore_pmon_event_add(struct perf_event *event, int how)
{
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	struct uncore_pmon_box *box = uev->box;
	unsigned long flags;
	int ret = 0;

	flags = pmukit_lock(&box->lock);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (box->dead || pmukit_pmu_gone(&box->pmu->pp)) {
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
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	struct uncore_pmon_box *box = uev->box;
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	uncore_pmon_event_halt(box, uev);
	list_del(&uev->node);
	uev->slot = UNCORE_PMON_NO_SLOT;
	pmukit_unlock(&box->lock, flags);
}

/*
 * perf may read from within any other callback or an NMI. If the lock cannot be taken then, the
 * count is not updated.
 */
static void uncore_pmon_event_read(struct perf_event *event)
{
	struct uncore_pmon_event *uev = uncore_pmon_of_event(event);
	struct uncore_pmon_box *box = uev->box;
	unsigned long flags;

	if (!pmukit_lock_from_within(&box->lock, &flags))
		return;
	if (!box->dead && uncore_pmon_runs(uev))
		uncore_pmon_fold(box, uev);
	pmukit_unlock(&box->lock, flags);
}

/* Registration */

static void uncore_pmon_release(struct pmukit_pmu *pp)
{
	struct uncore_pmon_pmu *pmu = to_uncore_pmon_pmu(pp);
	struct uncore_pmon_box *box, *next;

	list_for_each_entry_safe(box, next, &pmu->boxes, node)
		kfree(box);
	uncore_pmon_sysfs_free(pmu);
	kfree(pmu);
}

static bool uncore_pmon_same_package(struct pmukit_pmu *pp, unsigned int a, unsigned int b)
{
	return topology_physical_package_id(a) == topology_physical_package_id(b) &&
	       uncore_pmon_box_of_cpu(to_uncore_pmon_pmu(pp), a);
}

static const struct pmukit_pmu_ops uncore_pmon_pmu_ops = {
	.release = uncore_pmon_release,
	.event_free = uncore_pmon_event_free,
	.same_group = uncore_pmon_same_package,
	.place_changed = uncore_pmon_place_changed,
};

/**
 * uncore_pmon_pmu_fill - initialize a new PMU; the caller owns its first reference
 * @pmu: the PMU, with its unit
 */
void uncore_pmon_pmu_fill(struct uncore_pmon_pmu *pmu)
{
	struct pmu *perf = &pmu->pp.pmu;

	pmukit_pmu_init(&pmu->pp, &uncore_pmon_pmu_ops, THIS_MODULE);
	pmu->pp.max_events = UINT_MAX;
	pmu->pp.scope = PMUKIT_SCOPE_GROUPS;
	pmu->pp.ends_in_error = true;
	pmu->fold_ns = uncore_pmon_fold_ns(pmu->unit.width_bits);
	INIT_LIST_HEAD(&pmu->boxes);

	perf->task_ctx_nr = perf_invalid_context;
	perf->capabilities = PERF_PMU_CAP_NO_EXCLUDE;
	perf->attr_groups = pmu->groups;
	perf->event_init = uncore_pmon_event_init;
	perf->pmu_disable = uncore_pmon_pmu_disable;
	perf->pmu_enable = uncore_pmon_pmu_enable;
	perf->add = uncore_pmon_event_add;
	perf->del = uncore_pmon_event_del;
	perf->start = uncore_pmon_event_start;
	perf->stop = uncore_pmon_event_stop;
	perf->read = uncore_pmon_event_read;
}
