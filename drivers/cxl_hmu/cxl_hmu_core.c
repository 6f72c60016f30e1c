// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: arithmetic of capabilities, configuration, hot list and records.
 *
 * The decoders check what a device reports: they reject a block or an instance with values that are
 * outside of the BAR or outside of the ranges of the specification.
 */

#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "cxl_hmu_core.h"

/* Capabilities */

/**
 * cxl_hmu_block_caps_decode - decode the common capability of a block
 * @common0: first quadword
 * @common1: second quadword
 * @room_bytes: bytes from the start of the block to the end of its BAR
 * @caps: filled in
 *
 * Return: NULL, or a short error text.
 */
const char *cxl_hmu_block_caps_decode(u64 common0, u64 common1, u64 room_bytes,
				      struct cxl_hmu_block_caps *caps)
{
	caps->version = FIELD_GET(CXL_HMU_COMMON0_VERSION, common0);
	caps->instances = FIELD_GET(CXL_HMU_COMMON0_INSTANCES, common0);
	caps->instance_bytes = FIELD_GET(CXL_HMU_COMMON1_INSTANCE_BYTES, common1);

	if (caps->version < CXL_HMU_VERSION)
		return "it has no version";
	if (!caps->instances || caps->instances > CXL_HMU_MAX_INSTANCES)
		return "number of instances not in 1..8";
	if (caps->instance_bytes < CXL_HMU_REGS_BYTES || caps->instance_bytes % sizeof(u64))
		return "instance length too small or not a multiple of 8";
	if (room_bytes < CXL_HMU_COMMON_BYTES ||
	    (u64)caps->instances * caps->instance_bytes > room_bytes - CXL_HMU_COMMON_BYTES)
		return "instances reach beyond the BAR";
	return NULL;
}

/**
 * cxl_hmu_epoch_us - length of an epoch in microseconds
 * @epoch: a valid epoch
 *
 * Return: microseconds.
 */
u64 cxl_hmu_epoch_us(struct cxl_hmu_epoch epoch)
{
	u64 us = 100;
	u32 i;

	for (i = 1; i < epoch.scale; i++)
		us *= 10;
	return us * epoch.value;
}

static bool cxl_hmu_epoch_valid(struct cxl_hmu_epoch epoch)
{
	return epoch.scale >= 1 && epoch.scale <= CXL_HMU_EPOCH_SCALE_MAX && epoch.value >= 1;
}

/**
 * cxl_hmu_message - the interrupt message number of an instance
 * @cap0: first capability register of the instance
 *
 * With MSI the number depends on how many vectors are allocated to the function (PCIe Interrupt
 * Message Number), so the register must be read after the allocation.
 *
 * Return: the vector, 0 to 15.
 */
u32 cxl_hmu_message(u64 cap0)
{
	return FIELD_GET(CXL_HMU_CAP0_MESSAGE, cap0);
}

static void cxl_hmu_caps_fields(const u64 *qwords, struct cxl_hmu_caps *caps)
{
	u64 cap0 = qwords[0];
	u64 cap1 = qwords[1];

	*caps = (struct cxl_hmu_caps) {
		.message = cxl_hmu_message(cap0),
		.int_overflow = cap0 & CXL_HMU_CAP0_INT_OVERFLOW,
		.int_level = cap0 & CXL_HMU_CAP0_INT_LEVEL,
		.epoch_per_counter = FIELD_GET(CXL_HMU_CAP0_EPOCH_TYPE, cap0) ==
				     CXL_HMU_CAP0_EPOCH_TYPE_PER_COUNTER,
		.epoch_mode = cap1 & CXL_HMU_CAP1_EPOCH_MODE,
		.always_on = cap1 & CXL_HMU_CAP1_ALWAYS_ON,
		.randomized = cap1 & CXL_HMU_CAP1_RANDOMIZED,
		.overlap = cap1 & CXL_HMU_CAP1_OVERLAP,
		.postponed = cap1 & CXL_HMU_CAP1_POSTPONED,
		.access_mask = FIELD_GET(CXL_HMU_CAP0_ACCESS, cap0) << 1,
		.unit_mask = (FIELD_GET(CXL_HMU_CAP1_UNITS, cap1) &
			      (BIT(CXL_HMU_NR_UNITS) - 1)) << CXL_HMU_UNIT_LOG2_MIN,
		.downsampling_mask = FIELD_GET(CXL_HMU_CAP1_DOWNSAMPLING, cap1),
		.epoch_min = {
			.scale = FIELD_GET(CXL_HMU_CAP0_MIN_EPOCH_SCALE, cap0),
			.value = FIELD_GET(CXL_HMU_CAP0_MIN_EPOCH_VALUE, cap0),
		},
		.epoch_max = {
			.scale = FIELD_GET(CXL_HMU_CAP0_MAX_EPOCH_SCALE, cap0),
			.value = FIELD_GET(CXL_HMU_CAP0_MAX_EPOCH_VALUE, cap0),
		},
		.list_size = FIELD_GET(CXL_HMU_CAP0_LIST_SIZE, cap0),
	};
}

