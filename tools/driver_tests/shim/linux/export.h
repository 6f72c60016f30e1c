/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Userspace code exports no symbols. */
#ifndef KSHIM_LINUX_EXPORT_H
#define KSHIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL_GPL(symbol) _Static_assert(1, #symbol)

#endif
