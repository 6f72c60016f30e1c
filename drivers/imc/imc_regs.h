/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In-Memory Collection: types in the catalog, LDBAR, the trace record and the nest control block.
 * Documentation/devices/imc.rst has the sources. Memory is big-endian.
 */
#ifndef IMC_REGS_H
#define IMC_REGS_H

#include <linux/bits.h>

/* Catalog: the type property of a unit's node */
#define IMC_TYPE_THREAD			0x1
#define IMC_TYPE_TRACE			0x2
#define IMC_TYPE_CORE			0x4
#define IMC_TYPE_CHIP			0x10

/* LDBAR, one per hardware thread */
#define IMC_LDBAR_ENABLE		BIT_ULL(63)	/* accumulate; 0 when tracing */
#define IMC_LDBAR_TRACE			BIT_ULL(62)
#define IMC_LDBAR_ADDRESS		GENMASK_ULL(49, 13)

/* Alignment of memory that an engine writes, given by the address fields of LDBAR and PDBAR */
#define IMC_MEMORY_ALIGN		8192

/*
 * Trace record, in 64-bit words. The engine writes a ring buffer whose size is set by BUFFERSIZE of
 * TRACE_IMC_SCOM; firmware always sets 0, which selects IMC_TRACE_BYTES.
 */
#define IMC_TRACE_BYTES			0x40000
#define IMC_RECORD_WORDS		8
#define IMC_RECORD_TB1			0	/* timebase */
#define IMC_RECORD_IP			1	/* program counter */
#define IMC_RECORD_VAL			2
#define   IMC_RECORD_VAL_HV		BIT_ULL(63)	/* MSR[HV]: the host, not a guest */
#define   IMC_RECORD_VAL_PR		BIT_ULL(62)	/* MSR[PR]: user */
#define IMC_RECORD_CPMC1		3	/* first of four counters */
#define IMC_RECORD_TB2			7
#define   IMC_RECORD_TB2_TB		GENMASK_ULL(41, 0)	/* low bits of word 0 */

/* Nest control block, at cb_offset from a chip's counters: 64-bit words, offsets in bytes */
#define IMC_CB_DEFAULT			0x3fc00
#define IMC_CB_STATUS			0x00	/* RO: 0 initializing, 1 running, 2 paused */
#define IMC_CB_COMMAND			0x08	/* RW: 1 resume, 2 pause, 3 clear and restart */
#define IMC_CB_SPEED			0x10	/* RW: 0 to 7 select 128 us to 1 s */
#define   IMC_CB_SPEED_MAX		7
#define IMC_CB_AVAILABLE		0x18	/* RO: bit i from the left: unit i exists */
#define IMC_CB_MODE			0x20	/* RW: 0 normal */
#define IMC_CB_BYTES			0x28

/* Length of a chip's memory, which holds counters and control block */
#define IMC_HOMER_BYTES			0x400000

#endif /* IMC_REGS_H */
