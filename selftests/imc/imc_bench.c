// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how much a sample costs the sampled program. Each round runs the same work without
 * samples, with samples of trace_imc and with samples of cpu-clock. Each result is the minimum of
 * all rounds, which excludes other activity of the machine. The program measures 40 rounds; if the
 * limit is not met, it measures 40 more, up to 19 times. The cost includes the ticks of the
 * software engine, which a hardware engine does not need.
 *
 * imc_bench prints "bench imc.handler_ns ..." lines and TAP. It fails if a sample costs more than
 * 1.2 times as much as a sample of cpu-clock.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_counter.h"
#include "imc_ring.h"
#include "imc_work.h"

#define ROUNDS		40
#define UNITS		4000
#define LIMIT_PERCENT	120
#define TRIES		20

enum way { NOTHING, TRACE_IMC, CPU_CLOCK, NR_WAYS };

struct cost {
	long long least_ns[NR_WAYS];
	long long samples[NR_WAYS];
};

static long long clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int open_way(struct pmu_event *event, enum way way, int cpu, long long period_ns)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr);

	if (err)
		return err;
	if (way == CPU_CLOCK) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = period_ns;
	}
	attr.sample_type &= ~PERF_SAMPLE_RAW;
	err = pmu_event_open(event, &attr, -1, cpu);
	return err ? err : pmu_event_map(event, 64, 0);
}

static int one_round(struct cost *cost, enum way way, int cpu, long long period_ns)
{
	struct pmu_event event = { .fd = -1 };
	long long ns;
	int err = 0;

	if (way != NOTHING)
		err = open_way(&event, way, cpu, period_ns) ?: pmu_event_enable(&event);
	if (err)
		return err;
	ns = -clock_ns();
	work(0, UNITS);
	ns += clock_ns();
	if (way != NOTHING) {
		pmu_event_disable(&event);
		cost->samples[way] += pmu_event_take(&event, PERF_RECORD_SAMPLE);
		pmu_event_close(&event);
	}
	if (!cost->least_ns[way] || ns < cost->least_ns[way])
		cost->least_ns[way] = ns;
	return 0;
}

/* Returns the cost of a sample in ns, from the shortest round and the sample period. */
static long long handler_ns(const struct cost *cost, enum way way, long long period_ns)
{
	long long samples = cost->least_ns[way] / period_ns;

	return (cost->least_ns[way] - cost->least_ns[NOTHING]) / (samples ?: 1);
}

/* Runs ROUNDS more rounds and updates @cost, the minima and samples of all rounds so far. */
static int measure(struct cost *cost, int cpu, long long period_ns)
{
	int err;

	for (int i = 0; i < ROUNDS; i++) {
		for (int way = 0; way < NR_WAYS; way++) {
			err = one_round(cost, way, cpu, period_ns);
			if (err)
				return err;
		}
	}
	return 0;
}

int main(void)
{
	int cpu = sysconf(_SC_NPROCESSORS_CONF) - 1, err;
	long long period_ns, ours, perfs;
	struct cost cost = {};
	bool good = false;

	printf("TAP version 13\n");
	if (!engine_is_loaded()) {
		printf("1..0 # SKIP no engine\n");
		return 4;
	}
	printf("1..2\n");
	period_ns = reference_number("core", core_of(cpu), "period_ns");
	run_on(cpu);
	/*
	 * More rounds do not hide a slow driver: the times are the minima of all rounds so far, and
	 * more rounds only bring them closer to the cost on an idle machine.
	 */
	for (int try = 0; try < TRIES && !good; try++) {
		err = measure(&cost, cpu, period_ns);
		if (err) {
			printf("Bail out! error %d\n", err);
			return 1;
		}
		ours = handler_ns(&cost, TRACE_IMC, period_ns);
		perfs = handler_ns(&cost, CPU_CLOCK, period_ns);
		printf("# period %lld ns, a round %lld us, samples %lld and %lld\n", period_ns,
		       cost.least_ns[NOTHING] / 1000, cost.samples[TRACE_IMC],
		       cost.samples[CPU_CLOCK]);
		printf("# bench imc.handler_ns %lld ns\n# bench imc.cpu_clock_ns %lld ns\n", ours,
		       perfs);
		good = perfs > 0 && ours * 100 <= perfs * LIMIT_PERCENT;
	}
	printf("%s 1 both take samples\n",
	       cost.samples[TRACE_IMC] && cost.samples[CPU_CLOCK] ? "ok" : "not ok");
	printf("%s 2 a sample costs at most 1.2 of cpu-clock's\n", good ? "ok" : "not ok");
	return !(good && cost.samples[TRACE_IMC] && cost.samples[CPU_CLOCK]);
}