/*
 * The bitmap follows the registers and ends where the list begins. Bitmap and list may lie outside
 * of the instance: the length of an instance has 16 bits, the offsets have 64.
 * cxl_hmu_layout_instance() checks the layout of the whole block.
 */
static const char *cxl_hmu_caps_offsets(u64 bitmap, u64 list, u64 room_bytes,
					struct cxl_hmu_caps *caps)
{
	if (bitmap % sizeof(u64) || list % sizeof(u64))
		return "range bitmap or hot list not aligned to 8 bytes";
	if (bitmap < CXL_HMU_REGS_BYTES || bitmap >= list)
		return "range bitmap empty or over the registers";
	if (list >= room_bytes || (u64)caps->list_size * sizeof(u64) > room_bytes - list)
		return "hot list reaches beyond the BAR";

	caps->bitmap_offset = bitmap;
	caps->bitmap_qwords = min_t(u64, (list - bitmap) / sizeof(u64), CXL_HMU_BITMAP_QWORDS_MAX);
	caps->capacity = cxl_hmu_range_limit(caps);
	caps->list_offset = list;
	return NULL;
}

static bool cxl_hmu_epochs_valid(const struct cxl_hmu_caps *caps)
{
	return cxl_hmu_epoch_valid(caps->epoch_min) && cxl_hmu_epoch_valid(caps->epoch_max) &&
	       cxl_hmu_epoch_us(caps->epoch_min) <= cxl_hmu_epoch_us(caps->epoch_max);
}

/*
 * Invalid limits become 0, which marks a device without epochs. Invalid limits are an error only if
 * the device has epoch mode: without epoch mode the limits have no meaning, and the device may
 * report any value.
 */
static bool cxl_hmu_caps_epochs(struct cxl_hmu_caps *caps)
{
	if (cxl_hmu_epochs_valid(caps))
		return true;
	caps->epoch_min = (struct cxl_hmu_epoch) {};
	caps->epoch_max = (struct cxl_hmu_epoch) {};
	return !caps->epoch_mode;
}

static bool cxl_hmu_epochs_absent(const struct cxl_hmu_caps *caps)
{
	return !caps->epoch_min.value;
}

/**
 * cxl_hmu_caps_decode - decode and check the capability of an instance
 * @qwords: the CXL_HMU_CAP_QWORDS quadwords of the capability
 * @room_bytes: bytes from the start of the instance to the end of the BAR
 * @caps: filled in except for the counter widths; the capacity is set to what the bitmap covers
 *
 * Return: NULL, or a short error text.
 */
const char *cxl_hmu_caps_decode(const u64 *qwords, u64 room_bytes, struct cxl_hmu_caps *caps)
{
	cxl_hmu_caps_fields(qwords, caps);

	if (caps->list_size < 2)
		return "hot list cannot hold an entry";
	if (!caps->access_mask)
		return "no access type";
	if (!caps->unit_mask)
		return "no unit size";
	if (!caps->downsampling_mask)
		return "no downsampling factor";
	if (!caps->epoch_mode && !caps->always_on)
		return "neither epoch nor always-on mode";
	if (!cxl_hmu_caps_epochs(caps))
		return "invalid epoch limits";

	return cxl_hmu_caps_offsets(qwords[2], qwords[3], room_bytes, caps);
}

/**
 * cxl_hmu_caps_set_capacity - set the memory size of the device
 * @caps: decoded capability
 * @bytes: size of the memory, from DPA 0; 0: unknown
 *
 * Bits of the range bitmap beyond the memory are reserved and stay 0.
 */
