// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: features from CPUID, and values of MSRs. Nothing here depends on monitors.
 *
 * Values from CPUID are checked before they are used, because a hypervisor may have set them.
 */

#include <linux/bitfield.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "cache_qos_core.h"

/* Attempts to read a counter while other software keeps changing QM_EVTSEL */
#define CACHE_QOS_READ_TRIES	5

#define CACHE_QOS_FACTOR_SHIFT	20
#define CACHE_QOS_FACTOR(_millionths) \
	((u32)(((_millionths) * (1ULL << CACHE_QOS_FACTOR_SHIFT) + 500000) / 1000000))

#define CACHE_QOS_MODEL_BROADWELL_X	0x4f
#define CACHE_QOS_MODEL_SKYLAKE_X	0x55
#define CACHE_QOS_SKYLAKE_X_BROKEN	4	/* last stepping with broken monitoring */

/* CPU models with sub-NUMA clustering (Linux, arch/x86/kernel/cpu/resctrl/monitor.c) */
static const u32 cache_qos_snc_models[] = {
	0x6a,	/* Ice Lake */
	0x8f,	/* Sapphire Rapids */
	0xcf,	/* Emerald Rapids */
	0xad,	/* Granite Rapids */
	0xaf,	/* Sierra Forest */
	0xdd,	/* Clearwater Forest */
};

/* CPUID */

struct cache_qos_leaf {
	u32 reg[4];
};

static struct cache_qos_leaf cache_qos_leaf(const struct pmukit_cache_qos_backend *backend,
					    unsigned int cpu, u32 leaf, u32 subleaf)
{
	struct cache_qos_leaf regs = {};

	backend->cpuid(cpu, leaf, subleaf, regs.reg);
	return regs;
}

/**
 * struct cache_qos_model - vendor and model of the CPU
 * @intel: vendor is Intel
 * @amd: vendor is AMD or Hygon: fewer counters than RMIDs, and counters restart at 0
 * @default_width: width of the counters if CPUID does not report one
 * @family: family plus extended family
 * @model: model with the extended model
 * @stepping: stepping
 */
struct cache_qos_model {
	bool intel;
	bool amd;
	u32 default_width;
	u32 family;
	u32 model;
	u32 stepping;
};

static void cache_qos_model_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
				 struct cache_qos_model *model)
{
	u32 vendor = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_VENDOR, 0).reg[CACHE_QOS_EBX];
	u32 eax = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_MODEL, 0).reg[CACHE_QOS_EAX];

	model->intel = vendor == CACHE_QOS_VENDOR_INTEL_EBX;
	model->amd = vendor == CACHE_QOS_VENDOR_AMD_EBX || vendor == CACHE_QOS_VENDOR_HYGON_EBX;
	model->default_width = CACHE_QOS_WIDTH_BASE;
	if (vendor == CACHE_QOS_VENDOR_AMD_EBX)
		model->default_width = CACHE_QOS_WIDTH_AMD;
	else if (vendor == CACHE_QOS_VENDOR_HYGON_EBX)
		model->default_width = CACHE_QOS_WIDTH_HYGON;

	model->family = FIELD_GET(CACHE_QOS_MODEL_FAMILY, eax);
	if (model->family == 0xf)
		model->family += FIELD_GET(CACHE_QOS_MODEL_EXT_FAMILY, eax);
	model->model = FIELD_GET(CACHE_QOS_MODEL_MODEL, eax);
	if (model->family >= 6)
		model->model |= FIELD_GET(CACHE_QOS_MODEL_EXT_MODEL, eax) << 4;
	model->stepping = FIELD_GET(CACHE_QOS_MODEL_STEPPING, eax);
}

static u32 cache_qos_width(const struct cache_qos_model *model, u32 eax)
{
	u32 more = FIELD_GET(CACHE_QOS_L3_WIDTH, eax);

	/* 0 means not reported. A width that overlaps the two flag bits is invalid. */
	if (!more || more > CACHE_QOS_WIDTH_MAX - CACHE_QOS_WIDTH_BASE)
		return model->default_width;
	return CACHE_QOS_WIDTH_BASE + more;
}

static struct cache_qos_leaf cache_qos_amd_leaf(const struct pmukit_cache_qos_backend *backend,
						unsigned int cpu, u32 subleaf)
{
	struct cache_qos_leaf max = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_EXTENDED_MAX, 0);

	if (max.reg[CACHE_QOS_EAX] < CACHE_QOS_LEAF_AMD_QOS)
		return (struct cache_qos_leaf) {};
	return cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_AMD_QOS, subleaf);
}

