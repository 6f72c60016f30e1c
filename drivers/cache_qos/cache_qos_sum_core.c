// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: domains, readings, limbo and sums. cache_qos_core.h describes the interface and its
 * locking.
 */

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/rwonce.h>

#include "cache_qos_core.h"

/* A free RMID without lines is read once in this many passes. */
#define CACHE_QOS_FREE_PASSES	16

/* Domains */

u16 cache_qos_domain_find(const struct cache_qos *cq, u32 id)
{
	u16 d;

	for (d = 0; d < cq->nr_domains; d++) {
		if (cq->domains[d].is.id == id)
			return d;
	}
	return CACHE_QOS_NONE;
}

static u64 cache_qos_smallest(const struct cache_qos *cq)
{
	u64 least = ~0ULL;
	u32 d;

	for (d = 0; d < cq->nr_domains; d++)
		least = min_t(u64, least, cq->domains[d].is.bytes);
	return least;
}

u64 cache_qos_default_threshold(const struct cache_qos *cq)
{
	return cache_qos_smallest(cq) / cq->hw.nr_rmid / cq->hw.scale * cq->hw.scale;
}

int cache_qos_set_threshold(struct cache_qos *cq, u64 bytes)
{
	if (bytes > cache_qos_smallest(cq))
		return -EINVAL;
	WRITE_ONCE(cq->threshold, bytes / cq->hw.scale);
	return 0;
}

int cache_qos_domain_add(struct cache_qos *cq, const struct pmukit_cache_qos_domain *is,
			 struct cache_qos_cell *cells, struct cache_qos_sums *accumulated)
{
	struct cache_qos_domain *domain = &cq->domains[cq->nr_domains];

	if (cq->nr_domains == CACHE_QOS_MAX_DOMAINS)
		return -ENOSPC;
	*domain = (struct cache_qos_domain) { .is = *is, .cells = cells, .accumulated = accumulated };
	raw_spin_lock_init(&domain->lock);
	/* Pairs with cache_qos_nr_domains(): a reader that sees the number sees the domain. */
	smp_store_release(&cq->nr_domains, cq->nr_domains + 1);
	if (cq->nr_domains == 1)
		cq->threshold = cache_qos_default_threshold(cq) / cq->hw.scale;
	return cq->nr_domains - 1;
}

/* Move all free RMIDs to limbo: they may have lines that the driver has not read. */
static void cache_qos_distrust(struct cache_qos *cq)
{
	u32 rmid;

	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		if (cq->atoms[rmid].state != CACHE_QOS_FREE)
			continue;
		WRITE_ONCE(cq->atoms[rmid].state, CACHE_QOS_LIMBO);
		cq->nr_atoms[CACHE_QOS_FREE]--;
		cq->nr_atoms[CACHE_QOS_LIMBO]++;
	}
	WRITE_ONCE(cq->first_free, 0);
	cq->last_free = 0;
}

void cache_qos_domain_gain(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 rmid;

	WRITE_ONCE(d->nr_cpus, d->nr_cpus + 1);
	if (d->nr_cpus > 1)
		return;
	/* Lines from before the domain came online may belong to any earlier atom. */
	raw_spin_lock(&d->lock);
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
		d->cells[rmid].bound = ~0ULL;
	raw_spin_unlock(&d->lock);
	cache_qos_distrust(cq);
}

void cache_qos_rebase(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 rmid;

	WRITE_ONCE(d->scanned, false);
	raw_spin_lock(&d->lock);
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		d->cells[rmid].known = 0;
		d->cells[rmid].gap = 0;
		WRITE_ONCE(d->cells[rmid].served, 0);
		/* Makes cache_qos_fold() drop readings in progress, which have old values. */
		d->cells[rmid].folded++;
	}
	raw_spin_unlock(&d->lock);
}

