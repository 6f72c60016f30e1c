// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hmu_event.h"
#include "kselftest.h"

#define SETTLE_US	50000
#define WAIT_STEP_US	10000
#define WAIT_STEPS	500

static const struct {
	const char *name;
	__u64 value;
} plain_terms[] = {
	{ "epoch_type", 0 },  { "access_type", 6 },	 { "hotness_threshold", 1 },
	{ "epoch_scale", 4 }, { "epoch_multiplier", 1 }, { "hotness_granual", HMU_UNIT_LOG2 },
};

unsigned int hmu_device_index(void)
{
	const char *text = getenv("PMUKIT_DEVICE");

	return text ? atoi(text) : 0;
}

int hmu_plain_terms(const char *pmu, struct perf_event_attr *attr)
{
	int type = pmu_type(pmu), err = 0;

	if (type < 0)
		return type;
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->disabled = 1;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_RAW;
	for (size_t i = 0; i < ARRAY_SIZE(plain_terms) && !err; i++)
		err = pmu_set_term(pmu, attr, plain_terms[i].name, plain_terms[i].value);
	return err;
}

int hmu_open_plain(const char *pmu, struct pmu_event *event)
{
	struct perf_event_attr attr;
	int err = hmu_plain_terms(pmu, &attr);

	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(pmu));
}

int hmu_start(struct pmu_event *event)
{
	int err = pmu_event_enable(event);

	usleep(SETTLE_US);
	return err;
}

void hmu_load(const struct hmu_device *device, unsigned long unit, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		(void)device->memory[unit * HMU_WORDS_PER_UNIT + i * 7 % HMU_WORDS_PER_UNIT];
}

void hmu_store(const struct hmu_device *device, unsigned long unit, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		device->memory[unit * HMU_WORDS_PER_UNIT + i * 5 % HMU_WORDS_PER_UNIT] = i;
}

__u64 hmu_counted(const struct hmu_tally *tally)
{
	__u64 sum = 0;

	for (unsigned int unit = 0; unit < HMU_UNITS; unit++)
		sum += tally->count[unit];
	return sum;
}

void hmu_collect_accesses(struct hmu_tally *tally, struct pmu_event *event, __u64 accesses)
{
	for (int i = 0; i < WAIT_STEPS && hmu_counted(tally) < accesses; i++) {
		usleep(WAIT_STEP_US);
		hmu_collect(tally, event);
	}
}
