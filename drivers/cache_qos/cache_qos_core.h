/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos: what the hardware says, what is watched, which RMID a CPU has to carry, and what the
 * numbers mean; plain data and arithmetic, which tests in user space run as well.
 *
 * A CPU carries one RMID at a time, and several monitors want the same cycles: a task's, its
 * group's, that group's parent's, its cgroup's, its CPU's. So RMIDs do not belong to monitors.
 * An *atom* is a set of monitors that are wanted together; each atom has one RMID, and the value of
 * a monitor is the sum over the atoms it is in. Nothing conflicts, nothing takes turns, a parent
 * contains its children exactly. Documentation/decisions/0008-cache-qos-atoms.rst.
 *
 *    group of the task ---> set of monitors --+
 *    task               ---> set of monitors --+--> union = members of an atom --> RMID
 *    cgroup of the task ---> set of monitors --+
 *    CPU                ---> set of monitors --+
 *
 * The four sets are interned: their numbers are what is compared at a context switch.
 *
 * An RMID is FREE, then USED by an atom, then in LIMBO until its lines have left the caches, then
 * FREE. The lines of an RMID in limbo still count for the monitors its atom was made for.
 *
 * Files: cache_qos_hw_core.c (CPUID, registers), cache_qos_l3_core.c (which L3 a CPU has),
 * cache_qos_counter_core.c (counters bound to RMIDs), cache_qos_atom_core.c (sets, RMIDs),
 * cache_qos_core.c (monitors, nodes, tasks, switch), cache_qos_sum_core.c (cells, limbo, values).
 *
 * Locking is the caller's. There is one lock, "the lock", a raw spinlock taken with interrupts
 * off; functions want it held unless they say otherwise. It is not taken at a context switch,
 * but when a CPU sees a combination of sets for the first time since the configuration changed.
 * After a change the caller drops the lock and makes every CPU resolve again (an IPI) before it
 * returns to the caller: until then a CPU may still carry an RMID that is in limbo.
 * Nothing here sleeps or allocates.
 */
#ifndef CACHE_QOS_CORE_H
#define CACHE_QOS_CORE_H

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <asm/rwonce.h>

#include <pmukit/cache_qos.h>
#include <pmukit/cache_qos_backend.h>

#include "cache_qos_regs.h"

#define CACHE_QOS_MAX_RMIDS	4096	/* the width of EVTSEL's field */
#define CACHE_QOS_MAX_DOMAINS	64
#define CACHE_QOS_MAX_MONITORS	512
#define CACHE_QOS_MAX_NODES	512	/* groups and cgroups */
#define CACHE_QOS_MAX_DEPTH	16	/* of nodes, the root not counted */
#define CACHE_QOS_MAX_SETS	2048
#define CACHE_QOS_BUCKET_BITS	9	/* of the table of atoms */
#define CACHE_QOS_LIMITED_SHARE	4	/* one RMID in so many for users without privileges */
#define CACHE_QOS_MAX_READS	8	/* RMIDs read with interrupts off */
#define CACHE_QOS_CACHE_SLOTS	64	/* of a CPU: combinations it remembers */
#define CACHE_QOS_MAX_COUNTERS	32	/* bound to RMIDs: the width of ABMC_CFG's field */
#define CACHE_QOS_SPARES	4	/* RMIDs to be given out next */
#define CACHE_QOS_RECENT	4	/* of a CPU: RMIDs it carried before */

#define CACHE_QOS_NONE		0xffffU	/* no node, no monitor, no domain */
#define CACHE_QOS_ALL		0xfffeU	/* all domains */
#define CACHE_QOS_ROOT		0	/* the node that is the root of the groups */
#define CACHE_QOS_MACHINE	0	/* the monitor that is everything; always there */
#define CACHE_QOS_MISS		~0U	/* cache_qos_resolve(): ask again under the lock */

/* The hardware: cache_qos_hw_core.c */

/* Events that hardware counts, as indices; REMOTE is derived of two */
enum cache_qos_index {
	CACHE_QOS_OCCUPANCY,
	CACHE_QOS_TOTAL,
	CACHE_QOS_LOCAL,
	CACHE_QOS_NR_READ,
	CACHE_QOS_REMOTE = CACHE_QOS_NR_READ,
	CACHE_QOS_NR_EVENTS,
	CACHE_QOS_NR_COUNTED = CACHE_QOS_NR_EVENTS - 1,	/* all but OCCUPANCY */
};

/**
 * struct cache_qos_hw - what CPUID says, the same of all CPUs
 * @nr_rmid: RMIDs that a CPU may carry, 0 among them
 * @nodes: NUMA nodes of an L3. Each has @nr_rmid counters of its own: those of RMID r in the node
 *	with the index n are read as RMID n * @nr_rmid + r (cache_qos_hw_divide()).
 * @snc: an L3 may have nodes (sub-NUMA clustering)
 * @scale: bytes of a unit
 * @width: bits of the bandwidth counters
 * @events: BIT(enum cache_qos_index) of those that can be read, REMOTE included
 * @factor: of the correction of bandwidth above @factor_above, times 2^20; 0: none needed
 * @factor_above: highest RMID that needs no correction
 * @restarts: a counter that was unavailable begins again at 0 (AMD)
 * @abmc: software assigns bandwidth counters to RMIDs (AMD ABMC)
 * @counters: how many of these each L3 has; 0: which event a counter is for cannot be read
 * @types: by event - 1: what it counts, as written to the configuration of an assigned counter
 * @chosen: BIT(event): it was configured to count something else (AMD BMEC): the event is withdrawn
 * @emulated: the processor is emulated by QEMU (TCG), whatever registers it has
 * @wrap_ns: a counter cannot go round in less; ~0: never
 */
