/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos core: hardware features, monitors, the RMID that each CPU has to carry, and the values
 * of monitors. The core is data and arithmetic only, so tests in user space run the same code.
 *
 * A CPU carries one RMID at a time, in PQR_ASSOC, but several monitors may want to count the same
 * cycles: the monitors of a task, of its group, of the parent of that group, of its cgroup, and of
 * the CPU. So an RMID does not belong to one monitor. An *atom* is a set of monitors that count
 * together. Each atom has one RMID, and the value of a monitor is the sum over the atoms it is in.
 * So monitors do not conflict, and the value of a group includes the values of its children
 * exactly. See Documentation/decisions/0008-cache-qos-atoms.rst.
 *
 *    group of the task ---> set of monitors --+
 *    task               ---> set of monitors --+--> union = members of an atom --> RMID
 *    cgroup of the task ---> set of monitors --+
 *    CPU                ---> set of monitors --+
 *
 * The four sets are interned: a context switch compares only their numbers.
 *
 * An RMID is FREE, then USED by an atom, then in LIMBO until its lines have left the caches, then
 * FREE again. The lines of an RMID in limbo still count for the monitors of its last atom.
 *
 * Other software may use the same registers: resctrl while it is mounted, or a tool such as pqos.
 * Meanwhile the driver yields: the driver writes no register, and values are frozen.
 *
 * Files: cache_qos_hw_core.c (CPUID, registers), cache_qos_l3_core.c (the L3 of a CPU),
 * cache_qos_counter_core.c (assignable counters), cache_qos_atom_core.c (sets, RMIDs),
 * cache_qos_core.c (monitors, nodes, tasks, context switches), cache_qos_turn_core.c (turns of
 * monitors, if there are more monitors than RMIDs), cache_qos_sum_core.c (cells, limbo, values).
 *
 * Locking is up to the caller. The core lock is a raw spinlock taken with interrupts off; callers
 * hold it unless a comment says otherwise. A context switch takes it only if the CPU sees a
 * combination of sets for the first time since the configuration changed. After a change the caller
 * drops the lock and makes the affected CPUs resolve their RMIDs again (by IPI) before it returns:
 * until then a CPU may carry an RMID that is in limbo. Nothing here sleeps or allocates.
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

#define CACHE_QOS_MAX_RMIDS	4096	/* the RMID field of QM_EVTSEL has 12 bits */
#define CACHE_QOS_MAX_DOMAINS	64
#define CACHE_QOS_MAX_MONITORS	512
#define CACHE_QOS_MAX_NODES	512	/* groups and cgroups */
#define CACHE_QOS_MAX_DEPTH	16	/* levels of nodes, without the root */
#define CACHE_QOS_MAX_SETS	2048
#define CACHE_QOS_BUCKET_BITS	9	/* log2 of the buckets in the hash table of atoms */
#define CACHE_QOS_LIMITED_SHARE	4	/* unprivileged users get 1/n of the RMIDs */
#define CACHE_QOS_MAX_READS	8	/* RMIDs read per batch with interrupts off */
#define CACHE_QOS_CACHE_SLOTS	64	/* per CPU: remembered combinations of sets */
#define CACHE_QOS_MAX_COUNTERS	32	/* assignable counters: an id has 5 bits in ABMC_CFG */
#define CACHE_QOS_SPARES	4	/* RMIDs that are allocated next */
#define CACHE_QOS_RECENT	4	/* per CPU: RMIDs that the CPU carried before */

#define CACHE_QOS_NONE		0xffffU	/* no node, no monitor, no domain */
#define CACHE_QOS_ALL		0xfffeU	/* all domains */
#define CACHE_QOS_ROOT		0	/* root node of the groups */
#define CACHE_QOS_MACHINE	0	/* monitor of the whole machine; always exists */
#define CACHE_QOS_MISS		~0U	/* cache_qos_resolve(): resolve_slow() is needed */

/* The hardware: cache_qos_hw_core.c */

/* Events that the hardware counts, as indices; REMOTE is derived from TOTAL and LOCAL */
enum cache_qos_index {
	CACHE_QOS_OCCUPANCY,
	CACHE_QOS_TOTAL,
	CACHE_QOS_LOCAL,
	CACHE_QOS_NR_READ,
	CACHE_QOS_REMOTE = CACHE_QOS_NR_READ,
	CACHE_QOS_NR_EVENTS,
	CACHE_QOS_NR_COUNTED = CACHE_QOS_NR_EVENTS - 1,	/* all except OCCUPANCY */
};

/**
 * struct cache_qos_hw - monitoring features that all CPUs have in common
 * @nr_rmid: number of RMIDs that a CPU may carry, including 0
 * @nodes: NUMA nodes of an L3. Each node has @nr_rmid separate counters: RMID r of the node with
 *	index n is read as RMID n * @nr_rmid + r (cache_qos_hw_divide()).
 * @snc: the CPU model supports sub-NUMA clustering
 * @scale: bytes per counter unit
 * @width: bits of the bandwidth counters
 * @events: BIT(enum cache_qos_index) of supported events, including REMOTE
 * @factor: correction factor for bandwidth above @factor_above, times 2^20; 0: no correction
 * @factor_above: highest RMID that needs no correction
 * @restarts: a counter that was unavailable restarts at 0 (AMD)
 * @abmc: software assigns bandwidth counters to RMIDs (AMD ABMC)
 * @counters: assignable counters of each L3. 0 if @abmc is set: the driver cannot use them, because
 *	it cannot find out which event an assigned counter counts.
 * @types: indexed by event - 1: traffic types of the event, as written to an assigned counter
 * @chosen: BIT(event) of events that are configured to count other traffic than after reset (AMD
 *	BMEC); the driver does not offer them
 * @emulated: the processor is emulated by QEMU (TCG)
 * @wrap_ns: shortest time in which a bandwidth counter can wrap; ~0: never
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
 * cache_qos_hw_read - read the monitoring features of one CPU
 * @backend: the back-end with the registers
 * @cpu: the current CPU; interrupts off
 * @asked: BIT(enum cache_qos_index) of events that the user enables although errata disable them
 * @hw: result
 * @error: set to -errno unless NULL is returned
 *
 * Return: NULL, or the reason why this CPU cannot be used. Needs no lock.
 */
