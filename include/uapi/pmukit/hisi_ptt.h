/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hisi_ptt record: some entries of a PCIe tune and trace device, in the raw payload of a sample and
 * in a trace event. The AUX area contains only the entries of the device, one after the other.
 * Documentation/devices/hisi_ptt.rst draws the record.
 *
 * A record is a sequence of 64-bit little-endian words:
 *
 *   word 0            PMUKIT_HISI_PTT_W0_*: entries that follow, their size, extra words
 *   word 1            PMUKIT_HISI_PTT_MARK
 *   word 2 .. 1 + x   x extra header words, in the order of enum pmukit_hisi_ptt_extra;
 *                     a reader ignores extra words it does not know
 *   word 2 + x ..     the entries, byte for byte as the device wrote them: 32-bit little-endian
 *                     words, 4 (4DW format) or 8 (8DW format) per entry
 *
 * A record without entries reports a loss. The lost word is exact until a record has
 * PMUKIT_HISI_PTT_F_AT_LEAST; all later records have this flag too, and the lost word is then a
 * lower bound. A device that overwrote its buffers does not report how often it wrapped.
 *
 * In an AUX area a loss is reported by a PERF_RECORD_AUX without data at the position of the
 * missing entries. PERF_AUX_FLAG_COLLISION means that the size of the loss is unknown,
 * PERF_AUX_FLAG_TRUNCATED that the trace ends at this position.
 */
#ifndef _UAPI_PMUKIT_HISI_PTT_H
#define _UAPI_PMUKIT_HISI_PTT_H

#include <linux/types.h>

#include <pmukit/raw.h>

#define PMUKIT_HISI_PTT_W0_ENTRIES_SHIFT	0	/* 16 bits */
#define PMUKIT_HISI_PTT_W0_ENTRY_BYTES_SHIFT	16	/* 8 bits: 16 (4DW) or 32 (8DW) */
#define PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT	56	/* 8 bits */

#define PMUKIT_HISI_PTT_MARK			0x5454505f49534948ULL	/* "HISI_PTT" as bytes */

enum pmukit_hisi_ptt_extra {
	PMUKIT_HISI_PTT_X_TIME,		/* nanoseconds, the event's perf clock, at the drain */
	PMUKIT_HISI_PTT_X_FLAGS,	/* PMUKIT_HISI_PTT_F_* */
	PMUKIT_HISI_PTT_X_SEQUENCE,	/* 0, 1, 2 ... since open; a gap is a loss */
	PMUKIT_HISI_PTT_X_LOST,		/* entries lost since open; see F_AT_LEAST */
	PMUKIT_HISI_PTT_EXTRA_WORDS
};

#define PMUKIT_HISI_PTT_F_OVERRUN	(1ULL << 0)	/* device overwrote unread entries */
#define PMUKIT_HISI_PTT_F_TRUNCATED	(1ULL << 1)	/* driver lost entries before this record */
#define PMUKIT_HISI_PTT_F_RESET		(1ULL << 2)	/* device lost its configuration */
#define PMUKIT_HISI_PTT_F_FILTER_GONE	(1ULL << 3)	/* last record: the function was removed */
#define PMUKIT_HISI_PTT_F_AT_LEAST	(1ULL << 4)	/* the lost word is a lower bound */

/* Longest record: word 0, word 1, extra words, 3072 bytes of entries */
#define PMUKIT_HISI_PTT_DATA_BYTES	3072

/* The tag of a sample's raw payload, see <pmukit/raw.h> */
#define PMUKIT_RAW_TAG_HISI_PTT		0x54545048U	/* "HPTT" as bytes */

#define PMUKIT_HISI_PTT_TRACE_NAME_BYTES	32

/*
 * Layout of the trace event hisi_ptt:hisi_ptt_record in the trace buffer, and of the context of a
 * BPF program of type tracepoint. The words of the record directly follow this structure; the
 * fields before them repeat the header of the record, for filters.
 */
struct pmukit_hisi_ptt_trace {
	__u8 common[8];		/* struct trace_entry; BPF programs cannot read it */
	char pmu[PMUKIT_HISI_PTT_TRACE_NAME_BYTES];	/* padded with zeros */
	__u64 time;		/* as PMUKIT_HISI_PTT_X_TIME */
	__u64 flags;		/* PMUKIT_HISI_PTT_F_* */
	__u64 sequence;		/* as PMUKIT_HISI_PTT_X_SEQUENCE */
	__u64 lost;		/* as PMUKIT_HISI_PTT_X_LOST */
	__u32 entries;		/* number of entries in the record */
	__u32 entry_bytes;	/* 16 or 32 */
	__u32 nr_words;		/* words of the whole record */
	__u32 words_location;	/* __data_loc of ftrace: bytes << 16 | offset of the words */
};

#endif /* _UAPI_PMUKIT_HISI_PTT_H */