/* Return: true if an event is known to count the same traffic as after reset. */
static bool cache_qos_is_default(const struct pmukit_cache_qos_backend *backend, u32 event,
				 u32 types)
{
	u64 found;

	return !cache_qos_rdmsr(backend, CACHE_QOS_EVT_CFG_TOTAL + event - 1, &found) &&
	       found == types;
}

/* AMD: traffic types of the events, and assignable counters */
static void cache_qos_amd(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
			  struct cache_qos_hw *hw)
{
	u32 features = cache_qos_amd_leaf(backend, cpu, 0).reg[CACHE_QOS_EBX];
	u32 there = cache_qos_amd_leaf(backend, cpu, 3).reg[CACHE_QOS_ECX];
	u32 last = cache_qos_amd_leaf(backend, cpu, 5).reg[CACHE_QOS_EBX];
	u32 event;
	u64 config;

	hw->types[CACHE_QOS_TOTAL - 1] = there & CACHE_QOS_TYPES_TOTAL;
	hw->types[CACHE_QOS_LOCAL - 1] = there & CACHE_QOS_TYPES_LOCAL;
	for (event = CACHE_QOS_TOTAL; event < CACHE_QOS_NR_READ; event++) {
		if (features & CACHE_QOS_AMD_QOS_BMEC &&
		    !cache_qos_is_default(backend, event, hw->types[event - 1]))
			hw->chosen |= hw->events & BIT(event);
	}
	hw->events &= ~hw->chosen;
	if (!(features & CACHE_QOS_AMD_QOS_ABMC) ||
	    (!cache_qos_rdmsr(backend, CACHE_QOS_L3_QOS_EXT_CFG, &config) &&
	     !(config & CACHE_QOS_EXT_CFG_ABMC)))
		return;
	hw->abmc = true;
	/*
	 * Without BMEC the traffic types of events are unknown, and the driver could not find out
	 * which event an assigned counter counts.
	 */
	if (features & CACHE_QOS_AMD_QOS_BMEC &&
	    !cache_qos_rdmsr(backend, CACHE_QOS_L3_QOS_EXT_CFG, &config))
		hw->counters = min_t(u32, FIELD_GET(CACHE_QOS_AMD_QOS_LAST_ID, last) + 1,
				     CACHE_QOS_MAX_COUNTERS);
}

/*
 * Errata BDF102 and SKX99: bandwidth of RMIDs above a limit is wrong by a factor. Limit and factor
 * depend on the number of RMIDs; the index is (RMIDs / 8) - 1. Intel's table, as in Linux
 * (arch/x86/kernel/cpu/resctrl/monitor.c).
 */
static const struct {
	u32 above;
	u32 factor;
} cache_qos_factors[] = {
	{   7, CACHE_QOS_FACTOR(1000000) }, {  15, CACHE_QOS_FACTOR(1000000) },
	{  15, CACHE_QOS_FACTOR(969650)  }, {  31, CACHE_QOS_FACTOR(1000000) },
	{  31, CACHE_QOS_FACTOR(1066667) }, {  31, CACHE_QOS_FACTOR(969650)  },
	{  47, CACHE_QOS_FACTOR(1142857) }, {  63, CACHE_QOS_FACTOR(1000000) },
	{  63, CACHE_QOS_FACTOR(1185115) }, {  63, CACHE_QOS_FACTOR(1066553) },
	{  79, CACHE_QOS_FACTOR(1454545) }, {  95, CACHE_QOS_FACTOR(1000000) },
	{  95, CACHE_QOS_FACTOR(1230769) }, {  95, CACHE_QOS_FACTOR(1142857) },
	{  95, CACHE_QOS_FACTOR(1066667) }, { 127, CACHE_QOS_FACTOR(1000000) },
	{ 127, CACHE_QOS_FACTOR(1254863) }, { 127, CACHE_QOS_FACTOR(1185255) },
	{ 151, CACHE_QOS_FACTOR(1000000) }, { 127, CACHE_QOS_FACTOR(1066667) },
	{ 167, CACHE_QOS_FACTOR(1000000) }, { 159, CACHE_QOS_FACTOR(1454334) },
	{ 183, CACHE_QOS_FACTOR(1000000) }, { 127, CACHE_QOS_FACTOR(969744)  },
	{ 191, CACHE_QOS_FACTOR(1280246) }, { 191, CACHE_QOS_FACTOR(1230921) },
	{ 215, CACHE_QOS_FACTOR(1000000) }, { 191, CACHE_QOS_FACTOR(1143118) },
};