const char *cache_qos_hw_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
			      u32 asked, struct cache_qos_hw *hw, int *error);

/**
 * cache_qos_hw_divide - adapt the features to an L3 that is divided among NUMA nodes
 * @backend: the back-end with the registers
 * @nodes: NUMA nodes of the L3; 0 or 1: not divided
 * @hw: result of cache_qos_hw_read(); number of RMIDs and scale become those of one node
 *
 * Called on the CPU whose features are in @hw. Writes no register, because the kernel decides
 * whether nodes share RMIDs.
 *
 * Return: NULL, or the reason why this CPU cannot be used (-EOPNOTSUPP). Needs no lock.
 */
const char *cache_qos_hw_divide(const struct pmukit_cache_qos_backend *backend, u32 nodes,
				struct cache_qos_hw *hw);

/**
 * struct cache_qos_l3 - the L3 of a CPU
 * @apic_id: APIC id of the CPU
 * @shift: CPUs share the L3 if their APIC ids differ in the lowest @shift bits only
 * @bytes: size of the L3
 */
struct cache_qos_l3 {
	u32 apic_id;
	u32 shift;
	u64 bytes;
};

/* Read the L3 of @cpu, the current CPU, from CPUID. Return: 0, or -ENODEV: no L3. Needs no lock. */
int cache_qos_l3_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
		      struct cache_qos_l3 *l3);

/*
 * Fill in the domain of a CPU in @package and NUMA node @node. @nodes is a bitmap of @nr bits: the
 * NUMA nodes of all present CPUs that share the L3. Needs no lock.
 */
void cache_qos_l3_domain(const struct cache_qos_l3 *l3, u32 package, u32 node,
			 const unsigned long *nodes, u32 nr,
			 struct pmukit_cache_qos_domain *domain);

/**
 * cache_qos_hw_join - restrict features to those that another CPU also has
 * @all: features of the CPUs so far; gets the smaller number of RMIDs and the common events
 * @one: features of the other CPU
 *
 * Return: NULL, or the difference that cannot be supported (-EINVAL). Needs no lock.
 */
const char *cache_qos_hw_join(struct cache_qos_hw *all, const struct cache_qos_hw *one);

/**
 * cache_qos_hw_less - check a CPU that comes online after the others
 * @hw: common features, joined with those of the new CPU
 * @than: common features without the new CPU, after cache_qos_hw_finish()
 *
 * Return: true if the new CPU lacks RMIDs, events or bandwidth counters that the other CPUs have,
 * or if ABMC is on only in the new CPU or only in the other CPUs. Needs no lock.
 */
bool cache_qos_hw_less(const struct cache_qos_hw *hw, const struct cache_qos_hw *than);

/**
 * cache_qos_hw_finish - derive the remaining fields after all CPUs are joined
 * @hw: features of all CPUs
 * @max_bytes_per_second: upper bound for the bandwidth of an L3
 */
void cache_qos_hw_finish(struct cache_qos_hw *hw, u64 max_bytes_per_second);

/*
 * cache_qos_evtsel() returns the value for QM_EVTSEL, cache_qos_delta() the difference between two
 * values of a counter that wrapped at most once, and cache_qos_bytes() the corrected and scaled
 * bandwidth of an RMID.
 */
u64 cache_qos_evtsel(u32 rmid, enum cache_qos_index event);
u64 cache_qos_delta(u64 now, u64 before, u32 width);
u64 cache_qos_bytes(const struct cache_qos_hw *hw, u32 rmid, u64 chunks);

/* Result of one counter read */
enum cache_qos_read_status {
	CACHE_QOS_READ_SKIPPED,		/* not supported, not requested, or back-end busy */
	CACHE_QOS_READ_OK,
	CACHE_QOS_READ_UNAVAILABLE,	/* bit 62 of QM_CTR */
	CACHE_QOS_READ_ERROR,		/* bit 63 of QM_CTR, or the access faulted */
	CACHE_QOS_READ_STOLEN,		/* other software overwrote QM_EVTSEL at each attempt */
};

/**
 * struct cache_qos_sample - counters of an RMID, read together
 * @status: enum cache_qos_read_status, indexed by event
 * @data: raw counter value; valid if @status is CACHE_QOS_READ_OK
 */
struct cache_qos_sample {
	u8 status[CACHE_QOS_NR_READ];
	u64 data[CACHE_QOS_NR_READ];
};

/**
 * cache_qos_read_rmid - read events of an RMID in the domain of this CPU
 * @backend: the back-end with the registers
 * @hw: features of all CPUs
 * @events: BIT(enum cache_qos_index) of events to read (cache_qos_events_wanted()). Other events,
 *	unsupported events and reads for which the back-end is busy get CACHE_QOS_READ_SKIPPED.
 * @rmid: below hw->nr_rmid
 * @paranoid: read QM_EVTSEL back, and retry up to four times if it was changed
 * @sample: result
 *
 * Interrupts off, not in an NMI. This function and cache_qos_read_rmids(), which reads several
 * requests, restore QM_EVTSEL. LOCAL is read before TOTAL, so that local traffic never exceeds
 * total traffic. Local traffic between the two reads counts as REMOTE (TOTAL - LOCAL); this error
 * does not add up over reads, because the next LOCAL includes that traffic. Needs no lock.
 */
void cache_qos_read_rmid(const struct pmukit_cache_qos_backend *backend,
			 const struct cache_qos_hw *hw, u32 events, u32 rmid, bool paranoid,
			 struct cache_qos_sample *sample);

/**
 * struct cache_qos_request - an RMID to read
 * @rmid: the RMID
 * @counted: RMID to write to QM_EVTSEL; differs from @rmid if the L3 is divided among nodes
 * @events: BIT(enum cache_qos_index) of events to read
 * @absent: BIT(enum cache_qos_index) of events without an assigned counter: they are not read and
 *	get CACHE_QOS_READ_UNAVAILABLE
 * @folded: value of cache_qos_cell.folded when the request was made
 * @sample: result
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
 * @bits: one bit per monitor number. CACHE_QOS_MACHINE is never in a set.
 */
struct cache_qos_members {
	DECLARE_BITMAP(bits, CACHE_QOS_MAX_MONITORS);
};

