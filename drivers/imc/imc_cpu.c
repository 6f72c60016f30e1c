// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: memory of CPUs and cores, engines, CPU hotplug.
 *
 * When a CPU first comes online, the driver finds its core through its siblings. The core of a CPU
 * never changes afterwards, because the kernel forgets the siblings of an offline CPU. Memory is
 * not freed when a CPU goes offline, because an unstopped engine could still write to it.
 *
 * Firmware calls that prepare an engine also halt it. So the driver makes these calls only when the
 * first CPU of a core comes online, and never again: if taking a CPU offline is rolled back, the
 * CPU comes online with running events, which a halt would stop.
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "imc.h"

static int imc_hotplug_state;

/* Engines */

/**
 * imc_engine_get - add a user to an engine; the first one starts it
 * @imc: driver state
 * @engine: the engine
 * @type: PMUKIT_IMC_*
 * @cpu: a CPU of the engine's core or chip
 *
 * Context: any, interrupts off.
 *
 * Return: 0 or the back-end's -errno.
 */
int imc_engine_get(struct imc *imc, struct imc_engine *engine, u32 type, unsigned int cpu)
{
	int ret = 0;

	raw_spin_lock(&engine->lock);
	if (!engine->users)
		ret = imc->backend->start(type, cpu);
	engine->users += !ret;
	raw_spin_unlock(&engine->lock);
	return ret;
}

/**
 * imc_engine_put - remove a user from an engine; the last one stops it
 * @imc: driver state
 * @engine: the engine
 * @type: type passed to imc_engine_get()
 * @cpu: a CPU of the engine's core or chip
 */
void imc_engine_put(struct imc *imc, struct imc_engine *engine, u32 type, unsigned int cpu)
{
	raw_spin_lock(&engine->lock);
	if (!--engine->users && !imc_dead(imc))
		imc->backend->stop(type, cpu);
	raw_spin_unlock(&engine->lock);
}

/* Chips */

/**
 * imc_chip_of - find the chip of a CPU
 * @imc: driver state
 * @cpu: the CPU
 *
 * Return: the chip; NULL if the CPU has none.
 */
struct imc_chip *imc_chip_of(struct imc *imc, unsigned int cpu)
{
	int id = imc->backend->chip_of(cpu);
	u32 i;

	for (i = 0; i < imc->nr_chips; i++) {
		if (id >= 0 && imc->chips[i].id == (u32)id)
			return &imc->chips[i];
	}
	return NULL;
}

/**
 * imc_chips_find - get the chips from the back-end
 * @imc: driver state
 */
void imc_chips_find(struct imc *imc)
{
	struct pmukit_imc_chip chips[IMC_MAX_CHIPS];
	u32 nr = imc->backend->chips(chips, IMC_MAX_CHIPS), i;

	if (nr > IMC_MAX_CHIPS)
		pr_warn("imc: %u chips, the first %u are used\n", nr, IMC_MAX_CHIPS);
	imc->nr_chips = min_t(u32, nr, IMC_MAX_CHIPS);
	for (i = 0; i < imc->nr_chips; i++) {
		raw_spin_lock_init(&imc->chips[i].engine.lock);
		imc->chips[i].id = chips[i].chip_id;
		imc->chips[i].homer = phys_to_virt(chips[i].homer);
		imc->chips[i].bytes = chips[i].bytes;
	}
}

/* Memory */

static unsigned int imc_memory_order(u32 bytes)
{
	return get_order(max_t(u32, bytes, IMC_MEMORY_ALIGN));
}

/*
 * LDBAR holds addresses of up to 50 bits, aligned to IMC_MEMORY_ALIGN. The page allocator aligns
 * each allocation to its size.
 */
static void *imc_memory_alloc(u32 bytes, unsigned int cpu)
{
	unsigned int order = imc_memory_order(bytes);
	struct page *page = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL | __GFP_ZERO, order);

	if (!page)
		return NULL;
	if (page_to_phys(page) & ~IMC_LDBAR_ADDRESS) {
		__free_pages(page, order);
		return NULL;
	}
	return page_address(page);
}

static void imc_memory_free(void *memory, u32 bytes)
{
	free_pages((unsigned long)memory, imc_memory_order(bytes));
}

static u32 imc_unit_bytes(const struct imc_unit *unit)
{
	return unit ? unit->bytes : 0;
}

static void imc_core_free(struct imc *imc, struct imc_core *core)
{
	imc_memory_free(core->memory, imc_unit_bytes(imc->core));
	kfree(core);
}

