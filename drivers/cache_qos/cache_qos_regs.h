/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos: CPUID leaves and MSRs of L3 monitoring. Intel SDM volume 3B, "Intel Resource Director
 * Technology monitoring features"; AMD APM volume 2, "Platform Quality of Service".
 */
#ifndef CACHE_QOS_REGS_H
#define CACHE_QOS_REGS_H

#include <linux/bits.h>

/* CPUID. Register numbers index the array that a back-end fills in. */
#define CACHE_QOS_EAX			0
#define CACHE_QOS_EBX			1
#define CACHE_QOS_ECX			2
#define CACHE_QOS_EDX			3

#define CACHE_QOS_LEAF_VENDOR		0x0
#define   CACHE_QOS_VENDOR_INTEL_EBX	0x756e6547U	/* "Genu" */
#define   CACHE_QOS_VENDOR_AMD_EBX	0x68747541U	/* "Auth" */
#define   CACHE_QOS_VENDOR_HYGON_EBX	0x6f677948U	/* "Hygo" */

#define CACHE_QOS_LEAF_MODEL		0x1		/* EAX */
#define   CACHE_QOS_MODEL_STEPPING	GENMASK_ULL(3, 0)
#define   CACHE_QOS_MODEL_MODEL		GENMASK_ULL(7, 4)
#define   CACHE_QOS_MODEL_FAMILY	GENMASK_ULL(11, 8)
#define   CACHE_QOS_MODEL_EXT_MODEL	GENMASK_ULL(19, 16)
#define   CACHE_QOS_MODEL_EXT_FAMILY	GENMASK_ULL(27, 20)

#define CACHE_QOS_LEAF_FEATURES		0x7		/* EBX */
#define   CACHE_QOS_FEATURES_PQM	BIT(12)

#define CACHE_QOS_LEAF_MONITORING	0xf
/* subleaf 0: EBX is the highest RMID that may be written to PQR_ASSOC */
#define   CACHE_QOS_MONITORING_L3	BIT(1)		/* EDX */
/* subleaf 1: EBX: bytes per unit; ECX: highest RMID that can be read; EDX bit n - 1: event n */
#define   CACHE_QOS_L3_WIDTH		GENMASK_ULL(7, 0)	/* EAX: width - 24 */
#define   CACHE_QOS_L3_EVENTS		GENMASK_ULL(2, 0)	/* EDX */

/* Caches of a CPU, one per subleaf; topology of a CPU */
#define CACHE_QOS_LEAF_CACHES_INTEL	0x4
#define CACHE_QOS_LEAF_CACHES_AMD	0x8000001dU
#define   CACHE_QOS_CACHES_TYPE		GENMASK_ULL(4, 0)	/* EAX; 0: end of the list */
#define   CACHE_QOS_CACHES_LEVEL	GENMASK_ULL(7, 5)
#define   CACHE_QOS_CACHES_SHARING	GENMASK_ULL(25, 14)	/* CPUs per cache, minus 1 */
#define   CACHE_QOS_CACHES_LINE		GENMASK_ULL(11, 0)	/* EBX; each field minus 1 */
#define   CACHE_QOS_CACHES_PARTS	GENMASK_ULL(21, 12)
#define   CACHE_QOS_CACHES_WAYS		GENMASK_ULL(31, 22)
#define CACHE_QOS_LEAF_TOPOLOGY		0xb		/* EDX: APIC id of this CPU */

/* Hypervisor signature; the values are those of QEMU when it emulates the processor */
#define CACHE_QOS_LEAF_HYPERVISOR	0x40000000U
#define   CACHE_QOS_EMULATED_EBX	0x54474354U	/* "TCGT" */
#define   CACHE_QOS_EMULATED_ECX	0x43544743U	/* "CGTC" */
#define   CACHE_QOS_EMULATED_EDX	0x47435447U	/* "GTCG" */

