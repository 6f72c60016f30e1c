/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface between cache_qos.ko and a back-end, which accesses the registers of L3 monitoring:
 * CPUID leaves and MSRs, one value at a time. The driver, not the back-end, encodes and decodes
 * these values and handles counter widths and scales. The driver handles all back-ends alike, and
 * shows the name of the back-end wherever it shows values.
 *
 * Documentation/devices/cache_qos.rst describes the registers.
 */
#ifndef PMUKIT_CACHE_QOS_BACKEND_H
#define PMUKIT_CACHE_QOS_BACKEND_H

#include <linux/types.h>

struct module;

/**
 * struct pmukit_cache_qos_domain - an L3 cache and the CPUs that share it; if it is divided among
 *	NUMA nodes (sub-NUMA clustering), the part of one node
 * @id: number of the domain, unique in the machine and the same on each of its CPUs. For a part of
 *	an L3: the number of its NUMA node.
 * @package: processor package that contains the domain
 * @bytes: size of the domain
 * @l3: number of the L3, the same for all its parts
 * @nodes: number of NUMA nodes that share the L3; 0 or 1: the L3 is not divided
 * @node: index of the part in the L3, starting at 0
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
 * struct pmukit_cache_qos_backend - access to the registers of hardware or of a simulation
 * @name: "msr" or "sim"; shown in sysfs, in the log and in every output; at most 15 characters
 * @owner: module of the back-end; the driver holds a reference while there are events or groups
 * @cpuid: read a CPUID leaf: EAX, EBX, ECX, EDX; zeros if the leaf does not exist
 * @rdmsr: read an MSR; -EIO: the MSR does not exist (#GP on hardware); -EBUSY: this CPU is in the
 *	middle of another access
 * @wrmsr: write an MSR; -EIO: the MSR does not exist or rejects the value; -EBUSY: as for @rdmsr
 * @domain_of: find the domain of @cpu: its L3, or its part of the L3; -ENODEV: none
 * @claimed: returns true if other software uses the registers, for example resctrl while its
 *	filesystem is mounted. May sleep; the other functions must not.
 *
 * @cpuid and @domain_of are called on @cpu; @rdmsr and @wrmsr access the CPU they are called on.
 *	All four are called with interrupts off and never from an NMI. Locks of the scheduler may be
 *	held.
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
