// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_closid CPU ROUNDS: change the class of service of a simulated CPU as pqos and rdtset
 * do, which read PQR_ASSOC, change its upper half and write both; each is looked for again after
 * the driver has written the register.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BOOK "/sys/kernel/debug/cache_qos_sim/"

static int read_cpu(unsigned int cpu, unsigned long long *pqr, unsigned long long *writes)
{
	unsigned int number;
	FILE *file = fopen(BOOK "cpus", "r");
	char line[512];
	int found = 0;

	if (!file)
		return 0;
	while (!found && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, "pqr_writes ");

		found = at && sscanf(line, "cpu %u domain %*u pqr %llx", &number, pqr) == 2 &&
			number == cpu && sscanf(at, "pqr_writes %llu", writes) == 1;
	}
	fclose(file);
	return found;
}

static int write_pqr(unsigned int cpu, unsigned long long value)
{
	char line[64];
	int fd = open(BOOK "control", O_WRONLY), size, done;

	if (fd < 0)
		return 0;
	size = snprintf(line, sizeof(line), "pqr %u %llu", cpu, value);
	done = write(fd, line, size) == size;
	close(fd);
	return done;
}

/* Until the driver has written the register after @before, for a second at most. */
static int wait_write(unsigned int cpu, unsigned long long before, unsigned long long *pqr)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long long writes = before;
	int left;

	for (left = 1000; left && writes == before; left--) {
		nanosleep(&pause, NULL);
		if (!read_cpu(cpu, pqr, &writes))
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long long pqr, writes, unwritten = 0, lost = 0, closid;
	unsigned int cpu, rounds, i;

	if (argc != 3) {
		fprintf(stderr, "usage: cache_qos_closid CPU ROUNDS\n");
		return 2;
	}
	cpu = strtoul(argv[1], NULL, 10);
	rounds = strtoul(argv[2], NULL, 10);
	for (i = 0; i < rounds; i++) {
		closid = i % 15 + 1;
		if (!read_cpu(cpu, &pqr, &writes) ||
		    !write_pqr(cpu, closid << 32 | (pqr & 0xffffffff)) ||
		    !read_cpu(cpu, &pqr, &writes) || !wait_write(cpu, writes, &pqr)) {
			fprintf(stderr, "cache_qos_closid: no CPU %u in " BOOK "\n", cpu);
			return 69;
		}
		lost += pqr >> 32 != closid;
		if (read_cpu(cpu, &pqr, &closid))
			unwritten += closid == writes;
	}
	printf("%llu of %u classes of service lost; after %llu the driver wrote nothing\n", lost,
	       rounds, unwritten);
	return lost || unwritten > rounds / 10;
}
