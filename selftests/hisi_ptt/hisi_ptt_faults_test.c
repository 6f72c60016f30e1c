// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the outcome of each fault of the model: one device per fault, all in one guest. Each device
 * generates packets at every start; packet n goes to address 4 * n (the model's --flood). The
 * packets fill two device buffers and a part of the third, so that none is lost if the guest
 * stalls. The device "overrun", which sends its interrupt with the fifth buffer, slowly fills five
 * buffers. PMUKIT_FAULTS lists the faults in the order of the devices' core numbers, separated by
 * one blank; device 0 is "healthy", and must record every packet after each test of another device.
 * The expected outcomes are from Documentation/devices/hisi_ptt.rst, "When the device misbehaves".
 * One more device, after the listed ones, takes 1.9 s for a tune operation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "ptt_event.h"

#define UNBIND		"/sys/bus/pci/drivers/hisi_ptt/unbind"
#define BIND		"/sys/bus/pci/drivers/hisi_ptt/bind"
#define DATA_PAGES	16
#define PACKETS		560000		/* packets per start, as in --flood of the scenario */
#define OVERRUN_PACKETS	1400000
#define AUX_BYTES	(32u << 20)	/* more than the packets need */
#define SMALL_AUX_BYTES	(1u << 20)
#define RUN_US		2500000		/* the device has written all packets by then */
#define OVERRUN_RUN_US	10000000
#define GAP_FLAGS	(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)
#define LIMIT_MS	10000		/* more than a healthy device takes on a busy host */
#define STEP_MS		10
#define RESETS		20
#define PAUSE_US	100000		/* between two resets */
#define TIMEOUT_SECONDS	240

/* All inbound packets of the generator */
static const struct ptt_terms everything_in = { PTT_PORT_FILTER, 0, 7, 0 };

enum outcome {
	NO_PMU,		/* the device is not bound, and one log line gives the reason */
	REFUSED,	/* no trace starts: no entries; log lines and a counter report this */
	MARKED,		/* entries in order; flags and a counter report missing ones */
	EXACT,		/* all entries, as from a healthy device */
	NO_FILTER,	/* the PMU has no port to trace */
};

/* Each device has two runs, because the first run may affect the next. */
#define RUNS		2

FIXTURE(fault) {
	int index;		/* core number */
	char pmu[32], pci[32];
	unsigned char *bytes;
	int log;
};

FIXTURE_VARIANT(fault) {
	const char *name;
	enum outcome outcome[RUNS];
	const char *stat;	/* counter that must have increased after both runs */
	int tune;		/* result of reading a tune file */
	bool master_off;	/* bus mastering must be off: the device may still write */
	bool keeps_buffers;	/* unbind must not free the buffers of the device */
	int packets;		/* number of packets per start; 0: PACKETS */
};

#define FAULT(_id, _name, _first, _next, _stat, ...) \
	FIXTURE_VARIANT_ADD(fault, _id) \
		{ .name = _name, .outcome = { _first, _next }, .stat = _stat, __VA_ARGS__ }

#define STAYS_OFF	.master_off = true
#define MAY_WRITE	STAYS_OFF, .keeps_buffers = true
#define NO_TUNE		.tune = -ETIMEDOUT

FAULT(write_pointer_beyond_buffer, "write-pointer-beyond-buffer", MARKED, MARKED, "rejected");
FAULT(never_idle, "never-idle", REFUSED, REFUSED, "timeouts");
FAULT(never_idle_after_stop, "never-idle-after-stop", MARKED, REFUSED, "timeouts", MAY_WRITE);
FAULT(reset_never_finishes, "reset-never-finishes", REFUSED, REFUSED, "timeouts");
FAULT(several_buffers_at_once, "several-buffers-at-once", EXACT, EXACT, NULL);
FAULT(overrun, "overrun", EXACT, EXACT, NULL, .packets = OVERRUN_PACKETS);
FAULT(irq_lost, "irq-lost", EXACT, EXACT, NULL);
FAULT(irq_storm, "irq-storm", EXACT, EXACT, "rejected");
FAULT(irq_spurious, "irq-spurious", EXACT, EXACT, NULL);
FAULT(tune_never_finishes, "tune-never-finishes", EXACT, EXACT, "timeouts", NO_TUNE);
FAULT(all_ones, "all-ones", NO_PMU, NO_PMU, NULL);
FAULT(all_ones_once_started, "all-ones-once-started", MARKED, REFUSED, "resets", STAYS_OFF);
FAULT(range_reversed, "range-reversed", NO_FILTER, NO_FILTER, NULL);
FAULT(status_empty, "status-empty", MARKED, MARKED, "rejected");
FAULT(status_beyond_buffers, "status-beyond-buffers", EXACT, EXACT, NULL);

/* Devices */

static void name_of(int core, char *pmu, size_t size)
{
	snprintf(pmu, size, "hisi_ptt0_%d", core);
}

/*
 * Each function is below a separate root port. The order of the root ports, and so of their buses,
 * is that of the core numbers.
 */
static void place_of(int core, char *pci, size_t size)
{
	snprintf(pci, size, "0000:%02x:00.0", core + 1);
}

struct log_subject {
	const char *pmu, *pci;
};

static bool is_about(const char *line, const void *data)
{
	const struct log_subject *subject = data;
	char name[40];

	snprintf(name, sizeof(name), "%s:", subject->pmu);
	return strstr(line, name) || (strstr(line, subject->pci) && strstr(line, "hisi_ptt"));
}

/* Returns the number of the driver's log lines about the device since the last call. */
static int messages(FIXTURE_DATA(fault) *self)
{
	struct log_subject subject = { self->pmu, self->pci };

	return log_count(self->log, is_about, &subject);
}

static bool says_buffers_stay(const char *line, const void *data)
{
	return is_about(line, data) && strstr(line, "its buffers are not freed");
}

FIXTURE_SETUP(fault)
{
	self->log = -1;
	if (!getenv("PMUKIT_FAULTS"))
		SKIP(return, "PMUKIT_FAULTS does not name the faults of the devices");
	self->index = index_of_word(getenv("PMUKIT_FAULTS"), variant->name);
	ASSERT_LT(0, self->index) TH_LOG("no device with the fault %s", variant->name);
	name_of(self->index, self->pmu, sizeof(self->pmu));
	place_of(self->index, self->pci, sizeof(self->pci));
	self->bytes = malloc(AUX_BYTES);
	ASSERT_NE(NULL, self->bytes);
	self->log = log_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(fault)
{
	free(self->bytes);
	if (self->log >= 0)
		close(self->log);
}

FIXTURE(late) {
	char pmu[32];
};

FIXTURE_SETUP(late)
{
	const char *names = getenv("PMUKIT_FAULTS");
	int core = 1;

	if (!names)
		SKIP(return, "PMUKIT_FAULTS does not name the faults of the devices");
	for (; *names; names++)
		core += *names == ' ';
	name_of(core, self->pmu, sizeof(self->pmu));
}

FIXTURE_TEARDOWN(late)
{
}

/*
 * Returns the time of unbind and bind in ms. The bind may fail: the driver may reject the device.
 */
static long long bind_again_ms(const char *pci)
{
	long long begin = now_ms();

	write_text(UNBIND, pci);
	write_text(BIND, pci);
	return now_ms() - begin;
}

/* Recording */

struct seen {
	long long entries;
	__u64 flags;
	bool malformed;		/* an entry is not a packet, or is out of order */
};

/* Returns the packet's number if the entry is a memory write with a three-dword header, else -1. */
static long long packet_of(const unsigned char *at)
{
	__u32 words[PTT_ENTRY_BYTES_4DW / 4];

	memcpy(words, at, sizeof(words));
	return words[0] >> 25 == 0x40 && !(words[2] & 3) ? words[2] / 4 : -1;
}

static void take(FIXTURE_DATA(fault) *self, struct pmu_event *event, int packets, struct seen *seen)
{
	size_t size = pmu_event_aux(event, self->bytes, AUX_BYTES);
	long long packet, before = -1;

	for (size_t at = 0; at + PTT_ENTRY_BYTES_4DW <= size; at += PTT_ENTRY_BYTES_4DW) {
		packet = packet_of(self->bytes + at);
		seen->malformed |= packet <= before || packet >= packets;
		before = packet;
	}
	seen->malformed |= size % PTT_ENTRY_BYTES_4DW;
	seen->entries = size / PTT_ENTRY_BYTES_4DW;
	seen->flags = ptt_aux_flags(event);
}

static int record(FIXTURE_DATA(fault) *self, const char *pmu, int packets, struct seen *seen)
{
	struct pmu_event event = { .fd = -1 };
	int err;

	memset(seen, 0, sizeof(*seen));
	err = ptt_open_counting(pmu, &event, &everything_in);
	err = err ? err : pmu_event_map(&event, DATA_PAGES, AUX_BYTES / getpagesize());
	err = err ? err : pmu_event_enable(&event);
	if (!err)
		usleep(packets == PACKETS ? RUN_US : OVERRUN_RUN_US);
	err = err ? err : pmu_event_disable(&event);
	if (!err)
		take(self, &event, packets, seen);
	pmu_event_close(&event);
	return err;
}

static void expect_healthy(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self)
{
	struct seen seen;
	char pmu[32];

	name_of(0, pmu, sizeof(pmu));
	EXPECT_EQ(0, record(self, pmu, PACKETS, &seen));
	EXPECT_FALSE(seen.malformed);
	EXPECT_EQ(0, seen.flags & GAP_FLAGS);
	EXPECT_EQ(PACKETS, seen.entries);
}

static void expect_outcome(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self,
			   int packets, enum outcome outcome)
{
	long long starts = ptt_debug_number(self->pmu, "runs");
	struct seen seen;

	if (outcome == NO_FILTER) {
		EXPECT_EQ(-EINVAL, record(self, self->pmu, packets, &seen));
		return;
	}
	ASSERT_EQ(0, record(self, self->pmu, packets, &seen));
	TH_LOG("%lld of %d entries, flags %#llx", seen.entries, packets,
	       (unsigned long long)seen.flags);
	EXPECT_FALSE(seen.malformed);
	switch (outcome) {
	case EXACT:
		EXPECT_EQ(packets, seen.entries);
		EXPECT_EQ(0, seen.flags & GAP_FLAGS);
		break;
	case MARKED:
		EXPECT_LT(starts, ptt_debug_number(self->pmu, "runs"));
		if (seen.entries < packets) {
			EXPECT_NE(0, seen.flags & GAP_FLAGS);
			EXPECT_NE(0, seen.flags & PERF_AUX_FLAG_COLLISION);
		}
		break;
	default:
		EXPECT_EQ(0, seen.entries);
		break;
	}
}

static int read_tune(const char *pmu)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/tune/qos_tx_p", pmu);
	return read_text(path, text, sizeof(text));
}

static bool is_bus_master(const FIXTURE_DATA(fault) *self)
{
	unsigned short command = 0;
	char path[128];
	FILE *config;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", self->pci);
	config = fopen(path, "r");
	if (!config)
		return false;
	if (fseek(config, PCI_COMMAND, SEEK_SET) ||
	    fread(&command, sizeof(command), 1, config) != 1)
		command = 0;
	fclose(config);
	return command & PCI_COMMAND_MASTER;
}

/* Waits until the counter has increased. A busy CPU takes interrupts late, so it may take long. */
static bool has_grown(const char *pmu, const char *stat, long long before)
{
	for (int ms = 0; ms < LIMIT_MS; ms += STEP_MS) {
		if (ptt_debug_number(pmu, stat) > before)
			return true;
		usleep(1000 * STEP_MS);
	}
	return false;
}

/*
 * Unbinds the device and expects that the driver does not free its buffers. Must be called before a
 * reset, because a device that was reset cannot write, so the driver frees its buffers.
 * expect_reset_to_help() then resets the unbound device and binds it again.
 */
static void expect_buffers_to_stay(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self)
{
	struct log_subject subject = { self->pmu, self->pci };

	messages(self);
	ASSERT_EQ(0, write_text(UNBIND, self->pci));
	EXPECT_EQ(1, log_count(self->log, says_buffers_stay, &subject));
	EXPECT_FALSE(is_bus_master(self));
}

/*
 * A reset ends a fault that appeared in the first run, but not a fault that the device had from the
 * start.
 */
static void expect_reset_to_help(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self,
				 int packets, enum outcome outcome)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", self->pci);
	ASSERT_EQ(0, write_text(path, "1"));
	ASSERT_GT(LIMIT_MS, bind_again_ms(self->pci));
	ASSERT_LE(0, pmu_type(self->pmu));
	expect_outcome(_metadata, self, packets, outcome);
}

