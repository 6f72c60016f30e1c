/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock that its own CPU may ask for while it has it.
 *
 * What runs under a lock can be traced: the start of a timer, an access to an MSR, the lock itself.
 * A trace event may lead a group that one of our events is in, and its sample reads all of them at
 * once, on this CPU. So a CPU is noted before it takes the lock and until it has given it back, and
 * who comes from within is told so instead of waiting for himself.
 */
#ifndef PMUKIT_LOCK_H
#define PMUKIT_LOCK_H

#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

/**
 * struct pmukit_lock - a raw spinlock, taken with interrupts off
 * @inside: CPUs that have it or wait for it
 * @raw: the lock
 */
struct pmukit_lock {
	struct cpumask inside;
	raw_spinlock_t raw;
};

/* A macro, so that each lock has a class of its own. */
#define pmukit_lock_init(lock)				\
do {							\
	struct pmukit_lock *new_lock = (lock);		\
							\
	cpumask_clear(&new_lock->inside);		\
	raw_spin_lock_init(&new_lock->raw);		\
} while (0)

/**
 * pmukit_lock - take a lock that this CPU cannot have
 * @lock: the lock
 *
 * Context: any but NMI.
 *
 * Return: flags for pmukit_unlock().
 */
static inline unsigned long pmukit_lock(struct pmukit_lock *lock)
	__acquires(&lock->raw)
{
	unsigned long flags;

	local_irq_save(flags);
	cpumask_set_cpu(smp_processor_id(), &lock->inside);
	raw_spin_lock(&lock->raw);
	return flags;
}

/**
 * pmukit_unlock - give a lock back
 * @lock: the lock
 * @flags: what they were
 */
static inline void pmukit_unlock(struct pmukit_lock *lock, unsigned long flags)
	__releases(&lock->raw)
{
	raw_spin_unlock(&lock->raw);
	cpumask_clear_cpu(smp_processor_id(), &lock->inside);
	local_irq_restore(flags);
}

/*
 * In an NMI nobody waits: what it interrupted may have what the holder of the lock waits for. Nor
 * can it be lockdep's business who waits here: a trace event of timers comes with the locks of this
 * CPU's timers held, under which the lock is otherwise never taken.
 */
static inline bool pmukit_lock_now(struct pmukit_lock *lock)
{
	if (in_nmi())
		return raw_spin_trylock(&lock->raw);
	while (!raw_spin_trylock(&lock->raw))
		cpu_relax();
	return true;
}

/**
 * pmukit_lock_from_within - take a lock that this CPU may have
 * @lock: the lock
 * @flags: for pmukit_unlock()
 *
 * Locks of timers and this one must not wait for each other: who starts a timer under the lock does
 * so on the CPU that the events are read on.
 *
 * Context: any.
 *
 * Return: false when this CPU has it already, or when it cannot be had at once in an NMI.
 */
static inline bool pmukit_lock_from_within(struct pmukit_lock *lock, unsigned long *flags)
{
	unsigned int cpu;

	local_irq_save(*flags);
	cpu = smp_processor_id();
	if (!cpumask_test_and_set_cpu(cpu, &lock->inside)) {
		if (pmukit_lock_now(lock))
			return true;
		cpumask_clear_cpu(cpu, &lock->inside);
	}
	local_irq_restore(*flags);
	return false;
}

#endif /* PMUKIT_LOCK_H */
