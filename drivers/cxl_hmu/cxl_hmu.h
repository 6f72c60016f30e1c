/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cxl_hmu: declarations shared by its files.
 *
 *   cxl_hmu_pci.c         finds the CHMUs (hotness monitoring units) of PCI functions that cxl_pci
 *                         drives, attaches to them and detaches from them
 *   cxl_hmu_standalone.c  a PCI driver for functions that cxl_pci does not drive
 *   cxl_hmu_pmu.c         perf callbacks; which event tracks which memory
 *   cxl_hmu_sysfs.c       format/, events/ and caps/
 *   cxl_hmu_run.c         starts and stops the device, one step at a time
 *   cxl_hmu_drain.c       moves hot-list entries to perf: interrupt, timer, stop
 *   cxl_hmu_trace.c       the trace event for a delivered record
 *   cxl_hmu_core.c        decoding, checks and ring arithmetic; no kernel calls
 */
#ifndef CXL_HMU_H
#define CXL_HMU_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <pmukit/pmu.h>

#include "cxl_hmu_core.h"

struct pci_dev;

/*
 * Maximum number of device reads in a section. A section is the work of one drain, with interrupts
 * off. A read takes about 1 us.
 */
#define CXL_HMU_READS_PER_SECTION	64

/*
 * Maximum number of device reads of a section in addition to the entries. A stop needs the most: it
 * reads the status once before the disable and up to CXL_HMU_DISABLE_POLLS times after the disable,
 * then the tail. A section after an interrupt reads the status twice and the tail once. Writes are
 * not counted: each section writes head and status, a stop also writes configuration 0.
 */
#define CXL_HMU_DISABLE_POLLS		4
#define CXL_HMU_READS_OVERHEAD		(1 + CXL_HMU_DISABLE_POLLS + 1)

/**
 * struct cxl_hmu_claim - the memory an open event tracks
 * @used: an event is open on the instance
 * @overlap: the instance may track memory that other instances track as well
 * @cfg: configuration of the event
 */
struct cxl_hmu_claim {
	bool used;
	bool overlap;
	struct cxl_hmu_config cfg;
};

/**
 * struct cxl_hmu_block - one CHMU: a register block with several instances
 * @ref: one reference of the attached device and one of each instance, which may outlive the device
 * @start: physical address of the block
 * @layout: register ranges in use
 * @maps: mapping of each span of @layout; NULL when unmapped
 * @claim_lock: protects @claims; taken in process context, no other lock is taken under it
 * @claims: claim of each instance, indexed by its number
 * @node: entry in cxl_hmu_device.blocks
 */
struct cxl_hmu_block {
	struct kref ref;
	resource_size_t start;
	struct cxl_hmu_layout layout;
	void __iomem *maps[CXL_HMU_MAX_SPANS];
	spinlock_t claim_lock;	/* protects claims */
	struct cxl_hmu_claim claims[CXL_HMU_MAX_INSTANCES];
	struct list_head node;
};

/**
 * enum cxl_hmu_state - state of an instance; cxl_hmu_run.c draws the transitions
 * @CXL_HMU_OFF: disabled, no event
 * @CXL_HMU_QUIESCE: waiting until the device is disabled
 * @CXL_HMU_RESET: starting the reset of the counters
 * @CXL_HMU_RESETTING: waiting until the counters are reset
 * @CXL_HMU_CONFIGURE: writing the configuration (CFG1, CFG2)
 * @CXL_HMU_BITMAP: writing the range bitmap in parts
 * @CXL_HMU_ENABLE: emptying the list and requesting the enable
 * @CXL_HMU_ENABLING: waiting until the device is enabled
 * @CXL_HMU_ON: tracking
 * @CXL_HMU_FAILED: the device did not do as requested; no step runs until the next start
 * @CXL_HMU_NR_STATES: number of states
 */
enum cxl_hmu_state {
	CXL_HMU_OFF,
	CXL_HMU_QUIESCE,
	CXL_HMU_RESET,
	CXL_HMU_RESETTING,
	CXL_HMU_CONFIGURE,
	CXL_HMU_BITMAP,
	CXL_HMU_ENABLE,
	CXL_HMU_ENABLING,
	CXL_HMU_ON,
	CXL_HMU_FAILED,
	CXL_HMU_NR_STATES
};

/**
 * struct cxl_hmu_event - an open event
 * @pev: the part common to all drivers
 * @cfg: configuration of the event; never changes
 * @flags: PMUKIT_CXL_HMU_F_* for the next record
 */
struct cxl_hmu_event {
	struct pmukit_event pev;
	struct cxl_hmu_config cfg;
	u64 flags;
};

