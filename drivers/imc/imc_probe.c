// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: tracepoint probes of the driver and of the back-end. They are attached only while events
 * that need them are open, because a probe adds a call to each task switch or page allocation
 * (Documentation/decisions/0019-imc-probes.rst).
 *
 *   event_init ---> imc_probes_get() ---> attached? --- yes -----------------------> add a user
 *                                             | no                                      ^
 *                                             |-- attach, under probe_mutex ------------'
 *                                             '-- under ctx->mutex: a work item attaches, and the
 *                                                 system call is restarted
 *
 *   destroy ------> imc_probes_put() ---> remove a user; a second later a work item detaches probes
 *                                         without users
 *
 * Locking: attaching and detaching patch code, which takes cpu_hotplug_lock. When a CPU goes online
 * or offline, perf takes ctx->mutex under that lock. So the order is:
 *
 *   probe_mutex > tracepoints_mutex > cpu_hotplug_lock > ctx->mutex > claim_lock
 *
 * An event may be destroyed under ctx->mutex, for example an inherited one when its task exits. So
 * destroy only decrements the number of users, under claim_lock. perf calls event_init under
 * ctx->mutex in two cases: for an inherited event, whose parent already has the probes attached,
 * and for a member of a group (perf_try_init_event(); not for PMUs of perf_sw_context, but this
 * code does not rely on that).
 */

#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/perf_event.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "imc.h"

/* Delay of detaching, so that opening events one after the other does not patch code each time */
#define IMC_PROBES_LINGER	HZ
/* Delay before a system call that must not attach probes itself is restarted */
#define IMC_PROBES_RETRY_US	1000

/* Attaching */

static int imc_probes_attach(struct imc *imc, struct imc_probes *probes)
{
	bool trace = probes->engine == PMUKIT_IMC_TRACE;
	int ret = 0;

	if (trace)
		ret = imc_trace_attach(imc);
	if (ret || !imc->backend->get)
		return ret;
	ret = imc->backend->get(probes->engine);
	if (ret && trace)
		imc_trace_detach(imc);
	return ret;
}

static void imc_probes_detach(struct imc *imc, struct imc_probes *probes)
{
	if (imc->backend->put)
		imc->backend->put(probes->engine);
	if (probes->engine == PMUKIT_IMC_TRACE)
		imc_trace_detach(imc);
}

static void imc_probes_set_attached(struct imc *imc, struct imc_probes *probes, bool attached)
{
	spin_lock(&imc->claim_lock);
	WRITE_ONCE(probes->attached, attached);
	probes->error = 0;
	spin_unlock(&imc->claim_lock);
}

static int imc_probes_ensure(struct imc *imc, struct imc_probes *probes)
{
	int ret;

	lockdep_assert_held(&imc->probe_mutex);
	if (probes->attached)
		return 0;
	ret = imc_probes_attach(imc, probes);
	if (!ret)
		imc_probes_set_attached(imc, probes, true);
	return ret;
}

/* Users */

static struct imc_probes *imc_probes_of(struct imc *imc, u32 type)
{
	switch (type) {
	case IMC_TYPE_CHIP:
		return &imc->probes[IMC_PROBES_NEST];
	case IMC_TYPE_TRACE:
		return &imc->probes[IMC_PROBES_TRACE];
	default:
		return &imc->probes[IMC_PROBES_CORE];
	}
}

static bool imc_probes_join(struct imc *imc, struct imc_probes *probes)
{
	bool attached;

	spin_lock(&imc->claim_lock);
	attached = probes->attached;
	probes->users += attached;
	spin_unlock(&imc->claim_lock);
	return attached;
}

/* Marks probes without users as detached, so that no user joins any more. */
static bool imc_probes_leave(struct imc *imc, struct imc_probes *probes)
{
	bool idle;

	spin_lock(&imc->claim_lock);
	idle = probes->attached && !probes->users;
	if (idle)
		WRITE_ONCE(probes->attached, false);
	spin_unlock(&imc->claim_lock);
	return idle;
}

/* Under claim_lock, so that no work is queued once imc_probes_stop() has set probes_stopped. */
static void imc_probes_rest_later(struct imc *imc)
{
	lockdep_assert_held(&imc->claim_lock);
	if (!imc->probes_stopped)
		schedule_delayed_work(&imc->probes_rest, IMC_PROBES_LINGER);
}

static void imc_probes_rest_work(struct work_struct *work)
{
	struct imc *imc = container_of(to_delayed_work(work), struct imc, probes_rest);
	u32 i;

	mutex_lock(&imc->probe_mutex);
	for (i = 0; i < IMC_NR_PROBES; i++) {
		if (imc_probes_leave(imc, &imc->probes[i]))
			imc_probes_detach(imc, &imc->probes[i]);
	}
	mutex_unlock(&imc->probe_mutex);
}

