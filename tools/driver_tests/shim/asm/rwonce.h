/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* READ_ONCE and WRITE_ONCE under the kernel's names. */
#ifndef KSHIM_ASM_RWONCE_H
#define KSHIM_ASM_RWONCE_H

#define READ_ONCE(object) (*(const volatile __typeof__(object) *)&(object))
#define WRITE_ONCE(object, value) (*(volatile __typeof__(object) *)&(object) = (value))

#endif
