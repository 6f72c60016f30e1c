// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: cores and threads. HTM is the part of a core that runs either the counters of the
 * core and its threads, or the trace of its threads (Documentation/devices/imc_engine-model.rst).
 *
 * While a core's HTM runs, each of its threads has a tick: a timer on the thread's CPU. While HTM
 * counts, the tick posts to memory what the sched_switch probe gathered. While HTM traces, the tick
 * records what it interrupted. A tick that finds HTM stopped does not rearm its timer. So a stop
 * needs no action on other CPUs, and a start soon afterwards finds the timers still armed.
 */

#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <asm/irq_regs.h>

#include <pmukit/imc_backend.h>

#include "imc_engine.h"

DEFINE_PER_CPU(struct imc_engine_thread, imc_engine_threads);

/* Indexed by CPU; a core has the number of its first CPU that came online. */
static struct imc_engine_core *imc_engine_cores;
static DEFINE_RAW_SPINLOCK(imc_engine_place_lock);

/* The sched_switch probe is attached. Written under cpu_hotplug_lock, read by hotplug callbacks. */
static bool imc_engine_watching;

static u32 imc_engine_cpmc_load;

/* Sources */

static u64 imc_engine_now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

static u64 imc_engine_faults_of(const struct task_struct *task)
{
	return READ_ONCE(task->maj_flt) + READ_ONCE(task->min_flt);
}

/* Most kernels sample the CPU's mode at each tick and account the whole tick to this mode. */
static u64 imc_engine_user_ns_of(const struct task_struct *task)
{
	return READ_ONCE(task->utime);
}

/*
 * Accounts a thread and its core up to now. The core's lock, which the caller holds, keeps
 * thread->task valid: before the task can be freed, the sched_switch probe takes the lock and
 * replaces thread->task. If the probe is detached, thread->task is set to NULL under the lock.
 */
void imc_engine_thread_account(struct imc_engine_thread *thread)
{
	u64 faults, user_ns;

	imc_engine_account_thread(&thread->core->state, &thread->state, imc_engine_now_ns());
	if (!thread->task)
		return;
	faults = imc_engine_faults_of(thread->task);
	thread->state.faults += faults - thread->task_faults;
	thread->core->state.facts.value[IMC_ENGINE_FAULTS] += faults - thread->task_faults;
	thread->task_faults = faults;
	user_ns = imc_engine_user_ns_of(thread->task);
	thread->state.user_ns += user_ns - thread->task_user_ns;
	thread->core->state.facts.value[IMC_ENGINE_USER_NS] += user_ns - thread->task_user_ns;
	thread->task_user_ns = user_ns;
}

static void imc_engine_thread_task(struct imc_engine_thread *thread, struct task_struct *task)
{
	bool busy = task && !is_idle_task(task);

	imc_engine_set_busy(&thread->core->state, &thread->state, busy, imc_engine_now_ns());
	thread->task = task;
	thread->task_faults = task ? imc_engine_faults_of(task) : 0;
	thread->task_user_ns = task ? imc_engine_user_ns_of(task) : 0;
}

/* Called by the sched_switch probe before this CPU runs @next. Interrupts are off. */
void imc_engine_task_switch(struct task_struct *next)
{
	struct imc_engine_thread *thread = this_cpu_ptr(&imc_engine_threads);
	struct imc_engine_core *core = READ_ONCE(thread->core);

	if (!core)
		return;
	raw_spin_lock(&core->lock);
	if (thread->watched) {
		imc_engine_thread_account(thread);
		thread->state.switches++;
		core->state.facts.value[IMC_ENGINE_SWITCHES]++;
		imc_engine_thread_task(thread, next);
	}
	raw_spin_unlock(&core->lock);
}

/* Counting; all under the core's lock */

static void imc_engine_add(u64 address, u32 offset, u64 delta)
{
	__be64 *counter = phys_to_virt(address) + offset;

	WRITE_ONCE(*counter, cpu_to_be64(be64_to_cpu(READ_ONCE(*counter)) + delta));
}

