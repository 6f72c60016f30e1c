// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests unloading of modules that are in use, and CPUs that go offline and online while events run.
 * The environment variables PMUKIT_ENGINE and PMUKIT_IMC are the paths of imc_engine.ko and imc.ko.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_counter.h"
#include "imc_ring.h"
#include "imc_work.h"
#include "kselftest_harness.h"
#include "pmu_machine.h"

#define ROUNDS	10

FIXTURE(imc_life)
{
	struct pmu_event event;
	struct trace trace;
};

FIXTURE_SETUP(imc_life)
{
	self->event.fd = -1;
	self->trace.nr = 0;
	if (!getenv("PMUKIT_ENGINE") || !getenv("PMUKIT_IMC"))
		SKIP(return, "PMUKIT_ENGINE and PMUKIT_IMC say which modules");
	if (!engine_is_loaded())
		SKIP(return, "no engine");
}

FIXTURE_TEARDOWN(imc_life)
{
	if (self->event.fd >= 0)
		pmu_event_close(&self->event);
	trace_close(&self->trace);
}

static int open_trace_on(struct pmu_event *event, int cpu)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr);

	return err ? err : pmu_event_open(event, &attr, -1, cpu);
}

/* Modules */

TEST_F(imc_life, open_event_prevents_module_unload)
{
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, 0), 0);
	EXPECT_EQ(module_try_unload("imc_engine"), -EWOULDBLOCK);
	EXPECT_EQ(module_try_unload("imc"), -EWOULDBLOCK);
	ASSERT_EQ(pmu_event_enable(&self->event), 0);
	EXPECT_EQ(module_try_unload("imc_engine"), -EWOULDBLOCK);
	pmu_event_close(&self->event);
	EXPECT_EQ(module_try_unload("imc"), -EWOULDBLOCK);	/* imc_engine uses imc */
	ASSERT_EQ(module_unload("imc_engine"), 0);
	EXPECT_FALSE(engine_is_loaded());
	EXPECT_EQ(pmu_type("core_imc"), -ENOENT);
	EXPECT_EQ(pmu_type("nest_mcs01_imc"), -ENOENT);
	ASSERT_EQ(module_unload("imc"), 0);
	ASSERT_EQ(module_load(getenv("PMUKIT_IMC")), 0);
	EXPECT_EQ(pmu_type("core_imc"), -ENOENT);
	ASSERT_EQ(module_load(getenv("PMUKIT_ENGINE")), 0);
	EXPECT_GE(pmu_type("core_imc"), 0);
}

/* Probes */

static const struct needed {
	const char *pmu, *event;
	int pid, cpu, driver, engine;
} needed[] = {
	{ "core_imc", "CPM_CCYC", -1, 0, 0, 1 },
	{ "thread_imc", "CPM_CCYC", 0, -1, 0, 1 },
	{ "nest_mcs01_imc", "PM_MCS01_128B_WR_DISP_PORT01", -1, 0, 0, 2 },
};

TEST_F_TIMEOUT(imc_life, tracepoint_probes_are_attached_only_while_an_event_is_open, 180)
{
	ASSERT_TRUE(probes_are_gone());
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		const struct needed *n = &needed[i];

		ASSERT_EQ(counter_open(&self->event, n->pmu, n->event, n->pid, n->cpu), 0);
		EXPECT_EQ(probes_of_driver(), n->driver) TH_LOG("%s", n->pmu);
		EXPECT_EQ(probes_of_engine(), n->engine) TH_LOG("%s", n->pmu);
		sleep(2);
		EXPECT_EQ(probes_of_engine(), n->engine) TH_LOG("%s", n->pmu);
		pmu_event_close(&self->event);
		EXPECT_TRUE(probes_are_gone()) TH_LOG("%s", n->pmu);
	}
	ASSERT_EQ(open_trace_on(&self->event, 0), 0);
	EXPECT_EQ(probes_of_driver(), 2);
	EXPECT_EQ(probes_of_engine(), 1);
	pmu_event_close(&self->event);
	EXPECT_TRUE(probes_are_gone());
}

