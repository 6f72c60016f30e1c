// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the PMU cache_qos through perf_event_open() on the simulated machine: rejected events, the
 * CPU whose event reports, and values. While programs are frozen, the values must equal the
 * reference counters of the simulation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "pmu_event.h"
#include "pmu_machine.h"

#define PMU	"cache_qos"
#define SIM	"/sys/kernel/debug/cache_qos_sim"
#define MAX_CPUS 64
#define STATS	"/sys/kernel/debug/pmukit/" PMU "/"
#define PASSES	STATS "passes"
#define AUX_LOST "/sys/kernel/debug/pmukit/" PMU "_aux/lost"
#define AUX_RECORDS "/sys/kernel/debug/pmukit/" PMU "_aux/records"
#define ROOT_GROUP "/sys/kernel/config/cache_qos"
#define UNPRIVILEGED_ID	65534

enum { OCCUPANCY = 1, TOTAL, LOCAL, REMOTE };

struct counts {
	__u64 value, enabled, running;
};

static bool sim(const char *command)
{
	return write_text(SIM "/control", command) == 0;
}

/*
 * Returns a field of the simulation's reference counters, in units of the counters, summed over the
 * entries of a task; -1: the task has no entry
 */
static long long reference_of(pid_t tid, const char *word)
{
	char line[512], key[32], *at;
	long long units = -1;
	FILE *file = fopen(SIM "/reference", "r");

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

static long long unit_bytes(void)
{
	char text[128];

	if (read_text(SIM "/reference", text, sizeof(text)))
		return -1;
	return atoll(text + strlen("scale "));
}

/* Starts a busy task with this name, on one CPU */
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
	/*
	 * The simulation reads the name of a task at a task switch to this task. The sleep causes
	 * such a switch.
	 */
	usleep(1000);
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

static void attr_of_stream(struct perf_event_attr *attr)
{
	attr_of(attr, 1);
	attr->type = pmu_type(PMU "_aux");
	attr->read_format = 0;
}

FIXTURE(cache_qos) {
	struct perf_event_attr attr;
	struct pmu_event events[MAX_CPUS];
};

FIXTURE_SETUP(cache_qos)
{
	if (pmu_type(PMU) < 0)
		SKIP(return, "no " PMU);
	if (access(SIM "/reference", R_OK))
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

static long long number_in(const char *path)
{
	long long value = -1;

	read_number(path, &value);
	return value;
}

/*
 * Waits for a complete pass of the driver's sampler, at least 1.5 seconds. A pass may take long on
 * a busy host.
 */
static void wait_for_passes(void)
{
	long long wanted = number_in(PASSES) + 2;

	usleep(1500000);
	for (int i = 0; i < 100 && number_in(PASSES) < wanted; i++)
		usleep(100000);
}

/*
 * Waits until the task's counter @word in the simulator's file "reference" exceeds @more_than, at
 * most 10 seconds; then waits another @us microseconds.
 */
static void let_run(pid_t tid, const char *word, long long more_than, useconds_t us)
{
	for (int i = 0; i < 100 && reference_of(tid, word) <= more_than; i++)
		usleep(100000);
	usleep(us);
}

static unsigned long long pqr_of_cpu(int cpu)
{
	char text[4096], key[32], *line;
	unsigned long long pqr = -1;

	snprintf(key, sizeof(key), "cpu %d ", cpu);
	if (read_text(SIM "/cpus", text, sizeof(text)))
		return -1;
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)))
			sscanf(strstr(line, " pqr "), " pqr %llx", &pqr);
	}
	return pqr;
}

