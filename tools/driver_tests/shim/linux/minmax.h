/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* min_t and max_t under the kernel's names. */
#ifndef KSHIM_LINUX_MINMAX_H
#define KSHIM_LINUX_MINMAX_H

#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))

#endif
