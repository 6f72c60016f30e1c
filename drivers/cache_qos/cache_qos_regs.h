/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache_qos: CPUID leaves and MSRs of L3 monitoring. Intel SDM volume 3B, "Intel Resource Director
 * Technology monitoring features"; AMD APM volume 2, "Platform Quality of Service".
 */
#ifndef CACHE_QOS_REGS_H
#define CACHE_QOS_REGS_H

#include <linux/bits.h>

/* CPUID. Registers are numbered as a back-end returns them. */
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
/* subleaf 1: EBX bytes of a unit, ECX highest RMID that may be read, EDX bit n - 1: event n */
#define   CACHE_QOS_L3_WIDTH		GENMASK_ULL(7, 0)	/* EAX: more than 24 */
#define   CACHE_QOS_L3_EVENTS		GENMASK_ULL(2, 0)	/* EDX */

#define CACHE_QOS_LEAF_EXTENDED_MAX	0x80000000U
#define CACHE_QOS_LEAF_AMD_QOS		0x80000020U	/* subleaf 0, EBX */
#define   CACHE_QOS_AMD_QOS_ABMC	BIT(5)

#define CACHE_QOS_WIDTH_BASE		24
#define CACHE_QOS_WIDTH_AMD		44		/* where the leaf says 0 */
#define CACHE_QOS_WIDTH_HYGON		32
#define CACHE_QOS_WIDTH_MAX		62

/* MSRs */
#define CACHE_QOS_QM_EVTSEL		0xc8d		/* RW */
#define   CACHE_QOS_EVTSEL_EVENT	GENMASK_ULL(7, 0)
#define   CACHE_QOS_EVTSEL_RMID		GENMASK_ULL(43, 32)	/* Intel: 41:32 */

#define CACHE_QOS_QM_CTR		0xc8e		/* RO */
#define   CACHE_QOS_CTR_DATA		GENMASK_ULL(61, 0)
#define   CACHE_QOS_CTR_UNAVAILABLE	BIT_ULL(62)
#define   CACHE_QOS_CTR_ERROR		BIT_ULL(63)

#define CACHE_QOS_PQR_ASSOC		0xc8f		/* RW */
#define   CACHE_QOS_PQR_RMID		GENMASK_ULL(31, 0)	/* above the highest RMID: #GP */
#define   CACHE_QOS_PQR_CLOSID		GENMASK_ULL(63, 32)	/* of cache allocation: not ours */

#define CACHE_QOS_L3_QOS_EXT_CFG	0xc00003ffU	/* RW, AMD with ABMC */
#define   CACHE_QOS_EXT_CFG_ABMC	BIT_ULL(0)

#endif /* CACHE_QOS_REGS_H */
