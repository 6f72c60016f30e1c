// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: perf callbacks of trace_imc.
 *
 * The engine writes records into the buffer of the CPU periodically, without an interrupt. So the
 * driver polls the buffer: by a timer on each CPU that has events, at every task switch there, and
 * when an event stops. perf takes task and time of a sample at its delivery, not from the record.
 * So the driver drains the buffer before a switch: the records belong to the previous task, which
 * is still current for perf:
 *
 *   timer ----------------.
 *   sched_switch ----------+---> imc_trace_drain() ---> each event of the CPU: AUX area or samples
 *   sched_process_exit ----|
 *   stop, del ------------'
 *
 * The driver uses tracepoints because perf calls a PMU at a switch only if the set of events
 * changes: never for events of a CPU, and not between threads with the same events. An exiting task
 * has no PID any more at its last switch, so the buffer is drained at its exit too.
 *
 * A drain runs with interrupts off, so it reads at most IMC_SECTION records; the timer reads the
 * rest soon. At a switch the rest cannot wait, because perf would attribute it to the next task:
 * the driver drops it and counts it as lost. The timer interval is chosen so that about half of
 * IMC_SECTION records are waiting when the timer fires.
 *
 * A drain reads the records once, then delivers them to one event after the other: events may share
 * an AUX area (PERF_EVENT_IOC_SET_OUTPUT), and perf allows one open transaction per area.
 *
 * The trace state is per CPU and used with interrupts off. No lock is held around calls to perf.
 */

#include <asm/byteorder.h>

#include <linux/io.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

#include "imc.h"

#define IMC_PAUSE_NS		(100 * NSEC_PER_USEC)
#define IMC_RECORD_BYTES	(IMC_RECORD_WORDS * sizeof(u64))

static_assert(PMUKIT_IMC_W_RECORD + IMC_RECORD_WORDS == PMUKIT_IMC_WORDS);
static_assert(PMUKIT_IMC_WORDS <= PMUKIT_RECORD_WORDS);

/* Delivering records */

static bool imc_trace_runs(const struct imc_event *ev)
{
	return !(ev->pev.event->hw.state & PERF_HES_STOPPED);
}

static bool imc_trace_loss_pending(const struct imc_event *ev)
{
	return READ_ONCE(ev->loss_pending);
}

/* Returns true if the event runs, or was stopped in an NMI and its loss is not yet counted. */
static bool imc_trace_is_owed(const struct imc_event *ev)
{
	return imc_trace_runs(ev) || imc_trace_loss_pending(ev);
}

/* The AUX area is mapped for the event that was opened, not for its inherited copies. */
static bool imc_trace_has_aux(struct imc_event *ev)
{
	struct perf_event *event = ev->pev.event;

	if (event->parent)
		event = event->parent;
	return READ_ONCE(imc_of_event(event)->aux);
}

static void imc_trace_lose(struct imc_event *ev, u64 records)
{
	if (!records)
		return;
	ev->pev.lost += records;
	pmukit_stat_add(to_pmukit_pmu(ev->pev.event->pmu), PMUKIT_STAT_LOST, records);
}

static void imc_trace_lose_all(struct imc_cpu *cpu, const struct imc_ring_tally *tally)
{
	struct imc_event *ev;

	list_for_each_entry(ev, &cpu->tracing, node) {
		struct pmukit_pmu *pp = to_pmukit_pmu(ev->pev.event->pmu);

		if (!imc_trace_is_owed(ev))
			continue;
		imc_trace_lose(ev, tally->lost);
		pmukit_stat_add(pp, PMUKIT_STAT_REJECTED, tally->rejected);
		pmukit_stat_add(pp, PMUKIT_STAT_OVERFLOWS, tally->lapped);
	}
}

/* Returns true if the event excludes the record. */
static bool imc_trace_excluded(const struct perf_event_attr *attr, u64 val)
{
	bool user = val & IMC_RECORD_VAL_PR, host = val & IMC_RECORD_VAL_HV;

	if (user ? attr->exclude_user : attr->exclude_kernel)
		return true;
	if (host ? attr->exclude_host : attr->exclude_guest)
		return true;
	return attr->exclude_idle && is_idle_task(current);
}

