// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: bandwidth counters that software assigns to RMIDs (AMD ABMC, which Linux 6.18 and
 * later enable if the CPU has it). An L3 has up to 32 counters. Each counts one event of one RMID
 * and starts at 0. cache_qos_core.h describes the interface and its locking.
 *
 *    RMID 0 and RMIDs of atoms   one counter per event
 *    RMIDs allocated next        one counter per event if any are left, so that a new monitor
 *                                misses no traffic
 *    RMIDs in limbo              keep their counters until their last traffic was read
 *
 * A counter that other software has assigned is left as it is, and is read for its RMID. An RMID
 * without a counter has no bandwidth, and reports PMUKIT_CACHE_QOS_S_GAP.
 *
 * A counter is read by its RMID: the CPU returns the counter with the event's traffic types (AMD64
 * Architecture Programmer's Manual, volume 2, "Assignable Bandwidth Monitoring").
 */

#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/rwonce.h>

#include "cache_qos_core.h"

static u64 cache_qos_counter_config(const struct cache_qos *cq, u32 rmid, u32 event)
{
	return CACHE_QOS_ABMC_ENABLE | FIELD_PREP(CACHE_QOS_ABMC_SOURCE, rmid) |
	       FIELD_PREP(CACHE_QOS_ABMC_TYPES, cq->hw.types[event - 1]);
}

/* Read the configuration of a counter; first apply @config if it has CACHE_QOS_ABMC_APPLY. */
static bool cache_qos_counter_describe(const struct cache_qos *cq, u32 id, u64 config, u64 *is)
{
	config |= FIELD_PREP(CACHE_QOS_ABMC_ID, id);
	if (cache_qos_wrmsr(cq->backend, CACHE_QOS_L3_QOS_ABMC_CFG, config) ||
	    cache_qos_rdmsr(cq->backend, CACHE_QOS_L3_QOS_ABMC_DSC, is))
		return false;
	*is &= ~CACHE_QOS_ABMC_ID;
	return true;
}

/*
 * Record that an event of an RMID now has a counter (@bound is true), or that it no longer has one
 * (@bound is false). A new counter was 0 at @now_ns. If an RMID in use gets a counter, the earlier
 * traffic of the RMID is not counted.
 */
static void cache_qos_counter_serve(struct cache_qos *cq, struct cache_qos_domain *domain, u32 rmid,
				    u32 event, bool bound, u64 now_ns)
{
	struct cache_qos_cell *cell = &domain->cells[rmid];

	raw_spin_lock(&domain->lock);
	/* Makes cache_qos_fold() drop readings in progress, which have old values. */
	smp_store_release(&cell->folded, cell->folded + 1);
	WRITE_ONCE(cell->served, bound ? cell->served | BIT(event) : cell->served & ~BIT(event));
	if (bound) {
		cell->last[event - 1] = 0;
		cell->known |= BIT(event);
		cell->gap &= ~BIT(event);
		WRITE_ONCE(cell->time_ns[event], now_ns);
	}
	if (bound && READ_ONCE(cq->atoms[rmid].state) == CACHE_QOS_USED) {
		cell->skewed = true;
		cache_qos_note(domain, cell, CACHE_QOS_MARK_NEW);
	} else if (bound) {
		/* The RMID is not in use yet: its next atom misses no traffic. */
		cell->skewed = false;
		cell->skew = cell->chunks[CACHE_QOS_TOTAL - 1] - cell->chunks[CACHE_QOS_LOCAL - 1] -
			     cell->chunks[CACHE_QOS_REMOTE - 1];
	}
	raw_spin_unlock(&domain->lock);
}

static void cache_qos_counter_release(struct cache_qos *cq, struct cache_qos_domain *domain, u32 id)
{
	struct cache_qos_counter *counter = &domain->counters[id];
	u64 is;

	cache_qos_counter_serve(cq, domain, counter->rmid, counter->event, false, 0);
	counter->state = CACHE_QOS_COUNTER_FREE;
	if (!cache_qos_counter_describe(cq, id, CACHE_QOS_ABMC_APPLY, &is))
		counter->state = CACHE_QOS_COUNTER_OTHERS;
}

/* The event that a counter with configuration @is counts; CACHE_QOS_OCCUPANCY: none */
static u32 cache_qos_counter_event(const struct cache_qos *cq, u64 is)
{
	u32 rmid = FIELD_GET(CACHE_QOS_ABMC_SOURCE, is), event;

	if (rmid >= cq->hw.nr_rmid)
		return CACHE_QOS_OCCUPANCY;
	for (event = CACHE_QOS_TOTAL; event < CACHE_QOS_NR_READ; event++) {
		if (cq->hw.events & BIT(event) && is == cache_qos_counter_config(cq, rmid, event))
			return event;
	}
	return CACHE_QOS_OCCUPANCY;
}

