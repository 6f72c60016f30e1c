// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: domains, what was read in them, when an RMID may be used again, and sums. The
 * interface with its locking is described in cache_qos_core.h.
 */

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/rwonce.h>

#include "cache_qos_core.h"

/* A free RMID is read in one pass of so many. */
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
			 struct cache_qos_cell *cells, struct cache_qos_sums *banked)
{
	struct cache_qos_domain *domain = &cq->domains[cq->nr_domains];

	if (cq->nr_domains == CACHE_QOS_MAX_DOMAINS)
		return -ENOSPC;
	*domain = (struct cache_qos_domain) { .is = *is, .cells = cells, .banked = banked };
	/* Who sees the number without the lock sees the domain as well. */
	smp_store_release(&cq->nr_domains, cq->nr_domains + 1);
	if (cq->nr_domains == 1)
		cq->threshold = cache_qos_default_threshold(cq) / cq->hw.scale;
	return cq->nr_domains - 1;
}

/* What was not read here cannot be trusted to be clean here. */
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
	/* What the cache has kept from before may be anybody's. */
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
		d->cells[rmid].bound = ~0ULL;
	cache_qos_distrust(cq);
}

void cache_qos_rebase(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 rmid;

	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		d->cells[rmid].known = 0;
		d->cells[rmid].gap = 0;
	}
}

void cache_qos_domain_lose(struct cache_qos *cq, u16 domain)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 rmid;

	WRITE_ONCE(d->nr_cpus, d->nr_cpus - 1);
	if (d->nr_cpus)
		return;
	/* What was counted since the last pass is not in any sum, and never will be. */
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
		if (!rmid || cq->atoms[rmid].state != CACHE_QOS_FREE)
			cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_GAP);
	cache_qos_rebase(cq, domain);
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		struct cache_qos_cell *cell = &d->cells[rmid];

		WRITE_ONCE(cell->occupancy, 0);
		memset(cell->time_ns, 0, sizeof(cell->time_ns));
		memset(cell->status, 0, sizeof(cell->status));
	}
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

/* Samples */

/* Lines of a free RMID are part of the machine's sum, and only become fewer. */
static bool cache_qos_has_lines(const struct cache_qos *cq, u32 rmid)
{
	u32 d;

	for (d = 0; d < cq->nr_domains; d++)
		if (READ_ONCE(cq->domains[d].cells[rmid].occupancy))
			return true;
	return false;
}

bool cache_qos_wanted(const struct cache_qos *cq, u32 rmid, u32 pass)
{
	if (!rmid || READ_ONCE(cq->atoms[rmid].state) != CACHE_QOS_FREE ||
	    READ_ONCE(cq->first_free) == rmid || cache_qos_has_lines(cq, rmid))
		return true;
	return (rmid + pass) % CACHE_QOS_FREE_PASSES == 0;
}

/*
 * What it has moved until it came into limbo has been read, or is known to be missing. Once it is
 * free, where its counters stand is taken as it is.
 */
static bool cache_qos_counted_here(const struct cache_qos *cq, const struct cache_qos_cell *cell,
				   u64 since_ns)
{
	u32 event;

	for (event = CACHE_QOS_TOTAL; event < CACHE_QOS_NR_READ; event++) {
		if (!(cq->hw.events & BIT(event)) ||
		    cell->status[event] == CACHE_QOS_READ_UNAVAILABLE)
			continue;
		if (cell->status[event] != CACHE_QOS_READ_OK || cell->time_ns[event] <= since_ns)
			return false;
	}
	return true;
}

u32 cache_qos_events_wanted(const struct cache_qos *cq, u16 domain, u32 rmid)
{
	const struct cache_qos_cell *cell = &cq->domains[domain].cells[rmid];
	const struct cache_qos_atom *atom = &cq->atoms[rmid];
	u32 all = cq->hw.events;

	if (!cq->hw.restarts || !rmid || atom->state == CACHE_QOS_USED)
		return all;
	/* What it has moved until it came into limbo counts, and then it stands still. */
	if (atom->state == CACHE_QOS_LIMBO &&
	    (cache_qos_carried(cq, rmid) || cell->time_ns[CACHE_QOS_TOTAL] <= atom->since_ns ||
	     !cache_qos_counted_here(cq, cell, atom->since_ns)))
		return all;
	return all & BIT(CACHE_QOS_OCCUPANCY);
}

