/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uncore_pmon: what its files share.
 *
 *   uncore_pmon_main.c       the module: registers and unregisters PMUs as functions come and go
 *   uncore_pmon_table.c      finds and reads the discovery tables
 *   uncore_pmon_box.c        registers of a unit: memory, MSRs, configuration space
 *   uncore_pmon_pmu.c        perf callbacks
 *   uncore_pmon_sysfs.c      format/, events/, caps/ and alias of a PMU
 *   uncore_pmon_core.c       table entries, event terms, counters: no kernel calls
 *   uncore_pmon_types_core.c what is known of each type of unit
 *
 * A table belongs to a package. A PMU is a unit type and id; it has one box, the registers, in each
 * package whose table lists that unit. The boxes of a PMU never change while it is registered: when
 * a package gains or loses its box, the PMU is replaced by another of the same name.
 */
#ifndef UNCORE_PMON_H
#define UNCORE_PMON_H

#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include <pmukit/lock.h>
#include <pmukit/pmu.h>

#include "uncore_pmon_core.h"

/* How often a register is read that does not answer. */
#define UNCORE_PMON_TRIES	4

struct uncore_pmon_box;

/**
 * struct uncore_pmon_table - the units that one PCI function describes
 * @pdev: the function, with a reference; it may belong to another driver and is only read
 * @dvsec: offset of the capability; 0: the links of a Sapphire Rapids, see uncore_pmon_links()
 * @package: physical package of its units
 * @placed: @package is known, not taken from the order in which functions were found
 * @wrong: why the whole table is rejected, NULL for no reason
 * @begun: its global control was written, where it is
 * @global: the first entry
 * @entries: the others
 * @nr_entries: how many
 * @nr_reported: rejected entries so far
 * @node: place among all tables
 */
struct uncore_pmon_table {
	struct pci_dev *pdev;
	int dvsec;
	int package;
	bool placed;
	const char *wrong;
	bool begun;
	struct uncore_pmon_global global;
	struct uncore_pmon_entry *entries;
	u32 nr_entries;
	u32 nr_reported;
	struct list_head node;
};

/**
 * struct uncore_pmon_access - how registers of a unit are reached
 * @claim: before the unit is used; may sleep
 * @release: the unit is not used any more; may sleep
 * @read32: a control
 * @write: a control
 * @read: a counter
 *
 * Offsets are from the box control. A register that does not answer reads as all ones. read32,
 * write and read are called under box->lock, those of MSRs on a CPU of the unit's package. They
 * take no lock: perf may come from an NMI, or from within whatever is traced.
 */
struct uncore_pmon_access {
	const char *(*claim)(struct uncore_pmon_box *box);
	void (*release)(struct uncore_pmon_box *box);
	u32 (*read32)(const struct uncore_pmon_box *box, u32 offset);
	void (*write)(const struct uncore_pmon_box *box, u32 offset, u64 value);
	u64 (*read)(const struct uncore_pmon_box *box, u32 offset);
};

/**
 * struct uncore_pmon_event - an open event
 * @pev: the common part
 * @box: the unit in the package of the event's CPU
 * @cfg: what it asks for; never changes
 * @slot: the slot it has while it is added, else UNCORE_PMON_NO_SLOT
 * @based: prev_count is what its counter showed; the unit did not answer before that
 * @node: place in uncore_pmon_box.added
 */
struct uncore_pmon_event {
	struct pmukit_event pev;
	struct uncore_pmon_box *box;
	struct uncore_pmon_config cfg;
	int slot;
	bool based;
	struct list_head node;
};

/* Warnings about a box; each is printed once */
enum uncore_pmon_warning {
	UNCORE_PMON_SILENT,
	UNCORE_PMON_BACKWARDS,
	UNCORE_PMON_NR_WARNINGS
};

/* A file in events/ */
struct uncore_pmon_event_file {
	struct device_attribute attr;
	const struct uncore_pmon_named_event *event;
	char name[48];
};

/**
 * struct uncore_pmon_box - the registers of a unit in one package
 * @pmu: whose they are; the box is freed with it
 * @unit: what the table says
 * @entry: where it says so; only while @pmu is registered
 * @function: where the table is; only while @pmu is registered
 * @package: physical package
 * @access: how the registers are reached
 * @claimed: @access->claim() has succeeded
 * @kinds: mask of enum uncore_pmon_kind that it has; complete once it is claimed
 * @node: place in @pmu->boxes
 * @base: MMIO: the registers
 * @free_base: MMIO: those of counters that always run
 * @pdev: PCI: the function they are in, with a reference
 * @lock: guards the registers and everything below. Interrupts off, innermost.
 * @changing: between pmu_disable and pmu_enable; not under @lock
 * @unused: why the unit is left alone, NULL for no reason
 * @dead: the registers must not be accessed any more; never cleared
 * @silent: the last counter that was read did not answer
 * @reset: they were brought into a known state
 * @frozen: no counter of the unit counts
 * @controls: what the control of each slot contains
 * @counting: mask of the slots whose event is started
 * @added: struct uncore_pmon_event
 * @nr_running: how many of them are started
 * @timer: reads the counters before they can wrap; on the events' CPU
 * @warned: mask of enum uncore_pmon_warning
 * @pending_warnings: those of them that are not in the log yet; atomic, not under @lock
 * @print_warnings: puts them there; not under @lock
 */