/* Open events share the probes, which stay until the last event is closed. */
TEST_F(imc_life, tracepoint_probes_stay_until_the_last_event_is_closed)
{
	struct pmu_event other;

	ASSERT_TRUE(probes_are_gone());
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, 0), 0);
	ASSERT_EQ(counter_open(&other, "nest_mcs01_imc", "PM_MCS01_128B_WR_DISP_PORT01", -1, 0), 0);
	EXPECT_EQ(probes_of_engine(), 3);
	pmu_event_close(&self->event);
	sleep(3);
	EXPECT_EQ(probes_of_engine(), 2);
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, 0), 0);
	EXPECT_EQ(probes_of_engine(), 3);
	pmu_event_close(&other);
}

static int open_member(struct pmu_event *member, struct pmu_event *leader)
{
	struct perf_event_attr attr;
	int err = counter_attr("core_imc", "CPM_CCYC", &attr);

	attr.disabled = 0;
	return err ? err : pmu_event_open_beside(member, &attr, -1, 0, leader->fd);
}

/* perf holds ctx->mutex while an event joins a group; probes must not be attached under it. */
TEST_F(imc_life, opening_a_group_member_attaches_its_tracepoint_probes)
{
	struct pmu_event leader;
	long long before;

	ASSERT_TRUE(probes_are_gone());
	ASSERT_EQ(software_open(&leader, PERF_COUNT_SW_CPU_CLOCK, -1, 0), 0);
	EXPECT_EQ(probes_of_engine(), 0);
	ASSERT_EQ(open_member(&self->event, &leader), 0);
	EXPECT_EQ(probes_of_engine(), 1);
	before = reference_number("core", core_of(0), "CPM_CCYC");
	ASSERT_EQ(pmu_event_enable(&leader), 0);
	usleep(50000);
	ASSERT_EQ(pmu_event_disable(&leader), 0);
	EXPECT_GT(counter_read(&self->event), 0);
	EXPECT_EQ(counter_read(&self->event), reference_number("core", core_of(0), "CPM_CCYC") - before);
	pmu_event_close(&self->event);
	EXPECT_TRUE(probes_are_gone());
	pmu_event_close(&leader);
}

TEST_F(imc_life, event_open_fails_if_tracepoint_probes_cannot_be_attached)
{
	struct pmu_event leader;

	ASSERT_TRUE(probes_are_gone());
	ASSERT_EQ(probes_fail_once(EMFILE), 0);
	EXPECT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, 0), -EMFILE);
	EXPECT_EQ(probes_of_engine(), 0);
	ASSERT_EQ(probes_fail_once(EMFILE), 0);
	EXPECT_EQ(open_trace_on(&self->event, 0), -EMFILE);
	EXPECT_EQ(probes_of_driver(), 0);
	EXPECT_EQ(probes_of_engine(), 0);
	ASSERT_EQ(software_open(&leader, PERF_COUNT_SW_CPU_CLOCK, -1, 0), 0);
	ASSERT_EQ(probes_fail_once(EMFILE), 0);
	EXPECT_EQ(open_member(&self->event, &leader), -EMFILE);
	EXPECT_EQ(probes_of_engine(), 0);
	/* The failed opens have neither claimed the engine nor kept a reference to the module. */
	ASSERT_EQ(open_trace_on(&self->event, 0), 0);
	pmu_event_close(&self->event);
	ASSERT_EQ(open_member(&self->event, &leader), 0);
	pmu_event_close(&self->event);
	pmu_event_close(&leader);
	ASSERT_EQ(module_unload("imc_engine"), 0);
	ASSERT_EQ(module_load(getenv("PMUKIT_ENGINE")), 0);
}

/* After the close the probes are still attached, as the work item that detaches them is delayed. */
TEST_F(imc_life, engine_module_can_be_unloaded_right_after_the_last_close)
{
	for (int round = 0; round < ROUNDS; round++) {
		const struct needed *n = &needed[round % ARRAY_SIZE(needed)];

		ASSERT_EQ(counter_open(&self->event, n->pmu, n->event, n->pid, n->cpu), 0);
		ASSERT_EQ(pmu_event_enable(&self->event), 0);
		pmu_event_close(&self->event);
		EXPECT_EQ(probes_of_engine(), n->engine);
		ASSERT_EQ(module_unload("imc_engine"), 0);
		ASSERT_EQ(module_load(getenv("PMUKIT_ENGINE")), 0);
		EXPECT_EQ(probes_of_engine(), 0);
	}
}

