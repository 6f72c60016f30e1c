// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: trace_imc while it runs.
 *
 * The engine writes records into the buffer of the CPU periodically, without an interrupt. So the
 * buffer is polled: by a timer on each CPU that has events, at every switch of tasks there, and
 * when an event stops. A sample takes its task and its time from the moment it is handed to perf,
 * not from the record; this matters at a switch. Records written before it belong to the task that
 * leaves, which is still current for perf:
 *
 *   timer ----------------.
 *   sched_switch ----------+---> imc_trace_drain() ---> each event of the CPU: AUX area or samples
 *   sched_process_exit ----|
 *   stop, del ------------'
 *
 * Tracepoints are used because perf notifies a PMU of a switch only when the events change, which
 * those of a CPU never do, and those of a task do not between threads with the same events. A task
 * that ends has no PID any more at its last switch; so the buffer is drained at its exit as well.
 *
 * A drain is one section with interrupts off and takes IMC_SECTION records at most; the timer comes
 * again soon for the rest. At a switch the rest cannot wait: it would be taken for the next task's.
 * It is given up and counted as lost. The timer is paced so that half a section is waiting.
 *
 * The records are taken once, then given to one event after the other: events may share an AUX area
 * (PERF_EVENT_IOC_SET_OUTPUT), and perf allows one open transaction at a time on an area.
 *
 * All of this state is per CPU, used with interrupts off. No lock is held around calls to perf.
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

/* Handing records over */

static bool imc_trace_runs(const struct imc_event *ev)
{
	return !(ev->pev.event->hw.state & PERF_HES_STOPPED);
}

static bool imc_trace_cut(const struct imc_event *ev)
{
	return READ_ONCE(ev->cut);
}

/* Of one that was stopped in an NMI at least the loss. */
static bool imc_trace_is_owed(const struct imc_event *ev)
{
	return imc_trace_runs(ev) || imc_trace_cut(ev);
}

/* The area is mapped for the event that was opened, not for those tasks inherit from it. */
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

/* What the event does not want to see. */
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
	if (imc_trace_cut(ev))
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
 * An area has one writer at a time. What tasks inherit from an event for all CPUs runs on others
 * than the event; perf does not map an area for such an event, but lets it have another one's.
 */
static bool imc_trace_may_write_area(const struct imc_event *ev)
{
	const struct perf_event *event = ev->pev.event;

	return !event->parent || event->cpu >= 0;
}

/* An AUX area is never filled to the end: perf would disable the event. */
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

/* All of a section to one event, whose AUX area is open no longer than that. */
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
	/* Only together with data, not each time that nothing fits. */
	report = sink.written_bytes && ev->reported_lost != ev->pev.lost;
	if (report)
		ev->reported_lost = ev->pev.lost;
	pmukit_sink_close(&sink, report ? PERF_AUX_FLAG_PARTIAL : 0);
}

/* The last loss, with no data behind it that could report it. */
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

/* Taking records */

/* How many records the event can take now; an event that shares its AUX area may use them up. */
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

/* As many as the event with the most space takes: a slow reader does not hold back others. */
static u32 imc_trace_room(struct imc_cpu *cpu)
{
	struct imc_event *ev;
	u32 room = 0;

	list_for_each_entry(ev, &cpu->tracing, node)
		room = max(room, imc_trace_event_room(ev));
	return min(room, IMC_SECTION);
}

/* What is passed over counts as well, so that it is bounded. Returns how many were taken. */
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
 * What an event that was stopped in an NMI did not get any more. Some of it may have come after the
 * stop: only a look tells what there is, and none can be taken there. Nothing is owed it then.
 */
static void imc_trace_count_cut(struct imc_cpu *cpu, const struct imc_ring_tally *tally)
{
	struct imc_event *ev;

	list_for_each_entry(ev, &cpu->tracing, node) {
		if (!imc_trace_cut(ev))
			continue;
		imc_trace_lose(ev, tally->lost + imc_trace_waiting(cpu));
		pmukit_stat_add(to_pmukit_pmu(ev->pev.event->pmu), PMUKIT_STAT_OVERFLOWS,
				tally->lapped);
		WRITE_ONCE(ev->cut, false);
	}
}

