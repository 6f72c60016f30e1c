// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_load NAME SECONDS [THREADS [FORKS [PAUSE_MS]]]: runs threads with this name, which
 * defines their accesses in the simulated machine, as in cq-ws8M-1G. Each thread is busy for
 * SECONDS; with PAUSE_MS, only for a moment after each pause. Meanwhile FORKS child processes run
 * one after the other, each busy for a moment.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS	128
#define MOMENT		0.002

static const char *name;
static double seconds;
static int pause_ms;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void busy_until(double end)
{
	while (now() < end)
		continue;
}

/* The simulation reads the name of a task at the next switch to this task. */
static void *work(void *unused)
{
	double end = now() + seconds;

	prctl(PR_SET_NAME, name);
	usleep(1000);
	for (; pause_ms && now() < end; usleep(pause_ms * 1000))
		busy_until(now() + MOMENT);
	busy_until(end);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 1, forks = argc > 4 ? atoi(argv[4]) : 0;
	pthread_t others[MOST_THREADS];

	if (argc < 3 || threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr,
			"usage: cache_qos_load NAME SECONDS [THREADS [FORKS [PAUSE_MS]]]\n");
		return 2;
	}
	pause_ms = argc > 5 ? atoi(argv[5]) : 0;
	name = argv[1];
	seconds = atof(argv[2]);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < forks; i++) {
		pid_t child = fork();

		if (!child) {
			prctl(PR_SET_NAME, name);
			usleep(100);
			busy_until(now() + MOMENT);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	work(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
