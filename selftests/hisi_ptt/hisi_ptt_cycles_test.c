// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts and stops an event two hundred times. Meanwhile one process writes to tune files, one
 * removes a function that is not traced and rescans the bus, one has another function plugged and
 * unplugged, and, in the second half, one takes the second CPU offline and online. The number of
 * entries at a stop varies: some runs fill several pages, most do not end at a page boundary. The
 * test writes the contents of the AUX area to $OUT/cycles (or /out/cycles); hisi_ptt_checker
 * compares them with the model's log entry by entry.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "ptt_event.h"

#define PMU		"hisi_ptt0_2"
#define PCI_DEVICES	"/sys/bus/pci/devices"
/* Both endpoints are below the served port that the event does not trace. */
#define OTHER_ENDPOINT	"0000:04:00.0"
#define PLUGGED_ENDPOINT "0000:05:00.0"
#define PLUGGED_DEVICE	4		/* number of the device in vmrun */
#define RESCAN		"/sys/bus/pci/rescan"
#define DATA_PAGES	64
#define AUX_PAGES	32		/* 128 KiB, 4096 entries; a device buffer has 4 MiB */
#define MANY_ENTRIES	1024
#define CYCLES		100		/* per test */
#define PAUSE_US	50000
#define MOST_BESIDE	4
#define TIMEOUT_SECONDS	600

FIXTURE(cycles) {
	struct pmu_event event;
	unsigned char *bytes;
	FILE *out;
	long long lost;
	pid_t beside[MOST_BESIDE];
};

/* Background processes, which run until they are killed */

static void tune_on(unsigned int round)
{
	const char *file = round & 1 ? "qos_tx_p" : "rx_alloc_buf_level";
	char path[128];

	snprintf(path, sizeof(path), PMU_SYSFS "/" PMU "/tune/%s", file);
	write_text(path, round & 2 ? "0" : "2");
}

static void remove_on(unsigned int round)
{
	write_text(PCI_DEVICES "/" OTHER_ENDPOINT "/remove", "1");
	write_text(RESCAN, "1");
	usleep(PAUSE_US);
}

static void plug_on(unsigned int round)
{
	bool there = !access(PCI_DEVICES "/" PLUGGED_ENDPOINT, F_OK);

	ask_vmrun(there ? "unplug device" : "plug device", PLUGGED_DEVICE);
	wait_for_file(PCI_DEVICES "/" PLUGGED_ENDPOINT, !there);
}

static void switch_cpu_on(unsigned int round)
{
	cpu_set_online(1, round & 1 ? "1" : "0");
	usleep(PAUSE_US);
}

static pid_t start_beside(void (*go_on)(unsigned int round))
{
	pid_t pid = fork();

	for (unsigned int round = 0; !pid; round++)
		go_on(round);
	return pid;
}

static void end_all_beside(FIXTURE_DATA(cycles) *self)
{
	for (int i = 0; i < MOST_BESIDE; i++) {
		if (self->beside[i] > 0) {
			kill(self->beside[i], SIGTERM);
			waitpid(self->beside[i], NULL, 0);
		}
		self->beside[i] = 0;
	}
	write_text(RESCAN, "1");
	cpu_set_online(1, "1");
}

FIXTURE_SETUP(cycles)
{
	const char *folder = getenv("OUT") ?: "/out";
	char path[256];

	self->event.fd = -1;
	if (pmu_type(PMU) < 0 || geteuid())
		SKIP(return, pmu_type(PMU) < 0 ? "no " PMU : "needs root");
	self->bytes = malloc(AUX_PAGES * getpagesize());
	ASSERT_NE(NULL, self->bytes);
	snprintf(path, sizeof(path), "%s/cycles", folder);
	self->out = fopen(path, "a");
	ASSERT_NE(NULL, self->out);
	self->lost = ptt_debug_number(PMU, "lost");
}

FIXTURE_TEARDOWN(cycles)
{
	end_all_beside(self);
	pmu_event_close(&self->event);
	free(self->bytes);
	if (self->out)
		EXPECT_EQ(0, fclose(self->out));
}

static void open_event(struct __test_metadata *_metadata, FIXTURE_DATA(cycles) *self)
{
	pmu_event_close(&self->event);
	ASSERT_EQ(0, ptt_open_counting(PMU, &self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
}

/* Returns the number of stores in a cycle; those of every tenth cycle fill several pages. */
static int stores_of(int cycle)
{
	return 1 + cycle * 7 % 61 + (cycle % 10 == 9 ? MANY_ENTRIES : 0);
}

/*
 * Starts the event, makes stores, stops the event and saves the AUX data. Returns the number of
 * stores in the data, or -1.
 */
static int cycle(struct __test_metadata *_metadata, FIXTURE_DATA(cycles) *self, int stores)
{
	size_t size;

	EXPECT_EQ(0, pmu_event_enable(&self->event));
	EXPECT_EQ(0, ptt_make_stores(stores));
	EXPECT_EQ(0, pmu_event_disable(&self->event));
	size = pmu_event_aux(&self->event, self->bytes, AUX_PAGES * getpagesize());
	EXPECT_EQ(size, fwrite(self->bytes, 1, size, self->out));
	return ptt_count_stores(self->bytes, size);
}

/*
 * In the first half of the cycles, every second one opens a new AUX area. The cycles of the second
 * half share one area, whose head wraps.
 */
TEST_F_TIMEOUT(cycles, no_entry_is_lost_in_runs_of_varying_length, TIMEOUT_SECONDS)
{
	self->beside[0] = start_beside(tune_on);
	self->beside[1] = start_beside(remove_on);
	self->beside[2] = start_beside(plug_on);
	for (int i = 0; i < CYCLES; i++) {
		if (i == 0 || (i < CYCLES / 2 && i % 2 == 0))
			open_event(_metadata, self);
		EXPECT_EQ(stores_of(i), cycle(_metadata, self, stores_of(i))) {
			TH_LOG("cycle %d", i);
		}
	}
	EXPECT_EQ(self->lost, ptt_debug_number(PMU, "lost"));
}

/*
 * If the PMU's CPU goes offline, the trace stops and continues on another CPU; packets in between
 * are not traced. The model's log, which hisi_ptt_checker reads, has both times.
 */
TEST_F_TIMEOUT(cycles, all_traced_entries_are_delivered_during_cpu_hotplug, TIMEOUT_SECONDS)
{
	self->beside[0] = start_beside(tune_on);
	self->beside[1] = start_beside(remove_on);
	self->beside[2] = start_beside(plug_on);
	self->beside[3] = start_beside(switch_cpu_on);
	open_event(_metadata, self);
	for (int i = 0; i < CYCLES; i++) {
		EXPECT_LE(0, cycle(_metadata, self, stores_of(i))) {
			TH_LOG("cycle %d", i);
		}
	}
	EXPECT_EQ(self->lost, ptt_debug_number(PMU, "lost"));
}

TEST_HARNESS_MAIN
