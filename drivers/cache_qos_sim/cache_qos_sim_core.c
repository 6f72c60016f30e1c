// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_sim: registers, CPUID and faults of the machine; cache_qos_sim_cache_core.c has its
 * caches. As in hardware, a counter is read in two steps, and other software may write registers
 * between them:
 *
 *      wrmsr QM_EVTSEL  | RMID | event |
 *                              <- faults: other software writes QM_EVTSEL or PQR_ASSOC
 *      rdmsr QM_CTR     | Error | Unavailable | data |
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/string.h>
#include <linux/types.h>

#include "cache_qos_sim_core.h"

/* Processors */

#define OCCUPANCY	0x1
#define BANDWIDTH	0x6

/* Real processors have values from public CPUID dumps; the last profiles are for tests only. */
const struct cache_qos_sim_profile cache_qos_sim_profiles[] = {
	/* Xeon E5-2699 v3 */
	{ .name = "hsw", .pqm = true, .signature = 0x306f2, .max_rmid_any = 71, .max_rmid = 71,
	  .scale = 73728, .width = 24, .events = OCCUPANCY },
	/* Core i7-6850K */
	{ .name = "bdx", .pqm = true, .signature = 0x406f1, .max_rmid_any = 47, .max_rmid = 47,
	  .scale = 24576, .width = 24, .events = OCCUPANCY | BANDWIDTH,
	  .short_above = 31, .short_ppm = 969650 },
	/* Xeon Platinum 8160 */
	{ .name = "skx", .pqm = true, .signature = 0x50654, .max_rmid_any = 191, .max_rmid = 191,
	  .scale = 98304, .width = 24, .events = OCCUPANCY | BANDWIDTH,
	  .short_above = 127, .short_ppm = 969744 },
	/* Xeon W-3275 */
	{ .name = "clx", .pqm = true, .signature = 0x50657, .max_rmid_any = 223, .max_rmid = 223,
	  .scale = 114688, .width = 24, .events = OCCUPANCY | BANDWIDTH,
	  .short_above = 191, .short_ppm = 1143118 },
	/* Xeon w9-3475X */
	{ .name = "spr", .pqm = true, .signature = 0x806f8, .max_rmid_any = 351, .max_rmid = 351,
	  .scale = 90112, .width_field = 8, .width = 32, .events = OCCUPANCY | BANDWIDTH,
	  .snc = true },
	/* Xeon Platinum 8570 */
	{ .name = "emr", .pqm = true, .signature = 0xc06f2, .max_rmid_any = 479, .max_rmid = 479,
	  .scale = 122880, .width_field = 8, .width = 32, .events = OCCUPANCY | BANDWIDTH,
	  .snc = true },
	/* Xeon 658X */
	{ .name = "gnr", .pqm = true, .signature = 0xa06d1, .max_rmid_any = 287, .max_rmid = 287,
	  .scale = 73728, .width_field = 0x608, .width = 32, .events = OCCUPANCY | BANDWIDTH,
	  .snc = true },
	/* EPYC 7742 */
	{ .name = "amd-rome", .amd = true, .pqm = true, .signature = 0x830f10,
	  .max_rmid_any = 255, .max_rmid = 255, .scale = 64, .width = 44,
	  .events = OCCUPANCY | BANDWIDTH, .qos = 0x2, .mbm_counters = 32 },
	/* EPYC 9654 */
	{ .name = "amd-genoa", .amd = true, .pqm = true, .signature = 0xa10f11,
	  .max_rmid_any = 255, .max_rmid = 255, .scale = 64, .width_field = 0x14, .width = 44,
	  .events = OCCUPANCY | BANDWIDTH, .qos = 0x1e, .mbm_counters = 32 },
	/* EPYC 9655 */
	{ .name = "amd-turin", .amd = true, .pqm = true, .signature = 0xb00f21,
	  .max_rmid_any = 4095, .max_rmid = 4095, .scale = 64, .width_field = 0x14, .width = 44,
	  .events = OCCUPANCY | BANDWIDTH, .qos = 0x7e, .mbm_counters = 32 },

	{ .name = "wide", .amd = true, .pqm = true, .signature = 0xa10f11, .max_rmid_any = 2047,
	  .max_rmid = 2047, .scale = 65536, .width_field = 38, .width = 62,
	  .events = OCCUPANCY | BANDWIDTH },
	{ .name = "tiny", .pqm = true, .signature = 0x806f8, .max_rmid_any = 3, .max_rmid = 3,
	  .scale = 65536, .width = 24, .events = OCCUPANCY | BANDWIDTH },
	{ .name = "uneven", .pqm = true, .signature = 0x806f8, .max_rmid_any = 255, .max_rmid = 223,
	  .scale = 114688, .width = 24, .events = OCCUPANCY | BANDWIDTH },
	{ .name = "none", .signature = 0x806f8, .scale = 65536, .width = 24 },
	{ .name = "broken", .pqm = true, .signature = 0x806f8, .scale = 65536, .width = 24,
	  .events = OCCUPANCY | BANDWIDTH },
	{ .name = "broken-mixed", .pqm = true, .signature = 0x806f8, .max_rmid_any = 55,
	  .max_rmid = 55, .scale = 65536, .odd_scale = 61440, .width = 24,
	  .events = OCCUPANCY | BANDWIDTH },
};