TEST_F(cache_qos, R_39_rejects_unsupported_attributes)
{
	struct pmu_event *event = &self->events[0];

	EXPECT_TRUE(pmu_refuses_extra_config(&self->attr, 0, -1));
	EXPECT_TRUE(pmu_refuses_exclusions(&self->attr, 0, -1));
	EXPECT_TRUE(pmu_refuses_branches(&self->attr, 0, -1));
	self->attr.sample_period = 1000;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EOPNOTSUPP);
	self->attr.sample_period = 0;
	self->attr.config = 0;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EINVAL);
	self->attr.config = REMOTE + 1;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EINVAL);
	self->attr.config = OCCUPANCY | 200 << 8;
	EXPECT_LT(pmu_event_open(event, &self->attr, 0, -1), 0);
	/*
	 * inherit_stat makes perf swap the counts of two tasks, but one event has the counts of all
	 * tasks that inherit the event. So the driver rejects both attributes together.
	 */
	self->attr.config = OCCUPANCY;
	self->attr.inherit_stat = 1;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), 0);
	pmu_event_close(event);
	self->attr.inherit = 1;
	EXPECT_EQ(pmu_event_open(event, &self->attr, 0, -1), -EINVAL);
	attr_of_stream(&self->attr);
	EXPECT_TRUE(pmu_refuses_extra_config(&self->attr, -1, 0));
	EXPECT_TRUE(pmu_refuses_exclusions(&self->attr, -1, 0));
	EXPECT_TRUE(pmu_refuses_samples_of_programs(&self->attr, -1, 0));
}

TEST_F_TIMEOUT(cache_qos, R_43_task_occupancy_equals_the_reference_and_is_0_after_eviction, 120)
{
	struct pmu_event *event = &self->events[0];
	pid_t child = busy("cq-ws4M-400M", 0);
	struct counts counts;

	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	sim("flush 0");
	let_run(child, "lines", 0, 1000000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	counts = counts_of(event);
	EXPECT_GT(counts.value, 0);
	EXPECT_EQ(counts.value, reference_of(child, "lines") * unit_bytes());
	/* Lines of a stopped task can be evicted. */
	kill(child, SIGSTOP);
	ASSERT_TRUE(sim("flush 0"));
	wait_for_passes();
	EXPECT_EQ(counts_of(event).value, 0);
	end(child);
}

/*
 * An event starts to count when perf schedules it, a little after the task, or at the first pass.
 * So the test waits for a pass while the simulation is frozen.
 */
TEST_F_TIMEOUT(cache_qos, R_30_traffic_of_a_task_equals_the_reference, 120)
{
	struct pmu_event *event = &self->events[0];
	pid_t child = busy("cq-ws900M-400M", 0);
	long long before;
	struct counts counts;

	self->attr.config = TOTAL;
	ASSERT_TRUE(sim("freeze 1"));
	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	wait_for_passes();
	before = reference_of(child, "total");
	before = before > 0 ? before : 0;
	ASSERT_TRUE(sim("freeze 0"));
	let_run(child, "total", before, 1000000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	counts = counts_of(event);
	EXPECT_GT(counts.value, 0);
	EXPECT_EQ(counts.value, (reference_of(child, "total") - before) * unit_bytes())
		TH_LOG("faults %lld, hijacks %lld, errors %lld, stolen %lld, uncertain %lld",
		       number_in(STATS "pqr_faults"), number_in(STATS "hijacks"),
		       number_in(STATS "errors"), number_in(STATS "stolen"),
		       number_in(STATS "uncertain"));
	EXPECT_EQ(counts.enabled, counts.running);
	end(child);
}

/* perf stat -D opens a group with a disabled leader, which disables the whole group. */
TEST_F_TIMEOUT(cache_qos, R_44_event_counts_only_after_its_perf_group_is_enabled, 120)
{
	struct pmu_event *leader = &self->events[0], *event = &self->events[1];
	pid_t child = busy("cq-ws900M-400M", 0);
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};

	self->attr.config = TOTAL;
	ASSERT_EQ(pmu_event_open(leader, &clock, child, -1), 0);
	ASSERT_EQ(pmu_event_open_beside(event, &self->attr, child, -1, leader->fd), 0);
	let_run(child, "total", reference_of(child, "total"), 500000);
	wait_for_passes();
	EXPECT_EQ(counts_of(event).value, 0);
	ASSERT_EQ(pmu_event_enable(leader), 0);
	let_run(child, "total", reference_of(child, "total"), 500000);
	wait_for_passes();
	EXPECT_GT(counts_of(event).value, 0);
	end(child);
}

TEST_F(cache_qos, R_41_only_one_of_the_events_on_all_cpus_has_a_count_above_0)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t child = busy("cq-ws2M-400M", 0);
	int reporters = 0;
	__u64 sum = 0;

	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++) {
		ASSERT_EQ(pmu_event_open(&self->events[cpu], &self->attr, -1, cpu), 0);
		ASSERT_EQ(pmu_event_enable(&self->events[cpu]), 0);
	}
	let_run(child, "total", reference_of(child, "total"), 500000);
	wait_for_passes();
	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++) {
		struct counts counts = counts_of(&self->events[cpu]);

		sum += counts.value;
		reporters += counts.value != 0;
	}
	TH_LOG("%d of %ld report, %llu bytes", reporters, nr, (unsigned long long)sum);
	EXPECT_EQ(reporters, 1);
	end(child);
}

