// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: monitors, groups, tasks, and the RMID a CPU has to carry. cache_qos_core.h describes
 * the interface and its locking.
 *
 * Context switches read without the lock: the set of a node, of a task and of a CPU, the node of a
 * task, and the generation. A slot of a CPU (a combination of sets and its RMID) is valid only in
 * the generation in which it was resolved. The generation increases after every change that could
 * invalidate a slot, including the reuse of a set's number. Sets that became equal or empty are
 * left as they are: an atom is found by its members, not by the numbers of sets.
 */

#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/rwonce.h>

#include "cache_qos_core.h"

/* Monitors */

/*
 * A number is reused as late as possible: a recording may have readings of the monitor that had the
 * number before.
 */
static u32 cache_qos_next_monitor(const struct cache_qos *cq)
{
	u32 m = cq->last_monitor, left;

	for (left = CACHE_QOS_MAX_MONITORS - 1; left; left--) {
		m = m % (CACHE_QOS_MAX_MONITORS - 1) + 1;
		if (!cq->monitors[m].used)
			return m;
	}
	return CACHE_QOS_NONE;
}

int cache_qos_monitor_make(struct cache_qos *cq, enum pmukit_cache_qos_kind kind)
{
	u32 m, d;

	m = cache_qos_next_monitor(cq);
	if (m == CACHE_QOS_NONE)
		return -ENOSPC;
	cq->last_monitor = m;
	/* The monitor has no RMIDs: cache_qos_monitor_end() removed them. */
	cq->monitors[m].kind = kind;
	cq->monitors[m].status = 0;
	cq->monitors[m].generation = 0;
	cq->monitors[m].missed = 0;
	cq->monitors[m].life++;
	WRITE_ONCE(cq->monitors[m].used, true);
	for (d = 0; d < cq->nr_domains; d++)
		memset(&cq->domains[d].accumulated[m], 0, sizeof(cq->domains[d].accumulated[m]));
	return m;
}

void cache_qos_monitor_limit(struct cache_qos *cq, u16 monitor)
{
	cache_qos_add(&cq->limited, monitor);
}

void cache_qos_monitor_end(struct cache_qos *cq, u16 monitor, u64 now_ns)
{
	u32 rmid, i;

	WRITE_ONCE(cq->monitors[monitor].used, false);
	cache_qos_drop(&cq->limited, monitor);
	if (cq->monitors[monitor].turns)
		cache_qos_turns_leave(cq, monitor);
	for (i = 1; i <= cq->top_set; i++)
		cache_qos_drop(&cq->sets[i].members, monitor);
	for_each_set_bit(rmid, cq->monitors[monitor].rmids, cq->hw.nr_rmid)
		cache_qos_atom_leave(cq, rmid, monitor, now_ns);
	bitmap_zero(cq->monitors[monitor].rmids, CACHE_QOS_MAX_RMIDS);
	cache_qos_changed(cq);
}

static void cache_qos_union(const struct cache_qos *cq, const struct cache_qos_task *task,
			    u16 cgroup, u16 cpu_set, struct cache_qos_members *members)
{
	*members = cq->sets[cpu_set].members;
	if (cgroup != CACHE_QOS_NONE)
		cache_qos_unite(members, &cq->sets[cq->nodes[cgroup].set].members);
	if (!task)
		return;
	cache_qos_unite(members, &cq->sets[cq->nodes[task->node].set].members);
	cache_qos_unite(members, &cq->sets[task->set].members);
}

/* Return: true if tasks and CPUs cannot get a set. One free set is reserved for each node. */
static bool cache_qos_sets_full(const struct cache_qos *cq)
{
	return cq->free_sets <= CACHE_QOS_MAX_NODES;
}

int cache_qos_task_watch(struct cache_qos *cq, struct cache_qos_task *task, u16 monitor,
			 bool must, u64 now_ns)
{
	struct cache_qos_members own = cq->sets[task->set].members, all;
	u16 old = task->set;
	int ret;

	if (cache_qos_has(&own, monitor))
		return 0;
	if (cache_qos_sets_full(cq))
		return -ENOSPC;
	cache_qos_union(cq, task, CACHE_QOS_NONE, 0, &all);
	cache_qos_add(&all, monitor);
	ret = must ? cache_qos_reserve(cq, monitor, &all, now_ns) : 0;
	if (ret)
		return ret;

	cache_qos_add(&own, monitor);
	WRITE_ONCE(task->set, cache_qos_set_get(cq, &own));
	cache_qos_set_put(cq, old);
	return 0;
}

