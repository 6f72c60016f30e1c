// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lifecycle of a PMU, from registration to the last reference. The hardware may be removed first.
 *
 * The hard case is a PMU that is removed while events are open. A kernel that revokes events
 * (PMUKIT_PMU_REVOKES) detaches them in perf_pmu_unregister(). On older kernels unregistering is
 * only safe once no event is open, and neither unbinding nor unplugging can be refused. So the
 * removal has two parts:
 *
 *   pmukit_pmu_remove()                           pmukit_leave_work()
 *   1 set gone: no new event can be opened        5 wait until the core is done with the last event
 *   2 remove the CPU hotplug callback             6 perf_pmu_unregister()
 *   3 disable the open events: their counts       7 wait for calls that still try to open an event
 *     freeze, their files stay valid              8 drop the registration's reference
 *   4 release the name in sysfs, so that the device can return under it; then queue the work: at
 *     once, or, while events are open, when the last one is destroyed
 *
 * A software event in a group with this PMU's events is scheduled with this PMU, even after those
 * events are closed. perf does not report such a foreign event to the PMU, and no kernel up to 7.2
 * looks for it when a PMU is unregistered: its context would be freed while the event uses it. So
 * the destruction of the PMU's last event checks for foreign events. While there are some, the PMU
 * stays registered and its module is held (pmukit_foreign_work()). On a kernel that revokes events,
 * events are only revoked if there are no foreign ones.
 *
 * Foreign events are detected by the references that events hold on a context, from before they are
 * installed until after they are destroyed, even while their CPU is offline. If the driver counts
 * one reference too many, it only checks once more, or does not revoke the open events and handles
 * them as on older kernels. While events migrate to another CPU they hold no reference, so the
 * driver then assumes that there are foreign events.
 *
 * After pmukit_pmu_remove() perf may still call add() and start() for an event that is enabled
 * again. The driver must refuse these calls: it checks a flag under the lock that protects its
 * MMIO.
 *
 * Step 5 is needed because perf's core still uses the PMU after it has called event->destroy(): it
 * puts the event's context and the module. The core does not sleep in between, so a grace period of
 * RCU tasks waits for it. event->destroy() itself cannot unregister the PMU: the failure path of
 * event_init calls event->destroy() in the read section that perf_pmu_unregister() waits for.
 *
 * pmu->module is the driver's module: rmmod is refused while events are open. The work may run
 * after they are closed; pmukit_pmu_flush() at the end of the driver's exit waits for it. A module
 * whose init fails is freed despite references. So no event can be opened before init has
 * succeeded, and an init that fails ends with pmukit_pmu_flush() too.
 *
 * Locking: pmukit_pmu.lock is a spinlock for process context; only pmukit_leave_lock is taken under
 * it. event_init may run under perf's ctx->mutex, so nothing here holds a mutex around
 * perf_event_disable(). Instead, the event being disabled is pinned, and its destruction waits
 * until it is unpinned. No callback of perf takes cpus_read_lock() or pmukit_pmu.hotplug_lock.
 * hotplug_lock orders registration against the hotplug callback; it nests inside the CPU hotplug
 * lock and outside perf's own mutexes.
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include <pmukit/pmu.h>

#include "pmukit_debugfs.h"
#include "pmukit_perf_bugs.h"

#define PMUKIT_FOREIGN_PERIOD	(HZ / 10)

static void pmukit_leave_work(struct work_struct *work);

static struct workqueue_struct *pmukit_workqueue;	/* ordered */
static DECLARE_WORK(pmukit_leave, pmukit_leave_work);
static DEFINE_SPINLOCK(pmukit_leave_lock);
static LIST_HEAD(pmukit_leave_list);		/* PMUs to unregister; under pmukit_leave_lock */
static DEFINE_MUTEX(pmukit_unregister_mutex);	/* serializes unregistering; innermost mutex */
static int pmukit_hotplug_state;

/* References */

static void pmukit_pmu_release(struct kref *ref)
{
	struct pmukit_pmu *pp = container_of(ref, struct pmukit_pmu, ref);

	pp->ops->release(pp);
}

