// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: registration of a back-end, setup and teardown of the driver state.
 *
 * There is one back-end at a time. backend=msr, the default, is the hardware back-end in this
 * module; if it cannot be registered, loading fails. backend=sim waits for a module that registers
 * under that name; it is never chosen by default.
 *
 * Events and groups (users) hold a reference of the back-end's module, so there are none when the
 * back-end is unregistered.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/suspend.h>

#include "cache_qos.h"

#define CACHE_QOS_MAX_BYTES_PER_SECOND	(512ULL << 30)
#define CACHE_QOS_LIMBO_MIN_NS		(2 * NSEC_PER_SEC)

static char *cache_qos_backend = "msr";
module_param_named(backend, cache_qos_backend, charp, 0444);
MODULE_PARM_DESC(backend, "back-end with the registers: msr (the hardware) or sim (a simulation)");

static bool cache_qos_force;
module_param_named(force, cache_qos_force, bool, 0444);
MODULE_PARM_DESC(force, "overwrite RMIDs that another tool has put into PQR_ASSOC");

static char *cache_qos_rdt = "";
module_param_named(rdt, cache_qos_rdt, charp, 0444);
MODULE_PARM_DESC(rdt, "events to use in spite of errata: cmt,mbmtotal,mbmlocal");

static bool cache_qos_paranoid;
module_param_named(paranoid, cache_qos_paranoid, bool, 0444);
MODULE_PARM_DESC(paranoid, "read QM_EVTSEL back after each read");

static ulong cache_qos_max_bandwidth = CACHE_QOS_MAX_BYTES_PER_SECOND;
module_param_named(max_bandwidth, cache_qos_max_bandwidth, ulong, 0444);
MODULE_PARM_DESC(max_bandwidth, "no L3 moves more bytes in a second: how soon a counter wraps");

static uint cache_qos_rotate_ms;
module_param_named(rotate_ms, cache_qos_rotate_ms, uint, 0444);
MODULE_PARM_DESC(rotate_ms, "if RMIDs run out, events take turns of this length (0: no turns)");

static DEFINE_MUTEX(cache_qos_backend_lock);	/* protects cache_qos_registered */
static struct cache_qos_live *cache_qos_registered;

/* References */

static void cache_qos_release(struct kref *ref)
{
	struct cache_qos_live *live = container_of(ref, struct cache_qos_live, ref);

	cache_qos_cpus_free(live);
	kvfree(live);
}

/**
 * cache_qos_live_put - drop a reference
 * @live: driver state
 *
 * Context: may sleep.
 */
void cache_qos_live_put(struct cache_qos_live *live)
{
	kref_put(&live->ref, cache_qos_release);
}

/* Users */

/* Drop the tasks left in the table: the probes are detached and would not see their exit. */
static void cache_qos_tasks_drop(struct cache_qos_live *live)
{
	mutex_lock(&live->config_mutex);
	cache_qos_tasks_prune(live);
	mutex_unlock(&live->config_mutex);
}

static void cache_qos_detach_work(struct work_struct *work)
{
	struct cache_qos_live *live = container_of(work, struct cache_qos_live, detach);

	mutex_lock(&live->probe_mutex);
	if (!atomic_read(&live->users) && live->attached) {
		WRITE_ONCE(live->attached, false);
		cache_qos_detach(live);
		cache_qos_tasks_drop(live);
	}
	mutex_unlock(&live->probe_mutex);
}

/**
 * cache_qos_users_get - add a user: an event or a group
 * @live: driver state
 *
 * The first user attaches the probes of the scheduler.
 *
 * Context: may sleep; not under perf's ctx->mutex. perf holds that mutex in event_init of an
 * inherited event, and of a group member unless its PMU is in the software context.
 *
 * Return: 0 or -errno.
 */
int cache_qos_users_get(struct cache_qos_live *live)
{
	int ret = 0;

	mutex_lock(&live->probe_mutex);
	/* The PMU may outlive the back-end, whose memory may be freed once @serving is false. */
	if (!live->serving || !try_module_get(live->backend->owner)) {
		mutex_unlock(&live->probe_mutex);
		return -ENODEV;
	}
	if (!live->attached) {
		ret = cache_qos_attach(live);
		/* While there were no users, no pass checked all CPUs for RMIDs of other tools. */
		if (!ret)
			cache_qos_meet_all(live);
	}
	if (!ret) {
		WRITE_ONCE(live->attached, true);
		if (atomic_inc_return(&live->users) == 1)
			cache_qos_sampler_hurry(live);
	}
	mutex_unlock(&live->probe_mutex);
	if (ret)
		module_put(live->backend->owner);
	return ret;
}

