/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cxl_hmu: arithmetic of capabilities, configuration, hot list and records. Pure C without kernel
 * calls, so that a userspace test can run it.
 */
#ifndef CXL_HMU_CORE_H
#define CXL_HMU_CORE_H

#include <linux/types.h>

#include <pmukit/cxl_hmu.h>

#include "cxl_hmu_regs.h"

/* Event terms: the layout published in format/. */
#define CXL_HMU_EVENT_EPOCH_TYPE	GENMASK_ULL(1, 0)	/* config */
#define CXL_HMU_EVENT_ACCESS_TYPE	GENMASK_ULL(9, 2)
#define CXL_HMU_EVENT_EPOCH_SCALE	GENMASK_ULL(13, 10)
#define CXL_HMU_EVENT_EPOCH_MULTIPLIER	GENMASK_ULL(25, 14)
#define CXL_HMU_EVENT_RANDOMIZED	BIT_ULL(26)
#define CXL_HMU_EVENT_DOWNSAMPLING	GENMASK_ULL(42, 27)
#define CXL_HMU_EVENT_UNKNOWN		GENMASK_ULL(63, 43)
#define CXL_HMU_EVENT_THRESHOLD		GENMASK_ULL(31, 0)	/* config1 */
#define CXL_HMU_EVENT_GRANUAL		GENMASK_ULL(63, 32)
#define CXL_HMU_EVENT_RANGE_BASE	GENMASK_ULL(31, 0)	/* config2 */
#define CXL_HMU_EVENT_RANGE_SIZE	GENMASK_ULL(63, 32)

#define CXL_HMU_EPOCH_SCALE_MAX		5
#define CXL_HMU_EPOCH_DEFAULT_US	100000
#define CXL_HMU_ACCESS_TYPE_MAX		6

/*
 * With a threshold of 1, every accessed unit is hot, and the list of a busy device overflows at
 * once.
 */
#define CXL_HMU_THRESHOLD_DEFAULT	16

/* Quadwords of a range bitmap for all CXL addresses; the rest of a longer bitmap is padding. */
#define CXL_HMU_BITMAP_QWORDS_MAX	BIT(CXL_HMU_ADDRESS_BITS - CXL_HMU_RANGE_SHIFT - 6)

/* One span for the common capability, three per instance: registers, range bitmap and hot list */
#define CXL_HMU_MAX_SPANS		(1 + 3 * CXL_HMU_MAX_INSTANCES)

/* Length of a record's header */
#define CXL_HMU_HEADER_WORDS		(2 + PMUKIT_CXL_HMU_EXTRA_WORDS)

/**
 * struct cxl_hmu_block_caps - decoded common capability of a block
 * @version: CXL_HMU_VERSION or newer
 * @instances: number of instances, 1 .. CXL_HMU_MAX_INSTANCES
 * @instance_bytes: distance from one instance to the next, a multiple of 8
 */
struct cxl_hmu_block_caps {
	u32 version;
	u32 instances;
	u32 instance_bytes;
};

/**
 * struct cxl_hmu_span - a part of a block
 * @start: offset from the start of the block
 * @bytes: length, not 0
 */
struct cxl_hmu_span {
	u64 start;
	u64 bytes;
};

/**
 * struct cxl_hmu_layout - the parts of a block that are in use, without overlaps
 * @nr: number of parts
 * @spans: the parts, in the order of their offsets
 */
struct cxl_hmu_layout {
	u32 nr;
	struct cxl_hmu_span spans[CXL_HMU_MAX_SPANS];
};

/**
 * struct cxl_hmu_epoch - length of an epoch: 100 us * 10^(scale - 1) * value
 * @scale: 1 .. CXL_HMU_EPOCH_SCALE_MAX
 * @value: 1 .. 4095
 */
struct cxl_hmu_epoch {
	u8 scale;
	u16 value;
};

/**
 * struct cxl_hmu_caps - checked capabilities of an instance
 * @message: interrupt message number; with MSI it changes when vectors are allocated
 * @int_overflow: can interrupt when the hot list overflows
 * @int_level: can interrupt when the hot list crosses a level
 * @epoch_per_counter: each counter has its own epoch
 * @epoch_mode: can report at the end of epochs
 * @always_on: can report as soon as the threshold is reached
 * @randomized: can randomize the downsampling
 * @overlap: ranges may overlap those of other instances of the block
 * @postponed: units found while the list is full are added once it has space
 * @access_mask: bit n: access type n, 1 .. CXL_HMU_ACCESS_TYPE_MAX
 * @unit_mask: bit n: unit size of 2^n bytes; sizes without a valid counter width are removed
 * @downsampling_mask: bit n: factor 2^n
 * @epoch_min: shortest epoch; scale and value 0: the device has no epochs
 * @epoch_max: longest epoch; scale and value 0: the device has no epochs
 * @list_size: slots in the hot list, which holds one entry less
 * @bitmap_offset: offset of the range bitmap from the start of the instance
 * @bitmap_qwords: length of the range bitmap
 * @capacity: memory of the device in 256 MiB granules; at most what the bitmap covers
 * @list_offset: offset of the hot list from the start of the instance
 * @counter_width: indexed by log2 of the unit size; 0: the size is not supported
 */
