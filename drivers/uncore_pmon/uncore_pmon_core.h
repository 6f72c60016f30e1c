/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uncore_pmon: decoding of the discovery table and of event terms, assignment of counters,
 * properties of unit types. No kernel calls, so that a test in user space can run it.
 */
#ifndef UNCORE_PMON_CORE_H
#define UNCORE_PMON_CORE_H

#include <linux/types.h>

#include "uncore_pmon_regs.h"

#define UNCORE_PMON_TYPE_CHA		0
#define UNCORE_PMON_TYPE_DMR_IGNORED	0x13
#define UNCORE_PMON_MAX_COUNTERS	8
#define UNCORE_PMON_MAX_LINKS		4
#define UNCORE_PMON_MIN_WIDTH		24
#define UNCORE_PMON_MAX_WIDTH		64

/* A slot is a counter that holds one event. The last slot is the fixed counter. */
#define UNCORE_PMON_SLOT_FIXED		UNCORE_PMON_MAX_COUNTERS
#define UNCORE_PMON_NR_SLOTS		(UNCORE_PMON_MAX_COUNTERS + 1)
#define UNCORE_PMON_NO_SLOT		(-1)

/* Values of the terms event and umask that select a counter; they are not written to a control. */
#define UNCORE_PMON_EVENT_SPECIAL	0xff
#define UNCORE_PMON_UMASK_FREE		0x10	/* the first free-running counter */

/**
 * struct uncore_pmon_global - the first entry of a table
 * @stride_words: distance between two entries, at least UNCORE_PMON_ENTRY_WORDS
 * @max_units: number of entries that follow, at least 1
 * @access: access type of the global control; not checked
 * @control: address of the global control; not checked
 */
struct uncore_pmon_global {
	u32 stride_words;
	u32 max_units;
	u8 access;
	u64 control;
};

/**
 * struct uncore_pmon_unit - a unit as its table entry describes it; all fields are checked
 * @box_control: address of the first register, in the address space that @access selects
 * @type: unit type
 * @id: number among the units of its type
 * @access: UNCORE_PMON_ACCESS_*
 * @counters: number of general counters, 1 .. UNCORE_PMON_MAX_COUNTERS
 * @width_bits: width of a counter, UNCORE_PMON_MIN_WIDTH .. UNCORE_PMON_MAX_WIDTH
 * @control_offset: offset of the first control from @box_control
 * @counter_offset: offset of the first counter from @box_control
 * @control_step: distance between two controls, in bytes or MSRs
 * @counter_step: distance between two counters, in bytes or MSRs
 */
struct uncore_pmon_unit {
	u64 box_control;
	u16 type;
	u16 id;
	u8 access;
	u8 counters;
	u8 width_bits;
	u8 control_offset;
	u8 counter_offset;
	u8 control_step;
	u8 counter_step;
};

/**
 * struct uncore_pmon_entry - a decoded entry of the table
 * @wrong: why the entry is rejected, or NULL
 * @unused: why the driver does not use the unit, or NULL
 * @used: false for an empty entry
 * @unit: valid if @used is set and @wrong is NULL
 */
struct uncore_pmon_entry {
	const char *wrong;
	const char *unused;
	bool used;
	struct uncore_pmon_unit unit;
};

/* The meaning of event codes depends on the platform. */
enum uncore_pmon_platform {
	UNCORE_PMON_UNKNOWN,
	UNCORE_PMON_SPR,	/* Sapphire and Emerald Rapids */
	UNCORE_PMON_GNR,	/* Granite Rapids, Sierra Forest, Clearwater Forest */
	UNCORE_PMON_DMR,	/* Diamond Rapids */
};

/**
 * struct uncore_pmon_constraint - an event that only some counters can count
 * @event: event code
 * @counters: mask of the counters that can count the event
 */
struct uncore_pmon_constraint {
	u8 event;
	u8 counters;
};

/**
 * struct uncore_pmon_type - properties of a unit type
 * @name: part of the PMU names
 * @constraints: terminated by a constraint without counters
 * @id: number in the table
 * @control_step: MMIO: distance between two controls, in bytes
 * @more: MSR, PCI: bits of a control above bit 31; 0 stands for UNCORE_PMON_CONTROL_UMASK_EXT
 * @fixed: a memory controller may have a fixed counter
 * @free_running: a pair of memory controllers may have free-running counters
 * @misplaced: mask of enum uncore_pmon_platform whose tables have a wrong address for this type
 */
struct uncore_pmon_type {
	const char *name;
	const struct uncore_pmon_constraint *constraints;
	u64 more;
	u16 id;
	u8 control_step;
	bool fixed;
	bool free_running;
	u8 misplaced;
};

