/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos_sim: a model of processors with cache monitoring: registers of each CPU, CPUID, caches
 * whose lines are tagged with an RMID, bandwidth counters, faults. Reference counters record the
 * owner of each line; no register shows them. Pure C without kernel calls; the caller allocates all
 * memory. Documentation/devices/cache_qos_sim-model.rst describes what is modeled and what is not.
 *
 * A line of the model is as large as a unit of the occupancy counter: the scale of CPUID, divided
 * by the number of nodes if an L3 is divided among nodes, as in Linux's resctrl.
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
 * @name: short name, as in the module parameter
 * @amd: the processor has AMD's vendor name, CPUID leaves and field widths; otherwise Intel's
 * @pqm: the processor has monitoring
 * @signature: CPUID.1:EAX
 * @max_rmid_any: CPUID.(0xF,0):EBX
 * @max_rmid: CPUID.(0xF,1):ECX
 * @scale: bytes per counter unit
 * @odd_scale: bytes per counter unit on CPUs with odd numbers; 0: the same as @scale
 * @width_field: CPUID.(0xF,1):EAX
 * @width: bits of a bandwidth counter
 * @events: CPUID.(0xF,1):EDX
 * @snc: an L3 may be divided among nodes
 * @qos: CPUID.0x80000020:EBX. CACHE_QOS_SIM_EBX_BMEC: traffic types can be configured.
 *	CACHE_QOS_SIM_EBX_ABMC: software assigns counters; this mode is on at reset, because Linux
 *	enables it.
 * @mbm_counters: number of bandwidth counters of each L3; 0: enough for all RMIDs
 * @short_above: RMIDs above this one are counted wrongly (erratum BDF102/SKX99); 0: none
 * @short_ppm: factor by which Linux corrects such counts, in millionths
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
 * struct cache_qos_sim_line - a cache line; all zeros: empty
 * @address: in lines
 * @stamp: clock of the L3 when the line was last used
 * @filled: clock of the L3 when the line was filled
 * @owner: task that filled the line; index in cache_qos_sim.owners
 * @rmid: RMID that the line is tagged with
 * @home: index of the L3 to which the memory of the line is local
 * @valid: the line is not empty
 * @dirty: the line was written to
 * @pinned: the line is never evicted
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
 * struct cache_qos_sim_traffic - a bandwidth counter
 * @truth: lines moved since the machine was reset; no register shows this
 * @base: @truth when the hardware counter started
 * @read: value of the last read, before it was truncated to the counter's width
 * @used: clock of the L3 when the counter was last read
 * @tracked: the hardware counter is running
 */
struct cache_qos_sim_traffic {
	u64 truth;
	u64 base;
	u64 read;
	u64 used;
	bool tracked;
};

/**
 * struct cache_qos_sim_rmid - counters of an RMID in an L3
 * @lines: number of lines that are tagged with the RMID
 * @traffic: bandwidth counters: total, local
 */
struct cache_qos_sim_rmid {
	u32 lines;
	struct cache_qos_sim_traffic traffic[CACHE_QOS_SIM_NR_TRAFFIC];
};

/**
 * struct cache_qos_sim_owner - reference counters of a task, independent of RMIDs
 * @units: lines moved since the machine was reset: total and local
 * @lines: number of lines in all L3s that the task has filled and that were not evicted since
 */
struct cache_qos_sim_owner {
	u64 units[CACHE_QOS_SIM_NR_TRAFFIC];
	u32 lines;
};

/**
 * struct cache_qos_sim_counter - an assignable counter (ABMC)
 * @config: value of CACHE_QOS_SIM_MSR_ABMC_DSC for this counter, without the id
 * @base: traffic of its RMID when the counter was assigned
 */
struct cache_qos_sim_counter {
	u64 config;
	u64 base;
};

