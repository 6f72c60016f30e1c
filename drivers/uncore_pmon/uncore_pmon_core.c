// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: decoding of the discovery table and of event terms, arithmetic of counters.
 *
 * A table comes from firmware or a device and is not trusted: the decoders check each entry and
 * reject an invalid one with a reason. Two errors remain possible: two accepted units have the same
 * registers (uncore_pmon_box_check() detects this), or an accepted unit has an address where no
 * unit is (uncore_pmon_box_up() detects this).
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "uncore_pmon_core.h"

#define UNCORE_PMON_ALL_ONES		(~0ULL)
#define UNCORE_PMON_MMIO_LIMIT		BIT_ULL(52)	/* physical addresses of x86 */
/*
 * All known uncore MSRs of discovery tables are in 0x2000 .. 0x3fff. A table must not make the
 * driver write other MSRs: architectural MSRs are below this range and at 0xc0000000 or above, MSRs
 * of hypervisors are at 0x40000000 or above.
 */
#define UNCORE_PMON_MSR_FIRST		0x2000ULL
#define UNCORE_PMON_MSR_LIMIT		0x40000000ULL
#define UNCORE_PMON_PCI_LIMIT		BIT_ULL(31)
#define UNCORE_PMON_PCI_SPACE		4096
#define UNCORE_PMON_PCI_PORTS		256	/* bytes accessed through I/O ports, in domain 0 */
#define UNCORE_PMON_COUNTER_BYTES	8

/* The table */

static bool uncore_pmon_all_ones(const u64 *words)
{
	u32 i;

	for (i = 0; i < UNCORE_PMON_ENTRY_WORDS; i++) {
		if (words[i] == UNCORE_PMON_ALL_ONES)
			return true;
	}
	return false;
}

/**
 * uncore_pmon_global_decode - decode and check the first entry of a table
 * @words: UNCORE_PMON_ENTRY_WORDS words
 * @bar_bytes: length of the BAR, which begins with the table
 * @global: filled in
 *
 * Return: error text, or NULL.
 */
const char *uncore_pmon_global_decode(const u64 *words, u64 bar_bytes,
				      struct uncore_pmon_global *global)
{
	if (uncore_pmon_all_ones(words))
		return "the table begins with all ones";
	if (!words[0] || !words[1])
		return "the table begins with nothing";

	global->stride_words = FIELD_GET(UNCORE_PMON_GLOBAL0_STRIDE, words[0]);
	global->max_units = FIELD_GET(UNCORE_PMON_GLOBAL0_MAX_UNITS, words[0]);
	global->access = FIELD_GET(UNCORE_PMON_GLOBAL0_ACCESS, words[0]);
	global->control = words[1];
	if (global->stride_words < UNCORE_PMON_ENTRY_WORDS)
		return "the stride is below 3 words";
	if (!global->max_units)
		return "the table has no units";
	if (uncore_pmon_table_bytes(global) > bar_bytes)
		return "the units reach beyond the BAR";
	return NULL;
}

/**
 * uncore_pmon_table_bytes - length of a table
 * @global: first entry of the table
 *
 * Return: bytes, at most 2 MiB.
 */
u64 uncore_pmon_table_bytes(const struct uncore_pmon_global *global)
{
	return (1ULL + global->max_units) * global->stride_words * sizeof(u64);
}

/**
 * uncore_pmon_global_is_mmio - test for a global control that is MMIO
 * @global: the first entry of a table
 *
 * Return: true if the global control is MMIO, at a valid address.
 */
bool uncore_pmon_global_is_mmio(const struct uncore_pmon_global *global)
{
	return global->access == UNCORE_PMON_ACCESS_MMIO && !(global->control % sizeof(u32)) &&
	       global->control < UNCORE_PMON_MMIO_LIMIT;
}

/* Returns true if the MSRs at @address .. @address + @end are in the range that a table may use. */
static bool uncore_pmon_is_msr(u64 address, u32 end)
{
	return address >= UNCORE_PMON_MSR_FIRST && address < UNCORE_PMON_MSR_LIMIT - end;
}

/**
 * uncore_pmon_global_is_msr - test for a global control that is an MSR
 * @global: the first entry of a table
 *
 * Return: true if the global control is an MSR, in the range of uncore MSRs.
 */