/* No more units are in a domain, whose size need not be a multiple. */
static u64 cache_qos_room(const struct cache_qos *cq, const struct cache_qos_domain *domain)
{
	return domain->is.bytes / cq->hw.scale + 1;
}

static void cache_qos_fold_occupancy(struct cache_qos *cq, struct cache_qos_domain *domain,
				     struct cache_qos_cell *cell, u64 units)
{
	u64 most = cache_qos_room(cq, domain);

	/* More than there is cannot be: no sum is to show it. */
	if (units > most) {
		domain->violations++;
		units = most;
	}
	WRITE_ONCE(cell->occupancy, units);
	cell->bound = min_t(u64, cell->bound, units);
}

/*
 * How much a counter has gone on. After a time without a value it may have begun again at 0 or
 * not: the smaller of the two is the truth or less than it.
 */
static u64 cache_qos_step(const struct cache_qos *cq, const struct cache_qos_cell *cell, u32 event,
			  u64 data)
{
	u64 last = cell->last[event - 1];

	if (cell->gap & BIT(event))
		return data >= last ? data - last : data;
	return cache_qos_delta(data, last, cq->hw.width);
}

static void cache_qos_fold_counter(struct cache_qos *cq, struct cache_qos_cell *cell, u32 rmid,
				   u32 event, u64 data, u64 now_ns)
{
	u64 before_ns = cell->time_ns[event];
	bool late = before_ns && now_ns > before_ns && now_ns - before_ns > cq->hw.wrap_ns;

	/* Nobody runs under a free RMID: it has counted nothing, and where it stands may be old. */
	if (rmid && cq->atoms[rmid].state == CACHE_QOS_FREE)
		goto known;
	if (!(cell->known & BIT(event))) {
		cell->skewed = true;
		if (before_ns || !cache_qos_empty(&cq->atoms[rmid].members))
			cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_GAP);
		goto known;
	}
	if (late) {
		cell->skewed = true;
		cq->stats.uncertain++;
		cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_UNCERTAIN);
		goto known;
	}
	/* It may have been missing when nobody had this RMID, and be less for who has it now. */
	if (cell->gap & BIT(event))
		cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_GAP);
	cell->chunks[event - 1] += cache_qos_step(cq, cell, event, data);
known:
	cell->last[event - 1] = data;
	cell->known |= BIT(event);
	cell->gap &= ~BIT(event);
}

static void cache_qos_fold_unavailable(struct cache_qos *cq, struct cache_qos_cell *cell, u32 rmid,
				       u32 event)
{
	cq->stats.unavailable++;
	if (event == CACHE_QOS_OCCUPANCY)
		return;
	cell->skewed = true;
	cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_GAP);
	if (cq->hw.restarts) {
		cell->last[event - 1] = 0;
		cell->known |= BIT(event);
	} else {
		cell->gap |= BIT(event);
	}
}

/*
 * The two were not read at the same time: their difference may go back a little, this does not.
 * Local traffic that was lost is not remote: after a step of unknown size the difference counts
 * from here.
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
		*remote = apart - cell->skew;
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
			cache_qos_fold_counter(cq, cell, rmid, event, sample->data[event], now_ns);
		cell->time_ns[event] = now_ns;
		break;
	case CACHE_QOS_READ_UNAVAILABLE:
		cache_qos_fold_unavailable(cq, cell, rmid, event);
		break;
	case CACHE_QOS_READ_ERROR:
		cq->stats.errors++;
		break;
	case CACHE_QOS_READ_STOLEN:
		cq->stats.stolen++;
		break;
	default:
		return;
	}
	cell->status[event] = sample->status[event];
}

void cache_qos_fold(struct cache_qos *cq, u16 domain, u32 rmid,
		    const struct cache_qos_sample *sample, u64 now_ns)
{
	struct cache_qos_domain *d = &cq->domains[domain];
	u32 event;

	if (cq->yielded)
		return;
	for (event = 0; event < CACHE_QOS_NR_READ; event++)
		cache_qos_fold_event(cq, d, rmid, event, sample, now_ns);
	cache_qos_fold_remote(cq, &d->cells[rmid], sample);
}

/* Was it read well, or never and for good reason? */
static bool cache_qos_cell_good(const struct cache_qos_cell *cell)
{
	return cell->status[CACHE_QOS_OCCUPANCY] <= CACHE_QOS_READ_OK &&
	       cell->status[CACHE_QOS_TOTAL] <= CACHE_QOS_READ_OK;
}

