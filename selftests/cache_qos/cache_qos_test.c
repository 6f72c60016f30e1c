// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU cache_qos as a program sees it, on the simulated machine: what it refuses, who reports, and that a value is what
 * the machine's book has while programs stand still.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "pmu_event.h"

#define PMU	"cache_qos"
#define BOOK	"/sys/kernel/debug/cache_qos_sim"
#define MAX_CPUS 64

enum { OCCUPANCY = 1, TOTAL, LOCAL, REMOTE };

struct counts {
	__u64 value, enabled, running;
};

static bool sim(const char *command)
{
	return write_text(BOOK "/control", command) == 0;
}

/* Of the book's page of a task: in units */
static long long book_of(pid_t tid, const char *word)
{
	char line[512], key[32], *at;
	long long units = -1;
	FILE *file = fopen(BOOK "/book", "r");

	snprintf(key, sizeof(key), "tid %d ", tid);
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		at = strstr(line, word);
		units = (units > 0 ? units : 0) + (at ? atoll(at + strlen(word) + 1) : 0);
	}
	if (file)
		fclose(file);
	return units;
}

static long long scale(void)
{
	char text[128];

	if (read_text(BOOK "/book", text, sizeof(text)))
		return -1;
	return atoll(text + strlen("scale "));
}

/* A busy task of this name, on one CPU */
static pid_t busy(const char *name, int cpu)
{
	pid_t child = fork();
	cpu_set_t set;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;)
		continue;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void attr_of(struct perf_event_attr *attr, __u64 event)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = pmu_type(PMU);
	attr->config = event;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

FIXTURE(cache_qos) {
	struct perf_event_attr attr;
	struct pmu_event events[MAX_CPUS];
};

FIXTURE_SETUP(cache_qos)
{
	if (pmu_type(PMU) < 0)
		SKIP(return, "no " PMU);
	if (access(BOOK "/book", R_OK))
		SKIP(return, "no simulated machine");
	ASSERT_TRUE(sim("calm"));
	ASSERT_TRUE(sim("freeze 0"));
	for (int i = 0; i < MAX_CPUS; i++)
		self->events[i].fd = -1;
	attr_of(&self->attr, OCCUPANCY);
}

FIXTURE_TEARDOWN(cache_qos)
{
	sim("freeze 0");
	for (int i = 0; i < MAX_CPUS; i++)
		if (self->events[i].fd >= 0)
			close(self->events[i].fd);
}

static struct counts counts_of(const struct pmu_event *event)
{
	struct counts counts = {};

	if (read(event->fd, &counts, sizeof(counts)) != sizeof(counts))
		counts.value = -1;
	return counts;
}

/* A pass of the sampler, and one more, have gone by. */
static void wait_for_passes(void)
{
	usleep(1500000);
}

TEST_F(cache_qos, R_39_refuses_what_it_cannot_do)
{
	struct pmu_event *event = &self->events[0];

	self->attr.sample_period = 1000;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EOPNOTSUPP);
	self->attr.sample_period = 0;
	self->attr.exclude_kernel = 1;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EINVAL);
	self->attr.exclude_kernel = 0;
	self->attr.config = 0;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EINVAL);
	self->attr.config = REMOTE + 1;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EINVAL);
	self->attr.config = OCCUPANCY | 200 << 8;
	EXPECT_LT(pmu_event_open(event, &self->attr, 0, -1), 0);
}

TEST_F(cache_qos, R_43_a_tasks_occupancy_is_the_books_while_it_runs_and_after)
{
	struct pmu_event *event = &self->events[0];
	pid_t child = busy("cq-ws4M-400M", 0);
	struct counts counts;

	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	sim("flush 0");
	usleep(1000000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	counts = counts_of(event);
	EXPECT_GT(counts.value, 0);
	EXPECT_EQ(counts.value, book_of(child, "lines") * scale());
	/* It stands; its lines go all the same. */
	kill(child, SIGSTOP);
	ASSERT_TRUE(sim("flush 0"));
	wait_for_passes();
	EXPECT_EQ(counts_of(event).value, 0);
	end(child);
}

TEST_F(cache_qos, R_30_a_tasks_traffic_is_the_books)
{
	struct pmu_event *event = &self->events[0];
	pid_t child = busy("cq-ws900M-400M", 0);
	long long before;
	struct counts counts;

	self->attr.config = TOTAL;
	ASSERT_TRUE(sim("freeze 1"));
	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	before = book_of(child, "total");
	before = before > 0 ? before : 0;
	ASSERT_TRUE(sim("freeze 0"));
	usleep(1000000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	counts = counts_of(event);
	EXPECT_GT(counts.value, 0);
	EXPECT_EQ(counts.value, (book_of(child, "total") - before) * scale());
	EXPECT_EQ(counts.enabled, counts.running);
	end(child);
}

TEST_F(cache_qos, R_41_one_cpu_reports_for_the_machine)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	int reporters = 0;
	__u64 sum = 0;

	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++) {
		ASSERT_EQ(pmu_event_open(&self->events[cpu], &self->attr, -1, cpu), 0);
		ASSERT_EQ(pmu_event_enable(&self->events[cpu]), 0);
	}
	wait_for_passes();
	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++) {
		struct counts counts = counts_of(&self->events[cpu]);

		sum += counts.value;
		reporters += counts.value != 0;
	}
	TH_LOG("%d of %ld report, %llu bytes", reporters, nr, (unsigned long long)sum);
	EXPECT_LE(reporters, 1);
}

TEST_F(cache_qos, R_12_R_44_a_reset_is_of_counts)
{
	struct pmu_event *event = &self->events[0];
	pid_t child = busy("cq-ws900M-400M", 0);

	self->attr.config = TOTAL;
	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	usleep(500000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	EXPECT_GT(counts_of(event).value, 0);
	ASSERT_EQ(ioctl(event->fd, PERF_EVENT_IOC_RESET, 0), 0);
	wait_for_passes();
	EXPECT_EQ(counts_of(event).value, 0);
	end(child);
}

TEST_HARNESS_MAIN
