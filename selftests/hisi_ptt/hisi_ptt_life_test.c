// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unbind, removal, reset, module unload and CPU offline while an event runs and its AUX area is
 * mapped, twenty times each. Afterwards the event must be harmless, and a new event must record
 * exactly the stores. Every second round continues in an area that an earlier run has used.
 *   PMUKIT_MODULE   file of the module, for unloading and loading it
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "ptt_event.h"

#define PMU		"hisi_ptt0_2"
#define PCI		"0000:00:18.0"
#define FUNCTION	"/sys/bus/pci/devices/" PCI
#define UNBIND		"/sys/bus/pci/drivers/hisi_ptt/unbind"
#define BIND		"/sys/bus/pci/drivers/hisi_ptt/bind"
#define RESCAN		"/sys/bus/pci/rescan"
#define MODULE		"hisi_ptt"
#define TIMES		20
#define DATA_PAGES	8
#define AUX_PAGES	32
#define STORES		25
#define STEP_US		10000
#define STEPS		500
#define TIMEOUT_SECONDS	300

FIXTURE(life) {
	struct pmu_event event;
	unsigned char *bytes;
};

FIXTURE_SETUP(life)
{
	self->event.fd = -1;
	if (pmu_type(PMU) < 0 || geteuid())
		SKIP(return, pmu_type(PMU) < 0 ? "no " PMU : "needs root");
	self->bytes = malloc(AUX_PAGES * getpagesize());
	ASSERT_NE(NULL, self->bytes);
}

FIXTURE_TEARDOWN(life)
{
	pmu_event_close(&self->event);
	free(self->bytes);
}

static void open_mapped(struct __test_metadata *_metadata, struct pmu_event *event)
{
	ASSERT_EQ(0, ptt_open_counting(PMU, event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_map(event, DATA_PAGES, AUX_PAGES));
}

/*
 * Number of ptt_make_stores() stores that the event has delivered since the last call; -1 if an
 * entry is invalid.
 */
static int stores_in(FIXTURE_DATA(life) *self, struct pmu_event *event)
{
	size_t size = pmu_event_aux(event, self->bytes, AUX_PAGES * getpagesize());

	return ptt_count_stores(self->bytes, size);
}

/* Disabling the event delivers the rest of the run. */
static void store_and_compare(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self,
			      struct pmu_event *event)
{
	ASSERT_EQ(0, ptt_make_stores(STORES));
	ASSERT_EQ(0, pmu_event_disable(event));
	ASSERT_EQ(STORES, stores_in(self, event));
}

static void everything_works(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self)
{
	struct pmu_event event = { .fd = -1 };

	ASSERT_LE(0, pmu_type(PMU));
	open_mapped(_metadata, &event);
	ASSERT_EQ(0, pmu_event_enable(&event));
	store_and_compare(_metadata, self, &event);
	pmu_event_close(&event);
}

/* Starts a run, in odd rounds after an earlier run in the same area. */
static void open_running(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self, int round)
{
	open_mapped(_metadata, &self->event);
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	if (round % 2 == 0)
		return;
	store_and_compare(_metadata, self, &self->event);
	ASSERT_EQ(0, pmu_event_enable(&self->event));
}

/* Calls may fail, but nothing may hang or crash, and the mapped pages stay valid. */
static void use_dead_event(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self)
{
	ptt_count(&self->event);
	pmu_event_enable(&self->event);
	pmu_event_disable(&self->event);
	EXPECT_LE(0, stores_in(self, &self->event));
	(void)*(volatile char *)self->event.aux;
	((volatile char *)self->event.aux)[self->event.aux_bytes - 1];
}

/*
 * Removes the device through one sysfs file and restores it through another. Every third round
 * closes the dead event in between.
 */
static void leave_and_return(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self,
			     const char *leave, const char *leave_text, const char *come,
			     const char *come_text)
{
	for (int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, i);
		ASSERT_EQ(0, ptt_make_stores(STORES));
		ASSERT_EQ(0, write_text(leave, leave_text));
		ASSERT_GT(0, pmu_type(PMU));
		/* The run was stopped before the device was removed. */
		ASSERT_EQ(STORES, stores_in(self, &self->event));
		use_dead_event(_metadata, self);
		if (i % 3 == 2)
			pmu_event_close(&self->event);
		ASSERT_EQ(0, write_text(come, come_text));
		everything_works(_metadata, self);
		pmu_event_close(&self->event);
	}
}

TEST_F_TIMEOUT(life, unbind_and_bind, TIMEOUT_SECONDS)
{
	leave_and_return(_metadata, self, UNBIND, PCI, BIND, PCI);
}

TEST_F_TIMEOUT(life, remove_and_rescan, TIMEOUT_SECONDS)
{
	leave_and_return(_metadata, self, FUNCTION "/remove", "1", RESCAN, "1");
}

/*
 * The device loses its configuration. The event reports this, stops, and runs again once it is
 * enabled again.
 */