/*
 * Monitors two CPUs, then closes the events of one of them. Needs a third CPU, because events on
 * all CPUs would monitor the whole machine.
 */
TEST_F_TIMEOUT(cache_qos, R_46_cpu_is_monitored_until_its_last_event_is_closed, 120)
{
	pid_t child;
	__u64 value;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 3)
		SKIP(return, "there are fewer than three CPUs");
	child = busy("cq-ws900M-400M", 1);
	self->attr.config = TOTAL;
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(pmu_event_open(&self->events[i], &self->attr, -1, i > 0), 0);
	let_run(child, "total", reference_of(child, "total"), 500000);
	/* CPU 1 still has another event. */
	pmu_event_close(&self->events[2]);
	self->events[2].fd = -1;
	wait_for_passes();
	value = counts_of(&self->events[0]).value;
	let_run(child, "total", reference_of(child, "total"), 500000);
	wait_for_passes();
	EXPECT_GT(counts_of(&self->events[0]).value, value);
	ASSERT_NE((unsigned int)pqr_of_cpu(1), 0);
	pmu_event_close(&self->events[1]);
	self->events[1].fd = -1;
	EXPECT_EQ((unsigned int)pqr_of_cpu(1), 0);
	wait_for_passes();
	value = counts_of(&self->events[0]).value;
	let_run(child, "total", reference_of(child, "total"), 500000);
	wait_for_passes();
	EXPECT_EQ(counts_of(&self->events[0]).value, value);
	end(child);
}

/*
 * Events on all CPUs monitor the machine. The driver's sum for the machine includes all traffic
 * since the driver was loaded, but a new event must count only later traffic.
 */
TEST_F_TIMEOUT(cache_qos, R_41_new_events_on_all_cpus_do_not_count_earlier_traffic, 120)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t child = busy("cq-ws900M-400M", 0);
	__u64 sum = 0;

	self->attr.config = TOTAL;
	let_run(child, "total", 0, 500000);
	ASSERT_TRUE(sim("freeze 1"));
	ASSERT_GT(reference_of(child, "total"), 0);
	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++) {
		ASSERT_EQ(pmu_event_open(&self->events[cpu], &self->attr, -1, cpu), 0);
		wait_for_passes();
	}
	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++)
		EXPECT_EQ(counts_of(&self->events[cpu]).value, 0);
	ASSERT_TRUE(sim("freeze 0"));
	let_run(child, "total", reference_of(child, "total"), 500000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	for (int cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++)
		sum += counts_of(&self->events[cpu]).value;
	EXPECT_GT(sum, 0);
	end(child);
}

TEST_F_TIMEOUT(cache_qos, R_44_perf_event_ioc_reset_sets_the_count_to_0, 120)
{
	struct pmu_event *event = &self->events[0];
	pid_t child = busy("cq-ws900M-400M", 0);

	self->attr.config = TOTAL;
	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	let_run(child, "total", reference_of(child, "total"), 500000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	EXPECT_GT(counts_of(event).value, 0);
	ASSERT_EQ(ioctl(event->fd, PERF_EVENT_IOC_RESET, 0), 0);
	wait_for_passes();
	EXPECT_EQ(counts_of(event).value, 0);
	end(child);
}

/* Returns the CPU time of a process in ns, or -1 if the process has ended. */
static long long cpu_ns_of(pid_t pid)
{
	struct timespec ran;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ran))
		return -1;
	return ran.tv_sec * 1000000000LL + ran.tv_nsec;
}

/* Voluntary and involuntary context switches of a task */
static long switches_of(pid_t tid)
{
	char path[64], line[256];
	long sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, "ctxt_switches:");

		sum += at ? atol(at + strlen("ctxt_switches:")) : 0;
	}
	if (file)
		fclose(file);
	return sum;
}

