/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos_sim: processors with cache monitoring, in memory: registers of each CPU, CPUID, caches
 * whose lines carry a RMID, counters of bandwidth, faults. And reference counters that no register
 * shows: the owner of each line. Pure C without kernel calls; what it works on is the caller's.
 * Documentation/devices/cache_qos_sim-model.rst says what is modelled and what is not.
 *
 * A line of this cache is as large as a unit of the occupancy counter: what CPUID says (scale), or
 * where an L3 is divided among nodes that part of it, as Linux's resctrl takes it.
 */
#ifndef CACHE_QOS_SIM_CORE_H
#define CACHE_QOS_SIM_CORE_H

#include <linux/types.h>

#include "cache_qos_sim_regs.h"

#define CACHE_QOS_SIM_MAX_FAULTS	16
#define CACHE_QOS_SIM_ANY		(~0U)
#define CACHE_QOS_SIM_NR_TRAFFIC	2	/* total, local */
#define CACHE_QOS_SIM_MAX_COUNTERS	32
#define CACHE_QOS_SIM_MAX_BYTES_PER_S	16000000000ULL

/* Processors */

/**
 * struct cache_qos_sim_profile - a processor
 * @name: short, as the parameter has it
 * @amd: AMD's vendor, leaves and field widths; otherwise Intel's
 * @pqm: it has monitoring at all
 * @signature: CPUID.1:EAX
 * @max_rmid_any: CPUID.(0xF,0):EBX
 * @max_rmid: CPUID.(0xF,1):ECX
 * @scale: bytes of a unit
 * @odd_scale: the same on CPUs of odd number
 * @width_field: CPUID.(0xF,1):EAX
 * @width: bits of a bandwidth counter
 * @events: CPUID.(0xF,1):EDX
 * @snc: an L3 may be divided among nodes
 * @qos: CPUID.0x80000020:EBX; CACHE_QOS_SIM_EBX_BMEC: types of traffic can be chosen,
 *	CACHE_QOS_SIM_EBX_ABMC: counters are bound by hand, and in that mode at reset, as Linux
 *	leaves them
 * @mbm_counters: of each L3, where there are fewer than RMIDs; 0: enough
 * @short_above: RMIDs above this one are counted wrongly (erratum BDF102/SKX99); 0: none
 * @short_ppm: what Linux multiplies such counts by, in millionths
 */
struct cache_qos_sim_profile {
	const char *name;
	bool amd;
	bool pqm;
	u32 signature;
	u32 max_rmid_any;
	u32 max_rmid;
	u32 scale;
	u32 odd_scale;
	u32 width_field;
	u32 width;
	u32 events;
	bool snc;
	u32 qos;
	u32 mbm_counters;
	u32 short_above;
	u32 short_ppm;
};

extern const struct cache_qos_sim_profile cache_qos_sim_profiles[];
extern const u32 cache_qos_sim_nr_profiles;

const struct cache_qos_sim_profile *cache_qos_sim_profile_by_name(const char *name);

/* The machine */

/**
 * struct cache_qos_sim_line - a line, all zeros: empty
 * @address: in lines
 * @stamp: when it was used last, in accesses to this L3
 * @filled: when it was brought in
 * @owner: the task that brought it in; index of @cache_qos_sim.owners
 * @rmid: its tag
 * @home: L3 next to the memory it is of
 * @valid: there is something in it
 * @dirty: it was written to
 * @pinned: it is never evicted
 */
struct cache_qos_sim_line {
	u64 address;
	u64 stamp;
	u64 filled;
	u32 owner;
	u16 rmid;
	u8 home;
	bool valid;
	bool dirty;
	bool pinned;
};

/**
 * struct cache_qos_sim_traffic - a counter of bandwidth
 * @truth: units since the machine began; no register shows this
 * @base: @truth where the hardware began to count
 * @read: what the last read made of it, before it was cut to the width
 * @used: when it was read last
 * @tracked: it counts
 */
struct cache_qos_sim_traffic {
	u64 truth;
	u64 base;
	u64 read;
	u64 used;
	bool tracked;
};

/**
 * struct cache_qos_sim_rmid - what one L3 knows of a RMID
 * @lines: how many carry it
 * @traffic: total and local
 */
struct cache_qos_sim_rmid {
	u32 lines;
	struct cache_qos_sim_traffic traffic[CACHE_QOS_SIM_NR_TRAFFIC];
};