static void cache_qos_quirks(const struct cache_qos_model *model, u32 nr_rmid,
			     struct cache_qos_hw *hw)
{
	u32 place = nr_rmid / 8 - 1;

	if (!model->intel || model->family != 6)
		return;
	if (model->model != CACHE_QOS_MODEL_BROADWELL_X &&
	    model->model != CACHE_QOS_MODEL_SKYLAKE_X)
		return;
	/* With fewer than 8 RMIDs the unsigned index is very large. */
	if (place >= sizeof(cache_qos_factors) / sizeof(*cache_qos_factors))
		return;
	if (cache_qos_factors[place].factor == CACHE_QOS_FACTOR(1000000))
		return;
	hw->factor = cache_qos_factors[place].factor;
	hw->factor_above = cache_qos_factors[place].above;
}

/* Errata: resctrl does not monitor on these steppings unless the boot option rdt= is set. */
static bool cache_qos_is_broken_skylake(const struct cache_qos_model *model)
{
	return model->intel && model->family == 6 && model->model == CACHE_QOS_MODEL_SKYLAKE_X &&
	       model->stepping <= CACHE_QOS_SKYLAKE_X_BROKEN;
}

static bool cache_qos_has_snc(const struct cache_qos_model *model)
{
	u32 i;

	if (!model->intel || model->family != 6)
		return false;
	for (i = 0; i < sizeof(cache_qos_snc_models) / sizeof(*cache_qos_snc_models); i++) {
		if (cache_qos_snc_models[i] == model->model)
			return true;
	}
	return false;
}

static bool cache_qos_is_emulated(const struct pmukit_cache_qos_backend *backend, unsigned int cpu)
{
	struct cache_qos_leaf leaf = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_HYPERVISOR, 0);

	return leaf.reg[CACHE_QOS_EBX] == CACHE_QOS_EMULATED_EBX &&
	       leaf.reg[CACHE_QOS_ECX] == CACHE_QOS_EMULATED_ECX &&
	       leaf.reg[CACHE_QOS_EDX] == CACHE_QOS_EMULATED_EDX;
}

static const char *cache_qos_leaves_wrong(const struct pmukit_cache_qos_backend *backend,
					  unsigned int cpu)
{
	struct cache_qos_leaf leaf;

	leaf = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_VENDOR, 0);
	if (leaf.reg[CACHE_QOS_EAX] < CACHE_QOS_LEAF_MONITORING)
		return "CPUID has no leaf 0xf";
	leaf = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_FEATURES, 0);
	if (!(leaf.reg[CACHE_QOS_EBX] & CACHE_QOS_FEATURES_PQM))
		return "this CPU has no cache monitoring (PQM)";
	leaf = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_MONITORING, 0);
	if (!(leaf.reg[CACHE_QOS_EDX] & CACHE_QOS_MONITORING_L3))
		return "this CPU does not monitor its L3";
	return NULL;
}

/* Documented in cache_qos_core.h, like all functions that are not static. */
const char *cache_qos_hw_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
			      u32 asked, struct cache_qos_hw *hw, int *error)
{
	struct cache_qos_leaf all, l3;
	struct cache_qos_model model;
	const char *wrong;
	u32 max;

	cache_qos_model_read(backend, cpu, &model);
	*error = -ENODEV;
	wrong = cache_qos_leaves_wrong(backend, cpu);
	if (wrong)
		return wrong;
	if (cache_qos_is_broken_skylake(&model) && !asked)
		return "monitoring of this Skylake has errata and is off; rdt=cmt,mbmtotal,mbmlocal asks for it";

	all = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_MONITORING, 0);
	l3 = cache_qos_leaf(backend, cpu, CACHE_QOS_LEAF_MONITORING, 1);
	/* EBX: highest RMID for PQR_ASSOC; ECX: highest RMID that can be read */
	max = min_t(u32, all.reg[CACHE_QOS_EBX], l3.reg[CACHE_QOS_ECX]);
	if (!max)
		return "this CPU has no RMID but 0";

	*hw = (struct cache_qos_hw) {
		.nr_rmid = min_t(u32, max, CACHE_QOS_MAX_RMIDS - 1) + 1,
		.nodes = 1,
		.snc = cache_qos_has_snc(&model),
		.scale = l3.reg[CACHE_QOS_EBX],
		.width = cache_qos_width(&model, l3.reg[CACHE_QOS_EAX]),
		.events = FIELD_GET(CACHE_QOS_L3_EVENTS, l3.reg[CACHE_QOS_EDX]),
		.restarts = model.amd,
		.emulated = cache_qos_is_emulated(backend, cpu),
		.wrap_ns = ~0ULL,
	};
	if (cache_qos_is_broken_skylake(&model))
		hw->events &= asked;
	if (model.amd)
		cache_qos_amd(backend, cpu, hw);
	if (!hw->events)
		return "this CPU has no event that can be monitored";
	*error = -EINVAL;
	if (!hw->scale)
		return "CPUID says that a unit has 0 bytes";
	cache_qos_quirks(&model, l3.reg[CACHE_QOS_ECX] + 1, hw);
	return NULL;
}

