// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivery of records to the reader: into the AUX area if the reader mapped one, otherwise as a
 * sample with the record in PERF_SAMPLE_RAW, otherwise (a counting event) only into the count. The
 * choice is made each time a sink is opened.
 *
 * Context: pmukit_sink_*() run on the event's CPU with interrupts off while the event is active
 * (its stop callback included). The only lock they take is pmukit_aux_lock. The driver must not
 * hold a lock that its stop callback takes: perf may call that callback in perf_tp_event(). An open
 * sink must be closed before another sink is opened on the same event.
 */

#include <linux/hashtable.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/perf_regs.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/trace_events.h>

#include <pmukit/pmu.h>

/*
 * AUX areas. An event can be redirected to the ring of another event (PERF_EVENT_IOC_SET_OUTPUT),
 * and perf allows an event of a third PMU to set up the AUX area of that ring. A transaction on
 * such a foreign area could nest inside a transaction of the PMU that owns the area, and perf would
 * disable the event if the area is full. So this file looks up the AUX area of the event's ring
 * before it calls perf.
 */

#define PMUKIT_AUX_HASH_BITS	6

static DEFINE_HASHTABLE(pmukit_aux_areas, PMUKIT_AUX_HASH_BITS);
static DEFINE_RAW_SPINLOCK(pmukit_aux_lock);	/* protects pmukit_aux_areas */

/**
 * struct pmukit_aux_area - an AUX area
 * @node: entry in pmukit_aux_areas
 * @pmu: the PMU that set the area up
 * @rb: the perf ring that the area belongs to; only compared, never dereferenced. perf frees the
 *	area before the ring.
 * @ring: returned to perf by setup_aux; the last member, because its length is variable
 */
struct pmukit_aux_area {
	struct hlist_node node;
	const struct pmu *pmu;
	const struct perf_buffer *rb;
	struct pmukit_aux_ring ring;
};

/**
 * pmukit_aux_of_event - the AUX area that an event may write into
 * @event: the event
 *
 * An inherited event writes into the ring of its parent.
 *
 * Context: any but NMI.
 *
 * Return: what setup_aux of the event's PMU returned; NULL if the ring has no area, or one of
 * another PMU. The pointer is only for comparison: the area may be freed at any time.
 */
const void *pmukit_aux_of_event(const struct perf_event *event)
{
	const struct perf_event *output = event->parent ?: event;
	const struct perf_buffer *rb = READ_ONCE(output->rb);
	const struct hlist_head *bucket;
	struct pmukit_aux_area *area;
	const void *found = NULL;
	unsigned long irq_flags;

	/* Most rings have no area: do not make all CPUs contend for the lock. */
	bucket = &pmukit_aux_areas[hash_min((unsigned long)rb, PMUKIT_AUX_HASH_BITS)];
	if (hlist_empty(bucket))
		return NULL;

	raw_spin_lock_irqsave(&pmukit_aux_lock, irq_flags);
	hlist_for_each_entry(area, bucket, node) {
		if (area->rb == rb && area->pmu == event->pmu)
			found = &area->ring;
	}
	raw_spin_unlock_irqrestore(&pmukit_aux_lock, irq_flags);
	return found;
}
EXPORT_SYMBOL_GPL(pmukit_aux_of_event);

/**
 * pmukit_aux_begin - open a transaction on an AUX area of the event's PMU
 * @handle: perf's output handle
 * @event: the event
 *
 * The transaction must be closed before interrupts are enabled again. Up to Linux 6.1, and on any
 * kernel while the event is being redirected, perf does not stop an event whose area is unmapped:
 * munmap() only waits until the event's CPU enables interrupts again. If a transaction is still
 * open after that, closing it frees the area, in any context.
 *
 * Context: that of perf_aux_output_begin(), with interrupts off.
 *
 * Return: what setup_aux of the PMU returned. NULL, without a transaction, if the ring has no area
 * of this PMU, or no free space in it.
 */
void *pmukit_aux_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	const void *ours = pmukit_aux_of_event(event);
	void *aux;

	if (!ours)
		return NULL;
	aux = perf_aux_output_begin(handle, event);
	if (!aux || aux == ours)
		return aux;
	/* The event was redirected meanwhile. */
	perf_aux_output_end(handle, 0);
	return NULL;
}
EXPORT_SYMBOL_GPL(pmukit_aux_begin);

