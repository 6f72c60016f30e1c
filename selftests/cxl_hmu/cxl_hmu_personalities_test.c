// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices as other people's implementations have them, and such as only the specification allows:
 * each records what was touched, exactly. PMUKIT_SHAPES names the CXL memory functions in the order
 * of their PCI addresses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <pmukit/cxl_hmu.h>

#include "hmu_device.h"
#include "hmu_event.h"
#include "hmu_records.h"
#include "kselftest_harness.h"
#include "pmu_event.h"
#include "pmu_machine.h"

#define DATA_PAGES	4
#define AUX_PAGES	16
#define UNITS		300U
#define SETTLE_US	300000	/* a few epochs of 100 ms */
#define ROUNDS		2
#define TIMEOUT_SECONDS	120

FIXTURE(personality) {
	struct hmu_device device;
	struct pmu_event event;
	struct hmu_tally tally;
	char pmu[64];
};

/**
 * struct personality - a device
 * @shape: its word in PMUKIT_SHAPES
 * @always_on: it has no epochs
 * @rounds: that record anything
 * @gaps: an unknown number of entries may be missing: @flags says so
 * @flags: of all records together
 */
FIXTURE_VARIANT(personality) {
	const char *shape;
	bool always_on;
	int rounds;
	bool gaps;
	__u64 flags;
};

#define PERSONALITY(_shape, _rounds, ...) \
	FIXTURE_VARIANT_ADD(personality, _shape) { \
		.shape = #_shape, .rounds = _rounds, ##__VA_ARGS__ \
	}

PERSONALITY(far_list, ROUNDS);		/* behind the 16 bits of the instance length */
PERSONALITY(largest_list, ROUNDS);
PERSONALITY(padded, ROUNDS);		/* bits of the bitmap beyond the device's capacity */
PERSONALITY(newer, ROUNDS);		/* a later version of the block */
PERSONALITY(without_epochs, ROUNDS, .always_on = true, .flags = PMUKIT_CXL_HMU_F_ALWAYS_ON);
PERSONALITY(left_enabling, ROUNDS);	/* as a kernel before left it */
PERSONALITY(lenient, ROUNDS);		/* all at once that readers need not notice */
/*
 * Its tail is nonsense after an idle epoch, also where entries wait: that is reported, nothing that
 * was not touched is recorded, and a run does not begin with it.
 */
PERSONALITY(garbage_tail, 1, .gaps = true,
	    .flags = PMUKIT_CXL_HMU_F_TRUNCATED | PMUKIT_CXL_HMU_F_RESET);
/* Head and tail cannot be read as the specification has them: nothing ever seems to be there. */
PERSONALITY(joint_registers, 0);

FIXTURE_SETUP(personality)
{
	int index;

	self->event.fd = -1;
	if (!getenv("PMUKIT_SHAPES"))
		SKIP(return, "PMUKIT_SHAPES does not name the shapes of the devices");
	index = index_of_word(getenv("PMUKIT_SHAPES"), variant->shape);
	ASSERT_LE(0, index) TH_LOG("no device with the shape %s", variant->shape);
	ASSERT_EQ(0, hmu_device_find(&self->device, index));
	ASSERT_EQ(0, hmu_device_map(&self->device));
	ASSERT_EQ(0, hmu_pmu_name(&self->device, 0, self->pmu, sizeof(self->pmu)));
	hmu_tally_reset(&self->tally);
}

FIXTURE_TEARDOWN(personality)
{
	pmu_event_close(&self->event);
	hmu_device_unmap(&self->device);
}

/* What a unit is touched with is what is recorded of it: here once. */
static int open_event(FIXTURE_DATA(personality) *self, bool always_on)
{
	static const char * const absent[] = { "epoch_scale", "epoch_multiplier" };
	struct perf_event_attr attr;
	int err = hmu_plain_terms(self->pmu, &attr);

	if (!err && always_on)
		err = pmu_set_term(self->pmu, &attr, "epoch_type", 1);
	for (size_t i = 0; !err && always_on && i < ARRAY_SIZE(absent); i++)
		err = pmu_set_term(self->pmu, &attr, absent[i], 0);
	return err ? err : pmu_event_open(&self->event, &attr, -1, pmu_cpu(self->pmu));
}

static void touch_units(const struct hmu_device *device)
{
	for (unsigned int unit = 0; unit < UNITS; unit++)
		hmu_load(device, unit, 1);
}

TEST_F_TIMEOUT(personality, records_what_was_touched, TIMEOUT_SECONDS)
{
	__u64 expected = 0;

	ASSERT_EQ(0, open_event(self, variant->always_on));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, AUX_PAGES));
	for (int round = 0; round < ROUNDS; round++) {
		expected += round < variant->rounds ? UNITS : 0;
		ASSERT_EQ(0, hmu_start(&self->event));
		touch_units(&self->device);
		if (!variant->gaps)
			hmu_collect_accesses(&self->tally, &self->event, expected);
		usleep(SETTLE_US);
		ASSERT_EQ(0, pmu_event_disable(&self->event));
		hmu_collect(&self->tally, &self->event);
	}
	EXPECT_GE(expected, self->tally.total_entries);
	EXPECT_EQ(self->tally.total_entries, hmu_counted(&self->tally));
	for (unsigned int unit = 0; unit < UNITS; unit++) {
		EXPECT_GE(variant->rounds, self->tally.count[unit]) TH_LOG("unit %u", unit);
	}
	if (!variant->gaps)
		EXPECT_EQ(expected, self->tally.total_entries);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, self->tally.sequence_gaps);
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_EQ(variant->flags, self->tally.flags);
}

int main(int argc, char **argv)
{
	struct hmu_device device;

	if (hmu_device_find(&device, 0) == -ENODEV)
		ksft_exit_skip("no CXL memory function\n");
	return test_harness_run(argc, argv);
}