/**
 * pmukit_pmu_get - take a reference
 * @pp: the PMU
 */
void pmukit_pmu_get(struct pmukit_pmu *pp)
{
	kref_get(&pp->ref);
}
EXPORT_SYMBOL_GPL(pmukit_pmu_get);

/**
 * pmukit_pmu_put - drop a reference; the last one releases the PMU
 * @pp: the PMU
 *
 * Context: may sleep.
 */
void pmukit_pmu_put(struct pmukit_pmu *pp)
{
	kref_put(&pp->ref, pmukit_pmu_release);
}
EXPORT_SYMBOL_GPL(pmukit_pmu_put);

/* CPU hotplug */

static bool pmukit_cpu_is_near(const struct pmukit_pmu *pp, unsigned int cpu)
{
	return pp->node == NUMA_NO_NODE || cpu_to_node(cpu) == pp->node;
}

/*
 * Return: the CPU that runs the events of the group of @cpu; nr_cpu_ids: none. No lock is needed: a
 * bit of pp->cpus that changes meanwhile belongs to a CPU that goes online or offline.
 */
static unsigned int pmukit_server_of(struct pmukit_pmu *pp, unsigned int cpu)
{
	unsigned int server;

	for_each_cpu(server, &pp->cpus) {
		if (pp->ops->same_group(pp, server, cpu))
			return server;
	}
	return nr_cpu_ids;
}

/**
 * pmukit_pmu_servers - for each group of CPUs, find the CPU that runs the group's events
 * @pp: a PMU with PMUKIT_SCOPE_GROUPS, whose same_group callback defines the groups
 * @servers: filled in with one CPU of each group
 *
 * A CPU that goes online for the first time may be in @pp->cpus before the driver knows its group.
 * The function leaves such a CPU out if another CPU runs the events of that group, and leaves out
 * CPUs without a group.
 */
void pmukit_pmu_servers(struct pmukit_pmu *pp, struct cpumask *servers)
{
	unsigned int cpu;

	cpumask_clear(servers);
	for_each_cpu(cpu, &pp->cpus) {
		if (pmukit_server_of(pp, cpu) == cpu)
			cpumask_set_cpu(cpu, servers);
	}
}

/*
 * Return: the CPU that takes over the events of @leaving; nr_cpu_ids if @leaving is the last CPU of
 * its group.
 */
static unsigned int pmukit_other_cpu(struct pmukit_pmu *pp, unsigned int leaving)
{
	bool groups = pp->scope == PMUKIT_SCOPE_GROUPS;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (cpu == leaving)
			continue;
		if (groups ? pp->ops->same_group(pp, cpu, leaving) : pmukit_cpu_is_near(pp, cpu))
			return cpu;
	}
	return groups ? nr_cpu_ids : cpumask_any_but(cpu_online_mask, leaving);
}

static void pmukit_set_moving(struct pmukit_pmu *pp, bool moving)
{
	spin_lock(&pp->lock);
	WRITE_ONCE(pp->moving, moving);
	spin_unlock(&pp->lock);
}

/*
 * Since Linux 6.15 a call of perf_pmu_migrate_context() moves only one group: it continues its walk
 * from the event it has just removed, which is no longer linked. So there is one call per event on
 * the CPU, foreign events included, and one more for an event of the PMU that is just being
 * installed: the call waits for the mutex of that event's context. Calls that find no event do
 * nothing.
 */
static void pmukit_migrate_events(struct pmukit_pmu *pp, unsigned int from, unsigned int to)
{
	unsigned int calls = pmukit_cpu_events(&pp->pmu, from) + !!READ_ONCE(pp->nr_events);

	pmukit_set_moving(pp, true);
	while (calls--)
		perf_pmu_migrate_context(&pp->pmu, from, to);
	pmukit_set_moving(pp, false);
}

