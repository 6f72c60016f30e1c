// SPDX-License-Identifier: GPL-2.0-only
/*
 * What copying costs: how long a section and the stop of an event have interrupts off, and how much
 * is copied in a second, of devices that write without end (the model's --flood): hisi_ptt0_10, which
 * leaves time between two buffers, and hisi_ptt0_16, which does not. Beside it what the kernel's own
 * driver does in each interrupt and each stop, a copy of 4 MiB, and in each start, 16 MiB of zeros.
 *
 * hisi_ptt_bench: prints "bench hisi_ptt.NAME VALUE UNIT" lines and TAP; fails when a section takes
 * on average as long as the shortest copy of 4 MiB. The longest section is whatever else the host
 * did meanwhile.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pmu_event.h"
#include "ptt_event.h"

#define EXIT_SKIP	4	/* KSFT_SKIP */
#define SLOW		"hisi_ptt0_10"
#define FAST		"hisi_ptt0_16"
#define DATA_PAGES	128
#define AUX_BYTES	(16UL << 20)
#define BUFFER_BYTES	(4UL << 20)
#define ROUNDS		8
#define RUN_NS		1000000000LL

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The shortest of a few: another program may run meanwhile. */
static long long shortest(void (*work)(unsigned char *bytes), unsigned char *bytes)
{
	long long best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		long long begin = now_ns(), took;

		work(bytes);
		took = now_ns() - begin;
		best = best && best < took ? best : took;
	}
	return best;
}

static void copy_a_buffer(unsigned char *bytes)
{
	memcpy(bytes, bytes + BUFFER_BYTES, BUFFER_BYTES);
}

static void clear_all_buffers(unsigned char *bytes)
{
	memset(bytes, 0, AUX_BYTES);
}

/* Bytes that came out in a run, of so many nanoseconds; -1: it could not be made. */
static double run(const char *pmu, unsigned char *bytes, long long run_ns)
{
	struct pmu_event event = { .fd = -1 };
	long long begin, sum = 0;

	if (ptt_open_counting(pmu, &event, &ptt_stores_8dw) ||
	    pmu_event_map(&event, DATA_PAGES, AUX_BYTES / getpagesize()) ||
	    pmu_event_enable(&event))
		return -1;
	for (begin = now_ns(); now_ns() - begin < run_ns;) {
		sum += pmu_event_aux(&event, bytes, AUX_BYTES);
		ptt_aux_flags(&event);
		usleep(500);
	}
	run_ns = now_ns() - begin;
	pmu_event_disable(&event);
	pmu_event_close(&event);
	return sum * 1e3 / run_ns;
}

int main(void)
{
	unsigned char *bytes = malloc(AUX_BYTES);
	long long copy_ns, clear_ns, section_ns, sections;
	bool good;
	double rate;

	printf("TAP version 13\n");
	if (pmu_type(SLOW) < 0 || pmu_type(FAST) < 0 || geteuid() || !bytes) {
		printf("1..0 # SKIP needs " SLOW " and " FAST ", root\n");
		return EXIT_SKIP;
	}
	printf("1..1\n");
	memset(bytes, 1, AUX_BYTES);
	copy_ns = shortest(copy_a_buffer, bytes);
	clear_ns = shortest(clear_all_buffers, bytes);
	run(SLOW, bytes, RUN_NS);
	rate = run(FAST, bytes, RUN_NS);
	sections = ptt_debug_number(SLOW, "sections");
	section_ns = sections > 0 ? ptt_debug_number(SLOW, "sections_ns") / sections : 0;
	good = rate > 0 && section_ns > 0 && section_ns < copy_ns;
	printf("bench hisi_ptt.section_mean %.1f us\n", section_ns / 1e3);
	printf("bench hisi_ptt.section_max %.1f us\n",
	       ptt_debug_number(SLOW, "section_max_ns") / 1e3);
	printf("bench hisi_ptt.stop_max %.1f us\n", ptt_debug_number(SLOW, "last_max_ns") / 1e3);
	printf("bench hisi_ptt.stop_max_of_full_buffers %.1f us\n",
	       ptt_debug_number(FAST, "last_max_ns") / 1e3);
	printf("bench hisi_ptt.copied %.0f MB/s\n", rate);
	printf("bench hisi_ptt.memcpy_4_mib %.1f us\n", copy_ns / 1e3);
	printf("bench hisi_ptt.memset_16_mib %.1f us\n", clear_ns / 1e3);
	printf("%s 1 a section is shorter than what the kernel's own driver does in an interrupt\n",
	       good ? "ok" : "not ok");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