struct cxl_hmu_caps {
	u8 message;
	bool int_overflow;
	bool int_level;
	bool epoch_per_counter;
	bool epoch_mode;
	bool always_on;
	bool randomized;
	bool overlap;
	bool postponed;
	u32 access_mask;
	u32 unit_mask;
	u32 downsampling_mask;
	struct cxl_hmu_epoch epoch_min;
	struct cxl_hmu_epoch epoch_max;
	u32 list_size;
	u64 bitmap_offset;
	u32 bitmap_qwords;
	u32 capacity;
	u64 list_offset;
	u8 counter_width[CXL_HMU_UNIT_LOG2_MIN + CXL_HMU_NR_UNITS];
};

/**
 * struct cxl_hmu_config - configuration of an event, with defaults, checked against the instance
 * @always_on: true: always-on mode; false: epoch mode
 * @access_type: 1 .. CXL_HMU_ACCESS_TYPE_MAX
 * @randomized: randomize the downsampling
 * @downsampling_log2: log2 of the downsampling factor
 * @unit_log2: log2 of the unit size in bytes
 * @threshold: count at which a unit becomes hot
 * @epoch: length of an epoch
 * @range_base: first 256 MiB granule of DPA to track
 * @range_size: number of granules to track; all of them are memory
 */
struct cxl_hmu_config {
	bool always_on;
	u8 access_type;
	bool randomized;
	u8 downsampling_log2;
	u8 unit_log2;
	u32 threshold;
	struct cxl_hmu_epoch epoch;
	u32 range_base;
	u32 range_size;
};

/**
 * struct cxl_hmu_plan - which entries of the hot list one drain reads
 * @take: entries to read, starting at the head
 * @waiting: entries of the list that are not read
 * @head: value of the head after the drain
 */
struct cxl_hmu_plan {
	u32 take;
	u32 waiting;
	u32 head;
};

/**
 * struct cxl_hmu_header - header of a record
 * @time_ns: perf clock at the time of the drain
 * @sequence: number of the record
 * @lost: entries that were read or discarded without being delivered, since the event was opened
 * @flags: PMUKIT_CXL_HMU_F_*
 * @entries: number of entries that follow
 * @counter_width: bits of the count in an entry
 * @unit_log2: log2 of the unit size in bytes
 * @downsampling_log2: log2 of the downsampling factor
 */
struct cxl_hmu_header {
	u64 time_ns;
	u64 sequence;
	u64 lost;
	u64 flags;
	u32 entries;
	u8 counter_width;
	u8 unit_log2;
	u8 downsampling_log2;
};

/* Functions that return "const char *" return NULL on success and a short error text otherwise. */

/* Capabilities */
const char *cxl_hmu_block_caps_decode(u64 common0, u64 common1, u64 room_bytes,
				      struct cxl_hmu_block_caps *caps);
const char *cxl_hmu_caps_decode(const u64 *qwords, u64 room_bytes, struct cxl_hmu_caps *caps);
u32 cxl_hmu_message(u64 cap0);
void cxl_hmu_caps_set_capacity(struct cxl_hmu_caps *caps, u64 bytes);
const char *cxl_hmu_caps_set_width(struct cxl_hmu_caps *caps, u32 unit_log2, u64 status);
u64 cxl_hmu_epoch_us(struct cxl_hmu_epoch epoch);
u32 cxl_hmu_range_limit(const struct cxl_hmu_caps *caps);
u32 cxl_hmu_threshold_limit(const struct cxl_hmu_caps *caps, u32 unit_log2);

/* Layout */
u64 cxl_hmu_instance_offset(const struct cxl_hmu_block_caps *block, u32 index);
void cxl_hmu_layout_registers(struct cxl_hmu_layout *layout,
			      const struct cxl_hmu_block_caps *block);
bool cxl_hmu_layout_instance(struct cxl_hmu_layout *layout,
			     const struct cxl_hmu_block_caps *block, u32 index,
			     const struct cxl_hmu_caps *caps);
void cxl_hmu_layout_join(struct cxl_hmu_layout *layout);

/* Configuration */
const char *cxl_hmu_config_parse(const struct cxl_hmu_caps *caps, u64 config, u64 config1,
				 u64 config2, struct cxl_hmu_config *cfg);
void cxl_hmu_config_default(const struct cxl_hmu_caps *caps, u32 unit_log2,
			    struct cxl_hmu_config *cfg);
u64 cxl_hmu_cfg0(const struct cxl_hmu_config *cfg, const struct cxl_hmu_caps *caps,
		 bool interrupts);
u64 cxl_hmu_cfg1(const struct cxl_hmu_config *cfg);
u64 cxl_hmu_cfg2(const struct cxl_hmu_caps *caps);
u64 cxl_hmu_bitmap_qword(const struct cxl_hmu_config *cfg, u32 index);
bool cxl_hmu_ranges_overlap(const struct cxl_hmu_config *a, const struct cxl_hmu_config *b);

/* Hot list */
u32 cxl_hmu_list_used(u32 head, u32 tail, u32 size);
u32 cxl_hmu_list_advance(u32 head, u32 count, u32 size);
bool cxl_hmu_list_plan(u32 head, u32 tail, u32 size, u32 room, bool last,
		       struct cxl_hmu_plan *plan);
u64 cxl_hmu_status_clear(u64 status, u32 waiting);

/* Records */
void cxl_hmu_header_encode(const struct cxl_hmu_header *header, u64 *words);

#endif /* CXL_HMU_CORE_H */
