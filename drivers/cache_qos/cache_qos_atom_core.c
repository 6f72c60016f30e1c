// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: sets of monitors, and the RMIDs that work for them. The interface with its locking is
 * described in cache_qos_core.h.
 */

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/rwonce.h>

#include "cache_qos_core.h"

/* Sets of monitors */

bool cache_qos_empty(const struct cache_qos_members *members)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_SET_WORDS; i++) {
		if (members->word[i])
			return false;
	}
	return true;
}

static bool cache_qos_same(const struct cache_qos_members *a, const struct cache_qos_members *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool cache_qos_within(const struct cache_qos_members *part,
			     const struct cache_qos_members *whole)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_SET_WORDS; i++) {
		if (part->word[i] & ~whole->word[i])
			return false;
	}
	return true;
}

static u32 cache_qos_weight(const struct cache_qos_members *members)
{
	u32 weight = 0, i;
	u64 rest;

	for (i = 0; i < CACHE_QOS_SET_WORDS; i++) {
		for (rest = members->word[i]; rest; rest &= rest - 1)
			weight++;
	}
	return weight;
}

/* The first member that is not below @at; CACHE_QOS_MAX_MONITORS: there is none. */
static u32 cache_qos_next(const struct cache_qos_members *members, u32 at)
{
	for (; at < CACHE_QOS_MAX_MONITORS; at = (at | 63) + 1) {
		u64 rest = members->word[at / 64] >> (at % 64);

		if (rest)
			return at + __builtin_ctzll(rest);
	}
	return CACHE_QOS_MAX_MONITORS;
}

#define cache_qos_for_each_member(_m, _members)				\
	for (_m = cache_qos_next(_members, 0); _m < CACHE_QOS_MAX_MONITORS;	\
	     _m = cache_qos_next(_members, _m + 1))

void cache_qos_add(struct cache_qos_members *members, u16 monitor)
{
	members->word[monitor / 64] |= 1ULL << (monitor % 64);
}

void cache_qos_drop(struct cache_qos_members *members, u16 monitor)
{
	members->word[monitor / 64] &= ~(1ULL << (monitor % 64));
}

void cache_qos_unite(struct cache_qos_members *members,
		     const struct cache_qos_members *more)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_SET_WORDS; i++)
		members->word[i] |= more->word[i];
}

void cache_qos_changed(struct cache_qos *cq)
{
	u32 next = cq->generation + 1;

	/* What was changed is seen by whoever sees it: slots of CPUs are worthless from here on. */
	smp_store_release(&cq->generation, next ? next : 1);
}

/* CACHE_QOS_NONE: there is no room. */
u16 cache_qos_set_get(struct cache_qos *cq, const struct cache_qos_members *members)
{
	u16 place = CACHE_QOS_NONE;
	u16 i;

	if (cache_qos_empty(members))
		return 0;
	for (i = 1; i < CACHE_QOS_MAX_SETS; i++) {
		struct cache_qos_set *set = &cq->sets[i];

		if (set->refs && cache_qos_same(&set->members, members)) {
			set->refs++;
			return i;
		}
		if (!set->refs && place == CACHE_QOS_NONE)
			place = i;
		/* Above it none was ever used. */
		if (i > cq->top_set)
			break;
	}
	if (place == CACHE_QOS_NONE)
		return CACHE_QOS_NONE;
	cq->sets[place].members = *members;
	cq->sets[place].refs = 1;
	if (place > cq->top_set)
		cq->top_set = place;
	cq->free_sets--;
	cache_qos_changed(cq);
	return place;
}

void cache_qos_set_hold(struct cache_qos *cq, u16 set)
{
	if (set)
		cq->sets[set].refs++;
}

void cache_qos_set_put(struct cache_qos *cq, u16 set)
{
	if (set && !--cq->sets[set].refs)
		cq->free_sets++;
}

/* RMIDs */

static void cache_qos_tell(struct cache_qos *cq, enum cache_qos_news news, u32 rmid)
{
	if (cq->notify)
		cq->notify(cq, news, rmid);
}

/* The RMIDs behind these monitors are others. */
static void cache_qos_touch(struct cache_qos *cq, const struct cache_qos_members *members)
{
	u32 m;

	cache_qos_for_each_member(m, members)
		cq->monitors[m].generation++;
	cq->monitors[CACHE_QOS_MACHINE].generation++;
}

/*
 * CACHE_QOS_MACHINE is in every atom. RMID 0 works for it alone, and so does one that somebody else
 * has put into PQR_ASSOC and that is none of ours.
 */
void cache_qos_mark(struct cache_qos *cq, u32 rmid, u32 status)
{
	u32 m;

	cq->monitors[CACHE_QOS_MACHINE].status |= status;
	if (rmid >= cq->hw.nr_rmid)
		return;
	cache_qos_for_each_member(m, &cq->atoms[rmid].members)
		cq->monitors[m].status |= status;
}

static void cache_qos_state(struct cache_qos *cq, u32 rmid, enum cache_qos_rmid_state state,
			    u64 now_ns)
{
	struct cache_qos_atom *atom = &cq->atoms[rmid];

	cq->nr_atoms[atom->state]--;
	cq->nr_atoms[state]++;
	WRITE_ONCE(atom->state, state);
	atom->since_ns = now_ns;
}