struct cache_qos_hw {
	u32 nr_rmid;
	u32 nodes;
	bool snc;
	u32 scale;
	u32 width;
	u32 events;
	u32 factor;
	u32 factor_above;
	bool restarts;
	bool abmc;
	u32 counters;
	u32 types[CACHE_QOS_NR_READ - 1];
	u32 chosen;
	bool emulated;
	u64 wrap_ns;
};

/**
 * cache_qos_hw_read - what one CPU says
 * @backend: the back-end with its registers
 * @cpu: the CPU, on which this runs with interrupts off
 * @asked: BIT(enum cache_qos_index) of events the owner asks for where they are off by default
 * @hw: filled in
 * @error: -errno, where NULL is not returned
 *
 * Return: NULL, or why this CPU cannot be used. Needs no lock.
 */
const char *cache_qos_hw_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
			      u32 asked, struct cache_qos_hw *hw, int *error);

/**
 * cache_qos_hw_divide - its L3 is shared by so many NUMA nodes
 * @backend: the back-end with the registers
 * @nodes: 0 and 1: it is not divided
 * @hw: as cache_qos_hw_read() has left it; RMIDs and the unit become those of a node
 *
 * Runs on the CPU. No register is written: whether nodes share RMIDs is the kernel's to choose.
 *
 * Return: NULL, or why this CPU cannot be used (-EOPNOTSUPP). Needs no lock.
 */
const char *cache_qos_hw_divide(const struct pmukit_cache_qos_backend *backend, u32 nodes,
				struct cache_qos_hw *hw);

/**
 * struct cache_qos_l3 - the L3 of a CPU
 * @apic_id: of the CPU
 * @shift: CPUs that differ in so many lowest bits of it only share the L3
 * @bytes: its size
 */
struct cache_qos_l3 {
	u32 apic_id;
	u32 shift;
	u64 bytes;
};

/* What CPUID says on @cpu, on which this runs: 0, or -ENODEV: there is no L3. Needs no lock. */
int cache_qos_l3_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
		      struct cache_qos_l3 *l3);

/*
 * The domain of a CPU in @package and NUMA node @node: @nodes are those of all CPUs that are
 * present and share the L3, a bitmap of @nr. Needs no lock.
 */
void cache_qos_l3_domain(const struct cache_qos_l3 *l3, u32 package, u32 node,
			 const unsigned long *nodes, u32 nr,
			 struct pmukit_cache_qos_domain *domain);

/**
 * cache_qos_hw_join - make it legal on one more CPU
 * @all: of the CPUs so far; keeps the smaller number of RMIDs and the events both have
 * @one: of one more
 *
 * Return: NULL, or in what they differ that must not differ (-EINVAL). Needs no lock.
 */
const char *cache_qos_hw_join(struct cache_qos_hw *all, const struct cache_qos_hw *one);

/**
 * cache_qos_hw_less - has a CPU that came later less than the others
 * @hw: joined with the new one
 * @than: of the others; finished
 *
 * Return: true when RMIDs, events or bandwidth counters that the others have would be missing, or
 * when only one of the two has ABMC. Needs no lock.
 */
bool cache_qos_hw_less(const struct cache_qos_hw *hw, const struct cache_qos_hw *than);

/**
 * cache_qos_hw_finish - what follows of the rest, once all CPUs are joined
 * @hw: of all CPUs
 * @max_bytes_per_second: no L3 moves more
 */
void cache_qos_hw_finish(struct cache_qos_hw *hw, u64 max_bytes_per_second);

/*
 * The value of QM_EVTSEL; the distance between two values of a counter that may have wrapped once;
 * corrected and scaled chunks of bandwidth of an RMID.
 */
u64 cache_qos_evtsel(u32 rmid, enum cache_qos_index event);
u64 cache_qos_delta(u64 now, u64 before, u32 width);
u64 cache_qos_bytes(const struct cache_qos_hw *hw, u32 rmid, u64 chunks);

/* What became of one read */
enum cache_qos_read_status {
	CACHE_QOS_READ_SKIPPED,		/* the event is not there, or was not to be read */
	CACHE_QOS_READ_OK,
	CACHE_QOS_READ_UNAVAILABLE,	/* bit 62 */
	CACHE_QOS_READ_ERROR,		/* bit 63, or the register refused */
	CACHE_QOS_READ_STOLEN,		/* QM_EVTSEL was overwritten in between, at each retry */
};

/**
 * struct cache_qos_sample - the counters of an RMID as they were read together
 * @status: enum cache_qos_read_status by event
 * @data: in units; valid where @status is CACHE_QOS_READ_OK
 */
struct cache_qos_sample {
	u8 status[CACHE_QOS_NR_READ];
	u64 data[CACHE_QOS_NR_READ];
};

/**
 * cache_qos_read_rmid - read events of an RMID in the domain of this CPU
 * @backend: the back-end with the registers
 * @hw: of all CPUs
 * @events: BIT(enum cache_qos_index) of those to be read (cache_qos_events_wanted()); the others,
 *	and those that are not there, are CACHE_QOS_READ_SKIPPED, as is what the back-end is too
 *	busy for
 * @rmid: below hw->nr_rmid
 * @paranoid: read QM_EVTSEL back, and begin again up to four times if it was changed
 * @sample: filled in
 *
 * Interrupts off, not in an NMI. QM_EVTSEL is left as it was found, also by
 * cache_qos_read_rmids(), which reads what several requests ask for. LOCAL is read before TOTAL, so
 * that local traffic is never more than all of it; what is local and moves between the two reads is
 * in the difference, which is REMOTE, once and not with every read (cache_qos_fold()). Needs no
 * lock.
 */