/* Adds the changes since @posted to the counters at @address and to the reference counters. */
static void imc_engine_post(u64 address, u64 *reference, struct imc_engine_facts *posted,
			    const struct imc_engine_facts *now)
{
	unsigned int i;
	u64 delta;

	for (i = 0; i < IMC_ENGINE_NR_SLOTS; i++) {
		delta = imc_engine_slot_delta(&imc_engine_slots[i], posted, now);
		if (!delta)
			continue;
		imc_engine_add(address, imc_engine_slots[i].offset, delta);
		reference[i] += delta;
	}
	*posted = *now;
}

static bool imc_engine_accumulates(const struct imc_engine_thread *thread)
{
	return thread->core->mode == PMUKIT_IMC_CORE &&
	       (thread->ldbar & IMC_ENGINE_LDBAR_ENABLE) &&
	       (thread->ldbar & IMC_ENGINE_BAR_ADDRESS);
}

static bool imc_engine_traces(const struct imc_engine_thread *thread)
{
	return thread->core->mode == PMUKIT_IMC_TRACE &&
	       (thread->ldbar & IMC_ENGINE_LDBAR_TRACE) &&
	       (thread->ldbar & IMC_ENGINE_BAR_ADDRESS);
}

static void imc_engine_post_thread(struct imc_engine_thread *thread)
{
	struct imc_engine_facts facts;

	imc_engine_thread_account(thread);
	if (!imc_engine_accumulates(thread))
		return;
	imc_engine_thread_facts(&thread->core->state, &thread->state, &facts);
	imc_engine_post(thread->ldbar & IMC_ENGINE_BAR_ADDRESS, thread->reference, &thread->posted,
			&facts);
}

static void imc_engine_post_core(struct imc_engine_core *core)
{
	if (core->mode != PMUKIT_IMC_CORE || !core->pdbar)
		return;
	imc_engine_post(core->pdbar, core->reference, &core->posted, &core->state.facts);
	core->rounds++;
}

/* After this call, the memory at LDBAR receives only counts and records of the time from now on. */
static void imc_engine_thread_rebase(struct imc_engine_thread *thread)
{
	imc_engine_thread_account(thread);
	imc_engine_thread_facts(&thread->core->state, &thread->state, &thread->posted);
	thread->traced_ns = imc_engine_now_ns();
}

/* Trace */

/*
 * Writing tb1 makes the record invalid until tb2 agrees again. A reader that reads tb2 first, then
 * the middle and then tb1 gets a whole record, or detects that the record is not whole.
 */
static void imc_engine_publish(u64 address, u32 at, const u64 words[IMC_ENGINE_RECORD_WORDS])
{
	__be64 *record = (__be64 *)phys_to_virt(address) + (size_t)at * IMC_ENGINE_RECORD_WORDS;
	unsigned int i;

	WRITE_ONCE(record[IMC_ENGINE_RECORD_TB1], cpu_to_be64(words[IMC_ENGINE_RECORD_TB1]));
	smp_wmb();	/* see above */
	for (i = IMC_ENGINE_RECORD_TB1 + 1; i < IMC_ENGINE_RECORD_TB2; i++)
		WRITE_ONCE(record[i], cpu_to_be64(words[i]));
	smp_wmb();	/* see above */
	WRITE_ONCE(record[IMC_ENGINE_RECORD_TB2], cpu_to_be64(words[IMC_ENGINE_RECORD_TB2]));
}

/* Spreads the ticks of the CPUs over a period. */
static u64 imc_engine_phase_ns(unsigned int cpu, u64 period_ns)
{
	return period_ns / nr_cpu_ids * cpu;
}

/* Writes all records due since the last tick, with the registers that this tick interrupted. */
static void imc_engine_trace_tick(struct imc_engine_thread *thread, u64 now_ns)
{
	u64 scom = thread->core->scom, period_ns = imc_engine_period_ns(scom), i;
	u64 phase_ns = imc_engine_phase_ns(smp_processor_id(), imc_engine_tick_ns(period_ns));
	struct imc_engine_due due = imc_engine_trace_due(thread->traced_ns, now_ns, period_ns,
							 phase_ns);
	struct pt_regs *regs = get_irq_regs();
	u64 words[IMC_ENGINE_RECORD_WORDS];
	u32 at;

	thread->traced_ns = now_ns;
	if (!regs) {
		thread->blind++;
		return;
	}
	thread->late += due.late;
	for (i = 0; i < due.count; i++) {
		at = imc_engine_trace_record(&thread->trace, scom, due.first_ns + i * period_ns,
					     instruction_pointer(regs), user_mode(regs),
					     thread->state.switches, words);
		imc_engine_publish(thread->ldbar & IMC_ENGINE_BAR_ADDRESS, at, words);
	}
}