void cache_qos_domain_lose(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 rmid;

	WRITE_ONCE(d->nr_cpus, d->nr_cpus - 1);
	if (d->nr_cpus)
		return;
	/* Traffic since the last pass is lost. */
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
		if (!rmid || cq->atoms[rmid].state != CACHE_QOS_FREE)
			cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_GAP);
	cache_qos_rebase(cq, domain);
	raw_spin_lock(&d->lock);
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		struct cache_qos_cell *cell = &d->cells[rmid];

		WRITE_ONCE(cell->occupancy, 0);
		memset(cell->time_ns, 0, sizeof(cell->time_ns));
		memset(cell->status, 0, sizeof(cell->status));
	}
	raw_spin_unlock(&d->lock);
}

u64 cache_qos_cache_bytes(const struct cache_qos *cq, u16 domain)
{
	u64 bytes = 0;
	u32 d;

	for (d = 0; d < cq->nr_domains; d++) {
		if ((domain == CACHE_QOS_ALL || domain == d) && cq->domains[d].nr_cpus)
			bytes += cq->domains[d].is.bytes;
	}
	return bytes;
}

/* Readings */

bool cache_qos_wanted(const struct cache_qos *cq, u16 domain, u32 rmid, u32 pass)
{
	/* The lines of a free RMID count for the machine until none are left. */
	if (!rmid || READ_ONCE(cq->atoms[rmid].state) != CACHE_QOS_FREE ||
	    READ_ONCE(cq->first_free) == rmid ||
	    READ_ONCE(cq->domains[domain].cells[rmid].occupancy))
		return true;
	return (rmid + pass) % CACHE_QOS_FREE_PASSES == 0;
}

/*
 * Return: true if the traffic of an RMID until @since_ns was read, or is known to be missing. Then
 * the RMID may become free: readings of a free RMID add nothing.
 */
static bool cache_qos_counted_here(const struct cache_qos *cq, const struct cache_qos_cell *cell,
				   u64 since_ns)
{
	u32 event;

	for (event = CACHE_QOS_TOTAL; event < CACHE_QOS_NR_READ; event++) {
		if (!(cq->hw.events & BIT(event)) ||
		    READ_ONCE(cell->status[event]) == CACHE_QOS_READ_UNAVAILABLE)
			continue;
		if (READ_ONCE(cell->status[event]) != CACHE_QOS_READ_OK ||
		    READ_ONCE(cell->time_ns[event]) <= since_ns)
			return false;
	}
	return true;
}

u32 cache_qos_events_wanted(const struct cache_qos *cq, u16 domain, u32 rmid)
{
	const struct cache_qos_cell *cell = &cq->domains[domain].cells[rmid];
	const struct cache_qos_atom *atom = &cq->atoms[rmid];
	u64 since_ns = READ_ONCE(atom->since_ns);
	u8 state = READ_ONCE(atom->state);
	u32 all = cq->hw.events;

	if (!cq->hw.restarts || !rmid || state == CACHE_QOS_USED)
		return all;
	/* An RMID in limbo has traffic until no CPU carries it; then its counters do not change. */
	if (state == CACHE_QOS_LIMBO &&
	    (!READ_ONCE(atom->quiet) || READ_ONCE(cell->time_ns[CACHE_QOS_TOTAL]) <= since_ns ||
	     !cache_qos_counted_here(cq, cell, since_ns)))
		return all;
	return all & BIT(CACHE_QOS_OCCUPANCY);
}

void cache_qos_ask(const struct cache_qos *cq, u16 domain, u32 rmid,
		   struct cache_qos_request *request)
{
	const struct cache_qos_cell *cell = &cq->domains[domain].cells[rmid];

	/* folded is read before the counters: a reading folded in from now on may be newer. */
	request->folded = smp_load_acquire(&cell->folded);
	request->rmid = rmid;
	request->counted = cq->domains[domain].is.node * cq->hw.nr_rmid + rmid;
	request->events = cache_qos_events_wanted(cq, domain, rmid);
	request->absent = 0;
	if (cq->hw.abmc)
		request->absent = request->events & ~BIT(CACHE_QOS_OCCUPANCY) &
				  ~READ_ONCE(cell->served);
}

void cache_qos_note(struct cache_qos_domain *domain, struct cache_qos_cell *cell, u32 marks)
{
	WRITE_ONCE(cell->marks, cell->marks | marks);
	WRITE_ONCE(domain->marked, true);
}

