// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_load busy MS | split MS | faults PAGES | switches N: does a known amount of work, which tests
 * measure with events. Prints nothing.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "imc_work.h"
#include "pmu_machine.h"

static int print_error(void)
{
	fprintf(stderr, "usage: imc_load busy MS | split MS | faults PAGES | switches N\n");
	return 2;
}

static int touch(long pages)
{
	long size = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, pages * size, MADV_NOHUGEPAGE);
	for (long page = 0; page < pages; page++)
		memory[page * size] = 1;
	return munmap(memory, pages * size) ? 1 : 0;
}

int main(int argc, char **argv)
{
	long amount = argc == 3 ? atol(argv[2]) : -1;
	long long end = now_ms() + amount;

	if (amount < 0)
		return print_error();
	if (!strcmp(argv[1], "busy")) {
		work_in_user(amount);
	} else if (!strcmp(argv[1], "split")) {
		while (now_ms() < end)
			work_split();
	} else if (!strcmp(argv[1], "faults")) {
		return touch(amount);
	} else if (!strcmp(argv[1], "switches")) {
		while (amount--)
			usleep(100);
	} else {
		return print_error();
	}
	return 0;
}