const u32 cache_qos_sim_nr_profiles =
	sizeof(cache_qos_sim_profiles) / sizeof(*cache_qos_sim_profiles);

const struct cache_qos_sim_profile *cache_qos_sim_profile_by_name(const char *name)
{
	u32 i;

	for (i = 0; i < cache_qos_sim_nr_profiles; i++)
		if (!strcmp(cache_qos_sim_profiles[i].name, name))
			return &cache_qos_sim_profiles[i];
	return NULL;
}

static struct cache_qos_sim_domain *cache_qos_sim_domain_of(struct cache_qos_sim *sim, u32 cpu)
{
	return &sim->domains[sim->cpus[cpu].domain];
}

/* Reset */

void cache_qos_sim_reset_cpu(struct cache_qos_sim *sim, u32 cpu)
{
	struct cache_qos_sim_cpu *c = &sim->cpus[cpu];

	c->pqr = 0;
	c->evtsel = 0;
	c->abmc_cfg = 0;
	c->ext_cfg = cache_qos_sim_has_abmc(sim) ? CACHE_QOS_SIM_EXT_CFG_ABMC : 0;
}

/* Restart the bandwidth counters of an L3: now if @tracked, otherwise each at its first read. */
static void cache_qos_sim_reset_traffic(struct cache_qos_sim *sim,
					struct cache_qos_sim_domain *domain, bool tracked)
{
	struct cache_qos_sim_traffic *traffic;
	u32 rmid, kind;

	for (rmid = 0; rmid <= sim->profile->max_rmid_any; rmid++) {
		for (kind = 0; kind < CACHE_QOS_SIM_NR_TRAFFIC; kind++) {
			traffic = &domain->rmids[rmid].traffic[kind];
			traffic->base = traffic->truth;
			traffic->read = sim->mbm_start;
			traffic->tracked = tracked;
		}
	}
}

/* The caller has set the sizes and allocated the memory, with caches and owners cleared. */
void cache_qos_sim_reset(struct cache_qos_sim *sim)
{
	struct cache_qos_sim_domain *domain;
	u32 i;

	for (i = 0; i < sim->nr_cpus; i++)
		cache_qos_sim_reset_cpu(sim, i);
	for (i = 0; i < sim->nr_domains; i++) {
		domain = &sim->domains[i];
		domain->snc_config = sim->partition ? CACHE_QOS_SIM_SNC_PARTITION : 0;
		domain->evt_cfg[0] = CACHE_QOS_SIM_EVT_CFG_TOTAL;
		domain->evt_cfg[1] = CACHE_QOS_SIM_EVT_CFG_LOCAL;
		cache_qos_sim_reset_traffic(sim, domain, !sim->profile->mbm_counters);
	}
}

