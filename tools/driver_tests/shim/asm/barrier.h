/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Memory barriers under the kernel's names. */
#ifndef KSHIM_ASM_BARRIER_H
#define KSHIM_ASM_BARRIER_H

#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_load_acquire(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define smp_store_release(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)

#endif