/* Enables and disables the event between two passes of the sampler, which are a second apart. */
TEST_F_TIMEOUT(cache_qos, R_44_counts_traffic_only_while_enabled, 120)
{
	static const char sample_ms[] = PMU_SYSFS "/" PMU "/sample_ms";
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pid_t child = busy("cq-ws900M-400M", cpu);
	struct pmu_event *event = &self->events[0];
	long long moved = -1, value = -1, more = -1;
	char was[16];

	ASSERT_EQ(read_text(sample_ms, was, sizeof(was)), 0);
	self->attr.config = TOTAL;
	self->attr.disabled = 1;
	let_run(child, "total", 0, 0);
	ASSERT_EQ(write_text(sample_ms, "1000"), 0);
	/*
	 * Sometimes another task has the CPU until the end of a round; the test then repeats the
	 * round. If the CPU did not switch away from the task, the first result must be right.
	 */
	for (int try = 0; try < 10 && (value <= 0 || value != moved || more); try++) {
		long switches = switches_of(child);

		ASSERT_TRUE(sim("freeze 1"));
		ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
		wait_for_passes();
		moved = reference_of(child, "total");
		ASSERT_EQ(pmu_event_enable(event), 0);
		usleep(20000);
		ASSERT_TRUE(sim("freeze 0"));
		usleep(100000);
		ASSERT_TRUE(sim("freeze 1"));
		moved = (reference_of(child, "total") - moved) * unit_bytes();
		ASSERT_EQ(pmu_event_disable(event), 0);
		value = counts_of(event).value;
		/* Traffic while the event is disabled must not count. */
		ASSERT_TRUE(sim("freeze 0"));
		usleep(100000);
		ASSERT_TRUE(sim("freeze 1"));
		ASSERT_EQ(pmu_event_enable(event), 0);
		usleep(20000);
		ASSERT_EQ(pmu_event_disable(event), 0);
		more = counts_of(event).value - value;
		TH_LOG("%lld of %lld bytes, and %lld more", value, moved, more);
		if (switches_of(child) == switches) {
			EXPECT_EQ(value, moved);
			EXPECT_EQ(more, 0);
		}
		pmu_event_close(event);
		event->fd = -1;
	}
	EXPECT_EQ(write_text(sample_ms, was), 0);
	EXPECT_GT(value, 0);
	EXPECT_EQ(value, moved);
	EXPECT_EQ(more, 0);
	end(child);
}

/* Each event in sysfs can be opened with the number in its file. */
TEST_F(cache_qos, R_05_R_38_R_66_each_event_in_sysfs_can_be_opened)
{
	static const char *const names[] = {
		"llc_occupancy", "total_bytes", "local_bytes", "remote_bytes",
	};
	char path[128], text[64];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), PMU_SYSFS "/" PMU "/events/%s", names[i]);
		ASSERT_EQ(read_text(path, text, sizeof(text)), 0);
		ASSERT_EQ(strncmp(text, "event=", 6), 0);
		self->attr.config = strtoull(text + 6, NULL, 0);
		EXPECT_EQ(self->attr.config, OCCUPANCY + i);
		EXPECT_EQ(pmu_event_open(&self->events[i], &self->attr, 0, -1), 0);
	}
}

/* The CPU has the task's RMID when perf_event_open() returns, even without a task switch. */
TEST_F_TIMEOUT(cache_qos, R_17_running_task_has_an_rmid_when_perf_event_open_returns, 120)
{
	struct pmu_event *event = &self->events[0];
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pid_t child = busy("cq-ws4M-400M", cpu);
	unsigned long long before = 0, after = 0;
	bool seen = false;
	cpu_set_t first;

	ASSERT_GT(cpu, 0);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	ASSERT_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
	/* Keep the probes attached in all rounds. */
	ASSERT_EQ(pmu_event_open(&self->events[1], &self->attr, 0, -1), 0);
	usleep(200000);
	/*
	 * A round in which another task has the CPU has no result. In the first round in which only
	 * the task ran, without a task switch, the CPU must have the RMID of the task.
	 */
	for (int try = 0; try < 60 && !seen; try++) {
		long switches = switches_of(child);
		long long ran = -cpu_ns_of(child);

		before = pqr_of_cpu(cpu);
		ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
		ran += cpu_ns_of(child);
		after = pqr_of_cpu(cpu);
		seen = switches_of(child) == switches && ran > 0 && (unsigned int)before == 0;
		pmu_event_close(event);
		event->fd = -1;
		usleep(5000);
	}
	EXPECT_TRUE(seen);
	EXPECT_NE((unsigned int)after, 0);
	EXPECT_EQ(after >> 32, before >> 32);
	end(child);
}