static bool pmukit_serves(const struct pmukit_pmu *pp, unsigned int cpu)
{
	if (pp->scope == PMUKIT_SCOPE_GROUPS)
		return cpumask_test_cpu(cpu, &pp->cpus);
	return pp->scope == PMUKIT_SCOPE_SYSTEM && pp->cpu == cpu;
}

/* Call the driver's place_changed callback, under hotplug_lock. */
static void pmukit_place_changed(struct pmukit_pmu *pp, unsigned int cpu)
{
	if (pp->ops->place_changed)
		pp->ops->place_changed(pp, cpu);
}

/*
 * Move the PMU to another CPU: first direct new events there, then move the open ones. Under
 * hotplug_lock.
 */
static void pmukit_hand_on(struct pmukit_pmu *pp, unsigned int from, unsigned int to)
{
	if (pp->scope == PMUKIT_SCOPE_SYSTEM) {
		WRITE_ONCE(pp->cpu, to);
	} else {
		cpumask_set_cpu(to, &pp->cpus);
		cpumask_clear_cpu(from, &pp->cpus);
	}
	if (!pp->registered)
		return;
	pmukit_migrate_events(pp, from, to);
	pmukit_place_changed(pp, to);
}

static bool pmukit_cpu_is_better(const struct pmukit_pmu *pp, unsigned int cpu)
{
	return pp->cpu >= nr_cpu_ids ||
	       (!pmukit_cpu_is_near(pp, pp->cpu) && pmukit_cpu_is_near(pp, cpu));
}

/*
 * The CPU hotplug core calls this also for every online CPU before the PMU is registered; the first
 * CPU near the hardware is used. CPUs of new groups, and CPUs near the hardware, may go online
 * later.
 */
static int pmukit_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct pmukit_pmu *pp = hlist_entry(node, struct pmukit_pmu, hotplug_node);

	if (pp->scope == PMUKIT_SCOPE_GROUPS && pmukit_server_of(pp, cpu) >= nr_cpu_ids)
		cpumask_set_cpu(cpu, &pp->cpus);
	if (pp->scope != PMUKIT_SCOPE_SYSTEM)
		return 0;

	mutex_lock(&pp->hotplug_lock);
	if (pmukit_cpu_is_better(pp, cpu))
		pmukit_hand_on(pp, pp->cpu, cpu);
	mutex_unlock(&pp->hotplug_lock);
	return 0;
}

/* Move events that were being opened on @cpu while the PMU moved to another CPU. */
static void pmukit_collect_late(struct pmukit_pmu *pp, unsigned int cpu)
{
	mutex_lock(&pp->hotplug_lock);
	if (pp->registered && pmukit_cpu_events(&pp->pmu, cpu))
		pmukit_migrate_events(pp, cpu, pp->cpu);
	mutex_unlock(&pp->hotplug_lock);
}

static int pmukit_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct pmukit_pmu *pp = hlist_entry(node, struct pmukit_pmu, hotplug_node);
	unsigned int target;

	if (!pmukit_serves(pp, cpu)) {
		if (pp->scope == PMUKIT_SCOPE_SYSTEM && pp->cpu < nr_cpu_ids)
			pmukit_collect_late(pp, cpu);
		return 0;
	}

	target = pmukit_other_cpu(pp, cpu);
	if (target >= nr_cpu_ids) {
		/* @cpu is the last CPU of its group: perf itself removes the events from it. */
		cpumask_clear_cpu(cpu, &pp->cpus);
		return 0;
	}

	mutex_lock(&pp->hotplug_lock);
	pmukit_hand_on(pp, cpu, target);
	mutex_unlock(&pp->hotplug_lock);
	return 0;
}

/* Unregistering */

/* Return: true if perf has released the PMU; otherwise the PMU must not be freed. */
static bool pmukit_unregister(struct pmukit_pmu *pp)
{
	return !WARN_ON_ONCE(pmukit_perf_unregister(&pp->pmu));
}

/*
 * The grace period takes longest, so all queued PMUs share one: a driver may have a hundred PMUs.
 */