/* Faults */

bool cache_qos_sim_inject(struct cache_qos_sim *sim, const struct cache_qos_sim_fault *fault)
{
	u32 i;

	for (i = 0; i < CACHE_QOS_SIM_MAX_FAULTS; i++) {
		if (sim->faults[i].kind == CACHE_QOS_SIM_FAULT_NONE) {
			sim->faults[i] = *fault;
			return true;
		}
	}
	return false;
}

/* Return: a fault of this kind that applies now; NULL: none. The last use of a fault removes it. */
static const struct cache_qos_sim_fault *cache_qos_sim_strike(struct cache_qos_sim *sim,
							      enum cache_qos_sim_fault_kind kind,
							      u32 cpu, u32 rmid)
{
	struct cache_qos_sim_fault *fault;
	u32 i;

	for (i = 0; i < CACHE_QOS_SIM_MAX_FAULTS; i++) {
		fault = &sim->faults[i];
		if (fault->kind != kind ||
		    (fault->rmid != CACHE_QOS_SIM_ANY && fault->rmid != rmid) ||
		    (fault->domain != CACHE_QOS_SIM_ANY && fault->domain != sim->cpus[cpu].domain))
			continue;
		if (fault->after) {
			fault->after--;
			continue;
		}
		if (fault->times <= 1)
			fault->kind = CACHE_QOS_SIM_FAULT_NONE;
		else
			fault->times--;
		return fault;
	}
	return NULL;
}

/* Register writes, by the driver or other software */

bool cache_qos_sim_set_evtsel(struct cache_qos_sim *sim, u32 cpu, u64 value)
{
	u64 known = CACHE_QOS_SIM_EVTSEL_EVENT | CACHE_QOS_SIM_EVTSEL_RMID;

	if (sim->profile->amd)
		known |= CACHE_QOS_SIM_EVTSEL_RMID_AMD;
	if (cache_qos_sim_has_abmc(sim))
		known |= CACHE_QOS_SIM_EVTSEL_EXTENDED;
	if (value & ~known)
		return false;
	sim->cpus[sim->cpus[cpu].evtsel_cpu].evtsel = value;
	return true;
}

bool cache_qos_sim_set_pqr(struct cache_qos_sim *sim, u32 cpu, u64 value)
{
	if (FIELD_GET(CACHE_QOS_SIM_PQR_LOW, value) > sim->profile->max_rmid_any ||
	    FIELD_GET(CACHE_QOS_SIM_PQR_CLOSID, value) >= sim->closids)
		return false;
	sim->cpus[cpu].pqr = value;
	return true;
}

/* CPUID */

#define LEAF(leaf, subleaf)	((u64)(leaf) << 32 | (subleaf))

/* The vendor name is in EBX, EDX and ECX, in this order, and @regs has EBX, ECX, EDX. */
static void cache_qos_sim_leaf_vendor(const struct cache_qos_sim_profile *profile, u32 regs[4])
{
	regs[0] = profile->amd ? 0x10 : 0x14;
	memcpy(&regs[1], profile->amd ? "AuthcAMDenti" : "GenuntelineI", 12);
}

/* The L3 of this CPU; the leaves of both vendors have this format. */
static void cache_qos_sim_leaf_cache(const struct cache_qos_sim *sim, u32 cpu, u32 regs[4])
{
	const struct cache_qos_sim_domain *domain = &sim->domains[sim->cpus[cpu].domain];
	u32 i, sharing = 0;

	for (i = 0; i < sim->nr_cpus; i++)
		sharing += sim->cpus[i].domain == sim->cpus[cpu].domain;
	regs[0] = 3 | 3 << 5 | (sharing - 1) << 14;	/* unified, level 3 */
	regs[1] = 63 | (domain->ways - 1) << 22;
	regs[2] = domain->nr_lines / domain->ways * (cache_qos_sim_unit(sim) / 64) - 1;
}