void cache_qos_read_rmid(const struct pmukit_cache_qos_backend *backend,
			 const struct cache_qos_hw *hw, u32 events, u32 rmid, bool paranoid,
			 struct cache_qos_sample *sample);

/**
 * struct cache_qos_request - an RMID that is to be read
 * @rmid: which
 * @counted: what QM_EVTSEL calls it, which is another number where an L3 has nodes
 * @events: BIT(enum cache_qos_index)
 * @absent: BIT(enum cache_qos_index) of those that have no counter: they are not read, and are
 *	CACHE_QOS_READ_UNAVAILABLE
 * @folded: readings of it that had been folded in before
 * @sample: filled in
 */
struct cache_qos_request {
	u32 rmid;
	u32 counted;
	u32 events;
	u32 absent;
	u32 folded;
	struct cache_qos_sample sample;
};

void cache_qos_read_rmids(const struct pmukit_cache_qos_backend *backend,
			  const struct cache_qos_hw *hw, bool paranoid,
			  struct cache_qos_request *requests, u32 nr);

/* State */

/**
 * struct cache_qos_members - a set of monitors
 * @bits: by monitor. CACHE_QOS_MACHINE is never in a set.
 */
struct cache_qos_members {
	DECLARE_BITMAP(bits, CACHE_QOS_MAX_MONITORS);
};

/**
 * struct cache_qos_set - an interned set; number 0 is the empty one
 * @members: of it
 * @refs: nodes, tasks and CPUs that name it; 0: the place is free
 */
struct cache_qos_set {
	struct cache_qos_members members;
	u32 refs;
};

/**
 * struct cache_qos_sum - a count, before and after the correction and the scale
 * @raw: in units
 * @bytes: in bytes
 */
struct cache_qos_sum {
	u64 raw;
	u64 bytes;
};

/**
 * struct cache_qos_sums - what a monitor has counted
 * @of: by event - 1
 */
struct cache_qos_sums {
	struct cache_qos_sum of[CACHE_QOS_NR_COUNTED];
};

/**
 * struct cache_qos_monitor - something that is watched
 * @kind: enum pmukit_cache_qos_kind
 * @used: the place is taken
 * @status: PMUKIT_CACHE_QOS_S_* that stay while it lives
 * @generation: changes with the set of RMIDs behind it
 * @missed: times an RMID was wanted for it and there was none
 * @life: how often the number was given out
 * @rmids: of the atoms it is in, used or in limbo
 */
struct cache_qos_monitor {
	u8 kind;
	bool used;
	u32 status;
	u32 generation;
	u32 missed;
	u32 life;
	DECLARE_BITMAP(rmids, CACHE_QOS_MAX_RMIDS);
};

/**
 * struct cache_qos_node - a group, or a cgroup that is watched
 * @used: the place is taken
 * @parent: node; CACHE_QOS_NONE: it is at the top
 * @monitor: of its own; CACHE_QOS_NONE: it counts for the nearest ancestor that has one
 * @set: monitors of it and of all its ancestors. Read at context switches without the lock.
 * @children: nodes whose parent it is
 * @tasks: tasks that are in it
 */
struct cache_qos_node {
	bool used;
	u16 parent;
	u16 monitor;
	u16 set;
	u32 children;
	u32 tasks;
};

/**
 * struct cache_qos_task - what is known of a task; the caller keeps one for each it tracks
 * @node: its group. Read at context switches without the lock, as is @set.
 * @set: monitors of its own
 *
 * A task without one is in CACHE_QOS_ROOT and has no monitors of its own.
 */
struct cache_qos_task {
	u16 node;
	u16 set;
};

enum cache_qos_rmid_state {
	CACHE_QOS_FREE,
	CACHE_QOS_USED,
	CACHE_QOS_LIMBO,
};

/**
 * struct cache_qos_atom - an RMID, and the set of monitors it works for
 * @state: enum cache_qos_rmid_state
 * @dirty: it was given out while its lines were above the threshold
 * @limited: it counts against cq->max_limited
 * @suspect: a CPU that should carry it was found with another RMID; written without the lock
 * @next: in the list of free ones
 * @hash_next: of those that are used, in the table by members; 0: none
 * @members: in FREE: none; in LIMBO: those that still count its lines
 * @since_ns: when it came into this state
 */
struct cache_qos_atom {
	u8 state;
	bool dirty;
	bool limited;
	bool suspect;
	u16 next;
	u16 hash_next;
	struct cache_qos_members members;
	u64 since_ns;
};

/**
 * struct cache_qos_cell - what was read of an RMID in a domain
 * @occupancy: in units, at the last good read
 * @bound: in units: so much of @occupancy at most was there before the RMID was given out
 * @last: counters as they were read, by event - 1
 * @chunks: what they have counted since they were first read; REMOTE derived; never falls
 * @base: @chunks when the RMID was given out
 * @time_ns: when each event was last read well; 0: not since the domain came online
 * @known: BIT(event): @last is valid
 * @gap: BIT(event): it was unavailable since
 * @served: BIT(event): a counter is bound to it; where that is done by hand
 * @skewed: one of TOTAL and LOCAL has counted less than there was, the other perhaps not
 * @skew: so much of TOTAL - LOCAL is not REMOTE
 * @status: enum cache_qos_read_status of the last read, by event
 * @marks: PMUKIT_CACHE_QOS_S_* for its monitors, until cache_qos_collect(); and CACHE_QOS_MARK_NEW
 * @folded: readings that were folded in
 */
