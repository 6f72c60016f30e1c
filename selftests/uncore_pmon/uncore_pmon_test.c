// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the PMUs through perf_event_open(): rejected events, counts, assignment of counters. No
 * other program accesses the counted memory, so every count must be exact.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "uncore_unit.h"

#define TIMEOUT_SECONDS		180
#define MANY			4	/* counters of a memory controller */
#define LOADS			3000	/* enough to wrap counters of a model with --below-wrap */
#define STORES			1700
#define GROUP			3	/* events per group; two groups exceed the counters */
#define GROUP_ROTATIONS		20
#define ROUNDS			5
#define ROTATIONS		50	/* minimum; SHARED_MS is long enough for 500 */
#define ROTATION_NS		4000000LL	/* perf_event_mux_interval_ms */
#define SHARED_MS		2000
#define TOUCHES_PER_MS		2
#define SHARED_ROTATIONS	20
#define ROTATION_ACCESSES	12	/* register accesses in one rotation of six events */
#define ROTATION_PART		0.02	/* limit of the share of an interval that they take */
#define SHARED_PART		0.03	/* additional tolerance */
#define SAMPLE_US		20000	/* between two timed accesses */
#define MUX_INTERVAL		PMU_SYSFS "/uncore_imc_0/perf_event_mux_interval_ms"
/* A longer pause is a delay. A 24-bit counter at 1.2 GHz reaches half of its range in 7 ms. */
#define HELD_UP_US		5000
#define BEGINNINGS		20
#define MAX_SAMPLE_RATE		"/proc/sys/kernel/perf_event_max_sample_rate"
#define THROTTLED_NS		100000	/* period; perf throttles even a tenth of this rate */
#define THROTTLED_MS		500
#define TRACEFS			"/sys/kernel/tracing"

FIXTURE(uncore) {
	char pci[PCI_NAME_BYTES];
	char expander[PCI_NAME_BYTES];
	struct uncore_memory ddr;
	struct uncore_memory cxl;
};

FIXTURE_SETUP(uncore)
{
	if (pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, self->pci) || geteuid())
		SKIP(return, "no uncore function, or not root");
	ASSERT_EQ(0, uncore_wait("uncore_imc_0", 1));
	ASSERT_EQ(0, uncore_map(self->pci, UNCORE_DDR_BAR, &self->ddr));
	if (pci_find(EXPANDER_VENDOR, EXPANDER_DEVICE, 0, self->expander))
		return;
	ASSERT_EQ(0, uncore_enable(self->expander));
	ASSERT_EQ(0, uncore_map(self->expander, EXPANDER_MEMORY_BAR, &self->cxl));
}

FIXTURE_TEARDOWN(uncore)
{
	uncore_unmap(&self->ddr);
	uncore_unmap(&self->cxl);
}

static __u64 value_of(int fd)
{
	struct uncore_count count;

	return uncore_read(fd, &count) ? ~0ULL : count.value;
}

static int never_waited(int fd)
{
	struct uncore_count count;

	if (uncore_read(fd, &count))
		return false;
	if (count.enabled_ns == count.running_ns)
		return true;
	printf("# enabled for %llu ns, ran for %llu\n", count.enabled_ns, count.running_ns);
	return false;
}

static int ran_all_the_time(int fd)
{
	struct uncore_count count;

	return never_waited(fd) && !uncore_read(fd, &count) && count.running_ns;
}

/* Names and terms */

TEST_F(uncore, has_a_pmu_for_each_unit)
{
	static const char *const pmus[] = { "uncore_imc_0", "uncore_imc_1", "uncore_type_99_0" };
	char alias[64];

	for (size_t i = 0; i < ARRAY_SIZE(pmus); i++) {
		EXPECT_LT(0, pmu_type(pmus[i])) TH_LOG("%s", pmus[i]);
		EXPECT_LE(0, pmu_cpu(pmus[i]));
	}
	ASSERT_EQ(0, read_text(PMU_SYSFS "/uncore_imc_1/alias", alias, sizeof(alias)));
	EXPECT_STREQ("uncore_type_6_1", alias);
	EXPECT_EQ(-ENOENT, read_text(PMU_SYSFS "/uncore_type_99_0/alias", alias, sizeof(alias)));
}

