/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* memcpy() and similar functions of the C library. */
#ifndef KSHIM_LINUX_STRING_H
#define KSHIM_LINUX_STRING_H

#include <string.h>

#endif