struct cache_qos_cell {
	u64 occupancy;
	u64 bound;
	u64 last[CACHE_QOS_NR_READ - 1];
	u64 chunks[CACHE_QOS_NR_COUNTED];
	u64 base[CACHE_QOS_NR_COUNTED];
	u64 time_ns[CACHE_QOS_NR_READ];
	u8 known;
	u8 gap;
	u8 served;
	bool skewed;
	u64 skew;
	u8 status[CACHE_QOS_NR_READ];
	u32 marks;
	u32 folded;
};

/* Counters begin: something is missing if monitors have the RMID already */
#define CACHE_QOS_MARK_NEW	BIT(31)

/**
 * struct cache_qos_reads - reads that gave no value
 * @unavailable: the hardware had none
 * @errors: the hardware refused
 * @stolen: given up because another user kept writing EVTSEL
 * @uncertain: counts that are the least there was: a counter may have gone round unseen
 */
struct cache_qos_reads {
	u64 unavailable;
	u64 errors;
	u64 stolen;
	u64 uncertain;
};

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

enum cache_qos_counter_state {
	CACHE_QOS_COUNTER_FREE,
	CACHE_QOS_COUNTER_OURS,
	CACHE_QOS_COUNTER_OTHERS,	/* assigned by another user, or cannot be assigned */
};

/**
 * struct cache_qos_counter - a counter that is bound by hand, where it is ours
 * @rmid: whose traffic it counts
 * @event: total or local
 * @state: enum cache_qos_counter_state
 */
struct cache_qos_counter {
	u32 rmid;
	u8 event;
	u8 state;
};

/**
 * struct cache_qos_domain - an L3, or the part of a NUMA node
 * @lock: raw, interrupts off; inside "the lock": cells and all that follows. They are read without
 *	it where a reading more or less does not matter.
 * @is: what the back-end says of it
 * @nr_cpus: CPUs of it that are online; 0: it is offline
 * @cells: by RMID; memory of the caller, cleared
 * @accumulated: by monitor: counts of released atoms; memory of the caller, cleared
 * @violations: passes that found more lines than the cache has
 * @moved: units that all RMIDs had moved at the last pass
 * @marked: a cell has marks
 * @reads: those that gave no value
 * @machine: sums of all RMIDs at the last pass, by event - 1
 * @scanned: @counters is what the L3 has
 * @counters: by id; of the reader of the domain alone
 */
struct cache_qos_domain {
	raw_spinlock_t lock;
	struct pmukit_cache_qos_domain is;
	u32 nr_cpus;
	struct cache_qos_cell *cells;
	struct cache_qos_sums *accumulated;
	u64 violations;
	u64 moved;
	bool marked;
	struct cache_qos_reads reads;
	struct cache_qos_tally machine[CACHE_QOS_NR_EVENTS];
	bool scanned;
	struct cache_qos_counter counters[CACHE_QOS_MAX_COUNTERS];
};

/**
 * struct cache_qos_slot - a combination of sets that a CPU has seen
 * @key: the four sets
 * @generation: of the configuration it was found in; 0: none
 * @rmid: what it led to
 */
struct cache_qos_slot {
	u64 key;
	u32 generation;
	u32 rmid;
};

/**
 * struct cache_qos_cpu - a CPU; but for @set, used on the CPU itself with interrupts off
 * @cpu: its number
 * @set: its monitors
 * @domain: its L3 as an index; CACHE_QOS_NONE: it has not been online
 * @rmid: what it carries; read by others to learn which RMIDs are in use
 * @pqr: PQR_ASSOC as it was last written, or found with @rmid
 * @recent: RMIDs it carried before @rmid: pqos and rdtset read the register, change its upper half
 *	and write both, so one of these may come back
 * @foreign: RMID of another user of the registers that was found here; 0: none
 * @online: it counts for its domain
 * @ready: PQR_ASSOC was read and is ours
 * @slots: combinations it remembers
 * @switching: it is about to run another task, and may be with the configuration of before
 * @checked_ns: when PQR_ASSOC was last compared with @rmid
 * @writes: of PQR_ASSOC
 * @faults: writes of it that were refused
 * @hijacks: times PQR_ASSOC was found changed by another user of the registers
 */
struct cache_qos_cpu {
	unsigned int cpu;
	u16 set;
	u16 domain;
	u32 rmid;
	u64 pqr;
	u32 recent[CACHE_QOS_RECENT];
	u32 foreign;
	bool online;
	bool ready;
	struct cache_qos_slot slots[CACHE_QOS_CACHE_SLOTS];
	bool switching;
	u64 checked_ns;
	u64 writes;
	u64 faults;
	u64 hijacks;
};

/* For cache_qos.notify */
enum cache_qos_rmid_event {
	CACHE_QOS_RMID_EVENT_ALLOC,
	CACHE_QOS_RMID_EVENT_LIMBO,
	CACHE_QOS_RMID_EVENT_FREE,
	CACHE_QOS_RMID_EVENT_DIRTY,	/* was to be freed, but there are too many lines */
};

/**
 * struct cache_qos_stats - what happened since the driver was loaded
 * @partial: times an atom was wanted and there was no RMID
 * @dirty: RMIDs given out above the threshold
 */
struct cache_qos_stats {
	u64 partial;
	u64 dirty;
};