/* Records written while perf has stopped all events belong to none: drop them uncounted. */
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

/* One section. Returns whether to go on soon: there was more than it may take. */
static bool imc_trace_drain(struct imc_cpu *cpu)
{
	struct imc_ring_tally tally = {};
	u64 from;

	imc_ring_look(&cpu->ring, &tally);
	imc_trace_count_cut(cpu, &tally);
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
 * What is not delivered now would be the next task's: a sample has its number, and so has the
 * record that announces data in an AUX area.
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

	/* Without events, or taken to another CPU when ours went away. */
	if (imc_dead(cpu->imc) || cpu->cpu != smp_processor_id() || list_empty(&cpu->tracing))
		return HRTIMER_NORESTART;

	if (!imc_trace_drain(cpu))
		pause_ns = imc_poll_ns(now - cpu->since_ns, cpu->recent, IMC_SECTION);
	cpu->since_ns = now;
	cpu->recent = 0;
	hrtimer_forward_now(timer, ns_to_ktime(pause_ns));
	return HRTIMER_RESTART;
}

/* sched_switch: on the CPU of the switch, interrupts off, before it; current is about to leave. */
static void imc_trace_switch(void *data, bool preempt, struct task_struct *prev,
			     struct task_struct *next, unsigned int prev_state)
{
	struct imc *imc = data;
	struct imc_cpu *cpu = this_cpu_ptr(imc->cpus);

	if (!list_empty(&cpu->tracing))
		imc_trace_drain_task(cpu);
}

/*
 * sched_process_exit: current is about to end and still has its PID. Kernels before 6.16 do not
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

/* The engine */

/* On the CPU itself, interrupts off. The first look is soon: the rate is not known. */
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

/* What came while the event was stopped is not its own. */
static void imc_trace_start(struct perf_event *event, int flags)
{
	struct imc_cpu *cpu = this_cpu_ptr(imc_pmu_of(event)->imc->cpus);

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	if (!cpu->draining)
		imc_trace_drain(cpu);
	imc_of_event(event)->since_tb = cpu->ring.newest_tb;
	WRITE_ONCE(imc_of_event(event)->cut, false);
	event->hw.state = 0;
}

/* perf drops samples of a stopped event, so the drain comes first. */
static void imc_trace_settle(struct imc_cpu *cpu, struct imc_event *ev)
{
	imc_trace_drain(cpu);
	/* Others of the CPU may still take it: this is no switch. */
	if (imc_trace_is_owed(ev))
		imc_trace_lose(ev, imc_trace_waiting(cpu));
}

/*
 * No drain where it may interrupt one: perf stops an event while it delivers a sample of it, the
 * last one asked for; and in an NMI, when the leader of its group is throttled there.
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
		WRITE_ONCE(ev->cut, true);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* After that no NMI sets it. */
	if (settle)
		WRITE_ONCE(ev->cut, false);
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
 * The engine first: what it still had to write is the event's, unless perf has stopped it before,
 * as it does when the buffer is unmapped.
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

/* The count is the number of records delivered. */
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

/* Tracepoints; modules may look for one, but not name it. */

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
 * imc_trace_attach - register the probes for switches and ends of tasks
 * @imc: all of it
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
 * @imc: all of it
 *
 * Context: probe_mutex.
 */
void imc_trace_detach(struct imc *imc)
{
	imc_trace_detach_from(imc, IMC_TRACEPOINTS);
}

/* Registration */

/**
 * imc_trace_cpu_init - the part of a CPU that traces
 * @cpu: a new one
 */
void imc_trace_cpu_init(struct imc_cpu *cpu)
{
	INIT_LIST_HEAD(&cpu->tracing);
	hrtimer_setup(&cpu->timer, imc_trace_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * imc_trace_cpu_online - a CPU came, or was to leave and stays, with its events
 * @cpu: the CPU, where this runs
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
 * imc_trace_fill - prepare the PMU of the trace unit; its first reference is the caller's
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
