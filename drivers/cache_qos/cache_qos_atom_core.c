// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: sets of monitors and their RMIDs. cache_qos_core.h describes the interface and its
 * locking.
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/rwonce.h>

#include "cache_qos_core.h"

/* Sets of monitors */

static bool cache_qos_same(const struct cache_qos_members *a, const struct cache_qos_members *b)
{
	return bitmap_equal(a->bits, b->bits, CACHE_QOS_MAX_MONITORS);
}

void cache_qos_changed(struct cache_qos *cq)
{
	u32 next = cq->generation + 1;

	/* A CPU that sees the new generation, which invalidates its slots, also sees the change. */
	smp_store_release(&cq->generation, next ? next : 1);
}

/* Return: index of the set, with a reference unless it is empty; CACHE_QOS_NONE: no set is free. */
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
		/* No set above top_set was ever used. */
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

static void cache_qos_notify(struct cache_qos *cq, enum cache_qos_rmid_event news, u32 rmid)
{
	if (cq->notify)
		cq->notify(cq, news, rmid);
}

/* Record that the set of RMIDs of these monitors, and so of the machine, has changed. */
static void cache_qos_touch(struct cache_qos *cq, const struct cache_qos_members *members)
{
	u32 m;

	cache_qos_for_each_member(m, members)
		cq->monitors[m].generation++;
	cq->monitors[CACHE_QOS_MACHINE].generation++;
}

/*
 * Add status flags to the monitors of an RMID. CACHE_QOS_MACHINE counts every RMID. No other
 * monitor counts RMID 0, or an RMID outside the driver's range that other software wrote to
 * PQR_ASSOC.
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
	WRITE_ONCE(atom->quiet, false);
	WRITE_ONCE(atom->state, state);
	WRITE_ONCE(atom->since_ns, now_ns);
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

static void cache_qos_accumulate_domain(struct cache_qos *cq, struct cache_qos_domain *domain,
					u32 rmid, const struct cache_qos_members *members)
{
	struct cache_qos_cell *cell = &domain->cells[rmid];
	u32 m, i;

	cache_qos_collect_cell(cq, cell, rmid);
	cache_qos_for_each_member(m, members) {
		struct cache_qos_sum *sums = domain->accumulated[m].of;

		for (i = 0; i < CACHE_QOS_NR_COUNTED; i++) {
			sums[i].raw += cell->chunks[i] - cell->base[i];
			sums[i].bytes += cache_qos_bytes(&cq->hw, rmid, cell->chunks[i]) -
					 cache_qos_bytes(&cq->hw, rmid, cell->base[i]);
		}
	}
}

/* Add the counts of an RMID to the accumulated counts of @members, monitors of the RMID. */
static void cache_qos_accumulate(struct cache_qos *cq, u32 rmid,
				 const struct cache_qos_members *members)
{
	u32 d;

	for (d = 0; d < cq->nr_domains; d++) {
		raw_spin_lock(&cq->domains[d].lock);
		cache_qos_accumulate_domain(cq, &cq->domains[d], rmid, members);
		raw_spin_unlock(&cq->domains[d].lock);
	}
}

/* Detach an RMID in limbo from the monitors of its last atom */
static void cache_qos_clear(struct cache_qos *cq, u32 rmid)
{
	struct cache_qos_atom *atom = &cq->atoms[rmid];
	u32 m;

	cache_qos_accumulate(cq, rmid, &atom->members);
	cache_qos_touch(cq, &atom->members);
	cache_qos_for_each_member(m, &atom->members)
		__clear_bit(rmid, cq->monitors[m].rmids);
	memset(&atom->members, 0, sizeof(atom->members));
	atom->dirty = false;
	cq->nr_limited -= atom->limited;
	atom->limited = false;
}

void cache_qos_free(struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	cache_qos_clear(cq, rmid);
	cache_qos_state(cq, rmid, CACHE_QOS_FREE, now_ns);
	cache_qos_push(cq, rmid);
	cache_qos_notify(cq, CACHE_QOS_RMID_EVENT_FREE, rmid);
	if (cq->starved) {
		cq->starved = false;
		cache_qos_changed(cq);
	}
}

