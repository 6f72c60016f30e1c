// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: the arithmetic of event terms, filters, buffers and records.
 *
 * The device fills its four buffers round-robin and never waits. The driver follows and reads full
 * buffers; ring.index and ring.offset_bytes (index and offset below) are the driver's read
 * position:
 *
 *        buffer 0         buffer 1         buffer 2         buffer 3
 *      +----------------+----------------+----------------+----------------+
 *      | read  |  full  |      full      |    writing     |      read      |
 *      +----------------+----------------+----------------+----------------+
 *              ^ index 0, offset                ^ write position of the device
 *
 * The device sets a buffer's bit in INT_STAT when the buffer is full, in ring order, starting with
 * the buffer ring.index. When the driver acknowledges a bit, it sets the same bit in ring.full;
 * when the driver has read the buffer, it clears the bit in ring.full. So once the device
 * overwrites the buffer ring.index, ring.full and INT_STAT together have all four bits, whatever
 * happens between reading and acknowledging INT_STAT. No register shows how often the device has
 * wrapped since then.
 *
 * WR_STS holds the write position. The driver uses it only once the device is idle.
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "hisi_ptt_core.h"

#define HISI_PTT_BUFFER_MASK		(HISI_PTT_NR_BUFFERS - 1)

/* Event terms */

/*
 * In the 8DW format directions 2 and 3 trace inbound packets only, in the 4DW format outbound
 * packets too.
 */
static bool hisi_ptt_traces_outbound(const struct hisi_ptt_config *cfg)
{
	return cfg->direction == 1 || (cfg->direction > 1 && !cfg->wide);
}

static const char *hisi_ptt_config_check(const struct hisi_ptt_config *cfg)
{
	if (!cfg->types)
		return "type is missing: 1 (posted), 2 (non-posted), 4 (completions)";
	if (cfg->wide && !cfg->direction)
		return "direction 0 is reserved in format 1 (8DW)";
	if (hisi_ptt_traces_outbound(cfg) && !is_power_of_2(cfg->types))
		return "only one type at a time where outbound packets are traced";
	if (cfg->by_port && !cfg->target)
		return "filter names no root port";
	return NULL;
}

/**
 * hisi_ptt_config_parse - decode and check the terms of an event
 * @config: perf_event_attr.config
 * @config1: perf_event_attr.config1
 * @config2: perf_event_attr.config2
 * @cfg: filled in
 *
 * The function does not check that the filter exists.
 *
 * Return: error text, NULL on success.
 */
const char *hisi_ptt_config_parse(u64 config, u64 config1, u64 config2,
				  struct hisi_ptt_config *cfg)
{
	if (config & HISI_PTT_EVENT_RESERVED || config1 || config2)
		return "reserved bits are set";
	if (FIELD_GET(HISI_PTT_EVENT_DIRECTION, config) > HISI_PTT_DIRECTION_MAX)
		return "direction is not in 0..3";
	if (FIELD_GET(HISI_PTT_EVENT_TYPE, config) & ~(u64)HISI_PTT_TYPES)
		return "type has bits beyond 4 (completions)";
	if (FIELD_GET(HISI_PTT_EVENT_FORMAT, config) > HISI_PTT_FORMAT_MAX)
		return "format is not 0 (4DW) or 1 (8DW)";

	*cfg = (struct hisi_ptt_config) {
		.target = FIELD_GET(HISI_PTT_EVENT_TARGET, config),
		.by_port = config & HISI_PTT_EVENT_BY_PORT,
		.direction = FIELD_GET(HISI_PTT_EVENT_DIRECTION, config),
		.types = FIELD_GET(HISI_PTT_EVENT_TYPE, config),
		.wide = FIELD_GET(HISI_PTT_EVENT_FORMAT, config),
	};
	return hisi_ptt_config_check(cfg);
}

/**
 * hisi_ptt_trace_ctrl - encode the control register of a running trace
 * @cfg: a checked configuration
 *
 * Return: the register's value.
 */
u32 hisi_ptt_trace_ctrl(const struct hisi_ptt_config *cfg)
{
	return HISI_PTT_TRACE_CTRL_EN |
	       FIELD_PREP(HISI_PTT_TRACE_CTRL_RXTX, cfg->direction) |
	       FIELD_PREP(HISI_PTT_TRACE_CTRL_TYPE, cfg->types) |
	       FIELD_PREP(HISI_PTT_TRACE_CTRL_8DW, cfg->wide) |
	       FIELD_PREP(HISI_PTT_TRACE_CTRL_BY_ID, !cfg->by_port) |
	       FIELD_PREP(HISI_PTT_TRACE_CTRL_TARGET, cfg->target);
}