/**
 * struct cache_qos - everything
 * @hw: of all CPUs
 * @backend: the back-end with the registers
 * @threshold: units: an RMID with fewer in every domain is free again
 * @limbo_min_ns: how long an RMID stays in limbo where occupancy cannot be read
 * @alloc_dirty: rather take the cleanest RMID in limbo than refuse
 * @force: RMIDs of other users of the registers are overwritten
 * @yielded: another user has the registers: no writes, no reads, values stay
 * @claimed: it is resctrl
 * @foreign: an RMID of another user was found in PQR_ASSOC: nothing is written until
 *	cache_qos_resume(), and the caller is to yield. Set without the lock.
 * @starved: an RMID was wanted and there was none: try again when there is
 * @generation: of the configuration; never 0
 * @notify: NULL, or called for each change of an RMID; under the lock, also at context switches
 * @stats: what happened
 * @nr_atoms: by enum cache_qos_rmid_state; RMID 0 is none of them
 * @first_free: oldest free RMID; 0: none. Read by passes without the lock, as are @state of an atom
 *	and @occupancy of a cell
 * @last_free: newest
 * @limited: monitors of users without privileges
 * @nr_limited: RMIDs of atoms with one of these, used or in limbo
 * @max_limited: no more of them, so that such users leave RMIDs to others
 * @spares: the next to be given out, as of cache_qos_carried(); 0: none
 * @carried: RMIDs that CPUs carried when cache_qos_carried() was called last
 * @buckets: atoms that are used, by their members; 0: none
 * @atoms: by RMID; memory of the caller, cleared, hw.nr_rmid of them
 * @cpus: by number; NULL: not possible. Memory of the caller.
 * @nr_cpus: places in @cpus
 * @nr_domains: that have ever been online
 * @free_sets: places left
 * @top_set: highest that was ever used
 * @last_monitor: the number that was given out last; 0: none yet
 * @domains: in the order they came
 * @monitors: by number
 * @nodes: by number
 * @sets: by number
 */
struct cache_qos {
	struct cache_qos_hw hw;
	const struct pmukit_cache_qos_backend *backend;
	u64 threshold;
	u64 limbo_min_ns;
	bool alloc_dirty;
	bool force;
	bool yielded;
	bool claimed;
	bool foreign;
	bool starved;
	u32 generation;
	void (*notify)(struct cache_qos *cq, enum cache_qos_rmid_event news, u32 rmid);
	struct cache_qos_stats stats;
	u32 nr_atoms[CACHE_QOS_LIMBO + 1];
	u16 first_free;
	u16 last_free;
	struct cache_qos_members limited;
	u32 nr_limited;
	u32 max_limited;
	u16 spares[CACHE_QOS_SPARES];
	DECLARE_BITMAP(carried, CACHE_QOS_MAX_RMIDS);
	u16 buckets[1 << CACHE_QOS_BUCKET_BITS];
	struct cache_qos_atom *atoms;
	struct cache_qos_cpu **cpus;
	unsigned int nr_cpus;
	u32 nr_domains;
	u32 free_sets;
	u16 top_set;
	u16 last_monitor;
	struct cache_qos_domain domains[CACHE_QOS_MAX_DOMAINS];
	struct cache_qos_monitor monitors[CACHE_QOS_MAX_MONITORS];
	struct cache_qos_node nodes[CACHE_QOS_MAX_NODES];
	struct cache_qos_set sets[CACHE_QOS_MAX_SETS];
};

/* Life: cache_qos_core.c */

/**
 * cache_qos_init - the state after loading: no monitors but the machine's, all RMIDs but 0 in limbo
 * @cq: cleared
 * @backend: the back-end with the registers
 * @hw: of all CPUs, finished
 * @atoms: cleared, hw->nr_rmid of them
 * @cpus: an entry for each possible CPU, with its cpu filled in and the rest cleared
 * @nr_cpus: places in @cpus
 *
 * RMIDs become free as the first passes find them clean: read all of them in all domains
 * (cache_qos_fold()), then call cache_qos_limbo_pass(). The threshold is set by the first
 * cache_qos_domain_add(), and again by cache_qos_set_threshold().
 */
void cache_qos_init(struct cache_qos *cq, const struct pmukit_cache_qos_backend *backend,
		    const struct cache_qos_hw *hw, struct cache_qos_atom *atoms,
		    struct cache_qos_cpu **cpus, unsigned int nr_cpus);

/**
 * cache_qos_cpu_online - a CPU takes part; reads PQR_ASSOC
 * @cq: everything
 * @cpu: its number; this runs on it
 * @domain: index of its L3
 *
 * PQR_ASSOC is not written before cache_qos_carry(). While another user has the registers the CPU
 * only counts for its domain.
 *
 * Return: 0, -EBUSY: another user's RMID is there (not with cq->force), -EIO: a register is not.
 */
int cache_qos_cpu_online(struct cache_qos *cq, unsigned int cpu, u16 domain);

/* A CPU leaves: its domain has one less. It runs on it; its RMID becomes 0. */
void cache_qos_cpu_offline(struct cache_qos *cq, unsigned int cpu);

/*
 * The driver leaves, or yields: the RMID of this CPU becomes 0, if it is still the one we wrote.
 * While resctrl has the registers the upper half has to be, too: both halves are written together,
 * so one that has changed says that the lower half is resctrl's, even if it is the same number. It
 * is not written again until cache_qos_cpu_online(). Runs on the CPU, interrupts off; needs no
 * lock.
 */
void cache_qos_cpu_release(struct cache_qos *cq, unsigned int cpu);

/*
 * While another user has the registers: whose RMID is in PQR_ASSOC of this CPU? It is in its
 * @foreign then. Runs on the CPU, interrupts off; needs no lock.
 */
void cache_qos_cpu_look(struct cache_qos *cq, unsigned int cpu);

/*
 * Monitors: cache_qos_core.c
 *
 * Where an RMID is needed and there is none the answer is -EBUSY if some are in limbo, -ENOSPC if
 * all are used; -ENOSPC also where a table is full. Nothing has changed then.
 */

/*
 * A monitor that watches nothing yet. Return: its number or -ENOSPC. Numbers are round-robin:
 * one is used again when all others have been.
 */
