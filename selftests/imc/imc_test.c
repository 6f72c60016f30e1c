// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests which events can be opened, and that counts equal the engine's reference counters and agree
 * with clocks and with perf's software events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_counter.h"
#include "imc_ring.h"
#include "imc_work.h"
#include "kselftest_harness.h"
#include "pmu_machine.h"

#define NEST	"nest_mcs01_imc"

/* Number of hardware events per count, as in the .scale files of events/ */
#define CORE_SCALE	512
#define NEST_SCALE	256

FIXTURE(imc)
{
	struct pmu_event events[4];
};

FIXTURE_SETUP(imc)
{
	for (int i = 0; i < 4; i++)
		self->events[i].fd = -1;
	if (!engine_is_loaded())
		SKIP(return, "no engine");
}

FIXTURE_TEARDOWN(imc)
{
	for (int i = 0; i < 4; i++)
		if (self->events[i].fd >= 0)
			pmu_event_close(&self->events[i]);
}

/* Opening */

enum domain { CORE, THREAD, TRACE, NEST_DOMAIN, NR_DOMAINS };

static int open_domain(struct pmu_event *event, enum domain domain)
{
	struct perf_event_attr attr;
	int err;

	switch (domain) {
	case CORE:
		return counter_open(event, "core_imc", "CPM_CCYC", -1, 0);
	case THREAD:
		return counter_open(event, "thread_imc", "CPM_CCYC", 0, -1);
	case TRACE:
		err = trace_attr(&attr);
		return err ? err : pmu_event_open(event, &attr, -1, 0);
	default:
		return counter_open(event, NEST, "PM_MCS01_128B_WR_DISP_PORT01", -1, 0);
	}
}

TEST_F(imc, core_thread_and_trace_events_exclude_each_other)
{
	struct pmu_event *held = &self->events[0], *other = &self->events[1];

	for (int a = 0; a < NR_DOMAINS; a++) {
		for (int b = 0; b < NR_DOMAINS; b++) {
			bool together = a == b || a == NEST_DOMAIN || b == NEST_DOMAIN;

			ASSERT_EQ(open_domain(held, a), 0);
			ASSERT_EQ(open_domain(other, b), together ? 0 : -EBUSY)
				TH_LOG("%d %d", a, b);
			pmu_event_close(held);
			if (!together)
				ASSERT_EQ(open_domain(other, b), 0) TH_LOG("%d then %d", a, b);
			pmu_event_close(other);
		}
	}
}

struct refusal {
	const char *what;
	enum domain domain;
	int pid, cpu, expected;
	void (*change)(struct perf_event_attr *attr);
};

static void sampling(struct perf_event_attr *attr) { attr->sample_period = 1000; }
static void beyond(struct perf_event_attr *attr) { attr->config = 0x80000; }
static void unaligned(struct perf_event_attr *attr) { attr->config |= 4; }
static void extra(struct perf_event_attr *attr) { attr->config1 = 1; }
static void more(struct perf_event_attr *attr) { attr->config2 = 1; }
static void counting(struct perf_event_attr *attr)
{
	attr->sample_period = 0;
}

static void other_event(struct perf_event_attr *attr) { attr->config += 1 << 20; }
static void precise(struct perf_event_attr *attr) { attr->precise_ip = 2; }
static void signals(struct perf_event_attr *attr) { attr->sigtrap = attr->remove_on_exec = 1; }
static void user_alone(struct perf_event_attr *attr) { attr->exclude_kernel = 1; }