/*
 * Mark the RMIDs in limbo that no CPU carries in PQR_ASSOC. No CPU starts to carry an RMID in
 * limbo, but a CPU that has carried the RMID before may do so until its next task switch.
 */
static void cache_qos_find_quiet(struct cache_qos *cq, u64 now_ns)
{
	u32 left = cq->nr_atoms[CACHE_QOS_LIMBO], rmid;

	for (rmid = 1; left && rmid < cq->hw.nr_rmid; rmid++) {
		struct cache_qos_atom *atom = &cq->atoms[rmid];
		bool quiet = !test_bit(rmid, cq->carried);

		if (atom->state != CACHE_QOS_LIMBO)
			continue;
		left--;
		if (quiet && !atom->quiet)
			WRITE_ONCE(atom->since_ns, now_ns);
		WRITE_ONCE(atom->quiet, quiet);
	}
}

void cache_qos_carried(struct cache_qos *cq, u64 now_ns)
{
	u32 next = cq->first_free;
	unsigned int i;

	for (i = 0; i < CACHE_QOS_SPARES; i++) {
		WRITE_ONCE(cq->spares[i], next);
		next = next ? cq->atoms[next].next : 0;
	}
	bitmap_zero(cq->carried, CACHE_QOS_MAX_RMIDS);
	for (i = 0; i < cq->nr_cpus; i++) {
		u32 rmid = cq->cpus[i] ? READ_ONCE(cq->cpus[i]->rmid) : 0;

		if (rmid < CACHE_QOS_MAX_RMIDS)
			__set_bit(rmid, cq->carried);
	}
	cache_qos_find_quiet(cq, now_ns);
}

/*
 * Return: true if the RMID was read after @since_ns, but its counter was unavailable and will
 * restart at 0. The earlier traffic is lost, and PMUKIT_CACHE_QOS_S_GAP records that, so there is
 * no need to wait for a good read.
 */
static bool cache_qos_is_missing(const struct cache_qos *cq, const struct cache_qos_cell *cell,
				 u32 event, u64 since_ns)
{
	return cq->hw.restarts && event != CACHE_QOS_OCCUPANCY &&
	       cell->status[event] == CACHE_QOS_READ_UNAVAILABLE &&
	       cell->time_ns[CACHE_QOS_OCCUPANCY] > since_ns;
}

/* BIT() of the events without a good read in this domain since atom->since_ns */
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

/* BIT() of the events without a good read in all online domains since atom->since_ns */
u32 cache_qos_unread(const struct cache_qos *cq, u32 rmid)
{
	u32 unread = 0, d;

	for (d = 0; d < cq->nr_domains; d++) {
		if (cq->domains[d].nr_cpus)
			unread |= cache_qos_unread_here(cq, &cq->domains[d], rmid);
	}
	return unread;
}

/* Upper bound for the lines of an RMID in limbo; ~0: not read since it entered limbo. */
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
 * Take the RMID in limbo with the fewest lines (alloc_dirty): a value with an error bound is
 * preferred to a failure. If the RMID was not read since it entered limbo, its remaining monitors
 * miss its last traffic.
 */
static u32 cache_qos_take_dirty(struct cache_qos *cq, u64 now_ns)
{
	u64 least = ~0ULL;
	u32 best = 0, rmid;

	cache_qos_carried(cq, now_ns);
	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		u64 lines;

		if (!cq->atoms[rmid].quiet)
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
	}
	return best;
}

/*
 * Start to count an RMID for its new atom in one domain.
 *
 * No CPU carries the RMID, so its counters do not change: the atom starts at the last reading.
 * Its lines can only become fewer, so the last reading is an upper bound for lines of earlier
 * atoms. An RMID that was taken out of limbo early (@dirty) may not have been read since a CPU
 * carried it: then the counters start at the next reading, and all lines may belong to an earlier
 * atom.
 */
