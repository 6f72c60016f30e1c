// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_sim: caches and the programs that use them. A line is tagged with the RMID of the CPU
 * that fills it. It keeps the tag until it is evicted, even if other tasks use it.
 *
 *      set 0    | line | line | line | ...   ways
 *      set 1    | line | line | line |       address % sets chooses the set
 *       ...
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "cache_qos_sim_core.h"

#define CACHE_QOS_SIM_NS_PER_S	1000000000ULL

/* xorshift64 (Marsaglia): the same seed gives the same numbers */
static u64 cache_qos_sim_random(struct cache_qos_sim *sim)
{
	sim->random ^= sim->random << 13;
	sim->random ^= sim->random >> 7;
	sim->random ^= sim->random << 17;
	return sim->random;
}

/*
 * RMID that the L3 tags a line with. If an L3 is divided among nodes, each node has a separate
 * range of RMIDs, and the ranges are consecutive. If the nodes share RMIDs, the RMID of a CPU is an
 * offset in the range of the CPU's node. If RMIDs are partitioned, the RMID must be in that range.
 * What hardware does with other RMIDs is unknown; the model uses the first RMID of the node.
 */
static u32 cache_qos_sim_tag(const struct cache_qos_sim *sim, u32 cpu)
{
	const struct cache_qos_sim_cpu *c = &sim->cpus[cpu];
	u32 rmid = FIELD_GET(CACHE_QOS_SIM_PQR_LOW, c->pqr);
	u32 nodes = sim->nodes;
	u32 per_node, first;

	if (nodes <= 1)
		return rmid;
	per_node = (sim->profile->max_rmid + 1) / nodes;
	first = c->node * per_node;
	if (!(sim->domains[c->domain].snc_config & CACHE_QOS_SIM_SNC_PARTITION))
		return first + rmid % per_node;
	return rmid - first < per_node ? rmid : first;
}

/* Lines */

static void cache_qos_sim_empty(struct cache_qos_sim *sim, struct cache_qos_sim_domain *domain,
				struct cache_qos_sim_line *line)
{
	domain->rmids[line->rmid].lines--;
	sim->owners[line->owner].lines--;
	domain->valid--;
	line->valid = false;
	line->dirty = false;
	line->pinned = false;
}

/*
 * The line to replace: an empty line; if there is none, the least recently used one (sim->lru) or a
 * random one. NULL: all lines are pinned.
 */
static struct cache_qos_sim_line *cache_qos_sim_victim(struct cache_qos_sim *sim,
						       struct cache_qos_sim_line *set, u32 ways)
{
	struct cache_qos_sim_line *line, *victim = NULL;
	u64 first = sim->lru ? 0 : cache_qos_sim_random(sim) % ways;
	u32 i;

	for (i = 0; i < ways; i++) {
		line = &set[(first + i) % ways];
		if (!line->valid)
			return line;
		if (line->pinned || (victim && (!sim->lru || line->stamp >= victim->stamp)))
			continue;
		victim = line;
	}
	return victim;
}

static void cache_qos_sim_transfer(struct cache_qos_sim *sim, struct cache_qos_sim_domain *domain,
				   u32 rmid, u32 owner, bool local)
{
	domain->rmids[rmid].traffic[0].truth++;
	domain->rmids[rmid].traffic[1].truth += local;
	sim->owners[owner].units[0]++;
	sim->owners[owner].units[1] += local;
}

/* A write-back counts for the task that filled the line: hardware knows only the line's tag. */
static void cache_qos_sim_evict(struct cache_qos_sim *sim, struct cache_qos_sim_domain *domain,
				struct cache_qos_sim_line *line)
{
	if (line->dirty && sim->write_backs)
		cache_qos_sim_transfer(sim, domain, line->rmid, line->owner,
				       &sim->domains[line->home] == domain);
	cache_qos_sim_empty(sim, domain, line);
}

static void cache_qos_sim_fill(struct cache_qos_sim *sim, struct cache_qos_sim_domain *domain,
			       struct cache_qos_sim_line *line, u32 tag,
			       const struct cache_qos_sim_access *access)
{
	line->address = access->address;
	line->owner = access->owner;
	line->rmid = tag;
	line->home = access->home;
	line->valid = true;
	line->dirty = access->write;
	line->stamp = domain->clock;
	line->filled = domain->clock;
	domain->rmids[tag].lines++;
	sim->owners[access->owner].lines++;
	domain->valid++;
}

/* Return: true if the line was in the cache. */
bool cache_qos_sim_touch(struct cache_qos_sim *sim, u32 cpu,
			 const struct cache_qos_sim_access *access)
{
	struct cache_qos_sim_domain *domain = &sim->domains[sim->cpus[cpu].domain];
	u64 set = access->address % (domain->nr_lines / domain->ways);
	struct cache_qos_sim_line *lines = &domain->lines[set * domain->ways];
	u32 tag = cache_qos_sim_tag(sim, cpu);
	struct cache_qos_sim_line *victim;
	u32 i;

	domain->clock++;
	for (i = 0; i < domain->ways; i++) {
		if (lines[i].valid && lines[i].address == access->address) {
			lines[i].stamp = domain->clock;
			lines[i].dirty |= access->write;
			return true;
		}
	}
	cache_qos_sim_transfer(sim, domain, tag, access->owner,
			       &sim->domains[access->home] == domain);
	victim = cache_qos_sim_victim(sim, lines, domain->ways);
	if (!victim)
		return false;
	if (victim->valid)
		cache_qos_sim_evict(sim, domain, victim);
	cache_qos_sim_fill(sim, domain, victim, tag, access);
	return false;
}