/**
 * struct cxl_hmu - one instance, one PMU
 * @pp: the part common to all drivers; its reference count covers this structure
 * @block: the block that contains the instance
 * @index: number of the instance in the block
 * @caps: capabilities of the instance; constant once the PMU is registered
 * @irq: Linux interrupt number; 0: none, the list is polled
 * @node: entry in cxl_hmu_device.instances
 * @lock: protects the registers and the fields from @base to @more. Raw spinlock, taken with
 *	interrupts off; the driver takes no other lock under it and does not hold it while calling
 *	perf.
 * @base: registers. Once @dead is set, only the detach accesses @base, @bitmap and @list.
 * @bitmap: range bitmap
 * @list: hot list
 * @dead: the driver is detached from the hardware; never cleared
 * @state: see enum cxl_hmu_state
 * @deadline: time at which waiting in @state becomes a failure
 * @poll_ns: delay until the next poll of the status
 * @disable_sent: the disable request was written since the last enable or start
 * @counters_clear: the counters were reset since the last run
 * @cfg0: value of configuration 0 without the control bits
 * @bitmap_next: next quadword of the bitmap to write
 * @filling: the list may hold entries that are neither delivered nor counted as lost: set at the
 *	enable, cleared when they are counted or discarded
 * @head: index of the next entry to read, and value of the head register
 * @tail_rejected: the last tail was out of range
 * @empty_polls: consecutive drains that read no entry although the status announced some
 * @burst: consecutive drains that left entries waiting, since the timer last ran
 * @burst_start: time at which the first of these drains ended
 * @error_unreported: the run has failed and no record has reported it yet
 * @active: the started event; changes on @cpu with interrupts off only
 * @cpu: CPU on which @active was started
 * @error_msg: message for the log, printed by cxl_hmu_service()
 * @timer: runs the next step, or the next drain
 * @more: irq_work that runs the next drain at once
 * @kick: cross-CPU call that runs the drain on @cpu
 * @delivering: @cpu is in a drain, in which perf may call the stop callback. @delivering and
 *	@record are used only on @cpu with interrupts off.
 * @record: the record under construction
 */
struct cxl_hmu {
	struct pmukit_pmu pp;
	struct cxl_hmu_block *block;
	u32 index;
	struct cxl_hmu_caps caps;
	int irq;
	struct list_head node;

	raw_spinlock_t lock;
	void __iomem *base;
	void __iomem *bitmap;
	void __iomem *list;
	bool dead;
	enum cxl_hmu_state state;
	ktime_t deadline;
	u64 poll_ns;
	bool disable_sent;
	bool counters_clear;
	u64 cfg0;
	u32 bitmap_next;
	bool filling;
	u32 head;
	bool tail_rejected;
	u32 empty_polls;
	u32 burst;
	ktime_t burst_start;
	bool error_unreported;
	struct cxl_hmu_event *active;
	int cpu;
	const char *error_msg;
	struct hrtimer timer;
	struct irq_work more;

	call_single_data_t kick;
	bool delivering;
	struct pmukit_record record;
};

static inline struct cxl_hmu *to_cxl_hmu(struct pmukit_pmu *pp)
{
	return container_of(pp, struct cxl_hmu, pp);
}

static inline struct cxl_hmu_event *to_cxl_hmu_event(struct pmukit_event *pev)
{
	return container_of(pev, struct cxl_hmu_event, pev);
}

/* Register accesses need hmu->lock, except before the PMU is registered and when hmu->dead. */
static inline u64 cxl_hmu_read(const struct cxl_hmu *hmu, u32 offset)
{
	return readq(hmu->base + offset);
}

static inline void cxl_hmu_write(const struct cxl_hmu *hmu, u32 offset, u64 value)
{
	writeq(value, hmu->base + offset);
}

static inline u32 cxl_hmu_read_tail(const struct cxl_hmu *hmu)
{
	return readw(hmu->base + CXL_HMU_TAIL);
}

static inline void cxl_hmu_write_head(const struct cxl_hmu *hmu)
{
	writew(hmu->head, hmu->base + CXL_HMU_HEAD);
}

/* Reads of an unplugged or dead device return all ones. */
static inline bool cxl_hmu_status_absent(u64 status)
{
	return status == U64_MAX;
}

/* cxl_hmu_run.c */
u64 cxl_hmu_flush_ns(const struct cxl_hmu *hmu);
void cxl_hmu_arm(struct cxl_hmu *hmu, u64 ns);
void cxl_hmu_fail(struct cxl_hmu *hmu, enum pmukit_stat stat, const char *error_msg);
void cxl_hmu_run(struct cxl_hmu *hmu);
void cxl_hmu_disable(struct cxl_hmu *hmu);
void cxl_hmu_settle(struct cxl_hmu *hmu);
void cxl_hmu_begin(struct cxl_hmu *hmu, struct cxl_hmu_event *hev);
void cxl_hmu_end(struct cxl_hmu *hmu);
int cxl_hmu_disable_and_wait(struct cxl_hmu *hmu, bool take_enabled);

/* cxl_hmu_drain.c */
void cxl_hmu_drain_init(struct cxl_hmu *hmu);
void cxl_hmu_drain_shutdown(struct cxl_hmu *hmu);
void cxl_hmu_drain_last(struct cxl_hmu *hmu);
irqreturn_t cxl_hmu_interrupt(int irq, void *data);

/* cxl_hmu_pmu.c */
void cxl_hmu_pmu_fill(struct cxl_hmu *hmu);

/* cxl_hmu_sysfs.c */
extern const struct attribute_group *cxl_hmu_attr_groups[];

/* cxl_hmu_pci.c */
int cxl_hmu_function_attach(struct pci_dev *pdev);
void cxl_hmu_function_detach(struct pci_dev *pdev);
void cxl_hmu_block_put(struct cxl_hmu_block *block);

/* cxl_hmu_standalone.c */
int cxl_hmu_standalone_register(void);
void cxl_hmu_standalone_unregister(void);

#endif /* CXL_HMU_H */