/**
 * struct cache_qos_set - an interned set; number 0 is the empty set
 * @members: monitors in the set
 * @refs: number of nodes, tasks and CPUs that refer to the set; 0: unused
 */
struct cache_qos_set {
	struct cache_qos_members members;
	u32 refs;
};

/**
 * struct cache_qos_sum - a count before and after correction and scaling
 * @raw: in counter units
 * @bytes: in bytes
 */
struct cache_qos_sum {
	u64 raw;
	u64 bytes;
};

/**
 * struct cache_qos_sums - counts of a monitor
 * @of: indexed by event - 1
 */
struct cache_qos_sums {
	struct cache_qos_sum of[CACHE_QOS_NR_COUNTED];
};

/**
 * struct cache_qos_monitor - counts for one target
 * @kind: enum pmukit_cache_qos_kind
 * @used: the number is in use
 * @status: PMUKIT_CACHE_QOS_S_* flags that persist until the monitor ends
 * @generation: incremented when the set of the monitor's RMIDs changes
 * @missed: how often no RMID was available for an atom of the monitor
 * @life: how often this monitor number was allocated
 * @turns: the monitor takes turns; if not, it has its RMIDs until it ends
 * @unsettled: the monitor has waited for an RMID, so lines of its target may be left that were
 *	filled meanwhile
 * @clock: time with RMIDs; read without the lock (cache_qos_turn_ns())
 * @began_ns: when the current turn began
 * @order: increases with the time at which the turn, or the wait for a turn, began
 * @home: set of monitors that gets an RMID when a turn begins
 * @rmids: RMIDs of the monitor's atoms, used or in limbo
 */
struct cache_qos_monitor {
	u8 kind;
	bool used;
	u32 status;
	u32 generation;
	u32 missed;
	u32 life;
	bool turns;
	bool unsettled;
	u64 clock;
	u64 began_ns;
	u64 order;
	struct cache_qos_members home;
	DECLARE_BITMAP(rmids, CACHE_QOS_MAX_RMIDS);
};

/**
 * struct cache_qos_node - a group, or a watched cgroup
 * @used: the number is in use
 * @parent: parent node; CACHE_QOS_NONE: no parent
 * @monitor: monitor of this node; CACHE_QOS_NONE: the nearest ancestor that has a monitor counts it
 * @set: monitors of the node and of all its ancestors. Context switches read it without the lock.
 * @children: number of child nodes
 * @tasks: number of tasks in the group
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
 * struct cache_qos_task - group and monitors of a task; the caller allocates one per tracked task
 * @node: group of the task. Context switches read @node and @set without the lock.
 * @set: monitors of the task itself
 *
 * A task without this struct is in CACHE_QOS_ROOT and has no monitors of its own.
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
 * struct cache_qos_atom - an RMID and the set of monitors that it counts for
 * @state: enum cache_qos_rmid_state
 * @dirty: the RMID was taken out of limbo before it was free
 * @soiled: FREE: lines of earlier monitors are left, above the threshold
 * @limited: the RMID counts against cq->max_limited
 * @suspect: a CPU that should carry the RMID was found with another one; written without the lock
 * @quiet: LIMBO: no CPU has carried the RMID since @since_ns
 * @next: next RMID in the list of free RMIDs
 * @hash_next: next used RMID in the hash bucket; 0: end
 * @members: USED: monitors that it counts for; LIMBO: monitors that still count its lines; FREE:
 *	empty
 * @since_ns: when the RMID entered its state; if @quiet, when cache_qos_carried() found that no CPU
 *	carries the RMID any more
 */
struct cache_qos_atom {
	u8 state;
	bool dirty;
	bool soiled;
	bool limited;
	bool suspect;
	bool quiet;
	u16 next;
	u16 hash_next;
	struct cache_qos_members members;
	u64 since_ns;
};

/**
 * struct cache_qos_cell - readings of an RMID in a domain
 * @occupancy: in counter units, at the last good read
 * @bound: in counter units: upper bound for the part of @occupancy that was filled before the RMID
 *	was allocated
 * @last: counter values at the last good read, indexed by event - 1
 * @chunks: counts since the first read, indexed by event - 1; a count never decreases. REMOTE is
 *	derived from TOTAL and LOCAL.
 * @base: @chunks when the RMID was allocated
 * @moved: cache_qos_domain.moved when the RMID was allocated
 * @time_ns: indexed by event: time of the last good read; 0: none since the domain came online
 * @known: BIT(event): @last is valid
 * @gap: BIT(event): the counter was unavailable after the last good read
 * @served: BIT(event): a counter is assigned to the RMID (ABMC)
 * @skewed: TOTAL or LOCAL missed traffic, perhaps only one of them, so @skew must be set anew
 * @skew: TOTAL - LOCAL minus REMOTE; not 0 if TOTAL or LOCAL has missed traffic
 * @status: enum cache_qos_read_status of the last read, indexed by event
 * @marks: PMUKIT_CACHE_QOS_S_* that cache_qos_collect() adds to the status of the RMID's monitors;
 *	and CACHE_QOS_MARK_NEW
 * @folded: number of readings that were folded in, plus one for each time that readings in progress
 *	became invalid
 */
struct cache_qos_cell {
	u64 occupancy;
	u64 bound;
	u64 last[CACHE_QOS_NR_READ - 1];
	u64 chunks[CACHE_QOS_NR_COUNTED];
	u64 base[CACHE_QOS_NR_COUNTED];
	u64 moved;
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

/* Mark of a cell: a counter was read for the first time, so monitors of the RMID miss traffic */
#define CACHE_QOS_MARK_NEW	BIT(31)

/**
 * struct cache_qos_reads - numbers of reads without an exact value
 * @unavailable: the hardware had no value
 * @errors: the hardware returned an error
 * @stolen: the driver gave up because other software kept writing QM_EVTSEL
 * @uncertain: the count is a lower bound, because the counter may have wrapped
 */
struct cache_qos_reads {
	u64 unavailable;
	u64 errors;
	u64 stolen;
	u64 uncertain;
};

/**
 * struct cache_qos_tally - a sum over cells
 * @sum: the sum
 * @bound: sum of the bounds, in counter units
 * @oldest_ns: time of the oldest reading
 * @good: number of cells whose last read was good
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
	CACHE_QOS_COUNTER_OTHERS,	/* assigned by other software, or cannot be assigned */
};