static bool imc_trace_to_aux(struct pmukit_sink *sink, const u64 *record)
{
	u64 words[IMC_RECORD_WORDS];
	u32 i;

	if (sink->room_words < IMC_RECORD_WORDS)
		return false;
	for (i = 0; i < IMC_RECORD_WORDS; i++)
		words[i] = (__force u64)cpu_to_be64(record[i]);
	pmukit_sink_stage(sink, words, IMC_RECORD_WORDS);
	pmukit_sink_commit(sink, IMC_RECORD_WORDS, 1);
	return true;
}

static bool imc_trace_to_sample(struct imc_cpu *cpu, struct pmukit_sink *sink, const u64 *record)
{
	struct pmukit_event *pev = sink->pev;
	u64 *words = cpu->record.words;
	u32 i;

	words[PMUKIT_IMC_W_SEQUENCE] = (__force u64)cpu_to_le64(pev->sequence);
	words[PMUKIT_IMC_W_LOST] = (__force u64)cpu_to_le64(pev->lost);
	for (i = 0; i < IMC_RECORD_WORDS; i++)
		words[PMUKIT_IMC_W_RECORD + i] = (__force u64)cpu_to_be64(record[i]);
	cpu->record.raw.tag = PMUKIT_RAW_TAG_IMC;
	pmukit_sampling_point(pev, record[IMC_RECORD_IP],
			      record[IMC_RECORD_VAL] & IMC_RECORD_VAL_PR);
	return pmukit_sink_sample(sink, &cpu->record.raw, PMUKIT_IMC_WORDS, 1);
}

static void imc_trace_give(struct imc_cpu *cpu, struct imc_event *ev, struct pmukit_sink *sink,
			   const u64 *record)
{
	bool given;

	if (!imc_trace_is_owed(ev) || record[IMC_RECORD_TB1] <= ev->since_tb ||
	    imc_trace_excluded(&ev->pev.event->attr, record[IMC_RECORD_VAL]))
		return;
	if (imc_trace_loss_pending(ev))
		given = false;
	else if (sink->ring)
		given = imc_trace_to_aux(sink, record);
	else
		given = !imc_trace_has_aux(ev) && imc_trace_to_sample(cpu, sink, record);
	if (!given) {
		imc_trace_lose(ev, 1);
		return;
	}
	ev->pev.sequence++;
	pmukit_stat_inc(to_pmukit_pmu(ev->pev.event->pmu), PMUKIT_STAT_RECORDS);
}

/*
 * An AUX area has one writer at a time. Inherited copies of a task event that is not bound to a CPU
 * (cpu == -1) may run at the same time as the original, on other CPUs. perf maps no area for such
 * an event, but allows it to use the area of another event. So the inherited copies must not write
 * to an area.
 */
static bool imc_trace_may_write_area(const struct imc_event *ev)
{
	const struct perf_event *event = ev->pev.event;

	return !event->parent || event->cpu >= 0;
}

/*
 * Leaves space for one record in the AUX area: perf would disable the event if the area were full.
 */
static bool imc_trace_open(struct imc_event *ev, struct pmukit_sink *sink)
{
	if (!imc_trace_may_write_area(ev)) {
		*sink = (struct pmukit_sink) { .pev = &ev->pev, .rctx = -1 };
		return false;
	}
	if (!pmukit_sink_open_aux(sink, &ev->pev))
		return false;
	sink->room_words -= min_t(u32, sink->room_words, IMC_RECORD_WORDS);
	return true;
}