/**
 * struct cache_qos_sim_domain - an L3
 * @id: its number
 * @package: number of its package
 * @nr_lines: number of lines
 * @ways: lines per set
 * @lines: @nr_lines entries, set by set
 * @rmids: indexed by RMID
 * @valid: number of lines that are not empty
 * @clock: number of accesses so far, plus reads of bandwidth counters
 * @snc_config: CACHE_QOS_SIM_MSR_SNC_CONFIG
 * @evt_cfg: CACHE_QOS_SIM_MSR_EVT_CFG
 * @counters: assignable counters (ABMC), indexed by counter id
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
 * @domain: index of the CPU's L3
 * @node: index of the CPU's NUMA node among the nodes of the L3
 * @evtsel_cpu: CPU whose QM_EVTSEL this CPU uses
 * @pqr: PQR_ASSOC
 * @evtsel: QM_EVTSEL
 * @ext_cfg: CACHE_QOS_SIM_MSR_EXT_CFG
 * @abmc_cfg: CACHE_QOS_SIM_MSR_ABMC_CFG
 * @pqr_writes: writes of PQR_ASSOC by the driver
 * @evtsel_writes: writes of QM_EVTSEL by the driver
 * @ctr_reads: reads of QM_CTR
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
	CACHE_QOS_SIM_FAULT_UNAVAILABLE,	/* QM_CTR returns Unavailable */
	CACHE_QOS_SIM_FAULT_ERROR,		/* QM_CTR returns Error */
	CACHE_QOS_SIM_FAULT_GP,			/* a write raises #GP */
	CACHE_QOS_SIM_FAULT_STEAL_EVTSEL,	/* QM_EVTSEL = @value before QM_CTR is read */
	CACHE_QOS_SIM_FAULT_HIJACK_PQR,		/* PQR_ASSOC = @value before QM_CTR is read */
	CACHE_QOS_SIM_NR_FAULTS
};

/**
 * struct cache_qos_sim_fault - a fault to inject
 * @kind: kind of fault
 * @rmid: RMID whose reads are affected; for CACHE_QOS_SIM_FAULT_GP: MSR whose writes are affected;
 *	CACHE_QOS_SIM_ANY: all
 * @domain: index of the L3 whose CPUs are affected; CACHE_QOS_SIM_ANY: all
 * @after: number of matching accesses that succeed before the fault
 * @times: number of matching accesses that then have the fault
 * @value: value that the fault writes; not written if the register cannot hold it
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
 * @nodes: number of nodes of each L3 (sub-NUMA clustering); 1: an L3 is not divided
 * @partition: at reset RMIDs are divided among the nodes; otherwise nodes share them, as Linux 6.11
 *	and later configures the L3
 * @nr_cpus: entries in @cpus
 * @cpus: indexed by CPU number
 * @nr_domains: entries in @domains
 * @domains: the L3s
 * @nr_owners: entries in @owners
 * @owners: reference counters of tasks; entry 0: accesses that belong to no task
 * @random: state of the random number generator; not 0
 * @lru: evict the least recently used line; otherwise a random line
 * @write_backs: evicting a dirty line counts as traffic, too
 * @mbm_start: start value of bandwidth counters
 * @closids: number of CLOSIDs; higher ones raise #GP
 * @faults: faults to inject; unused entries have kind CACHE_QOS_SIM_FAULT_NONE
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

/* Register writes of other software, not counted as the driver's. Return: false on #GP. */
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

/* Registers, as the driver sees them */

void cache_qos_sim_cpuid(const struct cache_qos_sim *sim, u32 cpu, u32 leaf, u32 subleaf,
			 u32 regs[4]);
bool cache_qos_sim_rdmsr(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 *value);
bool cache_qos_sim_wrmsr(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 value);

/* Programs */

/**
 * struct cache_qos_sim_access - one access to memory
 * @address: in lines
 * @owner: task that makes the access; index in @cache_qos_sim.owners
 * @home: index of the L3 to which the memory is local
 * @write: the access makes the line dirty
 */
struct cache_qos_sim_access {
	u64 address;
	u32 owner;
	u32 home;
	bool write;
};

/**
 * struct cache_qos_sim_stream - accesses of a program, which walks through its memory in a loop
 * @base: start of the memory, in lines
 * @lines: size of the memory, in lines
 * @bytes_per_s: access rate, at most CACHE_QOS_SIM_MAX_BYTES_PER_S
 * @owner: owner of the lines
 * @home: index of the L3 to which the memory is local
 * @shuffled: accesses are in random order
 * @shared: the program shares its memory with other programs; only code that sets @base reads this
 * @at: offset of the next access from @base, in lines, modulo @lines
 * @owed: remainder of less than one access, in nanoseconds times bytes per second
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