static u32 cache_qos_pop(struct cache_qos *cq)
{
	u32 rmid = cq->first_free;

	if (rmid) {
		WRITE_ONCE(cq->first_free, cq->atoms[rmid].next);
		if (!cq->first_free)
			cq->last_free = 0;
	}
	return rmid;
}

static void cache_qos_push(struct cache_qos *cq, u32 rmid)
{
	cq->atoms[rmid].next = 0;
	if (cq->last_free)
		cq->atoms[cq->last_free].next = rmid;
	else
		WRITE_ONCE(cq->first_free, rmid);
	cq->last_free = rmid;
}

/* What it has counted stays with those that are left of its members. */
static void cache_qos_bank(struct cache_qos *cq, u32 rmid)
{
	const struct cache_qos_members *members = &cq->atoms[rmid].members;
	u32 d, m, i;

	for (d = 0; d < cq->nr_domains; d++) {
		const struct cache_qos_cell *cell = &cq->domains[d].cells[rmid];

		cache_qos_for_each_member(m, members) {
			struct cache_qos_sum *banked = cq->domains[d].banked[m].of;

			for (i = 0; i < CACHE_QOS_NR_COUNTED; i++) {
				banked[i].raw += cell->chunks[i] - cell->base[i];
				banked[i].bytes += cache_qos_bytes(&cq->hw, rmid, cell->chunks[i]) -
						   cache_qos_bytes(&cq->hw, rmid, cell->base[i]);
			}
		}
	}
}

/* Out of limbo, for whoever comes next */
static void cache_qos_clear(struct cache_qos *cq, u32 rmid)
{
	struct cache_qos_atom *atom = &cq->atoms[rmid];

	cache_qos_bank(cq, rmid);
	cache_qos_touch(cq, &atom->members);
	memset(&atom->members, 0, sizeof(atom->members));
	atom->dirty = false;
}

void cache_qos_free(struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	cache_qos_clear(cq, rmid);
	cache_qos_state(cq, rmid, CACHE_QOS_FREE, now_ns);
	cache_qos_push(cq, rmid);
	cache_qos_tell(cq, CACHE_QOS_NEWS_FREE, rmid);
	if (cq->starved) {
		cq->starved = false;
		cache_qos_changed(cq);
	}
}

bool cache_qos_carried(const struct cache_qos *cq, u32 rmid)
{
	unsigned int i;

	for (i = 0; i < cq->nr_cpus; i++) {
		if (cq->cpus[i] && READ_ONCE(cq->cpus[i]->rmid) == rmid)
			return true;
	}
	return false;
}

/*
 * A counter that was unavailable when all of the RMID was last read, and will begin at 0 again: what
 * it has moved till then is known to be missing.
 */
static bool cache_qos_is_missing(const struct cache_qos *cq, const struct cache_qos_cell *cell,
				 u32 event, u64 since_ns)
{
	return cq->hw.restarts && event != CACHE_QOS_OCCUPANCY &&
	       cell->status[event] == CACHE_QOS_READ_UNAVAILABLE &&
	       cell->time_ns[CACHE_QOS_OCCUPANCY] > since_ns;
}

/* Events of an RMID in limbo that were not read well here since it came there, by BIT() */
static u32 cache_qos_unread_here(const struct cache_qos *cq, const struct cache_qos_domain *domain,
				 u32 rmid)
{
	const struct cache_qos_cell *cell = &domain->cells[rmid];
	u64 since_ns = cq->atoms[rmid].since_ns;
	u32 unread = 0, i;

	for (i = 0; i < CACHE_QOS_NR_READ; i++) {
		if (cache_qos_is_missing(cq, cell, i, since_ns))
			continue;
		if (cell->status[i] != CACHE_QOS_READ_OK || cell->time_ns[i] <= since_ns)
			unread |= BIT(i);
	}
	return unread & cq->hw.events;
}

static u32 cache_qos_unread(const struct cache_qos *cq, u32 rmid)
{
	u32 unread = 0, d;

	for (d = 0; d < cq->nr_domains; d++) {
		if (cq->domains[d].nr_cpus)
			unread |= cache_qos_unread_here(cq, &cq->domains[d], rmid);
	}
	return unread;
}

/* Of an RMID in limbo, at most; ~0: it was filled since it was last read, nobody knows how far. */
static u64 cache_qos_lines(const struct cache_qos *cq, u32 rmid)
{
	u64 lines = 0;
	u32 d;

	if (cache_qos_unread(cq, rmid) & BIT(CACHE_QOS_OCCUPANCY))
		return ~0ULL;
	for (d = 0; d < cq->nr_domains; d++)
		lines += cq->domains[d].cells[rmid].occupancy;
	return lines;
}

/*
 * The one in limbo with the fewest lines, for who would rather have a bound than a refusal. What
 * one that was not read since has moved is lost to those who are left of its members.
 */