/**
 * struct cache_qos_counter - an assignable counter (ABMC)
 * @rmid: RMID whose traffic it counts, if @state is CACHE_QOS_COUNTER_OURS
 * @event: CACHE_QOS_TOTAL or CACHE_QOS_LOCAL, if @state is CACHE_QOS_COUNTER_OURS
 * @state: enum cache_qos_counter_state
 */
struct cache_qos_counter {
	u32 rmid;
	u8 event;
	u8 state;
};

/**
 * struct cache_qos_domain - an L3, or the part of an L3 that belongs to a NUMA node
 * @lock: raw, interrupts off; nests inside the core lock. Protects @cells to @machine. Functions
 *	for which one reading more or less does not matter read these members without the lock.
 * @is: description from the back-end
 * @nr_cpus: online CPUs of the domain; 0: the domain is offline
 * @cells: indexed by RMID; allocated and cleared by the caller
 * @accumulated: indexed by monitor: counts of RMIDs that the monitor no longer has; allocated and
 *	cleared by the caller
 * @violations: readings and passes that found more lines than the cache has
 * @moved: sum of the TOTAL counts of all RMIDs at the last pass, in counter units
 * @marked: a cell has marks
 * @reads: numbers of reads without an exact value
 * @machine: sums over all RMIDs at the last pass, indexed by enum cache_qos_index
 * @scanned: @counters agrees with the hardware
 * @counters: assignable counters, indexed by id. Used without a lock by the domain's reader, and
 *	when the domain's last CPU goes offline.
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
 * @key: the numbers of the four sets
 * @generation: generation of the configuration in which @rmid was found; 0: the slot is unused
 * @rmid: RMID of the combination
 */
struct cache_qos_slot {
	u64 key;
	u32 generation;
	u32 rmid;
};

/**
 * struct cache_qos_cpu - a CPU. All fields except @set are written on the CPU itself, with
 *	interrupts off.
 * @cpu: number of the CPU
 * @set: monitors of the CPU
 * @domain: index of its domain; CACHE_QOS_NONE: the CPU has never been online
 * @rmid: RMID that the CPU carries; other CPUs read @rmid to learn which RMIDs are in use
 * @pqr: value of PQR_ASSOC that was last written, or last read with @rmid in it
 * @recent: RMIDs that the CPU carried before @rmid. pqos and rdtset read PQR_ASSOC, change its
 *	upper half and write both halves, so one of these RMIDs may reappear.
 * @foreign: RMID of other software, found in PQR_ASSOC of this CPU; 0: none
 * @online: the CPU is included in nr_cpus of its domain
 * @ready: PQR_ASSOC was read and may be written
 * @slots: remembered combinations of sets
 * @switching: the sched_switch probe runs and may use the old configuration
 * @checked_ns: when PQR_ASSOC was last compared with @rmid
 * @writes: number of writes of PQR_ASSOC
 * @faults: number of accesses of PQR_ASSOC that failed
 * @hijacks: how often other software had changed the RMID in PQR_ASSOC
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

/* Argument of cache_qos.notify */
enum cache_qos_rmid_event {
	CACHE_QOS_RMID_EVENT_ALLOC,
	CACHE_QOS_RMID_EVENT_LIMBO,
	CACHE_QOS_RMID_EVENT_FREE,
	CACHE_QOS_RMID_EVENT_DIRTY,	/* remains in limbo: too many lines */
};

/**
 * struct cache_qos_stats - statistics since the driver was loaded
 * @partial: how often no RMID was available for an atom
 * @dirty: RMIDs allocated with lines above the threshold
 * @turns: turns of monitors that began
 */
struct cache_qos_stats {
	u64 partial;
	u64 dirty;
	u64 turns;
};

/**
 * struct cache_qos - core state
 * @hw: features of all CPUs
 * @backend: the back-end with the registers
 * @threshold: in counter units: an RMID in limbo with fewer lines in every domain becomes free
 * @limbo_min_ns: how long an RMID stays in limbo if occupancy cannot be read
 * @alloc_dirty: if no RMID is free, allocate the RMID in limbo with the fewest lines
 * @rotate_ns: length of a turn; 0: there are no turns
 * @force: overwrite RMIDs of other software
 * @yielded: other software has the registers: counters are not read, values are frozen
 * @claimed: @yielded because resctrl is mounted
 * @yield_clock: time for which the driver has yielded, as cache_qos_monitor.clock; read without the
 *	lock
 * @foreign: an RMID of other software was found in PQR_ASSOC: nothing is written until
 *	cache_qos_resume(), and the caller has to yield. Set without the lock.
 * @starved: no RMID was available for an atom; CPUs resolve their RMIDs again once an RMID is free
 * @generation: generation of the configuration; never 0
 * @notify: callback for events of RMIDs; may be NULL. Called under the core lock, also at context
 *	switches.
 * @stats: statistics
 * @nr_atoms: number of RMIDs, without RMID 0, indexed by enum cache_qos_rmid_state
 * @first_free: oldest free RMID; 0: none. Passes read it without the lock, as well as @state of an
 *	atom and @occupancy of a cell.
 * @last_free: newest free RMID
 * @waiting: monitors that wait for their turn
 * @nr_waiting: number of monitors in @waiting; read without the lock
 * @next_order: next value of cache_qos_monitor.order
 * @limited: monitors of unprivileged users
 * @nr_limited: number of RMIDs, used or in limbo, of atoms that had a monitor in @limited when they
 *	were allocated
 * @max_limited: limit for @nr_limited, so that RMIDs remain for privileged users
 * @spares: RMIDs that are allocated next, as the last cache_qos_carried() found them; 0: none
 * @carried: RMIDs that CPUs carried when cache_qos_carried() was last called
 * @buckets: hash table of used atoms, by their members; 0: empty
 * @atoms: indexed by RMID, hw.nr_rmid entries; allocated and cleared by the caller
 * @cpus: indexed by CPU number; NULL: the CPU is not possible. Allocated by the caller.
 * @nr_cpus: entries in @cpus
 * @nr_domains: number of domains that have ever been online
 * @free_sets: unused entries in @sets
 * @top_set: highest index in @sets that was ever used
 * @last_monitor: monitor number that was allocated last; 0: none yet
 * @domains: in the order in which they first came online
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
	u64 rotate_ns;
	bool force;
	bool yielded;
	bool claimed;
	u64 yield_clock;
	bool foreign;
	bool starved;
	u32 generation;
	void (*notify)(struct cache_qos *cq, enum cache_qos_rmid_event news, u32 rmid);
	struct cache_qos_stats stats;
	u32 nr_atoms[CACHE_QOS_LIMBO + 1];
	u16 first_free;
	u16 last_free;
	struct cache_qos_members waiting;
	u32 nr_waiting;
	u64 next_order;
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

/* Setup and CPUs: cache_qos_core.c */