static void pmukit_leave_work(struct work_struct *work)
{
	struct pmukit_pmu *pp, *next;
	LIST_HEAD(leaving);

	spin_lock(&pmukit_leave_lock);
	list_splice_init(&pmukit_leave_list, &leaving);
	spin_unlock(&pmukit_leave_lock);
	/* An earlier run of this work item may have handled all queued PMUs. */
	if (list_empty(&leaving))
		return;

	synchronize_rcu_tasks();
	mutex_lock(&pmukit_unregister_mutex);
	list_for_each_entry_safe(pp, next, &leaving, leave_node) {
		if (!pmukit_unregister(pp))
			list_del(&pp->leave_node);
	}
	pmukit_wait_for_openers();
	mutex_unlock(&pmukit_unregister_mutex);
	list_for_each_entry_safe(pp, next, &leaving, leave_node)
		pmukit_pmu_put(pp);
}

/* Return: true if no event of the PMU is open or being destroyed. */
static bool pmukit_is_idle(const struct pmukit_pmu *pp)
{
	lockdep_assert_held(&pp->lock);

	return !pp->nr_events && !pp->nr_dying;
}

/*
 * Called under pp->lock. Queues a PMU at most once, because a PMU whose hardware is gone gets no
 * new events.
 */
static void pmukit_unregister_if_idle(struct pmukit_pmu *pp)
{
	if (!pp->leaving || !pmukit_is_idle(pp) || pp->waiting)
		return;
	spin_lock(&pmukit_leave_lock);
	list_add_tail(&pp->leave_node, &pmukit_leave_list);
	spin_unlock(&pmukit_leave_lock);
	queue_work(pmukit_workqueue, &pmukit_leave);
}

/*
 * The PMU's last event still holds the module while it is destroyed, so another reference can be
 * taken here; events opened later take their own references. If foreign events join a group while
 * the kernel revokes events, the function does not wait for them: perf mishandles such events with
 * any PMU (see pmukit_has_foreign_events()).
 */
static void pmukit_wait_for_foreign_events(struct pmukit_pmu *pp, const struct perf_event *dying)
{
	lockdep_assert_held(&pp->lock);

	if (pp->waiting || pp->revoked || !pmukit_is_idle(pp) ||
	    !pmukit_has_foreign_events(pp, dying))
		return;
	pp->waiting = true;
	__module_get(pp->pmu.module);
	schedule_delayed_work(&pp->foreign_work, PMUKIT_FOREIGN_PERIOD);
}

static void pmukit_foreign_work(struct work_struct *work)
{
	struct pmukit_pmu *pp = container_of(to_delayed_work(work), struct pmukit_pmu,
					     foreign_work);
	struct module *owner = pp->pmu.module;
	bool more;

	spin_lock(&pp->lock);
	more = pmukit_is_idle(pp) && pmukit_has_foreign_events(pp, NULL);
	if (!more) {
		pp->waiting = false;
		pmukit_unregister_if_idle(pp);
	}
	spin_unlock(&pp->lock);

	/* Unless @more, @pp may be freed already. */
	if (more)
		schedule_delayed_work(&pp->foreign_work, PMUKIT_FOREIGN_PERIOD);
	else
		module_put(owner);
}

/*
 * Pin an event that is, or is about to be, installed in a context, so that it is not destroyed.
 * Return: NULL if no such event is left.
 */
static struct perf_event *pmukit_pin_event(struct pmukit_pmu *pp, struct list_head *done)
{
	struct pmukit_event *pev, *next;

	spin_lock(&pp->lock);
	list_for_each_entry_safe(pev, next, &pp->events, node) {
		list_move_tail(&pev->node, done);
		/* Not installed yet: its add() will be refused. */
		if (!READ_ONCE(pev->event->ctx))
			continue;
		WRITE_ONCE(pp->pinned, pev->event);
		break;
	}
	spin_unlock(&pp->lock);
	return pp->pinned;
}