static u32 cache_qos_take_dirty(struct cache_qos *cq)
{
	u64 least = ~0ULL;
	u32 best = 0, rmid;

	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		u64 lines;

		if (cq->atoms[rmid].state != CACHE_QOS_LIMBO || cache_qos_carried(cq, rmid))
			continue;
		lines = cache_qos_lines(cq, rmid);
		if (!best || lines < least) {
			least = lines;
			best = rmid;
		}
	}
	if (best) {
		if (cache_qos_unread(cq, best) & ~BIT(CACHE_QOS_OCCUPANCY))
			cache_qos_mark(cq, best, PMUKIT_CACHE_QOS_S_GAP);
		cache_qos_clear(cq, best);
		cq->atoms[best].dirty = true;
		cq->stats.dirty++;
	}
	return best;
}

/*
 * The counters of an RMID nobody carries stand still: what was read last is where this atom begins.
 * Its lines can only become fewer, so what was read last is the most that is not this atom's. One
 * that comes straight out of limbo may not have been read since somebody carried it: counters then
 * begin with the next read, and all lines of it may be another's.
 */
static void cache_qos_begin(struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	u32 d, i;

	for (d = 0; d < cq->nr_domains; d++) {
		struct cache_qos_cell *cell = &cq->domains[d].cells[rmid];
		u32 unread = cq->atoms[rmid].dirty ?
			     cache_qos_unread_here(cq, &cq->domains[d], rmid) : 0;

		cell->bound = cell->occupancy;
		if (unread & BIT(CACHE_QOS_OCCUPANCY))
			cell->bound = ~0ULL;
		cell->known &= ~unread;
		memcpy(cell->base, cell->chunks, sizeof(cell->base));
		for (i = CACHE_QOS_TOTAL; i < CACHE_QOS_NR_READ; i++) {
			if (cell->known & BIT(i))
				cell->time_ns[i] = now_ns;
		}
	}
}

/* Atoms */

static u32 cache_qos_atom_find(const struct cache_qos *cq, const struct cache_qos_members *members)
{
	u32 rmid;

	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		if (cq->atoms[rmid].state == CACHE_QOS_USED &&
		    cache_qos_same(&cq->atoms[rmid].members, members))
			return rmid;
	}
	return 0;
}

/* Return: an RMID, or -EBUSY, -ENOSPC. */
int cache_qos_atom_get(struct cache_qos *cq, const struct cache_qos_members *members,
		       u64 now_ns)
{
	u32 rmid = cache_qos_atom_find(cq, members);

	if (rmid)
		return rmid;
	if (cq->yielded)
		return -EBUSY;
	rmid = cache_qos_pop(cq);
	if (!rmid && READ_ONCE(cq->alloc_dirty))
		rmid = cache_qos_take_dirty(cq);
	if (!rmid)
		return cq->nr_atoms[CACHE_QOS_LIMBO] ? -EBUSY : -ENOSPC;

	cq->atoms[rmid].members = *members;
	/* First: it asks since when the RMID was in limbo. */
	cache_qos_begin(cq, rmid, now_ns);
	cache_qos_state(cq, rmid, CACHE_QOS_USED, now_ns);
	cache_qos_touch(cq, members);
	if (cq->atoms[rmid].dirty)
		cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_DIRTY);
	cache_qos_tell(cq, CACHE_QOS_NEWS_ALLOC, rmid);
	return rmid;
}

void cache_qos_retire(struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	cache_qos_state(cq, rmid, CACHE_QOS_LIMBO, now_ns);
	cache_qos_tell(cq, CACHE_QOS_NEWS_LIMBO, rmid);
}

/* Is there another atom for the same set, or nobody left in it? */
bool cache_qos_needless(const struct cache_qos *cq, u32 rmid)
{
	const struct cache_qos_members *members = &cq->atoms[rmid].members;
	u32 other;

	if (cache_qos_empty(members))
		return true;
	for (other = 1; other < cq->hw.nr_rmid; other++) {
		if (other != rmid && cq->atoms[other].state == CACHE_QOS_USED &&
		    cache_qos_same(&cq->atoms[other].members, members))
			return true;
	}
	return false;
}

/* The largest atom within the set: less than it, never more */
static u32 cache_qos_atom_nearest(const struct cache_qos *cq,
				  const struct cache_qos_members *members)
{
	u32 most = 0, best = 0, rmid;

	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		const struct cache_qos_atom *atom = &cq->atoms[rmid];
		u32 weight;

		if (atom->state != CACHE_QOS_USED || !cache_qos_within(&atom->members, members))
			continue;
		weight = cache_qos_weight(&atom->members);
		if (weight > most) {
			most = weight;
			best = rmid;
		}
	}
	return best;
}

u32 cache_qos_atom_coarse(struct cache_qos *cq, const struct cache_qos_members *members)
{
	u32 rmid = cache_qos_atom_nearest(cq, members);
	u32 m;

	cq->starved = true;
	cq->stats.partial++;
	cache_qos_for_each_member(m, members) {
		if (cache_qos_has(&cq->atoms[rmid].members, m))
			continue;
		cq->monitors[m].missed++;
		cq->monitors[m].status |= PMUKIT_CACHE_QOS_S_PARTIAL;
	}
	return rmid;
}