int cache_qos_monitor_make(struct cache_qos *cq, enum pmukit_cache_qos_kind kind);

/* It is of a user without privileges: no more than cq->max_limited RMIDs work for such monitors. */
void cache_qos_monitor_limit(struct cache_qos *cq, u16 monitor);

/*
 * The monitor is taken out of all sets and atoms; atoms without references go into limbo. Not for a
 * monitor of a node (cache_qos_node_monitor()) nor for CACHE_QOS_MACHINE.
 */
void cache_qos_monitor_end(struct cache_qos *cq, u16 monitor, u64 now_ns);

/*
 * A monitor watches a task, a CPU too; 0 if it does already. An RMID for the task in its group, or
 * for the CPU, is taken at once, so that an accepted event counts; not if @must is false, for
 * a child that inherits: fork() is not to fail for want of an RMID. Unwatching gives no RMID back;
 * the end of the monitor does.
 */
int cache_qos_task_watch(struct cache_qos *cq, struct cache_qos_task *task, u16 monitor,
			 bool must, u64 now_ns);
void cache_qos_task_unwatch(struct cache_qos *cq, struct cache_qos_task *task, u16 monitor);
int cache_qos_cpu_watch(struct cache_qos *cq, unsigned int cpu, u16 monitor, u64 now_ns);
void cache_qos_cpu_unwatch(struct cache_qos *cq, unsigned int cpu, u16 monitor);

/* The tree of groups, and that of cgroups: cache_qos_core.c */

/**
 * cache_qos_node_make - a new group, or a cgroup that is to be watched
 * @cq: everything
 * @parent: node; CACHE_QOS_ROOT: a group at the top; CACHE_QOS_NONE: a cgroup with no ancestor
 *	that is watched
 *
 * It has no monitor of its own: its tasks count for the nearest ancestor that has one.
 *
 * Return: its number, -ENOSPC: too many, -ENAMETOOLONG: more than CACHE_QOS_MAX_DEPTH deep.
 */
int cache_qos_node_make(struct cache_qos *cq, u16 parent);

/**
 * cache_qos_node_remove - a group or cgroup is no more
 * @cq: everything
 * @node: without tasks (move them to the parent first) and without children
 * @now_ns: time
 *
 * Its monitor ends; the lines it leaves stay in the sums of its ancestors.
 *
 * Return: 0, -ENOTEMPTY: it has children, -EBUSY: it has tasks.
 */
int cache_qos_node_remove(struct cache_qos *cq, u16 node, u64 now_ns);

/**
 * cache_qos_node_monitor - switch the monitor of a group or cgroup
 * @cq: everything
 * @node: not CACHE_QOS_ROOT, whose monitor is CACHE_QOS_MACHINE for ever
 * @on: it gets one, and an RMID at once, or loses it
 * @kind: PMUKIT_CACHE_QOS_KIND_GROUP or PMUKIT_CACHE_QOS_KIND_CGROUP
 * @now_ns: time
 *
 * Return: 0, also where it is so already, or -EBUSY, -ENOSPC as above (configfs: -EAGAIN),
 * -EINVAL: it is the root.
 */
int cache_qos_node_monitor(struct cache_qos *cq, u16 node, bool on,
			   enum pmukit_cache_qos_kind kind, u64 now_ns);

/*
 * A cgroup between two that are watched is watched as well: @parent is new for @node.
 * Return: 0 or -ENAMETOOLONG.
 */
int cache_qos_node_reparent(struct cache_qos *cq, u16 node, u16 parent);

/*
 * The nearest node that has a monitor, @node itself among them; CACHE_QOS_NONE: none. For groups
 * always one, CACHE_QOS_ROOT at the end.
 */
u16 cache_qos_node_monitored(const struct cache_qos *cq, u16 node);

/*
 * Tasks: cache_qos_core.c
 *
 * A new one is in CACHE_QOS_ROOT without monitors of its own. A child is where its parent is, with
 * the same monitors; the caller leaves out those that are not inherited by unwatching. A task that
 * is unmonitored again needs not be tracked.
 */
void cache_qos_task_init(struct cache_qos *cq, struct cache_qos_task *task);
void cache_qos_task_fork(struct cache_qos *cq, const struct cache_qos_task *parent,
			 struct cache_qos_task *child);
void cache_qos_task_move(struct cache_qos *cq, struct cache_qos_task *task, u16 node);
void cache_qos_task_exit(struct cache_qos *cq, struct cache_qos_task *task);
bool cache_qos_task_is_unmonitored(const struct cache_qos *cq, const struct cache_qos_task *task);

/* Context switches: cache_qos_core.c */

/**
 * cache_qos_resolve - the RMID for a task on this CPU, if the CPU has seen its like
 * @cq: everything
 * @cpu: this CPU; interrupts off
 * @task: NULL: it is not tracked, or idle
 * @cgroup: node of the nearest watched cgroup; CACHE_QOS_NONE: none, or idle
 *
 * Return: an RMID, or CACHE_QOS_MISS. Needs no lock, takes none, writes nothing.
 */
u32 cache_qos_resolve(const struct cache_qos *cq, const struct cache_qos_cpu *cpu,
		      const struct cache_qos_task *task, u16 cgroup);

/**
 * cache_qos_resolve_slow - the same, with the lock held: finds or makes the atom and remembers it
 * @cq: everything
 * @cpu: this CPU
 * @task: as above
 * @cgroup: as above
 * @now_ns: time
 *
 * If there is no RMID for the atom, the largest subset that has one counts, or else RMID 0: never
 * too much, and a missing member sets PMUKIT_CACHE_QOS_S_PARTIAL.
 *
 * Return: an RMID.
 */