/**
 * cache_qos_init - set up the initial state: one monitor, which is the machine's; RMIDs 1 and
 *	higher in limbo
 * @cq: cleared
 * @backend: the back-end with the registers
 * @hw: features of all CPUs, after cache_qos_hw_finish()
 * @atoms: cleared, hw->nr_rmid entries
 * @cpus: an entry per possible CPU, cleared except for its field cpu
 * @nr_cpus: entries in @cpus
 *
 * RMIDs become free when the first passes find them clean: the caller reads all RMIDs in all
 * domains (cache_qos_fold()), then calls cache_qos_limbo_pass(). The first cache_qos_domain_add()
 * sets the threshold to its default; cache_qos_set_threshold() changes it.
 */
void cache_qos_init(struct cache_qos *cq, const struct pmukit_cache_qos_backend *backend,
		    const struct cache_qos_hw *hw, struct cache_qos_atom *atoms,
		    struct cache_qos_cpu **cpus, unsigned int nr_cpus);

/**
 * cache_qos_cpu_online - add a CPU; reads PQR_ASSOC
 * @cq: core state
 * @cpu: number of the CPU on which the function is called
 * @domain: index of its domain
 *
 * PQR_ASSOC is not written before the first cache_qos_carry(). While other software has the
 * registers, the CPU is only counted in its domain.
 *
 * Return: 0, -EBUSY: PQR_ASSOC has an RMID of other software (not with cq->force), -EIO: PQR_ASSOC
 * is missing.
 */
int cache_qos_cpu_online(struct cache_qos *cq, unsigned int cpu, u16 domain);

/* A CPU goes offline: its RMID becomes 0, and its domain has one CPU less. Called on the CPU. */
void cache_qos_cpu_offline(struct cache_qos *cq, unsigned int cpu);

/*
 * When the driver unloads or yields: set the RMID of this CPU to 0 if it is still the one the
 * driver wrote. If resctrl has the registers, the upper half must be unchanged too: resctrl writes
 * both halves together, so after a change of the upper half the RMID is resctrl's even if its
 * number is the same. PQR_ASSOC is not written again until cache_qos_cpu_online(). Called on the
 * CPU, interrupts off; needs no lock.
 */
void cache_qos_cpu_release(struct cache_qos *cq, unsigned int cpu);

/*
 * While other software has the registers: read PQR_ASSOC of this CPU and store its RMID in
 * cache_qos_cpu.foreign. Called on the CPU, interrupts off; needs no lock.
 */
void cache_qos_cpu_look(struct cache_qos *cq, unsigned int cpu);

/*
 * Monitors: cache_qos_core.c
 *
 * If an RMID is needed and none is available, functions return -EBUSY if some RMIDs are in limbo or
 * the driver has yielded, and -ENOSPC if all are used or the limit for unprivileged users is
 * exceeded. They also return -ENOSPC if a table is full. A function that fails changes nothing.
 */

/*
 * Allocate a monitor, which has no target yet. Return: its number or -ENOSPC. Numbers are allocated
 * round-robin, so a number is used again as late as possible.
 */
int cache_qos_monitor_make(struct cache_qos *cq, enum pmukit_cache_qos_kind kind);

/* Mark a monitor of an unprivileged user: at most cq->max_limited RMIDs count for such monitors. */
void cache_qos_monitor_limit(struct cache_qos *cq, u16 monitor);

/*
 * End a monitor: remove it from all sets and atoms. The RMIDs of atoms that are no longer needed go
 * into limbo. Do not call this for CACHE_QOS_MACHINE; to end the monitor of a node, call
 * cache_qos_node_monitor().
 */
void cache_qos_monitor_end(struct cache_qos *cq, u16 monitor, u64 now_ns);

/*
 * Make a monitor count a task or a CPU. Return: 0 (also if the monitor already counts the task or
 * CPU), -EBUSY or -ENOSPC.
 *
 * The watch functions allocate the needed RMID at once, so that an event counts as soon as it is
 * open. If @must is false, no RMID is allocated: this is for a child that inherits an event,
 * because fork() must not fail for lack of an RMID. cache_qos_cpu_unwatch() frees no RMID;
 * cache_qos_monitor_end() does. A task is watched until it exits or the monitor ends.
 */
int cache_qos_task_watch(struct cache_qos *cq, struct cache_qos_task *task, u16 monitor,
			 bool must, u64 now_ns);
int cache_qos_cpu_watch(struct cache_qos *cq, unsigned int cpu, u16 monitor, u64 now_ns);
void cache_qos_cpu_unwatch(struct cache_qos *cq, unsigned int cpu, u16 monitor);

/*
 * Turns: cache_qos_turn_core.c
 *
 * If cq->rotate_ns is set, a monitor may take turns: cache_qos_turns_join() instead of an RMID at
 * once. The monitor then waits until cache_qos_turns_start() gives it RMIDs. Other monitors keep
 * their RMIDs until they end. The machine's monitor needs no RMID and takes no turns.
 *
 * After each pass the caller takes the steps of a rotation, with the lock dropped between two
 * steps: it calls cache_qos_turns_stop() as often as cache_qos_turns_over() returns, then
 * cache_qos_turns_start() until that returns false, then cache_qos_turn_settle() for each monitor.
 */

/* Called once, directly after cache_qos_monitor_make() and cache_qos_monitor_limit(). */
void cache_qos_turns_join(struct cache_qos *cq, u16 monitor);

/*
 * Number of turns to end: the monitors that wait and that no free RMID and no RMID in limbo will
 * serve, but at most the turns that have lasted cq->rotate_ns. Marks the values of all monitors
 * that wait.
 */
