// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program whose memory is on one NUMA node at the start, and which accesses some pages far more
 * often than others (zipf.h). It reads commands from standard input, one per line, and
 * prints one line after each:
 *
 *   run PHASE ACCESSES		makes ACCESSES accesses, which belong to the phase PHASE
 *
 * An instruction without effect marks the beginning and end of a phase for the plugin of the
 * emulator (tools/memtap), which counts the accesses of each phase.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"
#include "zipf.h"

#define EXIT_USAGE	2
#define PAGE_BYTES	4096UL
#define WORDS		(PAGE_BYTES / sizeof(__u64))
#define WRITE_PERCENT	30

enum setting { SEED, PAGES, NODE, SKEW_PERCENT, NR_SETTINGS };

#if defined(__x86_64__)
#define MARK(phase) ".byte 0x0f, 0x1f, 0x80, 'p', 'm', 'k', " #phase
#else
#define MARK(phase) "/* no emulator knows " #phase " */"
#endif

static void mark_nothing(void) { asm volatile(MARK(0) ::: "memory"); }
static void mark_before(void) { asm volatile(MARK(1) ::: "memory"); }
static void mark_after(void) { asm volatile(MARK(2) ::: "memory"); }

static void (*const marks[])(void) = { mark_nothing, mark_before, mark_after };

#define NR_PHASES	ARRAY_SIZE(marks)

/* Uses small pages, because the kernel moves a huge page as a whole. */
static __u64 *map_on_node(unsigned long pages, unsigned int node)
{
	unsigned long mask = 1UL << node;
	void *at = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, pages * PAGE_BYTES, MADV_NOHUGEPAGE);
	if (syscall(SYS_mbind, at, pages * PAGE_BYTES, MPOL_BIND, &mask, sizeof(mask) * 8, 0))
		return NULL;
	memset(at, 1, pages * PAGE_BYTES);
	/* The pages are there. Without a policy, pmukit tierd may move them. */
	if (syscall(SYS_mbind, at, pages * PAGE_BYTES, MPOL_DEFAULT, NULL, 0, 0))
		return NULL;
	return at;
}

static unsigned long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void access_memory(__u64 *memory, const struct zipf *zipf, unsigned long accesses,
			  __u64 *state)
{
	for (unsigned long i = 0; i < accesses; i++) {
		volatile __u64 *word =
			memory + zipf_next(zipf, state) * WORDS + zipf_random_below(state, WORDS);

		if (zipf_random_below(state, 100) < WRITE_PERCENT)
			*word = i;
		else
			(void)*word;
	}
}

/* Executes commands until the end of the input. */
static int obey(__u64 *memory, const struct zipf *zipf, __u64 *state)
{
	unsigned long phase, accesses, begin;
	char line[80];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "run %lu %lu", &phase, &accesses) != 2 || phase >= NR_PHASES)
			return -EINVAL;
		begin = now_ms();
		marks[phase]();
		access_memory(memory, zipf, accesses, state);
		marks[0]();
		printf("tier_load: ran phase=%lu accesses=%lu ms=%lu\n", phase, accesses,
		       now_ms() - begin);
	}
	return 0;
}

static void print_error(void)
{
	fprintf(stderr, "usage: tier_load [--seed N] [--pages N] [--node N] [--skew-percent N]\n"
			"  --skew-percent N  100 times the exponent s of Zipf's law\n"
			"then, line by line: run PHASE ACCESSES\n");
	exit(EXIT_USAGE);
}

static unsigned long long number(const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		print_error();
	return value;
}

static void parse(int argc, char **argv, unsigned long long *value)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, SEED },
		{ "pages", required_argument, NULL, PAGES },
		{ "node", required_argument, NULL, NODE },
		{ "skew-percent", required_argument, NULL, SKEW_PERCENT },
		{ },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option >= NR_SETTINGS)
			print_error();
		value[option] = number(optarg);
	}
	if (optind != argc || !value[PAGES] || value[NODE] > 62 || value[SKEW_PERCENT] > 1000)
		print_error();
}

int main(int argc, char **argv)
{
	unsigned long long value[NR_SETTINGS] = {
		[SEED] = 1, [PAGES] = 2048, [NODE] = 1, [SKEW_PERCENT] = 110
	};
	struct zipf zipf;
	__u64 *memory, state;
	int err;

	parse(argc, argv, value);
	state = value[SEED];
	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = map_on_node(value[PAGES], value[NODE]);
	if (!memory) {
		fprintf(stderr, "tier_load: no memory on node %llu: %s\n", value[NODE],
			strerror(errno));
		return EXIT_FAILURE;
	}
	err = zipf_init(&zipf, value[PAGES], value[SKEW_PERCENT] / 100.0, &state);
	if (err) {
		fprintf(stderr, "tier_load: %s\n", strerror(-err));
		return EXIT_FAILURE;
	}
	printf("tier_load: ready pages=%llu node=%llu\n", value[PAGES], value[NODE]);
	err = obey(memory, &zipf, &state);
	if (err)
		fprintf(stderr, "tier_load: no such order\n");
	zipf_free(&zipf);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
