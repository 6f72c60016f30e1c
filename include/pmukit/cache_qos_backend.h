/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seam between cache_qos.ko and what has the registers of L3 monitoring: CPUID leaves and
 * MSRs, one value at a time. Encoding, decoding, widths and units are the driver's. The driver
 * cannot tell one back-end from another, but for its name, which it shows wherever it shows values.
 *
 * Documentation/devices/cache_qos.rst has the registers.
 */
#ifndef PMUKIT_CACHE_QOS_BACKEND_H
#define PMUKIT_CACHE_QOS_BACKEND_H

#include <linux/types.h>

struct module;

/**
 * struct pmukit_cache_qos_domain - an L3 cache and the CPUs that share it; where it is divided among
 *	NUMA nodes (sub-NUMA clustering), the part of one node
 * @id: its number, the same from each of its CPUs; of no other of the machine. Of a part: the
 *	number of its NUMA node.
 * @package: the package it lies in
 * @bytes: its size
 * @l3: the number of the L3, which parts of it have in common
 * @nodes: NUMA nodes that share the L3; 0 and 1: it is not divided
 * @node: which of them this is, from 0 on
 */
struct pmukit_cache_qos_domain {
	u32 id;
	u32 package;
	u64 bytes;
	u32 l3;
	u32 nodes;
	u32 node;
};

/**
 * struct pmukit_cache_qos_backend - access to the registers, of hardware or a simulation
 * @name: "msr" or "sim": in sysfs, in the log, in every output; at most 15 characters
 * @owner: kept in memory while there are events or groups
 * @cpuid: registers of a leaf, in the order EAX, EBX, ECX, EDX; 0 for a leaf that is not there
 * @rdmsr: read an MSR; -EIO: there is none, which on hardware is a #GP; -EBUSY: this CPU is in the
 *	midst of another access
 * @wrmsr: write one; -EIO: not with this value, or there is none; -EBUSY: as above
 * @domain_of: the L3 of @cpu, or its part; -ENODEV: none
 * @claimed: another user has the registers, as the resctrl filesystem does while it is mounted.
 *	May sleep; everything else may not.
 *
 * @cpuid and @domain_of are called on @cpu itself, as @rdmsr and @wrmsr are on the CPU they mean,
 * all with interrupts off and never from an NMI. The scheduler's locks may be held.
 */
struct pmukit_cache_qos_backend {
	const char *name;
	struct module *owner;
	void (*cpuid)(unsigned int cpu, u32 leaf, u32 subleaf, u32 regs[4]);
	int (*rdmsr)(u32 msr, u64 *value);
	int (*wrmsr)(u32 msr, u64 value);
	int (*domain_of)(unsigned int cpu, struct pmukit_cache_qos_domain *domain);
	bool (*claimed)(void);
};

int pmukit_cache_qos_register_backend(const struct pmukit_cache_qos_backend *backend);
void pmukit_cache_qos_unregister_backend(const struct pmukit_cache_qos_backend *backend);

#endif /* PMUKIT_CACHE_QOS_BACKEND_H */
