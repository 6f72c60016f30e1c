/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * cxl_hmu record: the result of one drain of a CXL hot list. The format is the same in the AUX
 * area, in the raw payload of a sample and in a trace event. Documentation/devices/cxl_hmu.rst
 * draws the record.
 *
 * A record is a sequence of 64-bit little-endian words:
 *
 *   word 0            PMUKIT_CXL_HMU_W0_*: words that follow word 1, counter width, extra words
 *   word 1            PMUKIT_CXL_HMU_MARK
 *   word 2 .. 1 + x   x extra header words, in the order of enum pmukit_cxl_hmu_extra;
 *                     a reader ignores extra words it does not know
 *   word 2 + x ..     the raw hot-list entries of the device
 *
 * If PMUKIT_CXL_HMU_W0_COUNTS_EXTRA is clear, bits 15:0 count the entries only. Such records are
 * from pmukit 0.1.0 or, if x == 0, from the driver of the CXL HMU RFC. A reader that knows only the
 * RFC's record (bits 15:0, then that many words) takes the extra words for entries, but still finds
 * the next record.
 */
#ifndef _UAPI_PMUKIT_CXL_HMU_H
#define _UAPI_PMUKIT_CXL_HMU_H

#include <linux/types.h>

#include <pmukit/raw.h>

#define PMUKIT_CXL_HMU_W0_WORDS_SHIFT		0	/* 16 bits, x + entries */
#define PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT	16	/* 8 bits, 1..63 bits */
#define PMUKIT_CXL_HMU_W0_COUNTS_EXTRA		(1ULL << 24)
#define PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT	56	/* 8 bits, x */

#define PMUKIT_CXL_HMU_MARK			0xdeadbeefULL

enum pmukit_cxl_hmu_extra {
	PMUKIT_CXL_HMU_X_TIME,		/* nanoseconds, the event's perf clock, at the drain */
	PMUKIT_CXL_HMU_X_UNIT,		/* PMUKIT_CXL_HMU_UNIT_* */
	PMUKIT_CXL_HMU_X_FLAGS,		/* PMUKIT_CXL_HMU_F_* */
	PMUKIT_CXL_HMU_X_SEQUENCE,	/* 0, 1, 2 ... since open; a gap is a loss */
	PMUKIT_CXL_HMU_X_LOST,		/* entries lost in the driver since open */
	PMUKIT_CXL_HMU_EXTRA_WORDS
};

/* Largest number of entries in a record */
#define PMUKIT_CXL_HMU_RECORD_ENTRIES_MAX	(0xffff - PMUKIT_CXL_HMU_EXTRA_WORDS)

/* Word 0 of a record with all extra words */
#define PMUKIT_CXL_HMU_W0(entries, counter_width)						\
	(((__u64)(entries) + PMUKIT_CXL_HMU_EXTRA_WORDS) << PMUKIT_CXL_HMU_W0_WORDS_SHIFT |	\
	 (__u64)(counter_width) << PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT |			\
	 PMUKIT_CXL_HMU_W0_COUNTS_EXTRA |							\
	 (__u64)PMUKIT_CXL_HMU_EXTRA_WORDS << PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT)

#define PMUKIT_CXL_HMU_UNIT_LOG2_SHIFT		0	/* 8 bits, log2 of the unit in bytes */
#define PMUKIT_CXL_HMU_UNIT_DOWNSAMPLING_SHIFT	8	/* 8 bits, log2 of the factor */

#define PMUKIT_CXL_HMU_F_OVERFLOW	(1ULL << 0)	/* list was full: units may be missing */
#define PMUKIT_CXL_HMU_F_TRUNCATED	(1ULL << 1)	/* driver lost entries before this record */
#define PMUKIT_CXL_HMU_F_ALWAYS_ON	(1ULL << 2)	/* always-on mode: counts are not valid */
#define PMUKIT_CXL_HMU_F_RESET		(1ULL << 3)	/* device lost its setup, or never ran */

/* The tag of a sample's raw payload, see <pmukit/raw.h> */
#define PMUKIT_RAW_TAG_CXL_HMU		0x554d4843U	/* "CHMU" as bytes */

#define PMUKIT_CXL_HMU_TRACE_NAME_BYTES	32

/*
 * Layout of the trace event cxl_hmu:cxl_hmu_record in the trace buffer, and of the context of a BPF
 * program of type tracepoint. The words of the record directly follow this structure; the fields
 * before them repeat the header of the record, for filters.
 */
struct pmukit_cxl_hmu_trace {
	__u8 common[8];		/* struct trace_entry; BPF programs cannot read it */
	char pmu[PMUKIT_CXL_HMU_TRACE_NAME_BYTES];	/* padded with zeros */
	__u64 time;		/* as PMUKIT_CXL_HMU_X_TIME */
	__u64 flags;		/* PMUKIT_CXL_HMU_F_* */
	__u64 sequence;		/* as PMUKIT_CXL_HMU_X_SEQUENCE */
	__u64 lost;		/* as PMUKIT_CXL_HMU_X_LOST */
	__u32 entries;		/* number of entries in the record */
	__u16 counter_width;	/* bits of the count in an entry */
	__u8 unit_log2;		/* log2 of the unit size in bytes */
	__u8 downsampling_log2;	/* log2 of the downsampling factor */
	__u32 nr_words;		/* words of the whole record, at most 64 */
	__u32 words_location;	/* __data_loc of ftrace: bytes << 16 | offset of the words */
};

#endif /* _UAPI_PMUKIT_CXL_HMU_H */