void cache_qos_collect_cell(struct cache_qos *cq, struct cache_qos_cell *cell, u32 rmid)
{
	u32 marks = cell->marks;

	if (!marks)
		return;
	WRITE_ONCE(cell->marks, 0);
	if (marks & CACHE_QOS_MARK_NEW && !cache_qos_empty(&cq->atoms[rmid].members))
		marks |= PMUKIT_CACHE_QOS_S_GAP;
	marks &= ~CACHE_QOS_MARK_NEW;
	if (marks)
		cache_qos_mark(cq, rmid, marks);
}

void cache_qos_collect(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 rmid;

	if (!READ_ONCE(d->marked))
		return;
	raw_spin_lock(&d->lock);
	WRITE_ONCE(d->marked, false);
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
		cache_qos_collect_cell(cq, &d->cells[rmid], rmid);
	raw_spin_unlock(&d->lock);
}

struct cache_qos_reads cache_qos_count_reads(const struct cache_qos *cq)
{
	struct cache_qos_reads sum = {};
	u32 d;

	for (d = 0; d < cq->nr_domains; d++) {
		const struct cache_qos_reads *one = &cq->domains[d].reads;

		sum.unavailable += READ_ONCE(one->unavailable);
		sum.errors += READ_ONCE(one->errors);
		sum.stolen += READ_ONCE(one->stolen);
		sum.uncertain += READ_ONCE(one->uncertain);
	}
	return sum;
}

/*
 * Limit for the occupancy of a domain, in counter units; + 1, because the size of the L3 need not
 * be a multiple of a unit. If the L3 is divided, the limit is the whole L3, because CPUs of one
 * node may also fill lines with memory of other nodes, and these lines are in the parts of those
 * nodes.
 */
static u64 cache_qos_room(const struct cache_qos *cq, const struct cache_qos_domain *domain)
{
	return domain->is.bytes * max_t(u64, domain->is.nodes, 1) / cq->hw.scale + 1;
}

static void cache_qos_fold_occupancy(struct cache_qos *cq, struct cache_qos_domain *domain,
				     struct cache_qos_cell *cell, u64 units)
{
	u64 most = cache_qos_room(cq, domain);

	/* The value is impossible: no sum may show more lines than the cache has. */
	if (units > most) {
		domain->violations++;
		units = most;
	}
	WRITE_ONCE(cell->occupancy, units);
	WRITE_ONCE(cell->bound, min_t(u64, cell->bound, units));
}

/*
 * Difference to the last value of a counter. After a gap the counter may have restarted at 0 or
 * not; the smaller of the two differences is never too high.
 */
static u64 cache_qos_step(const struct cache_qos *cq, const struct cache_qos_cell *cell, u32 event,
			  u64 data)
{
	u64 last = cell->last[event - 1];

	if (cell->gap & BIT(event))
		return data >= last ? data - last : data;
	return cache_qos_delta(data, last, cq->hw.width);
}

static void cache_qos_fold_counter(struct cache_qos *cq, struct cache_qos_domain *domain,
				   struct cache_qos_cell *cell, u32 rmid, u32 event, u64 data,
				   u64 now_ns)
{
	u64 *chunks = &cell->chunks[event - 1];
	u64 before_ns = cell->time_ns[event];
	bool late = before_ns && now_ns > before_ns && now_ns - before_ns > cq->hw.wrap_ns;

	/* A free RMID has no traffic, because no CPU carries it. Its last value may be old. */
	if (rmid && READ_ONCE(cq->atoms[rmid].state) == CACHE_QOS_FREE)
		goto known;
	if (!(cell->known & BIT(event))) {
		cell->skewed = true;
		cache_qos_note(domain, cell,
			       before_ns ? PMUKIT_CACHE_QOS_S_GAP : CACHE_QOS_MARK_NEW);
		goto known;
	}
	if (late) {
		/* The counter may have wrapped: the difference is a lower bound. */
		cell->skewed = true;
		WRITE_ONCE(domain->reads.uncertain, domain->reads.uncertain + 1);
		cache_qos_note(domain, cell, PMUKIT_CACHE_QOS_S_UNCERTAIN);
	}
	/*
	 * The count may be too low. The gap was marked when it was found, but the RMID may have
	 * belonged to another atom then.
	 */
	if (cell->gap & BIT(event))
		cache_qos_note(domain, cell, PMUKIT_CACHE_QOS_S_GAP);
	WRITE_ONCE(*chunks, *chunks + cache_qos_step(cq, cell, event, data));
known:
	cell->last[event - 1] = data;
	cell->known |= BIT(event);
	cell->gap &= ~BIT(event);
}

