// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests endpoints that QEMU plugs and unplugs below a served port: vmrun requests this from QEMU
 * when the test writes to the console. The filters in sysfs must always match the plugged
 * endpoints. The test writes all AUX data to $OUT/hotplug (or /out/hotplug); hisi_ptt_checker
 * compares the data with the model's log entry by entry.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "ptt_event.h"

#define PMU		"hisi_ptt0_2"
#define REQUESTERS	PMU_SYSFS "/" PMU "/requester_filters/0000:"
#define DATA_PAGES	64
#define AUX_PAGES	128
#define TIMES		5
#define SETTLE_US	200000
#define TIMEOUT_SECONDS	600
#define THROTTLED_NS	100000
#define MAX_SAMPLE_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"

/* A function that can be plugged. vmrun numbers devices in the order of the scenario. */
struct endpoint {
	int device;
	const char *bdf, *file, *filter;
	__u64 id;
};

static const struct endpoint old = { 1, "01:00.0", REQUESTERS "01:00.0", "0x00100", 0x100 };
/* This endpoint is below a switch. Its slot is empty when the guest starts. */
static const struct endpoint new = { 4, "05:00.0", REQUESTERS "05:00.0", "0x00500", 0x500 };

FIXTURE(hotplug) {
	struct pmu_event event;
	unsigned char *bytes;
	FILE *out;
	pid_t beside;
};

/*
 * A function appears before its BARs are assigned, so wait for the file of its second BAR, which
 * appears last.
 */
static int plug_in(const struct endpoint *endpoint)
{
	char bar[64];

	snprintf(bar, sizeof(bar), "/sys/bus/pci/devices/0000:%s/resource2", endpoint->bdf);
	return ask_vmrun("plug device", endpoint->device) ?:
	       wait_for_file(endpoint->file, true) ?: wait_for_file(bar, true);
}

static int pull_out(const struct endpoint *endpoint)
{
	return ask_vmrun("unplug device", endpoint->device) ?: wait_for_file(endpoint->file, false);
}

#define TRAFFIC "--writes 20 --reads 20 --width 4 --fetches 5 --stores 5 --bytes 700"

/* Makes DMA transfers with the endpoint as the requester, and CPU accesses to the endpoint. */
static int make_traffic(const struct endpoint *endpoint)
{
	char command[160];

	snprintf(command, sizeof(command), "pcie_load --function %s " TRAFFIC " >/dev/null",
		 endpoint->bdf);
	return system(command);
}

/* Makes traffic in a process until the function is gone or the process is killed. */
static pid_t start_traffic(const struct endpoint *endpoint)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	while (!make_traffic(endpoint))
		;
	_exit(0);
}

static void end_traffic(FIXTURE_DATA(hotplug) *self)
{
	if (self->beside > 0) {
		kill(self->beside, SIGTERM);
		waitpid(self->beside, NULL, 0);
	}
	self->beside = 0;
}

FIXTURE_SETUP(hotplug)
{
	const char *folder = getenv("OUT") ?: "/out";
	char path[256];

	self->event.fd = -1;
	if (pmu_type(PMU) < 0 || geteuid())
		SKIP(return, pmu_type(PMU) < 0 ? "no " PMU : "needs root");
	self->bytes = malloc(AUX_PAGES * getpagesize());
	ASSERT_NE(NULL, self->bytes);
	snprintf(path, sizeof(path), "%s/hotplug", folder);
	self->out = fopen(path, "a");
	ASSERT_NE(NULL, self->out);
}

FIXTURE_TEARDOWN(hotplug)
{
	end_traffic(self);
	pmu_event_close(&self->event);
	free(self->bytes);
	if (self->out)
		EXPECT_EQ(0, fclose(self->out));
}

static int open_requester(FIXTURE_DATA(hotplug) *self, const struct endpoint *endpoint)
{
	const struct ptt_terms all_it_sends = { endpoint->id, 2, 7, 1 };

	return ptt_open_counting(PMU, &self->event, &all_it_sends) ?:
	       pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES);
}

/* Saves the AUX data; returns the number of entries. */
static size_t take(struct __test_metadata *_metadata, FIXTURE_DATA(hotplug) *self)
{
	size_t size = pmu_event_aux(&self->event, self->bytes, AUX_PAGES * getpagesize());

	EXPECT_EQ(size, fwrite(self->bytes, 1, size, self->out));
	return size / PTT_ENTRY_BYTES_8DW;
}

static void record_traffic(struct __test_metadata *_metadata, FIXTURE_DATA(hotplug) *self,
			   const struct endpoint *endpoint)
{
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	ASSERT_EQ(0, make_traffic(endpoint));
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	ASSERT_LT(0, take(_metadata, self));
}

TEST_F_TIMEOUT(hotplug, requester_can_be_traced_only_while_plugged_in, TIMEOUT_SECONDS)
{
	char text[32];

	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(-ENOENT, read_text(new.file, text, sizeof(text)));
		ASSERT_EQ(-EINVAL, open_requester(self, &new));
		ASSERT_EQ(0, plug_in(&new));
		ASSERT_EQ(0, read_text(new.file, text, sizeof(text)));
		EXPECT_STREQ(new.filter, text);
		ASSERT_EQ(0, open_requester(self, &new));
		record_traffic(_metadata, self, &new);
		pmu_event_close(&self->event);
		ASSERT_EQ(0, pull_out(&new));
	}
}

/*
 * Every second round unplugs the function during its traffic. The event delivers all packets from
 * before the unplug, and none from after it.
 */
