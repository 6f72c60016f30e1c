/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache monitoring: MSRs and CPUID leaves as the hardware implements them. Sources: Intel SDM vol.
 * 3 (Platform Shared Resource Monitoring), AMD APM vol. 2 and PQoS manual, and Linux's resctrl.
 * Documentation/devices/cache_qos_sim-model.rst has tables.
 */
#ifndef CACHE_QOS_SIM_REGS_H
#define CACHE_QOS_SIM_REGS_H

#include <linux/bits.h>

#define CACHE_QOS_SIM_MSR_SNC_CONFIG	0xca0		/* RW, per L3 */
#define   CACHE_QOS_SIM_SNC_PARTITION	BIT_ULL(0)	/* RMIDs are divided among the nodes */
#define CACHE_QOS_SIM_MSR_EVTSEL	0xc8d		/* RW, per logical CPU */
#define   CACHE_QOS_SIM_EVTSEL_EVENT	GENMASK_ULL(7, 0)
#define   CACHE_QOS_SIM_EVTSEL_EXTENDED	BIT_ULL(31)	/* AMD: counter id instead of RMID */
#define   CACHE_QOS_SIM_EVTSEL_RMID	GENMASK_ULL(41, 32)
#define   CACHE_QOS_SIM_EVTSEL_RMID_AMD	GENMASK_ULL(43, 32)
#define CACHE_QOS_SIM_MSR_CTR		0xc8e		/* RO */
#define   CACHE_QOS_SIM_CTR_ERROR	BIT_ULL(63)
#define   CACHE_QOS_SIM_CTR_UNAVAILABLE	BIT_ULL(62)
#define CACHE_QOS_SIM_MSR_PQR		0xc8f		/* RW, per logical CPU */
#define   CACHE_QOS_SIM_PQR_CLOSID	GENMASK_ULL(63, 32)
#define   CACHE_QOS_SIM_PQR_LOW		GENMASK_ULL(31, 0)
#define CACHE_QOS_SIM_MSR_EVT_CFG	0xc0000400	/* RW, AMD, per L3; next MSR is for LOCAL */
#define   CACHE_QOS_SIM_EVT_CFG_TYPES	GENMASK_ULL(6, 0)
#define   CACHE_QOS_SIM_EVT_CFG_TOTAL	0x7f		/* at reset */
#define   CACHE_QOS_SIM_EVT_CFG_LOCAL	0x15
#define CACHE_QOS_SIM_MSR_ABMC_CFG	0xc00003fd	/* RW, AMD; configures counters of the L3 */
#define   CACHE_QOS_SIM_ABMC_APPLY	BIT_ULL(63)	/* 0: only the id is used */
#define   CACHE_QOS_SIM_ABMC_ENABLE	BIT_ULL(62)
#define   CACHE_QOS_SIM_ABMC_ID		GENMASK_ULL(52, 48)
#define   CACHE_QOS_SIM_ABMC_CLASS	BIT_ULL(47)	/* not modeled */
#define   CACHE_QOS_SIM_ABMC_RMID	GENMASK_ULL(43, 32)
#define   CACHE_QOS_SIM_ABMC_TYPES	GENMASK_ULL(31, 0)
#define CACHE_QOS_SIM_MSR_ABMC_DSC	0xc00003fe	/* RO, AMD: counter selected in ABMC_CFG */
#define   CACHE_QOS_SIM_ABMC_WRONG	BIT_ULL(63)	/* the selected counter does not exist */
#define CACHE_QOS_SIM_MSR_EXT_CFG	0xc00003ff	/* RW, AMD */
#define   CACHE_QOS_SIM_EXT_CFG_ABMC	BIT_ULL(0)

/* Event numbers in QM_EVTSEL; event n exists if bit n - 1 of CPUID.(0xF,1):EDX is set */
#define CACHE_QOS_SIM_EVENT_OCCUPANCY	1
#define CACHE_QOS_SIM_EVENT_TOTAL	2
#define CACHE_QOS_SIM_EVENT_LOCAL	3

/* CPUID */
#define CACHE_QOS_SIM_CPUID_CACHE	4
#define CACHE_QOS_SIM_CPUID_FEATURES	7
#define   CACHE_QOS_SIM_EBX_PQM		BIT_ULL(12)
#define CACHE_QOS_SIM_CPUID_PQM		0xf
#define   CACHE_QOS_SIM_EDX_L3		BIT_ULL(1)	/* subleaf 0 */
#define CACHE_QOS_SIM_CPUID_CACHE_AMD	0x8000001d
#define CACHE_QOS_SIM_CPUID_QOS_AMD	0x80000020
#define   CACHE_QOS_SIM_EBX_BMEC	BIT_ULL(3)	/* subleaf 0 */
#define   CACHE_QOS_SIM_EBX_ABMC	BIT_ULL(5)

#endif /* CACHE_QOS_SIM_REGS_H */