bool uncore_pmon_global_is_msr(const struct uncore_pmon_global *global)
{
	return global->access == UNCORE_PMON_ACCESS_MSR && uncore_pmon_is_msr(global->control, 0);
}

static u8 uncore_pmon_control_step(u16 type, u8 access)
{
	const struct uncore_pmon_type *known = uncore_pmon_type_find(type);

	if (access == UNCORE_PMON_ACCESS_MSR)
		return 1;
	if (access == UNCORE_PMON_ACCESS_PCI)
		return 8;
	return known ? known->control_step : 4;
}

static void uncore_pmon_unit_fields(const u64 *words, struct uncore_pmon_unit *unit)
{
	*unit = (struct uncore_pmon_unit) {
		.box_control = words[1],
		.type = FIELD_GET(UNCORE_PMON_UNIT2_TYPE, words[2]),
		.id = FIELD_GET(UNCORE_PMON_UNIT2_ID, words[2]),
		.access = FIELD_GET(UNCORE_PMON_UNIT0_ACCESS, words[0]),
		.counters = FIELD_GET(UNCORE_PMON_UNIT0_COUNTERS, words[0]),
		.width_bits = FIELD_GET(UNCORE_PMON_UNIT0_WIDTH, words[0]),
		.control_offset = FIELD_GET(UNCORE_PMON_UNIT0_CONTROL, words[0]),
		.counter_offset = FIELD_GET(UNCORE_PMON_UNIT0_COUNTER, words[0]),
	};
	unit->control_step = uncore_pmon_control_step(unit->type, unit->access);
	unit->counter_step = unit->access == UNCORE_PMON_ACCESS_MSR ?
			     1 : UNCORE_PMON_COUNTER_BYTES;
}

static u32 uncore_pmon_controls_end(const struct uncore_pmon_unit *unit)
{
	return unit->control_offset + unit->counters * unit->control_step;
}

static u32 uncore_pmon_counters_end(const struct uncore_pmon_unit *unit)
{
	return unit->counter_offset + unit->counters * unit->counter_step;
}

/* Return: why the registers cannot be at the address of the entry, or NULL. */
static const char *uncore_pmon_unit_place(const struct uncore_pmon_unit *unit)
{
	u32 end = max_t(u32, uncore_pmon_controls_end(unit), uncore_pmon_counters_end(unit));
	bool mmio = unit->access == UNCORE_PMON_ACCESS_MMIO;
	u32 counter_alignment = mmio ? UNCORE_PMON_COUNTER_BYTES : 4;

	if (unit->access == UNCORE_PMON_ACCESS_MSR)
		return uncore_pmon_is_msr(unit->box_control, end) ?
		       NULL : "control address is not an MSR of the uncore";
	if (unit->box_control % 4 || unit->control_offset % 4 ||
	    (unit->box_control + unit->counter_offset) % counter_alignment)
		return "registers not aligned";
	if (mmio)
		return unit->box_control < UNCORE_PMON_MMIO_LIMIT - end ?
		       NULL : "control address beyond physical addresses";
	if (unit->box_control >= UNCORE_PMON_PCI_LIMIT ||
	    FIELD_GET(UNCORE_PMON_PCI_OFFSET, unit->box_control) + end > UNCORE_PMON_PCI_SPACE)
		return "control address is not in a configuration space";
	return NULL;
}

static const char *uncore_pmon_unit_check(const struct uncore_pmon_unit *unit)
{
	if (!unit->counters)
		return "no counters";
	if (unit->counters > UNCORE_PMON_MAX_COUNTERS)
		return "more than 8 counters";
	if (unit->width_bits < UNCORE_PMON_MIN_WIDTH || unit->width_bits > UNCORE_PMON_MAX_WIDTH)
		return "counter width not in 24..64";
	if (!unit->control_offset || !unit->counter_offset)
		return "control or counter offset 0";
	if (unit->control_offset < uncore_pmon_counters_end(unit) &&
	    unit->counter_offset < uncore_pmon_controls_end(unit))
		return "controls and counters overlap";
	return uncore_pmon_unit_place(unit);
}

static const char *uncore_pmon_entry_check(const u64 *words, struct uncore_pmon_unit *unit)
{
	if (uncore_pmon_all_ones(words))
		return "all ones";
	if (!words[0] || !words[1])
		return "no control address or no description";

	uncore_pmon_unit_fields(words, unit);
	if (unit->access > UNCORE_PMON_ACCESS_PCI)
		return "unknown access type";
	return uncore_pmon_unit_check(unit);
}

