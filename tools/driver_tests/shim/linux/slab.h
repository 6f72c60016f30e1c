/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Allocates memory from the C library. An RCU grace period ends at once. */
#ifndef KSHIM_LINUX_SLAB_H
#define KSHIM_LINUX_SLAB_H

#include <stdlib.h>
#include <string.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL	0U
#define GFP_ATOMIC	0U
#define __GFP_NOWARN	0U

static inline void *kmemdup(const void *from, size_t size, gfp_t gfp)
{
	void *to = malloc(size);

	(void)gfp;
	return to ? memcpy(to, from, size) : NULL;
}

#define kfree(object)			free(object)
#define kfree_rcu(object, member)	free(object)

#endif