/*
 * Return: true if a CPU of any node may carry all RMIDs. The kernel chooses: Linux before 6.11
 * expects the reset value of the register, Linux 6.11 and later expects shared RMIDs.
 */
static bool cache_qos_shares_rmids(const struct pmukit_cache_qos_backend *backend)
{
	u64 config;

	return !cache_qos_rdmsr(backend, CACHE_QOS_SNC_CONFIG, &config) &&
	       !(config & CACHE_QOS_SNC_PARTITION);
}

const char *cache_qos_hw_divide(const struct pmukit_cache_qos_backend *backend, u32 nodes,
				struct cache_qos_hw *hw)
{
	if (nodes <= 1)
		return NULL;
	if (!hw->snc)
		return "its L3 is divided among NUMA nodes (Cluster-on-Die), by which this CPU does not count";
	/* Numbers of nodes per L3 that existing CPUs have */
	if (nodes != 2 && nodes != 3 && nodes != 4 && nodes != 6)
		return "its L3 has neither 2, 3, 4 nor 6 NUMA nodes";
	if (!cache_qos_shares_rmids(backend))
		return "RMIDs are divided among the NUMA nodes of its L3 (MSR 0xca0); Linux lets them share since 6.11";
	hw->nodes = nodes;
	hw->nr_rmid /= nodes;
	hw->scale /= nodes;
	if (hw->nr_rmid < 2 || !hw->scale)
		return "its L3 has too few RMIDs for its NUMA nodes";
	return NULL;
}

const char *cache_qos_hw_join(struct cache_qos_hw *all, const struct cache_qos_hw *one)
{
	if (all->nodes != one->nodes)
		return "CPUs differ in the NUMA nodes of their L3";
	if (all->scale != one->scale)
		return "CPUs differ in the bytes of a unit";
	if (all->width != one->width)
		return "CPUs differ in the width of counters";
	if (all->factor != one->factor || all->factor_above != one->factor_above ||
	    all->restarts != one->restarts)
		return "CPUs are of different kinds";
	all->nr_rmid = min_t(u32, all->nr_rmid, one->nr_rmid);
	all->events &= one->events;
	all->chosen |= one->chosen;
	all->emulated |= one->emulated;
	all->counters = all->abmc == one->abmc ? min_t(u32, all->counters, one->counters) : 0;
	all->abmc |= one->abmc;
	return NULL;
}

bool cache_qos_hw_less(const struct cache_qos_hw *hw, const struct cache_qos_hw *than)
{
	u32 missing = than->events & ~hw->events & ~BIT(CACHE_QOS_REMOTE);

	return missing || hw->nr_rmid < than->nr_rmid || hw->abmc != than->abmc ||
	       hw->counters < than->counters;
}

void cache_qos_hw_finish(struct cache_qos_hw *hw, u64 max_bytes_per_second)
{
	u64 per_ms = max_t(u64, max_bytes_per_second / 1000, 1);
	u64 ms;

	if (hw->abmc && !hw->counters)
		hw->events &= BIT(CACHE_QOS_OCCUPANCY);
	if (hw->events & BIT(CACHE_QOS_TOTAL) && hw->events & BIT(CACHE_QOS_LOCAL))
		hw->events |= BIT(CACHE_QOS_REMOTE);

	hw->wrap_ns = ~0ULL;
	if (hw->width >= 64 || (~0ULL >> hw->width) < hw->scale)
		return;
	ms = ((u64)hw->scale << hw->width) / per_ms;
	if (ms < ~0ULL / 1000000)
		hw->wrap_ns = ms * 1000000;
}

/* Values */

u64 cache_qos_evtsel(u32 rmid, enum cache_qos_index event)
{
	return FIELD_PREP(CACHE_QOS_EVTSEL_EVENT, event + 1) |
	       FIELD_PREP(CACHE_QOS_EVTSEL_RMID, rmid);
}

static u64 cache_qos_mask(u32 width)
{
	return ~0ULL >> (64 - width);
}

u64 cache_qos_delta(u64 now, u64 before, u32 width)
{
	return (now - before) & cache_qos_mask(width);
}