int cache_qos_cpu_watch(struct cache_qos *cq, unsigned int cpu, u16 monitor, u64 now_ns)
{
	struct cache_qos_cpu *c = cq->cpus[cpu];
	struct cache_qos_members all = cq->sets[c->set].members;
	u16 old = c->set;
	int ret;

	if (cache_qos_has(&all, monitor))
		return 0;
	if (cache_qos_sets_full(cq))
		return -ENOSPC;
	cache_qos_add(&all, monitor);
	ret = cache_qos_reserve(cq, monitor, &all, now_ns);
	if (ret)
		return ret;
	WRITE_ONCE(c->set, cache_qos_set_get(cq, &all));
	cache_qos_set_put(cq, old);
	return 0;
}

void cache_qos_cpu_unwatch(struct cache_qos *cq, unsigned int cpu, u16 monitor)
{
	struct cache_qos_cpu *c = cq->cpus[cpu];
	struct cache_qos_members all = cq->sets[c->set].members;
	u16 set;
	u32 m;

	if (!cache_qos_has(&all, monitor))
		return;
	cache_qos_drop(&all, monitor);
	/* Put the old set first: unless another CPU or task has it, a set is free. */
	cache_qos_set_put(cq, c->set);
	set = cache_qos_set_get(cq, &all);
	/* No set is free: better a count that is too low and marked than one that is too high. */
	if (set == CACHE_QOS_NONE) {
		set = 0;
		cache_qos_for_each_member(m, &all)
			cq->monitors[m].status |= PMUKIT_CACHE_QOS_S_PARTIAL;
	}
	WRITE_ONCE(c->set, set);
}

/* Groups and cgroups */

static void cache_qos_chain(const struct cache_qos *cq, u16 node, struct cache_qos_members *members)
{
	memset(members, 0, sizeof(*members));
	for (; node != CACHE_QOS_NONE && node != CACHE_QOS_ROOT; node = cq->nodes[node].parent) {
		if (cq->nodes[node].monitor != CACHE_QOS_NONE)
			cache_qos_add(members, cq->nodes[node].monitor);
	}
}

static bool cache_qos_below(const struct cache_qos *cq, u16 node, u16 above)
{
	for (; node != CACHE_QOS_NONE; node = cq->nodes[node].parent) {
		if (node == above)
			return true;
	}
	return false;
}

static u32 cache_qos_depth(const struct cache_qos *cq, u16 node)
{
	u32 depth = 0;

	for (; node != CACHE_QOS_NONE && node != CACHE_QOS_ROOT; node = cq->nodes[node].parent)
		depth++;
	return depth;
}

static void cache_qos_node_set(struct cache_qos *cq, u16 node)
{
	u16 monitor = cq->nodes[node].monitor;
	struct cache_qos_members members;

	cache_qos_chain(cq, node, &members);
	if (monitor != CACHE_QOS_NONE && cq->monitors[monitor].turns)
		cq->monitors[monitor].home = members;
	/* Put the old set first, so that a set is always free (cache_qos_sets_full()). */
	cache_qos_set_put(cq, cq->nodes[node].set);
	WRITE_ONCE(cq->nodes[node].set, cache_qos_set_get(cq, &members));
}

/* Update the sets of a node and of all nodes below it. */
static void cache_qos_subtree(struct cache_qos *cq, u16 above)
{
	u16 node;

	for (node = 1; node < CACHE_QOS_MAX_NODES; node++) {
		if (cq->nodes[node].used && cache_qos_below(cq, node, above))
			cache_qos_node_set(cq, node);
	}
	cache_qos_changed(cq);
}

int cache_qos_node_make(struct cache_qos *cq, u16 parent)
{
	u16 node;

	if (cache_qos_depth(cq, parent) >= CACHE_QOS_MAX_DEPTH)
		return -ENAMETOOLONG;
	for (node = 1; node < CACHE_QOS_MAX_NODES; node++) {
		if (!cq->nodes[node].used)
			break;
	}
	if (node == CACHE_QOS_MAX_NODES)
		return -ENOSPC;
	cq->nodes[node] = (struct cache_qos_node) {
		.used = true, .parent = parent, .monitor = CACHE_QOS_NONE,
	};
	if (parent != CACHE_QOS_NONE)
		cq->nodes[parent].children++;
	cache_qos_subtree(cq, node);
	return node;
}

