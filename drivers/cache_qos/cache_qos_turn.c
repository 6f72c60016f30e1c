// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: turns of monitors (cache_qos_turn_core.c), and the running times of events.
 *
 * perf counts an event as running while it is scheduled on a CPU, whether its monitor has RMIDs or
 * not, and also while the driver has yielded the registers to other software. A PMU cannot make
 * perf schedule an event again when a turn begins. So the driver takes the time without RMIDs or
 * registers off the running time of the event (pmukit_event_add_running()).
 *
 * Bandwidth: the time without is not running time. perf stat prints the share, and a count that is
 * scaled by it. The driver itself never scales.
 *
 * Occupancy is a gauge: a scaled value would be wrong. With turns, no time is running time until
 * the event has a settled value (perf stat prints <not counted>); from then on all time is, and
 * between turns the event keeps its last settled value. While the driver has yielded, the value is
 * unknown, and no time is running time; afterwards all time is. An event with inherited events
 * keeps its last value instead: the time of events that have ended cannot be given back. So does
 * the event of a task that sleeps: perf calls no function of the PMU.
 *
 * The times of a group are those of its leader. If events of other PMUs are in the group, or both
 * occupancy and bandwidth, nothing is taken off, because perf would scale their values, too.
 */

#include <linux/atomic.h>
#include <linux/perf_event.h>

#include "cache_qos.h"

/* The steps of a rotation. Return: true if a monitor got RMIDs or lost them. */
static bool cache_qos_rotate_steps(struct cache_qos_live *live)
{
	struct cache_qos *cq = &live->core;
	bool started, changed;
	u32 over;

	raw_spin_lock_irq(&live->lock);
	over = cache_qos_turns_over(cq, cache_qos_now_ns());
	raw_spin_unlock_irq(&live->lock);
	changed = over;
	for (; over; over--) {
		raw_spin_lock_irq(&live->lock);
		cache_qos_turns_stop(cq, cache_qos_now_ns());
		raw_spin_unlock_irq(&live->lock);
	}
	do {
		raw_spin_lock_irq(&live->lock);
		started = cache_qos_turns_start(cq, CACHE_QOS_NONE, cache_qos_now_ns());
		raw_spin_unlock_irq(&live->lock);
		changed |= started;
	} while (started);
	return changed;
}

/**
 * cache_qos_rotate - end and begin turns after a pass, and settle the occupancy of turns
 * @live: driver state
 *
 * Context: process context, no raw lock held.
 */
void cache_qos_rotate(struct cache_qos_live *live)
{
	u16 m;

	if (cache_qos_rotate_steps(live))
		cache_qos_resolve_changed(live);
	for (m = 0; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (!READ_ONCE(live->core.monitors[m].unsettled))
			continue;
		raw_spin_lock_irq(&live->lock);
		cache_qos_turn_settle(&live->core, m);
		raw_spin_unlock_irq(&live->lock);
	}
}

/**
 * cache_qos_turn_takes - check if the monitor of an event takes turns
 * @live: driver state
 * @ev: the event
 *
 * Return: false also if the event has no monitor yet.
 */
bool cache_qos_turn_takes(const struct cache_qos_live *live, const struct cache_qos_event *ev)
{
	return ev->watch && READ_ONCE(live->core.monitors[READ_ONCE(ev->watch->monitor)].turns);
}

/* The event that was opened; for an inherited event its parent, which reports its times */
static struct cache_qos_event *cache_qos_turn_top(struct cache_qos_event *ev)
{
	struct perf_event *event = ev->pev.event;

	return event->parent ? cache_qos_of_event(event->parent) : ev;
}

/**
 * cache_qos_leads_others - check if the times of a leader do not apply to all of its group
 * @event: the leader of a group, or an event without a group
 *
 * Context: callback of the PMU: ctx->lock of perf is held.
 *
 * Return: true if events of other PMUs are in the group, or both occupancy and bandwidth.
 */
bool cache_qos_leads_others(struct perf_event *event)
{
	bool gauge = cache_qos_is_gauge(cache_qos_of_event(event));
	struct perf_event *sibling;

	for_each_sibling_event(sibling, event) {
		if (sibling->pmu != event->pmu ||
		    cache_qos_is_gauge(cache_qos_of_event(sibling)) != gauge)
			return true;
	}
	return false;
}