/**
 * cache_qos_users_put - remove a user
 * @live: driver state
 *
 * Context: any process context. A work item detaches the probes, because a child that exits may
 * close the last event under ctx->mutex of perf.
 */
void cache_qos_users_put(struct cache_qos_live *live)
{
	if (atomic_dec_and_test(&live->users))
		queue_work(live->workqueue, &live->detach);
	/* Put the module last: without this reference the back-end may be unregistered. */
	module_put(live->backend->owner);
}

/* Suspend */

/* CPUs that came online on resume are set up already; the CPU that stayed online lost its RMID. */
static void cache_qos_wake(struct cache_qos_live *live)
{
	u16 d;

	raw_spin_lock_irq(&live->lock);
	for (d = 0; d < live->core.nr_domains; d++)
		cache_qos_rebase(&live->core, d);
	raw_spin_unlock_irq(&live->lock);
	if (!READ_ONCE(live->core.yielded))
		cache_qos_cpus_again(live);
	WRITE_ONCE(live->asleep, false);
	cache_qos_sampler_hurry(live);
}

static int cache_qos_on_pm(struct notifier_block *pm, unsigned long what, void *data)
{
	struct cache_qos_live *live = container_of(pm, struct cache_qos_live, pm);

	if (what == PM_SUSPEND_PREPARE || what == PM_HIBERNATION_PREPARE) {
		WRITE_ONCE(live->asleep, true);
		flush_delayed_work(&live->sampler);
	} else if (what == PM_POST_SUSPEND || what == PM_POST_HIBERNATION) {
		cache_qos_wake(live);
	}
	return NOTIFY_OK;
}

/* Back-ends */

/* On return no cache_qos_users_get() that saw the old value is in progress. */
static void cache_qos_serve(struct cache_qos_live *live, bool serving)
{
	mutex_lock(&live->probe_mutex);
	live->serving = serving;
	mutex_unlock(&live->probe_mutex);
}

static void cache_qos_bring_down(struct cache_qos_live *live)
{
	cache_qos_serve(live, false);
	unregister_pm_notifier(&live->pm);
	cache_qos_configfs_unregister();
	pmukit_pmu_remove(&live->aux_pp);
	pmukit_pmu_remove(&live->pp);
	cache_qos_sampler_stop(live);
	flush_work(&live->detach);
	cache_qos_cpus_stop(live);
}

/*
 * Registering with configfs is the last step that can fail. If a later step failed, a user could
 * already have opened a file in configfs, and the open file would pin the module.
 */
static int cache_qos_bring_up(struct cache_qos_live *live)
{
	int ret;

	ret = cache_qos_cpus_start(live);
	if (ret)
		return ret;
	/* Without it, the driver does not know when the occupancy of a turn is settled. */
	if (live->core.rotate_ns && !(live->core.hw.events & BIT(CACHE_QOS_TOTAL))) {
		dev_warn(&live->parent->dev, "no turns (rotate_ms): this CPU counts no bandwidth\n");
		live->core.rotate_ns = 0;
	}
	live->core.limbo_min_ns = CACHE_QOS_LIMBO_MIN_NS;
	live->core.notify = cache_qos_trace_rmid_event;
	cache_qos_sampler_start(live);
	ret = pmukit_pmu_register(&live->pp, &live->parent->dev);
	if (ret)
		goto stop;
	cache_qos_debugfs_add(live);
	ret = pmukit_pmu_register(&live->aux_pp, &live->parent->dev);
	if (ret)
		goto remove;
	ret = cache_qos_configfs_register(live);
	if (ret)
		goto remove_aux;
	live->pm.notifier_call = cache_qos_on_pm;
	/* The registration cannot fail. */
	register_pm_notifier(&live->pm);
	cache_qos_serve(live, true);
	return 0;

remove_aux:
	pmukit_pmu_remove(&live->aux_pp);
remove:
	pmukit_pmu_remove(&live->pp);
stop:
	cache_qos_sampler_stop(live);
	cache_qos_cpus_stop(live);
	return ret;
}