int cache_qos_node_remove(struct cache_qos *cq, u16 node, u64 now_ns)
{
	struct cache_qos_node *n = &cq->nodes[node];

	if (n->children)
		return -ENOTEMPTY;
	if (n->tasks)
		return -EBUSY;
	if (n->monitor != CACHE_QOS_NONE)
		cache_qos_node_monitor(cq, node, false, PMUKIT_CACHE_QOS_KIND_GROUP, now_ns);
	cache_qos_set_put(cq, n->set);
	if (n->parent != CACHE_QOS_NONE)
		cq->nodes[n->parent].children--;
	*n = (struct cache_qos_node) {};
	cache_qos_changed(cq);
	return 0;
}

static int cache_qos_node_enable(struct cache_qos *cq, u16 node, enum pmukit_cache_qos_kind kind,
				 bool limited, bool turns, u64 now_ns)
{
	struct cache_qos_members members;
	int monitor, ret;

	monitor = cache_qos_monitor_make(cq, kind);
	if (monitor < 0)
		return monitor;
	if (limited)
		cache_qos_monitor_limit(cq, monitor);
	if (turns)
		cache_qos_turns_join(cq, monitor);
	cq->nodes[node].monitor = monitor;
	cache_qos_chain(cq, node, &members);
	ret = cache_qos_reserve(cq, monitor, &members, now_ns);
	if (ret) {
		cq->nodes[node].monitor = CACHE_QOS_NONE;
		cache_qos_monitor_end(cq, monitor, now_ns);
		return ret;
	}
	cache_qos_subtree(cq, node);
	return 0;
}

int cache_qos_node_monitor(struct cache_qos *cq, u16 node, bool on,
			   enum pmukit_cache_qos_kind kind, u64 now_ns)
{
	u16 monitor = cq->nodes[node].monitor;

	if (node == CACHE_QOS_ROOT)
		return -EINVAL;
	if (on && monitor != CACHE_QOS_NONE)
		return 0;
	if (on)
		return cache_qos_node_enable(cq, node, kind, false, false, now_ns);

	if (monitor == CACHE_QOS_NONE)
		return 0;
	cq->nodes[node].monitor = CACHE_QOS_NONE;
	cache_qos_subtree(cq, node);
	cache_qos_monitor_end(cq, monitor, now_ns);
	return 0;
}

int cache_qos_node_watch(struct cache_qos *cq, u16 node, bool limited, bool turns, u64 now_ns)
{
	return cache_qos_node_enable(cq, node, PMUKIT_CACHE_QOS_KIND_CGROUP, limited, turns,
				     now_ns);
}

/* Number of levels below a node */
static u32 cache_qos_height(const struct cache_qos *cq, u16 above)
{
	u32 base = cache_qos_depth(cq, above), most = base;
	u16 node;

	for (node = 1; node < CACHE_QOS_MAX_NODES; node++) {
		u32 depth;

		if (!cq->nodes[node].used || !cache_qos_below(cq, node, above))
			continue;
		depth = cache_qos_depth(cq, node);
		if (depth > most)
			most = depth;
	}
	return most - base;
}

int cache_qos_node_reparent(struct cache_qos *cq, u16 node, u16 parent)
{
	struct cache_qos_node *n = &cq->nodes[node];

	if (cache_qos_depth(cq, parent) + 1 + cache_qos_height(cq, node) > CACHE_QOS_MAX_DEPTH)
		return -ENAMETOOLONG;
	if (n->parent != CACHE_QOS_NONE)
		cq->nodes[n->parent].children--;
	if (parent != CACHE_QOS_NONE)
		cq->nodes[parent].children++;
	n->parent = parent;
	cache_qos_subtree(cq, node);
	return 0;
}

u16 cache_qos_node_monitored(const struct cache_qos *cq, u16 node)
{
	while (node != CACHE_QOS_NONE && cq->nodes[node].monitor == CACHE_QOS_NONE)
		node = cq->nodes[node].parent;
	return node;
}

/* Tasks */