#define CACHE_QOS_LEAF_EXTENDED_MAX	0x80000000U
#define CACHE_QOS_LEAF_AMD_QOS		0x80000020U	/* subleaf 0, EBX */
#define   CACHE_QOS_AMD_QOS_BMEC	BIT(3)	/* traffic types of an event can be configured */
#define   CACHE_QOS_AMD_QOS_ABMC	BIT(5)	/* counters can be assigned to RMIDs */
/* subleaf 3: ECX: traffic types; subleaf 5: EBX[15:0]: highest id of a counter */
#define   CACHE_QOS_AMD_QOS_LAST_ID	GENMASK_ULL(15, 0)

#define CACHE_QOS_WIDTH_BASE		24
#define CACHE_QOS_WIDTH_AMD		44		/* if CPUID reports 0 */
#define CACHE_QOS_WIDTH_HYGON		32
#define CACHE_QOS_WIDTH_MAX		62

/* MSRs */
#define CACHE_QOS_SNC_CONFIG		0xca0		/* RW, per L3; Intel with SNC */
#define   CACHE_QOS_SNC_PARTITION	BIT_ULL(0)	/* nodes divide the RMIDs; 1 at reset */

#define CACHE_QOS_QM_EVTSEL		0xc8d		/* RW */
#define   CACHE_QOS_EVTSEL_EVENT	GENMASK_ULL(7, 0)
#define   CACHE_QOS_EVTSEL_EXTENDED	BIT_ULL(31)	/* AMD with ABMC: RMID is a counter id */
#define   CACHE_QOS_EVTSEL_RMID		GENMASK_ULL(43, 32)	/* Intel: 41:32 */

#define CACHE_QOS_QM_CTR		0xc8e		/* RO */
#define   CACHE_QOS_CTR_DATA		GENMASK_ULL(61, 0)
#define   CACHE_QOS_CTR_UNAVAILABLE	BIT_ULL(62)
#define   CACHE_QOS_CTR_ERROR		BIT_ULL(63)

#define CACHE_QOS_PQR_ASSOC		0xc8f		/* RW */
#define   CACHE_QOS_PQR_RMID		GENMASK_ULL(31, 0)	/* #GP above the highest RMID */
#define   CACHE_QOS_PQR_CLOSID		GENMASK_ULL(63, 32)	/* class of service; preserved */

/* AMD with ABMC. The register is per CPU; what it configures is per L3. */
#define CACHE_QOS_L3_QOS_ABMC_CFG	0xc00003fdU	/* RW */
#define   CACHE_QOS_ABMC_APPLY		BIT_ULL(63)	/* apply; 0: only select the id */
#define   CACHE_QOS_ABMC_ENABLE		BIT_ULL(62)
#define   CACHE_QOS_ABMC_ID		GENMASK_ULL(52, 48)
#define   CACHE_QOS_ABMC_CLASS		BIT_ULL(47)	/* the source is a class of service */
#define   CACHE_QOS_ABMC_SOURCE		GENMASK_ULL(43, 32)
#define   CACHE_QOS_ABMC_TYPES		GENMASK_ULL(31, 0)
#define CACHE_QOS_L3_QOS_ABMC_DSC	0xc00003feU	/* RO: the counter that ABMC_CFG selects */
#define   CACHE_QOS_ABMC_WRONG		BIT_ULL(63)	/* rejected; other bits: as in ABMC_CFG */
#define CACHE_QOS_L3_QOS_EXT_CFG	0xc00003ffU	/* RW, AMD with ABMC */
#define   CACHE_QOS_EXT_CFG_ABMC	BIT_ULL(0)

/* AMD with BMEC, per L3: traffic types that TOTAL counts; the next MSR is for LOCAL */
#define CACHE_QOS_EVT_CFG_TOTAL		0xc0000400U	/* RW */
#define   CACHE_QOS_TYPES_TOTAL		0x7f		/* reset value if CPUID has all types */
#define   CACHE_QOS_TYPES_LOCAL		0x15

#endif /* CACHE_QOS_REGS_H */