TEST_F_TIMEOUT(fault, driver_handles_device_with_this_fault_as_documented, TIMEOUT_SECONDS)
{
	int packets = variant->packets ?: PACKETS;
	long long before;

	messages(self);
	ASSERT_GT(LIMIT_MS, bind_again_ms(self->pci));
	if (variant->outcome[0] == NO_PMU) {
		EXPECT_EQ(1, messages(self));
		EXPECT_GT(0, pmu_type(self->pmu)) {
			TH_LOG("there is a PMU");
		}
	} else {
		/*
		 * A device that rejects starts also fails to stop at unbind, which the driver logs:
		 * ignore these lines.
		 */
		if (variant->outcome[0] != REFUSED) {
			EXPECT_EQ(0, messages(self));
		}
		messages(self);
		before = variant->stat ? ptt_debug_number(self->pmu, variant->stat) : 0;
		EXPECT_EQ(variant->tune, read_tune(self->pmu));
		for (int run = 0; run < RUNS; run++)
			expect_outcome(_metadata, self, packets, variant->outcome[run]);
		EXPECT_EQ(variant->master_off, !is_bus_master(self));
		if (variant->stat) {
			EXPECT_TRUE(has_grown(self->pmu, variant->stat, before));
		}
		if (variant->outcome[1] == REFUSED) {
			EXPECT_LT(0, messages(self));
		}
		if (variant->keeps_buffers)
			expect_buffers_to_stay(_metadata, self);
		if (variant->outcome[1] != variant->outcome[0])
			expect_reset_to_help(_metadata, self, packets, variant->outcome[0]);
	}
	expect_healthy(_metadata, self);
}