static void pmukit_unpin_event(struct pmukit_pmu *pp)
{
	spin_lock(&pp->lock);
	WRITE_ONCE(pp->pinned, NULL);
	spin_unlock(&pp->lock);
	wake_up_all(&pp->unpinned);
}

/**
 * pmukit_pmu_disable_events - disable the open events; on return their stop callbacks have run
 * @pp: a registered PMU
 *
 * The files of the events stay valid, and user space may enable an event again.
 *
 * Context: may sleep. Must not be called from a perf callback; one call at a time, and not
 * concurrently with pmukit_pmu_remove().
 */
void pmukit_pmu_disable_events(struct pmukit_pmu *pp)
{
	struct perf_event *event;
	LIST_HEAD(done);

	while ((event = pmukit_pin_event(pp, &done))) {
		perf_event_disable(event);
		/*
		 * A read of the event now returns end of file, as for a perf "pinned" event that
		 * cannot run.
		 */
		if (pp->gone && pp->ends_in_error)
			WRITE_ONCE(event->state, PERF_EVENT_STATE_ERROR);
		pmukit_unpin_event(pp);
	}

	spin_lock(&pp->lock);
	list_splice(&done, &pp->events);
	spin_unlock(&pp->lock);
}
EXPORT_SYMBOL_GPL(pmukit_pmu_disable_events);

/**
 * pmukit_pmu_remove - remove a PMU because its hardware is removed
 * @pp: a registered PMU
 *
 * On return the stop callbacks of all events have run and no event can be opened. The driver then
 * makes its start callback refuse events, under its own lock, and may unmap the hardware. The
 * driver still holds its own reference to @pp, from pmukit_pmu_init(), and drops it with
 * pmukit_pmu_put(). The registration's reference is dropped once perf has released the PMU.
 *
 * Exception: with PMUKIT_SCOPE_CPUS, open events may still run on a kernel that does not revoke
 * them, and the driver itself must freeze their counts.
 *
 * Context: may sleep. Not from a perf callback.
 */
void pmukit_pmu_remove(struct pmukit_pmu *pp)
{
	spin_lock(&pp->lock);
	WRITE_ONCE(pp->gone, true);
	spin_unlock(&pp->lock);

	pmukit_debugfs_remove(pp);
	cpuhp_state_remove_instance_nocalls(pmukit_hotplug_state, &pp->hotplug_node);

	/*
	 * This check must follow the removal of the hotplug callback: foreign events cannot be
	 * detected while events migrate to another CPU. Events that must end in error are not
	 * revoked, because a revoked event keeps a count that looks complete.
	 */
	spin_lock(&pp->lock);
	pp->revoked = PMUKIT_PMU_REVOKES && !pp->waiting &&
		      !(pp->ends_in_error && pp->nr_events) && !pmukit_has_foreign_events(pp, NULL);
	spin_unlock(&pp->lock);
	if (pp->revoked) {
		if (pmukit_unregister(pp))
			pmukit_pmu_put(pp);
		return;
	}

	/*
	 * Disabling events of tasks could deadlock: a task that exits destroys inherited events
	 * under the mutex of its context. perf_event_disable() would wait for that mutex, and the
	 * destruction for the end of the pin.
	 */
	if (pp->scope != PMUKIT_SCOPE_CPUS)
		pmukit_pmu_disable_events(pp);
	pmukit_give_up_name(pp);

	spin_lock(&pp->lock);
	pp->leaving = true;
	pmukit_unregister_if_idle(pp);
	spin_unlock(&pp->lock);
}
EXPORT_SYMBOL_GPL(pmukit_pmu_remove);

/**
 * pmukit_pmu_flush - wait until every removed PMU without open events is unregistered
 *
 * To be called at the end of a driver's module exit, when none of its events is open any more.
 */
void pmukit_pmu_flush(void)
{
	flush_workqueue(pmukit_workqueue);
}
EXPORT_SYMBOL_GPL(pmukit_pmu_flush);