u32 cache_qos_resolve_slow(struct cache_qos *cq, struct cache_qos_cpu *cpu,
			   const struct cache_qos_task *task, u16 cgroup, u64 now_ns);

/*
 * The RMID that a task needs on a CPU, which may be another than this one; CACHE_QOS_MISS: it has
 * none yet. Changes nothing.
 */
u32 cache_qos_expected(struct cache_qos *cq, const struct cache_qos_cpu *cpu,
		       const struct cache_qos_task *task, u16 cgroup);

/*
 * From here on this CPU carries @rmid: PQR_ASSOC is read, and written with the upper half that was
 * read; neither if it carries it already, if the CPU is not ready, or after cache_qos_yield().
 * Interrupts off; needs no lock.
 *
 * An RMID that is found instead of ours counts as a hijack, and what was to run under ours becomes
 * PMUKIT_CACHE_QOS_S_SUSPECT. It is overwritten if it is 0 or one that this CPU carried lately: the
 * tools that set classes of service write back the RMID they read before. Any other is in use by
 * another tool: it stays, cq->foreign is set, and no register is written from there on.
 */
void cache_qos_carry(struct cache_qos *cq, struct cache_qos_cpu *cpu, u32 rmid);

/*
 * Is the RMID of this CPU the one we wrote? If not, what cache_qos_carry() says is done. Interrupts
 * off; needs no lock.
 */
bool cache_qos_check_pqr(struct cache_qos *cq, struct cache_qos_cpu *cpu);

/* After each pass: monitors whose RMIDs were found replaced become PMUKIT_CACHE_QOS_S_SUSPECT. */
void cache_qos_mark_suspects(struct cache_qos *cq);

/* Domains, readings, limbo: cache_qos_sum_core.c */

/* Index of a domain by the back-end's id; CACHE_QOS_NONE: it has never been online. */
u16 cache_qos_domain_find(const struct cache_qos *cq, u32 id);

/**
 * cache_qos_domain_add - an L3 that is seen for the first time
 * @cq: everything
 * @is: what the back-end says of it
 * @cells: cleared, hw.nr_rmid of them
 * @accumulated: cleared, CACHE_QOS_MAX_MONITORS of them
 *
 * Return: its index or -ENOSPC.
 */
int cache_qos_domain_add(struct cache_qos *cq, const struct pmukit_cache_qos_domain *is,
			 struct cache_qos_cell *cells, struct cache_qos_sums *accumulated);

/*
 * Has an RMID to be read in a domain in pass number @pass: always if it is used or in limbo, if it
 * is 0, if it has lines there and if it is the next to be given out; other free ones now and then.
 * Needs no lock: one that is given out or comes back meanwhile is taken for what it was or for what
 * it is.
 */
bool cache_qos_wanted(const struct cache_qos *cq, u16 domain, u32 rmid, u32 pass);

/*
 * Events of the RMID to read: all. But where the hardware has fewer bandwidth counters than RMIDs
 * (AMD), a read may take a counter away from an RMID that is running. There bandwidth of free RMIDs
 * is not read, and that of RMIDs in limbo is read once more.
 */
u32 cache_qos_events_wanted(const struct cache_qos *cq, u16 domain, u32 rmid);

/*
 * Readings are taken without a lock and folded afterwards: on the CPU that reads, cache_qos_ask()
 * fills in the events and what was folded so far, cache_qos_read_rmids() reads, cache_qos_fold()
 * takes the domain's lock (not where @wait is false and it is held) and leaves out a reading if
 * another one was folded in between, which may be the later one. All with interrupts off.
 */
void cache_qos_ask(const struct cache_qos *cq, u16 domain, u32 rmid,
		   struct cache_qos_request *request);
void cache_qos_fold(struct cache_qos *cq, u16 domain, const struct cache_qos_request *request,
		    u64 now_ns, bool wait);

/*
 * What folding has found out about monitors becomes their status. Also takes the domain's lock.
 */
void cache_qos_collect(struct cache_qos *cq, u16 domain);

/*
 * Where software assigns counters (hw.counters), before each pass of a domain: _scan() finds those
 * that are assigned already; _release() gives back those whose RMID needs none any more, or @all of
 * ours; _bind() assigns the counters that an RMID wants (_wanted()). Called by the reader of the
 * domain, on a CPU of it, interrupts off; takes the domain's lock.
 */
void cache_qos_counters_scan(struct cache_qos *cq, u16 domain);
void cache_qos_counters_release(struct cache_qos *cq, u16 domain, bool all);
bool cache_qos_counters_wanted(const struct cache_qos *cq, u16 domain, u32 rmid);
void cache_qos_counters_bind(struct cache_qos *cq, u16 domain, u32 rmid, u64 now_ns);

/*
 * Which RMIDs are carried now: cq->carried; and which are next: cq->spares. Before the counters are
 * read and before limbo is looked at. One caller at a time; needs the lock only for cq->spares.
 */
void cache_qos_carried(struct cache_qos *cq);

/*
 * Of @nr RMIDs from @first on, those in limbo that were read clean in all domains since they came
 * there, and that no CPU carried, become free. To be called after each pass for all. Return: how
 * many.
 */
u32 cache_qos_limbo_pass(struct cache_qos *cq, u32 first, u32 nr, u64 now_ns);

/* Reads that gave no value, of all domains. Needs no lock. */
struct cache_qos_reads cache_qos_count_reads(const struct cache_qos *cq);

/*
 * After a pass: the machine's sums; takes the domain's lock, and needs no other. More lines than
 * the cache has are a violation and are counted. RMIDs are read one after the other, so a line that
 * is another's meanwhile may be counted twice: as many as have moved since the last pass are let
 * pass. Where that is not known there is no such check.
 */
