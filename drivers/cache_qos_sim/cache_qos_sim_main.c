// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_sim: simulated processors with cache monitoring, a back-end of cache_qos.ko for
 * machines without the hardware (Documentation/devices/cache_qos_sim-model.rst). The user loads it
 * after "modprobe cache_qos backend=sim". The log shows that registers are simulated, and the
 * driver shows the name "sim" with every value. This module calls the driver only to register;
 * like hardware, it responds to register accesses.
 */

#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include <pmukit/cache_qos_backend.h>

#include "cache_qos_sim.h"

#define CACHE_QOS_SIM_MAX_LINES		BIT(20)
#define CACHE_QOS_SIM_MAX_WAYS		1024
#define CACHE_QOS_SIM_MAX_DOMAINS	64
#define CACHE_QOS_SIM_MAX_NODES		8	/* per L3; real processors have at most 6 */
#define CACHE_QOS_SIM_MAX_TICK_MS	1000	/* longest simulated time between two updates */

static char *profile = "spr";
module_param(profile, charp, 0444);
MODULE_PARM_DESC(profile, "processor: hsw bdx skx clx spr emr gnr amd-rome amd-genoa amd-turin wide tiny uneven none broken broken-mixed");
static unsigned int domains = 1;
module_param(domains, uint, 0444);
MODULE_PARM_DESC(domains, "L3 caches, of as many CPUs each as is possible");
static unsigned int package_domains = 1;
module_param(package_domains, uint, 0444);
MODULE_PARM_DESC(package_domains, "L3 caches of a package");
static unsigned int nodes = 1;
module_param(nodes, uint, 0444);
MODULE_PARM_DESC(nodes, "NUMA nodes an L3 is divided among (sub-NUMA clustering)");
static bool partition;
module_param(partition, bool, 0444);
MODULE_PARM_DESC(partition, "RMIDs are divided among these, as at reset; otherwise they share them, as Linux leaves it since 6.11");
static unsigned int lines = 4096;
module_param(lines, uint, 0444);
MODULE_PARM_DESC(lines, "lines of an L3, each as large as a unit of its counter");
static unsigned int ways = 16;
module_param(ways, uint, 0444);
MODULE_PARM_DESC(ways, "lines of a set");
static ulong seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of what is chosen by chance; not 0");
static unsigned long long mbm_start;
module_param(mbm_start, ullong, 0444);
MODULE_PARM_DESC(mbm_start, "where counters of bandwidth begin");
static unsigned int tick_ms = 10;
module_param(tick_ms, uint, 0444);
MODULE_PARM_DESC(tick_ms, "programs that run are brought up to date this often");
static unsigned int core_threads = 1;
module_param(core_threads, uint, 0444);
MODULE_PARM_DESC(core_threads, "CPUs that share QM_EVTSEL");
static bool lru;
module_param(lru, bool, 0444);
MODULE_PARM_DESC(lru, "the least recently used line of a set goes; otherwise any");
static bool write_backs;
module_param(write_backs, bool, 0444);
MODULE_PARM_DESC(write_backs, "lines that were written to are traffic once more when they go");
static bool flush_offline;
module_param(flush_offline, bool, 0444);
MODULE_PARM_DESC(flush_offline, "an L3 that loses its last CPU loses its contents");

struct cache_qos_sim_live cache_qos_sim_live;
static enum cpuhp_state cache_qos_sim_hotplug;

/* The back-end */

static void cache_qos_sim_ops_cpuid(unsigned int cpu, u32 leaf, u32 subleaf, u32 regs[4])
{
	cache_qos_sim_cpuid(&cache_qos_sim_live.sim, cpu, leaf, subleaf, regs);
}

static int cache_qos_sim_ops_rdmsr(u32 msr, u64 *value)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	unsigned long flags;
	bool read;

	if (!pmukit_lock_from_within(&live->lock, &flags))
		return -EBUSY;
	cache_qos_sim_advance(live);
	read = cache_qos_sim_rdmsr(&live->sim, smp_processor_id(), msr, value);
	pmukit_unlock(&live->lock, flags);
	return read ? 0 : -EIO;
}

static int cache_qos_sim_ops_wrmsr(u32 msr, u64 value)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	unsigned long flags;
	bool written;

	if (!pmukit_lock_from_within(&live->lock, &flags))
		return -EBUSY;
	cache_qos_sim_advance(live);
	written = cache_qos_sim_wrmsr(&live->sim, smp_processor_id(), msr, value);
	pmukit_unlock(&live->lock, flags);
	return written ? 0 : -EIO;
}

