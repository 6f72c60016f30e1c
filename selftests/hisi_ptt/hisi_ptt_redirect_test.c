// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests AUX areas in the ring of a software event. This test must not run on Linux 7.2, which warns
 * about its own count of mappings when such an area is mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pmu_event.h"
#include "ptt_event.h"

#define PMU		"hisi_ptt0_2"
#define DATA_PAGES	64
#define AUX_PAGES	32
#define STORES		300
#define LOOK_US		700000
#define TIMEOUT_SECONDS	120

static long long lost_so_far(void)
{
	return ptt_debug_number(PMU, "lost");
}

FIXTURE(redirect) {
	struct pmu_event event, ring;
};

FIXTURE_SETUP(redirect)
{
	self->event.fd = -1;
	self->ring.fd = -1;
	if (pmu_type(PMU) < 0 || geteuid())
		SKIP(return, pmu_type(PMU) < 0 ? "no " PMU : "needs root");
}

FIXTURE_TEARDOWN(redirect)
{
	pmu_event_close(&self->event);
	pmu_event_close(&self->ring);
}

/*
 * The event writes into the ring of a software event. The AUX area belongs to the event but is
 * mapped only through the software event. When the event's last mapping is removed, perf detaches
 * the event from the ring, so the function redirects the event again.
 */
static int share_area(struct pmu_event *ring, struct pmu_event *event)
{
	void *own;
	int err = pmu_event_open_ring(ring, pmu_cpu(PMU), DATA_PAGES);

	err = err ? err : ptt_open_counting(PMU, event, &ptt_stores_8dw);
	err = err ? err : pmu_event_redirect(event, ring);
	err = err ? err : pmu_event_map_aux(ring, event, AUX_PAGES);
	if (err)
		return err;
	own = ring->aux;
	err = pmu_event_map_aux(ring, ring, AUX_PAGES);
	if (err)
		return err;
	if (munmap(own, ring->aux_bytes))
		return -errno;
	return pmu_event_redirect(event, ring);
}

static int run_once(struct pmu_event *event)
{
	int err = pmu_event_enable(event);

	err = err ? err : ptt_make_stores(STORES);
	return err ? err : pmu_event_disable(event);
}

/*
 * Linux 6.1 does not stop an event whose AUX area is unmapped through another event. Without an
 * area the driver must only count the entries in the device's buffers; if perf has already stopped
 * the event, the driver counts them as lost.
 */
TEST_F_TIMEOUT(redirect, aux_area_is_not_used_after_unmap_through_another_event, TIMEOUT_SECONDS)
{
	long long lost = lost_so_far();

	ASSERT_EQ(0, share_area(&self->ring, &self->event));
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	ASSERT_EQ(0, ptt_make_stores(STORES));
	ASSERT_EQ(0, munmap(self->ring.aux, self->ring.aux_bytes));
	self->ring.aux = NULL;
	ASSERT_EQ(0, ptt_make_stores(STORES));
	usleep(LOOK_US);
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	EXPECT_LE(STORES, ptt_count(&self->event) + lost_so_far() - lost);
	EXPECT_GE(2 * STORES, ptt_count(&self->event) + lost_so_far() - lost);

	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_LE(STORES, ptt_count(&self->event));
}

/* The area outlives the event that set it up; the next event has another ring and must work. */
TEST_F_TIMEOUT(redirect, new_event_records_while_aux_area_of_closed_event_is_mapped,
	       TIMEOUT_SECONDS)
{
	ASSERT_EQ(0, share_area(&self->ring, &self->event));
	pmu_event_close(&self->event);
	ASSERT_EQ(0, ptt_open_sampling(PMU, &self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_LT(0, pmu_event_take(&self->event, PERF_RECORD_SAMPLE));
	EXPECT_LE(STORES, ptt_count(&self->event));
}

TEST_HARNESS_MAIN
