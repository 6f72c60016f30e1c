/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In-Memory Collection hardware: LDBAR, TRACE_IMC_SCOM, the trace record, the nest control block.
 * Sources are Linux's Documentation/arch/powerpc/imc.rst and skiboot, which number bits from the
 * most significant one; here bit 0 is the least significant.
 * Documentation/devices/imc_engine-model.rst has drawings.
 */
#ifndef IMC_ENGINE_REGS_H
#define IMC_ENGINE_REGS_H

#include <linux/bits.h>

/* LDBAR, one per thread; PDBAR, one per core, has only the address */
#define IMC_ENGINE_LDBAR_ENABLE		BIT_ULL(63)	/* accumulate */
#define IMC_ENGINE_LDBAR_TRACE		BIT_ULL(62)	/* trace, even without ENABLE */
#define IMC_ENGINE_BAR_ADDRESS		GENMASK_ULL(49, 13)

/* TRACE_IMC_SCOM, one per core */
#define IMC_ENGINE_SCOM_SAMPSEL		GENMASK_ULL(63, 62)	/* 0: CPMC1, 1: CPMC2 */
#define IMC_ENGINE_SCOM_CPMC_LOAD	GENMASK_ULL(61, 30)	/* counts up from here to 2^32 */
#define IMC_ENGINE_SCOM_CPMC1SEL	GENMASK_ULL(29, 23)
#define IMC_ENGINE_SCOM_CPMC2SEL	GENMASK_ULL(22, 16)
#define IMC_ENGINE_SCOM_BUFFERSIZE	GENMASK_ULL(15, 13)	/* 4096 records << n */

#define IMC_ENGINE_SAMPSEL_CPMC2	1
#define IMC_ENGINE_CPMC1SEL_P9		4
#define IMC_ENGINE_CPMC2SEL_32MHZ	2
#define IMC_ENGINE_BUFFERSIZE_MAX	4
#define IMC_ENGINE_BUFFER_RECORDS	4096

/* Trace record: big-endian doublewords */
#define IMC_ENGINE_RECORD_WORDS		8
#define IMC_ENGINE_RECORD_TB1		0	/* timebase */
#define IMC_ENGINE_RECORD_IP		1
#define IMC_ENGINE_RECORD_PIDR		2
#define   IMC_ENGINE_RECORD_HV		BIT_ULL(63)	/* MSR[HV]: not in a guest */
#define   IMC_ENGINE_RECORD_PR		BIT_ULL(62)	/* MSR[PR]: user */
#define IMC_ENGINE_RECORD_CPMC1		3	/* first of CPMC1 to CPMC4 */
#define IMC_ENGINE_RECORD_TB2		7
#define   IMC_ENGINE_RECORD_TB2_MASK	GENMASK_ULL(41, 0)	/* low bits of the timebase */

/* Nest: offsets in a chip's HOMER, big-endian doublewords */
#define IMC_ENGINE_HOMER_COUNTERS	0x180000
#define IMC_ENGINE_HOMER_CONTROL	0x1bfc00
#define IMC_ENGINE_HOMER_BYTES		0x1c0000	/* up to the control block, whole pages */

#define IMC_ENGINE_CB_RUN_STATUS	0x00	/* engine writes */
#define   IMC_ENGINE_STATUS_INIT	0
#define   IMC_ENGINE_STATUS_RUNNING	1
#define   IMC_ENGINE_STATUS_PAUSED	2
#define IMC_ENGINE_CB_COMMAND		0x08	/* host writes; engine changes CLEAR to NOP */
#define   IMC_ENGINE_COMMAND_NOP	0
#define   IMC_ENGINE_COMMAND_RESUME	1
#define   IMC_ENGINE_COMMAND_PAUSE	2
#define   IMC_ENGINE_COMMAND_CLEAR	3	/* clear the counters and run */
#define IMC_ENGINE_CB_SPEED		0x10	/* host writes: 0 to 7 select 128 us to 1 s */
#define   IMC_ENGINE_SPEED_1MS		2
#define   IMC_ENGINE_SPEED_MAX		7
#define IMC_ENGINE_CB_AVAILABILITY	0x18	/* engine writes; unit i is bit 63 - i */
#define   IMC_ENGINE_UNIT_POWERBUS0	BIT_ULL(63)
#define   IMC_ENGINE_UNIT_MCS0		BIT_ULL(62)
#define   IMC_ENGINE_UNIT_MCS1		BIT_ULL(61)
#define IMC_ENGINE_CB_RUN_MODE		0x20	/* host writes, for debugging; ignored */

/* Offset of a unit's first counter in imc-power9.dts, as in POWER9's catalog */
#define IMC_ENGINE_OFFSET_CORE		0x18	/* also for threads */
#define IMC_ENGINE_OFFSET_POWERBUS0	0x8
#define IMC_ENGINE_OFFSET_MCS01		0xc8

/* Hardware events per count on POWER9; the same number is the scale in the catalog. */
#define IMC_ENGINE_SCALE_CORE		512
#define IMC_ENGINE_SCALE_NEST		256

#endif /* IMC_ENGINE_REGS_H */