/* Ticks */

/* Returns 0 if no ticks are needed. Called under the core's lock. */
static u64 imc_engine_wanted_period_ns(const struct imc_engine_thread *thread)
{
	if (!thread->online || !thread->core->mode)
		return 0;
	if (thread->core->mode == PMUKIT_IMC_TRACE)
		return imc_engine_tick_ns(imc_engine_period_ns(thread->core->scom));
	return IMC_ENGINE_POST_NS;
}

static enum hrtimer_restart imc_engine_tick(struct hrtimer *timer)
{
	struct imc_engine_thread *thread = container_of(timer, struct imc_engine_thread, tick);
	u64 due_ns = ktime_to_ns(hrtimer_get_expires(timer)), period_ns, next_ns;

	raw_spin_lock(&thread->core->lock);
	period_ns = imc_engine_wanted_period_ns(thread);
	if (period_ns) {
		thread->ticks++;
		imc_engine_post_thread(thread);
		imc_engine_post_core(thread->core);
		if (imc_engine_traces(thread))
			imc_engine_trace_tick(thread, max(imc_engine_now_ns(), due_ns));
	}
	raw_spin_unlock(&thread->core->lock);
	if (!period_ns)
		return HRTIMER_NORESTART;

	next_ns = imc_engine_next_tick(ktime_get_ns(), period_ns,
				       imc_engine_phase_ns(smp_processor_id(), period_ns));
	thread->period_ns = period_ns;
	hrtimer_set_expires(timer, ns_to_ktime(next_ns));
	return HRTIMER_RESTART;
}

/* Starts this CPU's tick if it is needed. Interrupts are off. */
static void imc_engine_tick_start(struct imc_engine_thread *thread)
{
	u64 period_ns, first_ns;

	raw_spin_lock(&thread->core->lock);
	period_ns = imc_engine_wanted_period_ns(thread);
	raw_spin_unlock(&thread->core->lock);
	if (!period_ns || (hrtimer_is_queued(&thread->tick) && thread->period_ns == period_ns))
		return;
	first_ns = imc_engine_next_tick(ktime_get_ns(), period_ns,
					imc_engine_phase_ns(smp_processor_id(), period_ns));
	thread->period_ns = period_ns;
	hrtimer_start(&thread->tick, ns_to_ktime(first_ns), HRTIMER_MODE_ABS_PINNED_HARD);
}

static void imc_engine_kicked(void *data)
{
	struct imc_engine_thread *thread = data;

	atomic_set(&thread->kicked, 0);
	/*
	 * Pairs with the exchange in imc_engine_kick(): a CPU that found kicked set sends no kick,
	 * so imc_engine_tick_start() must see what that CPU wrote before.
	 */
	smp_mb();
	imc_engine_tick_start(thread);
}

/* Starts the tick of a CPU, on that CPU. An offline CPU starts its tick when it comes online. */
static void imc_engine_kick(unsigned int cpu)
{
	struct imc_engine_thread *thread = imc_engine_thread_of(cpu);

	if (cpu == smp_processor_id()) {
		imc_engine_tick_start(thread);
		return;
	}
	/* A queued tick will see the new mode: it leaves the queue before it takes the lock. */
	if (hrtimer_is_queued(&thread->tick))
		return;
	/* A full barrier; pairs with smp_mb() in imc_engine_kicked(). */
	if (atomic_xchg(&thread->kicked, 1))
		return;
	if (smp_call_function_single_async(cpu, &thread->kick))
		atomic_set(&thread->kicked, 0);
}

/* Interface: firmware calls */

static struct imc_engine_core *imc_engine_core_of(unsigned int cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return NULL;
	return READ_ONCE(imc_engine_thread_of(cpu)->core);
}

