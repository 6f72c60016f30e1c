// SPDX-License-Identifier: GPL-2.0-only
#include "stress.h"

/* splitmix64, so that adjacent seeds have unrelated sequences */
struct stress_random stress_seeded(__u64 seed)
{
	__u64 mixed = seed + 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
	mixed ^= mixed >> 31;
	return (struct stress_random){ .state = mixed ? mixed : 1 };
}

/* xorshift64* */
__u64 stress_next(struct stress_random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dULL;
}

unsigned int stress_below(struct stress_random *random, unsigned int n)
{
	return (stress_next(random) >> 32) % n;
}

bool stress_one_in(struct stress_random *random, unsigned int n)
{
	return !stress_below(random, n);
}

__u64 stress_number(struct stress_random *random)
{
	__u64 power = 1ULL << stress_below(random, 64);

	switch (stress_below(random, 6)) {
	case 0:
		return stress_below(random, 4);
	case 1:
		return power;
	case 2:
		return power - 1;
	case 3:
		return power + 1;
	case 4:
		return ~0ULL - stress_below(random, 2);
	default:
		return stress_next(random) >> stress_below(random, 64);
	}
}