static void cache_qos_fill(struct cache_qos_live *live,
			   const struct pmukit_cache_qos_backend *backend)
{
	raw_spin_lock_init(&live->lock);
	mutex_init(&live->probe_mutex);
	mutex_init(&live->config_mutex);
	init_waitqueue_head(&live->passed);
	INIT_LIST_HEAD(&live->watches);
	INIT_LIST_HEAD(&live->pending);
	INIT_WORK(&live->detach, cache_qos_detach_work);
	hash_init(live->tasks);
	hash_init(live->cgroups);
	live->backend = backend;
	strscpy(live->backend_name, backend->name, sizeof(live->backend_name));
	live->sample_ms = CACHE_QOS_SAMPLE_MS;
	live->max_bytes_per_second = cache_qos_max_bandwidth;
	live->paranoid = cache_qos_paranoid;
	live->core.force = cache_qos_force;
	live->core.rotate_ns = (u64)cache_qos_rotate_ms * NSEC_PER_MSEC;
	/* One reference for the registration; one for each PMU, dropped by its release callback */
	kref_init(&live->ref);
	kref_get(&live->ref);
	kref_get(&live->ref);
	cache_qos_pmu_fill(live);
	cache_qos_aux_fill(live);
}

static void cache_qos_destroy(struct cache_qos_live *live)
{
	destroy_workqueue(live->workqueue);
	destroy_workqueue(live->read_workqueue);
	platform_device_unregister(live->parent);
	pmukit_pmu_put(&live->aux_pp);
	pmukit_pmu_put(&live->pp);
	cache_qos_live_put(live);
}

static struct cache_qos_live *cache_qos_create(const struct pmukit_cache_qos_backend *backend)
{
	struct cache_qos_live *live = kvzalloc(sizeof(*live), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!live)
		return ERR_PTR(-ENOMEM);
	live->workqueue = alloc_workqueue("cache_qos", WQ_UNBOUND, 0);
	if (!live->workqueue)
		goto free_live;
	live->read_workqueue = alloc_workqueue("cache_qos_read", WQ_CPU_INTENSIVE | WQ_PERCPU, 0);
	if (!live->read_workqueue)
		goto destroy_workqueue;
	live->parent = platform_device_register_simple("cache_qos", PLATFORM_DEVID_NONE, NULL, 0);
	ret = PTR_ERR_OR_ZERO(live->parent);
	if (ret)
		goto destroy_read_workqueue;
	cache_qos_fill(live, backend);
	return live;

destroy_read_workqueue:
	destroy_workqueue(live->read_workqueue);
destroy_workqueue:
	destroy_workqueue(live->workqueue);
free_live:
	kvfree(live);
	return ERR_PTR(ret);
}

static const char *const cache_qos_rdt_names[] = {
	[CACHE_QOS_OCCUPANCY]	= "cmt",
	[CACHE_QOS_TOTAL]	= "mbmtotal",
	[CACHE_QOS_LOCAL]	= "mbmlocal",
};