static void cache_qos_begin_here(const struct cache_qos *cq, struct cache_qos_domain *domain,
				 u32 rmid, u64 now_ns)
{
	struct cache_qos_cell *cell = &domain->cells[rmid];
	u32 unread = cq->atoms[rmid].dirty ? cache_qos_unread_here(cq, domain, rmid) : 0;
	u32 i;

	cell->bound = unread & BIT(CACHE_QOS_OCCUPANCY) ? ~0ULL : cell->occupancy;
	cell->known &= ~unread;
	memcpy(cell->base, cell->chunks, sizeof(cell->base));
	WRITE_ONCE(cell->moved, domain->moved);
	for (i = CACHE_QOS_TOTAL; i < CACHE_QOS_NR_READ; i++) {
		if (cell->known & BIT(i))
			WRITE_ONCE(cell->time_ns[i], now_ns);
	}
}

static void cache_qos_begin(struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	u32 d;

	for (d = 0; d < cq->nr_domains; d++) {
		raw_spin_lock(&cq->domains[d].lock);
		cache_qos_begin_here(cq, &cq->domains[d], rmid, now_ns);
		raw_spin_unlock(&cq->domains[d].lock);
	}
}

/* Hash table of used atoms, by their members */

static u16 *cache_qos_bucket(struct cache_qos *cq, const struct cache_qos_members *members)
{
	unsigned long hash = 0;
	u32 i;

	for (i = 0; i < BITS_TO_LONGS(CACHE_QOS_MAX_MONITORS); i++)
		hash = hash * 31 + members->bits[i];
	return &cq->buckets[(hash * 0x9e3779b97f4a7c15ULL) >> (64 - CACHE_QOS_BUCKET_BITS)];
}

static void cache_qos_atom_hash(struct cache_qos *cq, u32 rmid)
{
	u16 *bucket = cache_qos_bucket(cq, &cq->atoms[rmid].members);

	cq->atoms[rmid].hash_next = *bucket;
	*bucket = rmid;
}

static void cache_qos_atom_unhash(struct cache_qos *cq, u32 rmid)
{
	u16 *link = cache_qos_bucket(cq, &cq->atoms[rmid].members);

	while (*link != rmid)
		link = &cq->atoms[*link].hash_next;
	*link = cq->atoms[rmid].hash_next;
}

u32 cache_qos_atom_find(struct cache_qos *cq, const struct cache_qos_members *members)
{
	u32 rmid = *cache_qos_bucket(cq, members);

	while (rmid && !cache_qos_same(&cq->atoms[rmid].members, members))
		rmid = cq->atoms[rmid].hash_next;
	return rmid;
}

/* Return: an RMID, or -EBUSY, -ENOSPC. */
int cache_qos_atom_get(struct cache_qos *cq, const struct cache_qos_members *members,
		       u64 now_ns)
{
	bool limited = bitmap_intersects(members->bits, cq->limited.bits, CACHE_QOS_MAX_MONITORS);
	u32 rmid = cache_qos_atom_find(cq, members);
	u32 m;

	if (rmid)
		return rmid;
	if (cq->yielded)
		return -EBUSY;
	if (limited && cq->nr_limited >= cq->max_limited)
		return -ENOSPC;
	rmid = cache_qos_pop(cq);
	if (!rmid && READ_ONCE(cq->alloc_dirty))
		rmid = cache_qos_take_dirty(cq, now_ns);
	if (!rmid)
		return cq->nr_atoms[CACHE_QOS_LIMBO] ? -EBUSY : -ENOSPC;

	cq->atoms[rmid].limited = limited;
	cq->nr_limited += limited;
	cq->atoms[rmid].members = *members;
	cache_qos_for_each_member(m, members)
		__set_bit(rmid, cq->monitors[m].rmids);
	cache_qos_atom_hash(cq, rmid);
	/* cache_qos_begin() needs the old since_ns, which cache_qos_state() changes. */
	cache_qos_begin(cq, rmid, now_ns);
	cache_qos_state(cq, rmid, CACHE_QOS_USED, now_ns);
	cache_qos_touch(cq, members);
	if (cq->atoms[rmid].dirty || cq->atoms[rmid].soiled) {
		cq->stats.dirty++;
		cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_DIRTY);
	}
	cq->atoms[rmid].soiled = false;
	cache_qos_notify(cq, CACHE_QOS_RMID_EVENT_ALLOC, rmid);
	return rmid;
}