/* Empties the whole cache, as WBINVD would; write-backs are not counted as traffic. */
void cache_qos_sim_flush(struct cache_qos_sim *sim, u32 domain)
{
	struct cache_qos_sim_domain *d = &sim->domains[domain];
	u32 i;

	for (i = 0; i < d->nr_lines; i++)
		if (d->lines[i].valid)
			cache_qos_sim_empty(sim, d, &d->lines[i]);
}

/* Evict lines at random, @permille of 1000, as a deep sleep state does. Return: lines evicted. */
u32 cache_qos_sim_shrink(struct cache_qos_sim *sim, u32 domain, u32 permille)
{
	struct cache_qos_sim_domain *d = &sim->domains[domain];
	u32 i, gone = 0;

	for (i = 0; i < d->nr_lines; i++) {
		if (!d->lines[i].valid || d->lines[i].pinned ||
		    cache_qos_sim_random(sim) % 1000 >= permille)
			continue;
		cache_qos_sim_empty(sim, d, &d->lines[i]);
		gone++;
	}
	return gone;
}

/* Pin lines of an RMID, which are then never evicted. Return: number of lines pinned. */
u32 cache_qos_sim_pin(struct cache_qos_sim *sim, u32 domain, u32 rmid, u32 lines)
{
	struct cache_qos_sim_domain *d = &sim->domains[domain];
	u32 i, pinned = 0;

	for (i = 0; i < d->nr_lines && pinned < lines; i++) {
		if (!d->lines[i].valid || d->lines[i].rmid != rmid)
			continue;
		d->lines[i].pinned = true;
		pinned++;
	}
	return pinned;
}

/* Programs */

/* Make the accesses of a program in @ns ns, at most one second. Return: number of accesses. */
u64 cache_qos_sim_run(struct cache_qos_sim *sim, u32 cpu, struct cache_qos_sim_stream *stream,
		      u64 ns)
{
	struct cache_qos_sim_access access = {
		.owner = stream->owner,
		.home = stream->home,
	};
	u64 cost = cache_qos_sim_unit(sim) * CACHE_QOS_SIM_NS_PER_S;
	u64 i, accesses;

	stream->owed += min_t(u64, ns, CACHE_QOS_SIM_NS_PER_S) *
			min_t(u64, stream->bytes_per_s, CACHE_QOS_SIM_MAX_BYTES_PER_S);
	accesses = stream->owed / cost;
	stream->owed %= cost;
	for (i = 0; i < accesses; i++) {
		if (stream->shuffled)
			stream->at = cache_qos_sim_random(sim);
		access.address = stream->base + stream->at++ % stream->lines;
		cache_qos_sim_touch(sim, cpu, &access);
	}
	return accesses;
}

/* Parse digits and at most one of K, M, G ("12M"). Return: the rest of the text; NULL: invalid. */
static const char *cache_qos_sim_parse_bytes(const char *text, u64 *bytes)
{
	static const char suffixes[] = "KMG";
	u64 number = 0;
	u32 i;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (*text - '0');
		if (number > CACHE_QOS_SIM_MAX_BYTES_PER_S)
			return NULL;
	}
	for (i = 0; suffixes[i]; i++) {
		if (*text == suffixes[i]) {
			text++;
			number = min_t(u64, number, CACHE_QOS_SIM_MAX_BYTES_PER_S) << 10 * (i + 1);
			break;
		}
	}
	*bytes = number;
	return text;
}

/*
 * Set the stream of a program from its name: "cq-" and "ws" (private memory) or "sh" (memory shared
 * by all such programs), size, "-", bytes per second: cq-ws8M-10G. K, M and G are powers of 1024.
 */
bool cache_qos_sim_stream_of_name(const char *name, u32 unit, struct cache_qos_sim_stream *stream)
{
	u64 bytes, rate;

	if (name[0] != 'c' || name[1] != 'q' || name[2] != '-' ||
	    !((name[3] == 'w' && name[4] == 's') || (name[3] == 's' && name[4] == 'h')))
		return false;
	stream->shared = name[3] == 's';
	name = cache_qos_sim_parse_bytes(name + 5, &bytes);
	if (!name || *name != '-')
		return false;
	name = cache_qos_sim_parse_bytes(name + 1, &rate);
	if (!name || *name || !rate || rate > CACHE_QOS_SIM_MAX_BYTES_PER_S || bytes < unit)
		return false;
	stream->lines = bytes / unit;
	stream->bytes_per_s = rate;
	return true;
}