/**
 * struct cache_qos_sim_owner - ground truth of one user of the caches, whatever its RMIDs
 * @units: brought in since the machine began: total and local
 * @lines: which are in some L3 now
 */
struct cache_qos_sim_owner {
	u64 units[CACHE_QOS_SIM_NR_TRAFFIC];
	u32 lines;
};

/**
 * struct cache_qos_sim_counter - a counter that is bound by hand
 * @config: CACHE_QOS_SIM_MSR_ABMC_DSC
 * @base: what its RMID had moved when it was bound
 */
struct cache_qos_sim_counter {
	u64 config;
	u64 base;
};

/**
 * struct cache_qos_sim_domain - an L3
 * @id: its number
 * @package: its package's
 * @nr_lines: @ways lines in each set
 * @ways: see there
 * @lines: @nr_lines
 * @rmids: one for each RMID
 * @valid: lines that hold something
 * @clock: accesses so far
 * @snc_config: CACHE_QOS_SIM_MSR_SNC_CONFIG
 * @evt_cfg: CACHE_QOS_SIM_MSR_EVT_CFG
 * @counters: by id
 */
struct cache_qos_sim_domain {
	u32 id;
	u32 package;
	u32 nr_lines;
	u32 ways;
	struct cache_qos_sim_line *lines;
	struct cache_qos_sim_rmid *rmids;
	u32 valid;
	u64 clock;
	u64 snc_config;
	u64 evt_cfg[CACHE_QOS_SIM_NR_TRAFFIC];
	struct cache_qos_sim_counter counters[CACHE_QOS_SIM_MAX_COUNTERS];
};

/**
 * struct cache_qos_sim_cpu - a logical CPU
 * @domain: index of its L3
 * @node: of its L3
 * @evtsel_cpu: the CPU whose QM_EVTSEL it uses
 * @pqr: PQR_ASSOC
 * @evtsel: QM_EVTSEL
 * @ext_cfg: CACHE_QOS_SIM_MSR_EXT_CFG
 * @abmc_cfg: CACHE_QOS_SIM_MSR_ABMC_CFG
 * @pqr_writes: how often it was written, by the driver
 * @evtsel_writes: the same
 * @ctr_reads: how often QM_CTR was read
 * @gp: accesses that raised #GP
 */
struct cache_qos_sim_cpu {
	u32 domain;
	u32 node;
	u32 evtsel_cpu;
	u64 pqr;
	u64 evtsel;
	u64 ext_cfg;
	u64 abmc_cfg;
	u64 pqr_writes;
	u64 evtsel_writes;
	u64 ctr_reads;
	u64 gp;
};

enum cache_qos_sim_fault_kind {
	CACHE_QOS_SIM_FAULT_NONE,
	CACHE_QOS_SIM_FAULT_UNAVAILABLE,	/* QM_CTR says so */
	CACHE_QOS_SIM_FAULT_ERROR,		/* the same */
	CACHE_QOS_SIM_FAULT_GP,			/* a write raises #GP */
	CACHE_QOS_SIM_FAULT_STEAL_EVTSEL,	/* QM_EVTSEL = @value before QM_CTR is read */
	CACHE_QOS_SIM_FAULT_HIJACK_PQR,		/* PQR_ASSOC = @value at the same point */
	CACHE_QOS_SIM_NR_FAULTS
};

/**
 * struct cache_qos_sim_fault - what shall go wrong
 * @kind: how
 * @rmid: only reads of this RMID, or CACHE_QOS_SIM_ANY; for GP: only this MSR
 * @domain: only on CPUs of this L3 (its index), or CACHE_QOS_SIM_ANY
 * @after: so many that match go well first
 * @times: then so many do not
 * @value: what is written; nothing, if the register cannot hold it
 */
struct cache_qos_sim_fault {
	enum cache_qos_sim_fault_kind kind;
	u32 rmid;
	u32 domain;
	u64 after;
	u64 times;
	u64 value;
};

/**
 * struct cache_qos_sim - a machine
 * @profile: its processor
 * @nodes: of each L3 (sub-NUMA clustering); 1: it is not divided
 * @partition: RMIDs are divided among them at reset; otherwise shared, as Linux leaves it
 * @nr_cpus: how many
 * @cpus: so many
 * @nr_domains: how many
 * @domains: so many
 * @nr_owners: how many
 * @owners: so many; 0: all tasks without a page
 * @random: state of the generator; not 0
 * @lru: the least recently used line goes; otherwise any
 * @write_backs: a dirty line that goes is traffic, too
 * @mbm_start: where counters of bandwidth begin
 * @closids: CLOSIDs from here on raise #GP
 * @faults: empty ones are CACHE_QOS_SIM_FAULT_NONE
 */
