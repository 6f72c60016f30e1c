// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "imc_work.h"

#define UNIT_LOOPS		2000
#define CALIBRATIONS		100
#define CALIBRATION_UNITS	10

/* Each function is in a separate section, for which the linker defines start and stop symbols. */
#define WORK(n)	extern const char __start_imc_work_##n[], __stop_imc_work_##n[];	\
	__attribute__((noinline, section("imc_work_" #n)))		\
	static void work_##n(unsigned int units)			\
	{								\
		for (volatile unsigned int i = 0; i < units * UNIT_LOOPS; i++)	\
			;						\
	}

WORK(0)
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)

#define ROW(n) { work_##n, __start_imc_work_##n, __stop_imc_work_##n }

static const struct {
	void (*function)(unsigned int units);
	const char *start, *stop;
} works[NR_WORKS] = { ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7) };

void work(int which, unsigned int units)
{
	works[which].function(units);
}

int work_of(__u64 ip)
{
	for (int which = 0; which < NR_WORKS; which++)
		if (ip >= (uintptr_t)works[which].start && ip < (uintptr_t)works[which].stop)
			return which;
	return -1;
}

void work_split(void)
{
	work(0, 7);
	work(1, 2);
	work(2, 1);
}

void work_on(void *data)
{
	for (;;)
		work_split();
}

pid_t child_that(void (*act)(void *data), void *data)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	act(data);
	_exit(0);
}

void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

long long thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

unsigned int work_units_per_ms(void)
{
	long long least = 0, ns;

	for (int i = 0; i < CALIBRATIONS; i++) {
		ns = -thread_ns();
		work(0, CALIBRATION_UNITS);
		ns += thread_ns();
		if (!least || ns < least)
			least = ns;
	}
	return CALIBRATION_UNITS * 1000000LL / (least ?: 1) + 1;
}

long long work_in_kernel(unsigned int ms)
{
	static char zeroes[1 << 20];
	long long start = thread_ns(), now = start;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && now - start < ms * 1000000LL) {
		if (read(fd, zeroes, sizeof(zeroes)) < 0)
			break;
		now = thread_ns();
	}
	close(fd);
	return now - start;
}

long long work_in_user(unsigned int ms)
{
	long long start = thread_ns(), now = start;

	while (now - start < ms * 1000000LL) {
		work(3, 20);
		now = thread_ns();
	}
	return now - start;
}