static const struct refusal refusals[] = {
	{ "core: sampling", CORE, -1, 0, -EINVAL, sampling },
	{ "core: of a task", CORE, 0, -1, -EINVAL, NULL },
	{ "core: no such counter", CORE, -1, 0, -EINVAL, beyond },
	{ "core: between counters", CORE, -1, 0, -EINVAL, unaligned },
	{ "core: config1", CORE, -1, 0, -EINVAL, extra },
	{ "core: user alone", CORE, -1, 0, -EINVAL, user_alone },
	{ "nest: sampling", NEST_DOMAIN, -1, 0, -EINVAL, sampling },
	{ "nest: of a task", NEST_DOMAIN, 0, -1, -EINVAL, NULL },
	{ "nest: config2", NEST_DOMAIN, -1, 0, -EINVAL, more },
	{ "nest: no such counter", NEST_DOMAIN, -1, 0, -EINVAL, beyond },
	{ "thread: of a CPU", THREAD, -1, 0, -EINVAL, NULL },
	{ "thread: sampling", THREAD, 0, -1, -EINVAL, sampling },
	{ "thread: user alone", THREAD, 0, -1, -EINVAL, user_alone },
	{ "trace: counting", TRACE, -1, 0, -ENOENT, counting },
	{ "trace: another event", TRACE, -1, 0, -EINVAL, other_event },
	{ "trace: precise", TRACE, -1, 0, -EINVAL, precise },
	{ "trace: signals", TRACE, 0, -1, -EINVAL, signals },
};

static int attr_of(enum domain domain, struct perf_event_attr *attr)
{
	switch (domain) {
	case CORE:
		return counter_attr("core_imc", "CPM_CCYC", attr);
	case THREAD:
		return counter_attr("thread_imc", "CPM_CCYC", attr);
	case TRACE:
		return trace_attr(attr);
	default:
		return counter_attr(NEST, "PM_MCS01_128B_WR_DISP_PORT01", attr);
	}
}

TEST_F(imc, rejects_unsupported_events)
{
	struct perf_event_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *r = &refusals[i];

		ASSERT_EQ(attr_of(r->domain, &attr), 0);
		if (r->change)
			r->change(&attr);
		EXPECT_EQ(pmu_event_open(&self->events[0], &attr, r->pid, r->cpu), r->expected)
			TH_LOG("%s", r->what);
		if (self->events[0].fd >= 0)
			pmu_event_close(&self->events[0]);
	}
	for (int domain = 0; domain < NR_DOMAINS; domain++) {
		bool task = domain == THREAD;

		ASSERT_EQ(attr_of(domain, &attr), 0);
		EXPECT_TRUE(pmu_refuses_extra_config(&attr, task ? 0 : -1, task ? -1 : 0))
			TH_LOG("domain %d", domain);
		if (domain == CORE || domain == NEST_DOMAIN)
			EXPECT_TRUE(pmu_refuses_exclusions(&attr, -1, 0)) TH_LOG("%d", domain);
		if (domain == TRACE)
			EXPECT_TRUE(pmu_refuses_samples_of_programs(&attr, -1, 0));
	}
	/* No rejected event has claimed the engine. */
	for (int domain = 0; domain < NR_DOMAINS; domain++) {
		ASSERT_EQ(open_domain(&self->events[0], domain), 0);
		pmu_event_close(&self->events[0]);
	}
}

/*
 * Events of two types exclude each other with -EBUSY. An invalid event must fail with its own
 * error, even while an event of another type has claimed the engine.
 */
TEST_F(imc, invalid_events_fail_with_their_own_error_while_a_thread_event_is_open)
{
	struct perf_event_attr attr;

	ASSERT_EQ(open_domain(&self->events[0], THREAD), 0);
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *r = &refusals[i];

		ASSERT_EQ(attr_of(r->domain, &attr), 0);
		if (r->change)
			r->change(&attr);
		EXPECT_EQ(pmu_event_open(&self->events[1], &attr, r->pid, r->cpu), r->expected)
			TH_LOG("%s", r->what);
		if (self->events[1].fd >= 0)
			pmu_event_close(&self->events[1]);
	}
}

TEST_F(imc, thread_and_trace_events_need_privileges)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(10);
		if (open_domain(&self->events[0], THREAD) != -EACCES)
			_exit(1);
		if (open_domain(&self->events[0], TRACE) != -EACCES)
			_exit(2);
		_exit(0);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
}

/* Counts that equal the engine's reference counters */