/**
 * uncore_pmon_units_alike - compare the layout of two units of a type
 * @a: a unit
 * @b: another unit
 *
 * All units of a type must have the same layout.
 *
 * Return: true if the layouts are equal.
 */
bool uncore_pmon_units_alike(const struct uncore_pmon_unit *a, const struct uncore_pmon_unit *b)
{
	return a->access == b->access && a->counters == b->counters &&
	       a->width_bits == b->width_bits && a->control_offset == b->control_offset &&
	       a->counter_offset == b->counter_offset;
}

static const char *uncore_pmon_unit_among(const struct uncore_pmon_unit *unit,
					  const struct uncore_pmon_entry *before, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!before[i].used || before[i].wrong || before[i].unit.type != unit->type)
			continue;
		if (before[i].unit.id == unit->id)
			return "type and id stand in the table twice";
		if (!uncore_pmon_units_alike(&before[i].unit, unit))
			return "not as the first unit of its type";
	}
	return NULL;
}

/**
 * uncore_pmon_table_decode - decode and check all units of a table
 * @table: the whole table, uncore_pmon_table_bytes() long
 * @global: first entry of the table
 * @entries: filled in; @global->max_units entries
 */
void uncore_pmon_table_decode(const u64 *table, const struct uncore_pmon_global *global,
			      struct uncore_pmon_entry *entries)
{
	u32 i;

	for (i = 0; i < global->max_units; i++) {
		const u64 *words = table + (1 + i) * global->stride_words;
		struct uncore_pmon_entry *entry = &entries[i];

		*entry = (struct uncore_pmon_entry) { .used = words[0] || words[1] };
		if (!entry->used)
			continue;
		entry->wrong = uncore_pmon_entry_check(words, &entry->unit);
		if (!entry->wrong)
			entry->wrong = uncore_pmon_unit_among(&entry->unit, entries, i);
	}
}

/**
 * uncore_pmon_table_limit_chas - reject caching agents that do not exist
 * @entries: decoded entries
 * @nr: length of @entries
 * @chas: number of caching agents that the processor reports
 */
void uncore_pmon_table_limit_chas(struct uncore_pmon_entry *entries, u32 nr, u64 chas)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (entries[i].used && !entries[i].wrong &&
		    entries[i].unit.type == UNCORE_PMON_TYPE_CHA && entries[i].unit.id >= chas)
			entries[i].wrong = "the processor has fewer caching agents";
	}
}

/* A unit */

static bool uncore_pmon_collide(u32 first, u32 first_end, u32 second, u32 second_end)
{
	return first < second_end && second < first_end;
}

/* Returns true if these bytes contain no general control or counter of the unit. */
static bool uncore_pmon_bytes_free(const struct uncore_pmon_unit *unit, u32 offset, u32 bytes)
{
	return !uncore_pmon_collide(offset, offset + bytes, unit->control_offset,
				    uncore_pmon_controls_end(unit)) &&
	       !uncore_pmon_collide(offset, offset + bytes, unit->counter_offset,
				    uncore_pmon_counters_end(unit));
}

/**
 * uncore_pmon_has_fixed - test for a fixed counter
 * @unit: the unit
 * @platform: platform of the unit
 *
 * Tables do not list the fixed counter. A memory controller that has general registers at the
 * offsets of the fixed counter has no fixed counter. On Diamond Rapids the fixed counter has
 * another offset; its offset on later processors is unknown.
 *
 * Return: true if the unit has a fixed counter.
 */
bool uncore_pmon_has_fixed(const struct uncore_pmon_unit *unit, enum uncore_pmon_platform platform)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);

	return type && type->fixed && unit->access == UNCORE_PMON_ACCESS_MMIO &&
	       (platform == UNCORE_PMON_SPR || platform == UNCORE_PMON_GNR) &&
	       uncore_pmon_bytes_free(unit, UNCORE_PMON_IMC_FIXED_COUNTER, sizeof(u64)) &&
	       uncore_pmon_bytes_free(unit, UNCORE_PMON_IMC_FIXED_CONTROL, sizeof(u32));
}

/**
 * uncore_pmon_has_free - test for free-running counters
 * @unit: the unit
 * @platform: platform of the unit
 *
 * Tables do not list free-running counters. These counters belong to a pair of memory controllers;
 * the driver assigns them to the first controller of the pair, which it recognizes by its address.
 *
 * Return: true if the unit has free-running counters.
 */