/*
 * Opens, runs and closes events of all kinds until the process is killed. Opens may fail, because
 * the PMUs may be unregistered.
 */
static void use_all(void)
{
	struct pmu_event event;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (!open_trace_on(&event, 0)) {
			pmu_event_map(&event, 8, 0);
			pmu_event_enable(&event);
			work_in_user(5);
			pmu_event_close(&event);
		}
		if (!counter_open(&event, "core_imc", "CPM_CCYC", -1, 0)) {
			pmu_event_enable(&event);
			usleep(2000);
			pmu_event_close(&event);
		}
		if (!counter_open(&event, "thread_imc", "CPM_CCYC", 0, -1)) {
			pmu_event_enable(&event);
			work_in_user(2);
			pmu_event_close(&event);
		}
		if (!counter_open(&event, "nest_mcs01_imc", "PM_MCS01_128B_WR_DISP_PORT01", -1, 0)) {
			pmu_event_enable(&event);
			usleep(2000);
			pmu_event_close(&event);
		}
	}
}

TEST_F_TIMEOUT(imc_life, engine_can_be_reloaded_while_programs_use_events, 300)
{
	pid_t children[2];
	int gone = 0, err;

	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (!children[i])
			use_all();
	}
	for (int round = 0; round < ROUNDS; round++) {
		err = module_unload("imc_engine");
		if (err == -EWOULDBLOCK)
			continue;
		ASSERT_EQ(err, 0);
		gone++;
		ASSERT_EQ(module_load(getenv("PMUKIT_ENGINE")), 0);
	}
	for (int i = 0; i < 2; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	TH_LOG("%d of %d times", gone, ROUNDS);
	EXPECT_GT(gone, 0);
	/* Events work as before. */
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, 0), 0);
	ASSERT_EQ(pmu_event_enable(&self->event), 0);
	usleep(10000);
	ASSERT_EQ(pmu_event_disable(&self->event), 0);
	EXPECT_GT(counter_read(&self->event), 0);
}

/* CPUs */

/* The last CPU; x86 cannot take its first CPU offline. */
static int last_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_CONF) - 1;
}

static pid_t busy_child(int cpu)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (cpu >= 0)
			run_on(cpu);
		for (;;)
			work_split();
	}
	return child;
}

/* The count of a core event stays exact while at least one thread of the core is online. */
TEST_F_TIMEOUT(imc_life, core_event_continues_when_its_cpu_goes_offline, 120)
{
	int cpu = last_cpu(), core = core_of(cpu), first = -1;
	long long before, count;

	for (int each = 0; each <= cpu && first < 0; each++)
		if (core_of(each) == core)
			first = each;
	if (first == cpu)
		SKIP(return, "one thread a core");
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, first), 0);
	before = reference_number("core", core, "CPM_CCYC");
	ASSERT_EQ(pmu_event_enable(&self->event), 0);
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(cpu_set_online(first, "0"), 0);
		usleep(20000);
		count = counter_read(&self->event);
		ASSERT_EQ(cpu_set_online(first, "1"), 0);
		ASSERT_EQ(cpu_set_online(cpu, "0"), 0);
		usleep(20000);
		EXPECT_GT(counter_read(&self->event), count);
		ASSERT_EQ(cpu_set_online(cpu, "1"), 0);
	}
	ASSERT_EQ(pmu_event_disable(&self->event), 0);
	EXPECT_EQ(counter_read(&self->event), reference_number("core", core, "CPM_CCYC") - before);
}

/*
 * The kernel moves a task off a CPU that goes offline; the count of the task's event stays exact.
 */
TEST_F_TIMEOUT(imc_life, task_event_continues_after_cpu_offline, 120)
{
	int cpu = last_cpu();
	pid_t child = busy_child(-1);
	long long before, count;

	ASSERT_EQ(counter_open(&self->event, "thread_imc", "CPM_ENGINE_TASK_CLOCK", child, -1), 0);
	before = reference_sum("cpu", "CPM_ENGINE_TASK_CLOCK");
	ASSERT_EQ(pmu_event_enable(&self->event), 0);
	for (int round = 0; round < ROUNDS; round++) {
		usleep(20000);
		ASSERT_EQ(cpu_set_online(cpu, "0"), 0);
		usleep(20000);
		ASSERT_EQ(cpu_set_online(cpu, "1"), 0);
	}
	ASSERT_EQ(pmu_event_disable(&self->event), 0);
	count = counter_read(&self->event);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_GT(count, 0);
	EXPECT_EQ(count, reference_sum("cpu", "CPM_ENGINE_TASK_CLOCK") - before);
}

