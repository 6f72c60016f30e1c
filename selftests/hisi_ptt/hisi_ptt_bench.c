// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the cost of copying entries from the device's buffers. A section is a piece of the copy
 * that runs with interrupts off. Measures the time of a section, of all sections for 4 MiB and of
 * the stop of an event, and the copy rate. The devices write without end (the model's --flood):
 * hisi_ptt0_10 leaves time between two buffers, hisi_ptt0_16 does not. For comparison, the program
 * measures a copy of 4 MiB, which the in-tree driver makes in each interrupt and each stop, and
 * clearing 16 MiB, which the in-tree driver does in each start. Both are measured in memory of this
 * program, which is not coherent device memory. A section reads a register after each copied piece.
 * In a guest the model answers this read through a socket, so its time is measured, too.
 *
 * Prints "bench hisi_ptt.NAME VALUE UNIT" lines and TAP. Fails if a section takes on average as
 * long as the shortest copy of 4 MiB. The longest section depends on other activity of the host.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pci_function.h"
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
#define DRIVER		"/sys/bus/pci/drivers/hisi_ptt"
#define BAR		2
#define LOCATION	0x0fe8	/* offset of a register whose value is constant */
#define READS		1000

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Returns the shortest time of a few runs, because another program may interrupt a run. */
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

/*
 * Returns the copy rate of a run of @run_ns in MB/s, or -1 if the run failed. Sets @off_ns to the
 * time with interrupts off per 4 MiB copied, without the time of the stop.
 */
static double run(const char *pmu, unsigned char *bytes, long long run_ns, double *off_ns)
{
	long long copied = ptt_debug_number(pmu, "copied_bytes");
	long long sections_ns = ptt_debug_number(pmu, "sections_ns");
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
	copied = ptt_debug_number(pmu, "copied_bytes") - copied;
	sections_ns = ptt_debug_number(pmu, "sections_ns") - sections_ns;
	*off_ns = copied > 0 ? (double)sections_ns / copied * BUFFER_BYTES : 0;
	pmu_event_disable(&event);
	pmu_event_close(&event);
	return sum * 1e3 / run_ns;
}

/*
 * Returns the time of a register read in ns, or 0 if it cannot be measured: programs can only map
 * the registers of a function without a driver, and Linux 6.1 does not show which function a PMU
 * belongs to.
 */
static double register_ns(const char *pmu)
{
	char path[PATH_MAX], folder[PATH_MAX], *name;
	long long begin, took = 0;
	unsigned char *at = NULL;
	size_t size;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s", pmu);
	if (!realpath(path, folder))
		return 0;
	*strrchr(folder, '/') = '\0';
	name = strrchr(folder, '/') + 1;
	if (write_text(DRIVER "/unbind", name))
		return 0;
	if (!pci_command(name, PCI_COMMAND_MEMORY))
		at = pci_map(name, BAR, &size);
	if (at) {
		begin = now_ns();
		for (int i = 0; i < READS; i++)
			pci_load(at + LOCATION, 4);
		took = now_ns() - begin;
		munmap(at, size);
	}
	write_text(DRIVER "/bind", name);
	return (double)took / READS;
}

int main(void)
{
	unsigned char *bytes = malloc(AUX_BYTES);
	long long copy_ns, clear_ns, section_ns, sections;
	double rate, off_ns = 0, fast_off_ns, read_ns;
	bool good;

	printf("TAP version 13\n");
	if (pmu_type(SLOW) < 0 || pmu_type(FAST) < 0 || geteuid() || !bytes) {
		printf("1..0 # SKIP needs " SLOW " and " FAST ", root\n");
		return EXIT_SKIP;
	}
	printf("1..1\n");
	memset(bytes, 1, AUX_BYTES);
	copy_ns = shortest(copy_a_buffer, bytes);
	clear_ns = shortest(clear_all_buffers, bytes);
	run(SLOW, bytes, RUN_NS, &off_ns);
	rate = run(FAST, bytes, RUN_NS, &fast_off_ns);
	sections = ptt_debug_number(SLOW, "sections");
	section_ns = sections > 0 ? ptt_debug_number(SLOW, "sections_ns") / sections : 0;
	good = rate > 0 && section_ns > 0 && section_ns < copy_ns;
	printf("bench hisi_ptt.section_mean %.1f us\n", section_ns / 1e3);
	printf("bench hisi_ptt.section_max %.1f us\n",
	       ptt_debug_number(SLOW, "section_max_ns") / 1e3);
	printf("bench hisi_ptt.off_per_4_mib %.1f us\n", off_ns / 1e3);
	printf("bench hisi_ptt.stop_max %.1f us\n", ptt_debug_number(SLOW, "last_max_ns") / 1e3);
	printf("bench hisi_ptt.stop_max_of_full_buffers %.1f us\n",
	       ptt_debug_number(FAST, "last_max_ns") / 1e3);
	printf("bench hisi_ptt.copied %.0f MB/s\n", rate);
	printf("bench hisi_ptt.memcpy_4_mib %.1f us\n", copy_ns / 1e3);
	printf("bench hisi_ptt.memset_16_mib %.1f us\n", clear_ns / 1e3);
	read_ns = register_ns(SLOW);
	if (read_ns > 0)
		printf("bench hisi_ptt.register_read %.1f us\n", read_ns / 1e3);
	printf("%s 1 a section is shorter than what the kernel's own driver does in an interrupt\n",
	       good ? "ok" : "not ok");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