static void cache_qos_sim_leaf_l3(const struct cache_qos_sim_profile *profile, u32 cpu,
				  u32 regs[4])
{
	regs[0] = profile->width_field;
	regs[1] = cpu % 2 && profile->odd_scale ? profile->odd_scale : profile->scale;
	regs[2] = profile->max_rmid;
	regs[3] = profile->events;
}

static void cache_qos_sim_leaf_of_both(const struct cache_qos_sim *sim, u32 cpu, u64 leaf,
				       u32 regs[4])
{
	const struct cache_qos_sim_profile *profile = sim->profile;

	switch (leaf) {
	case LEAF(0, 0):
		cache_qos_sim_leaf_vendor(profile, regs);
		break;
	case LEAF(1, 0):
		regs[0] = profile->signature;
		regs[1] = (cpu & 0xff) << 24;
		break;
	case LEAF(CACHE_QOS_SIM_CPUID_FEATURES, 0):
		regs[1] = profile->pqm ? CACHE_QOS_SIM_EBX_PQM : 0;
		break;
	case LEAF(CACHE_QOS_SIM_CPUID_PQM, 0):
		regs[1] = profile->max_rmid_any;
		regs[3] = profile->pqm ? CACHE_QOS_SIM_EDX_L3 : 0;
		break;
	case LEAF(CACHE_QOS_SIM_CPUID_PQM, 1):
		if (profile->pqm)
			cache_qos_sim_leaf_l3(profile, cpu, regs);
		break;
	case LEAF(0x80000000, 0):
		regs[0] = profile->amd ? CACHE_QOS_SIM_CPUID_QOS_AMD : 0x80000008;
		break;
	}
}

static void cache_qos_sim_leaf_of_amd(const struct cache_qos_sim *sim, u32 cpu, u64 leaf,
				      u32 regs[4])
{
	const struct cache_qos_sim_profile *profile = sim->profile;

	switch (leaf) {
	case LEAF(CACHE_QOS_SIM_CPUID_CACHE_AMD, 3):
		cache_qos_sim_leaf_cache(sim, cpu, regs);
		break;
	case LEAF(CACHE_QOS_SIM_CPUID_QOS_AMD, 0):
		regs[1] = profile->qos;
		break;
	case LEAF(CACHE_QOS_SIM_CPUID_QOS_AMD, 3):
		regs[2] = cache_qos_sim_has_bmec(sim) ? CACHE_QOS_SIM_EVT_CFG_TYPES : 0;
		break;
	case LEAF(CACHE_QOS_SIM_CPUID_QOS_AMD, 5):
		regs[1] = cache_qos_sim_has_abmc(sim) ? profile->mbm_counters - 1 : 0;
		break;
	}
}

/* Unknown leaves are all zeros. */
void cache_qos_sim_cpuid(const struct cache_qos_sim *sim, u32 cpu, u32 leaf, u32 subleaf,
			 u32 regs[4])
{
	memset(regs, 0, 4 * sizeof(regs[0]));
	cache_qos_sim_leaf_of_both(sim, cpu, LEAF(leaf, subleaf), regs);
	if (sim->profile->amd)
		cache_qos_sim_leaf_of_amd(sim, cpu, LEAF(leaf, subleaf), regs);
	else if (leaf == CACHE_QOS_SIM_CPUID_CACHE && subleaf == 3)
		cache_qos_sim_leaf_cache(sim, cpu, regs);
}

/* QM_CTR */

static u64 cache_qos_sim_mask(u32 width)
{
	return (1ULL << width) - 1;
}