static struct imc_core *imc_core_alloc(struct imc *imc, unsigned int cpu)
{
	struct imc_core *core = kzalloc_obj(*core);

	if (!core)
		return NULL;
	raw_spin_lock_init(&core->engine.lock);
	core->memory = imc_memory_alloc(imc_unit_bytes(imc->core), cpu);
	if (!core->memory) {
		kfree(core);
		return NULL;
	}
	list_add_tail(&core->node, &imc->cores);
	return core;
}

/* Returns the core of a sibling that has been online; if there is none, a new core. */
static struct imc_core *imc_core_find(struct imc *imc, unsigned int cpu)
{
	unsigned int sibling;

	for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
		struct imc_core *core = per_cpu_ptr(imc->cpus, sibling)->core;

		if (core)
			return core;
	}
	return imc_core_alloc(imc, cpu);
}

/* Reuses the memory from the last time the CPU was online. */
static int imc_cpu_thread_memory(const struct imc_unit *thread, struct imc_cpu *cpu)
{
	if (!cpu->thread_memory)
		cpu->thread_memory = imc_memory_alloc(thread->bytes, cpu->cpu);
	return cpu->thread_memory ? 0 : -ENOMEM;
}

static int imc_cpu_trace_memory(const struct imc_unit *trace, struct imc_cpu *cpu)
{
	if (!cpu->section)
		cpu->section = kmalloc_array_node(IMC_SECTION, sizeof(*cpu->section), GFP_KERNEL,
						  cpu_to_node(cpu->cpu));
	if (!cpu->section)
		return -ENOMEM;
	if (cpu->trace_memory)
		return 0;
	cpu->trace_memory = imc_memory_alloc(trace->bytes, cpu->cpu);
	if (!cpu->trace_memory)
		return -ENOMEM;
	imc_ring_init(&cpu->ring, cpu->trace_memory, trace->bytes);
	return 0;
}

static int imc_cpu_memory(struct imc *imc, struct imc_cpu *cpu)
{
	int ret = 0;

	if (imc->thread)
		ret = imc_cpu_thread_memory(imc->thread, cpu);
	if (!ret && imc->trace)
		ret = imc_cpu_trace_memory(imc->trace, cpu);
	return ret;
}

/* CPU hotplug */

static int imc_core_prepare(struct imc *imc, struct imc_core *core, unsigned int cpu)
{
	int ret = 0;

	if (imc->core)
		ret = imc->backend->init(PMUKIT_IMC_CORE, virt_to_phys(core->memory), cpu);
	if (!ret && imc->trace)
		ret = imc->backend->init(PMUKIT_IMC_TRACE, 0, cpu);
	core->prepared = !ret;
	return ret;
}

static int imc_cpu_prepare(struct imc *imc, struct imc_cpu *cpu)
{
	struct imc_core *core = cpu->core ?: imc_core_find(imc, cpu->cpu);
	int ret;

	if (!core)
		return -ENOMEM;
	ret = imc_cpu_memory(imc, cpu);
	if (!ret && !core->prepared)
		ret = imc_core_prepare(imc, core, cpu->cpu);
	if (ret)
		return ret;
	cpu->core = core;
	WRITE_ONCE(cpu->ready, true);
	imc_trace_cpu_online(cpu);
	return 0;
}

/*
 * Returns 0 even if the CPU could not be prepared: the CPU goes online, but without IMC events.
 * Only while a back-end is being registered (nr_pmus is 0), an error is returned, and the
 * registration fails.
 */
static int imc_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct imc *imc = hlist_entry(node, struct imc, hotplug_node);
	int ret = imc_cpu_prepare(imc, per_cpu_ptr(imc->cpus, cpu));

	if (!ret || !READ_ONCE(imc->nr_pmus))
		return ret;
	pr_warn("imc: CPU %u: no events there: error %d\n", cpu, ret);
	return 0;
}

/*
 * perf removes its events from the CPU after this callback. While imc_cpu.ready is false, no event
 * can start.
 */
static int imc_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct imc *imc = hlist_entry(node, struct imc, hotplug_node);
	struct imc_cpu *leaving = per_cpu_ptr(imc->cpus, cpu);

	WRITE_ONCE(leaving->ready, false);
	hrtimer_cancel(&leaving->timer);
	return 0;
}