TEST_F_TIMEOUT(life, function_reset, TIMEOUT_SECONDS)
{
	long long resets = ptt_debug_number(PMU, "resets");
	__u64 flags;

	for (int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, i);
		ptt_aux_flags(&self->event);
		ASSERT_EQ(0, write_text(FUNCTION "/reset", "1"));
		flags = 0;
		for (int step = 0; step < STEPS && !(flags & PERF_AUX_FLAG_TRUNCATED); step++) {
			usleep(STEP_US);
			flags |= ptt_aux_flags(&self->event);
		}
		ASSERT_TRUE(flags & PERF_AUX_FLAG_TRUNCATED);
		ASSERT_EQ(resets + i + 1, ptt_debug_number(PMU, "resets"));
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		ASSERT_EQ(0, stores_in(self, &self->event));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		store_and_compare(_metadata, self, &self->event);
		pmu_event_close(&self->event);
	}
}

TEST_F_TIMEOUT(life, rmmod_while_open_and_after, TIMEOUT_SECONDS)
{
	const char *file = getenv("PMUKIT_MODULE");

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	for (int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, i);
		ASSERT_EQ(-EWOULDBLOCK, module_try_unload(MODULE));
		store_and_compare(_metadata, self, &self->event);
		pmu_event_close(&self->event);
		ASSERT_EQ(0, module_unload(MODULE));
		ASSERT_GT(0, pmu_type(PMU));
		ASSERT_EQ(0, module_load(file));
		everything_works(_metadata, self);
	}
}

/*
 * Linux 7.2 releases the module of a revoked event at once, older kernels when the event is closed.
 * Code of pmukit_common frees the AUX area, so that module stays until the area is unmapped.
 */
TEST_F_TIMEOUT(life, mapped_aux_area_holds_pmukit_common, TIMEOUT_SECONDS)
{
	const char *file = getenv("PMUKIT_MODULE");
	int unloaded;

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	for (int i = 0; i < TIMES; i++) {
		open_running(_metadata, self, i);
		ASSERT_EQ(0, write_text(UNBIND, PCI));
		unloaded = !module_try_unload(MODULE);
		ASSERT_EQ(-EWOULDBLOCK, module_try_unload("pmukit_common"));
		use_dead_event(_metadata, self);
		pmu_event_close(&self->event);
		if (!unloaded)
			ASSERT_EQ(0, module_unload(MODULE));
		ASSERT_EQ(0, module_load(file));
		everything_works(_metadata, self);
	}
}

/* The event is still open, but the device is gone: no AUX area may be set up. */
TEST_F_TIMEOUT(life, aux_mmap_fails_after_unbind, TIMEOUT_SECONDS)
{
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, ptt_open_counting(PMU, &self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, write_text(UNBIND, PCI));
		ASSERT_GT(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
		pmu_event_enable(&self->event);
		pmu_event_close(&self->event);
		ASSERT_EQ(0, write_text(BIND, PCI));
		everything_works(_metadata, self);
	}
}

/* The clock counts while it is enabled. */
static void clock_works(struct __test_metadata *_metadata, struct pmu_event *clock)
{
	long long before = ptt_count(clock);

	ASSERT_EQ(0, pmu_event_enable(clock));
	usleep(STEP_US);
	ASSERT_EQ(0, pmu_event_disable(clock));
	ASSERT_LT(before, ptt_count(clock));
}

/*
 * A software event in a group with a hisi_ptt event uses a context of the hisi_ptt PMU, even after
 * the hisi_ptt event is closed. Unregistering the PMU would free that context, so the PMU and its
 * module must stay.
 */
TEST_F_TIMEOUT(life, software_event_outlives_group_and_device, TIMEOUT_SECONDS)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1,
		.read_format = PERF_FORMAT_LOST,
	};
	const char *file = getenv("PMUKIT_MODULE");
	struct pmu_event clock;

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, ptt_open_counting(PMU, &self->event, &ptt_stores_8dw));
		ASSERT_EQ(0,
			  pmu_event_open_beside(&clock, &attr, -1, pmu_cpu(PMU), self->event.fd));
		if (i % 2)
			pmu_event_close(&self->event);
		ASSERT_EQ(0, write_text(UNBIND, PCI));
		pmu_event_close(&self->event);
		clock_works(_metadata, &clock);
		ASSERT_EQ(-EWOULDBLOCK, module_try_unload(MODULE));
		ASSERT_EQ(0, write_text(BIND, PCI));
		clock_works(_metadata, &clock);
		everything_works(_metadata, self);
		pmu_event_close(&clock);
	}
	ASSERT_EQ(0, module_unload(MODULE));
	ASSERT_EQ(0, module_load(file));
	everything_works(_metadata, self);
}

/*
 * x86 cannot take its first CPU offline. When numa_node says that the device is near the second
 * node, the next bind gives the PMU the second CPU. Returns the PMU's CPU.
 */