void cxl_hmu_caps_set_capacity(struct cxl_hmu_caps *caps, u64 bytes)
{
	u64 granules = (bytes >> CXL_HMU_RANGE_SHIFT) +
		       !!(bytes & (BIT_ULL(CXL_HMU_RANGE_SHIFT) - 1));

	if (granules)
		caps->capacity = min_t(u64, granules, cxl_hmu_range_limit(caps));
}

/**
 * cxl_hmu_caps_set_width - set the counter width of a unit size
 * @caps: decoded capability
 * @unit_log2: log2 of the unit size that was written to the device
 * @status: value of the status register, read after that write
 *
 * A unit size without a valid counter width is removed from @caps->unit_mask.
 *
 * Return: NULL, or a short error text.
 */
const char *cxl_hmu_caps_set_width(struct cxl_hmu_caps *caps, u32 unit_log2, u64 status)
{
	u32 width = FIELD_GET(CXL_HMU_STATUS_COUNTER_WIDTH, status);

	if (width < 1 || width > 63) {
		caps->unit_mask &= ~BIT(unit_log2);
		return "counter width not in 1..63";
	}
	caps->counter_width[unit_log2] = width;
	return NULL;
}

/**
 * cxl_hmu_range_limit - number of 256 MiB granules that the range bitmap covers
 * @caps: decoded capability
 *
 * Return: the number of the first granule beyond the bitmap.
 */
u32 cxl_hmu_range_limit(const struct cxl_hmu_caps *caps)
{
	return caps->bitmap_qwords * 64;
}

/**
 * cxl_hmu_threshold_limit - the highest threshold that a counter of a unit size can reach
 * @caps: decoded capability, with counter widths
 * @unit_log2: log2 of a supported unit size
 *
 * Return: the threshold.
 */
u32 cxl_hmu_threshold_limit(const struct cxl_hmu_caps *caps, u32 unit_log2)
{
	return min_t(u64, BIT_ULL(caps->counter_width[unit_log2]) - 1, U32_MAX);
}

/*
 * Layout: the parts of a block that are in use. Offsets are hexadecimal, L is the instance length.
 * Bitmap and list of an instance may be inside of the instance or anywhere after it:
 *
 *   0     10         10+L                                         end of the BAR
 *   +-----+----------+----------+-----------+---------+-----------+
 *   |common registers| registers| bitmap 0  | list 0  |  list 1 ..|
 *   +-----+----------+----------+-----------+---------+-----------+
 */

/**
 * cxl_hmu_instance_offset - where the registers of an instance begin
 * @block: the block
 * @index: number of the instance
 *
 * Return: offset from the start of the block.
 */
u64 cxl_hmu_instance_offset(const struct cxl_hmu_block_caps *block, u32 index)
{
	return CXL_HMU_COMMON_BYTES + (u64)index * block->instance_bytes;
}

static bool cxl_hmu_layout_is_free(const struct cxl_hmu_layout *layout, u64 start, u64 bytes)
{
	u32 i;

	for (i = 0; i < layout->nr; i++) {
		const struct cxl_hmu_span *span = &layout->spans[i];

		if (start < span->start + span->bytes && span->start < start + bytes)
			return false;
	}
	return true;
}

static void cxl_hmu_layout_add(struct cxl_hmu_layout *layout, u64 start, u64 bytes)
{
	u32 at = layout->nr++;

	for (; at && layout->spans[at - 1].start > start; at--)
		layout->spans[at] = layout->spans[at - 1];
	layout->spans[at] = (struct cxl_hmu_span) { .start = start, .bytes = bytes };
}

/**
 * cxl_hmu_layout_registers - start a layout with the common capability and all instances' registers
 * @layout: filled in
 * @block: the block
 */
void cxl_hmu_layout_registers(struct cxl_hmu_layout *layout,
			      const struct cxl_hmu_block_caps *block)
{
	u32 i;

	layout->nr = 0;
	cxl_hmu_layout_add(layout, 0, CXL_HMU_COMMON_BYTES);
	for (i = 0; i < block->instances; i++)
		cxl_hmu_layout_add(layout, cxl_hmu_instance_offset(block, i), CXL_HMU_REGS_BYTES);
}

/**
 * cxl_hmu_layout_instance - add range bitmap and hot list of an instance
 * @layout: a layout that contains the registers
 * @block: the block
 * @index: number of the instance
 * @caps: capability of the instance
 *
 * Return: false if the bitmap or the list overlaps a part of the layout.
 */
