/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hisi_ptt: the arithmetic of event terms, filters, buffers and records. Pure C without kernel
 * calls, so that user-space tests can run it.
 */
#ifndef HISI_PTT_CORE_H
#define HISI_PTT_CORE_H

#include <linux/types.h>

#include <pmukit/hisi_ptt.h>

#include "hisi_ptt_regs.h"

/* Event terms: the layout published in format/. */
#define HISI_PTT_EVENT_TARGET		GENMASK_ULL(15, 0)	/* config */
#define HISI_PTT_EVENT_BY_PORT		BIT_ULL(19)
#define HISI_PTT_EVENT_DIRECTION	GENMASK_ULL(23, 20)
#define HISI_PTT_EVENT_TYPE		GENMASK_ULL(31, 24)
#define HISI_PTT_EVENT_FORMAT		GENMASK_ULL(35, 32)
#define HISI_PTT_EVENT_RESERVED		(GENMASK_ULL(18, 16) | GENMASK_ULL(63, 36))

#define HISI_PTT_DIRECTION_MAX		3
#define HISI_PTT_TYPES			GENMASK(2, 0)	/* posted, non-posted, completions */
#define HISI_PTT_FORMAT_MAX		1

/* The highest level of a tune file */
#define HISI_PTT_TUNE_MAX		2

/* Length and alignment of a device buffer, the same as in the in-tree driver */
#define HISI_PTT_BUFFER_BYTES		(4U << 20)

/* Minimum size of an AUX area */
#define HISI_PTT_AUX_BYTES_MIN		(128U << 10)

/* Length of a record's header, and of the longest record */
#define HISI_PTT_HEADER_WORDS		(2 + PMUKIT_HISI_PTT_EXTRA_WORDS)
#define HISI_PTT_RECORD_WORDS		(HISI_PTT_HEADER_WORDS + PMUKIT_HISI_PTT_DATA_BYTES / 8)

/**
 * struct hisi_ptt_config - decoded event terms
 * @target: mask of port bits, or a requester ID
 * @by_port: true: @target is a mask of port bits
 * @direction: 0 .. HISI_PTT_DIRECTION_MAX
 * @types: bit mask, a subset of HISI_PTT_TYPES
 * @wide: true: 8DW format; false: 4DW format
 */
struct hisi_ptt_config {
	u16 target;
	bool by_port;
	u8 direction;
	u8 types;
	bool wide;
};

/**
 * struct hisi_ptt_ring - the four device buffers and the read position
 * @buffer_bytes: length of each buffer
 * @entry_bytes: length of an entry; divides @buffer_bytes
 * @index: buffer of the read position
 * @offset_bytes: read position in that buffer; 0 unless the buffer is full or the device is idle
 * @full: bit n: buffer n was reported full and has unread data
 * @written_bytes: once the device is idle, fill level of the first buffer that is not full,
 *	rounded down to whole entries
 */
struct hisi_ptt_ring {
	u32 buffer_bytes;
	u32 entry_bytes;
	u32 index;
	u32 offset_bytes;
	u32 full;
	u32 written_bytes;
};

/**
 * enum hisi_ptt_verdict - result of checking which buffers the device reports full
 * @HISI_PTT_GOOD: full buffers can be read
 * @HISI_PTT_OVERRUN: the device has begun to overwrite unread data
 * @HISI_PTT_DISORDER: the device reported a buffer full out of order, or twice
 */
enum hisi_ptt_verdict {
	HISI_PTT_GOOD,
	HISI_PTT_OVERRUN,
	HISI_PTT_DISORDER
};

/**
 * struct hisi_ptt_header - fields of a record's header
 * @time_ns: perf clock at the drain
 * @flags: PMUKIT_HISI_PTT_F_*
 * @sequence: number of the record
 * @lost: entries known to be lost since the event was opened
 * @entries: entries in the record
 * @entry_bytes: length of an entry
 */
struct hisi_ptt_header {
	u64 time_ns;
	u64 flags;
	u64 sequence;
	u64 lost;
	u32 entries;
	u32 entry_bytes;
};

/* Functions that return "const char *" return a short error text, NULL on success. */

/* Event terms */
const char *hisi_ptt_config_parse(u64 config, u64 config1, u64 config2,
				  struct hisi_ptt_config *cfg);
u32 hisi_ptt_trace_ctrl(const struct hisi_ptt_config *cfg);
u32 hisi_ptt_entry_bytes(const struct hisi_ptt_config *cfg);

/* Location and filters */
const char *hisi_ptt_place_check(u32 location, u32 range);
bool hisi_ptt_range_has(u32 range, u16 devid);
u16 hisi_ptt_port_mask(u16 devid);
u32 hisi_ptt_filter_value(bool is_port, u16 devid);

/* Tune */
u16 hisi_ptt_tune_level(u64 value);
u32 hisi_ptt_tune_ctrl(u32 old, u16 code, u8 sub);

/* Buffers */
void hisi_ptt_ring_start(struct hisi_ptt_ring *ring, u32 buffer_bytes, u32 entry_bytes);
u32 hisi_ptt_ring_nr_full(const struct hisi_ptt_ring *ring);
enum hisi_ptt_verdict hisi_ptt_ring_report(struct hisi_ptt_ring *ring, u32 status);
u64 hisi_ptt_ring_waiting(const struct hisi_ptt_ring *ring);
u64 hisi_ptt_ring_drop(struct hisi_ptt_ring *ring);
bool hisi_ptt_ring_finish(struct hisi_ptt_ring *ring, u32 wr_sts);
u64 hisi_ptt_ring_resync(struct hisi_ptt_ring *ring, u32 wr_sts);
u32 hisi_ptt_ring_slice(const struct hisi_ptt_ring *ring, u32 limit_bytes);
bool hisi_ptt_ring_take(struct hisi_ptt_ring *ring, u32 bytes, bool idle);

/* Records */
void hisi_ptt_header_encode(const struct hisi_ptt_header *header, u64 *words);

#endif /* HISI_PTT_CORE_H */