/**
 * hisi_ptt_entry_bytes - length of an entry
 * @cfg: a checked configuration
 *
 * Return: bytes.
 */
u32 hisi_ptt_entry_bytes(const struct hisi_ptt_config *cfg)
{
	return cfg->wide ? HISI_PTT_ENTRY_BYTES_8DW : HISI_PTT_ENTRY_BYTES_4DW;
}

/* Location and filters */

/**
 * hisi_ptt_place_check - check the location registers
 * @location: the LOCATION register
 * @range: the DEVICE_RANGE register
 *
 * A range without root ports is valid: such a device can be tuned but traces nothing.
 *
 * Return: error text, NULL on success.
 */
const char *hisi_ptt_place_check(u32 location, u32 range)
{
	if (location == ~(u32)0 && range == ~(u32)0)
		return "the registers read as ones";
	return NULL;
}

/**
 * hisi_ptt_range_has - test if the device serves a root port
 * @range: the DEVICE_RANGE register
 * @devid: bus, device and function of the port
 *
 * Return: true if the port is in the range.
 */
bool hisi_ptt_range_has(u32 range, u16 devid)
{
	return devid >= FIELD_GET(HISI_PTT_DEVICE_RANGE_LOWER, range) &&
	       devid <= FIELD_GET(HISI_PTT_DEVICE_RANGE_UPPER, range);
}

/**
 * hisi_ptt_port_mask - filter bit of a root port
 * @devid: bus, device and function of the port; the function is ignored
 *
 * Return: a mask with bit (slot & 7) * 2 set; the slot is the device number of the port.
 */
u16 hisi_ptt_port_mask(u16 devid)
{
	u32 slot = (devid >> 3) & 0x1f;

	return BIT((slot & 7) * 2);
}

/**
 * hisi_ptt_filter_value - value of the filter term for a function
 * @is_port: true for a root port, false for a requester below one
 * @devid: bus, device and function
 *
 * Return: the value, 20 bits.
 */
u32 hisi_ptt_filter_value(bool is_port, u16 devid)
{
	return is_port ? HISI_PTT_EVENT_BY_PORT | hisi_ptt_port_mask(devid) : devid;
}

/* Tune */

/**
 * hisi_ptt_tune_level - convert a number written to a tune file
 * @value: the number
 *
 * Return: the level, 0 .. HISI_PTT_TUNE_MAX; larger numbers are clamped.
 */
u16 hisi_ptt_tune_level(u64 value)
{
	return min_t(u64, value, HISI_PTT_TUNE_MAX);
}

/**
 * hisi_ptt_tune_ctrl - encode the selection of a tune event
 * @old: current value of the control register
 * @code: code of the event
 * @sub: sub-code of the event
 *
 * Return: new value of the control register; bits of unknown meaning do not change.
 */
u32 hisi_ptt_tune_ctrl(u32 old, u16 code, u8 sub)
{
	old &= ~(u32)(HISI_PTT_TUNING_CTRL_CODE | HISI_PTT_TUNING_CTRL_SUB);
	return old | FIELD_PREP(HISI_PTT_TUNING_CTRL_CODE, code) |
	       FIELD_PREP(HISI_PTT_TUNING_CTRL_SUB, sub);
}

/* Buffers */

/**
 * hisi_ptt_ring_start - initialize the ring of a device that was reset and starts with buffer 0
 * @ring: filled in
 * @buffer_bytes: length of a buffer
 * @entry_bytes: length of an entry
 */
void hisi_ptt_ring_start(struct hisi_ptt_ring *ring, u32 buffer_bytes, u32 entry_bytes)
{
	*ring = (struct hisi_ptt_ring) {
		.buffer_bytes = buffer_bytes,
		.entry_bytes = entry_bytes,
	};
}

static u32 hisi_ptt_ring_bit(u32 index)
{
	return BIT(index & HISI_PTT_BUFFER_MASK);
}

/* Rounds down to whole entries. */
static u32 hisi_ptt_ring_whole(const struct hisi_ptt_ring *ring, u32 bytes)
{
	return bytes & ~(ring->entry_bytes - 1);
}