static void cache_qos_fold_unavailable(const struct cache_qos *cq, struct cache_qos_domain *domain,
				       struct cache_qos_cell *cell, u32 event)
{
	WRITE_ONCE(domain->reads.unavailable, domain->reads.unavailable + 1);
	if (event == CACHE_QOS_OCCUPANCY)
		return;
	cell->skewed = true;
	cache_qos_note(domain, cell, PMUKIT_CACHE_QOS_S_GAP);
	/*
	 * The counter restarts at 0. With ABMC the counter continues, or starts at 0 if it is
	 * assigned again.
	 */
	if (cq->hw.restarts && !cq->hw.abmc) {
		cell->last[event - 1] = 0;
		cell->known |= BIT(event);
	} else {
		cell->gap |= BIT(event);
	}
}

/*
 * TOTAL and LOCAL are not read at the same moment, so their difference may decrease a little, but
 * REMOTE must not decrease. Lost local traffic must not count as remote traffic: after TOTAL or
 * LOCAL missed traffic, REMOTE continues from its old value.
 */
static void cache_qos_fold_remote(const struct cache_qos *cq, struct cache_qos_cell *cell,
				  const struct cache_qos_sample *sample)
{
	u64 apart = cell->chunks[CACHE_QOS_TOTAL - 1] - cell->chunks[CACHE_QOS_LOCAL - 1];
	u64 *remote = &cell->chunks[CACHE_QOS_REMOTE - 1];

	if (!(cq->hw.events & BIT(CACHE_QOS_REMOTE)) ||
	    sample->status[CACHE_QOS_TOTAL] != CACHE_QOS_READ_OK ||
	    sample->status[CACHE_QOS_LOCAL] != CACHE_QOS_READ_OK)
		return;
	if (cell->skewed)
		cell->skew = apart - *remote;
	cell->skewed = false;
	if ((s64)(apart - cell->skew - *remote) > 0)
		WRITE_ONCE(*remote, apart - cell->skew);
}

static void cache_qos_fold_event(struct cache_qos *cq, struct cache_qos_domain *domain, u32 rmid,
				 u32 event, const struct cache_qos_sample *sample, u64 now_ns)
{
	struct cache_qos_cell *cell = &domain->cells[rmid];

	switch (sample->status[event]) {
	case CACHE_QOS_READ_OK:
		if (event == CACHE_QOS_OCCUPANCY)
			cache_qos_fold_occupancy(cq, domain, cell, sample->data[event]);
		else
			cache_qos_fold_counter(cq, domain, cell, rmid, event, sample->data[event],
					       now_ns);
		WRITE_ONCE(cell->time_ns[event], now_ns);
		break;
	case CACHE_QOS_READ_UNAVAILABLE:
		cache_qos_fold_unavailable(cq, domain, cell, event);
		break;
	case CACHE_QOS_READ_ERROR:
		WRITE_ONCE(domain->reads.errors, domain->reads.errors + 1);
		break;
	case CACHE_QOS_READ_STOLEN:
		WRITE_ONCE(domain->reads.stolen, domain->reads.stolen + 1);
		break;
	default:
		return;
	}
	WRITE_ONCE(cell->status[event], sample->status[event]);
}