/* Count of the hardware since the counter started, with the error of erratum BDF102/SKX99 */
static u64 cache_qos_sim_counted(const struct cache_qos_sim *sim, u32 rmid,
				 const struct cache_qos_sim_traffic *traffic)
{
	u64 units = traffic->truth - traffic->base;

	if (!sim->profile->short_ppm || rmid <= sim->profile->short_above)
		return units;
	return units / sim->profile->short_ppm * 1000000 +
	       units % sim->profile->short_ppm * 1000000 / sim->profile->short_ppm;
}

/* Start a counter for an RMID. If all are in use, the one that was read longest ago stops. */
static void cache_qos_sim_track(struct cache_qos_sim *sim, struct cache_qos_sim_domain *domain,
				struct cache_qos_sim_traffic *traffic)
{
	struct cache_qos_sim_traffic *one, *oldest = NULL;
	u32 rmid, kind, used = 0;

	for (rmid = 0; rmid <= sim->profile->max_rmid; rmid++) {
		for (kind = 0; kind < CACHE_QOS_SIM_NR_TRAFFIC; kind++) {
			one = &domain->rmids[rmid].traffic[kind];
			if (!one->tracked)
				continue;
			used++;
			if (!oldest || one->used < oldest->used)
				oldest = one;
		}
	}
	if (oldest && used >= sim->profile->mbm_counters)
		oldest->tracked = false;
	traffic->tracked = true;
	traffic->base = traffic->truth;
}

/* Assignable counters (ABMC). Only the traffic types of the two events are modeled. */

static u64 cache_qos_sim_traffic_of(const struct cache_qos_sim_domain *domain, u64 config)
{
	const struct cache_qos_sim_rmid *rmid =
		&domain->rmids[FIELD_GET(CACHE_QOS_SIM_ABMC_RMID, config)];

	if (FIELD_GET(CACHE_QOS_SIM_ABMC_TYPES, config) == domain->evt_cfg[0])
		return rmid->traffic[0].truth;
	if (FIELD_GET(CACHE_QOS_SIM_ABMC_TYPES, config) == domain->evt_cfg[1])
		return rmid->traffic[1].truth;
	return 0;
}

static u64 cache_qos_sim_read_counter_id(const struct cache_qos_sim *sim,
					 const struct cache_qos_sim_domain *domain, u32 id)
{
	const struct cache_qos_sim_counter *counter = &domain->counters[id];

	if (id >= sim->profile->mbm_counters || !(counter->config & CACHE_QOS_SIM_ABMC_ENABLE))
		return CACHE_QOS_SIM_CTR_ERROR;
	return (cache_qos_sim_traffic_of(domain, counter->config) - counter->base) &
	       cache_qos_sim_mask(sim->profile->width);
}

/* Read a counter by its RMID. If several counters count the RMID, the lowest id is read. */
static u64 cache_qos_sim_read_bound(const struct cache_qos_sim *sim,
				    const struct cache_qos_sim_domain *domain, u32 rmid, u32 kind)
{
	u64 want = CACHE_QOS_SIM_ABMC_ENABLE | FIELD_PREP(CACHE_QOS_SIM_ABMC_RMID, rmid) |
		   domain->evt_cfg[kind];
	u32 id;

	for (id = 0; id < sim->profile->mbm_counters; id++) {
		if ((domain->counters[id].config & ~CACHE_QOS_SIM_ABMC_ID) == want)
			return cache_qos_sim_read_counter_id(sim, domain, id);
	}
	return CACHE_QOS_SIM_CTR_UNAVAILABLE;
}

/* The clock advances with every read, so the counter that was read longest ago is well defined. */
static u64 cache_qos_sim_read_traffic(struct cache_qos_sim *sim, struct cache_qos_sim_cpu *cpu,
				      struct cache_qos_sim_domain *domain, u32 rmid, u32 kind)
{
	struct cache_qos_sim_traffic *traffic = &domain->rmids[rmid].traffic[kind];

