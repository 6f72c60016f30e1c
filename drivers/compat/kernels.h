/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The supported range of kernels, defined only here. The modules are built and tested on 6.1, 6.12
 * and 7.2; kernels in between are expected to work but are not tested.
 */
#ifndef PMUKIT_COMPAT_KERNELS_H
#define PMUKIT_COMPAT_KERNELS_H

#include <linux/version.h>

#define PMUKIT_KERNEL_MIN	KERNEL_VERSION(6, 1, 0)		/* Debian 12 */
#define PMUKIT_KERNEL_MAX	KERNEL_VERSION(7, 2, 255)	/* Debian 13 backports */

#if LINUX_VERSION_CODE < PMUKIT_KERNEL_MIN && !defined(PMUKIT_ALLOW_OLDER_KERNEL)
#error "pmukit needs Linux 6.1 or newer"
#endif

#if LINUX_VERSION_CODE > PMUKIT_KERNEL_MAX && !defined(PMUKIT_ALLOW_NEWER_KERNEL)
#error "untested kernel; build with KCFLAGS=-DPMUKIT_ALLOW_NEWER_KERNEL to try it"
#endif

#endif /* PMUKIT_COMPAT_KERNELS_H */
