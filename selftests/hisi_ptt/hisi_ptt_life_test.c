// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests unbind, removal, reset, module unload and CPU offline while an event runs and its AUX area
 * is mapped, twenty times each. Afterwards calls on the event must not hang or crash, and a new
 * event must record exactly the stores. Every second round uses an AUX area that an earlier run has
 * used.
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
 * Returns how many stores of ptt_make_stores() the event has delivered since the last call, or -1
 * if an entry is invalid.
 */
static int stores_in(FIXTURE_DATA(life) *self, struct pmu_event *event)
{
	size_t size = pmu_event_aux(event, self->bytes, AUX_PAGES * getpagesize());

	return ptt_count_stores(self->bytes, size);
}

/*
 * Makes stores and expects that the event delivers each of them. Disabling the event delivers the
 * remaining entries of the run.
 */
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

/* Starts a run. In odd rounds, an earlier run has already used the same area. */
static void open_running(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self, int round)
{
	open_mapped(_metadata, &self->event);
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	if (round % 2 == 0)
		return;
	store_and_compare(_metadata, self, &self->event);
	ASSERT_EQ(0, pmu_event_enable(&self->event));
}

/* Calls on the event may fail, but must not hang or crash, and the mapped pages must stay valid. */
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
 * Removes the device through the sysfs file @leave and restores it through the file @come. Every
 * third round closes the dead event before the device is restored.
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

TEST_F_TIMEOUT(life, new_event_works_after_unbind_and_bind, TIMEOUT_SECONDS)
{
	leave_and_return(_metadata, self, UNBIND, PCI, BIND, PCI);
}

TEST_F_TIMEOUT(life, new_event_works_after_remove_and_rescan, TIMEOUT_SECONDS)
{
	leave_and_return(_metadata, self, FUNCTION "/remove", "1", RESCAN, "1");
}

/*
 * A function reset deletes the configuration of the device. The event must report the reset and
 * stop, and must run again after the next enable.
 */
TEST_F_TIMEOUT(life, function_reset_stops_event_until_next_enable, TIMEOUT_SECONDS)
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

TEST_F_TIMEOUT(life, rmmod_fails_while_an_event_is_open_and_works_after_close, TIMEOUT_SECONDS)
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
 * Linux 7.2 releases the module hisi_ptt when it revokes an event, older kernels when the event is
 * closed. pmukit_common has the code that frees the AUX area, so this module must stay loaded until
 * the area is unmapped.
 */
TEST_F_TIMEOUT(life, pmukit_common_stays_loaded_while_an_aux_area_is_mapped, TIMEOUT_SECONDS)
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

/* The event is still open, but the device is gone: perf must not set up an AUX area. */
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

/* Expects that the clock event counts while it is enabled. */
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
 * Gives the PMU a CPU that can go offline, and returns the CPU. x86 cannot take CPU 0 offline.
 * If numa_node of the device is the second node, the next bind selects the second CPU for the PMU.
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

/*
 * Returns the CPU of the device's interrupt, from /proc, or -1 if the interrupt is missing or has
 * several CPUs.
 */
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
 * The event moves to another CPU when its CPU goes offline. It must record all stores before and
 * after the move, and must report a possible loss during the move.
 */
TEST_F_TIMEOUT(life, event_continues_across_cpu_offline_and_online, TIMEOUT_SECONDS)
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
 * The CPU goes offline while the PMU's context has only a software event: the driver must move this
 * event to another CPU, as it does with hisi_ptt events. If the software event stayed on the
 * offline CPU, the driver would conclude that no event uses the context.
 */
TEST_F_TIMEOUT(life, software_event_whose_cpu_went_offline_keeps_the_module_loaded, TIMEOUT_SECONDS)
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
		/* Wait longer than the interval at which the driver checks for foreign events. */
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
 * Writing the interval starts perf's timers for event rotation. They would fire after this
 * interval, when the PMU is already freed.
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
