// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: finds the L3 of a CPU and, if the L3 is divided among NUMA nodes, the part of the
 * CPU's node. cache_qos_core.h describes the interface.
 *
 * CPUs share an L3 if their APIC ids differ in the lowest bits only. The number of these bits
 * follows from the number of ids per L3, which CPUID reports. No register shows that an L3 is
 * divided: the driver concludes it from the NUMA nodes of its CPUs, as resctrl does
 * (arch/x86/kernel/cpu/resctrl/monitor.c). Offline CPUs count, so a node is counted even if all its
 * CPUs are offline.
 */

#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/types.h>

#include "cache_qos_core.h"

#define CACHE_QOS_MAX_CACHES	8

static bool cache_qos_l3_leaf(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
			      u32 leaf, u32 regs[4])
{
	u32 i;

	for (i = 0; i < CACHE_QOS_MAX_CACHES; i++) {
		backend->cpuid(cpu, leaf, i, regs);
		if (!FIELD_GET(CACHE_QOS_CACHES_TYPE, regs[CACHE_QOS_EAX]))
			return false;
		if (FIELD_GET(CACHE_QOS_CACHES_LEVEL, regs[CACHE_QOS_EAX]) == 3)
			return true;
	}
	return false;
}

int cache_qos_l3_read(const struct pmukit_cache_qos_backend *backend, unsigned int cpu,
		      struct cache_qos_l3 *l3)
{
	u32 regs[4], topology[4];

	/* A CPU has the leaf of its vendor; the other leaf does not exist or is all zeros. */
	if (!cache_qos_l3_leaf(backend, cpu, CACHE_QOS_LEAF_CACHES_INTEL, regs) &&
	    !cache_qos_l3_leaf(backend, cpu, CACHE_QOS_LEAF_CACHES_AMD, regs))
		return -ENODEV;
	backend->cpuid(cpu, CACHE_QOS_LEAF_TOPOLOGY, 0, topology);
	*l3 = (struct cache_qos_l3) {
		.apic_id = topology[CACHE_QOS_EDX],
		.shift = order_base_2(FIELD_GET(CACHE_QOS_CACHES_SHARING, regs[CACHE_QOS_EAX]) + 1),
		.bytes = (FIELD_GET(CACHE_QOS_CACHES_LINE, regs[CACHE_QOS_EBX]) + 1) *
			 (FIELD_GET(CACHE_QOS_CACHES_PARTS, regs[CACHE_QOS_EBX]) + 1) *
			 (FIELD_GET(CACHE_QOS_CACHES_WAYS, regs[CACHE_QOS_EBX]) + 1) *
			 ((u64)regs[CACHE_QOS_ECX] + 1),
	};
	return 0;
}

void cache_qos_l3_domain(const struct cache_qos_l3 *l3, u32 package, u32 node,
			 const unsigned long *nodes, u32 nr, struct pmukit_cache_qos_domain *domain)
{
	u32 id = l3->apic_id >> l3->shift;

	*domain = (struct pmukit_cache_qos_domain) {
		.id = id, .package = package, .bytes = l3->bytes, .l3 = id, .nodes = 1,
	};
	if (bitmap_weight(nodes, nr) <= 1)
		return;
	domain->id = node;
	domain->nodes = bitmap_weight(nodes, nr);
	domain->node = bitmap_weight(nodes, node);
	domain->bytes = l3->bytes / domain->nodes;
}
