/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uncore_pmon: what its files share.
 *
 *   uncore_pmon_pci.c    finds the table, brings its units up and down
 *   uncore_pmon_box.c    registers of a unit: memory, MSRs, configuration space
 *   uncore_pmon_pmu.c    perf callbacks, one PMU for each unit
 *   uncore_pmon_sysfs.c  format/, events/, caps/ and alias of a PMU
 *   uncore_pmon_core.c   the arithmetic of all of them
 *   uncore_pmon_types_core.c  what is known of each type of unit
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

struct uncore_pmon_box;

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
 * @cfg: what it asks for; never changes
 * @slot: the slot it has while it is added, else UNCORE_PMON_NO_SLOT
 * @home: the slot it had last, or UNCORE_PMON_NO_SLOT
 * @based: prev_count is what its counter showed; nobody answered before that
 * @node: place in uncore_pmon_box.added
 * @leaving: place in uncore_pmon_box.leaving, or empty
 */
struct uncore_pmon_event {
	struct pmukit_event pev;
	struct uncore_pmon_config cfg;
	int slot;
	int home;
	bool based;
	struct list_head node;
	struct list_head leaving;
};

/* What a box has complained of; each once */
enum uncore_pmon_complaint {
	UNCORE_PMON_SILENT,
	UNCORE_PMON_BACKWARDS,
	UNCORE_PMON_NR_COMPLAINTS
};

/* A file in events/ */
struct uncore_pmon_event_file {
	struct device_attribute attr;
	const struct uncore_pmon_named_event *event;
	char name[48];
};

/**
 * struct uncore_pmon_box - one unit, one PMU
 * @pp: the common part; its reference count is this structure's
 * @unit: what the table says
 * @function: where the table is; only while that is bound
 * @platform: whose events it has
 * @access: how its registers are reached
 * @kinds: mask of enum uncore_pmon_kind that it has; complete once it is claimed
 * @claimed: @access->claim() has succeeded
 * @package: MSR: whose CPUs reach the registers
 * @node: place in the function's list
 * @alias: its name by numbers, empty when that is its name
 * @event_files: content of events/
 * @event_attrs: the same for sysfs
 * @events_group: events/
 * @groups: all of sysfs
 * @base: MMIO: the registers
 * @free_base: MMIO: those of counters that always run
 * @pdev: PCI: the function they are in, with a reference
 * @lock: guards the registers and everything below. Interrupts off, innermost.
 * @changing: between pmu_disable and pmu_enable; not under @lock
 * @dead: the registers are not to be touched any more; never cleared
 * @reset: they were brought into a known state
 * @frozen: no counter of the unit counts
 * @controls: what stands in those of the slots
 * @counting: mask of the slots whose event is started
 * @added: struct uncore_pmon_event
 * @leaving: those that perf has taken off, until pmu_enable or until they come back
 * @nr_running: how many of them are started
 * @timer: looks at the counters before they can wrap; on the events' CPU
 * @fold_ns: how often
 * @told: mask of enum uncore_pmon_complaint
 * @unsaid: those of them that are not in the log yet; atomic, not under @lock
 * @saying: puts them there; not under @lock
 */
struct uncore_pmon_box {
	struct pmukit_pmu pp;
	struct uncore_pmon_unit unit;
	const struct pci_dev *function;
	enum uncore_pmon_platform platform;
	const struct uncore_pmon_access *access;
	u32 kinds;
	bool claimed;
	int package;
	struct list_head node;
	char alias[32];
	struct uncore_pmon_event_file *event_files;
	struct attribute **event_attrs;
	struct attribute_group events_group;
	const struct attribute_group *groups[8];

	void __iomem *base;
	void __iomem *free_base;
	struct pci_dev *pdev;

	struct pmukit_lock lock;
	bool changing;
	bool dead;
	bool reset;
	bool frozen;
	u64 controls[UNCORE_PMON_NR_SLOTS];
	u32 counting;
	struct list_head added;
	struct list_head leaving;
	unsigned int nr_running;
	struct hrtimer timer;
	u64 fold_ns;
	unsigned long told;
	unsigned long unsaid;
	struct irq_work saying;
};

static inline struct uncore_pmon_box *to_uncore_pmon_box(struct pmukit_pmu *pp)
{
	return container_of(pp, struct uncore_pmon_box, pp);
}

static inline struct uncore_pmon_event *to_uncore_pmon_event(struct pmukit_event *pev)
{
	return container_of(pev, struct uncore_pmon_event, pev);
}

/* uncore_pmon_box.c */
const char *uncore_pmon_global_run(const struct pci_dev *function, u64 address);
unsigned int uncore_pmon_nr_packages(void);
int uncore_pmon_msr_get(unsigned int cpu, u32 msr, u64 *value);
int uncore_pmon_msr_set(unsigned int cpu, u32 msr, u64 value);
extern const struct uncore_pmon_access *uncore_pmon_accesses[];
void uncore_pmon_print_complaints(struct irq_work *work);
void uncore_pmon_complain(struct uncore_pmon_box *box, enum uncore_pmon_complaint what);
const char *uncore_pmon_box_prepare(struct uncore_pmon_box *box);
void uncore_pmon_box_reset(struct uncore_pmon_box *box);
void uncore_pmon_box_freeze(struct uncore_pmon_box *box, bool freeze);
void uncore_pmon_box_control(struct uncore_pmon_box *box, int slot, u64 control);
bool uncore_pmon_box_count(struct uncore_pmon_box *box, const struct uncore_pmon_event *uev,
			   int slot, u64 *count);

/* uncore_pmon_pmu.c */
void uncore_pmon_pmu_fill(struct uncore_pmon_box *box);
void uncore_pmon_pmu_kill(struct uncore_pmon_box *box);

/* uncore_pmon_sysfs.c */
int uncore_pmon_sysfs_fill(struct uncore_pmon_box *box);
void uncore_pmon_sysfs_free(struct uncore_pmon_box *box);

#endif /* UNCORE_PMON_H */
