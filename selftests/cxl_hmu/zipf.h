/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Zipf's law: the unit of rank r (1, 2, ...) is chosen with a probability proportional to 1/r^s.
 * The ranks are a random permutation of the units. Equal seeds give equal ranks for the same number
 * of units.
 */
#ifndef ZIPF_H
#define ZIPF_H

#include <linux/types.h>

struct zipf {
	unsigned long units;
	__u64 *cumulative;	/* cumulative[r] is the sum of the weights of ranks 0 to r */
	unsigned long *unit_of;	/* unit_of[r] is the unit of rank r */
};

__u64 zipf_random_below(__u64 *state, __u64 n);	/* n > 0 */
int zipf_init(struct zipf *zipf, unsigned long units, double skew, __u64 *state);
unsigned long zipf_next(const struct zipf *zipf, __u64 *state);
void zipf_free(struct zipf *zipf);

#endif