/* Meaning of one count of an event, published to perf in sysfs */
enum uncore_pmon_meaning {
	UNCORE_PMON_OCCURRENCES,
	UNCORE_PMON_LINES,	/* 64 bytes each, shown in MiB */
};

/**
 * struct uncore_pmon_named_event - a named event
 * @name: file in events/
 * @umask: value of the term umask
 * @type: type of the units that have the event
 * @event: value of the term event
 * @platforms: mask of enum uncore_pmon_platform
 * @meaning: enum uncore_pmon_meaning
 */
struct uncore_pmon_named_event {
	const char *name;
	u64 umask;
	u16 type;
	u8 event;
	u8 platforms;
	u8 meaning;
};

enum uncore_pmon_kind {
	UNCORE_PMON_GENERAL,
	UNCORE_PMON_FIXED,
	UNCORE_PMON_FREE,
};

/**
 * struct uncore_pmon_free - a free-running counter
 * @umask: value of the term umask that selects the counter
 * @offset: offset from the start of the registers of the pair of memory controllers
 */
struct uncore_pmon_free {
	u8 umask;
	u16 offset;
};

/**
 * struct uncore_pmon_config - decoded terms of an event that its unit can count
 * @kind: kind of counter
 * @slots: mask of the slots that can hold the event; 0 if it needs none
 * @control: value of the control that starts the counter
 * @free: the counter, if @kind is UNCORE_PMON_FREE
 */
struct uncore_pmon_config {
	enum uncore_pmon_kind kind;
	u32 slots;
	u64 control;
	const struct uncore_pmon_free *free;
};

/*
 * Functions that return "const char *" return a short error text, or NULL on success.
 */

/* The table */
const char *uncore_pmon_global_decode(const u64 *words, u64 bar_bytes,
				      struct uncore_pmon_global *global);
u64 uncore_pmon_table_bytes(const struct uncore_pmon_global *global);
bool uncore_pmon_global_is_mmio(const struct uncore_pmon_global *global);
bool uncore_pmon_global_is_msr(const struct uncore_pmon_global *global);
void uncore_pmon_table_decode(const u64 *table, const struct uncore_pmon_global *global,
			      struct uncore_pmon_entry *entries);
void uncore_pmon_table_limit_chas(struct uncore_pmon_entry *entries, u32 nr, u64 chas);

/* A unit */
const struct uncore_pmon_type *uncore_pmon_type_find(u16 id);
bool uncore_pmon_has_fixed(const struct uncore_pmon_unit *unit, enum uncore_pmon_platform platform);
bool uncore_pmon_has_free(const struct uncore_pmon_unit *unit, enum uncore_pmon_platform platform);
bool uncore_pmon_pci_is_memory(const struct uncore_pmon_unit *unit);
u32 uncore_pmon_control_offset(const struct uncore_pmon_unit *unit, u32 slot);
u32 uncore_pmon_counter_offset(const struct uncore_pmon_unit *unit, u32 slot);
u32 uncore_pmon_unit_bytes(const struct uncore_pmon_unit *unit, u32 kinds);
bool uncore_pmon_units_collide(const struct uncore_pmon_unit *a, const struct uncore_pmon_unit *b);
bool uncore_pmon_units_alike(const struct uncore_pmon_unit *a, const struct uncore_pmon_unit *b);
bool uncore_pmon_links(u16 device, u32 domain, u8 bus, u8 devfn,
		       struct uncore_pmon_entry *entries);
bool uncore_pmon_is_misplaced(const struct uncore_pmon_unit *unit,
			      enum uncore_pmon_platform platform);
/* All named events, terminated by an event without a name */
extern const struct uncore_pmon_named_event uncore_pmon_named_events[];
bool uncore_pmon_event_fits(const struct uncore_pmon_named_event *event,
			    const struct uncore_pmon_unit *unit,
			    enum uncore_pmon_platform platform);

/* Events */
u64 uncore_pmon_config_mask(const struct uncore_pmon_unit *unit);
const char *uncore_pmon_config_parse(const struct uncore_pmon_unit *unit, u32 kinds,
				     u64 config, u64 config1, u64 config2,
				     struct uncore_pmon_config *cfg);

/* Counters */
u64 uncore_pmon_fold_ns(u32 width_bits);
bool uncore_pmon_delta(u64 before, u64 now, u32 width_bits, u64 *delta);
bool uncore_pmon_assign(const u32 *slots, s8 *slot, u32 nr);

#endif /* UNCORE_PMON_CORE_H */
