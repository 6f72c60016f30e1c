// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "zipf.h"

/* splitmix64: the sequence of random numbers has the full period with every seed. */
static __u64 next_random(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

__u64 zipf_random_below(__u64 *state, __u64 n)
{
	return (__u64)(((__uint128_t)next_random(state) * n) >> 64);
}

static __u64 *make_weights(unsigned long units, double skew)
{
	__u64 *cumulative = calloc(units, sizeof(*cumulative)), sum = 0;

	for (unsigned long rank = 0; cumulative && rank < units; rank++) {
		sum += 1 + (__u64)(0x1p32 * pow(rank + 1, -skew));
		cumulative[rank] = sum;
	}
	return cumulative;
}

/* Returns a random permutation of 0 .. units - 1. */
static unsigned long *make_ranks(unsigned long units, __u64 *state)
{
	unsigned long *unit_of = calloc(units, sizeof(*unit_of));

	for (unsigned long i = 0; unit_of && i < units; i++) {
		unsigned long j = zipf_random_below(state, i + 1);

		unit_of[i] = unit_of[j];
		unit_of[j] = i;
	}
	return unit_of;
}

int zipf_init(struct zipf *zipf, unsigned long units, double skew, __u64 *state)
{
	zipf->units = units;
	zipf->cumulative = make_weights(units, skew);
	zipf->unit_of = make_ranks(units, state);
	if (zipf->cumulative && zipf->unit_of)
		return 0;
	zipf_free(zipf);
	return -ENOMEM;
}

unsigned long zipf_next(const struct zipf *zipf, __u64 *state)
{
	__u64 point = zipf_random_below(state, zipf->cumulative[zipf->units - 1]);
	unsigned long low = 0, high = zipf->units - 1;

	while (low < high) {
		unsigned long middle = low + (high - low) / 2;

		if (point < zipf->cumulative[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return zipf->unit_of[low];
}

void zipf_free(struct zipf *zipf)
{
	free(zipf->cumulative);
	free(zipf->unit_of);
}