static void cache_qos_fold_locked(struct cache_qos *cq, struct cache_qos_domain *domain,
				  const struct cache_qos_request *request, u64 now_ns)
{
	struct cache_qos_cell *cell = &domain->cells[request->rmid];
	u32 event;

	if (READ_ONCE(cq->yielded) || cell->folded != request->folded)
		return;
	for (event = 0; event < CACHE_QOS_NR_READ; event++)
		cache_qos_fold_event(cq, domain, request->rmid, event, &request->sample, now_ns);
	cache_qos_fold_remote(cq, cell, &request->sample);
	/* Pairs with cache_qos_ask(), which reads this number before the counters. */
	smp_store_release(&cell->folded, cell->folded + 1);
}

void cache_qos_fold(struct cache_qos *cq, u16 domain, const struct cache_qos_request *request,
		    u64 now_ns, bool wait)
{
	struct cache_qos_domain *d = &cq->domains[domain];

	if (wait)
		raw_spin_lock(&d->lock);
	else if (!raw_spin_trylock(&d->lock))
		return;
	cache_qos_fold_locked(cq, d, request, now_ns);
	raw_spin_unlock(&d->lock);
}

/* Return: true if the last reads were good or were skipped. */
static bool cache_qos_cell_good(const struct cache_qos_cell *cell)
{
	return cell->status[CACHE_QOS_OCCUPANCY] <= CACHE_QOS_READ_OK &&
	       cell->status[CACHE_QOS_TOTAL] <= CACHE_QOS_READ_OK;
}

static void cache_qos_check_room(struct cache_qos *cq, struct cache_qos_domain *d)
{
	u64 units = 0, moved = 0, room, before;
	bool known = cq->hw.events & BIT(CACHE_QOS_TOTAL);
	u32 rmid;

	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		const struct cache_qos_cell *cell = &d->cells[rmid];

		units += cell->occupancy;
		moved += cell->chunks[CACHE_QOS_TOTAL - 1];
		known = known && cache_qos_cell_good(cell);
	}
	before = d->moved;
	WRITE_ONCE(d->moved, moved);
	/* The bandwidth correction is less than a factor of 2. */
	room = cache_qos_room(cq, d) + (moved - before) * (cq->hw.factor ? 2 : 1);
	if (known && units > room)
		d->violations++;
}

/* Limbo */

/* State of an RMID in limbo; UNREAD: not read since it entered limbo */
enum cache_qos_clean {
	CACHE_QOS_CLEAN,
	CACHE_QOS_DIRTY,
	CACHE_QOS_UNREAD,
};

static enum cache_qos_clean cache_qos_clean_here(const struct cache_qos *cq,
						 const struct cache_qos_domain *domain, u32 rmid)
{
	const struct cache_qos_cell *cell = &domain->cells[rmid];
	u64 lines = READ_ONCE(cell->occupancy);

	if (READ_ONCE(cell->status[CACHE_QOS_OCCUPANCY]) != CACHE_QOS_READ_OK ||
	    READ_ONCE(cell->time_ns[CACHE_QOS_OCCUPANCY]) <= cq->atoms[rmid].since_ns ||
	    !cache_qos_counted_here(cq, cell, cq->atoms[rmid].since_ns))
		return CACHE_QOS_UNREAD;
	/* With a threshold of 0 the RMID must have no lines. */
	if (lines && lines >= cq->threshold)
		return CACHE_QOS_DIRTY;
	return CACHE_QOS_CLEAN;
}

static enum cache_qos_clean cache_qos_clean(const struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	enum cache_qos_clean worst = CACHE_QOS_UNREAD;
	u32 d;

	/* Compare without subtracting the times, because the clock may have stepped back. */
	if (!(cq->hw.events & BIT(CACHE_QOS_OCCUPANCY)))
		return now_ns >= cq->atoms[rmid].since_ns + cq->limbo_min_ns ? CACHE_QOS_CLEAN :
									       CACHE_QOS_UNREAD;
	for (d = 0; d < cq->nr_domains; d++) {
		enum cache_qos_clean here;

		if (!cq->domains[d].nr_cpus)
			continue;
		here = cache_qos_clean_here(cq, &cq->domains[d], rmid);
		if (here != CACHE_QOS_CLEAN)
			return here;
		worst = CACHE_QOS_CLEAN;
	}
	return worst;
}

