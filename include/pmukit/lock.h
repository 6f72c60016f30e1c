/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock that a CPU may try to take again while it holds it; the attempt fails.
 *
 * Code under a lock can be traced: the start of a timer, an access to an MSR, the lock itself. A
 * trace event may lead a group that one of our events is in, and its sample reads all events of the
 * group at once, on this CPU. So a CPU is marked (@inside) from before it takes the lock until it
 * has released it, and pmukit_lock_from_within() on a marked CPU fails instead of deadlocking.
 *
 * A BPF program of such a trace event may read our events on other CPUs as well, while the locks of
 * the traced code are held there. A holder that calls code which takes locks says so by
 * pmukit_lock_calls(); meanwhile pmukit_lock_from_within() does not wait, as its caller may hold
 * one of these locks.
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
 * @calls: the holder may wait for other locks
 * @raw: the lock
 */
struct pmukit_lock {
	struct cpumask inside;
	bool calls;
	raw_spinlock_t raw;
};

/* A macro, so that each lock has a class of its own. */
#define pmukit_lock_init(lock)				\
do {							\
	struct pmukit_lock *new_lock = (lock);		\
							\
	cpumask_clear(&new_lock->inside);		\
	new_lock->calls = false;			\
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

/**
 * pmukit_lock_calls - under the lock something is about to be called that takes locks, or has been
 * @lock: the lock, held
 * @calls: which of the two
 */
static inline void pmukit_lock_calls(struct pmukit_lock *lock, bool calls)
{
	WRITE_ONCE(lock->calls, calls);
}

/*
 * Does not wait in an NMI: the interrupted code may hold a lock that the holder of this one waits
 * for. Does not wait while the holder calls code that takes locks, either. A trylock, so that
 * lockdep records no order here: a trace event of timers comes with their locks held, under which
 * this lock is otherwise never taken.
 */
static inline bool pmukit_lock_now(struct pmukit_lock *lock)
{
	while (!raw_spin_trylock(&lock->raw)) {
		if (in_nmi() || READ_ONCE(lock->calls))
			return false;
		cpu_relax();
	}
	return true;
}

/**
 * pmukit_lock_from_within - take a lock that this CPU may have
 * @lock: the lock
 * @flags: for pmukit_unlock()
 *
 * Context: any.
 *
 * Return: false when this CPU has it already, or when it cannot be had at once in an NMI or while
 * its holder calls what takes locks.
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