bool uncore_pmon_has_free(const struct uncore_pmon_unit *unit, enum uncore_pmon_platform platform)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);

	return type && type->free_running && platform == UNCORE_PMON_SPR &&
	       unit->access == UNCORE_PMON_ACCESS_MMIO &&
	       (unit->box_control & UNCORE_PMON_MC_MASK) == UNCORE_PMON_MC_BOX;
}

/**
 * uncore_pmon_is_misplaced - test for a unit whose address in the table is wrong
 * @unit: the unit
 * @platform: platform of the unit
 *
 * The result is also true for a type of Diamond Rapids that has no counters; intel_uncore ignores
 * this type, too.
 *
 * Return: true if the registers at that address must not be accessed.
 */
bool uncore_pmon_is_misplaced(const struct uncore_pmon_unit *unit,
			      enum uncore_pmon_platform platform)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);

	if (platform == UNCORE_PMON_DMR && unit->type == UNCORE_PMON_TYPE_DMR_IGNORED)
		return true;
	return type && type->misplaced & BIT(platform);
}

/**
 * uncore_pmon_pci_is_memory - test for a unit that is accessed through ECAM
 * @unit: a unit with PCI access
 *
 * In domain 0, x86 accesses the first 256 bytes of a configuration space through I/O ports, under a
 * lock. All other accesses use ECAM, without a lock. The box control is the unit's first register,
 * so its offset decides.
 *
 * Return: true if all registers are accessed through ECAM.
 */
bool uncore_pmon_pci_is_memory(const struct uncore_pmon_unit *unit)
{
	return FIELD_GET(UNCORE_PMON_PCI_DOMAIN, unit->box_control) ||
	       FIELD_GET(UNCORE_PMON_PCI_OFFSET, unit->box_control) >= UNCORE_PMON_PCI_PORTS;
}

/**
 * uncore_pmon_control_offset - offset of the control of a slot
 * @unit: the unit
 * @slot: a slot that the unit has
 *
 * Return: offset from the box control.
 */
u32 uncore_pmon_control_offset(const struct uncore_pmon_unit *unit, u32 slot)
{
	if (slot == UNCORE_PMON_SLOT_FIXED)
		return UNCORE_PMON_IMC_FIXED_CONTROL;
	return unit->control_offset + slot * unit->control_step;
}

/**
 * uncore_pmon_counter_offset - offset of the counter of a slot
 * @unit: the unit
 * @slot: a slot that the unit has
 *
 * Return: offset from the box control.
 */
u32 uncore_pmon_counter_offset(const struct uncore_pmon_unit *unit, u32 slot)
{
	if (slot == UNCORE_PMON_SLOT_FIXED)
		return UNCORE_PMON_IMC_FIXED_COUNTER;
	return unit->counter_offset + slot * unit->counter_step;
}

/**
 * uncore_pmon_unit_bytes - length of the registers of a unit
 * @unit: the unit
 * @kinds: mask of enum uncore_pmon_kind that the unit has
 *
 * Return: bytes, counted from the box control; for MSRs, the number of registers.
 */
u32 uncore_pmon_unit_bytes(const struct uncore_pmon_unit *unit, u32 kinds)
{
	u32 end = max_t(u32, uncore_pmon_controls_end(unit), uncore_pmon_counters_end(unit));

	if (!(kinds & BIT(UNCORE_PMON_FIXED)))
		return end;
	return max_t(u32, end, UNCORE_PMON_IMC_FIXED_CONTROL + sizeof(u32));
}

/**
 * uncore_pmon_units_collide - test for registers that two units share
 * @a: a unit
 * @b: another unit
 *
 * The registers of a unit never extend past the 4096 bytes of a configuration space. So PCI
 * addresses can be compared as numbers, like MSR and MMIO addresses.
 *
 * Return: true if the units share a register.
 */
bool uncore_pmon_units_collide(const struct uncore_pmon_unit *a, const struct uncore_pmon_unit *b)
{
	return a->access == b->access &&
	       a->box_control < b->box_control + uncore_pmon_unit_bytes(b, 0) &&
	       b->box_control < a->box_control + uncore_pmon_unit_bytes(a, 0);
}

/* Event terms */