u32 cache_qos_turns_over(struct cache_qos *cq, u64 now_ns);

/* End the oldest turn that has lasted cq->rotate_ns. */
void cache_qos_turns_stop(struct cache_qos *cq, u64 now_ns);

/*
 * Begin the turn of the monitor that has waited longest, or do nothing if that is not @only.
 * CACHE_QOS_NONE: any monitor. Return: true if a turn has begun.
 */
bool cache_qos_turns_start(struct cache_qos *cq, u16 only, u64 now_ns);

/*
 * End PMUKIT_CACHE_QOS_S_UNSETTLED if as much was moved, since the monitor got its RMIDs, as the
 * caches hold in which it has lines.
 */
void cache_qos_turn_settle(struct cache_qos *cq, u16 monitor);

/*
 * The driver yields (@pause) or resumes: while other software has the registers, no time passes for
 * turns.
 */
void cache_qos_turns_pause(struct cache_qos *cq, bool pause, u64 now_ns);

/*
 * Time for which the monitor had RMIDs, in ns. Only for a monitor that takes turns. Needs no lock.
 */
u64 cache_qos_turn_ns(const struct cache_qos *cq, u16 monitor, u64 now_ns);

/*
 * The yields so far, in one word, for the two functions below: whether one lasts, so that their
 * time depends on the current time; and their time, in ns. @now_ns is not used if none lasts. Needs
 * no lock.
 */
u64 cache_qos_yields(const struct cache_qos *cq);
bool cache_qos_yield_lasts(u64 yields);
u64 cache_qos_yields_ns(u64 yields, u64 now_ns);

/*
 * The part of @ran_ns, running time as perf counts it, in which the monitor had no RMIDs. By the
 * driver's clock @all_ns have passed, with RMIDs in @had_ns of them. The result is exact if that is
 * all or none of the time, and never more than @ran_ns: the two clocks need not agree.
 */
u64 cache_qos_turn_missed(u64 ran_ns, u64 all_ns, u64 had_ns);

/**
 * struct cache_qos_look - the times of an event when it was looked at
 * @at_ns: time by the driver's clock; 0: not read, because no yield lasted and no turn counts
 * @without_ns: time so far in which the event could not count, without RMIDs or registers
 * @ran_ns: running time as perf counts it
 */
struct cache_qos_look {
	u64 at_ns;
	u64 without_ns;
	u64 ran_ns;
};

/* The part of the running time between two looks in which the event could not count. */
u64 cache_qos_look_missed(const struct cache_qos_look *from, const struct cache_qos_look *to);

/* Return: true if a monitor waits for its turn. Without the lock, the result may be outdated. */
bool cache_qos_turn_waits(const struct cache_qos *cq);

/* Trees of groups and of cgroups: cache_qos_core.c */

/**
 * cache_qos_node_make - add a group, or a cgroup to watch
 * @cq: core state
 * @parent: parent node; CACHE_QOS_ROOT for a top-level group; CACHE_QOS_NONE for a cgroup without a
 *	watched ancestor
 *
 * The node has no monitor yet: its tasks count for the nearest ancestor that has one.
 *
 * Return: number of the node, -ENOSPC: too many nodes, -ENAMETOOLONG: deeper than
 * CACHE_QOS_MAX_DEPTH.
 */
int cache_qos_node_make(struct cache_qos *cq, u16 parent);

/**
 * cache_qos_node_remove - remove a group or cgroup
 * @cq: core state
 * @node: without tasks (move them to the parent first) and without children
 * @now_ns: current time
 *
 * The monitor of the node ends; its lines in the cache stay in the sums of its ancestors.
 *
 * Return: 0, -ENOTEMPTY: it has children, -EBUSY: it has tasks.
 */
int cache_qos_node_remove(struct cache_qos *cq, u16 node, u64 now_ns);

/**
 * cache_qos_node_monitor - switch the monitor of a group or cgroup on or off
 * @cq: core state
 * @node: not CACHE_QOS_ROOT, whose monitor is always CACHE_QOS_MACHINE
 * @on: true: the node gets a monitor and an RMID at once; false: its monitor ends
 * @kind: PMUKIT_CACHE_QOS_KIND_GROUP or PMUKIT_CACHE_QOS_KIND_CGROUP
 * @now_ns: current time
 *
 * Return: 0 even if nothing changes, -EBUSY or -ENOSPC as for all functions on monitors (configfs
 * reports -EAGAIN), -EINVAL for the root.
 */
int cache_qos_node_monitor(struct cache_qos *cq, u16 node, bool on,
			   enum pmukit_cache_qos_kind kind, u64 now_ns);

/*
 * Switch the monitor of a cgroup on, as cache_qos_node_monitor() does. @limited: it is the monitor
 * of an unprivileged user (cache_qos_monitor_limit()). @turns: it takes turns.
 */
int cache_qos_node_watch(struct cache_qos *cq, u16 node, bool limited, bool turns, u64 now_ns);

/*
 * Change the parent of a node, after a cgroup between the node's cgroup and that of its nearest
 * watched ancestor was added to, or removed from, the watched cgroups.
 * Return: 0 or -ENAMETOOLONG.
 */
int cache_qos_node_reparent(struct cache_qos *cq, u16 node, u16 parent);

/*
 * The nearest node that has a monitor: @node itself or an ancestor; CACHE_QOS_NONE: none. For
 * groups the search ends at CACHE_QOS_ROOT, which always has a monitor.
 */
u16 cache_qos_node_monitored(const struct cache_qos *cq, u16 node);

/*
 * Tasks: cache_qos_core.c
 *
 * A new task is in CACHE_QOS_ROOT without monitors of its own. The caller moves a child to the
 * group of its parent, and watches it for each inherited event. An unmonitored task need not be
 * tracked.
 */
void cache_qos_task_init(struct cache_qos *cq, struct cache_qos_task *task);
void cache_qos_task_move(struct cache_qos *cq, struct cache_qos_task *task, u16 node);
void cache_qos_task_exit(struct cache_qos *cq, struct cache_qos_task *task);
bool cache_qos_task_is_unmonitored(const struct cache_qos *cq, const struct cache_qos_task *task);

/* Context switches: cache_qos_core.c */