TEST_F(uncore, events_have_scale_and_unit)
{
	char text[64];

	ASSERT_EQ(0,
		  read_text(PMU_SYSFS "/uncore_imc_0/events/cas_count_read", text, sizeof(text)));
	EXPECT_STREQ("event=0x05,umask=0xcf", text);
	ASSERT_EQ(0, read_text(PMU_SYSFS "/uncore_imc_0/events/cas_count_read.scale", text,
			       sizeof(text)));
	EXPECT_STREQ("6.103515625e-5", text);
	ASSERT_EQ(0, read_text(PMU_SYSFS "/uncore_imc_0/events/cas_count_read.unit", text,
			       sizeof(text)));
	EXPECT_STREQ("MiB", text);
	EXPECT_EQ(0, read_text(PMU_SYSFS "/uncore_imc_0/events/free_dclk", text, sizeof(text)));
	EXPECT_EQ(-ENOENT,
		  read_text(PMU_SYSFS "/uncore_imc_1/events/free_dclk", text, sizeof(text)));
}

/* Rejected events */

static int open_with(void (*change)(struct perf_event_attr *attr), int pid, int cpu)
{
	struct perf_event_attr attr;
	struct pmu_event event;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.type = pmu_type("uncore_imc_0");
	attr.config = IMC_READS;
	if (change)
		change(&attr);
	err = pmu_event_open(&event, &attr, pid, cpu);
	if (!err)
		pmu_event_close(&event);
	return err;
}

static void sample(struct perf_event_attr *attr) { attr->sample_period = 1000; }
static void sample_by_frequency(struct perf_event_attr *attr)
{
	attr->freq = 1;
	attr->sample_freq = 100;
}

static void unknown_bit(struct perf_event_attr *attr) { attr->config |= 1 << 17; }
static void upper_bit(struct perf_event_attr *attr) { attr->config |= 1ULL << 32; }
static void config1(struct perf_event_attr *attr) { attr->config1 = 1; }
static void config2(struct perf_event_attr *attr) { attr->config2 = 1; }
static void no_such_counter(struct perf_event_attr *attr) { attr->config = 0x11ff; }
static void fixed_with_edge(struct perf_event_attr *attr) { attr->config = IMC_FIXED | 1 << 18; }

