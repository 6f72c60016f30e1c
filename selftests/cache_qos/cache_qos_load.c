// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_load NAME SECONDS [THREADS [FORKS]]: threads of this name, which says to the simulated machine what they do
 * (cq-ws8M-1G), each busy for so long; and beside them so many children one after the other, which live for a moment.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *name;
static double seconds;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* A name counts from the next time the task gets a CPU. */
static void *work(void *unused)
{
	double end = now() + seconds;

	prctl(PR_SET_NAME, name);
	usleep(1000);
	while (now() < end)
		continue;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 1, forks = argc > 4 ? atoi(argv[4]) : 0;
	pthread_t others[64];

	if (argc < 3 || threads < 1 || threads > 64) {
		fprintf(stderr, "usage: cache_qos_load NAME SECONDS [THREADS [FORKS]]\n");
		return 2;
	}
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