static const char *const slots[] = {
	"CPM_CCYC", "CPM_32MHZ_CYC", "CPM_NON_IDLE_PCYC", "CPM_NON_IDLE_INST",
	"CPM_0THRD_NON_IDLE_PCYC", "CPM_1THRD_NON_IDLE_PCYC", "CPM_2THRD_NON_IDLE_PCYC",
	"CPM_1THRD_NON_IDLE_INST", "CPM_ENGINE_CONTEXT_SWITCHES", "CPM_ENGINE_PAGE_FAULTS", "CPM_ENGINE_TASK_CLOCK",
	"CPM_CS_PCYC_USER", "CPM_CS_INST_USER", "CPM_CS_32MHZ_CYC_USER",
};

#define NR_SLOTS ARRAY_SIZE(slots)

/* Converts pages to counts of a memory controller; a count is 256 lines of 128 bytes. */
static long long blocks(long long pages)
{
	return pages * sysconf(_SC_PAGESIZE) / (NEST_SCALE * 128);
}

static void touch(long pages)
{
	long size = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	madvise(memory, pages * size, MADV_NOHUGEPAGE);
	for (long page = 0; page < pages; page++)
		memory[page * size] = 1;
	munmap(memory, pages * size);
}

static void some_of_everything(void)
{
	work_in_user(20);
	touch(100);
	for (int i = 0; i < 10; i++)
		usleep(1000);
}

/*
 * The engine runs only while the event is enabled, so its reference counters cover the same time.
 */
TEST_F(imc, core_counts_equal_the_reference_counters)
{
	struct pmu_event *event = &self->events[0];
	long long before, count;
	int cpus[MAX_CPUS], nr = pmu_cpus("core_imc", cpus, MAX_CPUS);

	ASSERT_GT(nr, 0);
	for (int i = 0; i < nr && i < MAX_CPUS; i++) {
		int core = core_of(cpus[i]);

		ASSERT_GE(core, 0);
		for (size_t slot = 0; slot < NR_SLOTS; slot++) {
			ASSERT_EQ(counter_open(event, "core_imc", slots[slot], -1, cpus[i]), 0);
			before = reference_number("core", core, slots[slot]);
			for (int round = 0; round < 3; round++) {
				ASSERT_EQ(pmu_event_enable(event), 0);
				some_of_everything();
				ASSERT_EQ(pmu_event_disable(event), 0);
			}
			count = counter_read(event);
			EXPECT_EQ(count, reference_number("core", core, slots[slot]) - before)
				TH_LOG("core %d %s", core, slots[slot]);
			pmu_event_close(event);
		}
	}
}

/* The task is switched often and moves from CPU to CPU. */
TEST_F(imc, thread_counts_equal_the_reference_counters)
{
	struct pmu_event *event = &self->events[0];
	long long before, count;
	int nr_cpus = cpus_online();

	for (size_t slot = 0; slot < NR_SLOTS; slot++) {
		ASSERT_EQ(counter_open(event, "thread_imc", slots[slot], 0, -1), 0);
		before = reference_sum("cpu", slots[slot]);
		ASSERT_EQ(pmu_event_enable(event), 0);
		for (int round = 0; round < 2 * nr_cpus; round++) {
			ASSERT_EQ(run_on(round % nr_cpus), 0);
			some_of_everything();
		}
		ASSERT_EQ(pmu_event_disable(event), 0);
		count = counter_read(event);
		EXPECT_EQ(count, reference_sum("cpu", slots[slot]) - before) TH_LOG("%s", slots[slot]);
		if (strcmp(slots[slot], "CPM_0THRD_NON_IDLE_PCYC") &&
		    strcmp(slots[slot], "CPM_2THRD_NON_IDLE_PCYC"))
			EXPECT_GT(count, 0) TH_LOG("%s", slots[slot]);
		pmu_event_close(event);
	}
}

/* Opens a group, so that one call starts all events. */
static int open_group(struct pmu_event *events, const char *const *counted)
{
	struct perf_event_attr attr;
	int err = counter_open(&events[0], "thread_imc", counted[0], 0, -1);

	for (int i = 1; i < 4 && !err; i++) {
		err = counter_attr("thread_imc", counted[i % 2], &attr);
		attr.disabled = 0;
		if (!err)
			err = pmu_event_open_beside(&events[i], &attr, 0, -1, events[0].fd);
	}
	return err;
}

