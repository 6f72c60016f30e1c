/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uncore_pmon: declarations shared by its files.
 *
 *   uncore_pmon_main.c       the module: registers PMUs, and unregisters them when their PCI
 *                            function is removed or intel_uncore loads
 *   uncore_pmon_table.c      finds and reads the discovery tables
 *   uncore_pmon_box.c        register access of a unit: MMIO, MSR, PCI configuration space
 *   uncore_pmon_pmu.c        perf callbacks
 *   uncore_pmon_sysfs.c      format/, events/, caps/ and alias of a PMU
 *   uncore_pmon_core.c       table entries, event terms, counters: no kernel calls
 *   uncore_pmon_types_core.c properties of each unit type
 *
 * A table belongs to a package. A PMU represents one unit type and id. It has one box, the unit's
 * registers, in each package whose table lists that unit. The boxes of a PMU never change while it
 * is registered: when a package gains or loses its box, the driver registers a new PMU of the same
 * name in its place.
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

/* Attempts to read a register that does not respond */
#define UNCORE_PMON_TRIES	4

struct uncore_pmon_box;

/**
 * struct uncore_pmon_table - the units that one PCI function describes
 * @pdev: the function, with a reference; only read, because another driver may be bound to it
 * @dvsec: offset of the capability; 0: no capability, @entries are from uncore_pmon_links()
 * @package: physical package of the units
 * @package_known: false: @package is assumed from the order in which functions were found
 * @wrong: why the whole table is rejected, or NULL
 * @begun: uncore_pmon_table_begin() has handled the global control
 * @global: the first entry, which describes the table
 * @entries: the entries after the first, one per unit
 * @nr_entries: length of @entries
 * @nr_reported: number of calls of uncore_pmon_report_entry() for this table
 * @node: entry in the list of all tables
 */
struct uncore_pmon_table {
	struct pci_dev *pdev;
	int dvsec;
	int package;
	bool package_known;
	const char *wrong;
	bool begun;
	struct uncore_pmon_global global;
	struct uncore_pmon_entry *entries;
	u32 nr_entries;
	u32 nr_reported;
	struct list_head node;
};

/**
 * struct uncore_pmon_access - register access of a unit
 * @claim: called before the first access; may sleep
 * @release: called after the last access; may sleep
 * @read32: reads a control register
 * @write: writes a control register
 * @read: reads a counter
 *
 * Offsets are from the box control. A register that does not respond reads as all ones. read32,
 * write and read are called under box->lock; for MSRs, on a CPU of the unit's package. They must
 * not take a lock, because perf may read an event in an NMI, or from within any traced code.
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
 * @pev: the part common to all drivers
 * @box: the unit in the package of the event's CPU
 * @cfg: the decoded terms; never changes
 * @slot: slot of an added event; UNCORE_PMON_NO_SLOT if the event is not added or needs none
 * @based: prev_count holds a value read from the counter; false until the unit has responded
 * @node: entry in uncore_pmon_box.added
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
 * @pmu: the PMU; the box is freed with it
 * @unit: the unit as its table entry describes it
 * @entry: the table entry; valid only while @pmu is registered
 * @function: the PCI function with the table; valid only while @pmu is registered
 * @package: physical package
 * @access: register access
 * @claimed: @access->claim() has succeeded
 * @kinds: kinds of counters of the unit, mask of enum uncore_pmon_kind; complete once @claimed
 * @node: entry in @pmu->boxes
 * @base: MMIO: the mapped registers
 * @free_base: MMIO: the mapped free-running counters
 * @pdev: PCI: the function with the registers, with a reference
 * @lock: protects the registers and the members below; interrupts off, innermost
 * @changing: set by pmu_disable, cleared by pmu_enable; not under @lock
 * @unused: why the driver does not use the unit, or NULL
 * @dead: the registers must not be accessed any more; never cleared
 * @silent: the unit did not respond to the last read of a counter
 * @reset: the driver has reset the unit
 * @frozen: the freeze bit is set: no counter of the unit counts
 * @controls: content of the control register of each slot
 * @counting: mask of the slots whose event is started
 * @added: list of struct uncore_pmon_event
 * @nr_running: number of started events in @added
 * @timer: reads the counters before they can wrap; runs on the events' CPU
 * @warned: mask of enum uncore_pmon_warning raised so far
 * @pending_warnings: warnings that are not in the log yet; atomic, not under @lock
 * @print_warnings: logs @pending_warnings; not under @lock
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
 * struct uncore_pmon_pmu - the PMU of one unit type and id; it has one box per package
 * @pp: the part common to all drivers; its reference count covers this structure
 * @unit: the unit of the first box; the units in other packages have the same layout
 * @platform: platform that defines the named events
 * @kinds: kinds of counters that all boxes have, mask of enum uncore_pmon_kind
 * @fold_ns: interval between two reads of a counter by the timer
 * @boxes: struct uncore_pmon_box, one per package; constant while the PMU is registered
 * @node: entry in the list of all PMUs
 * @alias: second name, by type number (uncore_type_6_0), or empty
 * @event_files: files in events/
 * @event_attrs: attributes of @event_files
 * @events_group: attribute group of events/
 * @groups: all attribute groups
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