static const struct uncore_pmon_free uncore_pmon_free_counters[] = {
	{ .umask = 0x10, .offset = UNCORE_PMON_MC_DCLK },
	{ .umask = 0x20, .offset = UNCORE_PMON_MC_RPQ_CYCLES },
	{ .umask = 0x21, .offset = UNCORE_PMON_MC_WPQ_CYCLES },
	{}
};

static const struct uncore_pmon_free *uncore_pmon_free_find(u64 umask)
{
	const struct uncore_pmon_free *free;

	for (free = uncore_pmon_free_counters; free->umask; free++) {
		if (free->umask == umask)
			return free;
	}
	return NULL;
}

/**
 * uncore_pmon_config_mask - bits of config that a unit supports
 * @unit: the unit
 *
 * Controls of MMIO units have 32 bits. The driver assumes 32 bits for unknown types, too.
 *
 * Return: the mask.
 */
u64 uncore_pmon_config_mask(const struct uncore_pmon_unit *unit)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);
	u64 mask = UNCORE_PMON_CONTROL_EVENT | UNCORE_PMON_CONTROL_UMASK |
		   UNCORE_PMON_CONTROL_EDGE | UNCORE_PMON_CONTROL_INVERT |
		   UNCORE_PMON_CONTROL_THRESHOLD;

	if (unit->access == UNCORE_PMON_ACCESS_MMIO || !type)
		return mask;
	return mask | (type->more ?: UNCORE_PMON_CONTROL_UMASK_EXT);
}

static u32 uncore_pmon_allowed_counters(const struct uncore_pmon_unit *unit, u8 event)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);
	const struct uncore_pmon_constraint *constraint = type ? type->constraints : NULL;
	u32 all = BIT(unit->counters) - 1;

	for (; constraint && constraint->counters; constraint++) {
		if (constraint->event == event)
			return all & constraint->counters;
	}
	return all;
}

/* Event 0xff selects the fixed counter (umask 0) or a free-running one. */
static const char *uncore_pmon_special_parse(u32 kinds, u64 config, struct uncore_pmon_config *cfg)
{
	u64 umask = FIELD_GET(UNCORE_PMON_CONTROL_UMASK, config);

	if (config & ~(UNCORE_PMON_CONTROL_EVENT | UNCORE_PMON_CONTROL_UMASK))
		return "event 0xff takes no term but umask";
	if (!umask) {
		if (!(kinds & BIT(UNCORE_PMON_FIXED)))
			return "there is no fixed counter";
		cfg->kind = UNCORE_PMON_FIXED;
		cfg->slots = BIT(UNCORE_PMON_SLOT_FIXED);
		cfg->control = UNCORE_PMON_CONTROL_ENABLE;
		return NULL;
	}
	cfg->kind = UNCORE_PMON_FREE;
	cfg->free = kinds & BIT(UNCORE_PMON_FREE) ? uncore_pmon_free_find(umask) : NULL;
	return cfg->free ? NULL : "there is no such counter that always runs";
}

/**
 * uncore_pmon_config_parse - decode and check the terms of an event
 * @unit: the unit
 * @kinds: mask of enum uncore_pmon_kind that the unit has
 * @config: perf's attr.config
 * @config1: perf's attr.config1; must be 0
 * @config2: perf's attr.config2; must be 0
 * @cfg: filled in
 *
 * Return: error text, or NULL.
 */
const char *uncore_pmon_config_parse(const struct uncore_pmon_unit *unit, u32 kinds,
				     u64 config, u64 config1, u64 config2,
				     struct uncore_pmon_config *cfg)
{
	u64 event = FIELD_GET(UNCORE_PMON_CONTROL_EVENT, config);

	*cfg = (struct uncore_pmon_config) { .kind = UNCORE_PMON_GENERAL };
	if (config1 || config2 || config & ~uncore_pmon_config_mask(unit))
		return "unknown bits";
	if (event == UNCORE_PMON_EVENT_SPECIAL)
		return uncore_pmon_special_parse(kinds, config, cfg);

	cfg->slots = uncore_pmon_allowed_counters(unit, event);
	cfg->control = config;
	return cfg->slots ? NULL : "no counter of this unit can count the event";
}

/* Counters */

/*
 * Upper bound of the counting rate: a clock of 2^32 Hz that adds 2^8 per tick, the range of an
 * 8-bit threshold.
 */