/**
 * pmukit_setup_aux - the setup_aux callback of a PMU whose records are copied by the CPU
 * @event: the event
 * @pages: the pages perf allocated
 * @nr_pages: number of pages, a power of two
 * @overwrite: the reader wants the newest data to replace the oldest
 *
 * Overwrite mode is refused, because a new record could overwrite part of an old one, and the
 * reader could not find the start of the next. A PMU whose hardware is gone is refused as well:
 * nothing would ever be written to the area.
 *
 * perf calls free_aux when the area is unmapped. A kernel that revokes events may have released the
 * PMU's module by then, so the area holds a reference to the module that contains
 * pmukit_free_aux().
 *
 * Return: the pointer for free_aux; NULL to refuse the buffer.
 */
void *pmukit_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct pmukit_aux_area *area;
	unsigned long irq_flags;
	int i;

	if (overwrite || nr_pages < 1 || pmukit_pmu_gone(to_pmukit_pmu(event->pmu)))
		return NULL;

	area = kvmalloc(struct_size(area, ring.pages, nr_pages), GFP_KERNEL);
	if (!area)
		return NULL;

	area->pmu = event->pmu;
	area->rb = event->rb;
	area->ring.nr_pages = nr_pages;
	area->ring.page_shift = PAGE_SHIFT;
	for (i = 0; i < nr_pages; i++)
		area->ring.pages[i] = pages[i];

	raw_spin_lock_irqsave(&pmukit_aux_lock, irq_flags);
	hash_add(pmukit_aux_areas, &area->node, (unsigned long)area->rb);
	raw_spin_unlock_irqrestore(&pmukit_aux_lock, irq_flags);
	__module_get(THIS_MODULE);
	return &area->ring;
}
EXPORT_SYMBOL_GPL(pmukit_setup_aux);

/**
 * pmukit_free_aux - the free_aux callback for pmukit_setup_aux()
 * @aux: what pmukit_setup_aux() returned
 *
 * Context: process context, interrupts on.
 */
void pmukit_free_aux(void *aux)
{
	struct pmukit_aux_area *area = container_of(aux, struct pmukit_aux_area, ring);
	unsigned long irq_flags;

	raw_spin_lock_irqsave(&pmukit_aux_lock, irq_flags);
	hash_del(&area->node);
	raw_spin_unlock_irqrestore(&pmukit_aux_lock, irq_flags);
	kvfree(area);
	/* The module's exit waits until this function has returned. */
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_GPL(pmukit_free_aux);

/* Samples */

/**
 * pmukit_sampling_point - set the instruction pointer of the samples that follow
 * @pev: the event
 * @ip: the instruction pointer
 * @user: @ip is in user space
 */
void pmukit_sampling_point(struct pmukit_event *pev, u64 ip, bool user)
{
	instruction_pointer_set(&pev->regs, ip);
#if defined(CONFIG_X86)
	pev->regs.cs = user ? __USER_CS : __KERNEL_CS;
	pev->regs.ss = user ? __USER_DS : __KERNEL_DS;
#elif defined(CONFIG_ARM64)
	pev->regs.pstate = user ? PSR_MODE_EL0t : PSR_MODE_EL1h;
#elif defined(CONFIG_PPC64)
	pev->regs.msr = user ? MSR_PR : 0;
#endif
}
EXPORT_SYMBOL_GPL(pmukit_sampling_point);

#define PMUKIT_SAMPLE_REFUSED	(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_INTR | \
				 PERF_SAMPLE_STACK_USER)

/*
 * On arm64 perf record -g requests not only call chains from all events but also the link register,
 * which holds the caller of a function without a frame. The call chains of pmukit's events are
 * empty, so the register is not needed. Like the PID and TID of a sample, the register is that of
 * the task that was interrupted when the record was delivered, and has no relation to the record.
 */
#ifdef CONFIG_ARM64
#define PMUKIT_CHAIN_REGS	BIT_ULL(PERF_REG_ARM64_LR)
#else
#define PMUKIT_CHAIN_REGS	0ULL
#endif

static bool pmukit_regs_wrong(const struct perf_event_attr *attr)
{
	return (attr->sample_type & PERF_SAMPLE_REGS_USER) &&
	       (!(attr->sample_type & PERF_SAMPLE_CALLCHAIN) ||
		(attr->sample_regs_user & ~PMUKIT_CHAIN_REGS));
}