/* Assigns an online CPU to the core of a sibling; if no sibling has one, to a new core. */
static void imc_engine_place(unsigned int cpu)
{
	struct imc_engine_thread *thread = imc_engine_thread_of(cpu);
	struct imc_engine_core *core = &imc_engine_cores[cpu];
	unsigned long flags;
	unsigned int sibling;

	raw_spin_lock_irqsave(&imc_engine_place_lock, flags);
	if (!thread->core) {
		for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
			if (!imc_engine_thread_of(sibling)->core)
				continue;
			core = imc_engine_thread_of(sibling)->core;
			break;
		}
		/* -1: the platform does not report the package; assume one chip. */
		thread->chip = max(topology_physical_package_id(cpu), 0);
		raw_spin_lock(&core->lock);
		cpumask_set_cpu(cpu, core->cpus);
		raw_spin_unlock(&core->lock);
		WRITE_ONCE(thread->core, core);
	}
	raw_spin_unlock_irqrestore(&imc_engine_place_lock, flags);
}

/*
 * OPAL_IMC_COUNTERS_INIT for a core. The hotplug callback of imc.ko may run before that of the
 * engine, so the CPU may not be assigned to a core yet.
 */
int imc_engine_htm_init(u32 type, phys_addr_t address, unsigned int cpu)
{
	struct imc_engine_core *core;
	unsigned long flags;

	if (cpu < nr_cpu_ids && cpu_online(cpu))
		imc_engine_place(cpu);
	core = imc_engine_core_of(cpu);
	if (!core)
		return -EINVAL;
	raw_spin_lock_irqsave(&core->lock, flags);
	core->mode = 0;
	if (type == PMUKIT_IMC_CORE)
		core->pdbar = address & IMC_ENGINE_BAR_ADDRESS;
	else
		core->scom = imc_engine_scom(imc_engine_cpmc_load);
	raw_spin_unlock_irqrestore(&core->lock, flags);
	return 0;
}

int imc_engine_htm_start(u32 type, unsigned int cpu)
{
	struct imc_engine_core *core = imc_engine_core_of(cpu);
	unsigned long flags;
	unsigned int sibling;

	if (!core)
		return -EINVAL;
	/* Interrupts stay off until all CPUs are kicked, so that this code does not migrate. */
	raw_spin_lock_irqsave(&core->lock, flags);
	core->mode = type;
	for_each_cpu(sibling, core->cpus)
		imc_engine_thread_rebase(imc_engine_thread_of(sibling));
	core->posted = core->state.facts;
	raw_spin_unlock(&core->lock);
	for_each_cpu(sibling, core->cpus)
		imc_engine_kick(sibling);
	local_irq_restore(flags);
	return 0;
}

/* Posts the remaining counts before it stops HTM. */
int imc_engine_htm_stop(unsigned int cpu)
{
	struct imc_engine_core *core = imc_engine_core_of(cpu);
	unsigned long flags;
	unsigned int sibling;

	if (!core)
		return -EINVAL;
	raw_spin_lock_irqsave(&core->lock, flags);
	for_each_cpu(sibling, core->cpus)
		imc_engine_post_thread(imc_engine_thread_of(sibling));
	imc_engine_post_core(core);
	core->mode = 0;
	raw_spin_unlock_irqrestore(&core->lock, flags);
	return 0;
}

void imc_engine_set_ldbar(unsigned int cpu, u64 value)
{
	struct imc_engine_thread *thread = imc_engine_thread_of(cpu);
	struct imc_engine_core *core = imc_engine_core_of(cpu);
	unsigned long flags;

	if (!core)
		return;
	raw_spin_lock_irqsave(&core->lock, flags);
	imc_engine_post_thread(thread);
	thread->ldbar = value;
	thread->trace.at = 0;
	imc_engine_thread_rebase(thread);
	raw_spin_unlock_irqrestore(&core->lock, flags);
}

struct imc_engine_core *imc_engine_core_by_number(unsigned int number)
{
	return &imc_engine_cores[number];
}

/*
 * The running task. While no event is open, no probe reports task switches: the task is unknown,
 * and its time is not counted. Events do not need this time: their counts start when an engine
 * starts.
 */

/* Called on the thread's CPU, under the core's lock. The probe reports later switches. */
static void imc_engine_thread_learn(struct imc_engine_thread *thread)
{
	imc_engine_thread_account(thread);
	imc_engine_thread_task(thread, current);
	thread->watched = true;
}

/* Called under the core's lock, on any CPU. */
static void imc_engine_thread_forget(struct imc_engine_thread *thread)
{
	imc_engine_thread_account(thread);
	imc_engine_thread_task(thread, NULL);
	thread->watched = false;
}