bool cxl_hmu_layout_instance(struct cxl_hmu_layout *layout,
			     const struct cxl_hmu_block_caps *block, u32 index,
			     const struct cxl_hmu_caps *caps)
{
	u64 base = cxl_hmu_instance_offset(block, index);
	u64 bitmap = base + caps->bitmap_offset, bitmap_bytes = caps->bitmap_qwords * sizeof(u64);
	u64 list = base + caps->list_offset, list_bytes = caps->list_size * sizeof(u64);

	if (!cxl_hmu_layout_is_free(layout, bitmap, bitmap_bytes) ||
	    !cxl_hmu_layout_is_free(layout, list, list_bytes))
		return false;
	cxl_hmu_layout_add(layout, bitmap, bitmap_bytes);
	cxl_hmu_layout_add(layout, list, list_bytes);
	return true;
}

/**
 * cxl_hmu_layout_join - merge adjacent spans
 * @layout: a complete layout
 */
void cxl_hmu_layout_join(struct cxl_hmu_layout *layout)
{
	u32 last = 0, i;

	for (i = 1; i < layout->nr; i++) {
		struct cxl_hmu_span *span = &layout->spans[last];

		if (layout->spans[i].start == span->start + span->bytes)
			span->bytes += layout->spans[i].bytes;
		else
			layout->spans[++last] = layout->spans[i];
	}
	layout->nr = last + 1;
}

/* Configuration: one function for each term, in the order of struct cxl_hmu_config */

static const char *cxl_hmu_parse_mode(const struct cxl_hmu_caps *caps, u64 config,
				      struct cxl_hmu_config *cfg)
{
	u32 type = FIELD_GET(CXL_HMU_EVENT_EPOCH_TYPE, config);

	if (type > 1)
		return "epoch_type must be 0 (epoch) or 1 (always on)";
	cfg->always_on = type;
	if (cfg->always_on ? !caps->always_on : !caps->epoch_mode)
		return "epoch_type not supported, see caps/epoch_type";
	return NULL;
}

static const char *cxl_hmu_parse_access(const struct cxl_hmu_caps *caps, u64 config,
					struct cxl_hmu_config *cfg)
{
	u32 type = FIELD_GET(CXL_HMU_EVENT_ACCESS_TYPE, config);

	/* Default: the supported type with the highest number; it includes the most accesses. */
	if (!type)
		type = __fls(caps->access_mask);
	if (type > CXL_HMU_ACCESS_TYPE_MAX || !(caps->access_mask & BIT(type)))
		return "access_type not supported, see caps/access_type";
	cfg->access_type = type;
	return NULL;
}

static const char *cxl_hmu_parse_downsampling(const struct cxl_hmu_caps *caps, u64 config,
					      struct cxl_hmu_config *cfg)
{
	u32 factor = FIELD_GET(CXL_HMU_EVENT_DOWNSAMPLING, config);

	cfg->randomized = config & CXL_HMU_EVENT_RANDOMIZED;
	if (cfg->randomized && !caps->randomized)
		return "randomized_downsampling not supported";

	if (!factor)
		factor = BIT(__ffs(caps->downsampling_mask));
	if (!is_power_of_2(factor))
		return "downsampling_factor must be a power of two";
	if (!(caps->downsampling_mask & factor))
		return "downsampling_factor not supported, see caps/downsampling_factor";
	cfg->downsampling_log2 = ilog2(factor);
	return NULL;
}

static const char *cxl_hmu_parse_unit(const struct cxl_hmu_caps *caps, u64 config1,
				      struct cxl_hmu_config *cfg)
{
	u32 unit_log2 = FIELD_GET(CXL_HMU_EVENT_GRANUAL, config1);

	if (!unit_log2)
		unit_log2 = __ffs(caps->unit_mask);
	if (unit_log2 > 31 || !(caps->unit_mask & BIT(unit_log2)))
		return "hotness_granual not supported, see caps/hotness_granual";
	cfg->unit_log2 = unit_log2;
	return NULL;
}

/* Called after cxl_hmu_parse_unit(): the unit size determines the counter width. */
static const char *cxl_hmu_parse_threshold(const struct cxl_hmu_caps *caps, u64 config1,
					   struct cxl_hmu_config *cfg)
{
	u32 limit = cxl_hmu_threshold_limit(caps, cfg->unit_log2);

