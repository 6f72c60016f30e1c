// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: perf callbacks of nest_*, core_imc and thread_imc.
 *
 * Counters are words in memory that an engine adds to; they are never reset. The count of an event
 * is the current value minus the value at its start, which is correct even if the 64 bits wrap.
 *
 * Context: add, del, start and stop run on the event's CPU with interrupts off. read takes no lock:
 * perf may call it from an NMI, if another event of the group samples there.
 */

#include <asm/byteorder.h>

#include <linux/io.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>

#include "imc.h"

/* Engines */

static const __be64 *imc_nest_slot(struct imc_pmu *ipmu, struct imc_cpu *cpu, u64 at)
{
	struct imc_chip *chip = imc_chip_of(ipmu->imc, cpu->cpu);

	return chip ? chip->homer + ipmu->unit->offset + at : NULL;
}

static int imc_nest_begin(struct imc *imc, struct imc_cpu *cpu)
{
	struct imc_chip *chip = imc_chip_of(imc, cpu->cpu);

	return chip ? imc_engine_get(imc, &chip->engine, PMUKIT_IMC_NEST, cpu->cpu) : -ENODEV;
}

static void imc_nest_end(struct imc *imc, struct imc_cpu *cpu)
{
	struct imc_chip *chip = imc_chip_of(imc, cpu->cpu);

	if (chip)
		imc_engine_put(imc, &chip->engine, PMUKIT_IMC_NEST, cpu->cpu);
}

static const __be64 *imc_core_slot(struct imc_pmu *ipmu, struct imc_cpu *cpu, u64 at)
{
	return cpu->core->memory + at;
}

static int imc_core_begin(struct imc *imc, struct imc_cpu *cpu)
{
	return imc_engine_get(imc, &cpu->core->engine, PMUKIT_IMC_CORE, cpu->cpu);
}

static void imc_core_end(struct imc *imc, struct imc_cpu *cpu)
{
	imc_engine_put(imc, &cpu->core->engine, PMUKIT_IMC_CORE, cpu->cpu);
}

static const __be64 *imc_thread_slot(struct imc_pmu *ipmu, struct imc_cpu *cpu, u64 at)
{
	return cpu->thread_memory + at;
}

static u64 imc_thread_ldbar(const struct imc_cpu *cpu)
{
	return IMC_LDBAR_ENABLE | (virt_to_phys(cpu->thread_memory) & IMC_LDBAR_ADDRESS);
}

static int imc_thread_begin(struct imc *imc, struct imc_cpu *cpu)
{
	int ret;

	if (!cpu->nr_threads)
		imc->backend->set_ldbar(cpu->cpu, imc_thread_ldbar(cpu));
	ret = imc_engine_get(imc, &cpu->core->engine, PMUKIT_IMC_CORE, cpu->cpu);
	if (ret && !cpu->nr_threads)
		imc->backend->set_ldbar(cpu->cpu, 0);
	cpu->nr_threads += !ret;
	return ret;
}

/*
 * Writes LDBAR even if other events keep the engine running: after the write, all counts that the
 * engine wrote to the previous address are in memory.
 */
static void imc_thread_end(struct imc *imc, struct imc_cpu *cpu)
{
	imc_engine_put(imc, &cpu->core->engine, PMUKIT_IMC_CORE, cpu->cpu);
	cpu->nr_threads--;
	if (!imc_dead(imc))
		imc->backend->set_ldbar(cpu->cpu, cpu->nr_threads ? imc_thread_ldbar(cpu) : 0);
}

/* Perf callbacks */

static u64 imc_counter_now(const struct imc_event *ev)
{
	return be64_to_cpu(READ_ONCE(*ev->slot));
}

static void imc_counter_read(struct perf_event *event)
{
	struct imc_event *ev = imc_of_event(event);
	u64 before, now;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	do {
		before = local64_read(&event->hw.prev_count);
		now = imc_counter_now(ev);
	} while (local64_cmpxchg(&event->hw.prev_count, before, now) != before);
	local64_add(now - before, &event->count);
}

static void imc_counter_start(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	local64_set(&event->hw.prev_count, imc_counter_now(imc_of_event(event)));
	event->hw.state = 0;
}