void cache_qos_check_domain(struct cache_qos *cq, u16 domain);

/*
 * Another user has the registers, which is resctrl if @claimed, or a tool whose RMID was found:
 * values freeze, nothing is written from here on. The caller calls
 * cache_qos_cpu_release() on each CPU. Afterwards, with the registers free again and on each CPU
 * cache_qos_cpu_online(), everything is in limbo or begins anew.
 */
void cache_qos_yield(struct cache_qos *cq, bool claimed);
void cache_qos_resume(struct cache_qos *cq);

/* The counters of a domain may have changed by themselves (suspend): begin at the next values. */
void cache_qos_rebase(struct cache_qos *cq, u16 domain);

/* The threshold of limbo in bytes, rounded down to units; -EINVAL: more than the smallest L3. */
int cache_qos_set_threshold(struct cache_qos *cq, u64 bytes);
u64 cache_qos_default_threshold(const struct cache_qos *cq);

/* Size of a domain, or of all that are online (CACHE_QOS_ALL) */
u64 cache_qos_cache_bytes(const struct cache_qos *cq, u16 domain);

/**
 * struct cache_qos_value - what is known of a monitor
 * @raw: in units; bandwidth: before the correction
 * @bytes: in bytes
 * @bound: occupancy: the truth is in [@bytes - @bound, @bytes]; bandwidth: 0
 * @age_ns: of the oldest reading in it
 * @status: PMUKIT_CACHE_QOS_S_*
 * @generation: changes with the RMIDs behind it
 */
struct cache_qos_value {
	u64 raw;
	u64 bytes;
	u64 bound;
	u64 age_ns;
	u32 status;
	u32 generation;
};

/**
 * cache_qos_monitor_value - the value of a monitor
 * @cq: everything
 * @monitor: its number
 * @event: which value
 * @domain: index, or CACHE_QOS_ALL: the sum. Occupancy leaves out domains that are offline,
 *	bandwidth does not: it never falls.
 * @now_ns: time, for the age
 * @value: filled in, also on errors
 *
 * Return: 0; where no domain has a good reading -ENODATA (unavailable, or not read yet) or -EIO
 * (error); -EOPNOTSUPP: this hardware does not have the event.
 */
int cache_qos_monitor_value(const struct cache_qos *cq, u16 monitor,
			    enum pmukit_cache_qos_event event, u16 domain, u64 now_ns,
			    struct cache_qos_value *value);

/* Between the files of the core */
void cache_qos_changed(struct cache_qos *cq);
u16 cache_qos_set_get(struct cache_qos *cq, const struct cache_qos_members *members);
void cache_qos_set_hold(struct cache_qos *cq, u16 set);
void cache_qos_set_put(struct cache_qos *cq, u16 set);
int cache_qos_atom_get(struct cache_qos *cq, const struct cache_qos_members *members, u64 now_ns);
u32 cache_qos_atom_coarse(struct cache_qos *cq, const struct cache_qos_members *members);
u32 cache_qos_atom_find(struct cache_qos *cq, const struct cache_qos_members *members);
u32 cache_qos_atom_expected(struct cache_qos *cq, const struct cache_qos_members *members);
void cache_qos_atom_leave(struct cache_qos *cq, u32 rmid, u16 monitor, u64 now_ns);
void cache_qos_collect_cell(struct cache_qos *cq, struct cache_qos_cell *cell, u32 rmid);
void cache_qos_free(struct cache_qos *cq, u32 rmid, u64 now_ns);
void cache_qos_mark(struct cache_qos *cq, u32 rmid, u32 status);
void cache_qos_note(struct cache_qos_domain *domain, struct cache_qos_cell *cell, u32 marks);
void cache_qos_domain_gain(struct cache_qos *cq, u16 domain);
void cache_qos_domain_lose(struct cache_qos *cq, u16 domain);

/* Not called where they are: the kernel has macros of these names. */
static inline int cache_qos_rdmsr(const struct pmukit_cache_qos_backend *backend, u32 msr,
				  u64 *value)
{
	int (*read)(u32 msr, u64 *value) = backend->rdmsr;

	return read(msr, value);
}

static inline int cache_qos_wrmsr(const struct pmukit_cache_qos_backend *backend, u32 msr,
				  u64 value)
{
	int (*write)(u32 msr, u64 value) = backend->wrmsr;

	return write(msr, value);
}

static inline bool cache_qos_has(const struct cache_qos_members *members, u16 monitor)
{
	return test_bit(monitor, members->bits);
}

static inline bool cache_qos_empty(const struct cache_qos_members *members)
{
	return bitmap_empty(members->bits, CACHE_QOS_MAX_MONITORS);
}

static inline void cache_qos_add(struct cache_qos_members *members, u16 monitor)
{
	__set_bit(monitor, members->bits);
}

static inline void cache_qos_drop(struct cache_qos_members *members, u16 monitor)
{
	__clear_bit(monitor, members->bits);
}

static inline void cache_qos_unite(struct cache_qos_members *members,
				   const struct cache_qos_members *more)
{
	bitmap_or(members->bits, members->bits, more->bits, CACHE_QOS_MAX_MONITORS);
}

/* Has another user the registers, or is the driver about to yield? */
static inline bool cache_qos_is_taken(const struct cache_qos *cq)
{
	return READ_ONCE(cq->yielded) || READ_ONCE(cq->foreign);
}

static inline bool cache_qos_event_there(const struct cache_qos_hw *hw, u32 event)
{
	return event && event <= CACHE_QOS_NR_EVENTS && hw->events & BIT(event - 1);
}

#endif /* CACHE_QOS_CORE_H */
