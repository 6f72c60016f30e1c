// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: CPUs and domains, CPU hotplug, suspend.
 *
 * The hotplug state is dynamic and registered after resctrl's, so its callback runs later and sees
 * what resctrl writes into PQR_ASSOC of a CPU that comes online. Suspend takes all CPUs but one
 * offline; PQR_ASSOC of the remaining CPU is written again on resume (cache_qos_main.c).
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "cache_qos.h"

static int cache_qos_hotplug_state;

/* Features of all CPUs */

struct cache_qos_probe {
	const struct pmukit_cache_qos_backend *backend;
	u32 asked;
	struct cache_qos_hw hw;
	struct pmukit_cache_qos_domain domain;
	const char *wrong;
	int error;
};

static void cache_qos_probe_l3(struct cache_qos_probe *probe, unsigned int cpu)
{
	probe->error = probe->backend->domain_of(cpu, &probe->domain);
	if (probe->error) {
		probe->wrong = "its L3 is unknown";
		return;
	}
	probe->error = -EINVAL;
	if (probe->domain.bytes < probe->hw.scale) {
		probe->wrong = "its L3 is smaller than a unit";
		return;
	}
	probe->error = -EOPNOTSUPP;
	probe->wrong = cache_qos_hw_divide(probe->backend, probe->domain.nodes, &probe->hw);
}

static void cache_qos_probe_ipi(void *data)
{
	struct cache_qos_probe *probe = data;
	unsigned int cpu = smp_processor_id();

	probe->wrong = cache_qos_hw_read(probe->backend, cpu, probe->asked, &probe->hw,
					 &probe->error);
	if (!probe->wrong)
		cache_qos_probe_l3(probe, cpu);
}

static int cache_qos_probe_cpu(unsigned int cpu, struct cache_qos_probe *probe)
{
	int ret = smp_call_function_single(cpu, cache_qos_probe_ipi, probe, 1);

	if (ret)
		return ret;
	if (!probe->wrong)
		return 0;
	pr_err("cache_qos: %s: CPU %u: %s\n", probe->backend->name, cpu, probe->wrong);
	return probe->error;
}

/**
 * cache_qos_hw_probe - find the features that all online CPUs have in common
 * @backend: the back-end with the registers
 * @asked: events that the user enables although errata disable them
 * @hw: result, before cache_qos_hw_finish()
 *
 * Return: 0 or -errno, with a line in the log.
 */
int cache_qos_hw_probe(const struct pmukit_cache_qos_backend *backend, u32 asked,
		       struct cache_qos_hw *hw)
{
	unsigned int cpu, nr = 0;
	const char *wrong;
	int ret = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		struct cache_qos_probe probe = { .backend = backend, .asked = asked };

		ret = cache_qos_probe_cpu(cpu, &probe);
		if (ret)
			break;
		if (!nr++) {
			*hw = probe.hw;
			continue;
		}
		wrong = cache_qos_hw_join(hw, &probe.hw);
		if (!wrong)
			continue;
		pr_err("cache_qos: %s: CPU %u: %s\n", backend->name, cpu, wrong);
		ret = -EINVAL;
		break;
	}
	cpus_read_unlock();
	return ret;
}

/* Warn about events that the CPU has but the driver does not offer */
static void cache_qos_hw_say(const struct pmukit_cache_qos_backend *backend,
			     const struct cache_qos_hw *hw)
{
	if (hw->chosen)
		pr_warn("cache_qos: %s: bandwidth events are configured to count other traffic (BMEC, MSR 0xc0000400): those are not offered\n",
			backend->name);
	if (hw->abmc && !hw->counters)
		pr_warn("cache_qos: %s: counters are bound to RMIDs (ABMC) in a way that is unknown: occupancy alone\n",
			backend->name);
}

/* Hotplug */

static int cache_qos_domain_make(struct cache_qos_live *live,
				 const struct pmukit_cache_qos_domain *is)
{
	struct cache_qos_sums *accumulated;
	struct cache_qos_cell *cells;
	int ret = -ENOMEM;

	cells = kvcalloc(live->core.hw.nr_rmid, sizeof(*cells), GFP_KERNEL);
	accumulated = kvcalloc(CACHE_QOS_MAX_MONITORS, sizeof(*accumulated), GFP_KERNEL);
	if (cells && accumulated) {
		raw_spin_lock_irq(&live->lock);
		ret = cache_qos_domain_add(&live->core, is, cells, accumulated);
		raw_spin_unlock_irq(&live->lock);
	}
	if (ret < 0) {
		kvfree(cells);
		kvfree(accumulated);
	}
	return ret;
}

/* Runs on @cpu and cannot be migrated. */
static int cache_qos_cpu_join(struct cache_qos_live *live, unsigned int cpu,
			      const struct pmukit_cache_qos_domain *is)
{
	int domain, ret;

	domain = cache_qos_domain_find(&live->core, is->id);
	if (domain == CACHE_QOS_NONE)
		domain = cache_qos_domain_make(live, is);
	if (domain < 0)
		return domain;
	raw_spin_lock_irq(&live->lock);
	ret = cache_qos_cpu_online(&live->core, cpu, domain);
	raw_spin_unlock_irq(&live->lock);
	if (ret == -EBUSY)
		dev_err(&live->parent->dev,
			"CPU %u: RMID %u is another tool's (pqos, PCM?); stop it, or load with force=1\n",
			cpu, READ_ONCE(live->cpu_pointers[cpu]->foreign));
	return ret;
}

/*
 * Once the driver is up, a CPU that cannot be used is skipped: the driver must not prevent it from
 * coming online.
 */