/* Delivers the records of a drain to one event, and keeps its AUX area open only for that time. */
static void imc_trace_hand_over(struct imc_cpu *cpu, struct imc_event *ev, u32 taken)
{
	struct pmukit_sink sink;
	bool is_open, report;
	u32 i;

	is_open = imc_trace_open(ev, &sink);
	for (i = 0; i < taken; i++)
		imc_trace_give(cpu, ev, &sink, cpu->section[i]);
	if (!is_open)
		return;
	/* Report a loss only together with data, not each time the area is full. */
	report = sink.written_bytes && ev->reported_lost != ev->pev.lost;
	if (report)
		ev->reported_lost = ev->pev.lost;
	pmukit_sink_close(&sink, report ? PERF_AUX_FLAG_PARTIAL : 0);
}

/* Reports the last loss of an event that is removed: no later data can report it. */
static void imc_trace_report_loss(struct imc_event *ev)
{
	struct pmukit_sink sink;

	if (ev->reported_lost == ev->pev.lost || !imc_trace_open(ev, &sink))
		return;
	ev->reported_lost = ev->pev.lost;
	pmukit_sink_close(&sink, PERF_AUX_FLAG_PARTIAL);
}

static void imc_trace_hand_out(struct imc_cpu *cpu, u32 taken)
{
	struct imc_event *ev;

	list_for_each_entry(ev, &cpu->tracing, node) {
		if (imc_trace_is_owed(ev))
			imc_trace_hand_over(cpu, ev, taken);
	}
}

/* Reading records */

/* Number of records that fit now; another event with the same AUX area may use the space first. */
static u32 imc_trace_event_room(struct imc_event *ev)
{
	struct pmukit_sink sink;

	if (!imc_trace_runs(ev))
		return 0;
	if (!imc_trace_open(ev, &sink))
		return imc_trace_has_aux(ev) ? 0 : IMC_SECTION;
	pmukit_sink_close(&sink, 0);
	return sink.room_words / IMC_RECORD_WORDS;
}

/* The largest space of any event, so that an event whose AUX area is full does not delay others. */
static u32 imc_trace_room(struct imc_cpu *cpu)
{
	struct imc_event *ev;
	u32 room = 0;

	list_for_each_entry(ev, &cpu->tracing, node)
		room = max(room, imc_trace_event_room(ev));
	return min(room, IMC_SECTION);
}

/* Skipped records also count against @room, to bound the loop. Returns the number read. */
static u32 imc_trace_take(struct imc_cpu *cpu, u32 room, struct imc_ring_tally *tally)
{
	u32 tries, taken = 0;

	for (tries = 0; tries < room; tries++) {
		enum imc_ring_state state = imc_ring_take(&cpu->ring, cpu->section[taken], tally);

		if (state == IMC_RING_EMPTY)
			break;
		taken += state == IMC_RING_RECORD;
	}
	return taken;
}

static u64 imc_trace_waiting(const struct imc_cpu *cpu)
{
	return cpu->ring.written - cpu->ring.taken;
}

/*
 * For each event that was stopped in an NMI, counts the records that it missed as lost. The count
 * may include records written after the stop: only a poll shows how many records have been written,
 * and an NMI cannot poll.
 */
static void imc_trace_count_pending_loss(struct imc_cpu *cpu, const struct imc_ring_tally *tally)
{
	struct imc_event *ev;

	list_for_each_entry(ev, &cpu->tracing, node) {
		if (!imc_trace_loss_pending(ev))
			continue;
		imc_trace_lose(ev, tally->lost + imc_trace_waiting(cpu));
		pmukit_stat_add(to_pmukit_pmu(ev->pev.event->pmu), PMUKIT_STAT_OVERFLOWS,
				tally->lapped);
		WRITE_ONCE(ev->loss_pending, false);
	}
}

/* Records written while perf has stopped all events belong to no event: drop them uncounted. */
static void imc_trace_drop_unowned(struct imc_cpu *cpu)
{
	struct imc_ring_tally unowned = {};
	struct imc_event *ev;

	list_for_each_entry(ev, &cpu->tracing, node) {
		if (imc_trace_runs(ev))
			return;
	}
	imc_ring_drop(&cpu->ring, &unowned);
}

/*
 * Reads and delivers at most IMC_SECTION records. Returns true if it has read some and more are
 * waiting: the timer should then fire again soon.
 */
