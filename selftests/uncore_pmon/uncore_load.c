// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses the memory of a BAR a known number of times: the DDR range of the emulated uncore
 * function, or the memory of the CXL expander. Each load and each store is one access of --width
 * bytes. Each access is --step bytes after the previous one and wraps around within the --bytes
 * that begin at --offset. With --every-us the program makes one load and one store per period, and
 * catches up after a delay. It also reads and writes single registers. It maps the resource file in
 * sysfs, so no driver is involved, and prints the number of accesses.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pci_function.h"

#define EXIT_USAGE	2
#define EXIT_SKIP	4	/* KSFT_SKIP */

#define NSEC_PER_USEC	1000
#define USEC_PER_SEC	1000000

enum setting {
	BAR, READS, WRITES, WIDTH, STEP, OFFSET, BYTES, EVERY_US, NR_SETTINGS, FUNCTION, PEEK, POKE,
};

struct options {
	const char *function;
	const char *peek, *poke;	/* arguments: --peek OFFSET, --poke OFFSET=VALUE */
	unsigned long value[NR_SETTINGS];
};

struct memory {
	volatile __u8 *at;
	size_t bytes;
};

static int map_memory(const struct options *opt, struct memory *memory)
{
	char name[PCI_NAME_BYTES];
	int err;

	snprintf(name, sizeof(name), "0000:%s", opt->function);
	err = pci_command(name, PCI_COMMAND_MEMORY);
	if (err)
		return err;
	memory->at = pci_map(name, opt->value[BAR], &memory->bytes);
	return memory->at ? 0 : -ENODEV;
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * USEC_PER_SEC + now.tv_nsec / NSEC_PER_USEC;
}

static void wait_until(long long us)
{
	while (now_us() < us)
		;
}

/* Alternates one store and one load until one kind is complete, so that their ratio is constant. */
static void touch(const struct options *opt, const struct memory *memory)
{
	unsigned long width = opt->value[WIDTH], step = opt->value[STEP];
	unsigned long places = (opt->value[BYTES] - width) / step + 1;
	unsigned long reads = opt->value[READS], writes = opt->value[WRITES];
	unsigned long most = reads > writes ? reads : writes;
	long long begin = now_us();

	for (unsigned long i = 0; i < most; i++) {
		volatile __u8 *at = memory->at + opt->value[OFFSET] + i % places * step;

		if (i < opt->value[WRITES])
			pci_store(at, width, i);
		if (i < opt->value[READS])
			pci_load(at, width);
		if (opt->value[EVERY_US])
			wait_until(begin + (i + 1) * opt->value[EVERY_US]);
	}
	if (opt->value[WRITES])
		printf("uncore_load: stores=%lu\n", opt->value[WRITES]);
	if (opt->value[READS])
		printf("uncore_load: loads=%lu\n", opt->value[READS]);
}

/* Options */

static int fits(const struct options *opt, const struct memory *memory, unsigned long offset,
		unsigned long bytes)
{
	return offset % opt->value[WIDTH] == 0 && bytes >= opt->value[WIDTH] &&
	       offset < memory->bytes && bytes <= memory->bytes - offset;
}

static int run(struct options *opt, const struct memory *memory)
{
	unsigned long width = opt->value[WIDTH], offset;
	char *end;

	if (!opt->value[BYTES] && opt->value[OFFSET] < memory->bytes)
		opt->value[BYTES] = memory->bytes - opt->value[OFFSET];
	if (!fits(opt, memory, opt->value[OFFSET], opt->value[BYTES]))
		return -ERANGE;
	if (opt->poke) {
		offset = strtoul(opt->poke, &end, 0);
		if (*end != '=' || !fits(opt, memory, offset, width))
			return -ERANGE;
		pci_store(memory->at + offset, width, strtoull(end + 1, NULL, 0));
	}
	touch(opt, memory);
	if (opt->peek) {
		offset = strtoul(opt->peek, NULL, 0);
		if (!fits(opt, memory, offset, width))
			return -ERANGE;
		printf("%llu\n", pci_load(memory->at + offset, width));
	}
	return 0;
}

static int parse(int argc, char **argv, struct options *opt)
{
	static const struct option words[] = {
		{ "function", required_argument, NULL, FUNCTION },
		{ "bar", required_argument, NULL, BAR },
		{ "reads", required_argument, NULL, READS },
		{ "writes", required_argument, NULL, WRITES },
		{ "width", required_argument, NULL, WIDTH },
		{ "step", required_argument, NULL, STEP },
		{ "offset", required_argument, NULL, OFFSET },
		{ "bytes", required_argument, NULL, BYTES },
		{ "every-us", required_argument, NULL, EVERY_US },
		{ "peek", required_argument, NULL, PEEK },
		{ "poke", required_argument, NULL, POKE },
		{}
	};
	unsigned long width;
	int word;

	while ((word = getopt_long(argc, argv, "", words, NULL)) != -1) {
		if (word == FUNCTION)
			opt->function = optarg;
		else if (word == PEEK)
			opt->peek = optarg;
		else if (word == POKE)
			opt->poke = optarg;
		else if (word < NR_SETTINGS)
			opt->value[word] = strtoul(optarg, NULL, 0);
		else
			return -EINVAL;
	}
	width = opt->value[WIDTH];
	if (!opt->function || optind != argc ||
	    (width != 1 && width != 2 && width != 4 && width != 8) || opt->value[STEP] % width ||
	    !opt->value[STEP])
		return -EINVAL;
	return 0;
}

int main(int argc, char **argv)
{
	struct options opt = { .value = { [BAR] = 4, [WIDTH] = 8, [STEP] = 64 } };
	struct memory memory;
	int err;

	if (parse(argc, argv, &opt)) {
		fprintf(stderr,
			"usage: uncore_load --function 00:18.0 [--bar 4] [--reads N] [--writes N]\n"
			"                   [--width 1|2|4|8] [--step 64] [--offset N] [--bytes N]\n"
			"                   [--every-us N] [--poke OFFSET=VALUE] [--peek OFFSET]\n");
		return EXIT_USAGE;
	}
	err = map_memory(&opt, &memory);
	if (err == -ENOENT)
		return EXIT_SKIP;
	if (!err)
		err = run(&opt, &memory);
	if (err)
		fprintf(stderr, "uncore_load: %s BAR %lu: %s\n", opt.function, opt.value[BAR],
			strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