	if (cpu->ext_cfg & CACHE_QOS_SIM_EXT_CFG_ABMC)
		return cache_qos_sim_read_bound(sim, domain, rmid, kind);
	traffic->used = ++domain->clock;
	if (!traffic->tracked) {
		cache_qos_sim_track(sim, domain, traffic);
		traffic->read = 0;
		return CACHE_QOS_SIM_CTR_UNAVAILABLE;
	}
	traffic->read = cache_qos_sim_counted(sim, rmid, traffic);
	if (!sim->profile->mbm_counters)
		traffic->read += sim->mbm_start;
	return traffic->read & cache_qos_sim_mask(sim->profile->width);
}

static u32 cache_qos_sim_evtsel_rmid(const struct cache_qos_sim *sim, u64 evtsel)
{
	return sim->profile->amd ? FIELD_GET(CACHE_QOS_SIM_EVTSEL_RMID_AMD, evtsel) :
				   FIELD_GET(CACHE_QOS_SIM_EVTSEL_RMID, evtsel);
}

static u64 cache_qos_sim_read_counter(struct cache_qos_sim *sim, u32 cpu, u64 evtsel)
{
	struct cache_qos_sim_domain *domain = cache_qos_sim_domain_of(sim, cpu);
	u32 event = FIELD_GET(CACHE_QOS_SIM_EVTSEL_EVENT, evtsel);
	u32 rmid = cache_qos_sim_evtsel_rmid(sim, evtsel);

	if (evtsel & CACHE_QOS_SIM_EVTSEL_EXTENDED)
		return event == CACHE_QOS_SIM_EVENT_OCCUPANCY ?
			       cache_qos_sim_read_counter_id(sim, domain, rmid) :
			       CACHE_QOS_SIM_CTR_ERROR;
	if (rmid > sim->profile->max_rmid ||
	    event < CACHE_QOS_SIM_EVENT_OCCUPANCY || event > CACHE_QOS_SIM_EVENT_LOCAL ||
	    !(sim->profile->events >> (event - 1) & 1))
		return CACHE_QOS_SIM_CTR_ERROR;
	if (event == CACHE_QOS_SIM_EVENT_OCCUPANCY)
		return domain->rmids[rmid].lines;
	return cache_qos_sim_read_traffic(sim, &sim->cpus[cpu], domain, rmid,
					  event - CACHE_QOS_SIM_EVENT_TOTAL);
}

static u64 cache_qos_sim_read_ctr(struct cache_qos_sim *sim, u32 cpu)
{
	struct cache_qos_sim_cpu *c = &sim->cpus[cpu];
	const u64 *evtsel = &sim->cpus[c->evtsel_cpu].evtsel;
	u32 rmid = cache_qos_sim_evtsel_rmid(sim, *evtsel);
	const struct cache_qos_sim_fault *fault;

	c->ctr_reads++;
	fault = cache_qos_sim_strike(sim, CACHE_QOS_SIM_FAULT_HIJACK_PQR, cpu, rmid);
	if (fault)
		cache_qos_sim_set_pqr(sim, cpu, fault->value);
	fault = cache_qos_sim_strike(sim, CACHE_QOS_SIM_FAULT_STEAL_EVTSEL, cpu, rmid);
	if (fault)
		cache_qos_sim_set_evtsel(sim, cpu, fault->value);
	if (cache_qos_sim_strike(sim, CACHE_QOS_SIM_FAULT_ERROR, cpu, rmid))
		return CACHE_QOS_SIM_CTR_ERROR;
	if (cache_qos_sim_strike(sim, CACHE_QOS_SIM_FAULT_UNAVAILABLE, cpu, rmid))
		return CACHE_QOS_SIM_CTR_UNAVAILABLE;
	return cache_qos_sim_read_counter(sim, cpu, *evtsel);
}

/* MSRs */

static bool cache_qos_sim_has_snc(const struct cache_qos_sim *sim)
{
	return sim->profile->snc;
}