static bool imc_trace_drain(struct imc_cpu *cpu)
{
	struct imc_ring_tally tally = {};
	u64 from;

	imc_ring_look(&cpu->ring, &tally);
	imc_trace_count_pending_loss(cpu, &tally);
	imc_trace_drop_unowned(cpu);
	from = cpu->ring.taken;
	cpu->draining = true;
	if (imc_trace_waiting(cpu)) {
		u32 taken = imc_trace_take(cpu, imc_trace_room(cpu), &tally);

		imc_trace_lose_all(cpu, &tally);
		imc_trace_hand_out(cpu, taken);
	}
	cpu->draining = false;
	cpu->recent += cpu->ring.taken - from;
	return cpu->ring.taken != from && imc_trace_waiting(cpu);
}

/*
 * Drains before a switch, and drops the records that are left. perf would attribute them to the
 * next task: a sample and a PERF_RECORD_AUX carry the PID of the current task.
 */
static void imc_trace_drain_task(struct imc_cpu *cpu)
{
	struct imc_ring_tally tally = {};

	imc_trace_drain(cpu);
	imc_ring_drop(&cpu->ring, &tally);
	imc_trace_lose_all(cpu, &tally);
}

static enum hrtimer_restart imc_trace_timer(struct hrtimer *timer)
{
	struct imc_cpu *cpu = container_of(timer, struct imc_cpu, timer);
	u64 now = ktime_get_ns(), pause_ns = IMC_PAUSE_NS;

	/* Do not rearm without events, or if the timer was moved because its CPU went offline. */
	if (imc_dead(cpu->imc) || cpu->cpu != smp_processor_id() || list_empty(&cpu->tracing))
		return HRTIMER_NORESTART;

	if (!imc_trace_drain(cpu))
		pause_ns = imc_poll_ns(now - cpu->since_ns, cpu->recent, IMC_SECTION);
	cpu->since_ns = now;
	cpu->recent = 0;
	hrtimer_forward_now(timer, ns_to_ktime(pause_ns));
	return HRTIMER_RESTART;
}

/* Probe of sched_switch; runs before the switch, interrupts off: current is still @prev. */
static void imc_trace_switch(void *data, bool preempt, struct task_struct *prev,
			     struct task_struct *next, unsigned int prev_state)
{
	struct imc *imc = data;
	struct imc_cpu *cpu = this_cpu_ptr(imc->cpus);

	if (!list_empty(&cpu->tracing))
		imc_trace_drain_task(cpu);
}

/*
 * Probe of sched_process_exit: current is exiting and still has its PID. Kernels before 6.16 do not
 * pass group_dead, which is not used.
 */
static void imc_trace_exit(void *data, struct task_struct *task, bool group_dead)
{
	struct imc *imc = data;
	struct imc_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(imc->cpus);
	if (!list_empty(&cpu->tracing))
		imc_trace_drain(cpu);
	local_irq_restore(flags);
}

/* Engine */