static void cache_qos_retire(struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	cache_qos_state(cq, rmid, CACHE_QOS_LIMBO, now_ns);
	cache_qos_notify(cq, CACHE_QOS_RMID_EVENT_LIMBO, rmid);
}

/*
 * Remove a monitor from an atom. If the atom is then empty or equal to another atom, its RMID
 * enters limbo.
 */
void cache_qos_atom_leave(struct cache_qos *cq, u32 rmid, u16 monitor, u64 now_ns)
{
	struct cache_qos_atom *atom = &cq->atoms[rmid];
	bool used = atom->state == CACHE_QOS_USED;

	if (used)
		cache_qos_atom_unhash(cq, rmid);
	__clear_bit(monitor, atom->members.bits);
	if (!used)
		return;
	if (cache_qos_empty(&atom->members) || cache_qos_atom_find(cq, &atom->members))
		cache_qos_retire(cq, rmid, now_ns);
	else
		cache_qos_atom_hash(cq, rmid);
}

/*
 * Remove a monitor that waits from now on from an atom, without loss: the RMID enters limbo, where
 * its last traffic is read for all its monitors, and the other monitors get another RMID. If there
 * is no other RMID, they keep this one, and traffic since the last reading is lost for @monitor.
 */
void cache_qos_atom_part(struct cache_qos *cq, u32 rmid, u16 monitor, u64 now_ns)
{
	struct cache_qos_atom *atom = &cq->atoms[rmid];
	struct cache_qos_members rest = atom->members, parted = {};

	if (atom->state != CACHE_QOS_USED)
		return;
	cache_qos_drop(&rest, monitor);
	cache_qos_atom_unhash(cq, rmid);
	if (cache_qos_empty(&rest) || cache_qos_atom_get(cq, &rest, now_ns) > 0) {
		cache_qos_retire(cq, rmid, now_ns);
		return;
	}
	cache_qos_add(&parted, monitor);
	cq->monitors[monitor].status |= PMUKIT_CACHE_QOS_S_GAP;
	cache_qos_accumulate(cq, rmid, &parted);
	__clear_bit(rmid, cq->monitors[monitor].rmids);
	atom->members = rest;
	cache_qos_touch(cq, &parted);
	cache_qos_atom_hash(cq, rmid);
}

/*
 * Rank of an atom for cache_qos_atom_nearest(). An atom with more monitors of privileged users
 * ranks higher; among atoms with equally many of them, one with more monitors in total ranks
 * higher.
 */
static u32 cache_qos_nearness(const struct cache_qos *cq, const struct cache_qos_members *members)
{
	struct cache_qos_members privileged;

	bitmap_andnot(privileged.bits, members->bits, cq->limited.bits, CACHE_QOS_MAX_MONITORS);
	return bitmap_weight(privileged.bits, CACHE_QOS_MAX_MONITORS) * CACHE_QOS_MAX_MONITORS +
	       bitmap_weight(members->bits, CACHE_QOS_MAX_MONITORS);
}

/* RMID of the highest-ranking atom whose monitors are a subset of @members; 0: none */
static u32 cache_qos_atom_nearest(const struct cache_qos *cq,
				  const struct cache_qos_members *members)
{
	u32 most = 0, best = 0, rmid;

	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		const struct cache_qos_atom *atom = &cq->atoms[rmid];
		u32 near;

		if (atom->state != CACHE_QOS_USED ||
		    !bitmap_subset(atom->members.bits, members->bits, CACHE_QOS_MAX_MONITORS))
			continue;
		near = cache_qos_nearness(cq, &atom->members);
		if (near > most) {
			most = near;
			best = rmid;
		}
	}
	return best;
}

/*
 * Return: RMID of the atom with these members. If there is no such atom: CACHE_QOS_MISS, or, if no
 * RMID is available for it, the RMID that cache_qos_atom_coarse() chooses.
 */
u32 cache_qos_atom_expected(struct cache_qos *cq, const struct cache_qos_members *members)
{
	u32 rmid = cache_qos_atom_find(cq, members);

	if (rmid)
		return rmid;
	return cq->starved ? cache_qos_atom_nearest(cq, members) : CACHE_QOS_MISS;
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