static bool cache_qos_sim_is_evt_cfg(const struct cache_qos_sim *sim, u32 msr)
{
	return cache_qos_sim_has_bmec(sim) && msr - CACHE_QOS_SIM_MSR_EVT_CFG < CACHE_QOS_SIM_NR_TRAFFIC;
}

/* Return: true if the registers for assigning counters exist. */
static bool cache_qos_sim_binds(const struct cache_qos_sim *sim, const struct cache_qos_sim_cpu *cpu)
{
	return cache_qos_sim_has_abmc(sim) && cpu->ext_cfg & CACHE_QOS_SIM_EXT_CFG_ABMC;
}

static u64 cache_qos_sim_read_dsc(const struct cache_qos_sim *sim,
				  const struct cache_qos_sim_domain *domain,
				  const struct cache_qos_sim_cpu *cpu)
{
	u32 id = FIELD_GET(CACHE_QOS_SIM_ABMC_ID, cpu->abmc_cfg);

	if (id >= sim->profile->mbm_counters)
		return CACHE_QOS_SIM_ABMC_WRONG;
	return domain->counters[id].config | FIELD_PREP(CACHE_QOS_SIM_ABMC_ID, id);
}

static bool cache_qos_sim_read(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 *value)
{
	struct cache_qos_sim_domain *domain = cache_qos_sim_domain_of(sim, cpu);
	struct cache_qos_sim_cpu *c = &sim->cpus[cpu];

	if (msr == CACHE_QOS_SIM_MSR_SNC_CONFIG && cache_qos_sim_has_snc(sim))
		*value = domain->snc_config;
	else if (msr == CACHE_QOS_SIM_MSR_EXT_CFG && cache_qos_sim_has_abmc(sim))
		*value = c->ext_cfg;
	else if (msr == CACHE_QOS_SIM_MSR_ABMC_CFG && cache_qos_sim_binds(sim, c))
		*value = c->abmc_cfg;
	else if (msr == CACHE_QOS_SIM_MSR_ABMC_DSC && cache_qos_sim_binds(sim, c))
		*value = cache_qos_sim_read_dsc(sim, domain, c);
	else if (cache_qos_sim_is_evt_cfg(sim, msr))
		*value = domain->evt_cfg[msr - CACHE_QOS_SIM_MSR_EVT_CFG];
	else if (!sim->profile->pqm)
		return false;
	else if (msr == CACHE_QOS_SIM_MSR_EVTSEL)
		*value = sim->cpus[c->evtsel_cpu].evtsel;
	else if (msr == CACHE_QOS_SIM_MSR_CTR)
		*value = cache_qos_sim_read_ctr(sim, cpu);
	else if (msr == CACHE_QOS_SIM_MSR_PQR)
		*value = c->pqr;
	else
		return false;
	return true;
}

/* Return: false on #GP. */
bool cache_qos_sim_rdmsr(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 *value)
{
	bool read = cache_qos_sim_read(sim, cpu, msr, value);

	sim->cpus[cpu].gp += !read;
	return read;
}

static bool cache_qos_sim_write_evtsel(struct cache_qos_sim *sim, u32 cpu, u64 value)
{
	bool written = cache_qos_sim_set_evtsel(sim, cpu, value);

	sim->cpus[cpu].evtsel_writes += written;
	return written;
}

static bool cache_qos_sim_write_pqr(struct cache_qos_sim *sim, u32 cpu, u64 value)
{
	bool written = cache_qos_sim_set_pqr(sim, cpu, value);

	sim->cpus[cpu].pqr_writes += written;
	return written;
}

static bool cache_qos_sim_write_evt_cfg(struct cache_qos_sim *sim,
					struct cache_qos_sim_domain *domain, u32 kind, u64 value)
{
	if (value & ~CACHE_QOS_SIM_EVT_CFG_TYPES)
		return false;
	domain->evt_cfg[kind] = value;
	cache_qos_sim_reset_traffic(sim, domain, false);
	return true;
}

