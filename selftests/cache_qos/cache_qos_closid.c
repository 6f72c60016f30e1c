// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_closid CPU ROUNDS [sim|msr]: changes the class of service of a CPU as pqos and rdtset
 * do: reads PQR_ASSOC, replaces the upper half and writes both halves. After the next write of the
 * register by the driver, the new class must still be there. sim: registers of the simulated
 * machine; msr: registers of the processor.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIM "/sys/kernel/debug/cache_qos_sim/"
#define WRITES "/sys/kernel/debug/pmukit/cache_qos/pqr_writes"
#define PQR_ASSOC 0xc8f

/*
 * Functions that read and write PQR_ASSOC and read how often the driver has written the register.
 * @classes: highest class of service.
 */
struct registers {
	const char *name;
	unsigned int classes;
	int (*read_cpu)(unsigned int cpu, unsigned long long *pqr, unsigned long long *writes);
	int (*write_pqr)(unsigned int cpu, unsigned long long value);
};

static int sim_read_cpu(unsigned int cpu, unsigned long long *pqr, unsigned long long *writes)
{
	unsigned int number;
	FILE *file = fopen(SIM "cpus", "r");
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

static int sim_write_pqr(unsigned int cpu, unsigned long long value)
{
	char line[64];
	int fd = open(SIM "control", O_WRONLY), size, done;

	if (fd < 0)
		return 0;
	size = snprintf(line, sizeof(line), "pqr %u %llu", cpu, value);
	done = write(fd, line, size) == size;
	close(fd);
	return done;
}

static int open_msr(unsigned int cpu, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/cpu/%u/msr", cpu);
	return open(path, flags);
}

/*
 * The driver's number of writes is a sum for all CPUs, so only this CPU may run a monitored task.
 */
static int msr_read_cpu(unsigned int cpu, unsigned long long *pqr, unsigned long long *writes)
{
	FILE *file = fopen(WRITES, "r");
	int fd, done;

	if (!file)
		return 0;
	done = fscanf(file, "%llu", writes) == 1;
	fclose(file);
	fd = open_msr(cpu, O_RDONLY);
	if (fd < 0)
		return 0;
	done = done && pread(fd, pqr, sizeof(*pqr), PQR_ASSOC) == sizeof(*pqr);
	close(fd);
	return done;
}

static int msr_write_pqr(unsigned int cpu, unsigned long long value)
{
	int fd = open_msr(cpu, O_WRONLY), done;

	if (fd < 0)
		return 0;
	done = pwrite(fd, &value, sizeof(value), PQR_ASSOC) == sizeof(value);
	close(fd);
	return done;
}

static const struct registers registers[] = {
	{ "sim", 15, sim_read_cpu, sim_write_pqr },
	{ "msr", 7, msr_read_cpu, msr_write_pqr },
};

static const struct registers *registers_by_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		if (!strcmp(registers[i].name, name))
			return &registers[i];
	return NULL;
}

/* Waits, for a second at most, until the driver's number of writes differs from @before. */
static int wait_write(const struct registers *has, unsigned int cpu, unsigned long long before,
		      unsigned long long *pqr)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long long writes = before;
	int left;

	for (left = 1000; left && writes == before; left--) {
		nanosleep(&pause, NULL);
		if (!has->read_cpu(cpu, pqr, &writes))
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long long pqr, writes, unwritten = 0, lost = 0, closid;
	const struct registers *has = argc > 3 ? registers_by_name(argv[3]) : &registers[0];
	unsigned int cpu, rounds, i;

	if (argc < 3 || !has) {
		fprintf(stderr, "usage: cache_qos_closid CPU ROUNDS [sim|msr]\n");
		return 2;
	}
	cpu = strtoul(argv[1], NULL, 10);
	rounds = strtoul(argv[2], NULL, 10);
	for (i = 0; i < rounds; i++) {
		closid = i % has->classes + 1;
		if (!has->read_cpu(cpu, &pqr, &writes) ||
		    !has->write_pqr(cpu, closid << 32 | (pqr & 0xffffffff)) ||
		    !has->read_cpu(cpu, &pqr, &writes) || !wait_write(has, cpu, writes, &pqr)) {
			fprintf(stderr, "cache_qos_closid: %s: cannot read or write CPU %u\n",
				has->name, cpu);
			return 69;
		}
		lost += pqr >> 32 != closid;
		if (has->read_cpu(cpu, &pqr, &closid))
			unwritten += closid == writes;
	}
	printf("%llu of %u classes of service lost; after %llu the driver wrote nothing\n", lost,
	       rounds, unwritten);
	return lost || unwritten > rounds / 10;
}