/* perf ends the event of a CPU that goes offline; an event that is opened later works. */
TEST_F_TIMEOUT(imc_life, trace_event_ends_when_its_cpu_goes_offline, 120)
{
	int cpu = last_cpu();
	long long records;

	for (int round = 0; round < ROUNDS; round++) {
		pid_t child = busy_child(cpu);

		records = reference_number("cpu", cpu, "records");
		ASSERT_EQ(trace_open(&self->trace, 64, -1), 0);
		ASSERT_EQ(trace_enable(&self->trace), 0);
		while (reference_number("cpu", cpu, "records") < records + 20)
			usleep(5000);
		ASSERT_EQ(cpu_set_online(cpu, "0"), 0);
		records = reference_number("cpu", cpu, "records");
		usleep(20000);
		EXPECT_EQ(reference_number("cpu", cpu, "records"), records);
		ASSERT_EQ(cpu_set_online(cpu, "1"), 0);
		ASSERT_EQ(trace_disable(&self->trace), 0);
		ASSERT_EQ(trace_read(&self->trace, NULL, NULL), 0);
		EXPECT_GT(self->trace.samples, 20);
		trace_close(&self->trace);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

/*
 * The kernel fails to take a CPU offline at a hotplug step that follows the driver's step, and
 * rolls back: running events continue.
 */
#define HOTPLUG_STATES	"/sys/devices/system/cpu/hotplug/states"
#define FAILING_STEP	": workqueue:online\n"

static int number_of_step(void)
{
	char states[16384], *name, *line;
	FILE *file = fopen(HOTPLUG_STATES, "r");
	size_t bytes = file ? fread(states, 1, sizeof(states) - 1, file) : 0;

	if (file)
		fclose(file);
	states[bytes] = '\0';
	name = strstr(states, FAILING_STEP);
	if (!name)
		return -1;
	*name = '\0';
	line = strrchr(states, '\n');
	return atoi(line ? line + 1 : states);
}

static int fail_to_leave(int cpu)
{
	char path[128], step[16];
	int err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/hotplug/fail", cpu);
	snprintf(step, sizeof(step), "%d", number_of_step());
	err = write_text(path, step);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_text(path, "0");
}

static int set_siblings_online(int cpu, const char *online)
{
	int err = 0;

	for (int each = 0; each < cpu && !err; each++)
		if (core_of(each) == core_of(cpu))
			err = cpu_set_online(each, online);
	return err;
}

TEST_F_TIMEOUT(imc_life, core_event_continues_after_failed_cpu_offline, 120)
{
	int cpu = last_cpu(), core = core_of(cpu);
	long long before, count;

	ASSERT_EQ(set_siblings_online(cpu, "0"), 0);
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, cpu), 0);
	before = reference_number("core", core, "CPM_CCYC");
	ASSERT_EQ(pmu_event_enable(&self->event), 0);
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(fail_to_leave(cpu), -EAGAIN);
		count = counter_read(&self->event);
		usleep(20000);
		EXPECT_GT(counter_read(&self->event), count);
	}
	ASSERT_EQ(pmu_event_disable(&self->event), 0);
	EXPECT_EQ(counter_read(&self->event), reference_number("core", core, "CPM_CCYC") - before);
	ASSERT_EQ(set_siblings_online(cpu, "1"), 0);
}

/*
 * Starts a real-time task that does not yield: more records arrive without a task switch than one
 * drain reads, so only the timer can drain them.
 */
static pid_t obstinate_child(int cpu)
{
	struct sched_param first = { .sched_priority = 1 };
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_on(cpu);
		sched_setscheduler(0, SCHED_FIFO, &first);
		for (;;)
			work_split();
	}
	return child;
}

/*
 * The engine learns of tasks from a probe of task switches. Here no switch happens, so the engine
 * must look up the running task. The test disables RT throttling, which would stop the task for 5 %
 * of each second.
 */
#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"