/*
 * While monitors wait for their turns, an RMID leaves limbo after the time of a turn even if its
 * lines stay in the cache: the next values then have an error bound.
 */
static bool cache_qos_is_overdue(const struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	return cq->rotate_ns && cache_qos_turn_waits(cq) &&
	       now_ns >= cq->atoms[rmid].since_ns + cq->rotate_ns && !cache_qos_unread(cq, rmid);
}

u32 cache_qos_limbo_pass(struct cache_qos *cq, u32 first, u32 nr, u64 now_ns)
{
	u32 end = min_t(u32, first + nr, cq->hw.nr_rmid), freed = 0, rmid;

	if (cq->yielded)
		return 0;
	for (rmid = max_t(u32, first, 1); rmid < end; rmid++) {
		enum cache_qos_clean clean;

		if (cq->atoms[rmid].state != CACHE_QOS_LIMBO)
			continue;
		clean = cache_qos_clean(cq, rmid, now_ns);
		if (clean == CACHE_QOS_DIRTY && cq->notify)
			cq->notify(cq, CACHE_QOS_RMID_EVENT_DIRTY, rmid);
		cq->atoms[rmid].soiled = clean == CACHE_QOS_DIRTY &&
					 cache_qos_is_overdue(cq, rmid, now_ns);
		if ((clean != CACHE_QOS_CLEAN && !cq->atoms[rmid].soiled) || !cq->atoms[rmid].quiet)
			continue;
		cache_qos_free(cq, rmid, now_ns);
		freed++;
	}
	return freed;
}

/* Yielding the registers to other software */

void cache_qos_yield(struct cache_qos *cq, bool claimed)
{
	WRITE_ONCE(cq->claimed, claimed);
	WRITE_ONCE(cq->yielded, true);
}

/*
 * Other software may have used any RMID, so any line may belong to that software. Counting
 * continues with the next reading.
 */
void cache_qos_resume(struct cache_qos *cq)
{
	u32 d, rmid;

	cache_qos_distrust(cq);
	for (d = 0; d < cq->nr_domains; d++) {
		struct cache_qos_domain *domain = &cq->domains[d];

		cache_qos_rebase(cq, d);
		raw_spin_lock(&domain->lock);
		for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
			domain->cells[rmid].bound = ~0ULL;
			memset(domain->cells[rmid].status, 0, sizeof(domain->cells[rmid].status));
		}
		raw_spin_unlock(&domain->lock);
	}
	WRITE_ONCE(cq->claimed, false);
	WRITE_ONCE(cq->foreign, false);
	WRITE_ONCE(cq->yielded, false);
}

/* Values */

static u32 cache_qos_cell_status(const struct cache_qos_cell *cell, u32 event, u64 since_ns)
{
	u8 last = READ_ONCE(cell->status[event]);
	u32 status = 0;

	if (last == CACHE_QOS_READ_UNAVAILABLE)
		status |= PMUKIT_CACHE_QOS_S_UNAVAILABLE;
	if (last == CACHE_QOS_READ_ERROR || last == CACHE_QOS_READ_STOLEN)
		status |= PMUKIT_CACHE_QOS_S_ERROR;
	if (READ_ONCE(cell->time_ns[event]) <= since_ns)
		status |= PMUKIT_CACHE_QOS_S_UNREAD;
	return status;
}

/* Add age and status of a cell. A sum without any good cell has no value. */
static void cache_qos_tally_time(struct cache_qos_tally *tally, const struct cache_qos_cell *cell,
				 u32 event, u64 since_ns)
{
	u64 time_ns = READ_ONCE(cell->time_ns[event]);

	tally->status |= cache_qos_cell_status(cell, event, since_ns);
	if (!time_ns)
		return;
	tally->oldest_ns = min_t(u64, tally->oldest_ns, time_ns);
	if (READ_ONCE(cell->status[event]) == CACHE_QOS_READ_OK)
		tally->good++;
}