static pid_t kernel_thread(const char *name)
{
	char path[300], comm[32];
	struct dirent *entry;
	pid_t found = -1;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (atoi(entry->d_name) > 0 && !read_text(path, comm, sizeof(comm)) &&
		    !strcmp(comm, name))
			found = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return found;
}

TEST_F(cache_qos, R_19_kernel_threads_can_be_monitored)
{
	struct pmu_event *event = &self->events[0];
	pid_t thread = kernel_thread("ksoftirqd/0");
	struct counts counts;

	ASSERT_GT(thread, 0);
	ASSERT_EQ(pmu_event_open(event, &self->attr, thread, -1), 0);
	wait_for_passes();
	counts = counts_of(event);
	EXPECT_EQ(counts.value, 0);
	EXPECT_EQ(counts.enabled, counts.running);
}

/*
 * All values of a group belong to one pass of the sampler. All traffic is local, so the local
 * traffic of a later pass would exceed the total. perf reads the counts one by one, so a pass may
 * occasionally end between two reads, but not while the program is frozen. Local traffic between
 * the driver's reads of the two counters counts as remote traffic, so local and remote may add up
 * to more than the total.
 */
TEST_F_TIMEOUT(cache_qos, R_45_values_of_a_perf_group_are_from_one_pass_of_the_sampler, 120)
{
	struct pmu_event *event = self->events;
	pid_t child = busy("cq-ws900M-800M", 0);
	const int reads = 200;
	struct {
		__u64 nr, value[4];
	} group;
	long long total, local;
	int alike = 0;

	/* All events start while the simulation is frozen. */
	ASSERT_TRUE(sim("freeze 1"));
	for (int i = 0; i < 4; i++) {
		self->attr.config = i == 0 ? TOTAL : i == 1 ? LOCAL : i == 2 ? REMOTE : OCCUPANCY;
		self->attr.read_format = PERF_FORMAT_GROUP;
		ASSERT_EQ(0, pmu_event_open_beside(&event[i], &self->attr, child, -1,
						   i ? event[0].fd : -1));
	}
	wait_for_passes();
	total = reference_of(child, "total");
	local = reference_of(child, "local");
	ASSERT_TRUE(sim("freeze 0"));
	group.value[0] = 0;
	for (int i = 0; i < reads; i++) {
		__u64 before = group.value[0];

		ASSERT_EQ(read(event[0].fd, &group, sizeof(group)), sizeof(group));
		EXPECT_EQ(group.nr, 4);
		EXPECT_GE(group.value[0], before);
		EXPECT_EQ(group.value[3] % unit_bytes(), 0);
		alike += group.value[1] <= group.value[0] &&
			 group.value[0] <= group.value[1] + group.value[2];
		usleep(3000);
	}
	TH_LOG("%d of %d reads add up", alike, reads);
	EXPECT_GT(alike, reads / 2);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	ASSERT_EQ(read(event[0].fd, &group, sizeof(group)), sizeof(group));
	EXPECT_GT(group.value[0], 0);
	EXPECT_EQ(group.value[0], (reference_of(child, "total") - total) * unit_bytes());
	EXPECT_EQ(group.value[1], (reference_of(child, "local") - local) * unit_bytes());
	EXPECT_LE(group.value[0], group.value[1] + group.value[2]);
	end(child);
}