FIXTURE(healthy) {
	char pmu[32], pci[32];
	unsigned char *bytes;
};

FIXTURE_SETUP(healthy)
{
	if (!getenv("PMUKIT_FAULTS"))
		SKIP(return, "PMUKIT_FAULTS does not name the faults of the devices");
	name_of(0, self->pmu, sizeof(self->pmu));
	place_of(0, self->pci, sizeof(self->pci));
	self->bytes = malloc(SMALL_AUX_BYTES);
	ASSERT_NE(NULL, self->bytes);
}

FIXTURE_TEARDOWN(healthy)
{
	free(self->bytes);
}

/* The device drops tune requests until the operation that timed out is complete. */
TEST_F_TIMEOUT(late, second_tune_operation_also_times_out_while_first_is_incomplete,
	       TIMEOUT_SECONDS)
{
	long long before = ptt_debug_number(self->pmu, "timeouts");
	char path[128];

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/tune/rx_alloc_buf_level", self->pmu);
	EXPECT_EQ(-ETIMEDOUT, write_text(path, "2"));
	EXPECT_EQ(-ETIMEDOUT, read_tune(self->pmu));
	EXPECT_EQ(before + 2, ptt_debug_number(self->pmu, "timeouts"));
}

static void reset_again_and_again(const char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", pci);
	for (int i = 0; i < RESETS; i++) {
		if (write_text(path, "1"))
			_exit(1);
		usleep(PAUSE_US);
	}
	_exit(0);
}

