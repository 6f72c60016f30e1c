/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* tolower() and similar functions of the C library. */
#ifndef KSHIM_LINUX_CTYPE_H
#define KSHIM_LINUX_CTYPE_H

#include <ctype.h>

#endif
