// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: the hardware back-end: CPUID, MSRs, and the CPUs that share an L3. resctrl has the
 * registers while its filesystem is mounted.
 */

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/topology.h>

#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/smp.h>

#include "cache_qos.h"

static const struct pmukit_cache_qos_backend cache_qos_msr;

static void cache_qos_msr_cpuid(unsigned int cpu, u32 leaf, u32 subleaf, u32 regs[4])
{
	cpuid_count(leaf, subleaf, &regs[CACHE_QOS_EAX], &regs[CACHE_QOS_EBX],
		    &regs[CACHE_QOS_ECX], &regs[CACHE_QOS_EDX]);
}

static int cache_qos_msr_rdmsr(u32 msr, u64 *value)
{
	return rdmsrq_safe(msr, value) ? -EIO : 0;
}

static int cache_qos_msr_wrmsr(u32 msr, u64 value)
{
	return wrmsrq_safe(msr, value) ? -EIO : 0;
}

/*
 * Find the L3 of this CPU. The NUMA nodes of offline CPUs count, too: these CPUs have an APIC id
 * and a node.
 */
static int cache_qos_msr_domain_of(unsigned int cpu, struct pmukit_cache_qos_domain *domain)
{
	nodemask_t nodes = NODE_MASK_NONE;
	struct cache_qos_l3 l3;
	unsigned int other;
	int ret;

	ret = cache_qos_l3_read(&cache_qos_msr, cpu, &l3);
	if (ret)
		return ret;
	node_set(cpu_to_node(cpu), nodes);
	for_each_present_cpu(other) {
		if (cpu_physical_id(other) >> l3.shift == l3.apic_id >> l3.shift)
			node_set(cpu_to_node(other), nodes);
	}
	cache_qos_l3_domain(&l3, topology_physical_package_id(cpu), cpu_to_node(cpu),
			    nodes_addr(nodes), MAX_NUMNODES, domain);
	return 0;
}

/* resctrl */

static struct file_system_type *cache_qos_resctrl;

static void cache_qos_msr_mounted(struct super_block *sb, void *data)
{
	*(bool *)data = true;
}

static bool cache_qos_msr_claimed(void)
{
	bool mounted = false;

	if (cache_qos_resctrl)
		iterate_supers_type(cache_qos_resctrl, cache_qos_msr_mounted, &mounted);
	return mounted;
}

static const struct pmukit_cache_qos_backend cache_qos_msr = {
	.name		= "msr",
	.cpuid		= cache_qos_msr_cpuid,
	.rdmsr		= cache_qos_msr_rdmsr,
	.wrmsr		= cache_qos_msr_wrmsr,
	.domain_of	= cache_qos_msr_domain_of,
	.claimed	= cache_qos_msr_claimed,
};

/*
 * resctrl is built in or does not exist. get_fs_type() would load a module for a filesystem that
 * does not exist, so it is called only if the kernel has resctrl and the CPU has monitoring, which
 * resctrl needs.
 */
static void cache_qos_resctrl_find(void)
{
	if (IS_ENABLED(CONFIG_X86_CPU_RESCTRL) && boot_cpu_has(X86_FEATURE_CQM))
		cache_qos_resctrl = get_fs_type("resctrl");
}

static void cache_qos_resctrl_put(void)
{
	if (cache_qos_resctrl)
		module_put(cache_qos_resctrl->owner);
	cache_qos_resctrl = NULL;
}

/**
 * cache_qos_msr_register - register the hardware back-end
 *
 * Return: 0 or -errno, with a line in the log.
 */
int cache_qos_msr_register(void)
{
	int ret;

	cache_qos_resctrl_find();
	ret = pmukit_cache_qos_register_backend(&cache_qos_msr);
	if (ret)
		cache_qos_resctrl_put();
	return ret;
}

/**
 * cache_qos_msr_unregister - unregister the hardware back-end
 */
void cache_qos_msr_unregister(void)
{
	pmukit_cache_qos_unregister_backend(&cache_qos_msr);
	cache_qos_resctrl_put();
}
