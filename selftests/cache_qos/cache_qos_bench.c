// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the time of a task switch while two tasks on one CPU wake each other alternately, in
 * four configurations:
 *   null_probe  an empty BPF program is attached to sched_switch, no task is monitored;
 *   untracked   monitored groups exist, but neither task is in one;
 *   tracked     both tasks are in one monitored group;
 *   monitored   the tasks are in two monitored groups, so every switch writes PQR_ASSOC.
 * Each round measures all four, because the speed of an emulated machine drifts. Each result is the
 * median of all rounds.
 *
 * Prints "bench cache_qos.switch_ns.NAME VALUE ns" lines and TAP. Fails if a switch takes more than
 * 4 times (monitored) or 1.5 times (untracked) as long as with null_probe.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"

#define CONFIGFS	"/sys/kernel/config"
#define GROUPS		CONFIGFS "/cache_qos"
#define STATS		"/sys/kernel/debug/pmukit/cache_qos"
#define ROUNDS		21
#define WARM_UP		50	/* round trips that are not timed */
#define SWITCHES		200	/* timed round trips, two switches each */
#define CPU		1
#define WAIT_MS		5000

enum way { NULL_PROBE, UNTRACKED, TRACKED, MONITORED, NR_WAYS };

static const char *const way_names[NR_WAYS] = { "null_probe", "untracked", "tracked", "monitored" };

struct pair {
	pid_t other;
	int to_other[2], from_other[2];
};

static long long clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Two tasks on one CPU */

static bool answer(const struct pair *pair)
{
	char byte;

	return read(pair->to_other[0], &byte, 1) == 1 && write(pair->from_other[1], &byte, 1) == 1;
}

static bool start(struct pair *pair)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(CPU, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || pipe(pair->to_other) ||
	    pipe(pair->from_other))
		return false;
	pair->other = fork();
	if (pair->other)
		return pair->other > 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (answer(pair))
		continue;
	_exit(0);
}

static bool switch_tasks(const struct pair *pair, int times)
{
	char byte = 0;

	for (int i = 0; i < times; i++)
		if (write(pair->to_other[1], &byte, 1) != 1 ||
		    read(pair->from_other[0], &byte, 1) != 1)
			return false;
	return true;
}

/* Returns the nanoseconds per switch, or -1. */
static double time_of_switches(const struct pair *pair)
{
	long long ns;

	if (!switch_tasks(pair, WARM_UP))
		return -1;
	ns = -clock_ns();
	if (!switch_tasks(pair, SWITCHES))
		return -1;
	ns += clock_ns();
	return (double)ns / (2 * SWITCHES);
}

/* The program attached to sched_switch */

static int empty_program(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (__u64)(unsigned long)nothing,
		.insn_cnt = ARRAY_SIZE(nothing),
		.license = (__u64)(unsigned long)"GPL",
	};

	return syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* Attaches the program until the caller closes the returned file descriptor. */
static int attach(int program)
{
	union bpf_attr attr = {
		.raw_tracepoint = { .name = (__u64)(unsigned long)"sched_switch",
				    .prog_fd = program },
	};

	return syscall(__NR_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

static int put_in(const char *group, pid_t task)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), GROUPS "/%s/tasks", group);
	snprintf(text, sizeof(text), "%d", task);
	return write_text(path, text);
}

static int make_groups(void)
{
	if (mkdir(GROUPS "/one", 0755) || mkdir(GROUPS "/two", 0755))
		return -errno;
	return write_text(GROUPS "/one/monitor_cache", "1") ?:
	       write_text(GROUPS "/two/monitor_cache", "1");
}

/* Waits, because the driver detaches its probe a little after the last group is removed. */
static int remove_groups(void)
{
	long long probes = -1;

	if (rmdir(GROUPS "/one") || rmdir(GROUPS "/two"))
		return -errno;
	for (int i = 0; i < WAIT_MS && probes; i++) {
		int err = read_number(STATS "/probes", &probes);

		if (err)
			return err;
		usleep(1000);
	}
	return probes ? -ETIMEDOUT : 0;
}

static int round_of(const struct pair *pair, int program, double *ns)
{
	int link = attach(program), err;

	if (link < 0)
		return -errno;
	ns[NULL_PROBE] = time_of_switches(pair);
	close(link);
	err = make_groups();
	if (err)
		return err;
	ns[UNTRACKED] = time_of_switches(pair);
	err = put_in("one", getpid()) ?: put_in("one", pair->other);
	if (err)
		return err;
	ns[TRACKED] = time_of_switches(pair);
	err = put_in("two", pair->other);
	if (err)
		return err;
	ns[MONITORED] = time_of_switches(pair);
	return remove_groups();
}

/* Results */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool within(const char *name, double ns, double of_ns, double limit)
{
	printf("# %s is %.2f of null_probe\n", name, ns / of_ns);
	return ns > 0 && of_ns > 0 && ns <= limit * of_ns;
}

static int check_overhead(double ns[NR_WAYS][ROUNDS])
{
	double median[NR_WAYS];
	bool good, all;

	printf("TAP version 13\n1..2\n");
	for (int way = 0; way < NR_WAYS; way++) {
		qsort(ns[way], ROUNDS, sizeof(ns[way][0]), by_size);
		median[way] = ns[way][ROUNDS / 2];
		printf("bench cache_qos.switch_ns.%s %.0f ns\n", way_names[way], median[way]);
	}
	good = within("monitored", median[MONITORED], median[NULL_PROBE], 4);
	printf("%s 1 R-16 a monitored switch is at most 4 of one with an empty probe\n",
	       good ? "ok" : "not ok");
	all = good;
	good = within("untracked", median[UNTRACKED], median[NULL_PROBE], 1.5);
	printf("%s 2 R-16 an unmonitored task at most 1.5\n", good ? "ok" : "not ok");
	all &= good;
	return all ? 0 : 1;
}

static int fail(const char *what, int err)
{
	printf("TAP version 13\n1..1\nnot ok 1 %s: %s\n", what, strerror(-err));
	return 1;
}

int main(void)
{
	double ns[NR_WAYS][ROUNDS], one[NR_WAYS] = { 0 };
	struct pair pair;
	int program, err;

	mount("configfs", CONFIGFS, "configfs", 0, NULL);
	if (access(GROUPS, F_OK)) {
		printf("TAP version 13\n1..0 # SKIP no " GROUPS "\n");
		return 4;
	}
	program = empty_program();
	if (program < 0)
		return fail("bpf", -errno);
	if (!start(&pair))
		return fail("two tasks", -errno);
	for (int round = 0; round < ROUNDS; round++) {
		err = round_of(&pair, program, one);
		if (err)
			return fail("round", err);
		for (int way = 0; way < NR_WAYS; way++)
			ns[way][round] = one[way];
	}
	kill(pair.other, SIGKILL);
	waitpid(pair.other, NULL, 0);
	return check_overhead(ns);
}