TEST_F_TIMEOUT(hotplug, unplugging_the_requester_ends_the_event, TIMEOUT_SECONDS)
{
	long long count;

	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, open_requester(self, &old));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		ASSERT_EQ(0, make_traffic(&old));
		if (i % 2) {
			self->beside = start_traffic(&old);
			usleep(SETTLE_US);
		}
		ASSERT_EQ(0, pull_out(&old));
		end_traffic(self);
		EXPECT_TRUE(ptt_aux_flags(&self->event) & PERF_AUX_FLAG_TRUNCATED);
		count = ptt_count(&self->event);
		EXPECT_LT(0, count);
		EXPECT_EQ(count, take(_metadata, self));

		ASSERT_EQ(0, plug_in(&old));
		ASSERT_EQ(0, make_traffic(&old));
		EXPECT_EQ(count, ptt_count(&self->event)) {
			TH_LOG("it stays disabled");
		}
		EXPECT_EQ(0, take(_metadata, self));
		record_traffic(_metadata, self, &old);
		pmu_event_close(&self->event);
	}
}

/*
 * Opens the event in the group of a clock that samples too fast, so that perf throttles the group.
 */
static int open_throttled(FIXTURE_DATA(hotplug) *self, struct pmu_event *leader,
			  const struct endpoint *endpoint)
{
	const struct ptt_terms all_it_sends = { endpoint->id, 2, 7, 1 };
	struct perf_event_attr attr, clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = THROTTLED_NS,
		.disabled = 1,
	};
	int err = pmu_event_open(leader, &clock, -1, pmu_cpu(PMU)) ?:
		  ptt_set_terms(PMU, &attr, &all_it_sends);

	return err ?: pmu_event_map(leader, DATA_PAGES, 0) ?:
	       pmu_event_open_beside(&self->event, &attr, -1, pmu_cpu(PMU), leader->fd) ?:
	       pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES) ?:
	       pmu_event_enable(&self->event) ?: pmu_event_enable(leader);
}

/* Linux 7.2 stops the event at each throttling of its group and starts it at the next tick. */
TEST_F_TIMEOUT(hotplug, unplugging_the_requester_ends_event_in_a_throttled_perf_group,
	       TIMEOUT_SECONDS)
{
	unsigned int throttled = 0;
	struct pmu_event leader;
	long long count;
	char rate[32];

	ASSERT_EQ(0, read_text(MAX_SAMPLE_RATE, rate, sizeof(rate)));
	/* Allow only one sample per tick, because a guest on a busy host takes few samples. */
	ASSERT_EQ(0, write_text(MAX_SAMPLE_RATE, "250"));
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, open_throttled(self, &leader, &old));
		ASSERT_EQ(0, make_traffic(&old));
		throttled += pmu_event_take(&leader, PERF_RECORD_THROTTLE);
		ASSERT_EQ(0, pull_out(&old));
		count = ptt_count(&self->event);
		EXPECT_LE(0, count);
		take(_metadata, self);
		ASSERT_EQ(0, plug_in(&old));
		ASSERT_EQ(0, make_traffic(&old));
		EXPECT_EQ(count, ptt_count(&self->event));
		EXPECT_EQ(0, take(_metadata, self));
		pmu_event_close(&self->event);
		pmu_event_close(&leader);
	}
	EXPECT_LT(0, throttled);
	EXPECT_EQ(0, write_text(MAX_SAMPLE_RATE, rate));
}

/*
 * While its group is throttled, the event traces no packet, and perf writes no record about this
 * for the event. So the driver must report the loss.
 */
TEST_F_TIMEOUT(hotplug, event_in_a_throttled_perf_group_reports_loss_of_unknown_size,
	       TIMEOUT_SECONDS)
{
	long long runs = ptt_debug_number(PMU, "runs");
	struct pmu_event leader;
	struct utsname system;
	int major, minor;
	char rate[32];
	__u64 flags;

	ASSERT_EQ(0, uname(&system));
	ASSERT_EQ(2, sscanf(system.release, "%d.%d", &major, &minor));
	ASSERT_EQ(0, read_text(MAX_SAMPLE_RATE, rate, sizeof(rate)));
	ASSERT_EQ(0, write_text(MAX_SAMPLE_RATE, "250"));
	ASSERT_EQ(0, open_throttled(self, &leader, &old));
	ASSERT_EQ(0, make_traffic(&old));
	EXPECT_LT(0, pmu_event_take(&leader, PERF_RECORD_THROTTLE));
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	flags = ptt_aux_flags(&self->event);
	take(_metadata, self);
	pmu_event_close(&leader);
	EXPECT_EQ(0, write_text(MAX_SAMPLE_RATE, rate));

	runs = ptt_debug_number(PMU, "runs") - runs;
	TH_LOG("%lld runs, AUX flags %#llx", runs, flags);
	EXPECT_EQ(runs > 1, !!(flags & PERF_AUX_FLAG_COLLISION));
	/* perf throttles the whole group since Linux 6.16. */
	if (major * 100 + minor >= 616)
		EXPECT_LT(1, runs);
}

/* The event traces the port, which stays when endpoints below the port are plugged or unplugged. */
TEST_F_TIMEOUT(hotplug, port_event_continues_when_function_below_is_replugged, TIMEOUT_SECONDS)
{
	static const struct ptt_terms all_that_comes = { PTT_PORT_FILTER, 2, 7, 1 };

	ASSERT_EQ(0, ptt_open_counting(PMU, &self->event, &all_that_comes));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	for (int i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, make_traffic(&old));
		ASSERT_EQ(0, pull_out(&old));
		ASSERT_EQ(0, plug_in(&old));
	}
	ASSERT_EQ(0, make_traffic(&old));
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	EXPECT_FALSE(ptt_aux_flags(&self->event) & PERF_AUX_FLAG_TRUNCATED);
	EXPECT_EQ(ptt_count(&self->event), take(_metadata, self));
}

TEST_HARNESS_MAIN