TEST_F(uncore, rejects_unsupported_attributes)
{
	struct perf_event_attr plain = { .type = pmu_type("uncore_imc_0"), .config = IMC_READS };
	int cpu = pmu_cpu("uncore_imc_0");

	EXPECT_EQ(0, open_with(NULL, -1, cpu));
	EXPECT_TRUE(pmu_refuses_extra_config(&plain, -1, cpu));
	EXPECT_TRUE(pmu_refuses_exclusions(&plain, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(sample, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(sample_by_frequency, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(unknown_bit, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(upper_bit, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(config1, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(config2, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(no_such_counter, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(fixed_with_edge, -1, cpu));
	EXPECT_EQ(-EINVAL, open_with(NULL, 0, -1));
	EXPECT_EQ(-EINVAL, open_with(NULL, 0, cpu));
}

TEST_F(uncore, rejects_group_with_more_events_than_counters)
{
	int fds[MANY + 1];

	for (int i = 0; i < MANY; i++) {
		fds[i] = uncore_open("uncore_imc_0", IMC_READS, i ? fds[0] : -1);
		ASSERT_LE(0, fds[i]);
	}
	EXPECT_EQ(-EINVAL, uncore_open("uncore_imc_0", IMC_WRITES, fds[0]));
	/* The unit has one more counter, the fixed one. */
	fds[MANY] = uncore_open("uncore_imc_0", IMC_FIXED, fds[0]);
	EXPECT_LE(0, fds[MANY]);
	EXPECT_EQ(-EINVAL, uncore_open("uncore_imc_0", IMC_FIXED, fds[0]));
	for (int i = 0; i <= MANY; i++)
		close(fds[i]);
}

/* Counting */

TEST_F_TIMEOUT(uncore, counts_loads_and_stores_of_its_own_memory, TIMEOUT_SECONDS)
{
	int reads = uncore_open("uncore_imc_0", IMC_READS, -1);
	int writes = uncore_open("uncore_imc_0", IMC_WRITES, -1);
	int other = uncore_open("uncore_imc_1", IMC_ALL, -1);

	ASSERT_LE(0, reads);
	ASSERT_LE(0, writes);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, uncore_enable_event(reads));
	ASSERT_EQ(0, uncore_enable_event(writes));
	ASSERT_EQ(0, uncore_enable_event(other));
	uncore_touch(&self->ddr, 0, LOADS, STORES);
	EXPECT_EQ(LOADS, value_of(reads)) TH_LOG("while it runs");
	EXPECT_EQ(STORES, value_of(writes));
	ASSERT_EQ(0, uncore_disable_event(reads));
	uncore_touch(&self->ddr, 0, 10, 10);
	EXPECT_EQ(LOADS, value_of(reads)) TH_LOG("when it is stopped");
	EXPECT_EQ(STORES + 10, value_of(writes));
	EXPECT_EQ(0, value_of(other));
	uncore_touch(&self->ddr, UNCORE_DDR_BYTES, 7, 5);
	EXPECT_EQ(12, value_of(other));
	EXPECT_EQ(STORES + 10, value_of(writes));
	ASSERT_EQ(0, uncore_enable_event(reads));
	uncore_touch(&self->ddr, 0, 30, 0);
	EXPECT_EQ(LOADS + 30, value_of(reads)) TH_LOG("when it runs again");
	close(reads);
	close(writes);
	close(other);
}

TEST_F_TIMEOUT(uncore, counts_group_events_exactly, TIMEOUT_SECONDS)
{
	static const __u64 configs[MANY] = { IMC_READS, IMC_WRITES, IMC_ALL, IMC_READS };
	static const __u64 expected[MANY] = { LOADS, STORES, LOADS + STORES, LOADS };
	int fds[MANY];

	for (int i = 0; i < MANY; i++) {
		fds[i] = uncore_open("uncore_imc_0", configs[i], i ? fds[0] : -1);
		ASSERT_LE(0, fds[i]);
	}
	for (int round = 1; round <= 3; round++) {
		ASSERT_EQ(0, uncore_enable_event(fds[0]));
		uncore_touch(&self->ddr, 0, LOADS, STORES);
		ASSERT_EQ(0, uncore_disable_event(fds[0]));
		uncore_touch(&self->ddr, 0, 11, 13);
		for (int i = 0; i < MANY; i++) {
			EXPECT_EQ(round * expected[i], value_of(fds[i]))
				TH_LOG("event %d, round %d", i, round);
			/*
			 * Both times can be 0: perf's clock stops while the kernel switches from
			 * the TSC to another clock source.
			 */
			EXPECT_TRUE(never_waited(fds[i]));
		}
	}
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/*
 * A narrow counter that was not read for half its range may have wrapped undetected: the driver
 * rejects such a value. Retries only if the clock shows that the machine was delayed that long.
 */
static bool counts_on(int fd)
{
	__u64 before;
	long long begin;

	do {
		begin = now_us();
		before = value_of(fd);
		usleep(1000);
		if (value_of(fd) > before)
			return true;
	} while (now_us() - begin > HELD_UP_US);
	return false;
}

TEST_F_TIMEOUT(uncore, clock_events_keep_counting, TIMEOUT_SECONDS)
{
	static const struct {
		const char *pmu;
		__u64 config;
	} clocks[] = {
		{ "uncore_imc_0", IMC_CLOCK }, { "uncore_imc_0", IMC_FIXED },
		{ "uncore_imc_0", 0x10ff },
		{ "uncore_type_99_0", 0x01 },
	};
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fds[i] = uncore_open(clocks[i].pmu, clocks[i].config, -1);
		ASSERT_LE(0, fds[i]) TH_LOG("%s 0x%llx", clocks[i].pmu, clocks[i].config);
		ASSERT_EQ(0, uncore_enable_event(fds[i]));
	}
	usleep(50000);
	for (int i = 0; i < 4; i++) {
		EXPECT_LT(0, value_of(fds[i])) TH_LOG("%s 0x%llx", clocks[i].pmu, clocks[i].config);
		EXPECT_TRUE(counts_on(fds[i])) TH_LOG("%s 0x%llx", clocks[i].pmu, clocks[i].config);
		close(fds[i]);
	}
}

/* A load from the expander is one request (M2S) and one line of data (S2M). */
TEST_F_TIMEOUT(uncore, counts_cxl_link_traffic, TIMEOUT_SECONDS)
{
	static const struct {
		const char *pmu;
		__u64 config, expected;
	} events[] = {
		{ "uncore_cxlcm_0", CXLCM_LOADS, 800 },
		{ "uncore_cxlcm_0", CXLCM_STORES, 300 },
		{ "uncore_cxlcm_0", CXLCM_LOAD_DATA, 800 },
		{ "uncore_cxlcm_0", CXLCM_STORE_ANSWERS, 300 },
		{ "uncore_cxldp_0", 0x1002, 800 }, { "uncore_cxldp_0", 0x2002, 300 },
		{ "uncore_b2cxl_0", 0x0424, 800 }, { "uncore_b2cxl_0", 0x1025, 300 },
		{ "uncore_imc_0", IMC_ALL, 0 },
	};
	int fds[9];

	if (!self->cxl.at)
		SKIP(return, "no CXL expander");
	for (int i = 0; i < 9; i++) {
		fds[i] = uncore_open(events[i].pmu, events[i].config, -1);
		ASSERT_LE(0, fds[i]) TH_LOG("%s 0x%llx", events[i].pmu, events[i].config);
		ASSERT_EQ(0, uncore_enable_event(fds[i]));
	}
	uncore_touch(&self->cxl, 0, 800, 300);
	for (int i = 0; i < 9; i++) {
		EXPECT_EQ(events[i].expected, value_of(fds[i]))
			TH_LOG("%s 0x%llx", events[i].pmu, events[i].config);
		close(fds[i]);
	}
}

/* Assignment of counters */

/*
 * Clock events take the counters 0 to 3. Events that count requests can use only these counters, so
 * the clock events must move to other counters.
 */
TEST_F_TIMEOUT(uncore, clock_events_move_to_other_counters_if_events_need_theirs, TIMEOUT_SECONDS)
{
	int clocks[4], loads[4], extra;
	__u64 before;

	if (!self->cxl.at)
		SKIP(return, "no CXL expander");
	for (int i = 0; i < 4; i++) {
		clocks[i] = uncore_open("uncore_cxlcm_0", CXLCM_CLOCK, -1);
		ASSERT_LE(0, clocks[i]);
		ASSERT_EQ(0, uncore_enable_event(clocks[i]));
	}
	before = value_of(clocks[0]);
	for (int i = 0; i < 4; i++) {
		loads[i] = uncore_open("uncore_cxlcm_0", CXLCM_LOADS, -1);
		ASSERT_LE(0, loads[i]);
		ASSERT_EQ(0, uncore_enable_event(loads[i]));
	}
	uncore_touch(&self->cxl, 0, 500, 0);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(500, value_of(loads[i])) TH_LOG("event %d", i);
		EXPECT_TRUE(ran_all_the_time(loads[i]));
		EXPECT_TRUE(ran_all_the_time(clocks[i]));
	}
	EXPECT_LT(before, value_of(clocks[0]));
	/*
	 * Five events that need the same four counters are rejected, even if other counters are
	 * free.
	 */
	extra = loads[0];
	for (int i = 1; i < 4; i++)
		close(loads[i]);
	for (int i = 1; i < 4; i++) {
		loads[i] = uncore_open("uncore_cxlcm_0", CXLCM_STORES, extra);
		EXPECT_LE(0, loads[i]);
	}
	EXPECT_EQ(-EINVAL, uncore_open("uncore_cxlcm_0", CXLCM_LOADS, extra));
	for (int i = 0; i < 4; i++) {
		close(clocks[i]);
		close(loads[i]);
	}
}

/*
 * The model's clocks stop exactly while the unit is frozen. So the events of a group have different
 * counts if they do not start and stop together.
 */
TEST_F_TIMEOUT(uncore, events_of_a_group_start_and_stop_together, TIMEOUT_SECONDS)
{
	int fds[2 * GROUP];
	__u64 first = 0;

	/* The two groups do not fit at once, so perf rotates them. */
	for (int i = 0; i < 2 * GROUP; i++) {
		fds[i] = uncore_open("uncore_imc_0", IMC_CLOCK,
				     i % GROUP ? fds[i / GROUP * GROUP] : -1);
		ASSERT_LE(0, fds[i]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, uncore_enable_event(fds[0]));
		ASSERT_EQ(0, uncore_enable_event(fds[GROUP]));
		usleep(GROUP_ROTATIONS * ROTATION_NS / 1000);
		ASSERT_EQ(0, uncore_disable_event(fds[0]));
		ASSERT_EQ(0, uncore_disable_event(fds[GROUP]));
		for (int i = 0; i < 2 * GROUP; i++) {
			if (i % GROUP == 0)
				first = value_of(fds[i]);
			EXPECT_EQ(first, value_of(fds[i])) TH_LOG("event %d, round %d", i, round);
		}
	}
	EXPECT_LT(0, value_of(fds[0]));
	EXPECT_LT(0, value_of(fds[GROUP]));
	for (int i = 0; i < 2 * GROUP; i++)
		close(fds[i]);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Makes loads and stores at a constant rate by this machine's clock, however long an access takes.
 * Returns the number of loads, which equals the number of stores.
 */
static unsigned int touch_steadily(const struct uncore_memory *memory)
{
	long long begin = now_ms(), passed;
	unsigned int done = 0;

	while ((passed = now_ms() - begin) < SHARED_MS) {
		unsigned int due = passed * TOUCHES_PER_MS - done;

		uncore_touch(memory, UNCORE_DDR_BYTES, due, due);
		done += due;
	}
	return done;
}

/*
 * Six events on four counters, in an order that gives each counter to another kind of event at
 * every rotation. If the machine's clock follows its instruction count, the rate is constant,
 * independent of the host's load.
 */
TEST_F_TIMEOUT(uncore, scaled_counts_of_multiplexed_events_are_within_5_percent, TIMEOUT_SECONDS)
{
	static const __u64 configs[MANY + 2] = {
		IMC_READS, IMC_READS, IMC_WRITES, IMC_WRITES, IMC_ALL, IMC_ALL,
	};
	double expected, scaled;
	struct uncore_count count;
	unsigned int touched;
	int fds[MANY + 2];

	stay_on(pmu_cpu("uncore_imc_1"));
	for (int i = 0; i < MANY + 2; i++) {
		fds[i] = uncore_open("uncore_imc_1", configs[i], -1);
		ASSERT_LE(0, fds[i]);
	}
	/* Open all events before enabling any: opening takes long on a debug kernel. */
	for (int i = 0; i < MANY + 2; i++)
		ASSERT_EQ(0, uncore_enable_event(fds[i]));
	touched = touch_steadily(&self->ddr);
	for (int i = 0; i < MANY + 2; i++)
		ASSERT_EQ(0, uncore_disable_event(fds[i]));
	for (int i = 0; i < MANY + 2; i++) {
		ASSERT_EQ(0, uncore_read(fds[i], &count));
		ASSERT_LT(0, count.running_ns);
		EXPECT_LT(count.running_ns, count.enabled_ns)
			TH_LOG("event %d was never taken off", i);
		EXPECT_LT(ROTATIONS * ROTATION_NS, count.enabled_ns);
		expected = configs[i] == IMC_ALL ? 2.0 * touched : touched;
		scaled = (double)count.value * count.enabled_ns / count.running_ns;
		TH_LOG("event %d: %.0f of %.0f: %+.1f %%, on a counter %.1f %% of the time", i,
		       scaled, expected, 100 * (scaled / expected - 1),
		       100.0 * count.running_ns / count.enabled_ns);
		EXPECT_LT(0.95 * expected, scaled);
		EXPECT_GT(1.05 * expected, scaled);
		close(fds[i]);
	}
}

/* Groups with a trace event: perf reads the group when the leader samples, in any context. */

static int trace_event_id(const char *name)
{
	long long id;
	char path[128];
	int err;

	snprintf(path, sizeof(path), TRACEFS "/events/%s/id", name);
	err = read_number(path, &id);
	return err ? err : (int)id;
}

/* Opens a disabled leader, each sample of which reads the whole group. */
static int open_leader(struct pmu_event *leader, int type, __u64 config, __u64 period)
{
	struct perf_event_attr attr = {
		.type = type,
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_READ,
		.read_format = PERF_FORMAT_GROUP,
		.disabled = 1,
	};

	return pmu_event_open(leader, &attr, -1, pmu_cpu("uncore_imc_0")) ?:
	       pmu_event_map(leader, 16, 0);
}

/*
 * The first event of a unit starts an hrtimer. This triggers the leader, a trace event, whose
 * sample reads the event that is being started.
 */
TEST_F_TIMEOUT(uncore, group_event_counts_exactly_if_its_start_makes_leader_sample, TIMEOUT_SECONDS)
{
	int id = trace_event_id("timer/hrtimer_start"), fd;
	struct pmu_event leader;
	char record[4096];

	if (id < 0)
		SKIP(return, "no trace events");
	ASSERT_EQ(0, open_leader(&leader, PERF_TYPE_TRACEPOINT, id, 1));
	fd = uncore_open("uncore_imc_0", IMC_READS, leader.fd);
	ASSERT_LE(0, fd);
	for (int round = 1; round <= BEGINNINGS; round++) {
		ASSERT_EQ(0, pmu_event_enable(&leader));
		uncore_touch(&self->ddr, 0, 100, 0);
		ASSERT_EQ(0, pmu_event_disable(&leader));
		EXPECT_EQ(100 * round, value_of(fd));
		EXPECT_LT(0, pmu_event_record(&leader, record, sizeof(record)))
			TH_LOG("round %d: no sample", round);
		while (pmu_event_record(&leader, record, sizeof(record)) > 0)
			;
	}
	/* Close the leader first: otherwise the PMU would hold its module for a moment longer. */
	pmu_event_close(&leader);
	close(fd);
}

/*
 * perf throttles a leader that samples too often until the next tick; Linux 7.2 stops its whole
 * group. Other events of the unit must keep counting, which a comparison with the clock of the
 * other memory controller shows. The tolerance is large, because freezing an emulated unit takes
 * long. An event that stopped with the group would have only a quarter of the count.
 */
static int open_clock(const char *pmu)
{
	int fd = uncore_open(pmu, IMC_CLOCK, -1), err;

	if (fd < 0)
		return fd;
	err = uncore_enable_event(fd);
	return err ? err : fd;
}

static double rate_of(int fd)
{
	struct uncore_count count;

	return uncore_read(fd, &count) ? 0 : (double)count.value / count.enabled_ns;
}

TEST_F_TIMEOUT(uncore, event_keeps_counting_while_another_group_is_throttled, TIMEOUT_SECONDS)
{
	struct pmu_event leader;
	unsigned int throttled;
	int fds[2], sibling;
	char rate[32];
	double part;

	ASSERT_EQ(0, read_text(MAX_SAMPLE_RATE, rate, sizeof(rate)));
	/* Allow only one sample per tick: an emulated machine on a busy host takes only a few. */
	ASSERT_EQ(0, write_text(MAX_SAMPLE_RATE, "250"));
	ASSERT_EQ(0, open_leader(&leader, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
				 THROTTLED_NS));
	sibling = uncore_open("uncore_imc_0", IMC_READS, leader.fd);
	ASSERT_LE(0, sibling);
	fds[0] = open_clock("uncore_imc_0");
	fds[1] = open_clock("uncore_imc_1");
	ASSERT_LE(0, fds[0]);
	ASSERT_LE(0, fds[1]);
	ASSERT_EQ(0, pmu_event_enable(&leader));
	usleep(THROTTLED_MS * 1000);
	ASSERT_EQ(0, pmu_event_disable(&leader));
	part = rate_of(fds[0]) / rate_of(fds[1]);
	throttled = pmu_event_take(&leader, PERF_RECORD_THROTTLE);
	TH_LOG("throttled %u times; the clock shows %.1f %%", throttled, 100 * part);
	EXPECT_LT(0, throttled);
	EXPECT_LT(0.6, part);
	EXPECT_GT(1.4, part);
	EXPECT_TRUE(ran_all_the_time(fds[0]));
	close(fds[0]);
	close(fds[1]);
	pmu_event_close(&leader);
	close(sibling);
	EXPECT_EQ(0, write_text(MAX_SAMPLE_RATE, rate));
}

struct shared {
	struct uncore_count of[MANY + 2], clock;
	double access_us;	/* mean time of an access to the function while the events run */
};

/* Loads from the function's memory for @ms, and returns the mean time of a load. */
static double access_us(const struct uncore_memory *memory, long long ms)
{
	long long begin = now_ms(), before, took_us = 0;
	unsigned int accesses = 0;

	while (now_ms() - begin < ms) {
		before = now_us();
		uncore_touch(memory, 0, 1, 0);
		took_us += now_us() - before;
		accesses++;
		usleep(SAMPLE_US);
	}
	return (double)took_us / accesses;
}

static void share_clocks(struct __test_metadata *_metadata, FIXTURE_DATA(uncore) *self,
			 const __u64 *configs, long long ms, struct shared *shared)
{
	int fds[MANY + 2], clock = uncore_open("uncore_imc_1", IMC_CLOCK, -1);

	ASSERT_EQ(0, uncore_enable_event(clock));
	for (int i = 0; i < MANY + 2; i++) {
		fds[i] = uncore_open("uncore_imc_0", configs[i], -1);
		ASSERT_EQ(0, uncore_enable_event(fds[i]));
	}
	shared->access_us = access_us(&self->ddr, ms);
	for (int i = 0; i < MANY + 2; i++)
		ASSERT_EQ(0, uncore_disable_event(fds[i]));
	ASSERT_EQ(0, uncore_disable_event(clock));
	ASSERT_EQ(0, uncore_read(clock, &shared->clock));
	ASSERT_EQ(shared->clock.enabled_ns, shared->clock.running_ns);
	for (int i = 0; i < MANY + 2; i++) {
		ASSERT_EQ(0, uncore_read(fds[i], &shared->of[i]));
		close(fds[i]);
	}
	close(clock);
}

/*
 * The clocks also run while perf and the driver move events. If a counter stops, or is not read
 * after a rotation, its event loses the count of that interval. The test compares the counts with
 * the clock of the other memory controller, on which no events share a counter.
 *
 * During a rotation the clocks run while no event counts, for 12 register accesses: four reads when
 * the old events are removed, four writes and four reads when the new ones are added. The time of
 * these accesses depends on the host, because each access goes to the model over a socket, but not
 * on the length of the interval. What a faulty driver loses is in proportion to the interval. So
 * the test chooses the interval by the time of an access, never by the counts: the time of
 * ROTATION_ACCESSES accesses, measured while the events share the counters, must be at most
 * ROTATION_PART (2 %) of the interval. SHARED_PART is an additional tolerance of 3 %: 5 % in all.
 *
 * Four of six events count at a time, so each counts in 13 or 14 of SHARED_ROTATIONS intervals. A
 * driver that loses one of these is 7 % low, however long the interval is. A driver that loses one
 * interval in ten, of each event or of all together, loses 8 of the 80.
 */
TEST_F_TIMEOUT(uncore, clock_events_that_share_counters_lose_no_interval, TIMEOUT_SECONDS)
{
	static const __u64 configs[MANY + 2] = {
		IMC_CLOCK, IMC_CLOCK, IMC_HALF_CLOCK, IMC_HALF_CLOCK,
		IMC_CLOCK_THRESHOLD, IMC_CLOCK_THRESHOLD,
	};
	static const char *const intervals_ms[] = { "200", "1000", "5000" };
	double expected, scaled, part = 1;
	struct shared shared;
	char usual[32];
	long long ms;

	stay_on(pmu_cpu("uncore_imc_0"));
	ASSERT_EQ(0, read_number(MUX_INTERVAL, &ms));
	snprintf(usual, sizeof(usual), "%lld", ms);
	for (size_t i = 0; i < ARRAY_SIZE(intervals_ms) && part > ROTATION_PART; i++) {
		ASSERT_EQ(0, write_text(MUX_INTERVAL, intervals_ms[i]));
		ms = atoll(intervals_ms[i]);
		share_clocks(_metadata, self, configs, SHARED_ROTATIONS * ms, &shared);
		part = ROTATION_ACCESSES * shared.access_us / (1000.0 * ms);
		TH_LOG("a rotation costs %.1f %% of %lld ms", 100 * part, ms);
	}
	ASSERT_EQ(0, write_text(MUX_INTERVAL, usual));
	ASSERT_GE(ROTATION_PART, part) TH_LOG("accesses take too long to compare anything");

	for (int i = 0; i < MANY + 2; i++) {
		ASSERT_LT(0, shared.of[i].running_ns);
		EXPECT_LT(shared.of[i].running_ns, shared.of[i].enabled_ns)
			TH_LOG("event %d was never taken off", i);
		expected = (double)shared.clock.value * shared.of[i].enabled_ns /
			   shared.clock.enabled_ns;
		expected /= configs[i] == IMC_HALF_CLOCK ? 2 : 1;
		scaled = (double)shared.of[i].value * shared.of[i].enabled_ns /
			 shared.of[i].running_ns;
		TH_LOG("event %d: %+.1f %%, on a counter %.1f %% of the time", i,
		       100 * (scaled / expected - 1),
		       100.0 * shared.of[i].running_ns / shared.of[i].enabled_ns);
		EXPECT_LT((1 - SHARED_PART - part) * expected, scaled);
		EXPECT_GT((1 + SHARED_PART + part) * expected, scaled);
	}
}

int main(int argc, char **argv)
{
	char pci[PCI_NAME_BYTES];

	if (pci_find(UNCORE_VENDOR, UNCORE_DEVICE, 0, pci))
		ksft_exit_skip("no uncore function\n");
	return test_harness_run(argc, argv);
}
