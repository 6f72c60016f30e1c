/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The C library has tolower() and similar functions. */
#ifndef KSHIM_LINUX_CTYPE_H
#define KSHIM_LINUX_CTYPE_H

#include <ctype.h>

#endif
