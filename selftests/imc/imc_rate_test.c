// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests trace_imc at the rate that POWER's firmware sets, a record every 7.8 us on each CPU. That
 * is 128000 records per second, more than an emulated machine can process. Each record must be
 * delivered, or be counted and reported as lost.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_follow.h"
#include "imc_work.h"
#include "kselftest_harness.h"
#include "pmu_machine.h"

#define PERIOD_NS	7843
#define RUN_MS		2000
/* The test requires this many of about 255000 records, because the host may stop the guest. */
#define MANY		20000
#define POLL_US		2000
#define AREA_PAGES	1024
#define OWNERS		2

FIXTURE(imc_rate)
{
	struct trace trace;
};

FIXTURE_SETUP(imc_rate)
{
	if (!engine_is_loaded() || reference_number("core", 0, "period_ns") != PERIOD_NS)
		SKIP(return, "no engine with cpmc_load=0xffffff05");
}

FIXTURE_TEARDOWN(imc_rate)
{
	trace_close(&self->trace);
}

/* The test reads the area continuously. */
TEST_F_TIMEOUT(imc_rate, each_record_is_in_the_aux_area_or_counted_as_lost, 120)
{
	struct pmu_event *event = &self->trace.events[0];
	long long from, started, ended, late, due, least;
	struct perf_event_attr attr;
	struct stream s = {};
	struct tally tally;

	ASSERT_EQ(trace_attr(&attr), 0);
	ASSERT_EQ(pmu_event_open(event, &attr, -1, 0), 0);
	self->trace.nr = 1;
	ASSERT_EQ(pmu_event_map(event, 16, AREA_PAGES), 0);
	tally_now(&tally);
	late = reference_number("cpu", 0, "late");
	from = now_ms();
	ASSERT_EQ(pmu_event_enable(event), 0);
	started = now_ms();
	while (now_ms() - started < RUN_MS) {
		usleep(POLL_US);
		read_stream(event, &s);
	}
	ended = now_ms();
	ASSERT_EQ(pmu_event_disable(event), 0);
	due = (now_ms() - from + 1) * 1000000 / PERIOD_NS;
	/* Require 3/4 of the records: the engine skips a tick that is delayed beyond the event. */
	least = (ended - started) * 1000000 / PERIOD_NS * 3 / 4;
	read_stream(event, &s);
	tally_since(&tally);
	late = reference_number("cpu", 0, "late") - late;
	TH_LOG("due %lld, written %lld, late %lld; in the area %lld, lost %lld", due, tally.written,
	       late, s.records, tally.lost);
	EXPECT_LE(tally.written + late, due);
	EXPECT_GE(tally.written + late, least);
	EXPECT_GT(tally.written, MANY);
	EXPECT_EQ(tally.written, s.records + tally.lost);
	EXPECT_EQ(tally.handed, s.records);
	EXPECT_LE(s.missing, tally.lost);
	EXPECT_GT(s.records, MANY / 2);
	EXPECT_EQ(tally.rejected, 0);
	EXPECT_EQ(s.damaged + s.backwards, 0);
}

/* Two programs yield the CPU to each other all the time; the driver drains at each task switch. */
struct owned {
	struct sequence sequence;
	pid_t pids[OWNERS];
	long long right, wrong;
};

static void own_work(void *data)
{
	int which = *(int *)data;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		work(which, 1);
		sched_yield();
	}
}

static void follow_owned(const struct trace_sample *sample, void *data)
{
	int which = sample->user ? work_of(sample->ip) : -1;
	struct owned *owned = data;

	follow(sample, &owned->sequence);
	if (which < 0 || which >= OWNERS)
		return;
	if ((pid_t)sample->pid == owned->pids[which])
		owned->right++;
	else
		owned->wrong++;
}

TEST_F_TIMEOUT(imc_rate, samples_have_the_right_task_and_losses_are_reported, 120)
{
	struct sequence *s;
	struct owned owned = {};
	struct tally tally;
	long long from;
	int which;

	s = &owned.sequence;
	for (which = 0; which < OWNERS; which++)
		owned.pids[which] = child_that(own_work, &which);
	ASSERT_EQ(trace_open(&self->trace, 1024, -1), 0);
	tally_now(&tally);
	from = now_ms();
	ASSERT_EQ(trace_enable(&self->trace), 0);
	while (now_ms() - from < RUN_MS) {
		usleep(POLL_US);
		ASSERT_EQ(trace_read(&self->trace, follow_owned, &owned), 0);
	}
	ASSERT_EQ(trace_disable(&self->trace), 0);
	ASSERT_EQ(trace_read(&self->trace, follow_owned, &owned), 0);
	for (which = 0; which < OWNERS; which++)
		end_child(owned.pids[which]);
	tally_since(&tally);
	TH_LOG("written %lld, samples %lld, lost %lld, perf lost %lld; right %lld, wrong %lld",
	       tally.written, self->trace.samples, tally.lost, self->trace.perf_lost, owned.right,
	       owned.wrong);
	EXPECT_EQ(tally.written, self->trace.samples + tally.lost + self->trace.perf_lost);
	EXPECT_EQ(tally.handed, self->trace.samples + self->trace.perf_lost);
	EXPECT_EQ(tally.rejected, 0);
	EXPECT_EQ(s->missing, s->reported + s->gaps);
	EXPECT_LE(s->reported, tally.lost);
	EXPECT_LE(s->gaps, self->trace.perf_lost);
	EXPECT_EQ(s->damaged + s->backwards, 0);
	EXPECT_GT(owned.right, 100);
	EXPECT_EQ(owned.wrong, 0);
}

TEST_HARNESS_MAIN