/*
 * perf removes the events of the group one by one at each task switch. No page fault or switch
 * happens between two removals, so each count must equal the engine's reference counter.
 */
TEST_F(imc, counts_of_a_group_of_task_events_equal_the_reference_counters)
{
	static const char *const counted[] = { "CPM_ENGINE_PAGE_FAULTS", "CPM_ENGINE_CONTEXT_SWITCHES" };
	long long before[2], counted_by_engine;

	ASSERT_EQ(open_group(self->events, counted), 0);
	for (int i = 0; i < 2; i++)
		before[i] = reference_sum("cpu", counted[i]);
	ASSERT_EQ(pmu_event_enable(&self->events[0]), 0);
	for (int round = 0; round < 50; round++) {
		touch(20);
		usleep(500);
	}
	ASSERT_EQ(pmu_event_disable(&self->events[0]), 0);
	for (int i = 0; i < 4; i++) {
		counted_by_engine = reference_sum("cpu", counted[i % 2]) - before[i % 2];
		EXPECT_GT(counted_by_engine, 0);
		EXPECT_EQ(counter_read(&self->events[i]), counted_by_engine) TH_LOG("%s", counted[i % 2]);
	}
}

TEST_F(imc, nest_counts_equal_the_reference_counters)
{
	static const char *const events[] = {
		"PM_MCS01_128B_RD_DISP_PORT01", "PM_MCS01_128B_WR_DISP_PORT01",
		"PM_MCS01_128B_RD_DISP_PORT23", "PM_MCS01_128B_WR_DISP_PORT23",
	};
	struct pmu_event *event = &self->events[0];
	long long before, count;
	int cpus[MAX_CPUS], nr = pmu_cpus(NEST, cpus, MAX_CPUS);

	ASSERT_GT(nr, 0);
	for (int chip = 0; chip < nr && chip < MAX_CPUS; chip++) {
		/* The engine counts a page for the chip of the CPU that allocates it. */
		ASSERT_EQ(run_on(cpus[chip]), 0);
		for (int i = 0; i < 4; i++) {
			ASSERT_EQ(counter_open(event, NEST, events[i], -1, cpus[chip]), 0);
			before = reference_number("chip", chip, events[i]);
			ASSERT_EQ(pmu_event_enable(event), 0);
			touch(500);
			ASSERT_EQ(pmu_event_disable(event), 0);
			count = counter_read(event);
			EXPECT_EQ(count, reference_number("chip", chip, events[i]) - before)
				TH_LOG("chip %d %s", chip, events[i]);
			/* Some freed pages may still be on a per-CPU list. */
			if (i < 2)
				EXPECT_GE(count, blocks(i ? 500 : 400));
			pmu_event_close(event);
		}
	}
}

/*
 * Counters are 64-bit words that only grow; a count is the difference of two values modulo 2^64.
 * Command 3 of the control block clears the counters, so that one difference is negative. Later
 * differences are exact again.
 */
#define COMMAND	"/sys/kernel/debug/imc/imc_cmd_0"

static bool clear_counters(void)
{
	long long end = now_ms() + 10000, command = 3;

	if (write_text(COMMAND, "3"))
		return false;
	while (!read_number(COMMAND, &command) && command == 3 && now_ms() < end)
		usleep(1000);
	return command == 0;
}