/* The inherited copies of an event count nothing: the original event counts all children once. */
TEST_F_TIMEOUT(cache_qos, R_42_event_with_inherit_counts_each_child_once, 120)
{
	struct pmu_event *event = &self->events[0];
	long long truth = 0;
	int go[2], result[2];
	char byte;
	pid_t child, busy_ones[3];
	struct counts counts;

	ASSERT_EQ(pipe(go), 0);
	ASSERT_EQ(pipe(result), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		for (int i = 0; i < 3; i++)
			busy_ones[i] = busy("cq-ws2M-200M", i % 2);
		if (write(result[1], busy_ones, sizeof(busy_ones)) != sizeof(busy_ones))
			_exit(1);
		for (;;)
			pause();
	}
	self->attr.inherit = 1;
	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	sim("flush 0");
	ASSERT_EQ(write(go[1], "x", 1), 1);
	ASSERT_EQ(read(result[0], busy_ones, sizeof(busy_ones)), sizeof(busy_ones));
	for (int i = 0; i < 3; i++)
		let_run(busy_ones[i], "lines", 0, 500000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	counts = counts_of(event);
	for (int i = 0; i < 3; i++) {
		EXPECT_GT(reference_of(busy_ones[i], "lines"), 0);
		truth += reference_of(busy_ones[i], "lines") * unit_bytes();
	}
	EXPECT_EQ(counts.value, truth);
	for (int i = 0; i < 3; i++)
		kill(busy_ones[i], SIGKILL);
	end(child);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(result[i]);
	}
}

/*
 * Runs until the simulation has counted traffic of this process, which a busy host may delay, and
 * exits.
 */
static void run_a_little_and_end(int result)
{
	pid_t self = getpid();
	long long begun;

	prctl(PR_SET_NAME, "cq-ws900M-400M");
	usleep(1000);
	for (begun = now_ms(); now_ms() - begun < 300; )
		;
	while (reference_of(self, "total") <= 0 && now_ms() - begun < 10000)
		;
	sim("freeze 1");
	_exit(write(result, &self, sizeof(self)) != sizeof(self));
}

/* The monitored process ends before its child. The sampler makes one pass per second. */
TEST_F_TIMEOUT(cache_qos, R_42_event_with_inherit_counts_until_the_last_child_ends, 120)
{
	static const char sample_ms[] = PMU_SYSFS "/" PMU "/sample_ms";
	struct pmu_event *event = &self->events[0];
	pid_t child, last;
	char was[16], byte;
	int go[2], result[2];

	ASSERT_EQ(pipe(go), 0);
	ASSERT_EQ(pipe(result), 0);
	child = fork();
	if (!child) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		if (!fork())
			run_a_little_and_end(result[1]);
		_exit(0);
	}
	ASSERT_EQ(read_text(sample_ms, was, sizeof(was)), 0);
	ASSERT_EQ(write_text(sample_ms, "1000"), 0);
	self->attr.config = TOTAL;
	self->attr.inherit = 1;
	ASSERT_EQ(pmu_event_open(event, &self->attr, child, -1), 0);
	ASSERT_EQ(write(go[1], "x", 1), 1);
	ASSERT_EQ(waitpid(child, NULL, 0), child);
	ASSERT_EQ(read(result[0], &last, sizeof(last)), sizeof(last));
	wait_for_passes();
	EXPECT_EQ(write_text(sample_ms, was), 0);
	EXPECT_GT(reference_of(last, "total"), 0);
	EXPECT_EQ(counts_of(event).value, reference_of(last, "total") * unit_bytes());
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(result[i]);
	}
}

/*
 * Events that one task opens with an equal term "share" have one monitor. With share 0xffffffff
 * each event has its own monitor.
 */
TEST_F_TIMEOUT(cache_qos, R_37_R_41_only_one_of_two_events_with_equal_term_share_has_a_count, 120)
{
	pid_t children[2] = { busy("cq-ws2M-200M", 0), busy("cq-ws2M-200M", 1) };
	long long truth = 0;
	__u64 sum = 0;

	for (int i = 0; i < 4; i++) {
		self->attr.config1 = i < 2 ? 77 : 0xffffffff;
		ASSERT_EQ(pmu_event_open(&self->events[i], &self->attr, children[i % 2], -1), 0);
	}
	sim("flush 0");
	for (int i = 0; i < 2; i++)
		let_run(children[i], "lines", 0, 500000);
	ASSERT_TRUE(sim("freeze 1"));
	wait_for_passes();
	for (int i = 0; i < 2; i++) {
		long long lines = reference_of(children[i], "lines");

		EXPECT_GT(lines, 0);
		truth += lines * unit_bytes();
		sum += counts_of(&self->events[i]).value;
		EXPECT_EQ(counts_of(&self->events[2 + i]).value, lines * unit_bytes());
	}
	EXPECT_EQ(sum, truth);
	EXPECT_TRUE(!counts_of(&self->events[0]).value || !counts_of(&self->events[1]).value);
	end(children[0]);
	end(children[1]);
}