struct uncore_pmon_box {
	struct uncore_pmon_pmu *pmu;
	struct uncore_pmon_unit unit;
	struct uncore_pmon_entry *entry;
	const struct pci_dev *function;
	int package;
	const struct uncore_pmon_access *access;
	bool claimed;
	u32 kinds;
	struct list_head node;

	void __iomem *base;
	void __iomem *free_base;
	struct pci_dev *pdev;

	struct pmukit_lock lock;
	bool changing;
	const char *unused;
	bool dead;
	bool silent;
	bool reset;
	bool frozen;
	u64 controls[UNCORE_PMON_NR_SLOTS];
	u32 counting;
	struct list_head added;
	unsigned int nr_running;
	struct hrtimer timer;
	unsigned long warned;
	unsigned long pending_warnings;
	struct irq_work print_warnings;
};

/**
 * struct uncore_pmon_pmu - a unit type and id
 * @pp: the common part; its reference count is this structure's
 * @unit: the unit of the first box; those of further packages are built like it
 * @platform: whose events it has
 * @kinds: mask of enum uncore_pmon_kind that all boxes have
 * @fold_ns: how often counters are read
 * @boxes: struct uncore_pmon_box, one a package; constant while the PMU is registered
 * @node: place among all PMUs
 * @alias: its name by numbers, empty when that is its name
 * @event_files: content of events/
 * @event_attrs: the same for sysfs
 * @events_group: events/
 * @groups: all of sysfs
 */
struct uncore_pmon_pmu {
	struct pmukit_pmu pp;
	struct uncore_pmon_unit unit;
	enum uncore_pmon_platform platform;
	u32 kinds;
	u64 fold_ns;
	struct list_head boxes;
	struct list_head node;
	char alias[32];
	struct uncore_pmon_event_file *event_files;
	struct attribute **event_attrs;
	struct attribute_group events_group;
	const struct attribute_group *groups[8];
};

static inline struct uncore_pmon_pmu *to_uncore_pmon_pmu(struct pmukit_pmu *pp)
{
	return container_of(pp, struct uncore_pmon_pmu, pp);
}

static inline struct uncore_pmon_event *to_uncore_pmon_event(struct pmukit_event *pev)
{
	return container_of(pev, struct uncore_pmon_event, pev);
}

/* uncore_pmon_main.c */
bool uncore_pmon_programs(u8 access);
bool uncore_pmon_looks_for_programs(void);
enum uncore_pmon_platform uncore_pmon_platform_of(const struct pci_dev *pdev);

/* uncore_pmon_table.c */
unsigned int uncore_pmon_cpu_of(int package);
int uncore_pmon_tables_add(struct pci_dev *pdev, struct list_head *tables);
void uncore_pmon_table_begin(struct uncore_pmon_table *table);
void uncore_pmon_report_entry(struct uncore_pmon_table *table,
			      const struct uncore_pmon_entry *entry);
void uncore_pmon_table_free(struct uncore_pmon_table *table);

/* uncore_pmon_box.c */
const char *uncore_pmon_global_run(u64 address);
struct uncore_pmon_box *uncore_pmon_box_new(struct uncore_pmon_pmu *pmu,
					    struct uncore_pmon_table *table,
					    struct uncore_pmon_entry *entry);
const char *uncore_pmon_box_up(struct uncore_pmon_box *box);
void uncore_pmon_box_down(struct uncore_pmon_box *box);
void uncore_pmon_warn(struct uncore_pmon_box *box, enum uncore_pmon_warning what);
void uncore_pmon_box_reset(struct uncore_pmon_box *box);
void uncore_pmon_box_freeze(struct uncore_pmon_box *box, bool freeze);
void uncore_pmon_box_control(struct uncore_pmon_box *box, int slot, u64 control);
bool uncore_pmon_box_count(struct uncore_pmon_box *box, const struct uncore_pmon_event *uev,
			   u64 *count);

/* uncore_pmon_pmu.c */
struct uncore_pmon_box *uncore_pmon_box_of_package(const struct uncore_pmon_pmu *pmu, int package);
enum hrtimer_restart uncore_pmon_timer(struct hrtimer *timer);
void uncore_pmon_pmu_fill(struct uncore_pmon_pmu *pmu);

/* uncore_pmon_sysfs.c */
int uncore_pmon_sysfs_fill(struct uncore_pmon_pmu *pmu);
void uncore_pmon_sysfs_free(struct uncore_pmon_pmu *pmu);

#endif /* UNCORE_PMON_H */
