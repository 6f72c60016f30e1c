// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_aux_extras --pmu PMU [--event TERMS] [--aux PAGES]
 *
 * Tests AUX features of perf that a PMU must declare (PERF_PMU_CAP_AUX_OUTPUT,
 * PERF_PMU_CAP_AUX_PAUSE, a callback snapshot_aux). The drivers under test declare none of them, so
 * perf must reject each feature, in an event of the PMU and in a software event that joins the
 * group of an event of the PMU. perf must accept the same event without the feature.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define SAMPLE_BYTES	64
#define CLOCK_NS	1000000

/* Bits of aux_action */
#define START_PAUSED	1U
#define PAUSE		2U
#define RESUME		4U

struct extra {
	const char *name;
	bool beside;		/* a software event in a group of the PMU has the feature */
	bool output;
	__u32 sample_bytes;
	__u32 action;
	int refusal;		/* error number of a kernel that has the feature */
};

static const struct extra extras[] = {
	{ "aux_output", .output = true, .refusal = -EOPNOTSUPP },
	{ "aux_start_paused", .action = START_PAUSED, .refusal = -EOPNOTSUPP },
	{ "aux_pause", .action = PAUSE, .refusal = -EINVAL },
	{ "aux_resume", .action = RESUME, .refusal = -EINVAL },
	{ "aux_sample_size", .sample_bytes = SAMPLE_BYTES, .refusal = -EINVAL },
	{ "aux_pause beside it", .beside = true, .action = PAUSE, .refusal = -EINVAL },
	{ "aux_resume beside it", .beside = true, .action = RESUME, .refusal = -EINVAL },
	{ "aux_sample_size beside it", .beside = true, .sample_bytes = SAMPLE_BYTES,
	  .refusal = -EINVAL },
};

static void set_extra(struct perf_event_attr *attr, const struct extra *extra)
{
	attr->aux_output = extra->output;
	attr->aux_sample_size = extra->sample_bytes;
	memcpy((char *)attr + PMU_ATTR_AUX_ACTION, &extra->action, sizeof(extra->action));
}

/* A sampling software event, disabled. */
static struct perf_event_attr software_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = CLOCK_NS,
		.sample_type = PERF_SAMPLE_TID,
		.disabled = 1,
	};
}

/* Opens an event, with the feature if @wanted, and closes it. Returns 0 or -errno. */
static int ask(const struct stress_subject *subject, const struct extra *extra, bool wanted)
{
	struct perf_event_attr attr = extra->beside ? software_attr() :
						      stress_subject_attr(subject);
	struct pmu_event leader = { .fd = -1 }, event = { .fd = -1 };
	int err = extra->beside ? stress_subject_open(subject, &leader) : 0;

	if (wanted)
		set_extra(&attr, extra);
	if (!err)
		err = pmu_event_open_beside(&event, &attr, -1, stress_pmu_some_cpu(&subject->pmu),
					    leader.fd);
	pmu_event_close(&event);
	pmu_event_close(&leader);
	return err;
}

/* Older kernels have no aux_action: they reject any value in its reserved word with -EINVAL. */
static bool kernel_knows_actions(void)
{
	static const struct extra paused = { .action = START_PAUSED };
	struct perf_event_attr attr = software_attr();
	struct pmu_event event = { .fd = -1 };
	int err;

	set_extra(&attr, &paused);
	err = pmu_event_open(&event, &attr, -1, 0);
	pmu_event_close(&event);
	return err == -EOPNOTSUPP;
}

static void test_extra(const struct stress_subject *subject, const struct extra *extra, bool known)
{
	int refusal = known ? extra->refusal : -EINVAL;
	int got = ask(subject, extra, true), plain = ask(subject, extra, false);

	ksft_test_result(got == refusal && !plain,
			 "%s: perf rejects %s (%s): %s; event without it: %s\n", subject->name,
			 extra->name, strerror(-refusal), strerror(-got), strerror(-plain));
}

int main(int argc, char **argv)
{
	struct stress_subject subject = { 0 };
	bool knows_actions;

	if (!stress_subject_parse(&subject, argc, argv, NULL, NULL, NULL)) {
		fprintf(stderr,
			"usage: pmu_aux_extras --pmu PMU [options], see the head of its source\n");
		return 2;
	}
	stress_subject_choose(&subject);
	knows_actions = kernel_knows_actions();
	ksft_print_msg("this kernel %s aux_action\n", knows_actions ? "knows" : "does not know");
	ksft_set_plan(ARRAY_SIZE(extras));
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++)
		test_extra(&subject, &extras[i], !extras[i].action || knows_actions);
	ksft_finished();
}
