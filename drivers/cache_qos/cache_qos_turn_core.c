// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: turns. If more monitors of perf events are open than there are RMIDs, each of them
 * has RMIDs for a time (cq->rotate_ns), one after the other. cache_qos_core.h describes the
 * interface and its locking.
 *
 * While a monitor waits, no set that is looked up contains it (cq->waiting), so it has no atom.
 * When its turn ends, the RMIDs of its atoms enter limbo, where the last traffic is still read and
 * counts for the monitor. Its bytes are therefore those of its turns, and none is guessed.
 *
 * Monitors wait in the order in which they began to, and all turns are equally long. A turn ends
 * only if a monitor waits that no RMID in limbo will serve.
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/rwonce.h>

#include "cache_qos_core.h"

/*
 * The time with RMIDs, in one word, so that it is read without a lock: bit 0 is set during a turn.
 * The other bits are the time so far, or, during a turn, the current time minus the time so far.
 */
static u64 cache_qos_clock_ns(u64 clock, u64 now_ns)
{
	/* The clock of another CPU may be some ns ahead. */
	if (clock & 1)
		return max_t(s64, now_ns - (clock >> 1), 0);
	return clock >> 1;
}

static void cache_qos_turn_clock(u64 *clock, bool on, u64 now_ns)
{
	u64 so_far = cache_qos_clock_ns(*clock, now_ns);

	WRITE_ONCE(*clock, on ? (now_ns - so_far) << 1 | 1 : so_far << 1);
}

u64 cache_qos_yields(const struct cache_qos *cq)
{
	return READ_ONCE(cq->yield_clock);
}

bool cache_qos_yield_lasts(u64 yields)
{
	return yields & 1;
}

u64 cache_qos_yields_ns(u64 yields, u64 now_ns)
{
	return cache_qos_clock_ns(yields, now_ns);
}

u64 cache_qos_turn_ns(const struct cache_qos *cq, u16 monitor, u64 now_ns)
{
	return cache_qos_clock_ns(READ_ONCE(cq->monitors[monitor].clock), now_ns);
}

u64 cache_qos_turn_missed(u64 ran_ns, u64 all_ns, u64 had_ns)
{
	return had_ns >= all_ns ? 0 : ran_ns - min_t(u64, ran_ns, had_ns);
}

u64 cache_qos_look_missed(const struct cache_qos_look *from, const struct cache_qos_look *to)
{
	u64 ran_ns = to->ran_ns - from->ran_ns;
	u64 all_ns = from->at_ns && to->at_ns ? to->at_ns - from->at_ns : ran_ns;
	/* The clock of another CPU may be some ns ahead. */
	u64 without_ns = max_t(s64, to->without_ns - from->without_ns, 0);

	return cache_qos_turn_missed(ran_ns, all_ns, all_ns - min_t(u64, all_ns, without_ns));
}

void cache_qos_awake(const struct cache_qos *cq, struct cache_qos_members *members)
{
	bitmap_andnot(members->bits, members->bits, cq->waiting.bits, CACHE_QOS_MAX_MONITORS);
}

static void cache_qos_wait(struct cache_qos *cq, u16 monitor, bool waits)
{
	if (waits)
		cache_qos_add(&cq->waiting, monitor);
	else
		cache_qos_drop(&cq->waiting, monitor);
	WRITE_ONCE(cq->nr_waiting, cq->nr_waiting + (waits ? 1 : -1));
}

void cache_qos_turns_join(struct cache_qos *cq, u16 monitor)
{
	struct cache_qos_monitor *m = &cq->monitors[monitor];

	m->clock = 0;
	WRITE_ONCE(m->unsettled, false);
	m->order = cq->next_order++;
	memset(&m->home, 0, sizeof(m->home));
	WRITE_ONCE(m->turns, true);
	cache_qos_wait(cq, monitor, true);
}

void cache_qos_turns_leave(struct cache_qos *cq, u16 monitor)
{
	u32 m;

	WRITE_ONCE(cq->monitors[monitor].turns, false);
	WRITE_ONCE(cq->monitors[monitor].unsettled, false);
	if (cache_qos_has(&cq->waiting, monitor))
		cache_qos_wait(cq, monitor, false);
	for (m = 1; m < CACHE_QOS_MAX_MONITORS; m++)
		cache_qos_drop(&cq->monitors[m].home, monitor);
}

int cache_qos_reserve(struct cache_qos *cq, u16 monitor, const struct cache_qos_members *members,
		      u64 now_ns)
{
	struct cache_qos_members awake = *members;
	int ret;

	if (cq->monitors[monitor].turns) {
		if (cache_qos_empty(&cq->monitors[monitor].home))
			cq->monitors[monitor].home = *members;
		return 0;
	}
	cache_qos_awake(cq, &awake);
	ret = cache_qos_atom_get(cq, &awake, now_ns);
	return ret < 0 ? ret : 0;
}

/* One RMID stays free for a group, or for a combination of monitors that is new. */
static u32 cache_qos_turns_free(const struct cache_qos *cq)
{
	u32 spare = cq->hw.nr_rmid > 2;

	return cq->nr_atoms[CACHE_QOS_FREE] > spare ? cq->nr_atoms[CACHE_QOS_FREE] - spare : 0;
}

/* The monitor that has waited longest, without those that the limit excludes */
static u16 cache_qos_turns_next(const struct cache_qos *cq)
{
	bool full = cq->nr_limited >= cq->max_limited;
	u16 best = CACHE_QOS_NONE;
	u32 m;

	cache_qos_for_each_member(m, &cq->waiting) {
		if (full && cache_qos_has(&cq->limited, m))
			continue;
		if (best == CACHE_QOS_NONE || cq->monitors[m].order < cq->monitors[best].order)
			best = m;
	}
	return best;
}

