/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Simulates up to 64 CPUs in one thread. A test sets the current CPU, and the function that a CPU
 * calls while it waits (kshim_now.relax).
 */
#ifndef KSHIM_LINUX_SPINLOCK_H
#define KSHIM_LINUX_SPINLOCK_H

#include <asm/rwonce.h>
#include <linux/types.h>

struct kshim_now {
	unsigned int cpu;
	bool nmi;
	void (*relax)(void);
};

extern struct kshim_now kshim_now;

struct cpumask {
	unsigned long bits;
};

typedef struct {
	bool held;
} raw_spinlock_t;

#define __acquires(lock)
#define __releases(lock)
#define smp_processor_id()	(kshim_now.cpu)
#define in_nmi()		(kshim_now.nmi)
#define cpu_relax()		kshim_now.relax()
#define local_irq_save(flags)		((flags) = 0)
#define local_irq_restore(flags)	((void)(flags))
#define raw_spin_lock_init(lock)	((lock)->held = false)

static inline void cpumask_clear(struct cpumask *mask)
{
	mask->bits = 0;
}

static inline void cpumask_set_cpu(unsigned int cpu, struct cpumask *mask)
{
	mask->bits |= 1UL << cpu;
}

static inline void cpumask_clear_cpu(unsigned int cpu, struct cpumask *mask)
{
	mask->bits &= ~(1UL << cpu);
}

static inline bool cpumask_test_and_set_cpu(unsigned int cpu, struct cpumask *mask)
{
	bool was_set = mask->bits >> cpu & 1;

	cpumask_set_cpu(cpu, mask);
	return was_set;
}

static inline bool raw_spin_trylock(raw_spinlock_t *lock)
{
	bool was_held = lock->held;

	lock->held = true;
	return !was_held;
}

static inline void raw_spin_lock(raw_spinlock_t *lock)
{
	while (!raw_spin_trylock(lock))
		cpu_relax();
}

static inline void raw_spin_unlock(raw_spinlock_t *lock)
{
	lock->held = false;
}

#endif