/**
 * cache_qos_resolve - look up the RMID for a task among the combinations this CPU has seen
 * @cq: core state
 * @cpu: this CPU; interrupts off
 * @task: the task; NULL if the task is not tracked or is the idle task
 * @cgroup: node of the nearest watched cgroup of the task; CACHE_QOS_NONE if there is none or the
 *	task is the idle task
 *
 * Return: an RMID, or CACHE_QOS_MISS. Needs and takes no lock, writes nothing.
 */
u32 cache_qos_resolve(const struct cache_qos *cq, const struct cache_qos_cpu *cpu,
		      const struct cache_qos_task *task, u16 cgroup);

/**
 * cache_qos_resolve_slow - find or make the atom for a task, and remember the combination
 * @cq: core state
 * @cpu: this CPU
 * @task: as for cache_qos_resolve()
 * @cgroup: as for cache_qos_resolve()
 * @now_ns: current time
 *
 * If no RMID is available for the atom, the RMID of another atom is used, whose monitors are a
 * subset (cache_qos_atom_coarse()), or else RMID 0. So no monitor counts too much; a monitor that
 * is left out gets PMUKIT_CACHE_QOS_S_PARTIAL.
 *
 * Return: an RMID.
 */
u32 cache_qos_resolve_slow(struct cache_qos *cq, struct cache_qos_cpu *cpu,
			   const struct cache_qos_task *task, u16 cgroup, u64 now_ns);

/*
 * The RMID that a task needs on @cpu, which need not be this CPU; CACHE_QOS_MISS: not allocated
 * yet. Changes nothing.
 */
u32 cache_qos_expected(struct cache_qos *cq, const struct cache_qos_cpu *cpu,
		       const struct cache_qos_task *task, u16 cgroup);

/*
 * Make this CPU carry @rmid: read PQR_ASSOC, and write it with @rmid and the upper half that was
 * read. PQR_ASSOC is not accessed if the CPU already carries @rmid, if the CPU is not ready, or
 * after cache_qos_yield(). Interrupts off; needs no lock.
 *
 * If PQR_ASSOC has another RMID than the driver wrote, this counts as a hijack, and monitors of the
 * replaced RMID get PMUKIT_CACHE_QOS_S_SUSPECT. The driver overwrites the found RMID if it is 0, if
 * cq->force is set, or if this CPU carried the RMID recently: tools that set classes of service
 * write back the RMID they read before. Any other RMID belongs to another tool: the driver leaves
 * it, sets cq->foreign and writes no register from then on.
 */
void cache_qos_carry(struct cache_qos *cq, struct cache_qos_cpu *cpu, u32 rmid);

/*
 * Compare the RMID of this CPU with the one the driver wrote, and handle a difference as
 * cache_qos_carry() does. Return: false if they differ. Interrupts off; needs no lock.
 */
bool cache_qos_check_pqr(struct cache_qos *cq, struct cache_qos_cpu *cpu);

/* After each pass: monitors of RMIDs that were found replaced get PMUKIT_CACHE_QOS_S_SUSPECT. */
void cache_qos_mark_suspects(struct cache_qos *cq);

/* Domains, readings, limbo: cache_qos_sum_core.c */

/* Index of the domain with the back-end's number @id; CACHE_QOS_NONE: it was never online. */
u16 cache_qos_domain_find(const struct cache_qos *cq, u32 id);

/**
 * cache_qos_domain_add - add a domain that is seen for the first time
 * @cq: core state
 * @is: description from the back-end
 * @cells: cleared, hw.nr_rmid entries
 * @accumulated: cleared, CACHE_QOS_MAX_MONITORS entries
 *
 * Return: index of the domain or -ENOSPC.
 */
int cache_qos_domain_add(struct cache_qos *cq, const struct pmukit_cache_qos_domain *is,
			 struct cache_qos_cell *cells, struct cache_qos_sums *accumulated);

/*
 * Return: true if pass number @pass has to read an RMID in a domain. RMID 0, RMIDs that are used or
 * in limbo, RMIDs with lines in the domain and the RMID that is allocated next are read in every
 * pass; other free RMIDs in some passes. Needs no lock: if the state of the RMID changes meanwhile,
 * either state may be used.
 */
bool cache_qos_wanted(const struct cache_qos *cq, u16 domain, u32 rmid, u32 pass);

/*
 * Events of the RMID to read, usually all. If the hardware has fewer bandwidth counters than RMIDs
 * (AMD), a read may take a counter away from an RMID that a CPU carries. On such hardware,
 * bandwidth is not read for free RMIDs, and for RMIDs in limbo only until their last traffic is
 * counted.
 */
u32 cache_qos_events_wanted(const struct cache_qos *cq, u16 domain, u32 rmid);

/*
 * Counters are read without a lock; afterwards the reading is folded in: its counts are added to
 * the cell of the RMID. On the CPU that reads, cache_qos_ask() fills in a request,
 * cache_qos_read_rmids() reads the counters, and cache_qos_fold() folds the reading in under the
 * domain's lock, or drops it if @wait is false and the lock is taken. cache_qos_fold() also drops a
 * reading if another one was folded in since cache_qos_ask(), because that one may be newer. All
 * three run with interrupts off.
 */
void cache_qos_ask(const struct cache_qos *cq, u16 domain, u32 rmid,
		   struct cache_qos_request *request);
void cache_qos_fold(struct cache_qos *cq, u16 domain, const struct cache_qos_request *request,
		    u64 now_ns, bool wait);

/*
 * Move the marks of a domain's cells into the status of monitors. Takes the domain's lock, under
 * the core lock.
 */
void cache_qos_collect(struct cache_qos *cq, u16 domain);

/*
 * For assignable counters (hw.counters), before each pass of a domain: _scan() finds counters that
 * are already assigned; _release() releases the driver's counters whose RMIDs need them no longer,
 * or all of the driver's counters if @all; _wanted() returns true if an RMID lacks counters that it
 * needs, and _bind() assigns them. Called on a CPU of the domain, interrupts off; all except
 * _wanted() take the domain's lock.
 */
void cache_qos_counters_scan(struct cache_qos *cq, u16 domain);
void cache_qos_counters_release(struct cache_qos *cq, u16 domain, bool all);
bool cache_qos_counters_wanted(const struct cache_qos *cq, u16 domain, u32 rmid);
void cache_qos_counters_bind(struct cache_qos *cq, u16 domain, u32 rmid, u64 now_ns);