/* The machine's sum includes everything that was ever counted. */
static void cache_qos_tally_sum(const struct cache_qos *cq, struct cache_qos_tally *tally,
				const struct cache_qos_cell *cell, u32 rmid, u32 event,
				bool machine)
{
	u64 base, now;

	if (event == CACHE_QOS_OCCUPANCY) {
		now = READ_ONCE(cell->occupancy);
		tally->sum.raw += now;
		tally->bound += machine ? 0 : min_t(u64, READ_ONCE(cell->bound), now);
		return;
	}
	base = machine ? 0 : cell->base[event - 1];
	now = READ_ONCE(cell->chunks[event - 1]);
	tally->sum.raw += now - base;
	tally->sum.bytes += cache_qos_bytes(&cq->hw, rmid, now) -
			    cache_qos_bytes(&cq->hw, rmid, base);
}

static void cache_qos_tally_cell(const struct cache_qos *cq, struct cache_qos_tally *tally,
				 const struct cache_qos_domain *domain, u32 rmid, u32 event,
				 bool machine)
{
	const struct cache_qos_cell *cell = &domain->cells[rmid];
	const struct cache_qos_atom *atom = &cq->atoms[rmid];
	u8 state = READ_ONCE(atom->state);
	u64 since_ns = state == CACHE_QOS_USED ? READ_ONCE(atom->since_ns) : 0;

	cache_qos_tally_sum(cq, tally, cell, rmid, event, machine);
	tally->status |= READ_ONCE(cell->marks) & ~CACHE_QOS_MARK_NEW;
	/*
	 * Ignore the age of counts that do not change: those of an offline domain, of a free RMID
	 * and, on AMD, the bandwidth of an RMID in limbo.
	 */
	if (!READ_ONCE(domain->nr_cpus) || (rmid && state == CACHE_QOS_FREE) ||
	    (rmid && state == CACHE_QOS_LIMBO && cq->hw.restarts && event != CACHE_QOS_OCCUPANCY))
		return;
	if (event != CACHE_QOS_REMOTE) {
		cache_qos_tally_time(tally, cell, event, since_ns);
		return;
	}
	cache_qos_tally_time(tally, cell, CACHE_QOS_TOTAL, since_ns);
	cache_qos_tally_time(tally, cell, CACHE_QOS_LOCAL, since_ns);
}

/* Limit the occupancy: RMIDs are read in turn, so a line that changes its RMID may count twice. */
static void cache_qos_tally_cap(const struct cache_qos *cq, const struct cache_qos_domain *domain,
				struct cache_qos_tally *tally, u32 event)
{
	if (event == CACHE_QOS_OCCUPANCY)
		tally->sum.raw = min_t(u64, tally->sum.raw, cache_qos_room(cq, domain));
}

static void cache_qos_machine_sums(const struct cache_qos *cq, struct cache_qos_domain *domain)
{
	struct cache_qos_tally tally[CACHE_QOS_NR_EVENTS] = {};
	u32 event, rmid;

	for (event = 0; event < CACHE_QOS_NR_EVENTS; event++)
		tally[event].oldest_ns = ~0ULL;
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		for (event = 0; event < CACHE_QOS_NR_EVENTS; event++)
			cache_qos_tally_cell(cq, &tally[event], domain, rmid, event, true);
	}
	for (event = 0; event < CACHE_QOS_NR_EVENTS; event++) {
		cache_qos_tally_cap(cq, domain, &tally[event], event);
		WRITE_ONCE(domain->machine[event].sum.raw, tally[event].sum.raw);
		WRITE_ONCE(domain->machine[event].sum.bytes, tally[event].sum.bytes);
		WRITE_ONCE(domain->machine[event].oldest_ns, tally[event].oldest_ns);
		WRITE_ONCE(domain->machine[event].good, tally[event].good);
		WRITE_ONCE(domain->machine[event].status, tally[event].status);
	}
}

/*
 * Does not take the domain's lock, which this CPU may hold already. So the fields may be from
 * different passes.
 */
static void cache_qos_tally_machine(const struct cache_qos_domain *domain, u32 event,
				    struct cache_qos_tally *tally)
{
	const struct cache_qos_tally *machine = &domain->machine[event];