/*
 * Attaches probes for a caller of imc_probes_ask(), which must not attach probes itself. If that
 * caller does not retry, the probes are detached without having been used.
 */
static void imc_probes_attach_work(struct work_struct *work)
{
	struct imc_probes *probes = container_of(work, struct imc_probes, attach);
	struct imc *imc = probes->imc;
	int ret;

	mutex_lock(&imc->probe_mutex);
	ret = imc_probes_ensure(imc, probes);
	mutex_unlock(&imc->probe_mutex);

	spin_lock(&imc->claim_lock);
	probes->error = ret;
	imc_probes_rest_later(imc);
	spin_unlock(&imc->claim_lock);
}

/*
 * Called for a member of a group, under ctx->mutex: this function must neither attach probes nor
 * wait for another caller that attaches them. The system call drops its locks and is restarted,
 * invisibly for user space, until the probes are attached. There always is a system call: events
 * that the kernel itself opens are not members of a group.
 */
static int imc_probes_ask(struct imc *imc, struct imc_probes *probes)
{
	int ret;

	spin_lock(&imc->claim_lock);
	ret = probes->error;
	probes->error = 0;
	/* A running work item has not reported its result yet. */
	if (!ret && !imc->probes_stopped && !work_busy(&probes->attach))
		schedule_work(&probes->attach);
	spin_unlock(&imc->claim_lock);
	if (ret)
		return ret;
	usleep_range(IMC_PROBES_RETRY_US, 2 * IMC_PROBES_RETRY_US);
	return restart_syscall();
}

/**
 * imc_probes_get - attach the probes that an event needs
 * @imc: driver state; the caller holds the back-end's module
 * @event: the event
 *
 * Context: event_init; may sleep.
 *
 * Return: 0 or -errno.
 */
int imc_probes_get(struct imc *imc, struct perf_event *event)
{
	struct imc_probes *probes = imc_probes_of(imc, imc_pmu_of(event)->unit->type);
	int ret;

	if (imc_probes_join(imc, probes))
		return 0;
	/*
	 * The parent event is a user until all inherited events are gone, so inherited events can
	 * always join.
	 */
	if (WARN_ON_ONCE(event->parent))
		return -ENODEV;
	if (event->group_leader != event)
		return imc_probes_ask(imc, probes);

	mutex_lock(&imc->probe_mutex);
	ret = imc_probes_ensure(imc, probes);
	if (!ret)
		imc_probes_join(imc, probes);
	mutex_unlock(&imc->probe_mutex);
	return ret;
}

/**
 * imc_probes_put - remove a user from the probes of an event type
 * @imc: driver state
 * @type: type of the event, IMC_TYPE_*
 *
 * Context: any process context.
 */
void imc_probes_put(struct imc *imc, u32 type)
{
	struct imc_probes *probes = imc_probes_of(imc, type);

	spin_lock(&imc->claim_lock);
	if (!--probes->users)
		imc_probes_rest_later(imc);
	spin_unlock(&imc->claim_lock);
}

/* Init and stop */

/**
 * imc_probes_init - initialize the groups of probes, with no probe attached
 * @imc: driver state
 */
void imc_probes_init(struct imc *imc)
{
	static const u32 engines[IMC_NR_PROBES] = {
		[IMC_PROBES_NEST] = PMUKIT_IMC_NEST,
		[IMC_PROBES_CORE] = PMUKIT_IMC_CORE,
		[IMC_PROBES_TRACE] = PMUKIT_IMC_TRACE,
	};
	u32 i;

	mutex_init(&imc->probe_mutex);
	INIT_DELAYED_WORK(&imc->probes_rest, imc_probes_rest_work);
	for (i = 0; i < IMC_NR_PROBES; i++) {
		imc->probes[i].imc = imc;
		imc->probes[i].engine = engines[i];
		INIT_WORK(&imc->probes[i].attach, imc_probes_attach_work);
	}
}

/**
 * imc_probes_stop - detach all probes; on return none runs, and none is attached again
 * @imc: driver state; no event is opened any more
 *
 * Context: may sleep; no perf lock is held.
 */
void imc_probes_stop(struct imc *imc)
{
	u32 i;

	spin_lock(&imc->claim_lock);
	imc->probes_stopped = true;
	spin_unlock(&imc->claim_lock);
	for (i = 0; i < IMC_NR_PROBES; i++)
		cancel_work_sync(&imc->probes[i].attach);
	cancel_delayed_work_sync(&imc->probes_rest);

	mutex_lock(&imc->probe_mutex);
	for (i = 0; i < IMC_NR_PROBES; i++) {
		if (!imc->probes[i].attached)
			continue;
		imc_probes_set_attached(imc, &imc->probes[i], false);
		imc_probes_detach(imc, &imc->probes[i]);
	}
	mutex_unlock(&imc->probe_mutex);
}
