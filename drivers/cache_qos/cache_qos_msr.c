// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: the back-end that is the hardware: CPUID, MSRs, and the L3 as CPUID describes it
 * (leaf 4 of Intel, 0x8000001d of AMD). resctrl has the registers while its filesystem is
 * mounted.
 */

#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/topology.h>

#include <asm/msr.h>
#include <asm/processor.h>

#include "cache_qos.h"

#define CACHE_QOS_LEAF_CACHES_INTEL	0x4
#define CACHE_QOS_LEAF_CACHES_AMD	0x8000001dU
#define   CACHE_QOS_CACHES_TYPE		GENMASK(4, 0)	/* EAX; 0: no more */
#define   CACHE_QOS_CACHES_LEVEL	GENMASK(7, 5)
#define   CACHE_QOS_CACHES_SHARING	GENMASK(25, 14)	/* CPUs, less 1 */
#define   CACHE_QOS_CACHES_LINE		GENMASK(11, 0)	/* EBX; each less 1 */
#define   CACHE_QOS_CACHES_PARTS	GENMASK(21, 12)
#define   CACHE_QOS_CACHES_WAYS		GENMASK(31, 22)
#define CACHE_QOS_MAX_CACHES		8

#define CACHE_QOS_LEAF_TOPOLOGY		0xb
#define   CACHE_QOS_TOPOLOGY_SHIFT	GENMASK(4, 0)	/* EAX: bits of the id below this level */
#define   CACHE_QOS_TOPOLOGY_TYPE	GENMASK(15, 8)	/* ECX; 0: no more */
#define CACHE_QOS_MAX_LEVELS		6

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

/* The L3 of this CPU */

static bool cache_qos_msr_l3(u32 leaf, u32 regs[4])
{
	u32 i;

	for (i = 0; i < CACHE_QOS_MAX_CACHES; i++) {
		cache_qos_msr_cpuid(0, leaf, i, regs);
		if (!FIELD_GET(CACHE_QOS_CACHES_TYPE, regs[CACHE_QOS_EAX]))
			return false;
		if (FIELD_GET(CACHE_QOS_CACHES_LEVEL, regs[CACHE_QOS_EAX]) == 3)
			return true;
	}
	return false;
}

/* The id of this CPU, and of how many bits of it a package has the lowest. */
static u32 cache_qos_msr_apic_id(u32 *package_shift)
{
	u32 regs[4], id, i;

	*package_shift = 0;
	cache_qos_msr_cpuid(0, CACHE_QOS_LEAF_TOPOLOGY, 0, regs);
	id = regs[CACHE_QOS_EDX];
	for (i = 0; i < CACHE_QOS_MAX_LEVELS; i++) {
		cache_qos_msr_cpuid(0, CACHE_QOS_LEAF_TOPOLOGY, i, regs);
		if (!FIELD_GET(CACHE_QOS_TOPOLOGY_TYPE, regs[CACHE_QOS_ECX]))
			break;
		*package_shift = FIELD_GET(CACHE_QOS_TOPOLOGY_SHIFT, regs[CACHE_QOS_EAX]);
	}
	return id;
}

/* NUMA nodes of a package, those with a CPU that is online */
static u32 cache_qos_msr_nodes(u32 package)
{
	nodemask_t nodes = NODE_MASK_NONE;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (topology_physical_package_id(cpu) == package)
			node_set(cpu_to_node(cpu), nodes);
	}
	return nodes_weight(nodes);
}

static int cache_qos_msr_domain_of(unsigned int cpu, struct pmukit_cache_qos_domain *domain)
{
	u32 regs[4], apic_id, package_shift, l3_shift;

	if (!cache_qos_msr_l3(CACHE_QOS_LEAF_CACHES_INTEL, regs) &&
	    !cache_qos_msr_l3(CACHE_QOS_LEAF_CACHES_AMD, regs))
		return -ENODEV;
	l3_shift = order_base_2(FIELD_GET(CACHE_QOS_CACHES_SHARING, regs[CACHE_QOS_EAX]) + 1);
	apic_id = cache_qos_msr_apic_id(&package_shift);

	domain->id = apic_id >> l3_shift;
	domain->package = topology_physical_package_id(cpu);
	domain->bytes = (u64)(FIELD_GET(CACHE_QOS_CACHES_LINE, regs[CACHE_QOS_EBX]) + 1) *
			(FIELD_GET(CACHE_QOS_CACHES_PARTS, regs[CACHE_QOS_EBX]) + 1) *
			(FIELD_GET(CACHE_QOS_CACHES_WAYS, regs[CACHE_QOS_EBX]) + 1) *
			((u64)regs[CACHE_QOS_ECX] + 1);
	domain->nodes = cache_qos_msr_nodes(domain->package);
	/* A package with several L3s has nodes for each of them. */
	if (package_shift > l3_shift)
		domain->nodes >>= package_shift - l3_shift;
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
 * It is part of the kernel or it is not there. Looking for a filesystem that is not there would
 * load a module of that name; where the CPU has monitoring, which is what resctrl needs, it is.
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
 * cache_qos_msr_register - use the hardware
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
 * cache_qos_msr_unregister - the opposite
 */
void cache_qos_msr_unregister(void)
{
	pmukit_cache_qos_unregister_backend(&cache_qos_msr);
	cache_qos_resctrl_put();
}