u64 cache_qos_bytes(const struct cache_qos_hw *hw, u32 rmid, u64 chunks)
{
	u64 below = chunks & ((1U << CACHE_QOS_FACTOR_SHIFT) - 1);

	if (hw->factor && rmid > hw->factor_above)
		chunks = (chunks >> CACHE_QOS_FACTOR_SHIFT) * hw->factor +
			 (below * hw->factor >> CACHE_QOS_FACTOR_SHIFT);
	return chunks * hw->scale;
}

/* Reading */

static enum cache_qos_read_status cache_qos_decode(u64 value)
{
	if (value & CACHE_QOS_CTR_ERROR)
		return CACHE_QOS_READ_ERROR;
	if (value & CACHE_QOS_CTR_UNAVAILABLE)
		return CACHE_QOS_READ_UNAVAILABLE;
	return CACHE_QOS_READ_OK;
}

/* Return: true if QM_EVTSEL is not @select any more, so the value may belong to another event. */
static bool cache_qos_stolen(const struct pmukit_cache_qos_backend *backend, u64 select)
{
	u64 now;

	return cache_qos_rdmsr(backend, CACHE_QOS_QM_EVTSEL, &now) || now != select;
}

static enum cache_qos_read_status
cache_qos_read_event(const struct pmukit_cache_qos_backend *backend, u64 select, bool paranoid,
		     u64 *value)
{
	int tries, ret;

	for (tries = 0; tries < CACHE_QOS_READ_TRIES; tries++) {
		ret = cache_qos_wrmsr(backend, CACHE_QOS_QM_EVTSEL, select);
		if (!ret)
			ret = cache_qos_rdmsr(backend, CACHE_QOS_QM_CTR, value);
		/*
		 * -EBUSY: this CPU is in the middle of another register access; the next pass reads
		 * the counter.
		 */
		if (ret)
			return ret == -EBUSY ? CACHE_QOS_READ_SKIPPED : CACHE_QOS_READ_ERROR;
		if (!paranoid && !(*value & CACHE_QOS_CTR_ERROR))
			return cache_qos_decode(*value);
		if (!cache_qos_stolen(backend, select))
			return cache_qos_decode(*value);
	}
	return CACHE_QOS_READ_STOLEN;
}

static void cache_qos_read_events(const struct pmukit_cache_qos_backend *backend,
				  const struct cache_qos_hw *hw, bool paranoid,
				  struct cache_qos_request *request)
{
	static const u8 order[] = { CACHE_QOS_OCCUPANCY, CACHE_QOS_LOCAL, CACHE_QOS_TOTAL };
	struct cache_qos_sample *sample = &request->sample;
	u64 value = 0;
	u32 i;

	*sample = (struct cache_qos_sample) {};
	for (i = 0; i < CACHE_QOS_NR_READ; i++) {
		u8 event = order[i];
		u64 mask = event == CACHE_QOS_OCCUPANCY ? CACHE_QOS_CTR_DATA :
							  cache_qos_mask(hw->width);

		if (!(hw->events & request->events & BIT(event)))
			continue;
		if (request->absent & BIT(event)) {
			sample->status[event] = CACHE_QOS_READ_UNAVAILABLE;
			continue;
		}
		sample->status[event] = cache_qos_read_event(backend,
							     cache_qos_evtsel(request->counted,
									      event),
							     paranoid, &value);
		sample->data[event] = value & mask;
	}
}

void cache_qos_read_rmids(const struct pmukit_cache_qos_backend *backend,
			  const struct cache_qos_hw *hw, bool paranoid,
			  struct cache_qos_request *requests, u32 nr)
{
	u64 found;
	bool restore = !cache_qos_rdmsr(backend, CACHE_QOS_QM_EVTSEL, &found);
	u32 i;

	for (i = 0; i < nr; i++)
		cache_qos_read_events(backend, hw, paranoid, &requests[i]);
	/* Other software may have written QM_EVTSEL and be about to read QM_CTR. */
	if (restore)
		cache_qos_wrmsr(backend, CACHE_QOS_QM_EVTSEL, found);
}

void cache_qos_read_rmid(const struct pmukit_cache_qos_backend *backend,
			 const struct cache_qos_hw *hw, u32 events, u32 rmid, bool paranoid,
			 struct cache_qos_sample *sample)
{
	struct cache_qos_request request = { .rmid = rmid, .counted = rmid, .events = events };

	cache_qos_read_rmids(backend, hw, paranoid, &request, 1);
	*sample = request.sample;
}