static bool cache_qos_sim_write_abmc(const struct cache_qos_sim *sim,
				     struct cache_qos_sim_domain *domain,
				     struct cache_qos_sim_cpu *cpu, u64 value)
{
	u64 known = CACHE_QOS_SIM_ABMC_APPLY | CACHE_QOS_SIM_ABMC_ENABLE | CACHE_QOS_SIM_ABMC_ID |
		    CACHE_QOS_SIM_ABMC_CLASS | CACHE_QOS_SIM_ABMC_RMID | CACHE_QOS_SIM_ABMC_TYPES;
	u32 id = FIELD_GET(CACHE_QOS_SIM_ABMC_ID, value);

	if (value & ~known || FIELD_GET(CACHE_QOS_SIM_ABMC_RMID, value) > sim->profile->max_rmid)
		return false;
	cpu->abmc_cfg = value;
	if (!(value & CACHE_QOS_SIM_ABMC_APPLY) || id >= sim->profile->mbm_counters)
		return true;
	value &= ~(CACHE_QOS_SIM_ABMC_APPLY | CACHE_QOS_SIM_ABMC_ID);
	domain->counters[id].config = value;
	domain->counters[id].base = cache_qos_sim_traffic_of(domain, value);
	return true;
}

/* Changing the mode clears all counters. */
static bool cache_qos_sim_write_ext_cfg(struct cache_qos_sim *sim,
					struct cache_qos_sim_domain *domain,
					struct cache_qos_sim_cpu *cpu, u64 value)
{
	if (value & ~CACHE_QOS_SIM_EXT_CFG_ABMC)
		return false;
	if (value != cpu->ext_cfg) {
		memset(domain->counters, 0, sizeof(domain->counters));
		cpu->abmc_cfg = 0;
		cache_qos_sim_reset_traffic(sim, domain, false);
	}
	cpu->ext_cfg = value;
	return true;
}

static bool cache_qos_sim_write(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 value)
{
	struct cache_qos_sim_domain *domain = cache_qos_sim_domain_of(sim, cpu);

	if (msr == CACHE_QOS_SIM_MSR_SNC_CONFIG && cache_qos_sim_has_snc(sim)) {
		domain->snc_config = value & CACHE_QOS_SIM_SNC_PARTITION;
		return value == domain->snc_config;
	}
	if (msr == CACHE_QOS_SIM_MSR_EXT_CFG && cache_qos_sim_has_abmc(sim))
		return cache_qos_sim_write_ext_cfg(sim, domain, &sim->cpus[cpu], value);
	if (msr == CACHE_QOS_SIM_MSR_ABMC_CFG && cache_qos_sim_binds(sim, &sim->cpus[cpu]))
		return cache_qos_sim_write_abmc(sim, domain, &sim->cpus[cpu], value);
	if (cache_qos_sim_is_evt_cfg(sim, msr))
		return cache_qos_sim_write_evt_cfg(sim, domain, msr - CACHE_QOS_SIM_MSR_EVT_CFG,
						   value);
	if (!sim->profile->pqm)
		return false;
	if (msr == CACHE_QOS_SIM_MSR_EVTSEL)
		return cache_qos_sim_write_evtsel(sim, cpu, value);
	if (msr == CACHE_QOS_SIM_MSR_PQR)
		return cache_qos_sim_write_pqr(sim, cpu, value);
	return false;
}

/* Return: false on #GP; nothing is written then. */
bool cache_qos_sim_wrmsr(struct cache_qos_sim *sim, u32 cpu, u32 msr, u64 value)
{
	bool written = !cache_qos_sim_strike(sim, CACHE_QOS_SIM_FAULT_GP, cpu, msr) &&
		       cache_qos_sim_write(sim, cpu, msr, value);

	sim->cpus[cpu].gp += !written;
	return written;
}