/*
 * Find the RMIDs in limbo that no CPU carries any more, and update cq->spares, the RMIDs that are
 * allocated next. Called before the counters are read: a CPU that carries an RMID in limbo until
 * its next context switch still fills lines and moves bytes, so only a later reading is final.
 */
void cache_qos_carried(struct cache_qos *cq, u64 now_ns);

/*
 * Check @nr RMIDs, starting at @first, and free those in limbo that are clean: no CPU carries the
 * RMID any more, and a later reading was clean in each domain. Called for all RMIDs after each
 * pass. Return: number of RMIDs freed.
 */
u32 cache_qos_limbo_pass(struct cache_qos *cq, u32 first, u32 nr, u64 now_ns);

/* Numbers of reads without an exact value, over all domains. Needs no lock. */
struct cache_qos_reads cache_qos_count_reads(const struct cache_qos *cq);

/*
 * After a pass: compute the machine's sums in a domain. Takes the domain's lock, and needs no other
 * lock. More lines than the cache has count as a violation. RMIDs are read one after the other, so
 * a line that changes its RMID meanwhile may be counted twice: the check tolerates as many lines as
 * were moved since the last pass. There is no check if that number is unknown.
 */
void cache_qos_check_domain(struct cache_qos *cq, u16 domain);

/*
 * Yield the registers to other software: to resctrl if @claimed, otherwise to a tool whose RMID was
 * found. From then on values are frozen and no register is written. The caller calls
 * cache_qos_cpu_release() on each CPU. When the registers are free again, the caller calls
 * cache_qos_resume(), which puts free RMIDs into limbo and makes counting start at the next
 * reading, then cache_qos_cpu_online() on each CPU.
 */
void cache_qos_yield(struct cache_qos *cq, bool claimed);
void cache_qos_resume(struct cache_qos *cq);

/* The counters of a domain may have changed during suspend: count from the next values read. */
void cache_qos_rebase(struct cache_qos *cq, u16 domain);

/* Set the limbo threshold in bytes, rounded down to units; -EINVAL: above the smallest L3. */
int cache_qos_set_threshold(struct cache_qos *cq, u64 bytes);
u64 cache_qos_default_threshold(const struct cache_qos *cq);

/* Size of a domain, or of all online domains (CACHE_QOS_ALL); 0: the domain is offline */
u64 cache_qos_cache_bytes(const struct cache_qos *cq, u16 domain);

/**
 * struct cache_qos_value - value of a monitor
 * @raw: in counter units; bandwidth: before the correction
 * @bytes: in bytes
 * @bound: occupancy: the true value is in [@bytes - @bound, @bytes]; bandwidth: 0
 * @age_ns: age of the oldest reading in the value
 * @status: PMUKIT_CACHE_QOS_S_*
 * @generation: incremented when the set of the monitor's RMIDs changes
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
 * cache_qos_monitor_value - compute the value of a monitor
 * @cq: core state
 * @monitor: number of the monitor
 * @event: event type
 * @domain: index of a domain, or CACHE_QOS_ALL: sum of all. Occupancy omits offline domains;
 *	bandwidth includes them, so that it never decreases.
 * @now_ns: current time, for the age
 * @value: result, also filled in on errors
 *
 * Return: 0; if no domain has a good reading, -ENODATA (unavailable, or not read yet) or -EIO
 * (error); -EOPNOTSUPP: the hardware does not support the event.
 */
int cache_qos_monitor_value(const struct cache_qos *cq, u16 monitor,
			    enum pmukit_cache_qos_event event, u16 domain, u64 now_ns,
			    struct cache_qos_value *value);

#define cache_qos_for_each_member(_m, _members)				\
	for_each_set_bit(_m, (_members)->bits, CACHE_QOS_MAX_MONITORS)

/* Internal functions of the core */
void cache_qos_changed(struct cache_qos *cq);
u16 cache_qos_set_get(struct cache_qos *cq, const struct cache_qos_members *members);
void cache_qos_set_hold(struct cache_qos *cq, u16 set);
void cache_qos_set_put(struct cache_qos *cq, u16 set);
int cache_qos_atom_get(struct cache_qos *cq, const struct cache_qos_members *members, u64 now_ns);
u32 cache_qos_atom_coarse(struct cache_qos *cq, const struct cache_qos_members *members);
u32 cache_qos_atom_find(struct cache_qos *cq, const struct cache_qos_members *members);
u32 cache_qos_atom_expected(struct cache_qos *cq, const struct cache_qos_members *members);
void cache_qos_atom_leave(struct cache_qos *cq, u32 rmid, u16 monitor, u64 now_ns);
void cache_qos_atom_part(struct cache_qos *cq, u32 rmid, u16 monitor, u64 now_ns);
u32 cache_qos_unread(const struct cache_qos *cq, u32 rmid);
void cache_qos_turns_leave(struct cache_qos *cq, u16 monitor);
void cache_qos_awake(const struct cache_qos *cq, struct cache_qos_members *members);
int cache_qos_reserve(struct cache_qos *cq, u16 monitor, const struct cache_qos_members *members,
		      u64 now_ns);
void cache_qos_collect_cell(struct cache_qos *cq, struct cache_qos_cell *cell, u32 rmid);
void cache_qos_free(struct cache_qos *cq, u32 rmid, u64 now_ns);
void cache_qos_mark(struct cache_qos *cq, u32 rmid, u32 status);
void cache_qos_note(struct cache_qos_domain *domain, struct cache_qos_cell *cell, u32 marks);
void cache_qos_domain_gain(struct cache_qos *cq, u16 domain);
void cache_qos_domain_lose(struct cache_qos *cq, u16 domain);

/* These functions call through a local variable: the kernel has macros named rdmsr and wrmsr. */
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

/* Return: true if other software has the registers, or the driver is about to yield. */
static inline bool cache_qos_registers_taken(const struct cache_qos *cq)
{
	return READ_ONCE(cq->yielded) || READ_ONCE(cq->foreign);
}

static inline bool cache_qos_event_there(const struct cache_qos_hw *hw, u32 event)
{
	return event && event <= CACHE_QOS_NR_EVENTS && hw->events & BIT(event - 1);
}

#endif /* CACHE_QOS_CORE_H */