/**
 * imc_cpus_alloc - allocate the state of the CPUs, without memory for the engines
 * @imc: driver state
 *
 * Return: 0 or -ENOMEM.
 */
int imc_cpus_alloc(struct imc *imc)
{
	unsigned int cpu;

	INIT_LIST_HEAD(&imc->cores);
	imc->cpus = alloc_percpu(struct imc_cpu);
	if (!imc->cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct imc_cpu *each = per_cpu_ptr(imc->cpus, cpu);

		each->imc = imc;
		each->cpu = cpu;
		imc_trace_cpu_init(each);
	}
	return 0;
}

/**
 * imc_cpus_free - free what imc_cpus_alloc() and imc_cpus_start() allocated
 * @imc: driver state; no engine writes to its memory any more
 */
void imc_cpus_free(struct imc *imc)
{
	struct imc_core *core, *next;
	unsigned int cpu;

	if (!imc->cpus)
		return;
	for_each_possible_cpu(cpu) {
		struct imc_cpu *each = per_cpu_ptr(imc->cpus, cpu);

		imc_memory_free(each->thread_memory, imc_unit_bytes(imc->thread));
		imc_memory_free(each->trace_memory, imc_unit_bytes(imc->trace));
		kfree(each->section);
	}
	list_for_each_entry_safe(core, next, &imc->cores, node)
		imc_core_free(imc, core);
	free_percpu(imc->cpus);
}

/**
 * imc_cpus_start - allocate memory for online CPUs, and for others when they come online
 * @imc: driver state
 *
 * Return: 0 or -errno.
 */
int imc_cpus_start(struct imc *imc)
{
	return cpuhp_state_add_instance(imc_hotplug_state, &imc->hotplug_node);
}

static void imc_cpu_silence(void *data)
{
	struct imc *imc = data;

	imc->backend->set_ldbar(smp_processor_id(), 0);
}

static void imc_engine_silence(struct imc *imc, struct imc_engine *engine, u32 type,
			       unsigned int cpu)
{
	raw_spin_lock_irq(&engine->lock);
	if (engine->users)
		imc->backend->stop(type, cpu);
	raw_spin_unlock_irq(&engine->lock);
}

/* Needs no lock: the claim does not change while an engine has users, because events are open. */
static u32 imc_claimed_engine(const struct imc *imc)
{
	return READ_ONCE(imc->claimed) == IMC_TYPE_TRACE ? PMUKIT_IMC_TRACE : PMUKIT_IMC_CORE;
}

/*
 * Called after on_each_cpu() has interrupted every CPU. From then on no event calls the back-end:
 * add and del run with interrupts off, and test imc->dead before they call the back-end.
 */
static void imc_engines_silence(struct imc *imc)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct imc_cpu *each = per_cpu_ptr(imc->cpus, cpu);
		struct imc_chip *chip = imc_chip_of(imc, cpu);

		if (each->core)
			imc_engine_silence(imc, &each->core->engine, imc_claimed_engine(imc), cpu);
		if (chip)
			imc_engine_silence(imc, &chip->engine, PMUKIT_IMC_NEST, cpu);
	}
}

/**
 * imc_cpus_stop - stop the engines; on return no event calls the back-end, no engine writes memory
 * @imc: driver state; its PMUs were removed
 *
 * Context: may sleep.
 */
void imc_cpus_stop(struct imc *imc)
{
	unsigned int cpu;

	cpuhp_state_remove_instance_nocalls(imc_hotplug_state, &imc->hotplug_node);

	WRITE_ONCE(imc->dead, true);
	cpus_read_lock();
	on_each_cpu(imc_cpu_silence, imc, 1);
	imc_engines_silence(imc);
	cpus_read_unlock();
	/*
	 * imc_same_chip() calls the back-end with interrupts on; on_each_cpu() does not wait for
	 * it.
	 */
	synchronize_rcu();
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(imc->cpus, cpu)->timer);
}

/**
 * imc_hotplug_register - set up the CPU hotplug state, before the first back-end
 *
 * Return: 0 or -errno.
 */
int imc_hotplug_register(void)
{
	int ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/pmukit/imc:online",
					  imc_cpu_online, imc_cpu_offline);

	if (ret < 0)
		return ret;
	imc_hotplug_state = ret;
	return 0;
}

/**
 * imc_hotplug_unregister - remove the CPU hotplug state, after the last back-end
 */
void imc_hotplug_unregister(void)
{
	cpuhp_remove_multi_state(imc_hotplug_state);
}
