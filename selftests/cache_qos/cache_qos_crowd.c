// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_crowd THREADS: starts this number of threads, which sleep until they are killed. Prints
 * "ready" once all are running.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *sleeps(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc == 2 ? atoi(argv[1]) : 0;
	pthread_attr_t attr;
	pthread_t thread;

	if (threads < 1) {
		fprintf(stderr, "usage: cache_qos_crowd THREADS\n");
		return 2;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	for (int i = 1; i < threads; i++) {
		if (pthread_create(&thread, &attr, sleeps, NULL)) {
			perror("cache_qos_crowd");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	sleeps(NULL);
}