static void imc_counter_stop(struct perf_event *event, int flags)
{
	imc_counter_read(event);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/*
 * Reads the base value before the engine starts, so that the event gets all counts of the engine.
 */
static int imc_counter_add(struct perf_event *event, int flags)
{
	struct imc_pmu *ipmu = imc_pmu_of(event);
	struct imc_cpu *cpu = this_cpu_ptr(ipmu->imc->cpus);
	struct imc_event *ev = imc_of_event(event);
	int ret;

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (!imc_may_run(ipmu, cpu))
		return -ENODEV;

	ev->slot = ipmu->kind->slot(ipmu, cpu, event->attr.config);
	if (!ev->slot)
		return -ENODEV;
	local64_set(&event->hw.prev_count, imc_counter_now(ev));
	ret = ipmu->kind->begin(ipmu->imc, cpu);
	if (ret)
		return ret;
	if (flags & PERF_EF_START)
		event->hw.state = 0;
	return 0;
}

/* Stops the engine first: the counts that it writes until then belong to the event. */
static void imc_counter_del(struct perf_event *event, int flags)
{
	struct imc_pmu *ipmu = imc_pmu_of(event);

	ipmu->kind->end(ipmu->imc, this_cpu_ptr(ipmu->imc->cpus));
	imc_counter_stop(event, flags);
}

/* Registration */

static bool imc_backend_same_chip(const struct pmukit_imc_backend *backend, unsigned int a,
				  unsigned int b)
{
	int chip = backend->chip_of(a);

	return chip >= 0 && chip == backend->chip_of(b);
}

/*
 * May run after the back-end is unregistered: if pmukit_give_up_name() fails, the PMU's file
 * cpumask remains in sysfs. The RCU section lets imc_cpus_stop() wait for readers that have not yet
 * seen imc->dead.
 */
static bool imc_same_chip(struct pmukit_pmu *pp, unsigned int a, unsigned int b)
{
	struct imc *imc = to_imc_pmu(pp)->imc;
	bool same;

	rcu_read_lock();
	same = !imc_dead(imc) && imc_backend_same_chip(imc->backend, a, b);
	rcu_read_unlock();
	return same;
}

static bool imc_same_core(struct pmukit_pmu *pp, unsigned int a, unsigned int b)
{
	return cpumask_test_cpu(b, topology_sibling_cpumask(a));
}

static void imc_counter_release(struct pmukit_pmu *pp)
{
	imc_pmu_free(to_imc_pmu(pp));
}

static const struct pmukit_pmu_ops imc_nest_ops = {
	.release = imc_counter_release,
	.event_free = imc_event_free,
	.same_group = imc_same_chip,
};

static const struct pmukit_pmu_ops imc_core_ops = {
	.release = imc_counter_release,
	.event_free = imc_event_free,
	.same_group = imc_same_core,
};

static const struct pmukit_pmu_ops imc_thread_ops = {
	.release = imc_counter_release,
	.event_free = imc_event_free,
};

/*
 * Thread events do not use PERF_PMU_CAP_NO_EXCLUDE, because the perf tool sets exclude_guest for
 * tasks: imc_thread_wrong() checks the exclude_* bits instead.
 */
static const struct imc_kind imc_kinds[] = {
	{
		.type = IMC_TYPE_CHIP,
		.ops = &imc_nest_ops,
		.scope = PMUKIT_SCOPE_GROUPS,
		.context = perf_invalid_context,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
		.slot = imc_nest_slot,
		.begin = imc_nest_begin,
		.end = imc_nest_end,
	},
	{
		.type = IMC_TYPE_CORE,
		.ops = &imc_core_ops,
		.scope = PMUKIT_SCOPE_GROUPS,
		.context = perf_invalid_context,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
		.slot = imc_core_slot,
		.begin = imc_core_begin,
		.end = imc_core_end,
	},
	{
		.type = IMC_TYPE_THREAD,
		.ops = &imc_thread_ops,
		.scope = PMUKIT_SCOPE_CPUS,
		.context = perf_sw_context,
		.slot = imc_thread_slot,
		.begin = imc_thread_begin,
		.end = imc_thread_end,
	},
};

/**
 * imc_counter_fill - prepare the PMU of a unit with counters; the caller owns the first reference
 * @ipmu: the PMU
 */
void imc_counter_fill(struct imc_pmu *ipmu)
{
	const struct imc_kind *kind = imc_kinds;
	struct pmu *pmu = &ipmu->pp.pmu;

	while (kind->type != ipmu->unit->type)
		kind++;
	ipmu->kind = kind;
	pmukit_pmu_init(&ipmu->pp, kind->ops, THIS_MODULE);
	ipmu->pp.scope = kind->scope;

	pmu->capabilities = kind->capabilities;
	pmu->task_ctx_nr = kind->context;
	pmu->add = imc_counter_add;
	pmu->del = imc_counter_del;
	pmu->start = imc_counter_start;
	pmu->stop = imc_counter_stop;
	pmu->read = imc_counter_read;
}