static void cache_qos_counter_found(struct cache_qos *cq, struct cache_qos_domain *domain, u32 id,
				    u64 is)
{
	struct cache_qos_counter *counter = &domain->counters[id];
	u32 rmid = FIELD_GET(CACHE_QOS_ABMC_SOURCE, is);
	u32 event = cache_qos_counter_event(cq, is);

	/* The driver assigned the counter before other software had the registers: release it. */
	if (counter->state == CACHE_QOS_COUNTER_OURS && counter->rmid == rmid &&
	    counter->event == event) {
		cache_qos_counter_release(cq, domain, id);
		return;
	}
	counter->state = is & CACHE_QOS_ABMC_ENABLE ? CACHE_QOS_COUNTER_OTHERS :
						      CACHE_QOS_COUNTER_FREE;
	if (counter->state == CACHE_QOS_COUNTER_FREE || event == CACHE_QOS_OCCUPANCY)
		return;
	/* The counter did not start at 0: count from its first reading. */
	raw_spin_lock(&domain->lock);
	WRITE_ONCE(domain->cells[rmid].served, domain->cells[rmid].served | BIT(event));
	domain->cells[rmid].known &= ~BIT(event);
	raw_spin_unlock(&domain->lock);
}

void cache_qos_counters_scan(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 id;
	u64 is;

	if (READ_ONCE(d->scanned) || cache_qos_registers_taken(cq))
		return;
	for (id = 0; id < cq->hw.counters; id++) {
		if (cache_qos_counter_describe(cq, id, 0, &is))
			cache_qos_counter_found(cq, d, id, is);
		else
			d->counters[id].state = CACHE_QOS_COUNTER_OTHERS;
	}
	WRITE_ONCE(d->scanned, true);
}

static bool cache_qos_is_spare(const struct cache_qos *cq, u32 rmid)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_SPARES; i++) {
		if (READ_ONCE(cq->spares[i]) == rmid)
			return true;
	}
	return false;
}

/* Return: true if an RMID needs counters, or is allocated next and gets them if any are left. */
static bool cache_qos_counter_due(const struct cache_qos *cq, u32 rmid)
{
	u8 state = READ_ONCE(cq->atoms[rmid].state);

	return !rmid || state == CACHE_QOS_USED ||
	       (state == CACHE_QOS_FREE && cache_qos_is_spare(cq, rmid));
}

/*
 * Return: id of a free counter; cq->hw.counters: none. If none is free, a counter of a free RMID is
 * released and used, unless the new counter is also for a free RMID (@spare).
 */
static u32 cache_qos_counter_take(struct cache_qos *cq, struct cache_qos_domain *domain, bool spare)
{
	u32 id;

	for (id = 0; id < cq->hw.counters; id++) {
		if (domain->counters[id].state == CACHE_QOS_COUNTER_FREE)
			return id;
	}
	for (id = 0; !spare && id < cq->hw.counters; id++) {
		const struct cache_qos_counter *counter = &domain->counters[id];

		if (counter->state != CACHE_QOS_COUNTER_OURS || !counter->rmid ||
		    READ_ONCE(cq->atoms[counter->rmid].state) != CACHE_QOS_FREE)
			continue;
		cache_qos_counter_release(cq, domain, id);
		if (domain->counters[id].state == CACHE_QOS_COUNTER_FREE)
			return id;
	}
	return cq->hw.counters;
}

static void cache_qos_counter_bind(struct cache_qos *cq, struct cache_qos_domain *domain, u32 rmid,
				   u32 event, u64 now_ns)
{
	bool spare = rmid && READ_ONCE(cq->atoms[rmid].state) == CACHE_QOS_FREE;
	u32 id = cache_qos_counter_take(cq, domain, spare);
	u64 want = cache_qos_counter_config(cq, rmid, event), is;

	if (id == cq->hw.counters)
		return;
	if (!cache_qos_counter_describe(cq, id, CACHE_QOS_ABMC_APPLY | want, &is) || is != want) {
		/* The hardware refused the configuration. */
		domain->counters[id].state = CACHE_QOS_COUNTER_OTHERS;
		return;
	}
	domain->counters[id] = (struct cache_qos_counter) {
		.rmid = rmid, .event = event, .state = CACHE_QOS_COUNTER_OURS,
	};
	cache_qos_counter_serve(cq, domain, rmid, event, true, now_ns);
}

bool cache_qos_counters_wanted(const struct cache_qos *cq, u16 domain, u32 rmid)
{
	u32 bandwidth = cq->hw.events & (BIT(CACHE_QOS_TOTAL) | BIT(CACHE_QOS_LOCAL));

	return cache_qos_counter_due(cq, rmid) &&
	       bandwidth & ~READ_ONCE(cq->domains[domain].cells[rmid].served);
}

void cache_qos_counters_bind(struct cache_qos *cq, u16 domain, u32 rmid, u64 now_ns)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 event;

	if (!READ_ONCE(d->scanned) || cache_qos_registers_taken(cq))
		return;
	for (event = CACHE_QOS_TOTAL; event < CACHE_QOS_NR_READ; event++) {
		if (cq->hw.events & BIT(event) && !(d->cells[rmid].served & BIT(event)))
			cache_qos_counter_bind(cq, d, rmid, event, now_ns);
	}
}

void cache_qos_counters_release(struct cache_qos *cq, u16 domain, bool all)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 id;

	if (!READ_ONCE(d->scanned) || cache_qos_registers_taken(cq))
		return;
	for (id = 0; id < cq->hw.counters; id++) {
		const struct cache_qos_counter *counter = &d->counters[id];

		if (counter->state != CACHE_QOS_COUNTER_OURS ||
		    (!all && (cache_qos_counter_due(cq, counter->rmid) ||
			      cache_qos_events_wanted(cq, domain, counter->rmid) &
				      BIT(counter->event))))
			continue;
		cache_qos_counter_release(cq, d, id);
	}
}