/* Bits of @count buffers, starting with the current one */
static u32 hisi_ptt_ring_bits(const struct hisi_ptt_ring *ring, u32 count)
{
	u32 bits = 0;
	u32 i;

	for (i = 0; i < count; i++)
		bits |= hisi_ptt_ring_bit(ring->index + i);
	return bits;
}

/**
 * hisi_ptt_ring_nr_full - count the full buffers
 * @ring: the ring
 *
 * Return: number of consecutive full buffers, starting with the current one.
 */
u32 hisi_ptt_ring_nr_full(const struct hisi_ptt_ring *ring)
{
	u32 count = 0;

	while (count < HISI_PTT_NR_BUFFERS &&
	       ring->full & hisi_ptt_ring_bit(ring->index + count))
		count++;
	return count;
}

/* Moves to the next buffer once a full one has been read. */
static void hisi_ptt_ring_step(struct hisi_ptt_ring *ring)
{
	if (ring->offset_bytes < ring->buffer_bytes ||
	    !(ring->full & hisi_ptt_ring_bit(ring->index)))
		return;
	ring->full &= ~hisi_ptt_ring_bit(ring->index);
	ring->index = (ring->index + 1) & HISI_PTT_BUFFER_MASK;
	ring->offset_bytes = 0;
}

/**
 * hisi_ptt_ring_report - note that the device reported buffers full
 * @ring: the ring
 * @status: the bits of these buffers in INT_STAT, all acknowledged
 *
 * Return: HISI_PTT_GOOD: full buffers can be read. HISI_PTT_OVERRUN: all four buffers are full, see
 * hisi_ptt_ring_resync(). HISI_PTT_DISORDER: @status is impossible and was ignored.
 */
enum hisi_ptt_verdict hisi_ptt_ring_report(struct hisi_ptt_ring *ring, u32 status)
{
	u32 before = ring->full;

	ring->full |= status;
	if (ring->full == HISI_PTT_TRACE_INT_FULL)
		return HISI_PTT_OVERRUN;
	if (!(status & before) &&
	    ring->full == hisi_ptt_ring_bits(ring, hisi_ptt_ring_nr_full(ring)))
		return HISI_PTT_GOOD;

	ring->full = before;
	return HISI_PTT_DISORDER;
}

/**
 * hisi_ptt_ring_waiting - count the unread bytes
 * @ring: the ring
 *
 * Return: unread bytes; until the device is idle, only the bytes in full buffers.
 */
u64 hisi_ptt_ring_waiting(const struct hisi_ptt_ring *ring)
{
	return (u64)hisi_ptt_ring_nr_full(ring) * ring->buffer_bytes + ring->written_bytes -
	       ring->offset_bytes;
}

/**
 * hisi_ptt_ring_drop - discard the unread data at the end of a run
 * @ring: the ring
 *
 * Return: bytes discarded.
 */
u64 hisi_ptt_ring_drop(struct hisi_ptt_ring *ring)
{
	u64 lost_bytes = hisi_ptt_ring_waiting(ring);

	ring->full = 0;
	ring->offset_bytes = 0;
	ring->written_bytes = 0;
	return lost_bytes;
}

/**
 * hisi_ptt_ring_finish - set the fill level of the first buffer that is not full
 * @ring: the ring, after a report that returned HISI_PTT_GOOD
 * @wr_sts: the WR_STS register of an idle device
 *
 * Return: false if @wr_sts is impossible; that buffer is then not read.
 */
bool hisi_ptt_ring_finish(struct hisi_ptt_ring *ring, u32 wr_sts)
{
	u32 bytes = FIELD_GET(HISI_PTT_TRACE_WR_STS_BYTES, wr_sts);
	u32 buffer = FIELD_GET(HISI_PTT_TRACE_WR_STS_BUFFER, wr_sts);
	u32 ahead = (ring->index + hisi_ptt_ring_nr_full(ring) - buffer) & HISI_PTT_BUFFER_MASK;

	if (bytes > ring->buffer_bytes)
		return false;
	/* WR_STS may still point to the end of the last full buffer. */
	if (ahead == 1 && bytes == ring->buffer_bytes)
		bytes = 0;
	else if (ahead)
		return false;
	ring->written_bytes = hisi_ptt_ring_whole(ring, bytes);
	return true;
}