	cfg->threshold = FIELD_GET(CXL_HMU_EVENT_THRESHOLD, config1);
	if (!cfg->threshold)
		cfg->threshold = min_t(u32, CXL_HMU_THRESHOLD_DEFAULT, limit);
	if (cfg->threshold > limit)
		return "hotness_threshold does not fit the counter, see caps/counter_width_*";
	return NULL;
}

static struct cxl_hmu_epoch cxl_hmu_epoch_default(const struct cxl_hmu_caps *caps)
{
	struct cxl_hmu_epoch epoch = { .scale = 4, .value = 1 };	/* CXL_HMU_EPOCH_DEFAULT_US */

	if (cxl_hmu_epochs_absent(caps))
		return caps->epoch_min;
	if (cxl_hmu_epoch_us(epoch) < cxl_hmu_epoch_us(caps->epoch_min))
		return caps->epoch_min;
	if (cxl_hmu_epoch_us(epoch) > cxl_hmu_epoch_us(caps->epoch_max))
		return caps->epoch_max;
	return epoch;
}

static const char *cxl_hmu_parse_epoch(const struct cxl_hmu_caps *caps, u64 config,
				       struct cxl_hmu_config *cfg)
{
	u64 us;

	cfg->epoch.scale = FIELD_GET(CXL_HMU_EVENT_EPOCH_SCALE, config);
	cfg->epoch.value = FIELD_GET(CXL_HMU_EVENT_EPOCH_MULTIPLIER, config);
	if (!cfg->epoch.scale && !cfg->epoch.value) {
		cfg->epoch = cxl_hmu_epoch_default(caps);
		return NULL;
	}
	if (cxl_hmu_epochs_absent(caps))
		return "the device has no epochs: epoch_scale and epoch_multiplier must be absent";

	if (!cxl_hmu_epoch_valid(cfg->epoch))
		return "epoch_scale must be 1..5 and epoch_multiplier 1..4095, or both absent";
	us = cxl_hmu_epoch_us(cfg->epoch);
	if (us < cxl_hmu_epoch_us(caps->epoch_min) || us > cxl_hmu_epoch_us(caps->epoch_max))
		return "epoch too short or too long, see caps/epoch_min_us and caps/epoch_max_us";
	return NULL;
}

/* Called after cxl_hmu_parse_unit(): a range must consist of whole units. */
static const char *cxl_hmu_parse_range(const struct cxl_hmu_caps *caps, u64 config2,
				       struct cxl_hmu_config *cfg)
{
	u32 limit = cxl_hmu_range_limit(caps);
	u32 granules;

	cfg->range_base = FIELD_GET(CXL_HMU_EVENT_RANGE_BASE, config2);
	cfg->range_size = FIELD_GET(CXL_HMU_EVENT_RANGE_SIZE, config2);
	if (!cfg->range_size) {
		if (cfg->range_base)
			return "range_base needs range_size";
		cfg->range_size = caps->capacity;
		return NULL;
	}

	if (cfg->range_base >= caps->capacity)
		return "range_base lies beyond the memory, see caps/range_size";
	if (cfg->range_size > limit - cfg->range_base)
		return "range reaches beyond the range bitmap, see caps/range_size";
	if (cfg->unit_log2 > CXL_HMU_RANGE_SHIFT) {
		granules = BIT(cfg->unit_log2 - CXL_HMU_RANGE_SHIFT);
		if (cfg->range_base % granules || cfg->range_size % granules)
			return "range_base and range_size must be multiples of the unit";
	}
	cfg->range_size = min_t(u32, cfg->range_size, caps->capacity - cfg->range_base);
	return NULL;
}

/**
 * cxl_hmu_config_parse - parse the configuration words of an event
 * @caps: capabilities of the instance
 * @config: perf_event_attr.config
 * @config1: perf_event_attr.config1
 * @config2: perf_event_attr.config2
 * @cfg: filled in; defaults replace zeros
 *
 * Return: NULL, or a short error text.
 */
