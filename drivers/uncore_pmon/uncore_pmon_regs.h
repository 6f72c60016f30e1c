/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel uncore PMON self-discovery: the capability with the location of the table, the table, and
 * the registers of a unit. Documentation/devices/uncore_pmon.rst lists the sources.
 */
#ifndef UNCORE_PMON_REGS_H
#define UNCORE_PMON_REGS_H

#include <linux/bits.h>

#define UNCORE_PMON_PCI_DEVICE_DMR	0x09a1	/* Diamond Rapids */

/* DVSEC, offsets from the capability */
#define UNCORE_PMON_DVSEC		0x23
#define UNCORE_PMON_DVSEC_HEADER	0x04
#define   UNCORE_PMON_DVSEC_HEADER_VENDOR	GENMASK(15, 0)
#define UNCORE_PMON_DVSEC_ENTRY		0x08
#define   UNCORE_PMON_DVSEC_ENTRY_ID	GENMASK(15, 0)
#define   UNCORE_PMON_DVSEC_ENTRY_PMON	1
#define UNCORE_PMON_DVSEC_PLACE		0x0c
#define   UNCORE_PMON_DVSEC_PLACE_BIR	GENMASK(2, 0)

/*
 * The table: entry 0 is the global entry. Each entry has three words; entries begin STRIDE apart.
 */
#define UNCORE_PMON_ENTRY_WORDS		3
#define UNCORE_PMON_GLOBAL0_TYPE	GENMASK_ULL(7, 0)
#define UNCORE_PMON_GLOBAL0_STRIDE	GENMASK_ULL(15, 8)	/* in words */
#define UNCORE_PMON_GLOBAL0_MAX_UNITS	GENMASK_ULL(25, 16)
#define UNCORE_PMON_GLOBAL0_ACCESS	GENMASK_ULL(63, 62)
#define UNCORE_PMON_UNIT0_COUNTERS	GENMASK_ULL(7, 0)
#define UNCORE_PMON_UNIT0_CONTROL	GENMASK_ULL(15, 8)	/* offset of the first control */
#define UNCORE_PMON_UNIT0_WIDTH		GENMASK_ULL(23, 16)	/* in bits */
#define UNCORE_PMON_UNIT0_COUNTER	GENMASK_ULL(31, 24)	/* offset of the first counter */
#define UNCORE_PMON_UNIT0_STATUS	GENMASK_ULL(39, 32)
#define UNCORE_PMON_UNIT0_ACCESS	GENMASK_ULL(63, 62)
#define   UNCORE_PMON_ACCESS_MSR	0
#define   UNCORE_PMON_ACCESS_MMIO	1
#define   UNCORE_PMON_ACCESS_PCI	2
#define UNCORE_PMON_UNIT2_TYPE		GENMASK_ULL(15, 0)
#define UNCORE_PMON_UNIT2_ID		GENMASK_ULL(31, 16)

/* Address of a unit with PCI access */
#define UNCORE_PMON_PCI_OFFSET		GENMASK_ULL(11, 0)
#define UNCORE_PMON_PCI_DEVFN		GENMASK_ULL(19, 12)
#define UNCORE_PMON_PCI_BUS		GENMASK_ULL(27, 20)
#define UNCORE_PMON_PCI_DOMAIN		GENMASK_ULL(30, 28)

/* Box control, at offset 0 of a unit */
#define UNCORE_PMON_BOX			0x00	/* RW */
#define   UNCORE_PMON_BOX_FREEZE	BIT(0)
#define   UNCORE_PMON_BOX_RESET_CONTROLS	BIT(8)	/* clears itself */
#define   UNCORE_PMON_BOX_RESET_COUNTERS	BIT(9)	/* clears itself */

/* Global control, RW */
#define UNCORE_PMON_GLOBAL_FREEZE	BIT(0)	/* freezes all units */

/* MSR of Sapphire and Emerald Rapids: number of caching agents; 0: unknown */
#define UNCORE_PMON_MSR_CHAS		0x2ffe	/* RO */

/* Control of a counter, RW; same bits as perf's config */
#define UNCORE_PMON_CONTROL_EVENT	GENMASK_ULL(7, 0)
#define UNCORE_PMON_CONTROL_UMASK	GENMASK_ULL(15, 8)
#define UNCORE_PMON_CONTROL_EDGE	BIT_ULL(18)
#define UNCORE_PMON_CONTROL_ENABLE	BIT_ULL(22)	/* set for the fixed counter */
#define UNCORE_PMON_CONTROL_INVERT	BIT_ULL(23)
#define UNCORE_PMON_CONTROL_THRESHOLD	GENMASK_ULL(31, 24)
#define UNCORE_PMON_CONTROL_UMASK_EXT	GENMASK_ULL(55, 32)	/* not in MMIO units */
#define UNCORE_PMON_CONTROL_UMASK_CHA	GENMASK_ULL(63, 32)
#define UNCORE_PMON_CONTROL_IIO		GENMASK_ULL(50, 32)	/* upper thresh, ch_mask, fc_mask */

/* The fixed counter of a memory controller, offsets from the box control */
#define UNCORE_PMON_IMC_FIXED_COUNTER	0x38
#define UNCORE_PMON_IMC_FIXED_CONTROL	0x54

/*
 * Free-running counters of a pair of memory controllers. All offsets, including that of the first
 * controller's box control (UNCORE_PMON_MC_BOX), are from the start of the pair's 512 KiB of
 * registers.
 */
#define UNCORE_PMON_MC_MASK		GENMASK_ULL(18, 0)
#define UNCORE_PMON_MC_BOX		0x22800
#define UNCORE_PMON_MC_DCLK		0x22b0
#define UNCORE_PMON_MC_RPQ_CYCLES	0x2318
#define UNCORE_PMON_MC_WPQ_CYCLES	0x2320
#define UNCORE_PMON_MC_WIDTH		48

#endif /* UNCORE_PMON_REGS_H */