/* While other software uses the registers, values do not change and new events fail. */
TEST_F(cache_qos, R_06_R_07_driver_yields_while_other_software_has_the_registers)
{
	struct pmu_event *event = self->events;
	pid_t child = busy("cq-ws4M-400M", 0);
	struct counts counts;

	ASSERT_EQ(pmu_event_open(&event[0], &self->attr, child, -1), 0);
	ASSERT_TRUE(sim("claim 1"));
	wait_for_passes();
	EXPECT_EQ(pmu_event_open(&event[1], &self->attr, child, -1), -EBUSY);
	EXPECT_EQ((unsigned int)pqr_of_cpu(0), 0);
	counts = counts_of(&event[0]);
	sim("flush 0");
	wait_for_passes();
	EXPECT_EQ(counts_of(&event[0]).value, counts.value);
	ASSERT_TRUE(sim("claim 0"));
	wait_for_passes();
	EXPECT_EQ(pmu_event_open(&event[1], &self->attr, child, -1), 0);
	end(child);
}

static pthread_barrier_t all_ready;

static void *read_the_root(void *unused)
{
	pthread_barrier_wait(&all_ready);
	number_in(ROOT_GROUP "/occupancy");
	return NULL;
}

/* Returns how many passes the sampler makes while this number of threads read a file at once. */
static long long passes_of_readers(int readers)
{
	long long before = number_in(PASSES);
	pthread_t threads[16];

	pthread_barrier_init(&all_ready, NULL, readers);
	for (int i = 0; i < readers; i++)
		pthread_create(&threads[i], NULL, read_the_root, NULL);
	for (int i = 0; i < readers; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_ready);
	return number_in(PASSES) - before;
}

TEST_F_TIMEOUT(cache_qos, R_33_R_34_concurrent_reads_of_a_file_share_sampler_passes, 120)
{
	static const char sample_ms[] = PMU_SYSFS "/" PMU "/sample_ms";
	pid_t child = busy("cq-ws4M-400M", 0);
	char was[16], text[16];
	bool shared = false;

	ASSERT_EQ(read_text(sample_ms, was, sizeof(was)), 0);
	EXPECT_EQ(write_text(sample_ms, "9"), -EINVAL);
	EXPECT_EQ(write_text(sample_ms, "1001"), -EINVAL);
	ASSERT_EQ(write_text(sample_ms, "1000"), 0);
	ASSERT_EQ(read_text(sample_ms, text, sizeof(text)), 0);
	EXPECT_STREQ(text, "1000");
	usleep(500000);
	ASSERT_TRUE(sim("freeze 1"));
	EXPECT_GT(number_in(ROOT_GROUP "/occupancy"), 0);
	ASSERT_TRUE(sim("flush 0"));
	/* A file may show values that are up to sample_ms old. */
	usleep(1100000);
	EXPECT_EQ(number_in(ROOT_GROUP "/occupancy"), 0);
	/*
	 * Sometimes a reader begins after the pass of the other readers has ended. The test only
	 * requires that readers can share passes: without this, there is one pass per reader.
	 */
	for (int try = 0; try < 20 && !shared; try++)
		shared = passes_of_readers(12) <= 4;
	EXPECT_TRUE(shared);
	EXPECT_EQ(write_text(sample_ms, was), 0);
	end(child);
}

/*
 * Opening the first stream of snapshots attaches probes. The driver cannot do this under the mutex
 * that perf holds while an event joins a group.
 */
TEST_F(cache_qos, R_47_snapshot_event_is_rejected_unless_it_leads_its_perf_group)
{
	struct pmu_event *event = self->events;
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};

	attr_of_stream(&self->attr);
	ASSERT_EQ(pmu_event_open(&event[0], &clock, -1, 0), 0);
	EXPECT_EQ(pmu_event_open_beside(&event[1], &self->attr, -1, 0, event[0].fd), -EINVAL);
	ASSERT_EQ(pmu_event_open(&event[2], &self->attr, -1, 0), 0);
	EXPECT_EQ(pmu_event_open_beside(&event[3], &self->attr, -1, 0, event[2].fd), -EINVAL);
	EXPECT_EQ(pmu_event_open_beside(&event[4], &clock, -1, 0, event[2].fd), 0);
}

/*
 * Empties both rings: returns the bytes of the AUX area, and adds the flags of AUX records to
 * @flags.
 */