	tally->sum.raw = READ_ONCE(machine->sum.raw);
	tally->sum.bytes = READ_ONCE(machine->sum.bytes);
	if (!READ_ONCE(domain->nr_cpus))
		return;
	tally->oldest_ns = READ_ONCE(machine->oldest_ns);
	tally->good = READ_ONCE(machine->good);
	tally->status = READ_ONCE(machine->status);
}

void cache_qos_check_domain(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];

	raw_spin_lock(&d->lock);
	cache_qos_check_room(cq, d);
	cache_qos_machine_sums(cq, d);
	raw_spin_unlock(&d->lock);
}

static void cache_qos_tally_domain(const struct cache_qos *cq, struct cache_qos_tally *tally,
				   const struct cache_qos_domain *domain, u16 monitor, u32 event)
{
	u32 rmid;

	if (event != CACHE_QOS_OCCUPANCY)
		tally->sum = domain->accumulated[monitor].of[event - 1];
	for_each_set_bit(rmid, cq->monitors[monitor].rmids, cq->hw.nr_rmid)
		cache_qos_tally_cell(cq, tally, domain, rmid, event, false);
	cache_qos_tally_cap(cq, domain, tally, event);
}

static void cache_qos_tally_add(const struct cache_qos *cq, struct cache_qos_tally *sum,
				const struct cache_qos_domain *domain, u16 monitor, u32 event)
{
	struct cache_qos_tally one = { .oldest_ns = ~0ULL };

	if (event == CACHE_QOS_OCCUPANCY && !READ_ONCE(domain->nr_cpus))
		return;
	if (monitor == CACHE_QOS_MACHINE)
		cache_qos_tally_machine(domain, event, &one);
	else
		cache_qos_tally_domain(cq, &one, domain, monitor, event);
	sum->sum.raw += one.sum.raw;
	sum->sum.bytes += one.sum.bytes;
	sum->bound += one.bound;
	sum->oldest_ns = min_t(u64, sum->oldest_ns, one.oldest_ns);
	sum->good += one.good;
	sum->status |= one.status;
}

static void cache_qos_value_fill(const struct cache_qos *cq, u16 monitor, u32 event,
				 const struct cache_qos_tally *tally, u64 now_ns,
				 struct cache_qos_value *value)
{
	*value = (struct cache_qos_value) {
		.raw = tally->sum.raw,
		.bytes = tally->sum.bytes,
		.bound = tally->bound * cq->hw.scale,
		.age_ns = tally->oldest_ns > now_ns ? 0 : now_ns - tally->oldest_ns,
		.status = tally->status | cq->monitors[monitor].status,
		.generation = cq->monitors[monitor].generation,
	};
	if (event == CACHE_QOS_OCCUPANCY)
		value->bytes = value->raw * cq->hw.scale;
	if (event == CACHE_QOS_OCCUPANCY && cq->monitors[monitor].unsettled)
		value->status |= PMUKIT_CACHE_QOS_S_UNSETTLED;
	if (cq->yielded)
		value->status |= PMUKIT_CACHE_QOS_S_YIELDED;
}

int cache_qos_monitor_value(const struct cache_qos *cq, u16 monitor,
			    enum pmukit_cache_qos_event event, u16 domain, u64 now_ns,
			    struct cache_qos_value *value)
{
	struct cache_qos_tally tally = { .oldest_ns = ~0ULL };
	u32 d;

	*value = (struct cache_qos_value) {};
	if (!cache_qos_event_there(&cq->hw, event))
		return -EOPNOTSUPP;
	for (d = 0; d < cq->nr_domains; d++) {
		if (domain == CACHE_QOS_ALL || domain == d)
			cache_qos_tally_add(cq, &tally, &cq->domains[d], monitor, event - 1);
	}
	cache_qos_value_fill(cq, monitor, event - 1, &tally, now_ns, value);
	if (tally.good)
		return 0;
	/* Without an RMID, the bytes of earlier turns are the value. */
	if (cq->monitors[monitor].turns && event != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY &&
	    !(tally.status & PMUKIT_CACHE_QOS_S_ERROR))
		return 0;
	return tally.status & PMUKIT_CACHE_QOS_S_ERROR ? -EIO : -ENODATA;
}