TEST_F(imc, count_drops_once_when_counters_are_cleared_and_then_increases_exactly)
{
	struct pmu_event *event = &self->events[0];
	long long before, first, second;

	ASSERT_EQ(counter_open(event, "nest_powerbus0_imc", "PM_PB_CYC", -1, 0), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	usleep(300000);
	ASSERT_EQ(pmu_event_disable(event), 0);
	pmu_event_close(event);

	ASSERT_EQ(counter_open(event, "nest_powerbus0_imc", "PM_PB_CYC", -1, 0), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	ASSERT_TRUE(clear_counters());
	ASSERT_EQ(pmu_event_disable(event), 0);
	first = counter_read(event);
	before = reference_number("chip", 0, "PM_PB_CYC");
	EXPECT_LT(first, 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	usleep(50000);
	ASSERT_EQ(pmu_event_disable(event), 0);
	second = counter_read(event);
	TH_LOG("%lld, then %lld", first, second);
	EXPECT_GT(second, first);
	EXPECT_EQ(second - first, reference_number("chip", 0, "PM_PB_CYC") - before);
}

static bool close_to(long long a, long long b, int percent, long long slack)
{
	long long apart = a > b ? a - b : b - a;

	return apart <= (a > b ? a : b) * percent / 100 + slack;
}

/*
 * The engine's reference counters are consistent: the times with no, one and more busy threads add
 * up to the elapsed time. The increase of a counter is the difference of two values that were
 * rounded down, so its error is less than one.
 */
TEST_F(imc, reference_times_with_0_1_and_2_busy_threads_add_up_to_the_elapsed_time)
{
	static const char *const words[] = {
		"CPM_CCYC", "CPM_0THRD_NON_IDLE_PCYC", "CPM_1THRD_NON_IDLE_PCYC",
		"CPM_2THRD_NON_IDLE_PCYC", "CPM_NON_IDLE_PCYC", "CPM_NON_IDLE_INST",
		"CPM_ENGINE_TASK_CLOCK",
	};
	enum { CCYC, NONE, ONE, TWO, BUSY, INST, CLOCK };
	long long grown[ARRAY_SIZE(words)];
	int core = core_of(0);

	ASSERT_EQ(counter_open(&self->events[0], "core_imc", "CPM_CCYC", -1, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		grown[i] = -reference_number("core", core, words[i]);
	ASSERT_EQ(pmu_event_enable(&self->events[0]), 0);
	some_of_everything();
	ASSERT_EQ(pmu_event_disable(&self->events[0]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		grown[i] += reference_number("core", core, words[i]);
	EXPECT_GT(grown[CCYC], 0);
	EXPECT_TRUE(close_to(grown[CCYC], grown[NONE] + grown[ONE] + grown[TWO], 0, 3));
	EXPECT_TRUE(close_to(grown[BUSY], grown[ONE] + grown[TWO], 0, 2));
	EXPECT_TRUE(close_to(grown[CLOCK] / CORE_SCALE, grown[INST], 0, 2));
}

/* Independent sources */

static long long clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

struct clocked {
	const char *pmu, *event;
	int numerator, denominator;	/* counts per nanosecond */
};

/* Each count must be between the lengths of a shorter and of a longer interval of the clock. */
TEST_F(imc, cycle_counts_match_clock_monotonic)
{
	static const struct clocked clocked[] = {
		{ "core_imc", "CPM_CCYC", 1, CORE_SCALE },
		{ "core_imc", "CPM_32MHZ_CYC", 32, 1000 * CORE_SCALE },
		{ "nest_powerbus0_imc", "PM_PB_CYC", 2, NEST_SCALE },
	};
	struct pmu_event *event = &self->events[0];
	long long outer, inner, count;

	for (size_t i = 0; i < ARRAY_SIZE(clocked); i++) {
		const struct clocked *c = &clocked[i];

		ASSERT_EQ(counter_open(event, c->pmu, c->event, -1, 0), 0);
		outer = -clock_ns();
		ASSERT_EQ(pmu_event_enable(event), 0);
		inner = -clock_ns();
		usleep(200000);
		inner += clock_ns();
		ASSERT_EQ(pmu_event_disable(event), 0);
		outer += clock_ns();
		count = counter_read(event);
		EXPECT_GE(count, inner * c->numerator / c->denominator - 1) TH_LOG("%s", c->event);
		EXPECT_LE(count, outer * c->numerator / c->denominator + 1) TH_LOG("%s", c->event);
		pmu_event_close(event);
	}
}

struct compared {
	const char *event;
	int scale;
	unsigned long long software;
	int percent;
	long long slack;
};

/*
 * Compares the event with two software events of the same task: the outer one starts before the
 * event and ends after it, the inner one starts after the event and ends before it. So a delay
 * between two starts or two stops widens the range of valid counts. A task switch stops and starts
 * the three events one by one; the tolerances allow for that.
 */
TEST_F_TIMEOUT(imc, thread_counts_agree_with_software_events_of_perf, 120)
{
	static const struct compared compared[] = {
		{ "CPM_ENGINE_CONTEXT_SWITCHES", 1, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 2 },
		{ "CPM_ENGINE_PAGE_FAULTS", 1, PERF_COUNT_SW_PAGE_FAULTS, 2, 4 },
		{ "CPM_ENGINE_TASK_CLOCK", 1, PERF_COUNT_SW_TASK_CLOCK, 5, 2000000 },
		{ "CPM_NON_IDLE_PCYC", CORE_SCALE, PERF_COUNT_SW_TASK_CLOCK, 5, 2000000 },
	};
	struct pmu_event *outer = &self->events[0], *ours = &self->events[1],
			 *inner = &self->events[2];
	long long most, count, least;

	for (size_t i = 0; i < ARRAY_SIZE(compared); i++) {
		const struct compared *c = &compared[i];

		ASSERT_EQ(software_open(outer, c->software, 0, -1), 0);
		ASSERT_EQ(counter_open(ours, "thread_imc", c->event, 0, -1), 0);
		ASSERT_EQ(software_open(inner, c->software, 0, -1), 0);
		ASSERT_EQ(pmu_event_enable(outer), 0);
		ASSERT_EQ(pmu_event_enable(ours), 0);
		ASSERT_EQ(pmu_event_enable(inner), 0);
		for (int round = 0; round < 30; round++) {
			work_in_user(10);
			touch(50);
			usleep(1000);
		}
		ASSERT_EQ(pmu_event_disable(inner), 0);
		ASSERT_EQ(pmu_event_disable(ours), 0);
		ASSERT_EQ(pmu_event_disable(outer), 0);
		most = counter_read(outer);
		count = counter_read(ours) * c->scale;
		least = counter_read(inner);
		TH_LOG("%s %lld, perf %lld and %lld", c->event, count, most, least);
		EXPECT_GT(count, 0);
		EXPECT_GE(count, least - least * c->percent / 100 - c->slack);
		EXPECT_LE(count, most + most * c->percent / 100 + c->slack);
		for (int j = 0; j < 3; j++)
			pmu_event_close(&self->events[j]);
	}
}

/* The kernel samples the CPU mode at each timer tick, which is accurate enough over a second. */
TEST_F_TIMEOUT(imc, thread_counts_distinguish_user_and_kernel_mode, 120)
{
	struct pmu_event *all = &self->events[0], *user = &self->events[1];
	long long ran, in_user;

	for (int kernel = 0; kernel < 2; kernel++) {
		ASSERT_EQ(counter_open(all, "thread_imc", "CPM_NON_IDLE_PCYC", 0, -1), 0);
		ASSERT_EQ(counter_open(user, "thread_imc", "CPM_CS_PCYC_USER", 0, -1), 0);
		ASSERT_EQ(pmu_event_enable(all), 0);
		ASSERT_EQ(pmu_event_enable(user), 0);
		if (kernel)
			work_in_kernel(1000);
		else
			work_in_user(1000);
		ASSERT_EQ(pmu_event_disable(user), 0);
		ASSERT_EQ(pmu_event_disable(all), 0);
		ran = counter_read(all);
		in_user = counter_read(user);
		TH_LOG("%lld of %lld in user mode", in_user, ran);
		EXPECT_GT(ran, 0);
		if (kernel) {
			EXPECT_LE(in_user, ran / 2);
		} else {
			EXPECT_GE(in_user, ran / 2);
		}
		pmu_event_close(all);
		pmu_event_close(user);
	}
}

/* Returns the pages allocated since boot: an upper limit for counts of the memory controllers. */
static long long pages_given_out(void)
{
	char line[256];
	long long sum = 0, one;
	FILE *file = fopen("/proc/vmstat", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "pgalloc_%*s %lld", &one) == 1)
			sum += one;
	if (file)
		fclose(file);
	return sum;
}

TEST_F(imc, memory_controller_counts_match_the_page_allocator)
{
	int cpus[MAX_CPUS], nr = pmu_cpus(NEST, cpus, 4);
	long long pages, count = 0;

	ASSERT_GT(nr, 0);
	ASSERT_LE(nr, 2);
	for (int chip = 0; chip < nr; chip++) {
		ASSERT_EQ(counter_open(&self->events[2 * chip], NEST, "PM_MCS01_128B_WR_DISP_PORT01",
				       -1, cpus[chip]), 0);
		ASSERT_EQ(counter_open(&self->events[2 * chip + 1], NEST,
				       "PM_MCS01_128B_WR_DISP_PORT23", -1, cpus[chip]), 0);
	}
	pages = -pages_given_out();
	for (int i = 0; i < 2 * nr; i++)
		ASSERT_EQ(pmu_event_enable(&self->events[i]), 0);
	touch(3000);
	/*
	 * While other events keep the engine of the chip running, an event gets only the counts
	 * that the engine has posted so far.
	 */
	for (int chip = 0; chip < nr; chip++)
		reference_wait_posted(chip);
	for (int i = 0; i < 2 * nr; i++)
		ASSERT_EQ(pmu_event_disable(&self->events[i]), 0);
	pages += pages_given_out();
	for (int i = 0; i < 2 * nr; i++)
		count += counter_read(&self->events[i]);
	TH_LOG("%lld blocks, %lld pages", count, pages);
	/* Each counter may be off by one, due to rounding. */
	EXPECT_GE(count, blocks(3000) - 2 * nr);
	EXPECT_LE(count, blocks(pages) + 2 * nr);
}

/* All threads of a core are busy: the counter for this number of threads gets nearly all time. */
TEST_F(imc, reference_counters_distinguish_number_of_busy_threads_of_a_core)
{
	int cpus[MAX_CPUS], nr = 0, core = core_of(0);
	long long before[3], after[3], sum = 0;
	pid_t children[MAX_CPUS];

	for (int cpu = 0; cpu < cpus_online() && nr < MAX_CPUS; cpu++)
		if (core_of(cpu) == core)
			cpus[nr++] = cpu;
	for (int i = 0; i < nr; i++) {
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_on(cpus[i]);
			for (;;)
				work_split();
		}
	}
	ASSERT_EQ(counter_open(&self->events[0], "core_imc", "CPM_CCYC", -1, cpus[0]), 0);
	usleep(1000000);	/* until all children run */
	before[0] = reference_number("core", core, "CPM_0THRD_NON_IDLE_PCYC");
	before[1] = reference_number("core", core, "CPM_1THRD_NON_IDLE_PCYC");
	before[2] = reference_number("core", core, "CPM_2THRD_NON_IDLE_PCYC");
	ASSERT_EQ(pmu_event_enable(&self->events[0]), 0);
	usleep(500000);
	ASSERT_EQ(pmu_event_disable(&self->events[0]), 0);
	after[0] = reference_number("core", core, "CPM_0THRD_NON_IDLE_PCYC") - before[0];
	after[1] = reference_number("core", core, "CPM_1THRD_NON_IDLE_PCYC") - before[1];
	after[2] = reference_number("core", core, "CPM_2THRD_NON_IDLE_PCYC") - before[2];
	for (int i = 0; i < nr; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	for (int i = 0; i < 3; i++)
		sum += after[i];
	TH_LOG("%d threads: none %lld, one %lld, more %lld us", nr, after[0] * CORE_SCALE / 1000, after[1] * CORE_SCALE / 1000,
	       after[2] * CORE_SCALE / 1000);
	EXPECT_GT(after[nr > 1 ? 2 : 1], sum / 10 * 9);
}

TEST_HARNESS_MAIN