/* Parse the parameter rdt. Return: events as BIT(enum cache_qos_index), or -errno. */
static int cache_qos_rdt_events(void)
{
	char *copy, *rest, *word;
	int events = 0, event;

	copy = kstrdup(cache_qos_rdt, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = copy;
	while (events >= 0 && (word = strsep(&rest, ","))) {
		if (!*word)
			continue;
		event = match_string(cache_qos_rdt_names, ARRAY_SIZE(cache_qos_rdt_names), word);
		if (event < 0)
			pr_err("cache_qos: rdt=%s: '%s' is none of cmt, mbmtotal, mbmlocal\n",
			       cache_qos_rdt, word);
		events = event < 0 ? event : events | BIT(event);
	}
	kfree(copy);
	return events;
}

static int cache_qos_backend_wrong(const struct pmukit_cache_qos_backend *backend)
{
	if (strcmp(backend->name, cache_qos_backend)) {
		pr_err("cache_qos: loaded for backend=%s, not %s\n", cache_qos_backend,
		       backend->name);
		return -EINVAL;
	}
	if (cache_qos_registered)
		return -EBUSY;
	if (backend->claimed()) {
		pr_err("cache_qos: %s: the registers are in use: is resctrl mounted? 'pmukit record -e resctrl//' records without this module\n",
		       backend->name);
		return -EBUSY;
	}
	return 0;
}

/**
 * pmukit_cache_qos_register_backend - register a back-end
 * @backend: the back-end; used until pmukit_cache_qos_unregister_backend() has returned
 *
 * Context: may sleep. The back-end is called before this returns.
 *
 * Return: 0, -EBUSY: a back-end is registered already, or other software has the registers,
 * -EINVAL: the module was loaded for another back-end, or CPUs differ, -ENODEV: no monitoring, or
 * another -errno.
 */
int pmukit_cache_qos_register_backend(const struct pmukit_cache_qos_backend *backend)
{
	int asked = cache_qos_rdt_events(), ret;
	struct cache_qos_live *live;

	if (asked < 0)
		return asked;
	mutex_lock(&cache_qos_backend_lock);
	ret = cache_qos_backend_wrong(backend);
	if (ret)
		goto unlock;
	live = cache_qos_create(backend);
	ret = PTR_ERR_OR_ZERO(live);
	if (ret)
		goto unlock;
	live->asked_events = asked;
	ret = cache_qos_bring_up(live);
	if (ret) {
		cache_qos_destroy(live);
		goto unlock;
	}
	cache_qos_registered = live;
	dev_info(&live->parent->dev, "%u RMIDs, %u domains, units of %u bytes, registers: %s\n",
		 live->core.hw.nr_rmid, live->core.nr_domains, live->core.hw.scale, backend->name);
unlock:
	mutex_unlock(&cache_qos_backend_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(pmukit_cache_qos_register_backend);

/**
 * pmukit_cache_qos_unregister_backend - unregister a back-end
 * @backend: a back-end that was registered
 *
 * On return the back-end is no longer called, and the RMIDs of all CPUs are 0.
 *
 * Context: may sleep.
 */
void pmukit_cache_qos_unregister_backend(const struct pmukit_cache_qos_backend *backend)
{
	mutex_lock(&cache_qos_backend_lock);
	if (cache_qos_registered && cache_qos_registered->backend == backend) {
		cache_qos_bring_down(cache_qos_registered);
		cache_qos_destroy(cache_qos_registered);
		cache_qos_registered = NULL;
	}
	mutex_unlock(&cache_qos_backend_lock);
}
EXPORT_SYMBOL_GPL(pmukit_cache_qos_unregister_backend);

/* Module */

/* The file of the parameter shows the value that is used. */
static void cache_qos_rotate_clamp(void)
{
	uint used = clamp_t(uint, cache_qos_rotate_ms, CACHE_QOS_ROTATE_MS_MIN,
			    CACHE_QOS_ROTATE_MS_MAX);

	if (!cache_qos_rotate_ms || used == cache_qos_rotate_ms)
		return;
	pr_warn("cache_qos: rotate_ms=%u is not in %u to %u: using %u\n", cache_qos_rotate_ms,
		CACHE_QOS_ROTATE_MS_MIN, CACHE_QOS_ROTATE_MS_MAX, used);
	cache_qos_rotate_ms = used;
}

static int __init cache_qos_module_init(void)
{
	int ret;

	/* The fork probe allocates memory with preemption off, which PREEMPT_RT does not allow. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_err("cache_qos: not supported on a PREEMPT_RT kernel; use another one\n");
		return -EOPNOTSUPP;
	}
	cache_qos_rotate_clamp();
	ret = cache_qos_hotplug_register();
	if (ret)
		return ret;
	if (!strcmp(cache_qos_backend, "msr"))
		ret = cache_qos_msr_register();
	if (ret) {
		cache_qos_hotplug_unregister();
		/* Wait for a PMU that was registered and removed before the error. */
		pmukit_pmu_flush();
	}
	return ret;
}
module_init(cache_qos_module_init);

static void __exit cache_qos_module_exit(void)
{
	cache_qos_msr_unregister();
	cache_qos_hotplug_unregister();
	pmukit_pmu_flush();
}
module_exit(cache_qos_module_exit);

MODULE_DESCRIPTION("Cache occupancy and memory bandwidth of tasks, cgroups and groups");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