void cache_qos_task_init(struct cache_qos *cq, struct cache_qos_task *task)
{
	task->node = CACHE_QOS_ROOT;
	task->set = 0;
	cq->nodes[CACHE_QOS_ROOT].tasks++;
}

void cache_qos_task_move(struct cache_qos *cq, struct cache_qos_task *task, u16 node)
{
	cq->nodes[task->node].tasks--;
	cq->nodes[node].tasks++;
	WRITE_ONCE(task->node, node);
}

void cache_qos_task_exit(struct cache_qos *cq, struct cache_qos_task *task)
{
	cq->nodes[task->node].tasks--;
	cache_qos_set_put(cq, task->set);
}

bool cache_qos_task_is_unmonitored(const struct cache_qos *cq, const struct cache_qos_task *task)
{
	return task->node == CACHE_QOS_ROOT && cache_qos_empty(&cq->sets[task->set].members);
}

/* Context switches */

static u64 cache_qos_key(const struct cache_qos *cq, const struct cache_qos_cpu *cpu,
			 const struct cache_qos_task *task, u16 cgroup)
{
	u64 key = READ_ONCE(cpu->set);

	key <<= 16;
	if (cgroup != CACHE_QOS_NONE)
		key |= READ_ONCE(cq->nodes[cgroup].set);
	key <<= 32;
	if (!task)
		return key;
	return key | (u64)READ_ONCE(task->set) << 16 |
	       READ_ONCE(cq->nodes[READ_ONCE(task->node)].set);
}

/* Top bits of the product with 2^64 divided by the golden ratio (Fibonacci hashing) */
static u32 cache_qos_place(u64 key)
{
	return (key * 0x9e3779b97f4a7c15ULL) >> 58;
}

u32 cache_qos_resolve(const struct cache_qos *cq, const struct cache_qos_cpu *cpu,
		      const struct cache_qos_task *task, u16 cgroup)
{
	/* generation is read first: the sets that are read afterwards are not older. */
	u32 generation = smp_load_acquire(&cq->generation);
	u64 key = cache_qos_key(cq, cpu, task, cgroup);
	const struct cache_qos_slot *slot = &cpu->slots[cache_qos_place(key)];

	if (!key)
		return 0;
	if (slot->key == key && slot->generation == generation)
		return slot->rmid;
	return CACHE_QOS_MISS;
}

u32 cache_qos_resolve_slow(struct cache_qos *cq, struct cache_qos_cpu *cpu,
			   const struct cache_qos_task *task, u16 cgroup, u64 now_ns)
{
	u64 key = cache_qos_key(cq, cpu, task, cgroup);
	struct cache_qos_members members;
	int rmid = 0;

	cache_qos_union(cq, task, cgroup, cpu->set, &members);
	cache_qos_awake(cq, &members);
	if (!cache_qos_empty(&members)) {
		rmid = cache_qos_atom_get(cq, &members, now_ns);
		if (rmid < 0)
			rmid = cache_qos_atom_coarse(cq, &members);
	}
	cpu->slots[cache_qos_place(key)] = (struct cache_qos_slot) {
		.key = key, .generation = cq->generation, .rmid = rmid,
	};
	return rmid;
}

/* PQR_ASSOC */

static bool cache_qos_may_write(const struct cache_qos *cq, const struct cache_qos_cpu *cpu)
{
	return cpu->ready && !cache_qos_registers_taken(cq);
}

static bool cache_qos_carried_lately(const struct cache_qos_cpu *cpu, u32 rmid)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_RECENT; i++) {
		if (cpu->recent[i] == rmid)
			return true;
	}
	return false;
}

static bool cache_qos_pqr_write(struct cache_qos *cq, struct cache_qos_cpu *cpu, u64 value)
{
	if (cache_qos_wrmsr(cq->backend, CACHE_QOS_PQR_ASSOC, value)) {
		WRITE_ONCE(cpu->faults, cpu->faults + 1);
		return false;
	}
	cpu->pqr = value;
	WRITE_ONCE(cpu->writes, cpu->writes + 1);
	return true;
}

/* @recent is ordered newest first and has no duplicates. */
static void cache_qos_remember(struct cache_qos_cpu *cpu, u32 rmid)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_RECENT - 1 && cpu->recent[i] != rmid; i++)
		;
	for (; i; i--)
		cpu->recent[i] = cpu->recent[i - 1];
	cpu->recent[0] = rmid;
}