/* On the CPU itself, interrupts off. Polls soon, because the rate of records is not known yet. */
static void imc_trace_timer_start(struct imc_cpu *cpu)
{
	if (!hrtimer_is_queued(&cpu->timer))
		hrtimer_start(&cpu->timer, ns_to_ktime(IMC_PAUSE_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static int imc_trace_engine_start(struct imc *imc, struct imc_cpu *cpu)
{
	u64 address = virt_to_phys(cpu->trace_memory) & IMC_LDBAR_ADDRESS;
	int ret;

	imc_ring_restart(&cpu->ring);
	imc->backend->set_ldbar(cpu->cpu, IMC_LDBAR_TRACE | address);
	ret = imc_engine_get(imc, &cpu->core->engine, PMUKIT_IMC_TRACE, cpu->cpu);
	if (ret) {
		imc->backend->set_ldbar(cpu->cpu, 0);
		return ret;
	}

	cpu->since_ns = ktime_get_ns();
	cpu->recent = 0;
	imc_trace_timer_start(cpu);
	return 0;
}

static void imc_trace_engine_stop(struct imc *imc, struct imc_cpu *cpu)
{
	imc_engine_put(imc, &cpu->core->engine, PMUKIT_IMC_TRACE, cpu->cpu);
	if (!imc_dead(imc))
		imc->backend->set_ldbar(cpu->cpu, 0);
}

/* Perf callbacks */

/* Skips the records written while the event was stopped. */
static void imc_trace_start(struct perf_event *event, int flags)
{
	struct imc_cpu *cpu = this_cpu_ptr(imc_pmu_of(event)->imc->cpus);

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	if (!cpu->draining)
		imc_trace_drain(cpu);
	imc_of_event(event)->since_tb = cpu->ring.newest_tb;
	WRITE_ONCE(imc_of_event(event)->loss_pending, false);
	event->hw.state = 0;
}

/* Runs before the event is marked stopped: perf drops samples of a stopped event. */
static void imc_trace_settle(struct imc_cpu *cpu, struct imc_event *ev)
{
	imc_trace_drain(cpu);
	/* This event has lost the records that are left; other events of the CPU still get them. */
	if (imc_trace_is_owed(ev))
		imc_trace_lose(ev, imc_trace_waiting(cpu));
}

/*
 * Must not drain while a drain is running. perf stops the event during a drain when the drain has
 * delivered the last sample that PERF_EVENT_IOC_REFRESH allows. perf also stops the event in an
 * NMI, which may interrupt a drain, when the NMI throttles the leader of the event's group.
 */
static void imc_trace_stop(struct perf_event *event, int flags)
{
	struct imc_cpu *cpu = this_cpu_ptr(imc_pmu_of(event)->imc->cpus);
	struct imc_event *ev = imc_of_event(event);
	bool settle = !in_nmi() && !cpu->draining;

	if (!imc_trace_is_owed(ev))
		return;
	if (settle)
		imc_trace_settle(cpu, ev);
	else if (in_nmi())
		WRITE_ONCE(ev->loss_pending, true);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* Clear loss_pending after the event is marked stopped: from then on no NMI sets it. */
	if (settle)
		WRITE_ONCE(ev->loss_pending, false);
}

static int imc_trace_add(struct perf_event *event, int flags)
{
	struct imc_pmu *ipmu = imc_pmu_of(event);
	struct imc_cpu *cpu = this_cpu_ptr(ipmu->imc->cpus);
	int ret;

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (!imc_may_run(ipmu, cpu))
		return -ENODEV;

	if (list_empty(&cpu->tracing)) {
		ret = imc_trace_engine_start(ipmu->imc, cpu);
		if (ret)
			return ret;
	}
	list_add_tail(&imc_of_event(event)->node, &cpu->tracing);
	if (flags & PERF_EF_START)
		imc_trace_start(event, flags);
	return 0;
}

/*
 * Stops the engine before the event, because the last records of the engine belong to the event. If
 * perf has already stopped the event, for example because the buffer was unmapped, these records do
 * not belong to it.
 */
static void imc_trace_del(struct perf_event *event, int flags)
{
	struct imc *imc = imc_pmu_of(event)->imc;
	struct imc_cpu *cpu = this_cpu_ptr(imc->cpus);
	struct imc_event *ev = imc_of_event(event);
	struct imc_ring_tally unowned = {};

	if (list_is_singular(&cpu->tracing))
		imc_trace_engine_stop(imc, cpu);
	imc_trace_stop(event, flags);
	list_del(&ev->node);
	imc_trace_report_loss(ev);
	if (list_empty(&cpu->tracing))
		imc_ring_drop(&cpu->ring, &unowned);
}

/* Does nothing: the count is the number of records delivered, and is updated at delivery. */
static void imc_trace_read(struct perf_event *event)
{
}

static void *imc_trace_setup_aux(struct perf_event *event, void **pages, int nr_pages,
				 bool overwrite)
{
	void *aux = pmukit_setup_aux(event, pages, nr_pages, overwrite);

	if (aux)
		WRITE_ONCE(imc_of_event(event)->aux, true);
	return aux;
}

/* Tracepoints, looked up by name because they are not exported to modules */

static const struct {
	const char *name;
	void *probe;
} imc_trace_points[] = {
	{ "sched_switch",	imc_trace_switch },
	{ "sched_process_exit",	imc_trace_exit },
};

static_assert(ARRAY_SIZE(imc_trace_points) == IMC_TRACEPOINTS);

static void imc_trace_find(struct tracepoint *tp, void *data)
{
	struct imc *imc = data;
	u32 i;

	for (i = 0; i < IMC_TRACEPOINTS; i++) {
		if (!strcmp(tp->name, imc_trace_points[i].name))
			imc->tracepoints[i] = tp;
	}
}

static void imc_trace_detach_from(struct imc *imc, u32 nr)
{
	while (nr--)
		tracepoint_probe_unregister(imc->tracepoints[nr], imc_trace_points[nr].probe, imc);
	tracepoint_synchronize_unregister();
}

/**
 * imc_trace_attach - register the probes of task switch and exit
 * @imc: driver state
 *
 * Context: probe_mutex.
 *
 * Return: 0 or -errno.
 */
int imc_trace_attach(struct imc *imc)
{
	int ret = 0;
	u32 i;

	for_each_kernel_tracepoint(imc_trace_find, imc);
	for (i = 0; i < IMC_TRACEPOINTS && !ret; i++) {
		ret = -ENOENT;
		if (imc->tracepoints[i])
			ret = tracepoint_probe_register(imc->tracepoints[i],
							imc_trace_points[i].probe, imc);
	}
	if (ret)
		imc_trace_detach_from(imc, i - 1);
	return ret;
}

/**
 * imc_trace_detach - unregister the probes; on return none is running
 * @imc: driver state
 *
 * Context: probe_mutex.
 */
void imc_trace_detach(struct imc *imc)
{
	imc_trace_detach_from(imc, IMC_TRACEPOINTS);
}

/* Registration */

/**
 * imc_trace_cpu_init - initialize the trace state of a CPU
 * @cpu: state of the CPU
 */
void imc_trace_cpu_init(struct imc_cpu *cpu)
{
	INIT_LIST_HEAD(&cpu->tracing);
	hrtimer_setup(&cpu->timer, imc_trace_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * imc_trace_cpu_online - restart the timer if the CPU still has events
 * @cpu: state of the CPU, on which this runs
 *
 * The CPU still has events only if a failed offlining is rolled back.
 */
void imc_trace_cpu_online(struct imc_cpu *cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	if (!list_empty(&cpu->tracing))
		imc_trace_timer_start(cpu);
	local_irq_restore(flags);
}

static void imc_trace_release(struct pmukit_pmu *pp)
{
	imc_pmu_free(to_imc_pmu(pp));
}

static const struct pmukit_pmu_ops imc_trace_ops = {
	.release = imc_trace_release,
	.event_free = imc_event_free,
};

/**
 * imc_trace_fill - prepare the PMU of the trace unit; the caller owns the first reference
 * @ipmu: the PMU
 */
void imc_trace_fill(struct imc_pmu *ipmu)
{
	struct pmu *pmu = &ipmu->pp.pmu;

	pmukit_pmu_init(&ipmu->pp, &imc_trace_ops, THIS_MODULE);
	ipmu->pp.scope = PMUKIT_SCOPE_CPUS;

	pmu->capabilities = PERF_PMU_CAP_AUX_PREFER_LARGE;
	pmu->task_ctx_nr = perf_sw_context;
	pmu->add = imc_trace_add;
	pmu->del = imc_trace_del;
	pmu->start = imc_trace_start;
	pmu->stop = imc_trace_stop;
	pmu->read = imc_trace_read;
	pmu->setup_aux = imc_trace_setup_aux;
	pmu->free_aux = pmukit_free_aux;
	pmu->check_period = pmukit_check_period;
}