/**
 * pmukit_sampling_wrong - check that a sampling event requests nothing that device records lack
 * @attr: attributes of the event
 *
 * A record has no instruction, registers, stack or branches. Call chains are empty but not refused:
 * perf record -g requests them, and PMUKIT_CHAIN_REGS, from all events.
 *
 * Context: event_init.
 *
 * Return: NULL, or why the event is refused.
 */
const char *pmukit_sampling_wrong(const struct perf_event_attr *attr)
{
	if (attr->precise_ip)
		return "there is no precise instruction";
	if ((attr->sample_type & PMUKIT_SAMPLE_REFUSED) || pmukit_regs_wrong(attr))
		return "no branches, registers or stacks";
	return NULL;
}
EXPORT_SYMBOL_GPL(pmukit_sampling_wrong);

/**
 * pmukit_sampling_prepare - prepare a new event for pmukit_sink_deliver()
 * @pev: the event
 *
 * Every record becomes one sample, whatever period or frequency was requested: perf's own period
 * arithmetic would drop or repeat records.
 *
 * Context: event_init.
 */
void pmukit_sampling_prepare(struct pmukit_event *pev)
{
	struct perf_event *event = pev->event;

	/* A sample has no instruction and no task, so it must not look like one of user space. */
	pmukit_sampling_point(pev, 0, false);
	/* perf_callchain() would unwind the code that delivers the record. */
	event->attr.exclude_callchain_kernel = 1;
	event->attr.exclude_callchain_user = 1;
	if (!is_sampling_event(event))
		return;

	event->attr.freq = 0;
	event->attr.sample_period = 1;
	event->hw.sample_period = 1;
	event->hw.last_period = 1;
	local64_set(&event->hw.period_left, -1);
}
EXPORT_SYMBOL_GPL(pmukit_sampling_prepare);

/**
 * pmukit_check_period - the check_period callback: the period must stay 1
 * @event: the event
 * @value: the requested period
 *
 * Return: 0 or -EINVAL.
 */