static void imc_engine_learn_here(void *unused)
{
	struct imc_engine_thread *thread = this_cpu_ptr(&imc_engine_threads);
	struct imc_engine_core *core = READ_ONCE(thread->core);

	if (!core)
		return;
	raw_spin_lock(&core->lock);
	/* The hotplug callbacks handle a CPU that is going online or offline. */
	if (thread->online)
		imc_engine_thread_learn(thread);
	raw_spin_unlock(&core->lock);
}

/* Called after the sched_switch probe is attached: learns the task of each CPU. May sleep. */
void imc_engine_tasks_learn(void)
{
	cpus_read_lock();
	imc_engine_watching = true;
	on_each_cpu(imc_engine_learn_here, NULL, 1);
	cpus_read_unlock();
}

/*
 * Called before the sched_switch probe is detached: drops the task pointers, because nothing
 * reports the exit of a task any more. May sleep.
 */
void imc_engine_tasks_forget(void)
{
	unsigned int cpu;

	cpus_read_lock();
	imc_engine_watching = false;
	for_each_possible_cpu(cpu) {
		struct imc_engine_core *core = imc_engine_core_of(cpu);

		if (!core)
			continue;
		raw_spin_lock_irq(&core->lock);
		imc_engine_thread_forget(imc_engine_thread_of(cpu));
		raw_spin_unlock_irq(&core->lock);
	}
	cpus_read_unlock();
}

/* CPU hotplug callbacks; they run on the CPU itself. */

int imc_engine_cpu_online(unsigned int cpu)
{
	struct imc_engine_thread *thread = imc_engine_thread_of(cpu);

	imc_engine_place(cpu);
	local_irq_disable();
	raw_spin_lock(&thread->core->lock);
	if (imc_engine_watching)
		imc_engine_thread_learn(thread);
	imc_engine_thread_rebase(thread);
	thread->online = true;
	raw_spin_unlock(&thread->core->lock);
	imc_engine_tick_start(thread);
	local_irq_enable();
	return 0;
}

int imc_engine_cpu_offline(unsigned int cpu)
{
	struct imc_engine_thread *thread = imc_engine_thread_of(cpu);

	raw_spin_lock_irq(&thread->core->lock);
	imc_engine_post_thread(thread);
	imc_engine_post_core(thread->core);
	imc_engine_thread_forget(thread);
	thread->online = false;
	raw_spin_unlock_irq(&thread->core->lock);
	hrtimer_cancel(&thread->tick);
	return 0;
}

/* Load and unload */

static void imc_engine_core_init(struct imc_engine_core *core)
{
	raw_spin_lock_init(&core->lock);
	core->scom = imc_engine_scom(imc_engine_cpmc_load);
	core->state.stamp_ns = imc_engine_now_ns();
}

static void imc_engine_thread_init(struct imc_engine_thread *thread)
{
	INIT_CSD(&thread->kick, imc_engine_kicked, thread);
	thread->state.since_ns = imc_engine_now_ns();
	hrtimer_setup(&thread->tick, imc_engine_tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

static void imc_engine_cores_free(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		free_cpumask_var(imc_engine_cores[cpu].cpus);
	kfree(imc_engine_cores);
}

int imc_engine_htm_prepare(u32 cpmc_load)
{
	unsigned int cpu;

	imc_engine_cpmc_load = cpmc_load;
	imc_engine_cores = kcalloc(nr_cpu_ids, sizeof(*imc_engine_cores), GFP_KERNEL);
	if (!imc_engine_cores)
		return -ENOMEM;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		imc_engine_core_init(&imc_engine_cores[cpu]);
		if (!zalloc_cpumask_var(&imc_engine_cores[cpu].cpus, GFP_KERNEL)) {
			imc_engine_cores_free();
			return -ENOMEM;
		}
	}
	for_each_possible_cpu(cpu)
		imc_engine_thread_init(imc_engine_thread_of(cpu));
	return 0;
}

/* Called after unregistration and after imc_engine_cpu_offline() of all CPUs; no probe runs. */
void imc_engine_htm_finish(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		while (atomic_read(&imc_engine_thread_of(cpu)->kicked))
			usleep_range(500, 1000);
	/*
	 * Waits for imc_engine_kicked(), which continues with interrupts off after it clears
	 * kicked.
	 */
	synchronize_rcu();
	imc_engine_cores_free();
}