const char *cxl_hmu_config_parse(const struct cxl_hmu_caps *caps, u64 config, u64 config1,
				 u64 config2, struct cxl_hmu_config *cfg)
{
	const char *wrong;

	if (config & CXL_HMU_EVENT_UNKNOWN)
		return "unknown bits in config";

	wrong = cxl_hmu_parse_mode(caps, config, cfg);
	if (!wrong)
		wrong = cxl_hmu_parse_access(caps, config, cfg);
	if (!wrong)
		wrong = cxl_hmu_parse_downsampling(caps, config, cfg);
	if (!wrong)
		wrong = cxl_hmu_parse_unit(caps, config1, cfg);
	if (!wrong)
		wrong = cxl_hmu_parse_threshold(caps, config1, cfg);
	if (!wrong)
		wrong = cxl_hmu_parse_epoch(caps, config, cfg);
	if (!wrong)
		wrong = cxl_hmu_parse_range(caps, config2, cfg);
	return wrong;
}

/**
 * cxl_hmu_config_default - a configuration that the instance accepts before its widths are known
 * @caps: decoded capability
 * @unit_log2: log2 of a supported unit size
 * @cfg: filled in
 *
 * Every field has a supported value, because a device may drop a register write that has an
 * unsupported one.
 */
void cxl_hmu_config_default(const struct cxl_hmu_caps *caps, u32 unit_log2,
			    struct cxl_hmu_config *cfg)
{
	*cfg = (struct cxl_hmu_config) {
		.always_on = !caps->epoch_mode,
		.access_type = __fls(caps->access_mask),
		.downsampling_log2 = __ffs(caps->downsampling_mask),
		.unit_log2 = unit_log2,
		.threshold = 1,
		.epoch = cxl_hmu_epoch_default(caps),
		.range_size = caps->capacity,
	};
}

/**
 * cxl_hmu_cfg0 - first configuration quadword, control bits clear
 * @cfg: the configuration
 * @caps: capabilities of the instance; unsupported interrupts stay off
 * @interrupts: the instance has a vector
 *
 * Return: the register value.
 */
u64 cxl_hmu_cfg0(const struct cxl_hmu_config *cfg, const struct cxl_hmu_caps *caps,
		 bool interrupts)
{
	return FIELD_PREP(CXL_HMU_CFG0_ACCESS, cfg->access_type) |
	       FIELD_PREP(CXL_HMU_CFG0_RANDOMIZED, cfg->randomized) |
	       FIELD_PREP(CXL_HMU_CFG0_INT_OVERFLOW, interrupts && caps->int_overflow) |
	       FIELD_PREP(CXL_HMU_CFG0_INT_LEVEL, interrupts && caps->int_level) |
	       FIELD_PREP(CXL_HMU_CFG0_THRESHOLD, cfg->threshold);
}

/**
 * cxl_hmu_cfg1 - second configuration quadword
 * @cfg: the configuration
 *
 * Return: the register value.
 */
u64 cxl_hmu_cfg1(const struct cxl_hmu_config *cfg)
{
	return FIELD_PREP(CXL_HMU_CFG1_UNIT, cfg->unit_log2) |
	       FIELD_PREP(CXL_HMU_CFG1_DOWNSAMPLING, cfg->downsampling_log2) |
	       FIELD_PREP(CXL_HMU_CFG1_MODE, cfg->always_on ? CXL_HMU_CFG1_MODE_ALWAYS_ON :
							      CXL_HMU_CFG1_MODE_EPOCH) |
	       FIELD_PREP(CXL_HMU_CFG1_EPOCH_SCALE, cfg->epoch.scale) |
	       FIELD_PREP(CXL_HMU_CFG1_EPOCH_VALUE, cfg->epoch.value);
}

/**
 * cxl_hmu_cfg2 - third configuration quadword: interrupt when the list is half full
 * @caps: capabilities of the instance
 *
 * Return: the register value.
 */
u64 cxl_hmu_cfg2(const struct cxl_hmu_caps *caps)
{
	return FIELD_PREP(CXL_HMU_CFG2_NOTIFY, caps->list_size / 2);
}

/**
 * cxl_hmu_bitmap_qword - one quadword of the range bitmap
 * @cfg: the configuration
 * @index: number of the quadword; a quadword outside of the range is 0
 *
 * Return: the quadword.
 */
u64 cxl_hmu_bitmap_qword(const struct cxl_hmu_config *cfg, u32 index)
{
	u64 first = (u64)index * 64;
	u64 begin = max_t(u64, cfg->range_base, first);
	u64 end = min_t(u64, (u64)cfg->range_base + cfg->range_size, first + 64);

	if (begin >= end)
		return 0;
	return GENMASK_ULL(end - 1 - first, begin - first);
}