/**
 * pmukit_kick_sync - wait until all earlier smp_call_function_single_async() calls have run
 *
 * A CPU takes all its queued calls at once, with interrupts off, and runs synchronous ones first.
 * After kick_all_cpus_sync() it may still run asynchronous calls of the same batch, so the function
 * also waits for an RCU grace period.
 *
 * Context: may sleep.
 */
void pmukit_kick_sync(void)
{
	kick_all_cpus_sync();
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(pmukit_kick_sync);

/* Events */

static void pmukit_event_destroy(struct perf_event *event)
{
	struct pmukit_event *pev = to_pmukit_event(event);
	struct pmukit_pmu *pp = to_pmukit_pmu(event->pmu);

	spin_lock(&pp->lock);
	while (pp->pinned == event) {
		spin_unlock(&pp->lock);
		wait_event(pp->unpinned, READ_ONCE(pp->pinned) != event);
		spin_lock(&pp->lock);
	}
	list_del(&pev->node);
	WRITE_ONCE(pp->nr_events, pp->nr_events - 1);
	pp->nr_dying++;
	spin_unlock(&pp->lock);

	pmukit_forget_pmu(event);
	/* event_free() may sleep, so a grace period of RCU tasks would not wait for it. */
	pp->ops->event_free(pev);

	/* Queue the work last: from then on only steps of perf's core delay the release of @pp. */
	spin_lock(&pp->lock);
	pp->nr_dying--;
	pmukit_wait_for_foreign_events(pp, event);
	pmukit_unregister_if_idle(pp);
	spin_unlock(&pp->lock);
}

/* Return: the CPU on which the event is to run. */
static unsigned int pmukit_event_place(struct pmukit_pmu *pp, const struct perf_event *event)
{
	if (pp->scope == PMUKIT_SCOPE_GROUPS)
		return pmukit_server_of(pp, event->cpu);
	return READ_ONCE(pp->cpu);
}

/* Return: true once the driver's init has succeeded: before that, loading may still fail. */
static bool pmukit_owner_is_live(const struct pmukit_pmu *pp)
{
	const struct module *owner = pp->pmu.module;

	return !owner || READ_ONCE(owner->state) == MODULE_STATE_LIVE;
}

/**
 * pmukit_event_open - complete a successful event_init
 * @pp: the PMU
 * @pev: driver data of the event; freed by ops->event_free() from now on
 * @event: the new event; with PMUKIT_SCOPE_GROUPS its CPU is online
 *
 * Return: 0; -ENODEV if the hardware is gone, the PMU or its module is not ready, no CPU serves the
 * event, or the CPU of its group leader went offline; -EBUSY if max_events are open. On failure the
 * caller still owns @pev.
 */
int pmukit_event_open(struct pmukit_pmu *pp, struct pmukit_event *pev, struct perf_event *event)
{
	unsigned int cpu = event->cpu;
	int ret = 0;

	/*
	 * Openers can find a PMU before its registration is complete: Linux 6.12 and older create
	 * its contexts last.
	 */
	if (!smp_load_acquire(&pp->registered) || !pmukit_owner_is_live(pp) ||
	    pmukit_leader_left(event))
		return -ENODEV;
	pev->event = event;
	if (pp->scope != PMUKIT_SCOPE_CPUS)
		cpu = pmukit_event_place(pp, event);

	spin_lock(&pp->lock);
	if (pp->gone || (pp->scope == PMUKIT_SCOPE_GROUPS && cpu >= nr_cpu_ids))
		ret = -ENODEV;
	else if (pp->nr_events >= pp->max_events)
		ret = -EBUSY;
	if (!ret) {
		list_add_tail(&pev->node, &pp->events);
		WRITE_ONCE(pp->nr_events, pp->nr_events + 1);
	}
	spin_unlock(&pp->lock);
	if (ret)
		return ret;

	event->pmu_private = pev;
	event->destroy = pmukit_event_destroy;
	event->cpu = cpu;
	return 0;
}
EXPORT_SYMBOL_GPL(pmukit_event_open);

/* Registration */

/**
 * pmukit_pmu_init - initialize a zeroed pmukit_pmu; the caller holds the first reference
 * @pp: the PMU
 * @ops: callbacks of the driver
 * @owner: the driver's module; open events hold a reference
 */
void pmukit_pmu_init(struct pmukit_pmu *pp, const struct pmukit_pmu_ops *ops, struct module *owner)
{
	pp->ops = ops;
	pp->pmu.module = owner;
	pp->cpu = nr_cpu_ids;
	pp->node = NUMA_NO_NODE;
	kref_init(&pp->ref);
	spin_lock_init(&pp->lock);
	mutex_init(&pp->hotplug_lock);
	INIT_LIST_HEAD(&pp->events);
	init_waitqueue_head(&pp->unpinned);
	INIT_DELAYED_WORK(&pp->foreign_work, pmukit_foreign_work);
}
EXPORT_SYMBOL_GPL(pmukit_pmu_init);

/**
 * pmukit_pmu_register - register a PMU with perf; the last step of a driver's probe
 * @pp: an initialized PMU with its callbacks, name and max_events filled in
 * @parent: device of the hardware
 *
 * On success the registration holds a reference until pmukit_pmu_remove() has taken effect.
 *
 * PMUs that are being removed are unregistered first. Otherwise a device that is bound and unbound
 * in a loop would create PMUs faster than perf releases them, and the driver's exit would wait for
 * all of them.
 *
 * Context: may sleep; on failure it may sleep until memory is available.
 *
 * Return: 0 or -errno.
 */
int pmukit_pmu_register(struct pmukit_pmu *pp, struct device *parent)
{
	int ret;

	pmukit_pmu_flush();
	pp->node = dev_to_node(parent);
	compat_pmu_set_parent(&pp->pmu, parent);

	ret = cpuhp_state_add_instance(pmukit_hotplug_state, &pp->hotplug_node);
	if (ret)
		return ret;

	pmukit_pmu_get(pp);
	mutex_lock(&pp->hotplug_lock);
	if (pp->scope == PMUKIT_SCOPE_SYSTEM)
		pmukit_place_changed(pp, pp->cpu);
	ret = perf_pmu_register(&pp->pmu, pp->name, -1);
	smp_store_release(&pp->registered, !ret);	/* pairs with pmukit_event_open() */
	mutex_unlock(&pp->hotplug_lock);
	if (ret)
		goto remove_instance;
	pmukit_debugfs_add(pp);
	return 0;

remove_instance:
	/* Linux 6.1 lets openers find a PMU before its registration has succeeded. */
	mutex_lock(&pmukit_unregister_mutex);
	pmukit_wait_for_openers();
	mutex_unlock(&pmukit_unregister_mutex);
	pmukit_pmu_put(pp);
	cpuhp_state_remove_instance_nocalls(pmukit_hotplug_state, &pp->hotplug_node);
	return ret;
}
EXPORT_SYMBOL_GPL(pmukit_pmu_register);

/* Module */

static int __init pmukit_common_init(void)
{
	int ret;

	pmukit_workqueue = alloc_ordered_workqueue("pmukit", 0);
	if (!pmukit_workqueue)
		return -ENOMEM;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/pmukit:online",
				      pmukit_cpu_online, pmukit_cpu_offline);
	if (ret < 0)
		goto destroy_workqueue;
	pmukit_hotplug_state = ret;
	pmukit_debugfs_init();
	return 0;

destroy_workqueue:
	destroy_workqueue(pmukit_workqueue);
	return ret;
}
module_init(pmukit_common_init);

static void __exit pmukit_common_exit(void)
{
	pmukit_debugfs_exit();
	cpuhp_remove_multi_state(pmukit_hotplug_state);
	destroy_workqueue(pmukit_workqueue);
	/*
	 * Wait for pmukit_free_aux() and pmukit_foreign_work(), which drop their last reference to
	 * a module before they return, and for openers that have found pmukit_last.
	 */
	synchronize_rcu_tasks();
}
module_exit(pmukit_common_exit);

MODULE_DESCRIPTION("pmukit: what its PMU drivers share");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
