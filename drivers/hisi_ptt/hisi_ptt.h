/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hisi_ptt: structures and functions that the driver's files share. In the comments a run is the
 * time from the start of an event to its stop, and a section is the data that one drain copies with
 * interrupts off.
 *
 *   hisi_ptt_pci.c    PCI probe, remove and reset
 *   hisi_ptt_pmu.c    perf callbacks and event terms
 *   hisi_ptt_sysfs.c  format/, events/ and caps/, and debugfs
 *   hisi_ptt_tune.c   tune/
 *   hisi_ptt_filter.c root_port_filters/ and requester_filters/, and PCI hotplug
 *   hisi_ptt_dma.c    the DMA buffers
 *   hisi_ptt_run.c    starts and stops the trace
 *   hisi_ptt_drain.c  copies entries to perf, on interrupt, timer and event stop
 *   hisi_ptt_trace.c  the trace event hisi_ptt_record
 *   hisi_ptt_core.c   arithmetic without kernel calls
 */
#ifndef HISI_PTT_H
#define HISI_PTT_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <pmukit/pmu.h>

#include "hisi_ptt_core.h"

/*
 * Maximum length of a section while the event runs, in bytes: if it is copied to an AUX area, and
 * if it is copied into records
 */
#define HISI_PTT_SECTION_BYTES		(64U << 10)
#define HISI_PTT_SAMPLE_SECTION_BYTES	(16U << 10)

/* Poll period, in case an interrupt is lost; retry period while perf's buffer is full */
#define HISI_PTT_LOOK_NS		(4 * NSEC_PER_MSEC)
#define HISI_PTT_RETRY_NS		(1 * NSEC_PER_MSEC)

/**
 * struct hisi_ptt_buffer - one of the four DMA buffers
 * @cpu: kernel address; NULL: not allocated
 * @dma: DMA address, a multiple of HISI_PTT_BUFFER_BYTES
 */
struct hisi_ptt_buffer {
	void *cpu;
	dma_addr_t dma;
};

/**
 * struct hisi_ptt_event - an open event
 * @pev: the part common to all drivers
 * @cfg: decoded event terms; never changes
 * @flags: PMUKIT_HISI_PTT_F_* for the next record
 * @aux_flags: PMUKIT_HISI_PTT_F_* for the next loss reported in the AUX area
 * @inexact: the lost count in @pev is a lower bound
 */
struct hisi_ptt_event {
	struct pmukit_event pev;
	struct hisi_ptt_config cfg;
	u64 flags;
	u64 aux_flags;
	bool inexact;
};

/**
 * enum hisi_ptt_state - state of the trace
 * @HISI_PTT_OFF: no event is started
 * @HISI_PTT_ON: the trace runs
 * @HISI_PTT_PAUSED: the device overran the buffers and was stopped; the driver restarts it once
 *	the buffers are drained. The event stays started.
 * @HISI_PTT_ENDED: an error or a reset of the device ended the trace. The event stays started.
 */
enum hisi_ptt_state {
	HISI_PTT_OFF,
	HISI_PTT_ON,
	HISI_PTT_PAUSED,
	HISI_PTT_ENDED
};

/**
 * struct hisi_ptt_record - a record, preceded by the header of a sample's raw data
 * @pad: aligns @words to 8 bytes
 * @raw: header of the raw data
 * @words: the record, little-endian
 */
struct hisi_ptt_record {
	u32 pad;
	struct pmukit_raw_header raw;
	u64 words[HISI_PTT_RECORD_WORDS];
};

static_assert(offsetof(struct hisi_ptt_record, words) == 16);

/**
 * struct hisi_ptt - one device, one PMU
 * @pp: the part common to all drivers; its reference count covers this structure
 * @pdev: the device, with a reference
 * @irq: Linux interrupt number
 * @range: the DEVICE_RANGE register
 * @tune_mutex: one tune operation at a time; protects @tune_gone
 * @tune_gone: tune operations must not access the registers any more
 * @filter_mutex: serializes adding and removing filters; held while perf disables an event
 * @filter_lock: protects @filters. Raw spinlock, taken with interrupts off; no other lock is taken
 *	under it.
 * @filters: list of struct hisi_ptt_filter
 * @filter_notifier: notifier of the PCI bus
 * @dma_mutex: protects allocating and freeing @buffers, and @dma_gone
 * @buffers: the DMA buffers; not reallocated while the device traces
 * @dma_gone: buffers must not be allocated any more
 * @lock: protects the trace registers and the fields from @base to @timer. Raw spinlock, taken with
 *	interrupts off; the driver takes no other lock under it and does not hold it while calling
 *	perf.
 * @base: registers; the trace code must not access them once @dead is set
 * @dead: the device is removed; never cleared
 * @master_off: bus mastering is disabled because the device did not stop
 * @state: see enum hisi_ptt_state
 * @ring: read position in the buffers
 * @halted: hisi_ptt_halt() has run since the last launch
 * @stopped: the device does not write to the buffers any more
 * @halt_status: INT_STAT as hisi_ptt_halt() read it before masking the interrupts
 * @was_reset: the function was reset, or the machine suspended, since the last launch
 * @resetting: a function reset is in progress: register writes would be lost
 * @spurious: consecutive spurious interrupts; the timer clears it
 * @irq_off: the interrupt is disabled until the next start, after too many spurious ones
 * @irq_again: an event was started: the timer must enable the interrupt again
 * @active: the started event; changes only on @cpu with interrupts off
 * @cpu: CPU of @active
 * @message: error message for the timer to print
 * @last_logged: message printed last; NULL after a successful start
 * @timer: continues a drain, or polls the device
 * @kick: cross-CPU call that runs hisi_ptt_service() on @cpu
 * @delivering: a drain is in progress on @cpu. @delivering and the members after it are written
 *	only on @cpu with interrupts off.
 * @runs: number of runs
 * @restarts: number of restarts after an overrun
 * @copied_bytes: bytes of entries that the CPU copied since probe
 * @sections: number of sections that copied entries, except the last section of each run
 * @sections_ns: total time of these sections
 * @section_max_bytes: length of the longest of these sections, in bytes
 * @section_max_ns: time of the longest of these sections
 * @last_max_ns: time of the longest section that was the last of its run
 * @record: buffer in which a record is composed
 */