/* Handle an RMID that other software put into PQR_ASSOC. Return: true if it may be overwritten. */
static bool cache_qos_hijacked(struct cache_qos *cq, struct cache_qos_cpu *cpu, u32 found)
{
	WRITE_ONCE(cpu->hijacks, cpu->hijacks + 1);
	if (cpu->rmid < cq->hw.nr_rmid)
		WRITE_ONCE(cq->atoms[cpu->rmid].suspect, true);
	if (!found || cq->force || cache_qos_carried_lately(cpu, found))
		return true;
	WRITE_ONCE(cpu->foreign, found);
	WRITE_ONCE(cq->foreign, true);
	return false;
}

/* Read PQR_ASSOC. Return: true if it may be written. */
static bool cache_qos_pqr_read(struct cache_qos *cq, struct cache_qos_cpu *cpu, u64 *found)
{
	u32 rmid;

	if (cache_qos_rdmsr(cq->backend, CACHE_QOS_PQR_ASSOC, found)) {
		WRITE_ONCE(cpu->faults, cpu->faults + 1);
		return false;
	}
	rmid = FIELD_GET(CACHE_QOS_PQR_RMID, *found);
	if (rmid != cpu->rmid)
		return cache_qos_hijacked(cq, cpu, rmid);
	cpu->pqr = *found;
	return true;
}

void cache_qos_carry(struct cache_qos *cq, struct cache_qos_cpu *cpu, u32 rmid)
{
	u64 found;

	if (rmid == cpu->rmid || !cache_qos_may_write(cq, cpu) ||
	    !cache_qos_pqr_read(cq, cpu, &found))
		return;
	if (!cache_qos_pqr_write(cq, cpu, (found & CACHE_QOS_PQR_CLOSID) | rmid))
		return;
	cache_qos_remember(cpu, cpu->rmid);
	WRITE_ONCE(cpu->rmid, rmid);
}

bool cache_qos_check_pqr(struct cache_qos *cq, struct cache_qos_cpu *cpu)
{
	u64 found;

	if (!cache_qos_may_write(cq, cpu))
		return true;
	if (!cache_qos_pqr_read(cq, cpu, &found))
		return false;
	if (FIELD_GET(CACHE_QOS_PQR_RMID, found) == cpu->rmid)
		return true;
	cache_qos_pqr_write(cq, cpu, (found & CACHE_QOS_PQR_CLOSID) | cpu->rmid);
	return false;
}

u32 cache_qos_expected(struct cache_qos *cq, const struct cache_qos_cpu *cpu,
		       const struct cache_qos_task *task, u16 cgroup)
{
	struct cache_qos_members members;

	cache_qos_union(cq, task, cgroup, cpu->set, &members);
	cache_qos_awake(cq, &members);
	if (cache_qos_empty(&members))
		return 0;
	return cache_qos_atom_expected(cq, &members);
}

void cache_qos_mark_suspects(struct cache_qos *cq)
{
	u32 rmid;

	for (rmid = 0; rmid < cq->hw.nr_rmid; rmid++) {
		if (!READ_ONCE(cq->atoms[rmid].suspect))
			continue;
		WRITE_ONCE(cq->atoms[rmid].suspect, false);
		cache_qos_mark(cq, rmid, PMUKIT_CACHE_QOS_S_SUSPECT);
	}
}

/* Setup and CPUs */

void cache_qos_init(struct cache_qos *cq, const struct pmukit_cache_qos_backend *backend,
		    const struct cache_qos_hw *hw, struct cache_qos_atom *atoms,
		    struct cache_qos_cpu **cpus, unsigned int nr_cpus)
{
	unsigned int i;
	u32 rmid;