/**
 * hisi_ptt_ring_resync - move the read position to the oldest entry after an overrun
 * @ring: the ring, with all buffers full
 * @wr_sts: the WR_STS register of an idle device
 *
 * Once the device is idle, the four buffers do not change and can be read: the oldest entry starts
 * at WR_STS, the newest ends there.
 *
 * Return: lower bound of the lost bytes: the device may have wrapped several times.
 */
u64 hisi_ptt_ring_resync(struct hisi_ptt_ring *ring, u32 wr_sts)
{
	u32 now = FIELD_GET(HISI_PTT_TRACE_WR_STS_BUFFER, wr_sts);
	u32 bytes = FIELD_GET(HISI_PTT_TRACE_WR_STS_BYTES, wr_sts);
	u64 overwritten;
	u32 oldest;

	if (bytes > ring->buffer_bytes)
		return hisi_ptt_ring_drop(ring);
	/* The end of a buffer is the beginning of the next one. */
	if (bytes == ring->buffer_bytes) {
		now = (now + 1) & HISI_PTT_BUFFER_MASK;
		bytes = 0;
	}

	oldest = hisi_ptt_ring_whole(ring, bytes + ring->entry_bytes - 1);
	overwritten = (now - ring->index) & HISI_PTT_BUFFER_MASK;
	overwritten = overwritten * ring->buffer_bytes + oldest;
	/*
	 * Entries before offset_bytes may have been read before the overrun: do not read them
	 * again.
	 */
	if (now == ring->index)
		oldest = max_t(u32, oldest, ring->offset_bytes);
	overwritten -= min_t(u64, overwritten, ring->offset_bytes);
	ring->index = now;
	ring->offset_bytes = oldest;
	ring->full = HISI_PTT_TRACE_INT_FULL;
	ring->written_bytes = hisi_ptt_ring_whole(ring, bytes);
	hisi_ptt_ring_step(ring);
	return overwritten;
}

/**
 * hisi_ptt_ring_slice - length of the next contiguous piece
 * @ring: the ring
 * @limit_bytes: upper limit
 *
 * Return: bytes, whole entries, starting at the read position.
 */
u32 hisi_ptt_ring_slice(const struct hisi_ptt_ring *ring, u32 limit_bytes)
{
	bool full = ring->full & hisi_ptt_ring_bit(ring->index);
	u32 end_bytes = full ? ring->buffer_bytes : ring->written_bytes;

	return hisi_ptt_ring_whole(ring, min_t(u32, end_bytes - ring->offset_bytes, limit_bytes));
}

/* False if the buffer before the current one is full too: the device may be in the current one. */
static bool hisi_ptt_ring_intact(const struct hisi_ptt_ring *ring)
{
	return !(ring->full & hisi_ptt_ring_bit(ring->index + HISI_PTT_NR_BUFFERS - 1));
}

/**
 * hisi_ptt_ring_take - advance the read position, unless the device reached it
 * @ring: the ring, with what the device reported after the data was copied
 * @bytes: at most the result of hisi_ptt_ring_slice()
 * @idle: the device was idle before the data was copied
 *
 * Return: false if the device may have overwritten the data before it was copied.
 */
bool hisi_ptt_ring_take(struct hisi_ptt_ring *ring, u32 bytes, bool idle)
{
	if (!idle && !hisi_ptt_ring_intact(ring))
		return false;
	ring->offset_bytes += bytes;
	hisi_ptt_ring_step(ring);
	return true;
}

/* Records */

/**
 * hisi_ptt_header_encode - write the header of a record
 * @header: the header's fields
 * @words: HISI_PTT_HEADER_WORDS words in the CPU's byte order
 */
void hisi_ptt_header_encode(const struct hisi_ptt_header *header, u64 *words)
{
	u64 *extra = words + 2;

	words[0] = (u64)header->entries << PMUKIT_HISI_PTT_W0_ENTRIES_SHIFT |
		   (u64)header->entry_bytes << PMUKIT_HISI_PTT_W0_ENTRY_BYTES_SHIFT |
		   (u64)PMUKIT_HISI_PTT_EXTRA_WORDS << PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT;
	words[1] = PMUKIT_HISI_PTT_MARK;
	extra[PMUKIT_HISI_PTT_X_TIME] = header->time_ns;
	extra[PMUKIT_HISI_PTT_X_FLAGS] = header->flags;
	extra[PMUKIT_HISI_PTT_X_SEQUENCE] = header->sequence;
	extra[PMUKIT_HISI_PTT_X_LOST] = header->lost;
}