bool cache_qos_turns_start(struct cache_qos *cq, u16 only, u64 now_ns)
{
	u16 next = cache_qos_turns_next(cq);
	struct cache_qos_members members;
	struct cache_qos_monitor *m;

	if (next == CACHE_QOS_NONE || (only != CACHE_QOS_NONE && next != only) || cq->yielded ||
	    !cache_qos_turns_free(cq))
		return false;
	m = &cq->monitors[next];
	cache_qos_wait(cq, next, false);
	members = m->home;
	cache_qos_add(&members, next);
	cache_qos_awake(cq, &members);
	/* The set may include another monitor, which the limit excludes. */
	if (cache_qos_atom_get(cq, &members, now_ns) < 0) {
		cache_qos_wait(cq, next, true);
		return false;
	}
	m->order = cq->next_order++;
	m->began_ns = now_ns;
	cq->stats.turns++;
	cache_qos_turn_clock(&m->clock, true, now_ns);
	cache_qos_changed(cq);
	return true;
}

static bool cache_qos_turn_is_over(const struct cache_qos *cq, u32 monitor, u64 now_ns)
{
	const struct cache_qos_monitor *m = &cq->monitors[monitor];

	return m->used && m->turns && !cache_qos_has(&cq->waiting, monitor) &&
	       now_ns >= m->began_ns + cq->rotate_ns;
}

u32 cache_qos_turns_over(struct cache_qos *cq, u64 now_ns)
{
	u32 served = cache_qos_turns_free(cq) + cq->nr_atoms[CACHE_QOS_LIMBO], over = 0, m;

	cache_qos_for_each_member(m, &cq->waiting) {
		WRITE_ONCE(cq->monitors[m].unsettled, true);
		cq->monitors[m].status |= PMUKIT_CACHE_QOS_S_PARTIAL;
	}
	if (cq->nr_waiting <= served)
		return 0;
	for (m = 1; m < CACHE_QOS_MAX_MONITORS; m++)
		over += cache_qos_turn_is_over(cq, m, now_ns);
	return min_t(u32, over, cq->nr_waiting - served);
}

void cache_qos_turns_stop(struct cache_qos *cq, u64 now_ns)
{
	u16 oldest = CACHE_QOS_NONE;
	struct cache_qos_monitor *monitor;
	u32 m, rmid;

	for (m = 1; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (cache_qos_turn_is_over(cq, m, now_ns) &&
		    (oldest == CACHE_QOS_NONE ||
		     cq->monitors[m].order < cq->monitors[oldest].order))
			oldest = m;
	}
	if (oldest == CACHE_QOS_NONE)
		return;
	monitor = &cq->monitors[oldest];
	cache_qos_turn_clock(&monitor->clock, false, now_ns);
	monitor->order = cq->next_order++;
	WRITE_ONCE(monitor->unsettled, true);
	monitor->status |= PMUKIT_CACHE_QOS_S_PARTIAL;
	cache_qos_wait(cq, oldest, true);
	for_each_set_bit(rmid, monitor->rmids, cq->hw.nr_rmid)
		cache_qos_atom_part(cq, rmid, oldest, now_ns);
	cache_qos_changed(cq);
}

bool cache_qos_turn_waits(const struct cache_qos *cq)
{
	return READ_ONCE(cq->nr_waiting);
}

void cache_qos_turns_pause(struct cache_qos *cq, bool pause, u64 now_ns)
{
	u32 m;

	cache_qos_turn_clock(&cq->yield_clock, pause, now_ns);
	for (m = 1; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (!cq->monitors[m].turns || cache_qos_has(&cq->waiting, m))
			continue;
		cache_qos_turn_clock(&cq->monitors[m].clock, !pause, now_ns);
		cq->monitors[m].began_ns = now_ns;
	}
}

/*
 * Return: true if the traffic in a domain since the RMID was allocated would have filled its cache:
 * then few lines are left that were filled before.
 */
static bool cache_qos_turned_over(const struct cache_qos *cq,
				  const struct cache_qos_domain *domain, u32 rmid)
{
	return READ_ONCE(domain->moved) - READ_ONCE(domain->cells[rmid].moved) >=
	       domain->is.bytes / cq->hw.scale;
}

/*
 * The domains that matter are those in which the monitor has lines of this turn; if it has none at
 * all, its lines of an earlier time may be in any domain.
 */
static bool cache_qos_turn_settles(const struct cache_qos *cq, const struct cache_qos_monitor *m)
{
	bool has_rmid = false, has_lines = false, lines_settled = true, all_settled = true;
	u32 rmid, d;

	for_each_set_bit(rmid, m->rmids, cq->hw.nr_rmid) {
		if (cq->atoms[rmid].state != CACHE_QOS_USED)
			continue;
		has_rmid = true;
		for (d = 0; d < cq->nr_domains; d++) {
			const struct cache_qos_domain *domain = &cq->domains[d];
			bool over = cache_qos_turned_over(cq, domain, rmid);

			if (!domain->nr_cpus)
				continue;
			all_settled = all_settled && over;
			if (!READ_ONCE(domain->cells[rmid].occupancy))
				continue;
			has_lines = true;
			lines_settled = lines_settled && over;
		}
	}
	return has_lines ? lines_settled : has_rmid && all_settled;
}

void cache_qos_turn_settle(struct cache_qos *cq, u16 monitor)
{
	struct cache_qos_monitor *m = &cq->monitors[monitor];

	if (m->used && m->turns && m->unsettled && !cache_qos_has(&cq->waiting, monitor) &&
	    cache_qos_turn_settles(cq, m))
		WRITE_ONCE(m->unsettled, false);
}