	cq->hw = *hw;
	cq->backend = backend;
	cq->atoms = atoms;
	cq->cpus = cpus;
	cq->nr_cpus = nr_cpus;
	cq->generation = 1;
	cq->max_limited = max_t(u32, hw->nr_rmid / CACHE_QOS_LIMITED_SHARE, 1);
	cq->free_sets = CACHE_QOS_MAX_SETS - 1;
	cq->sets[0].refs = 1;
	cq->nodes[CACHE_QOS_ROOT] = (struct cache_qos_node) {
		.used = true, .parent = CACHE_QOS_NONE, .monitor = CACHE_QOS_MACHINE,
	};
	cq->monitors[CACHE_QOS_MACHINE].kind = PMUKIT_CACHE_QOS_KIND_MACHINE;
	cq->monitors[CACHE_QOS_MACHINE].used = true;
	for (i = 0; i < nr_cpus; i++) {
		if (cpus[i])
			cpus[i]->domain = CACHE_QOS_NONE;
	}
	cq->nr_atoms[CACHE_QOS_LIMBO] = hw->nr_rmid - 1;
	for (rmid = 1; rmid < hw->nr_rmid; rmid++)
		atoms[rmid].state = CACHE_QOS_LIMBO;
}

static void cache_qos_cpu_count(struct cache_qos *cq, struct cache_qos_cpu *cpu, u16 domain)
{
	if (cpu->online)
		return;
	WRITE_ONCE(cpu->domain, domain);
	cpu->online = true;
	cache_qos_domain_gain(cq, domain);
}

int cache_qos_cpu_online(struct cache_qos *cq, unsigned int cpu, u16 domain)
{
	struct cache_qos_cpu *c = cq->cpus[cpu];
	u32 rmid;
	u64 found;

	if (cache_qos_rdmsr(cq->backend, CACHE_QOS_PQR_ASSOC, &found))
		return -EIO;
	rmid = FIELD_GET(CACHE_QOS_PQR_RMID, found);
	WRITE_ONCE(c->foreign, rmid);
	if (cache_qos_registers_taken(cq)) {
		cache_qos_cpu_count(cq, c, domain);
		return 0;
	}
	/* After suspend PQR_ASSOC may still have the driver's RMID. */
	if (rmid && !(c->ready && rmid == c->rmid)) {
		if (!cq->force)
			return -EBUSY;
		/* A monitor may get the same RMID. The driver must not restore that of other software. */
		rmid = 0;
		found &= CACHE_QOS_PQR_CLOSID;
		if (cache_qos_wrmsr(cq->backend, CACHE_QOS_PQR_ASSOC, found))
			return -EIO;
	}
	c->pqr = found;
	memset(c->recent, 0, sizeof(c->recent));
	WRITE_ONCE(c->foreign, 0);
	WRITE_ONCE(c->rmid, rmid);
	cache_qos_cpu_count(cq, c, domain);
	WRITE_ONCE(c->ready, true);
	return 0;
}

void cache_qos_cpu_offline(struct cache_qos *cq, unsigned int cpu)
{
	struct cache_qos_cpu *c = cq->cpus[cpu];

	if (c->online && cq->hw.counters && cq->domains[c->domain].nr_cpus == 1)
		cache_qos_counters_release(cq, c->domain, true);
	cache_qos_cpu_release(cq, cpu);
	if (!c->online)
		return;
	c->online = false;
	cache_qos_domain_lose(cq, c->domain);
}

/* Return: true if @found, read from PQR_ASSOC, has the RMID that the driver wrote. */
static bool cache_qos_is_ours(const struct cache_qos *cq, const struct cache_qos_cpu *cpu,
			      u64 found)
{
	if (cq->claimed && found != cpu->pqr)
		return false;
	return FIELD_GET(CACHE_QOS_PQR_RMID, found) == cpu->rmid;
}

void cache_qos_cpu_release(struct cache_qos *cq, unsigned int cpu)
{
	struct cache_qos_cpu *c = cq->cpus[cpu];
	u64 found;

	if (!c->ready)
		return;
	WRITE_ONCE(c->ready, false);
	if (c->rmid && !cache_qos_rdmsr(cq->backend, CACHE_QOS_PQR_ASSOC, &found) &&
	    cache_qos_is_ours(cq, c, found))
		cache_qos_pqr_write(cq, c, found & CACHE_QOS_PQR_CLOSID);
	WRITE_ONCE(c->rmid, 0);
}

void cache_qos_cpu_look(struct cache_qos *cq, unsigned int cpu)
{
	struct cache_qos_cpu *c = cq->cpus[cpu];
	u64 found;

	if (!c->ready && !cache_qos_rdmsr(cq->backend, CACHE_QOS_PQR_ASSOC, &found))
		WRITE_ONCE(c->foreign, FIELD_GET(CACHE_QOS_PQR_RMID, found));
}