struct cache_qos_sim {
	const struct cache_qos_sim_profile *profile;
	u32 nodes;
	bool partition;
	u32 nr_cpus;
	struct cache_qos_sim_cpu *cpus;
	u32 nr_domains;
	struct cache_qos_sim_domain *domains;
	u32 nr_owners;
	struct cache_qos_sim_owner *owners;
	u64 random;
	bool lru;
	bool write_backs;
	u64 mbm_start;
	u32 closids;
	struct cache_qos_sim_fault faults[CACHE_QOS_SIM_MAX_FAULTS];
};

void cache_qos_sim_reset(struct cache_qos_sim *sim);
void cache_qos_sim_reset_cpu(struct cache_qos_sim *sim, u32 cpu);
bool cache_qos_sim_inject(struct cache_qos_sim *sim, const struct cache_qos_sim_fault *fault);

/* Writes by another user, not counted as the driver's. False: #GP, and nothing is written. */
bool cache_qos_sim_set_evtsel(struct cache_qos_sim *sim, u32 cpu, u64 value);
bool cache_qos_sim_set_pqr(struct cache_qos_sim *sim, u32 cpu, u64 value);

/* Bytes of a line */
static inline u32 cache_qos_sim_unit(const struct cache_qos_sim *sim)
{
	return sim->profile->scale / sim->nodes;
}

static inline u64 cache_qos_sim_domain_bytes(const struct cache_qos_sim *sim,
					     const struct cache_qos_sim_domain *domain)
{
	return (u64)domain->nr_lines * cache_qos_sim_unit(sim);
}

static inline bool cache_qos_sim_has_abmc(const struct cache_qos_sim *sim)
{
	return sim->profile->qos & CACHE_QOS_SIM_EBX_ABMC;
}

static inline bool cache_qos_sim_has_bmec(const struct cache_qos_sim *sim)
{
	return sim->profile->qos & CACHE_QOS_SIM_EBX_BMEC;
}

/* What the driver sees */

void cache_qos_sim_cpuid(const struct cache_qos_sim *sim, u32 cpu, u32 leaf, u32 subleaf,
			 u32 regs[4]);
bool cache_qos_sim_rdmsr(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 *value);
bool cache_qos_sim_wrmsr(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 value);

/* What programs do */

/**
 * struct cache_qos_sim_access - one access to memory
 * @address: in lines
 * @owner: the task; index of @cache_qos_sim.owners
 * @home: index of the L3 next to that memory
 * @write: it makes the line dirty
 */
struct cache_qos_sim_access {
	u64 address;
	u32 owner;
	u32 home;
	bool write;
};

/**
 * struct cache_qos_sim_stream - a program's way through its memory, round and round
 * @base: where it begins, in lines
 * @lines: how large it is
 * @bytes_per_s: how fast it goes; CACHE_QOS_SIM_MAX_BYTES_PER_S at most
 * @owner: whose it is
 * @home: index of the L3 next to that memory
 * @shuffled: it goes there at random
 * @shared: others of its kind use the same memory; the code that sets @base reads it
 * @at: how far it is
 * @owed: byte-nanoseconds per second not gone yet
 */
struct cache_qos_sim_stream {
	u64 base;
	u64 lines;
	u64 bytes_per_s;
	u32 owner;
	u32 home;
	bool shuffled;
	bool shared;
	u64 at;
	u64 owed;
};

bool cache_qos_sim_touch(struct cache_qos_sim *sim, u32 cpu,
			 const struct cache_qos_sim_access *access);
u64 cache_qos_sim_run(struct cache_qos_sim *sim, u32 cpu, struct cache_qos_sim_stream *stream,
		      u64 ns);
bool cache_qos_sim_stream_of_name(const char *name, u32 unit,
				  struct cache_qos_sim_stream *stream);
void cache_qos_sim_flush(struct cache_qos_sim *sim, u32 domain);
u32 cache_qos_sim_shrink(struct cache_qos_sim *sim, u32 domain, u32 permille);
u32 cache_qos_sim_pin(struct cache_qos_sim *sim, u32 domain, u32 rmid, u32 lines);

#endif /* CACHE_QOS_SIM_CORE_H */