static size_t drain(struct pmu_event *event, __u64 *flags)
{
	static char bytes[65536];
	struct {
		struct perf_event_header header;
		__u64 offset, size, flags, rest[64];
	} record;

	while (pmu_event_record(event, &record, sizeof(record)) > 0) {
		if (record.header.type == PERF_RECORD_AUX)
			*flags |= record.flags;
	}
	return pmu_event_aux(event, bytes, sizeof(bytes));
}

static bool lost_more_than(long long before)
{
	for (int i = 0; i < 300 && number_in(AUX_LOST) <= before; i++)
		usleep(100000);
	return number_in(AUX_LOST) > before;
}

/* The area fills up twice; each time the stream resumes once there is space again. */
TEST_F_TIMEOUT(cache_qos, R_47_snapshot_event_resumes_after_its_full_aux_area_is_read, 120)
{
	struct pmu_event *event = &self->events[0];

	attr_of_stream(&self->attr);
	/* perf stops a running event when a ring is mapped for it. */
	self->attr.disabled = 1;
	ASSERT_EQ(pmu_event_open(event, &self->attr, -1, 0), 0);
	ASSERT_EQ(pmu_event_map(event, 16, 1), 0);
	ASSERT_EQ(pmu_event_enable(event), 0);
	for (int i = 0; i < 2; i++) {
		long long lost = number_in(AUX_LOST);
		__u64 flags = 0;

		ASSERT_TRUE(lost_more_than(lost)) {
			TH_LOG("round %d", i);
		}
		EXPECT_TRUE(lost_more_than(number_in(AUX_LOST))) {
			TH_LOG("round %d", i);
		}
		EXPECT_GT(drain(event, &flags), 0);
		EXPECT_EQ(flags, PERF_AUX_FLAG_PARTIAL);
	}
	pmu_event_close(event);
}

/* Linux 7.2 stops the event at its last sample, before the rest of the snapshot is delivered. */
TEST_F(cache_qos, R_47_only_delivered_records_are_counted_if_perf_stops_a_snapshot)
{
	struct pmu_event *event = &self->events[0];
	long long before;

	attr_of_stream(&self->attr);
	self->attr.disabled = 1;
	self->attr.sample_period = 1;
	self->attr.sample_type = PERF_SAMPLE_RAW;
	ASSERT_EQ(pmu_event_open(event, &self->attr, -1, 0), 0);
	ASSERT_EQ(pmu_event_map(event, 256, 0), 0);
	before = number_in(AUX_RECORDS);
	ASSERT_EQ(ioctl(event->fd, PERF_EVENT_IOC_REFRESH, 2), 0);
	wait_for_passes();
	EXPECT_GT(number_in(AUX_RECORDS), before);
	EXPECT_EQ(pmu_event_take(event, PERF_RECORD_SAMPLE), number_in(AUX_RECORDS) - before);
}

static int as_unprivileged(int (*what)(struct perf_event_attr *), struct perf_event_attr *attr)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		if (setgid(UNPRIVILEGED_ID) || setuid(UNPRIVILEGED_ID))
			_exit(255);
		_exit(-what(attr));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

static int open_of_a_cpu(struct perf_event_attr *attr)
{
	struct pmu_event event;

	return pmu_event_open(&event, attr, -1, 0);
}

static int make_a_group(struct perf_event_attr *unused)
{
	return mkdir(ROOT_GROUP "/unprivileged", 0755) ? -errno : 0;
}

static int move_a_task(struct perf_event_attr *unused)
{
	return write_text(ROOT_GROUP "/tasks", "1");
}

TEST_F(cache_qos, R_63_rejects_unprivileged_users)
{
	EXPECT_EQ(as_unprivileged(open_of_a_cpu, &self->attr), -EACCES);
	self->attr.type = pmu_type(PMU "_aux");
	self->attr.config = 1;
	EXPECT_EQ(as_unprivileged(open_of_a_cpu, &self->attr), -EACCES);
	ASSERT_EQ(access(ROOT_GROUP, R_OK), 0);
	EXPECT_EQ(as_unprivileged(make_a_group, NULL), -EACCES);
	EXPECT_EQ(as_unprivileged(move_a_task, NULL), -EACCES);
}

TEST_HARNESS_MAIN
