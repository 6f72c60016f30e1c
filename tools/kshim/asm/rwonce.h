/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* READ_ONCE under the kernel's name. */
#ifndef KSHIM_ASM_RWONCE_H
#define KSHIM_ASM_RWONCE_H

#define READ_ONCE(object) (*(const volatile __typeof__(object) *)&(object))

#endif