void cache_qos_check_domain(struct cache_qos *cq, u16 domain)
{
	u64 units = 0, moved = 0, room, before;
	struct cache_qos_domain *d = &cq->domains[domain];
	bool known = cq->hw.events & BIT(CACHE_QOS_TOTAL);
	u32 rmid;

	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		const struct cache_qos_cell *cell = &d->cells[rmid];

		units += cell->occupancy;
		moved += cell->chunks[CACHE_QOS_TOTAL - 1];
		known = known && cache_qos_cell_good(cell);
	}
	before = d->moved;
	d->moved = moved;
	/* The correction of bandwidth is less than a half. */
	room = cache_qos_room(cq, d) + (moved - before) * (cq->hw.factor ? 2 : 1);
	if (known && units > room)
		d->violations++;
}

/* Limbo */

/* Yes, no, or not read since it came into limbo */
enum cache_qos_clean {
	CACHE_QOS_CLEAN,
	CACHE_QOS_DIRTY,
	CACHE_QOS_UNREAD,
};

static enum cache_qos_clean cache_qos_clean_here(const struct cache_qos *cq,
						 const struct cache_qos_domain *domain, u32 rmid)
{
	const struct cache_qos_cell *cell = &domain->cells[rmid];

	if (cell->status[CACHE_QOS_OCCUPANCY] != CACHE_QOS_READ_OK ||
	    cell->time_ns[CACHE_QOS_OCCUPANCY] <= cq->atoms[rmid].since_ns ||
	    !cache_qos_counted_here(cq, cell, cq->atoms[rmid].since_ns))
		return CACHE_QOS_UNREAD;
	/* A threshold of 0 asks for none at all. */
	if (cell->occupancy && cell->occupancy >= cq->threshold)
		return CACHE_QOS_DIRTY;
	return CACHE_QOS_CLEAN;
}

static enum cache_qos_clean cache_qos_clean(const struct cache_qos *cq, u32 rmid, u64 now_ns)
{
	enum cache_qos_clean worst = CACHE_QOS_UNREAD;
	u32 d;

	/* A sum, no difference: the clock may have stepped back since. */
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

u32 cache_qos_limbo_pass(struct cache_qos *cq, u64 now_ns)
{
	u32 freed = 0, rmid;

	if (cq->yielded)
		return 0;
	for (rmid = 1; rmid < cq->hw.nr_rmid; rmid++) {
		enum cache_qos_clean clean;

		if (cq->atoms[rmid].state != CACHE_QOS_LIMBO)
			continue;
		clean = cache_qos_clean(cq, rmid, now_ns);
		if (clean == CACHE_QOS_DIRTY && cq->notify)
			cq->notify(cq, CACHE_QOS_NEWS_DIRTY, rmid);
		if (clean != CACHE_QOS_CLEAN || cache_qos_carried(cq, rmid))
			continue;
		cache_qos_free(cq, rmid, now_ns);
		freed++;
	}
	return freed;
}

/* Somebody else comes and goes */

void cache_qos_yield(struct cache_qos *cq, bool claimed)
{
	WRITE_ONCE(cq->claimed, claimed);
	WRITE_ONCE(cq->yielded, true);
}

/* Whatever the other did with our RMIDs: lines may be his, counts are not ours. */
void cache_qos_resume(struct cache_qos *cq)
{
	u32 d, rmid;

	cache_qos_distrust(cq);
	for (d = 0; d < cq->nr_domains; d++) {
		struct cache_qos_domain *domain = &cq->domains[d];

		cache_qos_rebase(cq, d);
		for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
			domain->cells[rmid].bound = ~0ULL;
			memset(domain->cells[rmid].status, 0, sizeof(domain->cells[rmid].status));
		}
	}
	WRITE_ONCE(cq->claimed, false);
	WRITE_ONCE(cq->foreign, false);
	WRITE_ONCE(cq->yielded, false);
}

/* Values */

/**
 * struct cache_qos_tally - a sum in the making
 * @sum: of all
 * @bound: the same, in units
 * @oldest_ns: when the oldest was read
 * @good: how many have ever been read
 * @status: PMUKIT_CACHE_QOS_S_*
 */
struct cache_qos_tally {
	struct cache_qos_sum sum;
	u64 bound;
	u64 oldest_ns;
	u32 good;
	u32 status;
};