TEST_F_TIMEOUT(imc_life, core_event_counts_a_task_that_already_runs_when_it_is_opened, 120)
{
	int cpu = last_cpu(), core = core_of(cpu);
	long long busy, all;
	pid_t child;

	ASSERT_TRUE(probes_are_gone());
	ASSERT_EQ(write_text(RT_RUNTIME, "-1"), 0);
	child = obstinate_child(cpu);
	usleep(300000);
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_NON_IDLE_PCYC", -1, cpu), 0);
	busy = reference_number("core", core, "CPM_NON_IDLE_PCYC");
	all = reference_number("core", core, "CPM_CCYC");
	ASSERT_EQ(pmu_event_enable(&self->event), 0);
	usleep(100000);
	ASSERT_EQ(pmu_event_disable(&self->event), 0);
	end_child(child);
	EXPECT_EQ(write_text(RT_RUNTIME, "950000"), 0);
	busy = reference_number("core", core, "CPM_NON_IDLE_PCYC") - busy;
	all = reference_number("core", core, "CPM_CCYC") - all;
	TH_LOG("busy %lld of %lld", busy, all);
	EXPECT_GT(all, 0);
	EXPECT_GE(busy, all * 9 / 10);
}

TEST_F_TIMEOUT(imc_life, trace_event_continues_after_failed_cpu_offline, 120)
{
	long long records, lost = trace_stat("lost");
	int cpu = last_cpu();
	pid_t child;

	for (int alone = 0; alone < 2; alone++) {
		ASSERT_EQ(set_siblings_online(cpu, alone ? "0" : "1"), 0);
		ASSERT_EQ(open_trace_on(&self->event, cpu), 0);
		ASSERT_EQ(pmu_event_map(&self->event, 512, 0), 0);
		ASSERT_EQ(pmu_event_enable(&self->event), 0);
		ASSERT_EQ(fail_to_leave(cpu), -EAGAIN);
		child = obstinate_child(cpu);
		records = reference_number("cpu", cpu, "records");
		reference_wait_records(cpu, 1500);
		EXPECT_GE(reference_number("cpu", cpu, "records"), records + 1500);
		end_child(child);
		ASSERT_EQ(pmu_event_disable(&self->event), 0);
		EXPECT_GE(pmu_event_take(&self->event, PERF_RECORD_SAMPLE), 1500);
		EXPECT_EQ(trace_stat("lost"), lost);
		pmu_event_close(&self->event);
	}
	ASSERT_EQ(set_siblings_online(cpu, "1"), 0);
}

/*
 * perf dissolves the group of a leader whose CPU goes offline, but would still accept siblings for
 * the leader. The driver rejects them.
 */
TEST_F(imc_life, event_cannot_join_a_leader_whose_cpu_was_offline)
{
	struct pmu_event leader;
	struct perf_event_attr attr;
	int cpu = last_cpu();

	ASSERT_EQ(software_open(&leader, PERF_COUNT_SW_DUMMY, -1, cpu), 0);
	ASSERT_EQ(trace_attr(&attr), 0);
	ASSERT_EQ(pmu_event_open_beside(&self->event, &attr, -1, cpu, leader.fd), 0);
	pmu_event_close(&self->event);
	ASSERT_EQ(cpu_set_online(cpu, "0"), 0);
	ASSERT_EQ(cpu_set_online(cpu, "1"), 0);
	EXPECT_EQ(pmu_event_open_beside(&self->event, &attr, -1, cpu, leader.fd), -ENODEV);
	pmu_event_close(&leader);
	ASSERT_EQ(open_trace_on(&self->event, cpu), 0);
}

/* Kills processes while they open, run and close events. */
TEST_F_TIMEOUT(imc_life, new_events_open_after_processes_with_open_events_are_killed, 120)
{
	for (int round = 0; round < ROUNDS; round++) {
		pid_t child = fork();

		if (!child)
			use_all();
		usleep(30000 + round * 1000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	/* The killed processes do not hold a claim on the engine, so these opens succeed. */
	ASSERT_EQ(open_trace_on(&self->event, 0), 0);
	pmu_event_close(&self->event);
	ASSERT_EQ(counter_open(&self->event, "core_imc", "CPM_CCYC", -1, 0), 0);
}

TEST_HARNESS_MAIN