static int cache_qos_online(unsigned int cpu, struct hlist_node *node)
{
	struct cache_qos_live *live = hlist_entry_safe(node, struct cache_qos_live, hotplug_node);
	struct cache_qos_probe probe = { .backend = live->backend, .asked = live->asked_events };
	struct cache_qos_hw hw = live->core.hw;
	int ret;

	ret = cache_qos_probe_cpu(cpu, &probe);
	if (!ret && (cache_qos_hw_join(&hw, &probe.hw) || cache_qos_hw_less(&hw, &live->core.hw)))
		ret = -EINVAL;
	if (!ret)
		ret = cache_qos_cpu_join(live, cpu, &probe.domain);
	if (!ret || !READ_ONCE(live->up))
		return ret;
	dev_err(&live->parent->dev, "CPU %u is left out: %d\n", cpu, ret);
	return 0;
}

static int cache_qos_offline(unsigned int cpu, struct hlist_node *node)
{
	struct cache_qos_live *live = hlist_entry_safe(node, struct cache_qos_live, hotplug_node);

	raw_spin_lock_irq(&live->lock);
	cache_qos_cpu_offline(&live->core, cpu);
	raw_spin_unlock_irq(&live->lock);
	return 0;
}

static void cache_qos_again_ipi(void *data)
{
	struct cache_qos_live *live = data;
	struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);

	raw_spin_lock(&live->lock);
	/* -EBUSY: another tool has written an RMID meanwhile. */
	if (cpu->online && cache_qos_cpu_online(&live->core, cpu->cpu, cpu->domain) == -EBUSY)
		WRITE_ONCE(live->core.foreign, true);
	raw_spin_unlock(&live->lock);
	cache_qos_resolve_here(live);
}

/**
 * cache_qos_cpus_again - set up all CPUs after other software had the registers, or after suspend
 * @live: driver state
 *
 * Context: may sleep.
 */
void cache_qos_cpus_again(struct cache_qos_live *live)
{
	on_each_cpu(cache_qos_again_ipi, live, 1);
}

static void cache_qos_cpus_fill(struct cache_qos_live *live)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct cache_qos_cpu *each = per_cpu_ptr(live->cpus, cpu);

		each->cpu = cpu;
		INIT_LIST_HEAD(per_cpu_ptr(live->streams, cpu));
		live->cpu_pointers[cpu] = each;
	}
}

/**
 * cache_qos_cpus_free - free the memory of the CPUs
 * @live: driver state, when no other reference to it is left
 */
void cache_qos_cpus_free(struct cache_qos_live *live)
{
	u32 d;

	for (d = 0; d < live->core.nr_domains; d++) {
		kvfree(live->core.domains[d].cells);
		kvfree(live->core.domains[d].accumulated);
	}
	kvfree(live->core.atoms);
	kfree(live->cpu_pointers);
	free_percpu(live->streams);
	free_percpu(live->late);
	free_percpu(live->running);
	free_percpu(live->cpus);
}

/**
 * cache_qos_cpus_start - set up the core and all CPUs, including those that come online later
 * @live: driver state, with its back-end
 *
 * Return: 0 or -errno.
 */
int cache_qos_cpus_start(struct cache_qos_live *live)
{
	struct cache_qos_atom *atoms;
	struct cache_qos_hw hw;
	int ret;

	ret = cache_qos_hw_probe(live->backend, live->asked_events, &hw);
	if (ret)
		return ret;
	cache_qos_hw_finish(&hw, live->max_bytes_per_second);
	cache_qos_hw_say(live->backend, &hw);

	live->cpus = alloc_percpu(struct cache_qos_cpu);
	live->streams = alloc_percpu(struct list_head);
	live->running = alloc_percpu(struct task_struct *);
	live->late = alloc_percpu(struct cache_qos_late);
	live->cpu_pointers = kcalloc(nr_cpu_ids, sizeof(*live->cpu_pointers), GFP_KERNEL);
	atoms = kvcalloc(hw.nr_rmid, sizeof(*atoms), GFP_KERNEL);
	live->core.atoms = atoms;
	if (!live->cpus || !live->streams || !live->running || !live->late ||
	    !live->cpu_pointers || !atoms)
		return -ENOMEM;
	cache_qos_cpus_fill(live);
	cache_qos_late_fill(live);
	cache_qos_init(&live->core, live->backend, &hw, atoms, live->cpu_pointers, nr_cpu_ids);
	ret = cpuhp_state_add_instance(cache_qos_hotplug_state, &live->hotplug_node);
	WRITE_ONCE(live->up, !ret);
	return ret;
}

/**
 * cache_qos_cpus_stop - take all CPUs out of use, which sets their RMIDs to 0
 * @live: driver state, also after cache_qos_cpus_start() failed
 *
 * The back-end is not called after the return.
 *
 * Context: may sleep.
 */
void cache_qos_cpus_stop(struct cache_qos_live *live)
{
	if (live->up)
		cpuhp_state_remove_instance(cache_qos_hotplug_state, &live->hotplug_node);
	WRITE_ONCE(live->up, false);
	WRITE_ONCE(live->dead, true);
}

/**
 * cache_qos_hotplug_register - register the hotplug state, before the first back-end
 *
 * Return: 0 or -errno.
 */
int cache_qos_hotplug_register(void)
{
	int ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/pmukit/cache_qos:online",
					  cache_qos_online, cache_qos_offline);

	if (ret < 0)
		return ret;
	cache_qos_hotplug_state = ret;
	return 0;
}

/**
 * cache_qos_hotplug_unregister - unregister the hotplug state, after the last back-end
 */
void cache_qos_hotplug_unregister(void)
{
	cpuhp_remove_multi_state(cache_qos_hotplug_state);
}
