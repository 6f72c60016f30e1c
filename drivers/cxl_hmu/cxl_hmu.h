/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cxl_hmu: what its files share.
 *
 *   cxl_hmu_pci.c    finds the hardware beside cxl_pci, brings instances up and down
 *   cxl_hmu_standalone.c  drives functions that cxl_pci does not
 *   cxl_hmu_pmu.c    perf callbacks and event terms
 *   cxl_hmu_sysfs.c  format/ and caps/
 *   cxl_hmu_run.c    starts and stops the device, a step at a time
 *   cxl_hmu_drain.c  moves hot-list entries to perf: interrupt, timer, stop
 *   cxl_hmu_trace.c  the trace event of a record
 *   cxl_hmu_core.c   the arithmetic of all of them
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

/* One device read costs about a microsecond; interrupts stay off for at most this many. */
#define CXL_HMU_READS_PER_SECTION	64

/*
 * What a drain reads besides entries. Asked for by the interrupt: its own look at the status,
 * status, tail. At a stop: the status before and some times after disabling, tail.
 * It writes head and status, and at a stop configuration 0.
 */
#define CXL_HMU_DISABLE_POLLS		4
#define CXL_HMU_READS_OVERHEAD		(1 + CXL_HMU_DISABLE_POLLS + 1)

/**
 * struct cxl_hmu_claim - the memory an open event tracks
 * @used: there is an event
 * @overlap: its instance allows others to track the same memory
 * @cfg: its configuration
 */
struct cxl_hmu_claim {
	bool used;
	bool overlap;
	struct cxl_hmu_config cfg;
};

/**
 * struct cxl_hmu_block - one CHMU: a register block with several instances
 * @ref: held by the attached device and by each instance, which may live longer
 * @start: physical address of the block
 * @layout: what is used of it
 * @maps: mapping of each span of @layout; NULL when unmapped
 * @claim_lock: protects @claims; process context, innermost
 * @claims: by instance
 * @node: place in cxl_hmu_device.blocks
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
 * enum cxl_hmu_state - where an instance is on the way to tracking and back
 * @CXL_HMU_OFF: disabled, no event
 * @CXL_HMU_QUIESCE: waiting until the device is disabled
 * @CXL_HMU_RESET: starting the reset of the counters
 * @CXL_HMU_RESETTING: waiting for it
 * @CXL_HMU_CONFIGURE: unit size and the rest of the configuration
 * @CXL_HMU_BITMAP: writing the range bitmap, a part at a time
 * @CXL_HMU_ENABLE: emptying the list and enabling
 * @CXL_HMU_ENABLING: waiting until the device is enabled
 * @CXL_HMU_ON: tracking
 * @CXL_HMU_FAILED: the device did not do what was requested; left alone until the next start
 * @CXL_HMU_NR_STATES: how many there are
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
 * @pev: the common part
 * @cfg: what it asks for; never changes
 * @flags: PMUKIT_CXL_HMU_F_* for the next record
 */
struct cxl_hmu_event {
	struct pmukit_event pev;
	struct cxl_hmu_config cfg;
	u64 flags;
};

/**
 * struct cxl_hmu - one instance, one PMU
 * @pp: the common part; its reference count is this structure's
 * @block: the block it belongs to
 * @index: its number in the block
 * @caps: what it can do; never changes once the PMU is registered
 * @irq: Linux interrupt number, 0: none
 * @node: place in cxl_hmu_device.instances
 * @lock: guards the registers and everything down to @kick. Raw, interrupts off, innermost:
 *	never held while calling perf.
 * @base: registers; like the next two not to be touched when @dead
 * @bitmap: range bitmap
 * @list: hot list
 * @dead: the hardware has left; never cleared
 * @state: see enum cxl_hmu_state
 * @deadline: when waiting in @state becomes a failure
 * @poll_ns: next pause between two looks at the status
 * @disable_sent: the disable request was written since the last enable or start
 * @counters_clear: reset since the last run
 * @cfg0: what configuration 0 holds, without the control bits
 * @bitmap_next: next quadword of the bitmap to write
 * @filling: the list may hold entries of the last run that are not counted yet
 * @head: next entry to read; what the head register was last set to
 * @tail_rejected: the last tail was out of range
 * @empty_polls: drains in a row that took no entry although the status register announced some
 * @burst: sections in a row that @more asked for since the timer last ran
 * @burst_start: when the first of them ended
 * @error_unreported: the run has failed and no record has reported it yet
 * @active: the started event; changes on @cpu with interrupts off only
 * @cpu: where it runs
 * @error_msg: error message, to be printed by the timer
 * @timer: next step, or next look at the list
 * @more: the next section of a drain, at once
 * @kick: brings the interrupt to @cpu
 * @delivering: @cpu is inside perf with a record. This and the following are used on @cpu with
 *	interrupts off only.
 * @record: the record being put together
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

/* Registers; under hmu->lock, or before the PMU is registered */
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

/* An unplugged or dead device answers every read with ones. */
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