/**
 * cache_qos_turn_come - an event is added to its CPU
 * @live: driver state
 * @ev: the event
 *
 * perf adds and removes the events of a task at every switch. The clock is read only if the time
 * without RMIDs or registers depends on it.
 *
 * Context: callback of the PMU: ctx->lock of perf is held, interrupts off.
 */
void cache_qos_turn_come(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	u64 yields = cache_qos_yields(&live->core);
	bool takes = cache_qos_turn_takes(live, ev);
	struct cache_qos_look *look = &ev->look;

	look->at_ns = takes || cache_qos_yield_lasts(yields) ? cache_qos_now_ns() : 0;
	look->without_ns = cache_qos_yields_ns(yields, look->at_ns);
	if (takes)
		look->without_ns = look->at_ns - cache_qos_turn_ns(&live->core, ev->watch->monitor,
								   look->at_ns);
	look->ran_ns = pmukit_event_running_ns(ev->pev.event);
	ev->came = true;
}

/* Give back the time that was taken off an event of occupancy and off its children. */
static void cache_qos_turn_give_back(struct cache_qos_event *top)
{
	pmukit_event_add_running(top->pev.event, atomic64_xchg(&top->cut_ns, 0));
}

static void cache_qos_turn_cut_gauge(struct cache_qos_event *top, u64 ran_ns)
{
	if (READ_ONCE(top->valued))
		return;
	pmukit_event_add_running(top->pev.event, -ran_ns);
	atomic64_add(ran_ns, &top->cut_ns);
	/* Pairs with cache_qos_turn_valued(): one of the two sees the other's write. */
	smp_mb();
	if (READ_ONCE(top->valued))
		cache_qos_turn_give_back(top);
}

/*
 * While the driver has yielded: take all running time off an event of occupancy. The running time
 * of ended child events is in child_total_time_running, too.
 */
static void cache_qos_yield_cut_gauge(struct cache_qos_live *live, struct cache_qos_event *ev,
				      struct cache_qos_event *top)
{
	struct perf_event *event = top->pev.event;
	s64 ns;

	if (ev != top || !list_empty(&event->child_list) || !READ_ONCE(live->core.yielded)) {
		if (atomic64_read(&top->cut_ns))
			cache_qos_turn_give_back(top);
		return;
	}
	ns = pmukit_event_running_ns(event) + atomic64_read(&event->child_total_time_running);
	pmukit_event_add_running(event, -ns);
	atomic64_add(ns, &top->cut_ns);
}

/**
 * cache_qos_turn_account - take the time without RMIDs or registers off the running time
 * @live: driver state
 * @ev: the event, which is active
 *
 * Context: callback of the PMU: ctx->lock of perf is held, interrupts off. Not in an NMI.
 */
void cache_qos_turn_account(struct cache_qos_live *live, struct cache_qos_event *ev)
{
	struct cache_qos_event *top = cache_qos_turn_top(ev);
	struct cache_qos_look from = ev->look;
	u64 missed_ns;

	if (!ev->came)
		return;
	cache_qos_turn_come(live, ev);
	missed_ns = cache_qos_look_missed(&from, &ev->look);
	if (cache_qos_turn_takes(live, ev) && cache_qos_is_gauge(top))
		cache_qos_turn_cut_gauge(top, ev->look.ran_ns - from.ran_ns);
	else if (cache_qos_leads_others(ev->pev.event))
		return;
	else if (cache_qos_is_gauge(top))
		cache_qos_yield_cut_gauge(live, ev, top);
	else if (missed_ns)
		pmukit_event_add_running(top->pev.event, -missed_ns);
}

/**
 * cache_qos_turn_valued - an event of occupancy has a settled value
 * @ev: the event, which was opened and not inherited
 */
void cache_qos_turn_valued(struct cache_qos_event *ev)
{
	if (!ev->turns || READ_ONCE(ev->valued))
		return;
	WRITE_ONCE(ev->valued, true);
	/* Pairs with cache_qos_turn_cut_gauge() */
	smp_mb();
	cache_qos_turn_give_back(ev);
}