static int cache_qos_sim_ops_domain_of(unsigned int cpu, struct pmukit_cache_qos_domain *domain)
{
	struct cache_qos_sim *sim = &cache_qos_sim_live.sim;
	const struct cache_qos_sim_domain *is;

	if (cpu >= sim->nr_cpus)
		return -ENODEV;
	is = &sim->domains[sim->cpus[cpu].domain];
	domain->id = is->id * sim->nodes + sim->cpus[cpu].node;
	domain->package = is->package;
	domain->bytes = cache_qos_sim_domain_bytes(sim, is) / sim->nodes;
	domain->l3 = is->id;
	domain->nodes = sim->nodes;
	domain->node = sim->cpus[cpu].node;
	return 0;
}

static bool cache_qos_sim_ops_claimed(void)
{
	return READ_ONCE(cache_qos_sim_live.claimed);
}

static const struct pmukit_cache_qos_backend cache_qos_sim_backend = {
	.name		= "sim",
	.owner		= THIS_MODULE,
	.cpuid		= cache_qos_sim_ops_cpuid,
	.rdmsr		= cache_qos_sim_ops_rdmsr,
	.wrmsr		= cache_qos_sim_ops_wrmsr,
	.domain_of	= cache_qos_sim_ops_domain_of,
	.claimed	= cache_qos_sim_ops_claimed,
};

/* Hotplug: before the CPU starts, and after it has stopped */

static int cache_qos_sim_cpu_comes(unsigned int cpu)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	unsigned long flags;

	flags = pmukit_lock(&live->lock);
	cache_qos_sim_reset_cpu(&live->sim, cpu);
	pmukit_unlock(&live->lock, flags);
	return 0;
}

static bool cache_qos_sim_has_cpus(const struct cache_qos_sim *sim, u32 domain)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (sim->cpus[cpu].domain == domain)
			return true;
	return false;
}

static int cache_qos_sim_cpu_went(unsigned int cpu)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	u32 domain = live->sim.cpus[cpu].domain;
	unsigned long flags;

	flags = pmukit_lock(&live->lock);
	cache_qos_sim_advance(live);
	WRITE_ONCE(live->places[cpu].page, 0);
	live->places[cpu].next = NULL;
	if (live->flush_offline && !cache_qos_sim_has_cpus(&live->sim, domain))
		cache_qos_sim_flush(&live->sim, domain);
	pmukit_unlock(&live->lock, flags);
	return 0;
}

/* The machine */

static bool cache_qos_sim_params_good(const struct cache_qos_sim_profile *is)
{
	return is && domains && domains <= CACHE_QOS_SIM_MAX_DOMAINS && domains <= nr_cpu_ids &&
	       package_domains && ways && ways <= CACHE_QOS_SIM_MAX_WAYS && lines &&
	       lines <= CACHE_QOS_SIM_MAX_LINES && lines % ways == 0 && seed && core_threads &&
	       nodes && (nodes == 1 || is->snc) && nodes <= CACHE_QOS_SIM_MAX_NODES &&
	       tick_ms && tick_ms <= CACHE_QOS_SIM_MAX_TICK_MS;
}

static void cache_qos_sim_place_cpus(struct cache_qos_sim *sim)
{
	unsigned int cpu, each = DIV_ROUND_UP(sim->nr_cpus, sim->nr_domains);

	for (cpu = 0; cpu < sim->nr_cpus; cpu++) {
		sim->cpus[cpu].domain = cpu / each;
		sim->cpus[cpu].node = cpu % each % sim->nodes;
		sim->cpus[cpu].evtsel_cpu = cpu - cpu % core_threads;
	}
}

static void cache_qos_sim_free(struct cache_qos_sim_live *live)
{
	u32 i;

	for (i = 0; live->sim.domains && i < live->sim.nr_domains; i++) {
		vfree(live->sim.domains[i].rmids);
		vfree(live->sim.domains[i].lines);
	}
	vfree(live->places);
	vfree(live->pages);
	vfree(live->sim.owners);
	vfree(live->sim.domains);
	vfree(live->sim.cpus);
}