static int choose_a_cpu_that_can_leave(struct __test_metadata *_metadata)
{
	if (!cpu_set_online(pmu_cpu(PMU), "1"))
		return pmu_cpu(PMU);
	EXPECT_EQ(0, write_text(FUNCTION "/numa_node", "1"));
	EXPECT_EQ(0, write_text(UNBIND, PCI));
	EXPECT_EQ(0, write_text(BIND, PCI));
	return pmu_cpu(PMU);
}

/* CPU of the device's interrupt, from /proc; -1: the interrupt is missing or has several CPUs. */
static int interrupt_cpu(void)
{
	char line[512], path[64], text[64] = "";
	int irq = -1;
	FILE *file;

	file = fopen("/proc/interrupts", "r");
	while (file && irq < 0 && fgets(line, sizeof(line), file)) {
		if (strstr(line, PMU))
			irq = atoi(line);
	}
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", irq);
	if (irq < 0 || read_text(path, text, sizeof(text)) || strpbrk(text, ",-"))
		return -1;
	return atoi(text);
}

/*
 * The event moves to another CPU when its CPU goes offline. No store before or after the move is
 * missing, and a possible loss in between is reported.
 */
TEST_F_TIMEOUT(life, cpu_offline_and_online, TIMEOUT_SECONDS)
{
	__u64 flags;
	int cpu;

	for (int i = 0; i < TIMES; i++) {
		cpu = choose_a_cpu_that_can_leave(_metadata);
		ASSERT_EQ(0, cpu_set_online(cpu, "1")) TH_LOG("CPU %d cannot go offline", cpu);
		ASSERT_EQ(cpu, interrupt_cpu());
		open_running(_metadata, self, i);
		ASSERT_EQ(0, ptt_make_stores(STORES));
		ptt_aux_flags(&self->event);
		ASSERT_EQ(0, cpu_set_online(cpu, "0"));
		flags = ptt_aux_flags(&self->event);
		EXPECT_TRUE(flags & PERF_AUX_FLAG_PARTIAL);
		EXPECT_FALSE(flags & PERF_AUX_FLAG_TRUNCATED);
		EXPECT_NE(cpu, pmu_cpu(PMU));
		EXPECT_EQ(pmu_cpu(PMU), interrupt_cpu());
		/* All packets traced before the CPU went offline have been delivered. */
		ASSERT_EQ(STORES, stores_in(self, &self->event));
		ASSERT_EQ(0, cpu_set_online(cpu, "1"));
		store_and_compare(_metadata, self, &self->event);
		pmu_event_close(&self->event);
		everything_works(_metadata, self);
	}
}

/*
 * The software event moves to the other CPU, as a hisi_ptt event would, although no hisi_ptt event
 * is left. If the software event stayed on the offline CPU, the driver would conclude that no event
 * uses the PMU's context any more.
 */
TEST_F_TIMEOUT(life, software_event_of_offline_cpu_holds_module, TIMEOUT_SECONDS)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1,
		.read_format = PERF_FORMAT_LOST,
	};
	const char *file = getenv("PMUKIT_MODULE");
	struct pmu_event clock;
	int cpu;

	if (!file)
		SKIP(return, "PMUKIT_MODULE does not name the module's file");
	for (int i = 0; i < TIMES; i++) {
		cpu = choose_a_cpu_that_can_leave(_metadata);
		ASSERT_EQ(0, ptt_open_counting(PMU, &self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, pmu_event_open_beside(&clock, &attr, -1, cpu, self->event.fd));
		pmu_event_close(&self->event);
		ASSERT_EQ(0, cpu_set_online(cpu, "0"));
		/* Longer than the interval at which the driver checks for foreign events */
		usleep(30 * STEP_US);
		ASSERT_EQ(-EWOULDBLOCK, module_try_unload(MODULE));
		clock_works(_metadata, &clock);
		ASSERT_EQ(0, write_text(UNBIND, PCI));
		clock_works(_metadata, &clock);
		ASSERT_EQ(0, write_text(BIND, PCI));
		ASSERT_EQ(0, cpu_set_online(cpu, "1"));
		pmu_event_close(&clock);
		everything_works(_metadata, self);
	}
	ASSERT_EQ(0, module_unload(MODULE));
	ASSERT_EQ(0, module_load(file));
	everything_works(_metadata, self);
}

/*
 * The write starts perf's timers for event rotation, which fire after the written interval: after
 * the PMU is freed.
 */
TEST_F_TIMEOUT(life, no_perf_timer_outlives_the_pmu, TIMEOUT_SECONDS)
{
	ASSERT_EQ(0, write_text(PMU_SYSFS "/" PMU "/perf_event_mux_interval_ms", "1000"));
	ASSERT_EQ(0, write_text(UNBIND, PCI));
	usleep(150 * STEP_US);
	ASSERT_EQ(0, write_text(BIND, PCI));
	everything_works(_metadata, self);
}

TEST_HARNESS_MAIN
