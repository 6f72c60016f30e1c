/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hisi_ptt: what its files share.
 *
 *   hisi_ptt_pci.c    finds the device, brings it up and down
 *   hisi_ptt_pmu.c    perf callbacks and event terms
 *   hisi_ptt_sysfs.c  format/ and caps/, and debugfs
 *   hisi_ptt_tune.c   tune/
 *   hisi_ptt_filter.c root_port_filters/ and requester_filters/, and hotplug
 *   hisi_ptt_dma.c    the buffers that the device writes to
 *   hisi_ptt_run.c    starts and stops the trace
 *   hisi_ptt_drain.c  moves entries to perf: interrupt, timer, stop
 *   hisi_ptt_trace.c  the trace event of a record
 *   hisi_ptt_core.c   the arithmetic of all of them
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

/* At most this much is copied with interrupts off, of samples a quarter while the event runs. */
#define HISI_PTT_SECTION_BYTES		(64U << 10)
#define HISI_PTT_SAMPLE_SECTION_BYTES	(16U << 10)

/* Between two looks of the timer: an interrupt may be lost. Then a reader that is behind. */
#define HISI_PTT_LOOK_NS		(4 * NSEC_PER_MSEC)
#define HISI_PTT_RETRY_NS		(1 * NSEC_PER_MSEC)

/**
 * struct hisi_ptt_buffer - one of the four that the device writes to
 * @cpu: for us; NULL: it is not allocated
 * @dma: for the device; a multiple of HISI_PTT_BUFFER_BYTES
 */
struct hisi_ptt_buffer {
	void *cpu;
	dma_addr_t dma;
};

/**
 * struct hisi_ptt_event - an open event
 * @pev: the common part
 * @cfg: what it asks for; never changes
 * @flags: PMUKIT_HISI_PTT_F_* for the next record
 * @aux_flags: the same, for the next flags in the AUX area
 * @inexact: more may be lost than @pev counts
 */
struct hisi_ptt_event {
	struct pmukit_event pev;
	struct hisi_ptt_config cfg;
	u64 flags;
	u64 aux_flags;
	bool inexact;
};

/**
 * enum hisi_ptt_state - is the trace running
 * @HISI_PTT_OFF: no
 * @HISI_PTT_ON: yes
 * @HISI_PTT_PAUSED: the device overran the buffers and was stopped; it is started again when they
 *	are taken. The event is started.
 * @HISI_PTT_ENDED: it ended by itself; the event is still started
 */
enum hisi_ptt_state {
	HISI_PTT_OFF,
	HISI_PTT_ON,
	HISI_PTT_PAUSED,
	HISI_PTT_ENDED
};

/**
 * struct hisi_ptt_record - a record with the header of a sample before it
 * @pad: puts @words on a multiple of 8
 * @raw: for perf
 * @words: little-endian
 */
struct hisi_ptt_record {
	u32 pad;
	struct pmukit_raw_header raw;
	u64 words[HISI_PTT_RECORD_WORDS];
};

static_assert(offsetof(struct hisi_ptt_record, words) == 16);

/**
 * struct hisi_ptt - one device, one PMU
 * @pp: the common part; its reference count is this structure's
 * @pdev: the device, with a reference
 * @irq: Linux interrupt number
 * @range: the DEVICE_RANGE register
 * @tune_mutex: one tune operation at a time; protects @tune_gone
 * @tune_gone: the registers are not to be touched by tune
 * @filter_mutex: adding and removing filters; perf_event_disable() is called under it
 * @filter_lock: protects @filters; raw, interrupts off, innermost
 * @filters: struct hisi_ptt_filter
 * @filter_notifier: on the PCI bus
 * @dma_mutex: protects allocating and freeing @buffers, and @dma_gone
 * @buffers: what the device writes to; while it traces they stay as they are
 * @dma_gone: there are no buffers any more
 * @lock: guards the trace registers and everything down to @timer. Raw, interrupts off,
 *	innermost: never held while calling perf.
 * @base: registers; not to be touched by the trace when @dead
 * @dead: the device has left; never cleared
 * @master_off: bus mastering was taken away from a device that did not stop
 * @state: see enum hisi_ptt_state
 * @ring: how far the buffers were taken
 * @halted: the stop was written to the device
 * @stopped: it does not write any more
 * @halt_status: INT_STAT as the stop found it before it masked the interrupts
 * @was_reset: the function was reset while the trace ran
 * @resetting: the function is being reset: registers forget what is written to them
 * @spurious: interrupts without a cause since the last one with, or since the timer's last look
 * @irq_off: there were too many of them: the interrupt is disabled until the next start
 * @irq_again: there was one, and the timer is to enable it
 * @active: the started event; changes on @cpu with interrupts off only
 * @cpu: where it runs
 * @message: what went wrong, to be printed by the timer
 * @last_logged: the message printed last since the last good start
 * @timer: next part of a drain, or next look at the device
 * @kick: brings a service to @cpu
 * @delivering: @cpu is inside perf with a record. This and the following are used on @cpu with
 *	interrupts off only.
 * @runs: how often a trace was started
 * @restarts: how often one was started again after an overrun
 * @copied_bytes: entries moved by the CPU since the device was found
 * @sections: sections that copied, but for the last of a run
 * @sections_ns: the time of all of them together
 * @section_max_bytes: most of them in one interrupts-off section, but for the last of a run
 * @section_max_ns: the longest such section
 * @last_max_ns: the longest last section of a run
 * @record: the record being put together
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

/* An unplugged or dead device answers every read with ones, which no status register can hold. */
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
void hisi_ptt_drain_none(struct hisi_ptt *ptt, struct hisi_ptt_event *hev);
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