static int cache_qos_sim_make_domain(struct cache_qos_sim *sim, u32 number)
{
	struct cache_qos_sim_domain *domain = &sim->domains[number];

	domain->id = number;
	domain->package = number / package_domains;
	domain->nr_lines = lines;
	domain->ways = ways;
	domain->lines = vzalloc(array_size(lines, sizeof(*domain->lines)));
	domain->rmids = vzalloc(array_size(sim->profile->max_rmid_any + 1,
					   sizeof(*domain->rmids)));
	return domain->lines && domain->rmids ? 0 : -ENOMEM;
}

static int cache_qos_sim_make(struct cache_qos_sim_live *live)
{
	struct cache_qos_sim *sim = &live->sim;
	int err = 0;
	u32 i;

	pmukit_lock_init(&live->lock);
	live->flush_offline = flush_offline;
	sim->nodes = nodes;
	sim->partition = partition;
	sim->nr_cpus = nr_cpu_ids;
	sim->nr_domains = domains;
	sim->nr_owners = CACHE_QOS_SIM_NR_PAGES;
	sim->random = seed;
	sim->lru = lru;
	sim->write_backs = write_backs;
	sim->mbm_start = mbm_start;
	sim->closids = 16;
	sim->cpus = vzalloc(array_size(sim->nr_cpus, sizeof(*sim->cpus)));
	sim->domains = vzalloc(array_size(sim->nr_domains, sizeof(*sim->domains)));
	sim->owners = vzalloc(array_size(sim->nr_owners, sizeof(*sim->owners)));
	live->pages = vzalloc(array_size(sim->nr_owners, sizeof(*live->pages)));
	live->places = vzalloc(array_size(sim->nr_cpus, sizeof(*live->places)));
	if (!sim->cpus || !sim->domains || !sim->owners || !live->pages || !live->places)
		err = -ENOMEM;
	for (i = 0; !err && i < sim->nr_domains; i++)
		err = cache_qos_sim_make_domain(sim, i);
	if (err) {
		cache_qos_sim_free(live);
		return err;
	}
	cache_qos_sim_place_cpus(sim);
	cache_qos_sim_reset(sim);
	return 0;
}

/* Load and unload */

static int __init cache_qos_sim_load(void)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	int err;

	live->sim.profile = cache_qos_sim_profile_by_name(profile);
	if (!cache_qos_sim_params_good(live->sim.profile)) {
		pr_err("cache_qos_sim: profile=%s domains=%u package_domains=%u nodes=%u lines=%u ways=%u seed=%lu core_threads=%u tick_ms=%u: no such machine\n",
		       profile, domains, package_domains, nodes, lines, ways, seed, core_threads,
		       tick_ms);
		return -EINVAL;
	}
	err = cache_qos_sim_make(live);
	if (err)
		return err;
	err = cache_qos_sim_live_prepare(tick_ms);
	if (err)
		goto free_machine;
	err = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "pmukit/cache_qos_sim:prepare",
					cache_qos_sim_cpu_comes, cache_qos_sim_cpu_went);
	if (err < 0)
		goto finish_live;
	cache_qos_sim_hotplug = err;
	err = pmukit_cache_qos_register_backend(&cache_qos_sim_backend);
	if (err)
		goto remove_state;
	/* The last step, because an open file would pin the module if its loading then failed. */
	cache_qos_sim_debugfs_prepare();
	pr_info("cache_qos_sim: simulated registers and caches: %s, %u L3 of %llu bytes\n",
		profile, domains, cache_qos_sim_domain_bytes(&live->sim, live->sim.domains));
	return 0;

remove_state:
	cpuhp_remove_state_nocalls(cache_qos_sim_hotplug);
finish_live:
	cache_qos_sim_live_finish();
free_machine:
	cache_qos_sim_free(live);
	return err;
}
module_init(cache_qos_sim_load);

static void __exit cache_qos_sim_unload(void)
{
	cache_qos_sim_debugfs_finish();
	pmukit_cache_qos_unregister_backend(&cache_qos_sim_backend);
	cpuhp_remove_state_nocalls(cache_qos_sim_hotplug);
	cache_qos_sim_live_finish();
	cache_qos_sim_free(&cache_qos_sim_live);
}
module_exit(cache_qos_sim_unload);

MODULE_DESCRIPTION("Simulated processors with cache monitoring");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
MODULE_AUTHOR("pmukit developers");