int pmukit_check_period(struct perf_event *event, u64 value)
{
	return value == 1 ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(pmukit_check_period);

/* Sinks */

/**
 * pmukit_sink_open_aux - like pmukit_sink_open(), but for the AUX area only
 * @sink: filled in
 * @pev: the event
 *
 * Return: false if the event's ring has no AUX area of the PMU, or no free space in it. In that
 * case the sink must not be closed, but each record may be passed to pmukit_sink_sample().
 */
bool pmukit_sink_open_aux(struct pmukit_sink *sink, struct pmukit_event *pev)
{
	sink->pev = pev;
	sink->rctx = -1;
	sink->written_bytes = 0;
	sink->room_words = PMUKIT_RECORD_WORDS;

	sink->ring = pmukit_aux_begin(&sink->handle, pev->event);
	if (!sink->ring)
		return false;
	/*
	 * User space may write any value to aux_tail, but handle.size, the free space that perf
	 * reports, is never larger than the ring.
	 */
	sink->room_words = min_t(u64, pmukit_aux_room_words(sink->handle.size), U32_MAX);
	return true;
}
EXPORT_SYMBOL_GPL(pmukit_sink_open_aux);

/**
 * pmukit_sink_open - determine where records go now and how long they may be
 * @sink: filled in
 * @pev: the event
 *
 * Return: false if no record can be delivered at the moment; the caller must then not close the
 * sink. If true, the caller must close the sink; sink->room_words may still be too small for a
 * record.
 */
bool pmukit_sink_open(struct pmukit_sink *sink, struct pmukit_event *pev)
{
	if (pmukit_sink_open_aux(sink, pev))
		return true;

	if (!is_sampling_event(pev->event))
		return true;

	sink->rctx = perf_swevent_get_recursion_context();
	return sink->rctx >= 0;
}
EXPORT_SYMBOL_GPL(pmukit_sink_open);

/**
 * pmukit_sink_stage - write words after the delivered ones; readers do not see them yet
 * @sink: an open sink
 * @words: words to write
 * @nr_words: number of words, at most sink->room_words
 *
 * Does nothing if the sink is not an AUX area.
 */
void pmukit_sink_stage(struct pmukit_sink *sink, const u64 *words, u32 nr_words)
{
	if (sink->ring)
		pmukit_aux_write(sink->ring, sink->handle.head + sink->written_bytes, words,
				 nr_words);
}
EXPORT_SYMBOL_GPL(pmukit_sink_stage);

/**
 * pmukit_sink_commit - deliver the staged words and count their entries
 * @sink: an open sink
 * @nr_words: number of staged words
 * @nr_entries: number to add to the event's count
 */
void pmukit_sink_commit(struct pmukit_sink *sink, u32 nr_words, u32 nr_entries)
{
	if (sink->ring) {
		sink->written_bytes += nr_words * sizeof(u64);
		sink->room_words -= nr_words;
	}
	local64_add(nr_entries, &sink->pev->event->count);
}
EXPORT_SYMBOL_GPL(pmukit_sink_commit);

/**
 * pmukit_sink_sample - deliver a record as a sample
 * @sink: an open sink of a sampling event, not an AUX area
 * @raw: header of the record, directly followed by its words
 * @nr_words: number of words
 * @nr_entries: number to add to the event's count
 *
 * perf_tp_event() is the only exported function that outputs a sample. Its list of events has one
 * member here; the function also releases the recursion context.
 *
 * perf adds the period to the event's count. If the event requests PERF_SAMPLE_PERIOD, the period
 * of a sample is its number of entries, so that the periods of all samples add up to the count.
 * Otherwise the period is 1, because with a period of n perf would output the sample n times.
 *
 * Return: false if the record could not be delivered; the count is then unchanged.
 */
bool pmukit_sink_sample(struct pmukit_sink *sink, struct pmukit_raw_header *raw, u32 nr_words,
			u32 nr_entries)
{
	struct perf_event *event = sink->pev->event;
	struct hlist_head only_us = { .first = &event->hlist_entry };
	u64 period = event->attr.sample_type & PERF_SAMPLE_PERIOD ? nr_entries : 1;
	int rctx = sink->rctx;

	if (pmukit_event_throttled(event) || event->hw.state & PERF_HES_STOPPED)
		return false;
	if (rctx < 0)
		rctx = perf_swevent_get_recursion_context();
	if (rctx < 0)
		return false;

	sink->rctx = -1;
	local64_add((s64)nr_entries - (s64)period, &event->count);
	perf_tp_event(0, period, raw, sizeof(*raw) + nr_words * sizeof(u64), &sink->pev->regs, &only_us,
		      rctx, NULL);
	return true;
}
EXPORT_SYMBOL_GPL(pmukit_sink_sample);

/**
 * pmukit_sink_deliver - deliver one record
 * @sink: an open sink
 * @record: the record, with the driver's tag in the raw header
 * @nr_words: its length, at most PMUKIT_RECORD_WORDS
 * @nr_entries: number to add to the event's count
 *
 * Return: false if the record could not be delivered; the count is then unchanged.
 */
bool pmukit_sink_deliver(struct pmukit_sink *sink, struct pmukit_record *record,
			 u32 nr_words, u32 nr_entries)
{
	if (nr_words > sink->room_words || nr_words > PMUKIT_RECORD_WORDS)
		return false;

	if (!sink->ring && is_sampling_event(sink->pev->event))
		return pmukit_sink_sample(sink, &record->raw, nr_words, nr_entries);

	pmukit_sink_stage(sink, record->words, nr_words);
	pmukit_sink_commit(sink, nr_words, nr_entries);
	return true;
}
EXPORT_SYMBOL_GPL(pmukit_sink_deliver);

/* perf_tp_event() with an empty list only releases the recursion context. */
static void pmukit_put_recursion_context(struct pmukit_sink *sink)
{
	struct hlist_head no_programs = HLIST_HEAD_INIT;
	struct trace_entry unused = {};

	perf_tp_event(0, 0, &unused, sizeof(unused), &sink->pev->regs, &no_programs, sink->rctx,
		      NULL);
	sink->rctx = -1;
}

/**
 * pmukit_sink_close - publish the delivered records
 * @sink: an open sink
 * @aux_flags: PERF_AUX_FLAG_* for the reader of an AUX area
 */
void pmukit_sink_close(struct pmukit_sink *sink, u64 aux_flags)
{
	if (!sink->ring) {
		if (sink->rctx >= 0)
			pmukit_put_recursion_context(sink);
		return;
	}

	if (aux_flags)
		perf_aux_output_flag(&sink->handle, aux_flags);
	/* The reader must see the words before the new head. Pairs with the reader's barrier. */
	smp_wmb();
	perf_aux_output_end(&sink->handle, sink->written_bytes);
	sink->ring = NULL;
}
EXPORT_SYMBOL_GPL(pmukit_sink_close);
