// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads from and stores to the memory of a CXL device, to some units far more often than to others:
 * the unit of rank r (1, 2, ...) is chosen with a probability proportional to 1/r^s (Zipf). The
 * seed alone determines the rank of each unit. The program counts its accesses, independently of
 * the device.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hmu_device.h"
#include "zipf.h"

#define EXIT_USAGE	2
#define PAUSE_US	500
#define EXIT_SKIP	4	/* KSFT_SKIP */

enum setting {
	SEED, ACCESSES, UNITS, UNIT_BYTES, WRITE_PERCENT, SKEW_PERCENT, DEVICE, BURST, SETTLE_MS,
	NR_SETTINGS,
};

struct options {
	unsigned long long value[NR_SETTINGS];
	const char *tally;
};

struct unit {
	unsigned long loads;
	unsigned long stores;
};

static void access_memory(const struct options *opt, const struct hmu_device *device,
			  const struct zipf *zipf, struct unit *tally, __u64 *state)
{
	unsigned long words = opt->value[UNIT_BYTES] / sizeof(__u64);

	for (unsigned long i = 0; i < opt->value[ACCESSES]; i++) {
		unsigned long unit = zipf_next(zipf, state);
		volatile __u64 *word =
			device->memory + unit * words + zipf_random_below(state, words);

		if (zipf_random_below(state, 100) < opt->value[WRITE_PERCENT]) {
			*word = i;
			tally[unit].stores++;
		} else {
			(void)*word;
			tally[unit].loads++;
		}
		if (opt->value[BURST] && (i + 1) % opt->value[BURST] == 0)
			usleep(PAUSE_US);
	}
}

/* One line per accessed unit: number, loads, stores. */
static int write_tally(const struct options *opt, const struct unit *tally)
{
	FILE *file = fopen(opt->tally, "w");

	if (!file)
		return -errno;
	for (unsigned long unit = 0; unit < opt->value[UNITS]; unit++) {
		if (tally[unit].loads || tally[unit].stores)
			fprintf(file, "%lu %lu %lu\n", unit, tally[unit].loads, tally[unit].stores);
	}
	return fclose(file) ? -errno : 0;
}

static void print_error(void)
{
	fprintf(stderr,
		"usage: zipf_access [--seed N] [--accesses N] [--units N] [--unit-bytes N]\n"
		"                   [--write-percent N] [--skew-percent N] [--device N]\n"
		"                   [--burst N] [--tally FILE] [--settle-ms N]\n"
		"  --skew-percent N  100 times the exponent s of Zipf's law\n"
		"  --device N        the N-th CXL memory function, from 0\n"
		"  --tally FILE      one line a touched unit: number, loads, stores\n"
		"  --burst N         a pause of 500 us after so many accesses\n"
		"  --settle-ms N     wait at the end, so that a running epoch can end\n");
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

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, SEED },
		{ "accesses", required_argument, NULL, ACCESSES },
		{ "units", required_argument, NULL, UNITS },
		{ "unit-bytes", required_argument, NULL, UNIT_BYTES },
		{ "write-percent", required_argument, NULL, WRITE_PERCENT },
		{ "skew-percent", required_argument, NULL, SKEW_PERCENT },
		{ "device", required_argument, NULL, DEVICE },
		{ "burst", required_argument, NULL, BURST },
		{ "settle-ms", required_argument, NULL, SETTLE_MS },
		{ "tally", required_argument, NULL, NR_SETTINGS },
		{ },
	};
	struct options opt = { .value = {
		[SEED] = 1, [ACCESSES] = 60000, [UNITS] = 4096, [UNIT_BYTES] = 4096,
		[WRITE_PERCENT] = 30, [SKEW_PERCENT] = 120,
	} };
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == NR_SETTINGS)
			opt.tally = optarg;
		else if (option < NR_SETTINGS)
			opt.value[option] = number(optarg);
		else
			print_error();
	}
	if (optind != argc || !opt.value[UNITS] || opt.value[UNIT_BYTES] < sizeof(__u64) ||
	    opt.value[UNIT_BYTES] % sizeof(__u64) || opt.value[WRITE_PERCENT] > 100 ||
	    opt.value[SKEW_PERCENT] > 1000)
		print_error();
	return opt;
}

static int run(const struct options *opt, struct hmu_device *device)
{
	__u64 state = opt->value[SEED];
	struct unit *tally = calloc(opt->value[UNITS], sizeof(*tally));
	unsigned long loads = 0, stores = 0;
	struct zipf zipf;
	int err = -ENOMEM;

	if (!tally)
		return err;
	err = zipf_init(&zipf, opt->value[UNITS], opt->value[SKEW_PERCENT] / 100.0, &state);
	if (err)
		goto free_tally;
	access_memory(opt, device, &zipf, tally, &state);
	for (unsigned long unit = 0; unit < opt->value[UNITS]; unit++) {
		loads += tally[unit].loads;
		stores += tally[unit].stores;
	}
	usleep(opt->value[SETTLE_MS] * 1000);
	printf("zipf_access: accesses=%lu loads=%lu stores=%lu\n", loads + stores, loads, stores);
	err = opt->tally ? write_tally(opt, tally) : 0;
	zipf_free(&zipf);
free_tally:
	free(tally);
	return err;
}

int main(int argc, char **argv)
{
	struct options opt = parse(argc, argv);
	struct hmu_device device;
	int err = hmu_device_find(&device, opt.value[DEVICE]);

	if (err == -ENODEV) {
		fprintf(stderr, "zipf_access: no CXL memory function number %llu\n",
			opt.value[DEVICE]);
		return EXIT_SKIP;
	}
	if (!err)
		err = hmu_device_map(&device);
	if (err) {
		fprintf(stderr, "zipf_access: cannot map the memory of the device: %s\n",
			strerror(-err));
		return EXIT_FAILURE;
	}
	if (opt.value[UNITS] > device.memory_bytes / opt.value[UNIT_BYTES]) {
		fprintf(stderr, "zipf_access: %llu units of %llu bytes do not fit into %zu bytes\n",
			opt.value[UNITS], opt.value[UNIT_BYTES], device.memory_bytes);
		return EXIT_USAGE;
	}
	err = run(&opt, &device);
	if (err)
		fprintf(stderr, "zipf_access: %s\n", strerror(-err));
	hmu_device_unmap(&device);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
