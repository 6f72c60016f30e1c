/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * imc: the records of trace_imc. The AUX area contains the engine's own records, 64 bytes each, one
 * after the other. In the raw payload of a sample, two words precede the record of the engine.
 * Documentation/devices/imc.rst draws the record.
 *
 *   word 0       sequence: 0, 1, 2 ... since the event was opened; a gap: perf lost samples
 *   word 1       lost: records of the engine lost for the event since the event was opened
 *   word 2 .. 9  the record
 *
 * Words 0 and 1 are little-endian, the record is big-endian, as the engine wrote it.
 */
#ifndef _UAPI_PMUKIT_IMC_H
#define _UAPI_PMUKIT_IMC_H

#include <linux/types.h>

#include <pmukit/raw.h>

enum pmukit_imc_word {
	PMUKIT_IMC_W_SEQUENCE,
	PMUKIT_IMC_W_LOST,
	PMUKIT_IMC_W_RECORD,
	PMUKIT_IMC_WORDS = PMUKIT_IMC_W_RECORD + 8
};

/* The tag of a sample's raw payload, see <pmukit/raw.h> */
#define PMUKIT_RAW_TAG_IMC		0x20434d49U	/* "IMC " as bytes */

#endif /* _UAPI_PMUKIT_IMC_H */