/**
 * cxl_hmu_ranges_overlap - check whether two configurations track the same memory
 * @a: a configuration
 * @b: another configuration
 *
 * Return: true if they share at least 256 MiB.
 */
bool cxl_hmu_ranges_overlap(const struct cxl_hmu_config *a, const struct cxl_hmu_config *b)
{
	return a->range_base < (u64)b->range_base + b->range_size &&
	       b->range_base < (u64)a->range_base + a->range_size;
}

/*
 * Hot list: a ring of M slots. The device writes at tail, software reads at head. The list is empty
 * if head == tail. It is full, with M - 1 entries, if tail is one slot before head:
 *
 *     0     1     2     3     4     5 = M - 1
 *   +-----+-----+-----+-----+-----+-----+
 *   |  d  |  e  |     |  a  |  b  |  c  |      head = 3, tail = 2: full
 *   +-----+-----+-----+-----+-----+-----+
 *                ^tail ^head
 */

/**
 * cxl_hmu_list_used - number of unread entries in the list
 * @head: below @size
 * @tail: below @size
 * @size: slots in the list
 *
 * Return: 0 .. @size - 1.
 */
u32 cxl_hmu_list_used(u32 head, u32 tail, u32 size)
{
	return tail >= head ? tail - head : size - head + tail;
}

/**
 * cxl_hmu_list_advance - the head after @count entries were read
 * @head: below @size
 * @count: at most @size
 * @size: slots in the list
 *
 * Return: the new head, below @size.
 */
u32 cxl_hmu_list_advance(u32 head, u32 count, u32 size)
{
	return count < size - head ? head + count : count - (size - head);
}

/**
 * cxl_hmu_list_plan - decide which entries to read
 * @head: below @size
 * @tail: value of the tail register, not checked yet
 * @size: slots in the list
 * @room: entries that can be delivered
 * @last: last drain of a run: entries that are not read are discarded
 * @plan: filled in
 *
 * Return: false if the tail is out of range; the list must then be left unchanged.
 */
bool cxl_hmu_list_plan(u32 head, u32 tail, u32 size, u32 room, bool last,
		       struct cxl_hmu_plan *plan)
{
	u32 used;

	*plan = (struct cxl_hmu_plan) { .head = head };
	if (tail >= size)
		return false;

	used = cxl_hmu_list_used(head, tail, size);
	plan->take = min_t(u32, used, room);
	plan->waiting = used - plan->take;
	plan->head = last ? tail : cxl_hmu_list_advance(head, plan->take, size);
	return true;
}

/**
 * cxl_hmu_status_clear - bits to clear in the status register after a drain
 * @status: value read before the drain
 * @waiting: entries left in the list
 *
 * The level bit stays set while entries wait: if the driver cleared it, the device would set it
 * again and raise another interrupt.
 *
 * Return: the bits to clear, 0 for none.
 */
u64 cxl_hmu_status_clear(u64 status, u32 waiting)
{
	u64 mask = CXL_HMU_STATUS_OVERFLOW | (waiting ? 0 : CXL_HMU_STATUS_LEVEL);

	return status & mask;
}

/* Records */

/**
 * cxl_hmu_header_encode - write the header of a record
 * @header: the header
 * @words: array of CXL_HMU_HEADER_WORDS words, in the byte order of the CPU
 */
void cxl_hmu_header_encode(const struct cxl_hmu_header *header, u64 *words)
{
	u64 *extra = words + 2;

	words[0] = PMUKIT_CXL_HMU_W0(header->entries, header->counter_width);
	words[1] = PMUKIT_CXL_HMU_MARK;
	extra[PMUKIT_CXL_HMU_X_TIME] = header->time_ns;
	extra[PMUKIT_CXL_HMU_X_UNIT] =
		(u64)header->unit_log2 << PMUKIT_CXL_HMU_UNIT_LOG2_SHIFT |
		(u64)header->downsampling_log2 << PMUKIT_CXL_HMU_UNIT_DOWNSAMPLING_SHIFT;
	extra[PMUKIT_CXL_HMU_X_FLAGS] = header->flags;
	extra[PMUKIT_CXL_HMU_X_SEQUENCE] = header->sequence;
	extra[PMUKIT_CXL_HMU_X_LOST] = header->lost;
}