/*
 * A reset takes 0.1 s, and so does the pause between two resets, so starts happen during resets and
 * during pauses. The model reports a trace that starts without buffers.
 */
TEST_F_TIMEOUT(healthy, run_without_entries_during_function_resets_reports_a_loss, TIMEOUT_SECONDS)
{
	int status = 0, runs = 0;
	pid_t child = fork();

	if (!child)
		reset_again_and_again(self->pci);
	while (!waitpid(child, &status, WNOHANG)) {
		struct pmu_event event = { .fd = -1 };
		long long before = ptt_debug_number(self->pmu, "runs");

		ASSERT_EQ(0, ptt_open_counting(self->pmu, &event, &everything_in));
		ASSERT_EQ(0, pmu_event_map(&event, DATA_PAGES, SMALL_AUX_BYTES / getpagesize()));
		ASSERT_EQ(0, pmu_event_enable(&event));
		usleep(5000);
		pmu_event_disable(&event);
		if (ptt_debug_number(self->pmu, "runs") > before) {
			size_t size = pmu_event_aux(&event, self->bytes, SMALL_AUX_BYTES);

			EXPECT_TRUE(size || ptt_aux_flags(&event) & GAP_FLAGS);
			runs++;
		}
		pmu_event_close(&event);
	}
	EXPECT_EQ(0, status);
	EXPECT_LT(0, runs);
}

TEST_HARNESS_MAIN