#define UNCORE_PMON_RATE_LOG2		40
#define UNCORE_PMON_SECOND_NS		1000000000ULL
#define UNCORE_PMON_FOLD_MAX_NS		(60 * UNCORE_PMON_SECOND_NS)
/*
 * Shortest interval between two reads. In this time a 24-bit counter advances by less than half its
 * range at 4 counts per tick of a 2 GHz clock, and a 32-bit counter at the upper bound of the rate.
 */
#define UNCORE_PMON_FOLD_MIN_NS		1000000ULL

/**
 * uncore_pmon_fold_ns - interval between two reads of a counter
 * @width_bits: width of the counter
 *
 * A counter advances by at most half its range in this interval. So the driver can distinguish a
 * wrap from a counter that went backwards.
 *
 * Return: nanoseconds.
 */
u64 uncore_pmon_fold_ns(u32 width_bits)
{
	u32 half_log2 = width_bits - 1;
	u64 ns;

	if (half_log2 < UNCORE_PMON_RATE_LOG2)
		ns = UNCORE_PMON_SECOND_NS >> (UNCORE_PMON_RATE_LOG2 - half_log2);
	else
		ns = UNCORE_PMON_SECOND_NS << min_t(u32, half_log2 - UNCORE_PMON_RATE_LOG2, 6);
	return min_t(u64, max_t(u64, ns, UNCORE_PMON_FOLD_MIN_NS), UNCORE_PMON_FOLD_MAX_NS);
}

/**
 * uncore_pmon_delta - difference between two values of a counter
 * @before: the earlier value
 * @now: the later value
 * @width_bits: width of the counter; higher bits are ignored
 * @delta: filled in
 *
 * Return: false if the difference is half the range or more: the counter went backwards, or
 * advanced too far. The caller then adds nothing.
 */
bool uncore_pmon_delta(u64 before, u64 now, u32 width_bits, u64 *delta)
{
	u32 unused = 64 - width_bits;

	*delta = ((now - before) << unused) >> unused;
	return !(*delta >> (width_bits - 1));
}

/*
 * Finds a slot for one event; may move other events, which it finds by a breadth-first search.
 * via[s] is the slot whose holder would move to slot s, or s itself if the new event can use s.
 */
static bool uncore_pmon_place(const u32 *slots, s8 *slot, const s8 *holder, u32 wanted)
{
	u8 queue[UNCORE_PMON_NR_SLOTS];
	s8 via[UNCORE_PMON_NR_SLOTS] = {};
	u32 seen = 0, head = 0, tail = 0;
	u32 s, t;

	for (s = 0; s < UNCORE_PMON_NR_SLOTS; s++) {
		if (!(slots[wanted] & BIT(s)))
			continue;
		via[s] = s;
		seen |= BIT(s);
		queue[tail++] = s;
	}
	while (head < tail) {
		s = queue[head++];
		if (holder[s] < 0)
			goto found;
		for (t = 0; t < UNCORE_PMON_NR_SLOTS; t++) {
			if (seen & BIT(t) || !(slots[holder[s]] & BIT(t)))
				continue;
			via[t] = s;
			seen |= BIT(t);
			queue[tail++] = t;
		}
	}
	return false;

found:
	for (; via[s] != (s8)s; s = via[s])
		slot[holder[via[s]]] = s;
	slot[wanted] = s;
	return true;
}

/**
 * uncore_pmon_assign - assign a slot to each event
 * @slots: per event, mask of the slots it can use; 0 if it needs none
 * @slot: per event, its slot or UNCORE_PMON_NO_SLOT; updated
 * @nr: number of events
 *
 * An event keeps its slot unless another event needs it.
 *
 * Return: false if there are not enough slots; @slot is then invalid.
 */
bool uncore_pmon_assign(const u32 *slots, s8 *slot, u32 nr)
{
	s8 holder[UNCORE_PMON_NR_SLOTS];
	u32 i, e;

	for (e = 0; e < nr; e++) {
		if (!slots[e] || slot[e] >= 0)
			continue;
		for (i = 0; i < UNCORE_PMON_NR_SLOTS; i++)
			holder[i] = UNCORE_PMON_NO_SLOT;
		for (i = 0; i < nr; i++) {
			if (slot[i] >= 0)
				holder[slot[i]] = i;
		}
		if (!uncore_pmon_place(slots, slot, holder, e))
			return false;
	}
	return true;
}