struct hisi_ptt {
	struct pmukit_pmu pp;
	struct pci_dev *pdev;
	int irq;
	u32 range;

	struct mutex tune_mutex;	/* tune registers, tune_gone */
	bool tune_gone;

	struct mutex filter_mutex;	/* changing the filters */
	raw_spinlock_t filter_lock;	/* filters */
	struct list_head filters;
	struct notifier_block filter_notifier;

	struct mutex dma_mutex;		/* buffers, dma_gone */
	struct hisi_ptt_buffer buffers[HISI_PTT_NR_BUFFERS];
	bool dma_gone;

	raw_spinlock_t lock;
	void __iomem *base;
	bool dead;
	bool master_off;
	enum hisi_ptt_state state;
	struct hisi_ptt_ring ring;
	bool halted;
	bool stopped;
	u32 halt_status;
	bool was_reset;
	bool resetting;
	u32 spurious;
	bool irq_off;
	bool irq_again;
	struct hisi_ptt_event *active;
	int cpu;
	const char *message;
	const char *last_logged;
	struct hrtimer timer;

	call_single_data_t kick;
	bool delivering;
	u64 runs;
	u64 restarts;
	u64 copied_bytes;
	u64 sections;
	u64 sections_ns;
	u64 section_max_bytes;
	u64 section_max_ns;
	u64 last_max_ns;
	struct hisi_ptt_record record;
};

static inline struct hisi_ptt *to_hisi_ptt(struct pmukit_pmu *pp)
{
	return container_of(pp, struct hisi_ptt, pp);
}

static inline struct hisi_ptt_event *to_hisi_ptt_event(struct pmukit_event *pev)
{
	return container_of(pev, struct hisi_ptt_event, pev);
}

static inline u32 hisi_ptt_read(const struct hisi_ptt *ptt, u32 offset)
{
	return readl(ptt->base + offset);
}

static inline void hisi_ptt_write(const struct hisi_ptt *ptt, u32 offset, u32 value)
{
	writel(value, ptt->base + offset);
}

/* Reads of an unplugged or dead device return all ones, which no status register can hold. */
static inline bool hisi_ptt_absent(u32 status)
{
	return status == U32_MAX;
}

/* hisi_ptt_run.c */
void hisi_ptt_arm(struct hisi_ptt *ptt, u64 ns);
void hisi_ptt_warn(struct hisi_ptt *ptt, enum pmukit_stat stat, const char *message);
void hisi_ptt_quiet(struct hisi_ptt *ptt);
int hisi_ptt_launch(struct hisi_ptt *ptt, const struct hisi_ptt_config *cfg);
int hisi_ptt_begin(struct hisi_ptt *ptt, struct hisi_ptt_event *hev);
bool hisi_ptt_halt(struct hisi_ptt *ptt);

/* hisi_ptt_drain.c */
void hisi_ptt_drain_init(struct hisi_ptt *ptt);
void hisi_ptt_drain_shutdown(struct hisi_ptt *ptt);
void hisi_ptt_drain_last(struct hisi_ptt *ptt);
void hisi_ptt_report_failed_start(struct hisi_ptt *ptt, struct hisi_ptt_event *hev);
irqreturn_t hisi_ptt_interrupt(int irq, void *data);

/* hisi_ptt_dma.c */
int hisi_ptt_dma_open(struct hisi_ptt *ptt);
void hisi_ptt_dma_program(struct hisi_ptt *ptt);
void hisi_ptt_dma_leave(struct hisi_ptt *ptt);

/* hisi_ptt_filter.c */
extern const struct attribute_group hisi_ptt_root_port_group;
extern const struct attribute_group hisi_ptt_requester_group;
void hisi_ptt_filter_init(struct hisi_ptt *ptt);
int hisi_ptt_filter_join(struct hisi_ptt *ptt);
void hisi_ptt_filter_leave(struct hisi_ptt *ptt);
bool hisi_ptt_filter_available(struct hisi_ptt *ptt, const struct hisi_ptt_config *cfg);

/* hisi_ptt_tune.c */
extern const struct attribute_group hisi_ptt_tune_group;

/* hisi_ptt_sysfs.c */
extern const struct attribute_group *hisi_ptt_attr_groups[];
void hisi_ptt_debugfs_add(struct hisi_ptt *ptt);

/* hisi_ptt_pmu.c */
void hisi_ptt_pmu_fill(struct hisi_ptt *ptt);

#endif /* HISI_PTT_H */
