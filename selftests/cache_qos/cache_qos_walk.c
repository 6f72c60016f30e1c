// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_walk MIB PASSES MARK [SECONDS]: writes to each cache line of MIB MiB of memory, PASSES
 * times (a walk), then sleeps. Makes mark MARK before the walk and MARK + 1 after it. At a mark, a
 * processor that tools/rdt emulates writes its reference log; on other processors a mark does
 * nothing. With MIB 0 the program makes only the mark MARK.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINE	64

static void mark(unsigned int number)
{
#ifdef __x86_64__
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, 'r', 'd', 't', 'm'" : : "a"(number) : "memory");
#else
	(void)number;
#endif
}

static void walk(volatile char *memory, size_t bytes, unsigned long passes)
{
	for (; passes; passes--)
		for (size_t at = 0; at < bytes; at += LINE)
			memory[at]++;
}

int main(int argc, char **argv)
{
	size_t bytes;
	unsigned int number;
	char *memory;

	if (argc < 4) {
		fprintf(stderr, "usage: cache_qos_walk MIB PASSES MARK [SECONDS]\n");
		return 2;
	}
	bytes = strtoul(argv[1], NULL, 0) << 20;
	number = strtoul(argv[3], NULL, 0);
	if (!bytes) {
		mark(number);
		return 0;
	}
	/* MAP_POPULATE: the kernel writes the new pages before the first mark. */
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED) {
		perror("cache_qos_walk");
		return 1;
	}
	mark(number);
	walk(memory, bytes, strtoul(argv[2], NULL, 0));
	mark(number + 1);
	if (argc > 4) {
		puts("walked");
		fflush(stdout);
		sleep(strtoul(argv[4], NULL, 0));
	}
	return 0;
}