static u32 cache_qos_cell_status(const struct cache_qos_cell *cell, u32 event, u64 since_ns)
{
	u32 status = 0;

	if (cell->status[event] == CACHE_QOS_READ_UNAVAILABLE)
		status |= PMUKIT_CACHE_QOS_S_UNAVAILABLE;
	if (cell->status[event] == CACHE_QOS_READ_ERROR ||
	    cell->status[event] == CACHE_QOS_READ_STOLEN)
		status |= PMUKIT_CACHE_QOS_S_ERROR;
	if (cell->time_ns[event] <= since_ns)
		status |= PMUKIT_CACHE_QOS_S_UNREAD;
	return status;
}

/* Does the newest read have no value, in no domain and ever? Then there is none to show. */
static void cache_qos_tally_time(struct cache_qos_tally *tally, const struct cache_qos_cell *cell,
				 u32 event, u64 since_ns)
{
	tally->status |= cache_qos_cell_status(cell, event, since_ns);
	if (!cell->time_ns[event])
		return;
	tally->oldest_ns = min_t(u64, tally->oldest_ns, cell->time_ns[event]);
	if (cell->status[event] == CACHE_QOS_READ_OK)
		tally->good++;
}

/* All that was ever counted is the machine's. */
static void cache_qos_tally_sum(const struct cache_qos *cq, struct cache_qos_tally *tally,
				const struct cache_qos_cell *cell, u32 rmid, u32 event,
				bool machine)
{
	u64 base;

	if (event == CACHE_QOS_OCCUPANCY) {
		tally->sum.raw += cell->occupancy;
		tally->bound += machine ? 0 : min_t(u64, cell->bound, cell->occupancy);
		return;
	}
	base = machine ? 0 : cell->base[event - 1];
	tally->sum.raw += cell->chunks[event - 1] - base;
	tally->sum.bytes += cache_qos_bytes(&cq->hw, rmid, cell->chunks[event - 1]) -
			    cache_qos_bytes(&cq->hw, rmid, base);
}

static void cache_qos_tally_cell(const struct cache_qos *cq, struct cache_qos_tally *tally,
				 const struct cache_qos_domain *domain, u32 rmid, u32 event,
				 bool machine)
{
	const struct cache_qos_cell *cell = &domain->cells[rmid];
	const struct cache_qos_atom *atom = &cq->atoms[rmid];
	u64 since_ns = atom->state == CACHE_QOS_USED ? atom->since_ns : 0;

	cache_qos_tally_sum(cq, tally, cell, rmid, event, machine);
	/* Free ones stand still, and are read seldom; on some hardware those in limbo as well. */
	if (!domain->nr_cpus || (rmid && atom->state == CACHE_QOS_FREE) ||
	    (rmid && atom->state == CACHE_QOS_LIMBO && cq->hw.restarts &&
	     event != CACHE_QOS_OCCUPANCY))
		return;
	if (event != CACHE_QOS_REMOTE) {
		cache_qos_tally_time(tally, cell, event, since_ns);
		return;
	}
	cache_qos_tally_time(tally, cell, CACHE_QOS_TOTAL, since_ns);
	cache_qos_tally_time(tally, cell, CACHE_QOS_LOCAL, since_ns);
}

/* RMIDs are read one after the other: lines that changed hands meanwhile are in the sum twice. */
static void cache_qos_tally_domain(const struct cache_qos *cq, struct cache_qos_tally *tally,
				   const struct cache_qos_domain *domain, u16 monitor, u32 event)
{
	u64 most = tally->sum.raw + cache_qos_room(cq, domain);
	bool machine = monitor == CACHE_QOS_MACHINE;
	u32 rmid;

	if (event == CACHE_QOS_OCCUPANCY && !domain->nr_cpus)
		return;
	if (event != CACHE_QOS_OCCUPANCY && !machine) {
		tally->sum.raw += domain->banked[monitor].of[event - 1].raw;
		tally->sum.bytes += domain->banked[monitor].of[event - 1].bytes;
	}
	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		if (machine || cache_qos_has(&cq->atoms[rmid].members, monitor))
			cache_qos_tally_cell(cq, tally, domain, rmid, event, machine);
	}
	if (event == CACHE_QOS_OCCUPANCY)
		tally->sum.raw = min_t(u64, tally->sum.raw, most);
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
			cache_qos_tally_domain(cq, &tally, &cq->domains[d], monitor, event - 1);
	}
	cache_qos_value_fill(cq, monitor, event - 1, &tally, now_ns, value);
	if (tally.good)
		return 0;
	return tally.status & PMUKIT_CACHE_QOS_S_ERROR ? -EIO : -ENODATA;
}
