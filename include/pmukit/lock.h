/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock that a CPU may try to take again while it holds it: the attempt fails instead of
 * deadlocking.
 *
 * Code under a lock can be traced: the start of a timer, an access to an MSR, the lock itself. A
 * trace event may lead a group that contains an event of the driver; its sample reads all events of
 * the group at once, on this CPU, and the driver's read callback takes the lock. So a CPU is marked
 * in pmukit_lock.inside from before it takes the lock until it has released the lock, and
 * pmukit_lock_from_within() fails on a marked CPU.
 *
 * A BPF program on such a trace event may also read the driver's events on other CPUs, while the
 * locks of the traced code are held. So a holder calls pmukit_lock_calls() before and after it
 * calls code that takes other locks. In between, pmukit_lock_from_within() does not wait, because
 * its caller may hold one of these other locks.
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
 * @inside: CPUs that hold the lock or wait for it
 * @calls: the holder calls code that may wait for other locks
 * @raw: the lock
 */
struct pmukit_lock {
	struct cpumask inside;
	bool calls;
	raw_spinlock_t raw;
};

/* A macro, so that each lock has its own lockdep class. */
#define pmukit_lock_init(lock)				\
do {							\
	struct pmukit_lock *new_lock = (lock);		\
							\
	cpumask_clear(&new_lock->inside);		\
	new_lock->calls = false;			\
	raw_spin_lock_init(&new_lock->raw);		\
} while (0)

/**
 * pmukit_lock - take a lock that this CPU cannot already hold
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
 * pmukit_unlock - release a lock
 * @lock: the lock
 * @flags: return value of pmukit_lock(), or @flags of pmukit_lock_from_within()
 */
static inline void pmukit_unlock(struct pmukit_lock *lock, unsigned long flags)
	__releases(&lock->raw)
{
	raw_spin_unlock(&lock->raw);
	cpumask_clear_cpu(smp_processor_id(), &lock->inside);
	local_irq_restore(flags);
}

/**
 * pmukit_lock_calls - mark the time in which the holder calls code that takes locks
 * @lock: the lock, held
 * @calls: true before the calls, false after them
 */
static inline void pmukit_lock_calls(struct pmukit_lock *lock, bool calls)
{
	WRITE_ONCE(lock->calls, calls);
}

/*
 * In an NMI, pmukit_lock_now() does not wait: the interrupted code may hold a lock that the holder
 * of this lock waits for. Neither does it wait while the holder calls code that takes locks. It
 * uses trylock, so that lockdep records no lock order here: trace events of timers fire under timer
 * locks, under which this lock is otherwise never taken.
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
 * pmukit_lock_from_within - take a lock that this CPU may already hold
 * @lock: the lock
 * @flags: for pmukit_unlock()
 *
 * Context: any.
 *
 * Return: false if this CPU already holds the lock or waits for it. Also false, in an NMI or while
 * the holder calls code that takes locks, if the lock is not free.
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
