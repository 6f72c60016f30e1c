/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* tolower and its kin come from the C library. */
#ifndef KSHIM_LINUX_CTYPE_H
#define KSHIM_LINUX_CTYPE_H

#include <ctype.h>

#endif
