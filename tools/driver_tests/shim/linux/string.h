/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The C library has memcpy() and similar functions. */
#ifndef KSHIM_LINUX_STRING_H
#define KSHIM_LINUX_STRING_H

#include <string.h>

#endif
