// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_sleep --pmu PMU [--event TERMS] [--aux PAGES]
 *
 * Suspends the machine to idle while an event runs. The suspend stops before the idle loop itself,
 * because the clock of the machine might not wake it. The event may continue or end with an error;
 * it must be possible to close it, and a new event must work.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define POWER		"/sys/power"
#define RUN_US		200000

/* Opens, maps, enables, disables, reads and closes an event. */
static int try_all(const struct stress_subject *subject)
{
	struct pmu_event event = { .fd = -1 };
	int err = stress_subject_start(subject, &event);
	__u64 count[2];

	usleep(RUN_US);
	err = err ?: pmu_event_disable(&event);
	if (!err && read(event.fd, count, sizeof(count)) < 0)
		err = -errno;
	pmu_event_close(&event);
	return err;
}

/* Suspend */

/* The kernel suspends up to this point, waits for some seconds and resumes by itself. */
static int suspend(const char *how_far)
{
	int err = write_text(POWER "/pm_test", how_far) ?: write_text(POWER "/state", "freeze");

	write_text(POWER "/pm_test", "none");
	return err;
}

static const struct {
	const char *how_far;
	const char *name;
} sleeps[] = {
	{ "devices", "up to the devices" },
	/* Does all but enter the idle loop: PCI functions are powered down, interrupts are off. */
	{ "platform", "up to device power and interrupts" },
};

#define NR_SLEEPS	ARRAY_SIZE(sleeps)

static void test_sleep(const struct stress_subject *subject, unsigned int which)
{
	struct pmu_event event = { .fd = -1 };
	int err = stress_subject_start(subject, &event), asleep;

	asleep = err ?: suspend(sleeps[which].how_far);
	/* The event may have ended with an error; only the close must succeed. */
	if (!asleep)
		pmu_event_disable(&event);
	pmu_event_close(&event);
	ksft_test_result(!asleep, "%s: suspends %s while an event runs: %s\n", subject->name,
			 sleeps[which].name, strerror(-asleep));
	err = try_all(subject);
	ksft_test_result(!err, "%s: new event works after resume: %s\n", subject->name,
			 strerror(-err));
}

int main(int argc, char **argv)
{
	struct stress_subject subject = { 0 };

	if (!stress_subject_parse(&subject, argc, argv, NULL, NULL, NULL)) {
		fprintf(stderr,
			"usage: pmu_sleep --pmu PMU [options], see the head of its source\n");
		return 2;
	}
	stress_subject_choose(&subject);
	ksft_set_plan(2 * NR_SLEEPS);
	for (unsigned int i = 0; i < NR_SLEEPS; i++)
		test_sleep(&subject, i);
	ksft_finished();
}
